/* Elements as places (rules/key/order.h), and back, by masks that a kernel gets: so one kernel
 * serves all dtypes of a width. */
#ifndef BF_CUDA_RUNTIME_SORT_CODING_CUH
#define BF_CUDA_RUNTIME_SORT_CODING_CUH

#include "rules/key/order.h"

enum bf_cuda_coding_kind { BF_CUDA_PLACES, BF_CUDA_INTEGERS, BF_CUDA_FLOATS };

struct bf_cuda_coding {
    bf_cuda_coding_kind kind; /* BF_CUDA_PLACES: the elements are places */
    uint64_t flip;            /* each element is XORed with this */
    uint64_t negative;        /* a negative float is XORed with this, too */
    uint64_t infinity;        /* floats: those above are NaNs, but for the sign */
    uint64_t nan_place, nan;  /* all NaNs have this place; its element */
};

static inline bf_cuda_coding bf_cuda_coding_of(bf_dtype dtype, bf_order order) {
    const int bits = 8 * bf_dtype_bytes(dtype);
    const uint64_t all = ~(uint64_t)0 >> (64 - bits), sign = all ^ all >> 1;
    bf_cuda_coding c = {};
    if (bf_dtype_is_float(dtype) || bf_dtype_is_signed(dtype)) c.flip = sign;
    if (order != BF_ASCENDING) c.flip ^= all;
    c.kind = c.flip == 0 ? BF_CUDA_PLACES : BF_CUDA_INTEGERS;
    if (!bf_dtype_is_float(dtype)) return c;
    c.kind = BF_CUDA_FLOATS;
    c.negative = all >> 1;
    c.infinity = bf_format_inf(bf_format_of(dtype));
    c.nan_place = order == BF_DESCENDING ? 0 : all;
    return c;
}

/* XORs with the masks of an element that has this sign bit. */
template <class K>
static __device__ __forceinline__ K bf_cuda_flip(const bf_cuda_coding &c, K x, K sign) {
    const K negative = (K)0 - (K)(sign >> (8 * sizeof(K) - 1));
    return (K)(x ^ (negative & (K)c.negative) ^ (K)c.flip);
}

template <class K>
static __device__ __forceinline__ bool bf_cuda_codes_nan(const bf_cuda_coding &c, K x) {
    return (K)(x << 1) > (K)((K)c.infinity << 1);
}

template <class K>
static __device__ __forceinline__ K bf_cuda_encode_float(const bf_cuda_coding &c, K x) {
    return bf_cuda_codes_nan(c, x) ? (K)c.nan_place : bf_cuda_flip(c, x, x);
}

template <class K>
static __device__ __forceinline__ K bf_cuda_decode_float(const bf_cuda_coding &c, K place) {
    return place == (K)c.nan_place ? (K)c.nan : bf_cuda_flip(c, place, (K)(place ^ (K)c.flip));
}

/* Makes places of several elements. */
template <class K, int n>
static __device__ __forceinline__ void bf_cuda_encode(const bf_cuda_coding &c, K (&x)[n]) {
    if (c.kind == BF_CUDA_INTEGERS) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] ^= (K)c.flip;
    } else if (c.kind == BF_CUDA_FLOATS) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = bf_cuda_encode_float(c, x[k]);
    }
}

#endif
