/* Any bytes at all as text: the reader stays inside them, agrees with itself however the text is
 * cut, and with the C library on what the numbers are.
 *
 * The first byte chooses the options, the rest is the text. */
#define _GNU_SOURCE /* memfd_create */
#include "cli/input/text_input.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

/* Something is said (names in it may hold anything: the report cleans them), of the right place. */
static void check_refusal(const text_refusal *r, const char *text, int64_t size) {
    const char *what = r->error.what;
    require(memchr(what, '\0', sizeof r->error.what) != NULL && *what);
    require(memchr(r->error.hint, '\0', sizeof r->error.hint) != NULL);
    if (!r->error.at) return;
    require(r->offset >= 0 && r->offset <= size);
    int64_t lines = 1;
    for (int64_t i = 0; i < r->offset; i++) lines += text[i] == '\n';
    require(r->line == lines);
}

/* The C library reads the same number from a token of digits. */
static void check_double(double value, double other) {
    require(memcmp(&value, &other, sizeof value) == 0 || (value != value && other != other));
}

static void check_token(const char *text, size_t size) {
    char copy[64 + TEXT_SLACK + 1];
    const size_t n = size < 64 ? size : 64;
    memset(copy, '\n', sizeof copy);
    memcpy(copy, text, n);
    text_number slow, fast;
    const char *end = text_scan(copy, &fast);
    const size_t length = end ? (size_t)(end - copy) : n;
    require(length <= n);
    const bool parsed = text_parse_token(copy, length, &slow);
    require(parsed || !end);
    if (!parsed) return;
    copy[length] = '\0';
    check_double(text_double(&slow), strtod(copy, NULL));
    if (end) check_double(text_double(&fast), text_double(&slow));
    const uint32_t bits = (uint32_t)text_round(&slow, BF_F32);
    float narrow;
    memcpy(&narrow, &bits, sizeof narrow);
    check_double(narrow, strtof(copy, NULL));
}

/* All numbers of the first wanted column; NULL if the text is refused. */
static double *read_all(text_input *t, int64_t from, int64_t to, int64_t room, int64_t *n,
                        const char *text, int64_t size) {
    text_reader r;
    require(text_reader_open(&r, t, from, to));
    r.rows.room = room < r.rows.room ? room : r.rows.room;
    double *all = malloc((size_t)(size + 1) * sizeof *all);
    text_status st;
    *n = 0;
    while ((st = text_reader_next(&r)) == TEXT_OK && r.rows.n > 0) {
        require(*n + r.rows.n <= size);
        const int last = text_candidates(&t->layout) - 1;
        if (text_candidate(&t->layout, last) == BF_F64)
            memcpy(all + *n, text_rows_numbers(&r.rows, &t->layout, 0, last),
                   (size_t)r.rows.n * sizeof *all);
        else
            memset(all + *n, 0, (size_t)r.rows.n * sizeof *all);
        *n += r.rows.n;
    }
    require(st == TEXT_OK || st == TEXT_REFUSED);
    if (st == TEXT_REFUSED) check_refusal(&r.refusal, text, size);
    text_reader_close(&r);
    if (st == TEXT_OK) return all;
    free(all);
    return NULL;
}

/* In two parts the text gives the same rows, and skipping counts as many. */
static void check_parts(text_input *t, const char *text, int64_t size) {
    int64_t n, first, second, counted;
    double *all = read_all(t, t->begin, size, 4096, &n, text, size);
    const int64_t middle = t->begin + (size - t->begin) / 2;
    double *a = read_all(t, t->begin, middle, 3, &first, text, size);
    double *b = read_all(t, middle, size, 3, &second, text, size);
    require((all != NULL) == (a != NULL && b != NULL));
    if (all) {
        require(first + second == n);
        for (int64_t i = 0; i < n; i++) check_double(all[i], i < first ? a[i] : b[i - first]);
        text_reader r;
        require(text_reader_open(&r, t, t->begin, size));
        require(text_reader_count(&r, &counted) == TEXT_OK && counted == n);
        text_reader_close(&r);
    }
    free(all);
    free(a);
    free(b);
}

static text_options options_of(uint8_t choice) {
    static const char *const columns[] = {NULL, "1", "2", "a", "2,1", "3,b,1", NULL, "4"};
    static const char delimiters[] = {'\0', ',', ' ', '\t'};
    static const bf_dtype dtypes[] = {BF_NONE, BF_F64, BF_F16, BF_I16};
    return (text_options){.columns = columns[choice % 8],
                          .delimiter = delimiters[choice / 8 % 4],
                          .header = choice % 8 == 6,
                          .table = choice / 8 % 2 == 1,
                          .dtype = dtypes[choice / 32 % 4]};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 65536) return 0;
    const text_options options = options_of(data[0]);
    const int64_t length = (int64_t)size - 1;
    const char *text = (const char *)data + 1;
    const int file = memfd_create("text", MFD_CLOEXEC);
    require(file >= 0 && write(file, text, size - 1) == (ssize_t)length);
    check_token(text, size - 1);
    text_input input;
    text_refusal refusal = {.line = 0};
    const text_status st = text_open_file(&input, &options, file, 0, length, &refusal);
    require(st == TEXT_OK || st == TEXT_REFUSED);
    if (st == TEXT_OK)
        check_parts(&input, text, length);
    else
        check_refusal(&refusal, text, length);
    text_close(&input);
    close(file);
    return 0;
}
