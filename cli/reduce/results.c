#include "reduce/results.h"

#include "container/npy_write.h"
#include "input/rows.h"
#include "memory/temporary.h"
#include "options/form.h"
#include "reduce/paired.h"
#include "runtime/json.h"
#include "runtime/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Results that are read back at a time. */
enum { BLOCK = 512 };

static const char *const names[RESULTS_COLUMNS] = {"n",   "nan",    "inf", "min",  "argmin",
                                                   "max", "argmax", "sum", "mean", "std"};

/* Columns are those of describe, those of a line, or one. */
static bool is_described(const results *r) { return r->columns == RESULTS_COLUMNS; }

static const char *name_of(const results *r, int k) {
    return is_described(r)   ? names[k]
           : r->columns == 1 ? "values"
                             : bf_reduction_name(paired_line[k]);
}

/* The bytes of an element of a column. */
static size_t element_bytes(const results *r, int k) {
    return r->exact ? sizeof(bf_value) : bf_dtype_size(r->column[k].dtype);
}

/* ---- keeping --------------------------------------------------------------------------------- */

void results_open(results *r, const bf_dtype dtypes[], int columns, int64_t memory) {
    r->columns = columns;
    r->n = r->count = 0;
    for (int k = 0; k < columns; k++) {
        r->column[k].dtype = dtypes[k];
        spool_limit_set(&r->column[k].limit, memory / columns);
        spool_open(&r->column[k].values, &r->column[k].limit);
    }
}

void results_close(results *r) {
    for (int k = 0; k < r->columns; k++) spool_close(&r->column[k].values);
    r->columns = 0;
}

bool results_add(results *r, int column, const void *values, int64_t n) {
    results_column *c = &r->column[column];
    return n == 0 || spool_write(&c->values, values, (size_t)n * element_bytes(r, column));
}

/* The bytes of a column, to be freed. */
static char *copy_column(const results *r, int k) {
    const int64_t size = r->column[k].values.size;
    char *bytes = ranks_allocate((size_t)size);
    const void *at = size > 0 ? spool_read(&r->column[k].values, 0, bytes, (size_t)size) : bytes;
    if (at && at != bytes) memcpy(bytes, at, (size_t)size);
    if (at) return bytes;
    free(bytes);
    return NULL;
}

static int collect_column(results *r, int k) {
    int64_t *sizes = ranks_allocate((size_t)ranks_count() * sizeof *sizes);
    char *mine = copy_column(r, k);
    int code = ranks_agree(mine ? EXIT_DONE : temporary_failed(errno));
    char *all = code == EXIT_DONE ? ranks_collect(mine, r->column[k].values.size, sizes) : NULL;
    const int64_t bytes = (int64_t)element_bytes(r, k);
    int64_t others = 0;
    for (int i = 1; i < ranks_count(); i++) others += sizes[i];
    if (all && !results_add(r, k, all + sizes[0], others / bytes)) code = temporary_failed(errno);
    if (k == 0) r->count += others / bytes;
    free(all);
    free(mine);
    free(sizes);
    return ranks_agree(code);
}

int results_collect(results *r) {
    int code = EXIT_DONE;
    for (int k = 0; k < r->columns && code == EXIT_DONE && ranks_count() > 1; k++)
        code = collect_column(r, k);
    return code;
}

/* A block of each column. */
typedef struct block {
    int64_t n;
    const void *of[RESULTS_COLUMNS];
    bf_value room[RESULTS_COLUMNS][BLOCK];
} block;

/* False with errno set if it cannot be read back. */
static bool read_block(const results *r, int64_t first, block *b) {
    b->n = r->count - first < BLOCK ? r->count - first : BLOCK;
    bool good = true;
    for (int k = 0; k < r->columns && good; k++) {
        const results_column *c = &r->column[k];
        const size_t bytes = element_bytes(r, k);
        b->of[k] = spool_read(&c->values, first * (int64_t)bytes, b->room[k], (size_t)b->n * bytes);
        good = b->of[k] != NULL;
    }
    return good;
}

static bf_value element_of(const results *r, const block *b, int k, int64_t i) {
    return r->exact ? ((const bf_value *)b->of[k])[i]
                    : output_element(r->column[k].dtype, r->units, b->of[k], i);
}

/* Writes the results of a block, which begin at `first`; of one column, where that is given.
 * Returns an exit code. */
typedef int put_block(const results *r, output *out, int64_t first, const block *b, int column);

