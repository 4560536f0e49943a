#include "input/matrix.h"

#include "input/share.h"
#include "input/step.h"
#include "runtime/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int64_t matrix_count(const bf_array *a) {
    int64_t count = 1;
    for (int d = 0; d < a->ndim; d++) count *= a->shape[d];
    return count;
}

void matrix_make_contiguous(bf_array *a) {
    int64_t step = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        a->strides[d] = step;
        step *= a->shape[d];
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static int take_shape(matrix *m) {
    const source *s = &m->rows.source;
    const npy_header *h = &s->layout;
    if (h->ndim > BF_MAX_DIMS)
        return fail(EXIT_DATA, s->name, "%d dimensions: there may be %d", h->ndim, BF_MAX_DIMS);
    if (h->ndim == 0) return fail(EXIT_DATA, s->name, "an array of no dimensions has no axis");
    m->ndim = h->ndim;
    m->unit = 1;
    for (int d = 0; d < h->ndim; d++) m->shape[d] = h->shape[d];
    if (s->text || h->count < 0) m->shape[0] = -1;
    if (s->text && m->rows.columns > 1) m->shape[m->ndim++] = m->rows.columns;
    for (int d = 1; d < m->ndim; d++)
        if (__builtin_mul_overflow(m->unit, m->shape[d], &m->unit))
            return fail(EXIT_DATA, s->name, "the shape overflows");
    m->end = m->shape[0];
    return EXIT_DONE;
}

int matrix_open(matrix *m, const char *name, const input *in, const rows_options *how) {
    *m = (matrix){.room = 0};
    int code = rows_open(&m->rows, name, in, how);
    if (code == EXIT_DONE) code = take_shape(m);
    return code;
}

void matrix_close(matrix *m) {
    rows_close(&m->rows);
    free(m->table);
    m->table = NULL;
}

void matrix_flatten(matrix *m) {
    m->shape[0] = m->end = m->shape[0] * m->unit;
    m->ndim = 1;
    m->unit = 1;
}

void matrix_share(matrix *m, int64_t step) {
    m->rows.options.ordered = true;
    share_pieces(&m->rows, m->shape[0], m->unit, step, &m->first, &m->end);
    m->at = m->first;
}

void matrix_follow(matrix *m) {
    const int64_t row = m->rows.source.text || m->unit == 0 ? 1 : m->unit;
    m->at = m->first + m->rows.at / row;
}

bool matrix_in_place(const matrix *m) {
    const source *s = &m->rows.source;
    return !s->text && s->file && !s->layout.swap;
}

/* ---- dtypes ---------------------------------------------------------------------------------- */

bf_dtype matrix_dtype(const matrix *m) { return rows_dtype(&m->rows, 0); }

int matrix_scale(const matrix *m) { return rows_scale(&m->rows, 0); }

int matrix_settle(matrix *const of[], int n) {
    rows *inputs[MATRICES_MOST];
    for (int i = 0; i < n; i++) inputs[i] = &of[i]->rows;
    return step_match(inputs, n);
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Contiguous elements as n indices of the first axis, the last index (or, of the whole file in
 * Fortran order, the first) fastest. */
static bf_array slab_of(const matrix *m, const void *elements, int64_t n, bool fortran) {
    bf_array a = bf_array_of(matrix_dtype(m), elements, n);
    int64_t step = 1;
    a.ndim = m->ndim;
    for (int d = 1; d < m->ndim; d++) a.shape[d] = m->shape[d];
    for (int i = 0; i < m->ndim; i++) {
        const int d = fortran ? i : m->ndim - 1 - i;
        a.strides[d] = step;
        step *= a.shape[d];
    }
    return a;
}

static bool reserve_table(matrix *m, int64_t n) {
    if (n <= m->room) return true;
    free(m->table);
    m->table = malloc((size_t)(n * m->unit) * bf_dtype_size(matrix_dtype(m)));
    m->room = m->table ? n : 0;
    return m->table != NULL;
}

/* Puts the columns of a chunk side by side. */
static const void *join_columns(matrix *m, const rows_chunk *chunk) {
    const size_t element = bf_dtype_size(matrix_dtype(m)), row = (size_t)m->unit * element;
    if (!reserve_table(m, chunk->n)) return NULL;
    for (int k = 0; k < m->rows.columns; k++) {
        const char *from = chunk->columns[k].as[__builtin_ctz(rows_can(&m->rows, k))];
        char *to = m->table + (size_t)k * element;
        for (int64_t i = 0; i < chunk->n; i++, to += row, from += element)
            memcpy(to, from, element);
    }
    return m->table;
}

/* An array without elements, which may have indices. */
static int next_nothing(matrix *m, bf_array *slab) {
    static const char nothing[1];
    *slab = slab_of(m, nothing, m->end - m->at, false);
    m->at = m->end;
    return matrix_check(m);
}

static int64_t elements_of(const matrix *m, int64_t indices) {
    return indices > INT64_MAX / m->unit ? INT64_MAX : indices * m->unit;
}

int matrix_next(matrix *m, int64_t most, bf_array *slab) {
    rows_chunk chunk;
    const source *s = &m->rows.source;
    if (m->unit == 0) return next_nothing(m, slab);
    const int64_t wanted = s->text ? most : elements_of(m, most);
    const int code = rows_next(&m->rows, wanted, &chunk);
    if (code != EXIT_DONE) return code;
    const bool joined = s->text && m->ndim > 1 && chunk.n > 0;
    const void *elements = joined ? join_columns(m, &chunk)
                           : chunk.n == 0
                               ? ""
                               : chunk.columns[0].as[__builtin_ctz(rows_can(&m->rows, 0))];
    if (!elements) return fail_memory(s->name);
    const int64_t n = s->text ? chunk.n : chunk.n / m->unit;
    *slab = slab_of(m, elements, n, s->layout.fortran && !m->rows.options.ordered);
    m->at += n;
    return EXIT_DONE;
}

void matrix_again(matrix *m) {
    rows_again(&m->rows);
    m->at = m->first;
    m->room = 0; /* the table may have another dtype next */
    free(m->table);
    m->table = NULL;
}

static int refuse_size(const matrix *m, int64_t limit) {
    fail(EXIT_USAGE, m->rows.source.name,
         "--memory is too small: this needs the array whole, and there is room for %" PRId64
         " bytes of it",
         limit);
    hint("an array takes at most an eighth of --memory");
    return EXIT_USAGE;
}

int matrix_all(matrix *m, int64_t limit, bf_array *whole) {
    const int64_t row = m->unit * (int64_t)bf_dtype_size(matrix_dtype(m));
    const int64_t most = limit == 0 || row == 0 ? INT64_MAX : limit / row;
    if (m->shape[0] > most) return refuse_size(m, limit);
    const int code = matrix_next(m, most < INT64_MAX ? most + 1 : most, whole);
    return code == EXIT_DONE && whole->shape[0] > most ? refuse_size(m, limit) : code;
}

int matrix_check(matrix *m) { return source_check(&m->rows.source); }

int matrix_load(matrix *const of[], int n, int64_t limit, bf_array whole[]) {
    int code;
    do {
        code = matrix_settle(of, n);
        for (int i = 0; i < n && code == EXIT_DONE; i++) code = matrix_all(of[i], limit, &whole[i]);
        for (int i = 0; i < n && code == ROWS_RESETTLED; i++) matrix_again(of[i]);
    } while (code == ROWS_RESETTLED);
    for (int i = 0; i < n && code == EXIT_DONE; i++) code = matrix_check(of[i]);
    return code;
}
