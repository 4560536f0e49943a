/* Results from the levels of a window, in a few doubles. Each function returns whether it could
 * prove: what it cannot, sum_result.cuh computes in integers. */
#ifndef BF_CUDA_AXIS_QUICK_CUH
#define BF_CUDA_AXIS_QUICK_CUH

#include "cuda/axis/store.cuh"
#include "cuda/reduce/sum_terms.cuh"

extern "C" {
#include "rules/reduce/terms.h"
}

/* high + low, where |low| is at most half of high's last bit, or so. */
struct bf_cuda_axis_exactly {
    double high, low;
};

/* The content of a level as the double that it equals, if it has not outgrown its binade. */
static __device__ __forceinline__ bool bf_cuda_axis_level(int bottom, int level, int64_t content,
                                                          double *value) {
    const int64_t start = bf_window_start(bf_window_bottom(bottom, level));
    const double origin = __longlong_as_double(start);
    *value = __longlong_as_double(start + content) - origin;
    return (uint64_t)(content + ((int64_t)1 << 51)) >> 52 == 0;
}

/* The magnitude of x * 2^scale in two doubles, but for less than 2^-105 of it; less than 2^-900 is
 * nothing, and more than 2^900 there is not. */
static __device__ __forceinline__ bf_cuda_axis_exactly bf_cuda_axis_doubles(bf_leading x,
                                                                            int scale) {
    const int low = x.exponent + scale + 22, high = low + 53; /* the exponents of the last bits */
    if (x.bits == 0 || low < -1000) return {0, 0};
    return {(double)(uint64_t)(x.bits >> 75) * __longlong_as_double((long long)(high + 1023) << 52),
            (double)((uint64_t)(x.bits >> 22) & (((uint64_t)1 << 53) - 1)) *
                __longlong_as_double((long long)(low + 1023) << 52)};
}

/* Three doubles, each less than the one before but where that is small, as two: the second one
 * rounded to odd, so that their sum rounds as the exact one. */
static __device__ __forceinline__ bf_cuda_axis_exactly bf_cuda_axis_add_3(double a, double b,
                                                                          double c) {
    double e, l, rest = bf_two_sum(b, c, &c);
    double h = bf_two_sum(a, rest, &e);
    e = bf_two_sum(e, c, &l);
    return {h, bf_round_odd(e, l)};
}

/* The sum of K levels; what it lacks is *lost at most. */
template <int K>
static __device__ __forceinline__ bool
bf_cuda_axis_levels(int bottom, const int64_t *content, bf_cuda_axis_exactly *sum, double *lost) {
    double d[K > 3 ? K : 3] = {}, rest;
    bool good = true;
#pragma unroll
    for (int l = 0; l < K; l++) good = bf_cuda_axis_level(bottom, l, content[l], &d[l]) && good;
    *lost = 0;
#pragma unroll
    for (int l = K - 1; l > 2; l--) {
        d[l - 1] = bf_two_sum(d[l - 1], d[l], &rest);
        *lost += fabs(rest);
    }
    if (K == 1)
        *sum = {d[0], 0};
    else if (K == 2)
        sum->high = bf_two_sum(d[0], d[1], &sum->low);
    else
        *sum = bf_cuda_axis_add_3(d[0], d[1], d[2]);
    return good;
}