static int put_blocks(const results *r, output *out, put_block *put, int column) {
    static block b; /* too large for a small stack */
    int code = EXIT_DONE;
    for (int64_t at = 0; at < r->count && code == EXIT_DONE && !ferror(out->stream); at += b.n) {
        if (!read_block(r, at, &b)) return temporary_failed(errno);
        code = put(r, out, at, &b, column);
    }
    return code;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int put_lines(const results *r, output *out, int64_t first, const block *b, int column) {
    char text[BF_VALUE_TEXT];
    (void)first;
    for (int64_t i = 0; i < b->n; i++) {
        const bf_value v = element_of(r, b, column, i);
        output_format(&v, out->hex, text);
        fputs(text, out->stream);
        output_end_line(out, r->file, r->other);
    }
    return EXIT_DONE;
}

/* ---- describe -------------------------------------------------------------------------------- */

/* The indices of result i, with commas between; "-" if there is but one result. */
enum { PLACE = BF_MAX_DIMS * 21 };

static void name_place(const results *r, int64_t i, char text[PLACE]) {
    int64_t step = r->count;
    char *at = text;
    strcpy(text, r->ndim == 0 ? "-" : "");
    for (int d = 0; d < r->ndim; d++) {
        step /= r->shape[d];
        at += sprintf(at, "%s%" PRId64, d > 0 ? "," : "", i / step % r->shape[d]);
    }
}

/* dtype BF_NONE: there is none, of no elements. */
static bf_value described(const results *r, const block *b, int64_t i, int k) {
    if (!is_described(r)) return element_of(r, b, k, i);
    const bf_value n = element_of(r, b, RESULTS_N, i), nan = element_of(r, b, RESULTS_NAN, i);
    const bool nothing = n.as.i64 - (r->skip ? nan.as.i64 : 0) == 0;
    if (nothing && k >= RESULTS_MIN && k < RESULTS_MIN + 4) return (bf_value){.dtype = BF_NONE};
    return element_of(r, b, k, i);
}

static int put_descriptions(const results *r, output *out, int64_t first, const block *b,
                            int column) {
    char text[BF_VALUE_TEXT], place[PLACE];
    (void)column;
    for (int64_t i = 0; i < b->n; i++) {
        if (out->layout == LAYOUT_TSV) output_put_name(out->stream, r->file);
        if (out->layout == LAYOUT_TSV) putc('\t', out->stream);
        name_place(r, first + i, place);
        fputs(place, out->stream);
        for (int k = 0; k < r->columns; k++) {
            const bf_value v = described(r, b, i, k);
            if (v.dtype != BF_NONE) output_format(&v, out->hex, text);
            fprintf(out->stream, "\t%s", v.dtype == BF_NONE ? "-" : text);
        }
        putc('\n', out->stream);
    }
    return EXIT_DONE;
}

static int put_table(const results *r, output *out) {
    fputs(out->layout == LAYOUT_TSV ? "file\tindex" : "index", out->stream);
    for (int k = 0; k < r->columns; k++) fprintf(out->stream, "\t%s", name_of(r, k));
    putc('\n', out->stream);
    return put_blocks(r, out, put_descriptions, 0);
}

/* ---- sheets ---------------------------------------------------------------------------------- */

static int put_sheet(const results *r, output *out, const sheet_column *columns, int count,
                     int64_t n) {
    const sheet s = {.columns = columns, .count = count, .rows = n};
    return output_sheet(out, sheet_form_of(out->options), &s, r->file);
}

static int put_values(const results *r, output *out, int64_t first, const block *b, int column) {
    const sheet_column columns[] = {{.name = "value",
                                     .form.dtype = r->column[column].dtype,
                                     .form.scale = r->units,
                                     .array = r->exact ? NULL : b->of[column],
                                     .values = r->exact ? b->of[column] : NULL},
                                    output_file_column(r->file),
                                    {.name = "other", .title = r->other}};
    (void)first;
    return put_sheet(r, out, columns, r->other ? 3 : 2, b->n);
}

/* The places of a block as strings. */
static bf_strings name_places(const results *r, int64_t first, const block *b) {
    static int64_t offsets[BLOCK + 1];
    static char text[BLOCK * PLACE];
    for (int64_t i = 0; i < b->n; i++) {
        name_place(r, first + i, text + offsets[i]);
        offsets[i + 1] = offsets[i] + (int64_t)strlen(text + offsets[i]);
    }
    return (bf_strings){sizeof(bf_strings), b->n, BF_I64, offsets, text};
}

static int put_described(const results *r, output *out, int64_t first, const block *b, int column) {
    static bf_value values[RESULTS_COLUMNS][BLOCK];
    sheet_column columns[RESULTS_COLUMNS + 2];
    const bf_strings places = name_places(r, first, b);
    int n = 0;
    (void)column;
    if (!output_aligns(out)) columns[n++] = output_file_column(r->file);
    columns[n++] = (sheet_column){.name = "index", .strings = &places};
    for (int k = 0; k < r->columns; k++) {
        for (int64_t i = 0; i < b->n; i++) values[k][i] = described(r, b, i, k);
        columns[n++] = (sheet_column){.name = name_of(r, k), .values = values[k]};
    }
    return put_sheet(r, out, columns, n, b->n);
}

/* No results have their header, too. */
static int put_rows(const results *r, output *out) {
    static const block none;
    put_block *const put = r->columns > 1 ? put_described : put_values;
    return r->count == 0 ? put(r, out, 0, &none, 0) : put_blocks(r, out, put, 0);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* {"schema":1, ... of the array of results. */
static void put_head(const results *r, FILE *f) {
    json_begin(f, report_command_name(), r->file);
    json_text(f, "other", r->other);
    json_text(f, "dtype", output_dtype(r->dtype, r->scale));
    if (!is_described(r)) json_integer(f, "n", r->n);
    json_integers(f, "shape", r->shape, r->ndim);
}

static int put_numbers(const results *r, output *out, int64_t first, const block *b, int k) {
    FILE *f = out->stream;
    for (int64_t i = 0; i < b->n; i++) {
        const bf_value v = described(r, b, i, k);
        if (first + i > 0) putc(',', f);
        json_value(f, &v);
    }
    return EXIT_DONE;
}

/* One object: the values of several columns are arrays by their names. */
static int put_json(const results *r, output *out, const char *device) {
    int code = EXIT_DONE;
    put_head(r, out->stream);
    for (int k = 0; k < r->columns && code == EXIT_DONE; k++) {
        fprintf(out->stream, ",\"%s\":[", name_of(r, k));
        code = put_blocks(r, out, put_numbers, k);
        putc(']', out->stream);
    }
    json_end(out->stream, device, r->seconds);
    return code;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Writes a value as an element of an array. */
static int put_element(const results *r, FILE *f, const bf_value *v) {
    const bf_dtype to = r->array;
    const double rounded = bf_value_f64(v);
    uint64_t whole = 0;
    if (v->dtype == to) {
        fwrite(&v->as, bf_dtype_size(to), 1, f);
    } else if (to == BF_F64) {
        fwrite(&rounded, sizeof rounded, 1, f);
    } else if ((to == BF_U64 ? bf_value_u64(v, &whole) : bf_value_i64(v, (int64_t *)&whole)) ==
               BF_OK) {
        fwrite(&whole, sizeof whole, 1, f);
    } else {
        fail(EXIT_DATA, r->file, "64 bits do not hold all results");
        hint("%s", rows_as_doubles);
        return EXIT_DATA;
    }
    return EXIT_DONE;
}

static int put_elements(const results *r, output *out, int64_t first, const block *b, int column) {
    const bool ready = !r->exact && r->column[column].dtype == r->array;
    int code = EXIT_DONE;
    (void)first;
    if (ready) fwrite(b->of[column], bf_dtype_size(r->array), (size_t)b->n, out->stream);
    for (int64_t i = 0; i < b->n && !ready && code == EXIT_DONE; i++) {
        const bf_value v = element_of(r, b, column, i);
        code = put_element(r, out->stream, &v);
    }
    return code;
}

/* With --json, the object that tells of it goes to standard output. */
static int put_array(const results *r, output *out, const char *device) {
    char header[NPY_WRITE_MAX];
    npy_header h = {.dtype = r->array, .ndim = r->ndim};
    memcpy(h.shape, r->shape, sizeof r->shape);
    fwrite(header, 1, npy_write_header(&h, header), out->stream);
    const int code = put_blocks(r, out, put_elements, 0);
    if (code != EXIT_DONE || out->layout != LAYOUT_JSON) return code;
    put_head(r, stdout);
    json_end(stdout, device, r->seconds);
    return output_flush(stdout, "standard output");
}

int results_put(const results *r, output *out, const char *device) {
    int code;
    if (output_is_array(out) && r->columns > 1) return form_check(out->options, FORMS_OF_TEXT);
    if (output_is_array(out))
        code = put_array(r, out, device);
    else if (out->layout == LAYOUT_JSON)
        code = put_json(r, out, device);
    else if (output_has_sheet(out) || (output_aligns(out) && (r->columns > 1 || out->names)))
        code = put_rows(r, out);
    else
        code = r->columns > 1 ? put_table(r, out) : put_blocks(r, out, put_lines, 0);
    const int flushed =
        output_flush(out->stream, out->to_file ? out->file.name : "standard output");
    return code == EXIT_DONE ? flushed : code;
}
