/* Rounded results of sums of any exponent, in registers: from the leading bits of the sums. */
#ifndef BF_CUDA_AXIS_EXACT_ROUNDING_CUH
#define BF_CUDA_AXIS_EXACT_ROUNDING_CUH

#include "cuda/axis/quick.cuh"

#include "rules/reduce/finish.h"

/* The result that a call wants. */
struct bf_cuda_axis_asked {
    bf_kind kind;
    bf_reduction op;
    bf_dtype to;
    bf_nan_policy nan;
    int ddof;
};

/* Multiplies a result by 2^scale. Returns whether it remains normal, or overflows. */
static __device__ __forceinline__ bool bf_cuda_axis_scale(bf_dtype to, int scale, uint64_t *bits) {
    if (to == BF_F64) {
        const double x = scalbn(__longlong_as_double((long long)*bits), scale);
        *bits = (uint64_t)__double_as_longlong(x);
        return x > 2.2250738585072014e-308;
    }
    const double x = scalbn((double)__uint_as_float((unsigned)*bits), scale);
    *bits = __float_as_uint((float)x);
    return x > 1.1754943508222875e-38;
}

/* The variance of n finite terms, or its root, computed with squares that are about 1. */
static __device__ __forceinline__ bool bf_cuda_axis_round_variance(const bf_cuda_axis_asked &to,
                                                                   bf_leading sum,
                                                                   bf_leading squares, int64_t n,
                                                                   uint64_t *bits) {
    *bits = 0;
    if (squares.bits == 0 || n == 1) return true;
    const bool root = to.op == BF_STD;
    const int half = (squares.exponent + 127) >> 1;
    return bf_cuda_axis_quick_variance(to.to, root, bf_cuda_axis_doubles(sum, -half),
                                       bf_cuda_axis_doubles(squares, -2 * half), n, to.ddof,
                                       bits) &&
           bf_cuda_axis_scale(to.to, root ? half : 2 * half, bits);
}

/* The result of sums, whose counters have the order of a state's words; a float. leading(products,
 * &negative) returns the leading bits of a sum. False: it takes more than registers. */
template <class Leading>
static __device__ __forceinline__ bool
bf_cuda_axis_round_sums(const bf_cuda_axis_asked &to, const int64_t *counts, const Leading &leading,
                        uint64_t *bits) {
    const bf_format f = bf_format_of(to.to);
    const int64_t n = bf_finish_count(counts);
    const bool moments = to.kind == BF_KIND_MOMENTS;
    const bool special = bf_finish_special(counts, to.nan == BF_NAN_SKIP, f, bits);
    bool negative;
    if (special && !moments) return true;
    *bits = bf_format_nan(f);
    if (special || (moments && n <= to.ddof) || (to.op == BF_MEAN && n == 0)) return true;
    bf_leading x = leading(to.kind != BF_KIND_SUM, &negative);
    if (moments) return bf_cuda_axis_round_variance(to, leading(false, &negative), x, n, bits);
    *bits = bf_finish_zero_is_negative(counts) ? bf_format_sign(f) : 0;
    if (x.bits == 0) return true;
    if (to.op == BF_MEAN) x = bf_leading_divide(x, (uint64_t)n);
    if (to.op == BF_NORM) x = bf_leading_root(x);
    *bits = bf_leading_round(f, negative, x);
    return true;
}

#endif
