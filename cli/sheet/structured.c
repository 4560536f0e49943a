#include "sheet/structured.h"

#include "container/npy_write.h"
#include "runtime/report.h"
#include "runtime/utf8.h"
#include "sheet/output.h"
#include "sheet/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes before the text of a header of version 3, which is UTF-8; what its size is a multiple of.
 */
enum { FIXED = 12, ALIGNMENT = 64 };

bf_dtype structured_dtype(bf_dtype dtype, int scale) {
    const bool wide = dtype == BF_I128 || dtype == BF_I192 || dtype == BF_PAIR;
    return scale > 0 && bf_dtype_kind(dtype) != 'f' ? BF_F64 : wide ? BF_I64 : dtype;
}

units_form structured_form(units_form form) {
    form.dtype = form.time ? BF_I64 : structured_dtype(form.dtype, form.scale);
    return form;
}

/* ---- the header ------------------------------------------------------------------------------ */

static void put_text(part_text *t, const char *text) { part_put(t, text, strlen(text)); }

/* A literal of Python. False: the name is no text. */
static bool put_name(part_text *t, const char *name) {
    put_text(t, "('");
    for (const char *at = name; *at;) {
        char code[8];
        const int n = utf8_length((const unsigned char *)at);
        if (n == 0) return false;
        const bool plain = n > 1 || (*at >= ' ' && *at != 0x7f && *at != '\'' && *at != '\\');
        snprintf(code, sizeof code, "\\x%02x", (unsigned char)*at);
        part_put(t, plain ? at : code, plain ? (size_t)n : strlen(code));
        at += n;
    }
    put_text(t, "', '");
    return true;
}

static void put_dtype(part_text *t, const structured_field *f) {
    char text[32];
    if (f->form.dtype == BF_NONE)
        snprintf(text, sizeof text, "|S%" PRId64, f->width > 0 ? f->width : 1);
    else if (f->form.time)
        npy_write_time(text, f->form.time, f->form.scale);
    else
        npy_write_dtype(text, f->form.dtype);
    put_text(t, text);
    put_text(t, "'), ");
}

static int check_names(const structured_field fields[], int count) {
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(fields[i].name, fields[k].name) == 0) {
                fail(EXIT_USAGE, NULL, "cannot write .npy: two columns are named '%s'",
                     fields[i].name);
                hint("=NAME behind a V names its column");
                return EXIT_USAGE;
            }
    return EXIT_DONE;
}

/* Completes the text, and writes what stands before it. */
static void end_header(part_text *t, int64_t rows) {
    static const char spaces[ALIGNMENT + 1] =
        "                                                                ";
    char shape[80];
    snprintf(shape, sizeof shape, "], 'fortran_order': False, 'shape': (%" PRId64 ",), }", rows);
    put_text(t, shape);
    part_put(t, spaces, ALIGNMENT - (t->n + 1) % ALIGNMENT);
    part_put(t, "\n", 1);
    const size_t n = t->n - FIXED;
    for (int i = 0; i < 4 && !t->lost; i++) t->at[8 + i] = (char)(n >> 8 * i);
}

int structured_begin(FILE *f, const structured_field fields[], int count, int64_t rows) {
    part_text t = {.at = NULL};
    int code = check_names(fields, count);
    part_put(&t, "\x93NUMPY\x03\0\0\0\0\0", FIXED);
    put_text(&t, "{'descr': [");
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        if (!put_name(&t, fields[i].name))
            code = fail(EXIT_DATA, NULL, "cannot write .npy: the name of column %d is not UTF-8",
                        i + 1);
        put_dtype(&t, &fields[i]);
    }
    end_header(&t, rows);
    if (code == EXIT_DONE && t.lost) code = fail_memory(NULL);
    if (code == EXIT_DONE) fwrite(t.at, 1, t.n, f);
    free(t.at);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t bytes_of(const structured_field *f) {
    if (f->form.dtype != BF_NONE) return (int64_t)bf_dtype_size(f->form.dtype);
    return f->width > 0 ? f->width : 1;
}

static int refuse(const structured_field *f, const char *why) {
    fail(EXIT_DATA, NULL, "cannot write column %s as .npy: %s", f->name, why);
    hint("text has a form for it, as .csv");
    return EXIT_DATA;
}

/* NumPy takes zeros at the end of a string for room. */
static int put_string(const structured_field *f, const bf_strings *s, int64_t row, char *to) {
    const int64_t *at = s->offsets, n = at[row + 1] - at[row];
    const char *from = (const char *)s->bytes + at[row];
    if (n > 0 && from[n - 1] == '\0') return refuse(f, "a string ends with a zero byte");
    memcpy(to, from, (size_t)n);
    memset(to + n, 0, (size_t)(bytes_of(f) - n));
    return EXIT_DONE;
}

static int put_number(const structured_field *f, const bf_value *v, char *to) {
    const size_t bytes = bf_dtype_size(f->form.dtype);
    uint64_t word = v->as.u64;
    bf_status st = BF_OK;
    if (f->form.time) {
        const bool held = npy_time_units(v, f->form.time, f->form.scale, (int64_t *)&word);
        st = held ? BF_OK : BF_E_OVERFLOW;
    } else if (f->form.dtype == BF_F64) {
        const double x = bf_value_f64(v);
        memcpy(&word, &x, sizeof word);
    } else if (f->form.dtype == BF_U64) {
        st = bf_value_u64(v, &word);
    } else if (v->dtype != f->form.dtype) {
        st = bf_value_i64(v, (int64_t *)&word);
    }
    memcpy(to, &word, bytes);
    return st == BF_OK ? EXIT_DONE : refuse(f, "64 bits do not hold a number of it");
}

static int put_null(const structured_field *f, char *to) {
    const double nan = __builtin_nan("");
    const int64_t no_time = INT64_MIN; /* as NumPy has it */
    const float narrow = __builtin_nanf("");
    if (f->form.time) {
        memcpy(to, &no_time, sizeof no_time);
        return EXIT_DONE;
    }
    if (!f->nan || (f->form.dtype != BF_F64 && f->form.dtype != BF_F32))
        return refuse(f, "a row is NULL");
    memcpy(to, f->form.dtype == BF_F64 ? (const void *)&nan : &narrow,
           bf_dtype_size(f->form.dtype));
    return EXIT_DONE;
}

static int put_field(const structured_field *f, const sheet_column *c, int64_t row, char *to) {
    if (c->valid && !c->valid[row]) return put_null(f, to);
    if (c->strings) return put_string(f, c->strings, row, to);
    const bf_value v =
        c->array ? output_element(c->form.dtype, c->form.scale, c->array, row) : c->values[row];
    return v.dtype == BF_NONE ? put_null(f, to) : put_number(f, &v, to);
}

int structured_put(FILE *f, const structured_field fields[], const sheet *s) {
    int64_t bytes = 0;
    int code = EXIT_DONE;
    for (int c = 0; c < s->count; c++) bytes += bytes_of(&fields[c]);
    char *const record = malloc((size_t)bytes);
    if (!record) return fail_memory(NULL);
    for (int64_t i = 0; i < s->rows && code == EXIT_DONE && !ferror(f); i++) {
        char *at = record;
        for (int c = 0; c < s->count && code == EXIT_DONE; at += bytes_of(&fields[c++]))
            code = put_field(&fields[c], &s->columns[c], i, at);
        if (code == EXIT_DONE) fwrite(record, 1, (size_t)bytes, f);
    }
    free(record);
    return code;
}
