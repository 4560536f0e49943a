/* Reductions of whole arrays: a state, one absorb, its result. */
#include "../../include/bitfold/dot.h"
#include "result.h"
#include "state.h"

static bf_status reduce(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                        const bf_reduce_options *options, bf_value *value) {
    if (context == NULL) return BF_E_ARGUMENT;
    if (a == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    bf_status status = bf_check_reduce_options(context, op, options);
    if (status != BF_OK) return status;
    bf_state *state;
    status = bf_state_create(context, op, a->dtype, &state);
    if (status != BF_OK) return status;
    status = op == BF_DOT ? bf_state_absorb_pair(state, a, b) : bf_state_absorb(state, a);
    if (status == BF_OK) status = bf_state_result(state, options, value);
    bf_state_destroy(state);
    return status;
}

bf_status bf_reduce(bf_context *context, bf_reduction op, const bf_array *array,
                    const bf_reduce_options *options, bf_value *value) {
    if (context != NULL && op == BF_DOT)
        return bf_fail(context, BF_E_ARGUMENT, "dot takes two arrays: bf_dot");
    return reduce(context, op, array, NULL, options, value);
}

bf_status bf_dot(bf_context *context, const bf_array *a, const bf_array *b,
                 const bf_reduce_options *options, bf_value *value) {
    return reduce(context, BF_DOT, a, b, options, value);
}

/* The simple calls. `out` points at the C type that `to` names: a dtype, or that of the value. */
static bf_status store(bf_context *context, const bf_value *value, bf_dtype to, void *out) {
    bf_status status = BF_OK;
    double f64 = bf_value_f64(value);
    switch (to) {
    case BF_F64: memcpy(out, &f64, sizeof f64); break;
    case BF_I64: status = bf_value_i64(value, out); break;
    case BF_U64: status = bf_value_u64(value, out); break;
    default: memcpy(out, &value->as, (size_t)bf_dtype_bytes(to)); break; /* little-endian */
    }
    if (status == BF_OK) return status;
    return bf_fail(context, status, "the exact result does not fit %s", bf_dtype_name(to));
}

static bf_status simple(bf_context *context, bf_reduction op, bf_dtype dtype, const void *a,
                        const void *b, int64_t n, int ddof, bf_dtype to, void *out) {
    bf_value value;
    if (context == NULL) return BF_E_ARGUMENT;
    if (out == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the result");
    bf_array array = bf_array_of(dtype, a, n), other = bf_array_of(dtype, b, n);
    bf_reduce_options options = BF_REDUCE_OPTIONS(.ddof = ddof);
    bf_status status = reduce(context, op, &array, &other, &options, &value);
    return status == BF_OK ? store(context, &value, to, out) : status;
}

/* The dtypes whose C types are S and R of BF_SIMPLE_LIST. */
static bf_dtype sum_type(bf_dtype dtype) {
    if (bf_dtype_is_float(dtype)) return BF_F64;
    return dtype == BF_BOOL || bf_dtype_is_signed(dtype) ? BF_I64 : BF_U64;
}

static bf_dtype value_type(bf_dtype dtype) {
    return dtype == BF_F16 || dtype == BF_BF16 ? BF_F64 : dtype;
}

/* Names are joined in BF_X itself, where an argument is not expanded: <stdbool.h> makes bool a
 * macro. */
#define DEFINE(name, op, D, T, R, to)                                                              \
    bf_status bf_##name(bf_context *context, const T *x, int64_t n, R *out) {                      \
        return simple(context, op, BF_##D, x, NULL, n, 0, to, out);                                \
    }
#define DEFINE_DDOF(name, op, D, T)                                                                \
    bf_status bf_##name(bf_context *context, const T *x, int64_t n, int ddof, double *out) {       \
        return simple(context, op, BF_##D, x, NULL, n, ddof, BF_F64, out);                         \
    }
#define DEFINE_DOT(name, D, T, S)                                                                  \
    bf_status bf_##name(bf_context *context, const T *a, const T *b, int64_t n, S *out) {          \
        return simple(context, BF_DOT, BF_##D, a, b, n, 0, sum_type(BF_##D), out);                 \
    }
#define BF_X(X, D, T, S, R)                                                                        \
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
BF_SIMPLE_LIST(BF_X)
