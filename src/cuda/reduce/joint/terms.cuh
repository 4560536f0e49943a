/* The terms of exact sums: products of up to four magnitudes of 64 bits. */
#ifndef BF_CUDA_REDUCE_JOINT_TERMS_CUH
#define BF_CUDA_REDUCE_JOINT_TERMS_CUH

#include "rules/reduce/sum.h"

/* The sum of word[i] * 2^(64 i), times 2^position. */
template <int n> struct bf_cuda_joint_term {
    uint64_t word[n];
    int position;
    bool negative;
};

template <int n>
static __device__ __forceinline__ bf_cuda_joint_term<n + 1>
operator*(const bf_cuda_joint_term<n> &x, const bf_cuda_joint_term<1> &y) {
    bf_cuda_joint_term<n + 1> z;
    uint64_t carry = 0;
#pragma unroll
    for (int i = 0; i < n; i++) {
        const bf_u128 product = (bf_u128)x.word[i] * y.word[0] + carry;
        z.word[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    z.word[n] = carry;
    z.position = x.position + y.position;
    z.negative = x.negative != y.negative;
    return z;
}

/* A finite element; its position is against the exponent of its layout. */
static __device__ __forceinline__ bf_cuda_joint_term<1> bf_cuda_joint_term_of(bf_dtype dtype,
                                                                              uint64_t x) {
    const bf_factor f = bf_factor_of(dtype, (bf_i128)x);
    return {{(uint64_t)f.magnitude}, f.position, f.negative};
}

/* Calls visit(number of the part, its term) for each part of a kind, in the order of bf_kind_part.
 */
template <bf_kind Kind, class Visit>
static __device__ __forceinline__ void bf_cuda_joint_terms(const bf_cuda_joint_term<1> &x,
                                                           const bf_cuda_joint_term<1> &y,
                                                           const Visit &visit) {
    if constexpr (Kind == BF_KIND_SUM) {
        visit(0, x);
    } else if constexpr (Kind == BF_KIND_SQUARES) {
        visit(0, x * x);
    } else if constexpr (Kind == BF_KIND_MOMENTS) {
        visit(0, x);
        visit(1, x * x);
    } else if constexpr (Kind == BF_KIND_POWERS) {
        const bf_cuda_joint_term<2> xx = x * x;
        const bf_cuda_joint_term<3> xxx = xx * x;
        visit(0, x);
        visit(1, xx);
        visit(2, xxx);
        visit(3, xxx * x);
    } else if constexpr (Kind == BF_KIND_COMOMENTS) {
        visit(0, x);
        visit(1, y);
        visit(2, x * x);
        visit(3, x * y);
        visit(4, y * y);
    } else {
        const bf_cuda_joint_term<2> xy = x * y;
        visit(0, y);
        visit(1, y * y);
        visit(2, xy);
        visit(3, xy * x);
    }
}

#endif
