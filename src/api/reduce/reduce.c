/* Reductions of whole arrays: a state, one absorb, its result. */
#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "seam/memory.h"
#include <bitfold/pair.h>

int bf_reduction_arrays(bf_reduction op) {
    return bf_class_of(op) == 0 ? 0 : bf_takes_pairs(op) ? 2 : 1;
}

/* ---- placing --------------------------------------------------------------------------------- */

static int share_of(bf_kind kind) {
    switch (kind) {
    case BF_KIND_MOMENTS:
    case BF_KIND_DESCRIPTION: return 40;
    case BF_KIND_COMOMENTS:
    case BF_KIND_WEIGHTED: return 40;
    case BF_KIND_PRODUCT:
    case BF_KIND_POWERS: return 10;
    case BF_KIND_PRODUCT_TREE: return 50;
    default: return 100;
    }
}

bf_demand bf_reduce_demand(bf_kind kind, bf_dtype dtype) {
    return (bf_demand){
        .share = share_of(kind), .cpu = dtype == BF_I128, .on_host = "the CPU reduces i128"};
}

bf_status bf_reduce_place(bf_context *context, bf_kind kind, const bf_array *const arrays[],
                          int arity, int64_t count) {
    int64_t bytes = bf_bytes_of(count, bf_number_bytes(arrays[0]->dtype));
    const bf_memory memory[] = {{arrays[0]->data, bytes}, {arrays[arity - 1]->data, bytes}};
    bf_demand demand = bf_reduce_demand(kind, arrays[0]->dtype);
    demand.n = arity;
    demand.memory = memory;
    return bf_place(context, &demand);
}

/* ---- at once --------------------------------------------------------------------------------- */

/* Reads what at_once takes. */
static bool read_short(bf_reduction op, const bf_array *a, const bf_array *b, bf_job *job) {
    *job = (bf_job){.op = op, .kind = bf_kind_of(op, a->dtype), .dtype = a->dtype, .a = a->data};
    job->count = bf_array_elements(a, bf_number_bytes(a->dtype));
    if (strcmp(bf_reduction_name(op), "?") == 0) return false;
    if (job->kind == BF_KIND_PRODUCT && a->dtype == BF_I128) return false;
    if (job->count <= 0 || job->count > BF_AT_ONCE_MOST || !bf_array_is_contiguous(a)) return false;
    if (!bf_takes_pairs(op)) return true;
    job->b = b != NULL ? b->data : NULL;
    return job->b != NULL && b->dtype == a->dtype && bf_same_shape(a, b) &&
           bf_array_elements(b, bf_number_bytes(a->dtype)) == job->count &&
           bf_array_is_contiguous(b);
}

bool bf_reduce_at_once(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                       bf_job *job) {
    const bf_array *const arrays[] = {a, b};
    return !bf_is_watched(context) && read_short(op, a, b, job) &&
           bf_reduce_place(context, job->kind, arrays, job->b != NULL ? 2 : 1, job->count) ==
               BF_OK &&
           context->used->reduce->at_once != NULL;
}

/* Reduces a short array without a state. */
static bool reduce_short(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                         const bf_reduce_options *options, bf_value *value) {
    bf_job job;
    return value != NULL && op != BF_DESCRIBE && bf_reduce_at_once(context, op, a, b, &job) &&
           context->used->reduce->at_once(context, &job, options, value);
}

static bf_status reduce_arrays(bf_context *context, bf_reduction op, const bf_array *a,
                               const bf_array *b, const bf_reduce_options *given, bf_value *value) {
    bf_reduce_options options;
    if (a == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    bf_status status = bf_read_reduce_options(context, op, a->dtype, given, &options);
    if (status != BF_OK) return status;
    if (reduce_short(context, op, a, b, &options, value)) return BF_OK;
    bf_state *state;
    status = bf_state_make(context, op, a->dtype, &state);
    if (status != BF_OK) return status;
    status =
        bf_takes_pairs(op) ? bf_state_absorb_arrays(state, a, b) : bf_state_absorb_array(state, a);
    if (status == BF_OK)
        status = bf_result(context, op, state->dtype, state->words, &options, value);
    bf_state_destroy(state);
    return status;
}

static bf_status check_op(bf_context *context, bf_reduction op) {
    return bf_takes_pairs(op)
               ? bf_fail(context, BF_E_ARGUMENT, "%s takes two arrays: bf_reduce_pair",
                         bf_reduction_name(op))
               : BF_OK;
}

static bf_status reduce_one(bf_context *context, bf_reduction op, const bf_array *array,
                            const bf_reduce_options *options, bf_value *value) {
    bf_status status = check_op(context, op);
    return status == BF_OK ? reduce_arrays(context, op, array, NULL, options, value) : status;
}

bf_status bf_reduce(bf_context *context, bf_reduction op, const bf_array *array,
                    const bf_reduce_options *options, bf_value *value) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_one(context, op, array, options, value));
}

