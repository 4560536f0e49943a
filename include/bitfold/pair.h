/* Reductions of two arrays of one dtype and shape to one value, from exact sums over all pairs:
 *
 *   dot            sum of a b: bf_dot and others are short for it
 *   cov            sum of (a - mean a) (b - mean b), divided by n - ddof
 *   corr           cov / (std a * std b): in [-1, 1], 1 of equal arrays; NaN if one is constant
 *   slope, intercept, r2   of the line that fits b to a best (least squares), and its share of the
 *                  variance of b (the square of corr)
 *   wmean          (sum of a b) / (sum of b): b are weights
 *   wvar, wstd     with W = sum of b: (sum of b (a - wmean)^2) / (W - ddof), or by
 *                  BF_WEIGHTS_RELIABILITY / (W - ddof * (sum of b^2) / W); and its square root
 *
 * Each is the exact value, rounded once. A pair with a NaN counts as a NaN, and BF_NAN_SKIP leaves
 * it out. An infinity makes the result NaN, but that of wmean as it makes a mean infinite. Of fewer
 * pairs than ddof + 1, of no weight, and wherever the divisor is 0, the result is NaN. Negative
 * weights are taken as the formulas say. Decimals (bf_reduce_options.scale) have one scale in both
 * arrays. */
#ifndef BITFOLD_PAIR_H
#define BITFOLD_PAIR_H

#include "reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reduces by one of these. a and b have one dtype (else BF_E_DTYPE) and one shape (else
 * BF_E_SHAPE); they may overlap. options may be NULL. The value's dtype is BF_F64 or
 * options->out_dtype, but for dot. O(n). Errors: as bf_reduce. */
BF_API bf_status bf_reduce_pair(bf_context *context, bf_reduction op, const bf_array *a,
                                const bf_array *b, const bf_reduce_options *options,
                                bf_value *value);

/* Takes n > 0 pairs of arrays as one pair: bf_state_absorb_pair_shards (state.h). */
BF_API bf_status bf_reduce_pair_shards(bf_context *context, bf_reduction op, const bf_array a[],
                                       const bf_array b[], int n, const bf_reduce_options *options,
                                       bf_value *value);

/* Enqueues the reduction, as bf_reduce_async does. */
BF_API bf_status bf_reduce_pair_async(bf_context *context, bf_reduction op, const bf_array *a,
                                      const bf_array *b, const bf_reduce_options *options,
                                      bf_value *value);

/* These are short for BF_DOT, the exact sum of the exact products, rounded once: no product over-
 * or underflows. Infinity times zero makes the result NaN. The value's dtype is BF_I192 for
 * integers and bools, and BF_F64 (or options->out_dtype) for floats. */
BF_API bf_status bf_dot(bf_context *context, const bf_array *a, const bf_array *b,
                        const bf_reduce_options *options, bf_value *value);
BF_API bf_status bf_dot_shards(bf_context *context, const bf_array a[], const bf_array b[], int n,
                               const bf_reduce_options *options, bf_value *value);
BF_API bf_status bf_dot_async(bf_context *context, const bf_array *a, const bf_array *b,
                              const bf_reduce_options *options, bf_value *value);

/* The simple calls: bf_dot_f64, bf_dot_i32, ... for two arrays of n contiguous elements. */
#define BF_X(id, number, name, bytes, T, kind, S, R)                                               \
    BF_API bf_status bf_dot_##name(bf_context *context, const T *a, const T *b, int64_t n, S *out);
BF_DTYPE_LIST(BF_X)
#undef BF_X

/* The covariances (op BF_COV) or correlations (BF_CORR) of each two of k arrays of one dtype and
 * shape, in one pass. values: k x k of BF_F64 or options->out_dtype, symmetric. Each has the bits
 * of bf_reduce_pair of these two; with BF_NAN_SKIP a pair is left out where one of the two is NaN.
 * The diagonal has variances, or 1 (NaN of a constant). k is 1 to 1024. The CPU does it, and has
 * 1.2 KiB of memory for each two arrays and thread, and 4.3 KiB more if there are NaNs. On failure
 * nothing is written. Errors: as bf_reduce_pair; BF_E_DEVICE (an array is in a GPU's memory). O(k^2
 * n). */
BF_API bf_status bf_cov_matrix(bf_context *context, bf_reduction op, const bf_array arrays[], int k,
                               const bf_reduce_options *options, const bf_array *values);

/* Does so with weights, an array of the dtype and shape of the others. W is the sum of weights w:
 *
 *   cov     sum of w (a - wmean a) (b - wmean b), divided by W - ddof, or by BF_WEIGHTS_RELIABILITY
 *           by W - ddof * (sum of w^2) / W
 *   corr    cov / (wstd a * wstd b)
 *
 * A row in which a, b or w is a NaN counts as a NaN of the two. The CPU has 1.8 KiB of memory for
 * each two arrays and thread, and 10.3 KiB more if there are NaNs. Errors also: BF_E_ARGUMENT (no
 * weights). */
BF_API bf_status bf_cov_matrix_weighted(bf_context *context, bf_reduction op,
                                        const bf_array arrays[], int k, const bf_array *weights,
                                        const bf_reduce_options *options, const bf_array *values);

#ifdef __cplusplus
}
#endif
#endif
