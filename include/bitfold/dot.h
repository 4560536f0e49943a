/* Dot product: the exact sum of the exact products of two arrays, rounded once.
 *
 * Products are not rounded and cannot over- or underflow. Infinity times zero makes the result NaN.
 * BF_NAN_SKIP skips a pair with a NaN in it. */
#ifndef BITFOLD_DOT_H
#define BITFOLD_DOT_H

#include "reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* a and b have one dtype (else BF_E_DTYPE) and one shape (else BF_E_SHAPE); they may overlap.
 * options may be NULL. The value's dtype: BF_I192 for integers and bools, BF_F64 (or
 * options->out_dtype) for floats. Errors: as bf_reduce. */
BF_API bf_status bf_dot(bf_context *context, const bf_array *a, const bf_array *b,
                        const bf_reduce_options *options, bf_value *value);

/* Takes n > 0 pairs of arrays as one pair: bf_state_absorb_pair_shards (state.h). */
BF_API bf_status bf_dot_shards(bf_context *context, const bf_array a[], const bf_array b[], int n,
                               const bf_reduce_options *options, bf_value *value);

/* Enqueues a dot product, as bf_reduce_async does a reduction. */
BF_API bf_status bf_dot_async(bf_context *context, const bf_array *a, const bf_array *b,
                              const bf_reduce_options *options, bf_value *value);

/* The simple calls: bf_dot_f64, bf_dot_i32, ... for two arrays of n contiguous elements. */
#define BF_X(id, number, name, bytes, T, kind, S, R)                                               \
    BF_API bf_status bf_dot_##name(bf_context *context, const T *a, const T *b, int64_t n, S *out);
BF_DTYPE_LIST(BF_X)
#undef BF_X

#ifdef __cplusplus
}
#endif
#endif