static bf_status reduce_pair(bf_context *context, bf_reduction op, const bf_array *a,
                             const bf_array *b, const bf_reduce_options *options, bf_value *value) {
    bf_status status = bf_check_takes_pairs(context, op);
    return status == BF_OK ? reduce_arrays(context, op, a, b, options, value) : status;
}

bf_status bf_reduce_pair(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                         const bf_reduce_options *options, bf_value *value) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_pair(context, op, a, b, options, value));
}

bf_status bf_dot(bf_context *context, const bf_array *a, const bf_array *b,
                 const bf_reduce_options *options, bf_value *value) {
    return bf_reduce_pair(context, BF_DOT, a, b, options, value);
}

/* ---- enqueued -------------------------------------------------------------------------------- */

/* Checks the operands. b is NULL but for reductions of pairs. */
static bf_status check_async(bf_context *context, bf_reduction op, const bf_array *a,
                             const bf_array *b, const bf_value *value, int64_t *count) {
    if (a == NULL || (bf_takes_pairs(op) && b == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "no array");
    if (strcmp(bf_reduction_name(op), "?") == 0 || op == BF_DESCRIBE)
        return bf_fail(context, BF_E_ARGUMENT, "no reduction to a value has number %d", (int)op);
    if (bf_dtype_bytes(a->dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)a->dtype);
    if (value == NULL || (uintptr_t)value % 8 != 0)
        return bf_fail(context, BF_E_ARGUMENT, "no place, aligned to 8 bytes, for the value");
    bf_status status = bf_takes_pairs(op) ? bf_check_pair(context, a->dtype, a, b, count)
                                          : bf_check_array(context, a->dtype, a, count);
    if (status != BF_OK || *count == 0) return status;
    return bf_array_is_contiguous(a) && (b == NULL || bf_array_is_contiguous(b))
               ? BF_OK
               : bf_fail(context, BF_E_ARGUMENT, "the memory is not contiguous");
}

/* Places a call by its arrays and by the memory of the value. */
static bf_status place_async(bf_context *context, const bf_job *job, const bf_value *value) {
    int64_t bytes = bf_bytes_of(job->count, bf_dtype_bytes(job->dtype));
    const bf_memory memory[] = {{job->a, bytes}, {value, sizeof *value}, {job->b, bytes}};
    bf_demand demand = bf_reduce_demand(job->kind, job->dtype);
    demand.n = job->b != NULL ? 3 : 2;
    demand.memory = memory;
    return bf_place(context, &demand);
}

/* Reduces at once, for a backend without a queue, and joint kinds, whose results the host computes.
 * Reports errors of the data as a queue would, in the value. */
static bf_status reduce_now(bf_context *context, bf_reduction op, const bf_array *a,
                            const bf_array *b, const bf_reduce_options *options, bf_value *value) {
    bf_value found = {.dtype = BF_NONE};
    bf_status status = reduce_arrays(context, op, a, b, options, &found);
    if (status == BF_E_NAN || status == BF_E_EMPTY || status == BF_E_OVERFLOW)
        found = (bf_value){.dtype = BF_NONE};
    else if (status != BF_OK)
        return status;
    return context->used->memory->copy(context, value, &found, sizeof found);
}

static bf_status enqueue_arrays(bf_context *context, bf_reduction op, const bf_array *a,
                                const bf_array *b, const bf_reduce_options *given,
                                bf_value *value) {
    bf_reduce_options options;
    int64_t count = 0;
    bf_status status = check_async(context, op, a, b, value, &count);
    if (status == BF_OK) status = bf_read_reduce_options(context, op, a->dtype, given, &options);
    if (status != BF_OK) return status;
    bf_job job = {.op = op, .kind = bf_kind_of(op, a->dtype), .dtype = a->dtype, .a = a->data};
    job.b = b != NULL ? b->data : NULL;
    job.count = count;
    status = place_async(context, &job, value);
    if (status != BF_OK) return status;
    if (context->used->reduce->enqueue == NULL || bf_kind_is_joint(job.kind))
        return reduce_now(context, op, a, b, &options, value);
    return context->used->reduce->enqueue(context, &job, &options, value);
}

static bf_status enqueue_one(bf_context *context, bf_reduction op, const bf_array *array,
                             const bf_reduce_options *options, bf_value *value) {
    bf_status status = check_op(context, op);
    return status == BF_OK ? enqueue_arrays(context, op, array, NULL, options, value) : status;
}

bf_status bf_reduce_async(bf_context *context, bf_reduction op, const bf_array *array,
                          const bf_reduce_options *options, bf_value *value) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, enqueue_one(context, op, array, options, value));
}

static bf_status enqueue_pair(bf_context *context, bf_reduction op, const bf_array *a,
                              const bf_array *b, const bf_reduce_options *options,
                              bf_value *value) {
    bf_status status = bf_check_takes_pairs(context, op);
    return status == BF_OK ? enqueue_arrays(context, op, a, b, options, value) : status;
}

