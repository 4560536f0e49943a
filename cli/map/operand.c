#include "map/operand.h"

#include "runtime/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_digits(const char *text) {
    if (*text == '-' || *text == '+') text++;
    if (*text == '\0') return false;
    while (isdigit((unsigned char)*text)) text++;
    return *text == '\0';
}

static int take_integer(map_operand *x) {
    errno = 0;
    const bool negative = *x->text == '-';
    const long long least = negative ? strtoll(x->text, NULL, 10) : 0;
    const unsigned long long most = negative ? 0 : strtoull(x->text, NULL, 10);
    if (errno) return fail(EXIT_USAGE, NULL, "the number %s is beyond 64 bits", x->text);
    x->bits = negative ? (uint64_t)least : most;
    x->array.dtype = most > INT64_MAX ? BF_U64 : BF_I64;
    return EXIT_DONE;
}

/* A float: hexadecimal ones, inf and nan too. False if the text is a file's name. */
static bool take_float(map_operand *x) {
    char *end;
    if (isspace((unsigned char)*x->text)) return false;
    const double value = strtod(x->text, &end);
    if (end == x->text || *end) return false;
    memcpy(&x->bits, &value, sizeof value);
    x->array.dtype = BF_F64;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Text becomes an array. */
static int load_text(map_operand *x) {
    const int code = rows_load(&x->rows, &x->loaded);
    x->count = x->loaded.shape[0];
    x->shape = (npy_header){.ndim = 1, .count = x->count, .shape = {x->count}};
    return code;
}

static int open_file(map_operand *x, const input *in, const rows_options *how) {
    int code = rows_open_column(&x->rows, x->text, in, how);
    if (code != EXIT_DONE) return code;
    const source *s = &x->rows.source;
    x->shape = s->layout;
    x->count = s->count;
    if (!rows_may_resettle(&x->rows)) rows_forget(&x->rows);
    return s->text ? load_text(x) : EXIT_DONE;
}

int map_operand_open(map_operand *x, const char *text, const input *in, const rows_options *how) {
    *x = (map_operand){.text = text, .rows.source.fd = -1};
    x->is_number = is_digits(text) || take_float(x);
    x->is_single = x->is_number;
    x->array.data = &x->bits;
    if (is_digits(text)) return take_integer(x);
    return x->is_number ? EXIT_DONE : open_file(x, in, how);
}

void map_operand_close(map_operand *x) {
    rows_close(&x->rows);
    x->text = NULL;
}

bf_dtype map_operand_dtype(const map_operand *x) {
    return x->is_number ? x->array.dtype : rows_dtype(&x->rows, 0);
}

static int take_single(map_operand *x) {
    const bf_dtype dtype = map_operand_dtype(x);
    const int code = map_operand_next(x, 1);
    if (code != EXIT_DONE) return code;
    if (x->array.shape[0] == 1) memcpy(&x->bits, x->array.data, bf_dtype_size(dtype));
    x->array = (bf_array){.data = &x->bits, .dtype = dtype};
    x->is_single = true;
    return EXIT_DONE;
}

int map_operand_prepare(map_operand *x, bool ordered, bool single) {
    if (x->is_number) return EXIT_DONE;
    x->rows.options.ordered = ordered;
    const int code = rows_prepare(&x->rows);
    return code == EXIT_DONE && single ? take_single(x) : code;
}

/* Text that was loaded. */
static void take_loaded(map_operand *x, int64_t n) {
    const int64_t left = x->loaded.shape[0];
    const bf_dtype dtype = x->loaded.dtype;
    const char *at = x->loaded.data;
    if (n > left) n = left;
    x->array = bf_array_of(dtype, at, n);
    if (n > 0) at += (size_t)n * bf_dtype_size(dtype);
    x->loaded = bf_array_of(dtype, at, left - n);
}

int map_operand_next(map_operand *x, int64_t n) {
    rows_chunk chunk;
    if (x->is_single) return EXIT_DONE;
    if (x->rows.source.text) {
        take_loaded(x, n);
        return EXIT_DONE;
    }
    const int code = rows_next(&x->rows, n, &chunk);
    if (code == EXIT_DONE)
        x->array = bf_array_of(map_operand_dtype(x), chunk.columns[0].as[0], chunk.n);
    return code;
}
