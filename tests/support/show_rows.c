/* Shows the rows that the command's reader finds in a text, for tests that compare them.
 *
 *   show_rows FILE THREADS PART MOST [OPTION=VALUE]...
 *
 * PART: bytes of the parts of a file (0: the usual). MOST: rows taken at a time (0: as many as
 * there are at hand). Options are columns, strings, keys, nulls, delimiter, lax, skip, settled,
 * json, thousands, decimal, currency, encoding (its number), skip-lines, comment and escape. A line
 * for each row, a field for each column: its number (in hexadecimal if it is a float), '=' and the
 * bytes of its string in hexadecimal, or "NULL". */
#include "cli/input/rows.h"
#include "cli/runtime/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of an option NAME=VALUE; NULL: it is another one. */
static const char *value_of(const char *option, const char *name) {
    const size_t n = strlen(name);
    return strncmp(option, name, n) == 0 && option[n] == '=' ? option + n + 1 : NULL;
}

static void read_option(const char *option, input *in, rows_options *how) {
    text_options *t = &in->text;
    const char *value;
    if ((value = value_of(option, "columns"))) t->columns = value;
    if ((value = value_of(option, "strings"))) t->strings = value;
    if ((value = value_of(option, "keys"))) t->keys = value;
    if ((value = value_of(option, "nulls"))) t->nulls = value;
    if ((value = value_of(option, "delimiter"))) t->delimiter = *value;
    if ((value = value_of(option, "thousands"))) t->style.thousands = value;
    if ((value = value_of(option, "decimal"))) t->style.decimal = *value;
    if (value_of(option, "currency")) t->style.currency = true;
    if ((value = value_of(option, "encoding")))
        t->dialect.encoding = (enum text_encoding)atoi(value);
    if ((value = value_of(option, "skip-lines"))) t->dialect.skip = atoi(value);
    if ((value = value_of(option, "comment"))) t->dialect.comment = *value;
    if ((value = value_of(option, "escape"))) t->dialect.escape = *value;
    if (value_of(option, "json")) in->format = FORMAT_JSONL;
    if (value_of(option, "lax")) t->lax = true;
    if (value_of(option, "skip")) t->skip_nulls = true;
    if (value_of(option, "settled")) how->settled = true;
}

/* Cuts a file into parts of another size. */
static void cut_parts(rows *r, size_t part) {
    text_input *t = r->source.text;
    if (part == 0 || !t->file) return;
    free(t->first.buffer);
    t->first = (text_piece){.buffer = NULL};
    t->piece = part;
    r->end = text_parts(t);
}

static void show_string(const bf_strings *s, int64_t i) {
    const int64_t *offsets = s->offsets;
    putchar('=');
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++)
        printf("%02x", (unsigned char)s->bytes[at]);
}

static void show_number(const void *numbers, bf_dtype dtype, int64_t i) {
    if (dtype == BF_F64)
        printf("%a", ((const double *)numbers)[i]);
    else
        printf("%" PRId64, ((const int64_t *)numbers)[i]);
}

static void show_field(const rows *r, const rows_column *c, int k, int64_t i) {
    const int number = __builtin_ctz(c->can);
    const bool null = c->valid && !text_has_bit(c->valid, c->first + i);
    if (k > 0) putchar(' ');
    if (null) {
        printf("NULL");
        return;
    }
    if (number < TEXT_CANDIDATES && c->as[number])
        show_number(c->as[number], rows_candidate(r, number), i);
    if (c->strings.offsets) show_string(&c->strings, i);
}

static int show_rows(rows *r, int64_t most) {
    rows_chunk chunk = {.n = 1};
    int code = EXIT_DONE;
    while (code == EXIT_DONE && chunk.n > 0) {
        code = rows_next(r, most, &chunk);
        for (int64_t i = 0; code == EXIT_DONE && i < chunk.n; i++) {
            for (int k = 0; k < r->columns; k++) show_field(r, &chunk.columns[k], k, i);
            putchar('\n');
        }
    }
    return code;
}

int main(int argc, char **argv) {
    spool_limit keep;
    spool_limit_set(&keep, 1 << 20);
    input in = {.format = FORMAT_TEXT, .count = -1, .text.header = true};
    rows_options how = {.keep = &keep, .nulls = true};
    rows r;
    if (argc < 5) return EXIT_USAGE;
    how.threads = atoi(argv[2]);
    for (int i = 5; i < argc; i++) read_option(argv[i], &in, &how);
    int code = rows_open(&r, argv[1], &in, &how);
    if (code != EXIT_DONE) return code;
    cut_parts(&r, (size_t)atoll(argv[3]));
    while ((code = show_rows(&r, atoll(argv[4]))) == ROWS_RESETTLED) {
        puts("again");
        rows_again(&r);
    }
    rows_close(&r);
    return code;
}
