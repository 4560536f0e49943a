/* Covariances and correlations of each two of several arrays, with weights or without, in one pass
 * over all of them. */
#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "base/memory.h"
#include <bitfold/axis.h>
#include <bitfold/pair.h>

enum { ARRAYS_MOST = 1024 };

typedef struct matrix {
    bf_context *context;
    bf_reduction op;
    const bf_array *arrays;
    int k;
    const bf_array *weights; /* NULL: there are none */
    int64_t count;           /* elements of each array */
    bf_reduce_options options;
    bf_flat values;
} matrix;

/* ---- arguments ------------------------------------------------------------------------------- */

static bf_status check_arrays(matrix *m, const bf_reduce_options *given) {
    if (m->op != BF_COV && m->op != BF_CORR)
        return bf_fail(m->context, BF_E_ARGUMENT, "a matrix is of cov or corr, not of %s",
                       bf_reduction_name(m->op));
    if (m->k < 1 || m->k > ARRAYS_MOST || m->arrays == NULL)
        return bf_fail(m->context, BF_E_ARGUMENT, "%d arrays: a matrix is of 1 to %d", m->k,
                       ARRAYS_MOST);
    const bf_array *first = &m->arrays[0];
    if (bf_number_bytes(first->dtype) == 0)
        return bf_fail(m->context, BF_E_DTYPE, "no array has dtype number %d", (int)first->dtype);
    bf_status status = bf_read_reduce_options(m->context, m->op, first->dtype, given, &m->options);
    for (int i = 0; i < m->k && status == BF_OK; i++)
        status = bf_check_pair(m->context, first->dtype, first, &m->arrays[i], &m->count);
    if (status == BF_OK && m->weights != NULL)
        status = bf_check_pair(m->context, first->dtype, first, m->weights, &m->count);
    if (status == BF_OK && m->count > BF_REPEATS_MAX)
        return bf_fail(m->context, BF_E_ARGUMENT, "a matrix of arrays of more than 2^40 elements");
    return status;
}

static bf_dtype dtype_of_values(const matrix *m) {
    return m->options.out_dtype == BF_NONE ? BF_F64 : m->options.out_dtype;
}

static bf_status check_values(const matrix *m, const bf_array *values) {
    const int64_t shape[] = {m->k, m->k};
    if (values == NULL) return bf_fail(m->context, BF_E_ARGUMENT, "no array for the values");
    bf_status status = bf_flat_check(m->context, values, dtype_of_values(m), "values");
    if (status != BF_OK) return status;
    return bf_array_has_shape(values, 2, shape)
               ? BF_OK
               : bf_fail(m->context, BF_E_SHAPE, "the values of %d arrays are a matrix of %d x %d",
                         m->k, m->k, m->k);
}

/* ---- the call -------------------------------------------------------------------------------- */

static bf_strided column_of(const bf_array *a) {
    bf_strided column = {a->data, bf_number_bytes(a->dtype), a->ndim, {0}, {0}};
    for (int d = 0; d < a->ndim; d++) {
        column.shape[d] = a->shape[d];
        column.strides[d] = a->shape[d] > 1 ? a->strides[d] : 0;
    }
    if (!bf_array_is_contiguous(a)) return column;
    column.ndim = 1;
    column.shape[0] = bf_array_elements(a, column.bytes);
    column.strides[0] = 1;
    return column;
}

static bf_status take_comoments(void *arg, int i, int j, const int64_t *const words[]) {
    matrix *m = arg;
    const size_t bytes = (size_t)bf_dtype_bytes(dtype_of_values(m));
    bf_value value;
    const bf_dtype dtype = m->arrays[0].dtype;
    bf_status status =
        m->weights != NULL
            ? bf_result_weighted(m->context, m->op, dtype, words, &m->options, &value)
            : bf_result(m->context, m->op, dtype, words[0], &m->options, &value);
    if (status != BF_OK) return status;
    const size_t at[] = {(size_t)(i * m->k + j), (size_t)(j * m->k + i)};
    for (int side = 0; side < 2; side++)
        memcpy(m->values.data + at[side] * bytes, &value.as, bytes);
    return BF_OK;
}

/* Arrays without elements have the words of empty states, which are zeros. */
static bf_status take_nothing(matrix *m) {
    static const int64_t zeros[BF_PARTS_WORDS_MAX];
    const int64_t *const words[] = {zeros, zeros, zeros};
    bf_status status = BF_OK;
    for (int i = 0; i < m->k; i++)
        for (int j = i; j < m->k && status == BF_OK; j++) status = take_comoments(m, i, j, words);
    return status;
}

static bf_status take_columns(matrix *m) {
    bf_strided *column = bf_alloc((size_t)(m->k + 1) * sizeof *column);
    if (column == NULL) return bf_fail(m->context, BF_E_MEMORY, "no memory for %d columns", m->k);
    for (int i = 0; i < m->k; i++) column[i] = column_of(&m->arrays[i]);
    if (m->weights != NULL) column[m->k] = column_of(m->weights);
    const bf_variables columns = {m->arrays[0].dtype, m->k, m->count, column, m->weights != NULL};
    bf_status status = m->context->used->reduce->comoments(m->context, &columns, take_comoments, m);
    bf_free(column);
    return status;
}

static bf_status place(const matrix *m) {
    bf_memory *memory = bf_alloc((size_t)(m->k + 1) * sizeof *memory);
    if (memory == NULL) return bf_fail(m->context, BF_E_MEMORY, "no memory for %d columns", m->k);
    for (int i = 0; i < m->k; i++) memory[i] = bf_flat_memory(&m->arrays[i]);
    if (m->weights != NULL) memory[m->k] = bf_flat_memory(m->weights);
    const bf_demand demand = {.cpu = true,
                              .on_host = "the CPU computes matrices of covariances",
                              .n = m->k + (m->weights != NULL ? 1 : 0),
                              .memory = memory};
    const bf_status status = bf_place(m->context, &demand);
    bf_free(memory);
    return status;
}

static bf_status fill(matrix *m, const bf_array *values) {
    bf_status status = place(m);
    if (status == BF_OK)
        status = bf_flat_prepare(m->context, m->context->used, values, true, &m->values);
    if (status == BF_OK) status = m->count == 0 ? take_nothing(m) : take_columns(m);
    return status == BF_OK ? bf_flat_return(m->context, &m->values) : status;
}

static bf_status reduce_matrix(matrix *m, const bf_reduce_options *given, const bf_array *values) {
    bf_status status = check_arrays(m, given);
    if (status == BF_OK) status = check_values(m, values);
    if (status == BF_OK) status = fill(m, values);
    bf_flat_release(&m->values);
    return status;
}

bf_status bf_cov_matrix(bf_context *context, bf_reduction op, const bf_array arrays[], int k,
                        const bf_reduce_options *options, const bf_array *values) {
    matrix m = {.context = context, .op = op, .arrays = arrays, .k = k};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_matrix(&m, options, values));
}

bf_status bf_cov_matrix_weighted(bf_context *context, bf_reduction op, const bf_array arrays[],
                                 int k, const bf_array *weights, const bf_reduce_options *options,
                                 const bf_array *values) {
    matrix m = {.context = context, .op = op, .arrays = arrays, .k = k, .weights = weights};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, weights != NULL ? reduce_matrix(&m, options, values)
                                             : bf_fail(context, BF_E_ARGUMENT, "no weights"));
}
