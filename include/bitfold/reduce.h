/* Reductions of one array to one value.
 *
 *   sum, mean      the exact value, rounded once (to nearest, ties to even)
 *   var, std       from the exact moments, rounded once: never negative, no cancellation
 *   sumsq, norm    the sum of squares, and its square root: exact, rounded once
 *   skew, kurtosis from the exact moments, rounded once: of ddof 0 the moments' own, of ddof 1
 *                  without bias; NaN of a constant
 *   prod           integers: exact up to 128 bits; floats: a fixed tree over the index in
 *                  double-double, rounded once (docs/numerics.md): an error below 1 ulp, and no
 *                  over- or underflow on the way
 *   min, max       IEEE 754-2019 minimum and maximum: -0 < +0, NaN propagates
 *   argmin, argmax the first index that holds the minimum or maximum; the first NaN if there is one
 *
 * The result depends only on the values (for argmin, argmax and prod of floats, also on their
 * positions). It does not depend on the order of the work, the number of threads, the instruction
 * set or the device. Method: long fixed-point accumulators (Kulisch), fed by vectors of
 * floating-point bins; see docs/numerics.md.
 *
 * Empty input: sum, sumsq and norm give 0, prod 1, mean, var and std NaN; the others BF_E_EMPTY.
 * Infinities: if all have one sign, the sum is that infinity, else NaN; var and std are NaN.
 * Zero: a sum of zero is +0, but the sum of nothing but -0 is -0. */
#ifndef BITFOLD_REDUCE_H
#define BITFOLD_REDUCE_H

#include "array.h"
#include "context.h"
#include "options.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_reduce_options {
    size_t size;        /* sizeof(bf_reduce_options): see bitfold.h */
    bf_nan_policy nan;  /* floats only; default: propagate */
    bf_dtype out_dtype; /* BF_NONE (default), BF_F64 or BF_F32: what to round to, once, from the
                           exact value; not for min, max, argmin and argmax */
    int ddof;           /* var, std and cov: divide by n - ddof, wvar and wstd by their weights less
                           as much; skew and kurtosis: 1 takes the bias out; 0 (default) or 1 */
    bf_overflow_policy overflow; /* prod of integers: error (default), or wrap modulo 2^64 */
    const bf_value *empty; /* for many at once (axis.h): the min, max, argmin or argmax of nothing,
                              of the results' dtype; NULL: BF_E_EMPTY */
    int scale;             /* integers stand for themselves times 10^-scale, from 0 (default) to
                              BF_SCALE_MOST_I128:
                              means, deviations, norms and what out_dtype asks for are divided before they are
                              rounded, and other values have a scale (value.h): this one, or twice this one for
                              sumsq and dot. Not for prod, for floats, for states (which have their own:
                              bf_state_rescale), nor for many at once but groups */
    int later;             /* for calls on a stream (axis.h): 1: what the data make wrong fails, and
                              bf_context_failure says so; 0 (default): such calls go on */
    bf_weights weights;    /* wvar and wstd: what weights say; default: how often a value counts */
} bf_reduce_options;

/* BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP). */
#define BF_REDUCE_OPTIONS(...) BF_OPTIONS_OF(bf_reduce_options, __VA_ARGS__)

/* Reduces array by op: any but those of pairs (pair.h) and BF_DESCRIBE (describe.h). options may be
 * NULL. The value's dtype is options->out_dtype if given. Otherwise it is BF_I192 for sum, sumsq
 * and prod of integers and bools (with BF_OVERFLOW_WRAP, BF_I64 or BF_U64 for prod), and for min
 * and max of BF_I128; BF_I64 for argmin and argmax; the array's for min and max; BF_F64 for all
 * others. O(n). The array is read once, and not copied if it is contiguous. Errors: BF_E_ARGUMENT,
 * BF_E_DTYPE, BF_E_SHAPE, BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW (prod of integers past 128 bits,
 * sumsq of BF_I128 past 192 bits), BF_E_MEMORY. */
BF_API bf_status bf_reduce(bf_context *context, bf_reduction op, const bf_array *array,
                           const bf_reduce_options *options, bf_value *value);

/* Takes n > 0 arrays of one dtype as one array: bf_state_absorb_shards (state.h) says how. In a
 * context of all GPUs they work at the same time. */
BF_API bf_status bf_reduce_shards(bf_context *context, bf_reduction op, const bf_array shards[],
                                  int n, const bf_reduce_options *options, bf_value *value);

/* Enqueues the reduction on the context's stream (context.h). value is memory that the GPU can
 * write (device, pinned or managed), aligned to 8 bytes. On the CPU the value is there when the
 * call returns. array is contiguous memory that the GPU can read, else BF_E_ARGUMENT. If bf_reduce
 * would return BF_E_NAN, BF_E_EMPTY or BF_E_OVERFLOW, the value gets dtype BF_NONE. */
BF_API bf_status bf_reduce_async(bf_context *context, bf_reduction op, const bf_array *array,
                                 const bf_reduce_options *options, bf_value *value);

/* The simple calls, for n contiguous elements and default options: bf_sum_f64, bf_argmin_i32, ...
 * X is the dtype's name, T its C type, S the type of its sums and products: int64_t for bool and
 * signed integers, uint64_t for unsigned ones (BF_E_OVERFLOW if the exact sum does not fit), else
 * double. R is the type of a single value: T, but double for f16 and bf16 data (exact). */
#define BF_REDUCE_CALLS(id, number, X, bytes, T, kind, S, R)                                       \
    BF_API bf_status bf_sum_##X(bf_context *context, const T *x, int64_t n, S *out);               \
    BF_API bf_status bf_sumsq_##X(bf_context *context, const T *x, int64_t n, S *out);             \
    BF_API bf_status bf_prod_##X(bf_context *context, const T *x, int64_t n, S *out);              \
    BF_API bf_status bf_norm_##X(bf_context *context, const T *x, int64_t n, double *out);         \
    BF_API bf_status bf_mean_##X(bf_context *context, const T *x, int64_t n, double *out);         \
    BF_API bf_status bf_var_##X(bf_context *context, const T *x, int64_t n, int ddof,              \
                                double *out);                                                      \
    BF_API bf_status bf_std_##X(bf_context *context, const T *x, int64_t n, int ddof,              \
                                double *out);                                                      \
    BF_API bf_status bf_min_##X(bf_context *context, const T *x, int64_t n, R *out);               \
    BF_API bf_status bf_max_##X(bf_context *context, const T *x, int64_t n, R *out);               \
    BF_API bf_status bf_argmin_##X(bf_context *context, const T *x, int64_t n, int64_t *out);      \
    BF_API bf_status bf_argmax_##X(bf_context *context, const T *x, int64_t n, int64_t *out);

BF_DTYPE_LIST(BF_REDUCE_CALLS) /* not through a second macro: <stdbool.h> makes bool one */

#ifdef __cplusplus
}
#endif
#endif
