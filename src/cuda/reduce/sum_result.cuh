/* From exact sums, as integers of a few weights, to rounded results, in registers. */
#ifndef BF_CUDA_REDUCE_SUM_RESULT_CUH
#define BF_CUDA_REDUCE_SUM_RESULT_CUH

#include "cuda/reduce/kernel.cuh"

#include "rules/number/wide.h"

/* What the sums of an exact kind are: first those of x, then those of products. Sum i of a series
 * weighs 2^(bottom - spacing * i). */
struct bf_cuda_series {
    int sums, products;
    int sum_bottom, product_bottom, spacing;

    __host__ __device__ int count() const { return sums + products; }
    __host__ __device__ int exponent(int i) const {
        return i < sums ? sum_bottom - spacing * i : product_bottom - spacing * (i - sums);
    }
};

/* An integer of W 64-bit words, two's complement. */
template <int W> struct bf_cuda_long {
    uint64_t w[W];

    /* x = x * 2^shift + y, for 0 < shift < 64. */
    __device__ __forceinline__ void push(int shift, bf_i128 y) {
        uint64_t below = 0, carry = 0;
        bf_i128 sign = y < 0 ? -1 : 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            uint64_t shifted = w[i] << shift | below;
            below = w[i] >> (64 - shift);
            uint64_t part = i == 0 ? (uint64_t)y : i == 1 ? (uint64_t)(y >> 64) : (uint64_t)sign;
            bf_u128 sum = (bf_u128)shifted + part + carry;
            w[i] = (uint64_t)sum;
            carry = (uint64_t)(sum >> 64);
        }
    }
    /* x = x * factor, for x >= 0. */
    __device__ __forceinline__ void multiply(uint64_t factor) {
        uint64_t carry = 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            bf_u128 product = (bf_u128)w[i] * factor + carry;
            w[i] = (uint64_t)product;
            carry = (uint64_t)(product >> 64);
        }
    }
    /* x = x * 2^shift, for 0 <= shift < 128. */
    __device__ __forceinline__ void shift_up(int shift) {
        const bool word = shift >= 64;
        const int bits = shift % 64;
#pragma unroll
        for (int i = W - 1; i >= 0; i--) {
            uint64_t high = word ? (i > 0 ? w[i - 1] : 0) : w[i];
            uint64_t low = word ? (i > 1 ? w[i - 2] : 0) : i > 0 ? w[i - 1] : 0;
            w[i] = high << bits | low >> 1 >> (63 - bits);
        }
    }
    __device__ __forceinline__ void subtract(const bf_cuda_long &x) {
        uint64_t borrow = 0;
#pragma unroll
        for (int i = 0; i < W; i++) {
            bf_u128 difference = (bf_u128)w[i] - x.w[i] - borrow;
            w[i] = (uint64_t)difference;
            borrow = (uint64_t)(difference >> 64) & 1;
        }
    }
    __device__ __forceinline__ bool is_negative() const { return w[W - 1] >> 63 != 0; }
    __device__ __forceinline__ void negate() {
        uint64_t carry = 1;
#pragma unroll
        for (int i = 0; i < W; i++) {
            w[i] = ~w[i] + carry;
            carry = carry != 0 && w[i] == 0;
        }
    }
    /* The leading 128 bits of an integer that is not negative, in units of 2^exponent. */
    __device__ __forceinline__ bf_leading leading(int exponent) {
        bf_leading r;
        int zeros = 0;
#pragma unroll
        for (int k = 1; k < W; k++) {
            bool empty = w[W - 1] == 0;
#pragma unroll
            for (int i = W - 1; i >= 0; i--) w[i] = !empty ? w[i] : i > 0 ? w[i - 1] : 0;
            zeros += empty ? 64 : 0;
        }
        int shift = w[W - 1] != 0 ? __clzll((long long)w[W - 1]) : 0;
        uint64_t rest = W > 2 ? w[W - 3] : 0, sticky = rest << shift;
        for (int i = 0; i < W - 3; i++) sticky |= w[i];
        r.bits = (bf_u128)w[W - 1] << 64 | w[W - 2];
        if (shift > 0) r.bits = r.bits << shift | rest >> (64 - shift);
        r.exponent = exponent + 64 * (W - 2) - zeros - shift;
        r.sticky = sticky != 0;
        return r;
    }
};

