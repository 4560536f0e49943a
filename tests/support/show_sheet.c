/* Shows a sheet that a file describes, for tests that read it back.
 *
 *   show_sheet FILE LAYOUT THREADS PART [header] [hex] [total]
 *
 * LAYOUT: a number of enum layout. PART: rows of each part (0: all at once). The file has the
 * number of rows; then for each column its kind (i, f, s: integers, floats, strings) and its name
 * in hexadecimal; then its fields, one a line: "N" for NULL, a number, or "=" and a string in
 * hexadecimal. Rows are shown from the last to the first. */
#include "cli/runtime/report.h"
#include "cli/sheet/sheet.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64 };

static char *line;
static size_t line_room;

static void next_line(FILE *f) {
    const ssize_t n = getline(&line, &line_room, f);
    if (n < 0) exit(EXIT_IO);
    line[n - (n > 0 && line[n - 1] == '\n')] = '\0';
}

static int64_t put_hex(FILE *to, const char *from) {
    const int64_t n = (int64_t)strlen(from) / 2;
    for (int64_t i = 0; i < n; i++) {
        const char pair[] = {from[2 * i], from[2 * i + 1], '\0'};
        putc((int)strtoul(pair, NULL, 16), to);
    }
    return n;
}

static void read_strings(FILE *f, sheet_column *c, uint8_t *valid, int64_t rows) {
    int64_t *offsets = calloc((size_t)rows + 1, sizeof *offsets);
    bf_strings *s = calloc(1, sizeof *s);
    char *bytes;
    size_t size;
    FILE *to = open_memstream(&bytes, &size);
    for (int64_t i = 0; i < rows; i++) {
        next_line(f);
        valid[i] = line[0] == '=';
        offsets[i + 1] = offsets[i] + put_hex(to, line + 1);
    }
    fclose(to);
    *s = (bf_strings){sizeof *s, rows, BF_I64, offsets, bytes};
    c->strings = s;
}

static void read_numbers(FILE *f, sheet_column *c, uint8_t *valid, int64_t rows) {
    double *floats = calloc((size_t)rows + 1, sizeof *floats);
    int64_t *integers = calloc((size_t)rows + 1, sizeof *integers);
    for (int64_t i = 0; i < rows; i++) {
        next_line(f);
        valid[i] = line[0] != 'N';
        floats[i] = strtod(line, NULL);
        integers[i] = strtoll(line, NULL, 10);
    }
    const bool is_float = c->form.dtype == BF_F64;
    c->array = is_float ? (void *)floats : (void *)integers;
    free(is_float ? (void *)integers : (void *)floats);
}

static sheet_column read_column(FILE *f, int64_t rows) {
    char *name;
    size_t size;
    FILE *to = open_memstream(&name, &size);
    uint8_t *valid = calloc((size_t)rows + 1, 1);
    const char kind = line[0];
    sheet_column c = {.form.dtype = kind == 'f' ? BF_F64 : BF_I64, .valid = valid};
    put_hex(to, line + 1);
    fclose(to);
    c.name = name;
    (kind == 's' ? read_strings : read_numbers)(f, &c, valid, rows);
    return c;
}

static int show_parts(const sheet *s, int64_t most, const char *file, const options *o) {
    sheet_writer w;
    sheet part = *s;
    part.rows = s->rows < most ? s->rows : most;
    part.total = s->total && part.rows == s->rows;
    int code = sheet_begin(&w, stdout, sheet_form_of(o), &part, file, o);
    for (int64_t at = 0; at < s->rows && code == EXIT_DONE; at += part.rows) {
        part.rows = s->rows - at < most ? s->rows - at : most;
        part.order = s->order + at;
        part.total = s->total && at + part.rows == s->rows;
        code = sheet_rows(&w, &part);
    }
    sheet_end(&w);
    return code;
}

int main(int argc, char **argv) {
    static sheet_column columns[COLUMNS]; /* not freed, and reachable at the end */
    options o = {.layout = (enum layout)atoi(argv[2]), .threads = atoi(argv[3])};
    FILE *f = fopen(argv[1], "r");
    if (argc < 5 || !f) return EXIT_USAGE;
    next_line(f);
    sheet s = {.columns = columns, .rows = atoll(line)};
    for (int i = 5; i < argc; i++) {
        if (strcmp(argv[i], "header") == 0) o.input.text.header = true;
        if (strcmp(argv[i], "hex") == 0) o.hex = true;
        if (strcmp(argv[i], "total") == 0) s.total = true;
    }
    for (next_line(f); line[0] != '.'; next_line(f)) columns[s.count++] = read_column(f, s.rows);
    int64_t *order = calloc((size_t)s.rows + 1, sizeof *order);
    for (int64_t i = 0; i < s.rows; i++) order[i] = s.rows - 1 - i;
    s.order = order;
    fclose(f);
    const int64_t most = atoll(argv[4]);
    const int code = most ? show_parts(&s, most, argv[1], &o) : sheet_put(stdout, &s, argv[1], &o);
    free(order);
    return code == EXIT_DONE && fflush(stdout) == 0 ? EXIT_DONE : EXIT_IO;
}