bf_status bf_reduce_pair_async(bf_context *context, bf_reduction op, const bf_array *a,
                               const bf_array *b, const bf_reduce_options *options,
                               bf_value *value) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, enqueue_pair(context, op, a, b, options, value));
}

bf_status bf_dot_async(bf_context *context, const bf_array *a, const bf_array *b,
                       const bf_reduce_options *options, bf_value *value) {
    return bf_reduce_pair_async(context, BF_DOT, a, b, options, value);
}

/* Converts a value to the C type that `to` names: a dtype, or that of the value. */
static bf_status store_value(bf_context *context, const bf_value *value, bf_dtype to, void *out) {
    bf_status status = BF_OK;
    double f64 = bf_value_f64(value);
    switch (to) {
    case BF_F64: memcpy(out, &f64, sizeof f64); break;
    case BF_I64: status = bf_value_i64(value, out); break;
    case BF_U64: status = bf_value_u64(value, out); break;
    default: memcpy(out, &value->as, (size_t)bf_dtype_bytes(to)); break; /* low bytes come first */
    }
    if (status == BF_OK) return status;
    return bf_fail(context, status, "the exact result does not fit %s", bf_dtype_name(to));
}

static bf_status reduce_and_store(bf_context *context, bf_reduction op, bf_dtype dtype,
                                  const void *a, const void *b, int64_t n, int ddof, bf_dtype to,
                                  void *out) {
    bf_value value;
    if (out == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the result");
    bf_array array, other;
    bf_array_set(&array, dtype, a, n);
    bf_array_set(&other, dtype, b, n);
    bf_reduce_options options = BF_REDUCE_OPTIONS(.ddof = ddof);
    const bf_reduce_options *given = ddof != 0 ? &options : NULL;
    bf_status status = reduce_arrays(context, op, &array, &other, given, &value);
    return status == BF_OK ? store_value(context, &value, to, out) : status;
}

static bf_status reduce_vectors(bf_context *context, bf_reduction op, bf_dtype dtype, const void *a,
                                const void *b, int64_t n, int ddof, bf_dtype to, void *out) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_and_store(context, op, dtype, a, b, n, ddof, to, out));
}

/* Return the dtypes of the results S and R of BF_DTYPE_LIST. */
static bf_dtype sum_type(bf_dtype dtype) {
    if (bf_dtype_is_float(dtype)) return BF_F64;
    return dtype == BF_BOOL || bf_dtype_is_signed(dtype) ? BF_I64 : BF_U64;
}

static bf_dtype value_type(bf_dtype dtype) { return bf_dtype_is_half(dtype) ? BF_F64 : dtype; }

/* BF_X itself joins names with ##, which does not expand arguments: <stdbool.h> makes bool a macro.
 */
#define DEFINE(name, op, D, T, R, to)                                                              \
    bf_status bf_##name(bf_context *context, const T *x, int64_t n, R *out) {                      \
        return reduce_vectors(context, op, BF_##D, x, NULL, n, 0, to, out);                        \
    }
#define DEFINE_DDOF(name, op, D, T)                                                                \
    bf_status bf_##name(bf_context *context, const T *x, int64_t n, int ddof, double *out) {       \
        return reduce_vectors(context, op, BF_##D, x, NULL, n, ddof, BF_F64, out);                 \
    }
#define DEFINE_DOT(name, D, T, S)                                                                  \
    bf_status bf_##name(bf_context *context, const T *a, const T *b, int64_t n, S *out) {          \
        return reduce_vectors(context, BF_DOT, BF_##D, a, b, n, 0, sum_type(BF_##D), out);         \
    }
#define BF_X(D, number, X, bytes, T, kind, S, R)                                                   \
    DEFINE(sum_##X, BF_SUM, D, T, S, sum_type(BF_##D))                                             \
    DEFINE(sumsq_##X, BF_SUMSQ, D, T, S, sum_type(BF_##D))                                         \
    DEFINE(prod_##X, BF_PROD, D, T, S, sum_type(BF_##D))                                           \
    DEFINE(norm_##X, BF_NORM, D, T, double, BF_F64)                                                \
    DEFINE(mean_##X, BF_MEAN, D, T, double, BF_F64)                                                \
    DEFINE_DDOF(var_##X, BF_VAR, D, T)                                                             \
    DEFINE_DDOF(std_##X, BF_STD, D, T)                                                             \
    DEFINE(min_##X, BF_MIN, D, T, R, value_type(BF_##D))                                           \
    DEFINE(max_##X, BF_MAX, D, T, R, value_type(BF_##D))                                           \
    DEFINE(argmin_##X, BF_ARGMIN, D, T, int64_t, BF_I64)                                           \
    DEFINE(argmax_##X, BF_ARGMAX, D, T, int64_t, BF_I64)                                           \
    DEFINE_DOT(dot_##X, D, T, S)
BF_DTYPE_LIST(BF_X)