/* high + low rounded to a dtype. */
static __device__ __forceinline__ uint64_t bf_cuda_axis_round(bf_dtype to, double high, double low,
                                                              bool *good) {
    double rest, sum = bf_two_sum(high, low, &rest);
    *good = *good && fabs(sum) <= 1.7976931348623157e308;
    if (to == BF_F64) return (uint64_t)__double_as_longlong(sum);
    sum = bf_round_odd(sum, rest);
    if (to == BF_F32) return __float_as_uint((float)sum);
    const float narrow = bf_narrow_odd(sum);
    *good = *good && (narrow == 0 || fabsf(narrow) >= 1.1754943508222875e-38f);
    if (to == BF_F16) return __half_as_ushort(__float2half_rn(narrow));
    const unsigned bits = __float_as_uint(narrow);
    *good = *good && fabsf(narrow) <= 3.3895313892515355e38f;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* high + low, which lacks less than `error`. */
static __device__ __forceinline__ bool bf_cuda_axis_round_near(bf_dtype to, double high, double low,
                                                               double error, uint64_t *bits) {
    bool good = fabs(high) > 1e-250 && fabs(high) < 1e250;
    if (to == BF_F64) {
        const double x = high + (low + error);
        *bits = (uint64_t)__double_as_longlong(x);
        return x == high + (low - error) && good;
    }
    *bits = bf_cuda_axis_round(to, high, low + error, &good);
    return bf_cuda_axis_round(to, high, low - error, &good) == *bits && good;
}

/* (high + low) / n, for n below 2^53. What the quotient lacks is at most 2^-101 of it. */
static __device__ __forceinline__ bf_cuda_axis_exactly
bf_cuda_axis_divide_exactly(bf_cuda_axis_exactly x, double n) {
    const double q = x.high / n, rest = fma(-q, n, x.high);
    return {q, (rest + x.low) / n};
}

/* x / n, where `inverse` is 1 / n. A quotient that two doubles hold is rounded as it is: such are
 * often in the middle of two results. */
static __device__ __forceinline__ bool bf_cuda_axis_quick_mean(bf_dtype to, bf_cuda_axis_exactly x,
                                                               int64_t n, double inverse,
                                                               uint64_t *bits) {
    const double by = (double)n, q = x.high * inverse;
    double lost, rest = bf_two_sum(fma(-q, by, x.high), x.low, &lost);
    double low = rest * inverse;
    low = fma(fma(-low, by, rest), inverse, low);
    bool good =
        fabs(x.high) > 1e-250 && fabs(x.high) < 1e250 && (x.low == 0 || fabs(x.low) > 1e-280);
    if ((lost == 0 && fma(-low, by, rest) == 0 && (low == 0 || fabs(low) > 1e-250)) ||
        (n & (n - 1)) == 0) {
        *bits = bf_cuda_axis_round(to, q, low, &good);
        return good;
    }
    return good && bf_cuda_axis_round_near(to, q, low, fabs(q) * 0x1p-98, bits);
}

/* The root of high + low. */
static __device__ __forceinline__ bool bf_cuda_axis_quick_root(bf_dtype to, bf_cuda_axis_exactly x,
                                                               uint64_t *bits) {
    if (!(x.high > 1e-200 && x.high < 1e200)) return false;
    const double r = sqrt(x.high), low = (fma(-r, r, x.high) + x.low) / (2 * r);
    return bf_cuda_axis_round_near(to, r, low, r * 0x1p-96, bits);
}

/* spread / by, or its root, where `inverse` is 1 / by. It lacks less than `error` before the root.
 */
static __device__ __forceinline__ bool bf_cuda_axis_quick_spread(bf_dtype to, bool root,
                                                                 bf_cuda_axis_exactly spread,
                                                                 double by, double inverse,
                                                                 double error, uint64_t *bits) {
    bf_cuda_axis_exactly v;
    const double q = spread.high * inverse, rest = fma(-q, by, spread.high) + spread.low;
    v.high = bf_two_sum(q, rest * inverse, &v.low);
    if (root) { /* what the root lacks is divided by twice the root */
        const double by_root = rsqrt(v.high), r = v.high * by_root;
        v.low = (fma(-r, r, v.high) + v.low) * (0.5 * by_root);
        v.high = r;
        error = error * by_root + r * 0x1p-96;
    }
    return bf_cuda_axis_round_near(to, v.high, v.low, error, bits);
}

/* (n * squares - sum^2) / (n * (n - ddof)), or its root. All that is rounded is less than 2^-99 of
 * n * squares; with what the sums lack, less than `lost` of it. What the divisor lacks as a double,
 * beyond n of 2^26, is taken off the dividend. Elements whose variance is at most `nothing` of
 * that term are all equal. */
static __device__ __forceinline__ bool
bf_cuda_axis_quick_variance(bf_dtype to, bool root, bf_cuda_axis_exactly sum,
                            bf_cuda_axis_exactly squares, int64_t count, int ddof, uint64_t *bits,
                            double lost = 0x1p-97, double nothing = -1) {
    const double n = (double)count, less = (double)(count - ddof), by = n * less;
    const double p = n * squares.high, p_low = fma(n, squares.high, -p) + n * squares.low;
    const double q = sum.high * sum.high;
    const double q_low = fma(sum.high, sum.high, -q) + 2 * sum.high * sum.low;
    double rest, d = bf_two_sum(p, -q, &rest);
    *bits = 0;
    if (squares.high == 0 || (count == 1 && squares.high < 1e300)) return true;
    if (!(p > 1e-200 && p < 1e200)) return false;
    const double inverse = 1 / by, by_low = fma(n, less, -by), low = rest + (p_low - q_low);
    if (fabs(d + low) <= p * nothing) return true;
    if (!(d > p * 0x1p-40)) return false;
    return bf_cuda_axis_quick_spread(to, root, {d, low - d * inverse * by_low}, by, inverse,
                                     p * inverse * lost, bits);
}

#endif