/* The sums of a series as one integer, in units of the last one's weight. */
template <int W>
static __device__ bf_cuda_long<W> bf_cuda_total(const bf_cuda_series &s,
                                                const bf_cuda_pair *pairs) {
    bf_cuda_long<W> x = {};
    bool descending = s.spacing > 0;
    BF_ROLLED
    for (int i = 0; i < s.count(); i++) {
        bf_cuda_pair p = pairs[descending ? i : s.count() - 1 - i];
        x.push(descending ? s.spacing : -s.spacing, ((bf_i128)p.hi << 32) + p.lo);
    }
    return x;
}

/* The magnitude of the sums of a series, and its sign. */
template <int W>
static __device__ bf_leading bf_cuda_leading(const bf_cuda_series &s, const bf_cuda_pair *pairs,
                                             bool *negative) {
    bf_cuda_long<W> x = bf_cuda_total<W>(s, pairs);
    *negative = x.is_negative();
    if (*negative) x.negate();
    return x.leading(s.spacing > 0 ? s.exponent(s.count() - 1) : 0);
}

/* --- variances --- */

/* The first n words of x, which is not negative, squared. */
template <int n, int W>
static __device__ __forceinline__ bf_cuda_long<W> bf_cuda_square(const bf_cuda_long<n> &x) {
    bf_cuda_long<W> r = {};
#pragma unroll
    for (int i = 0; i < n; i++) {
        uint64_t carry = 0;
#pragma unroll
        for (int j = 0; j < n; j++) {
            bf_u128 product = (bf_u128)x.w[i] * x.w[j] + r.w[i + j] + carry;
            r.w[i + j] = (uint64_t)product;
            carry = (uint64_t)(product >> 64);
        }
        r.w[i + n] = carry;
    }
    return r;
}

/* The variance n * sum x^2 - (sum x)^2 = l, by n * m, or its root, in registers. The quotient keeps
 * 55 bits of 128: as many as its rounding needs, if n is below 2^36. What is cut off may make the
 * root larger by less than `more` in 2^64, and formats' values, and the middles between them, are
 * 2^10 of these apart. False: it needs more bits. */
static __device__ bool bf_cuda_quick_quotient(bf_leading l, uint64_t n, uint64_t m, bool root,
                                              bf_leading *q) {
    const bf_u128 by_n = l.bits / n;
    q->bits = by_n / m;
    q->sticky = l.sticky || by_n * n != l.bits || q->bits * m != by_n;
    const int shift = 128 - bf_bit_length128(q->bits);
    q->bits <<= shift;
    q->exponent = l.exponent - shift;
    if (!root) return true;
    const bool is_cut = q->sticky;
    const uint64_t more = 2 + (shift > 64 ? (uint64_t)1 << (shift - 64) : 0);
    *q = bf_leading_root(*q);
    return !is_cut || (uint64_t)(q->bits >> 64) % 1024 + more < 1024;
}

/* (n * sum x^2 - (sum x)^2) / (n * (n - ddof)) in registers. False: their weights are so far apart,
 * or n is so large, that it needs more bits. Else products are below 2^356, and all of it is below
 * 2^484. */
static __device__ bool bf_cuda_quick_moments(int64_t count, int ddof, bool root,
                                             const bf_cuda_series &s, const bf_cuda_pair *pairs,
                                             bf_format f, uint64_t *bits) {
    const int weight_0 = s.spacing > 0 ? s.exponent(s.sums - 1) : 0;
    const int weight_1 = s.spacing > 0 ? s.exponent(s.count() - 1) : 0;
    const int up = weight_1 - 2 * weight_0;
    const uint64_t n = (uint64_t)count, m = n - (uint64_t)ddof;
    if (up <= -128 || up >= 128 || n >> 36 != 0) return false;
    *bits = bf_format_nan(f);
    if (count <= ddof) return true;
    const bf_cuda_series of_sums = {s.sums, 0, 0, 0, s.spacing};
    const bf_cuda_series of_squares = {s.products, 0, 0, 0, s.spacing};
    bf_cuda_long<3> sum = bf_cuda_total<3>(of_sums, pairs);
    if (sum.is_negative()) sum.negate();
    bf_cuda_long<8> x = bf_cuda_total<8>(of_squares, pairs + s.sums);
    bf_cuda_long<8> square = bf_cuda_square<3, 8>(sum);
    x.multiply(n);
    if (up > 0) x.shift_up(up);
    if (up < 0) square.shift_up(-up);
    x.subtract(square);
    bf_leading l = x.leading(up > 0 ? 2 * weight_0 : weight_1);
    *bits = 0;
    if (l.bits == 0) return true;
    if (!bf_cuda_quick_quotient(l, n, m, root, &l)) return false;
    *bits = bf_leading_round(f, false, l);
    return true;
}

#endif
