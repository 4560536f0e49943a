/* Elements as the values that threads add or compare. */
#ifndef BF_CUDA_AXIS_VALUE_CUH
#define BF_CUDA_AXIS_VALUE_CUH

#include "cuda/axis/layout.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/number/dtype.h"

/* --- vectors --- */

/* Loads so many bytes, which are read once, from an address that is a multiple of them. */
template <int bytes> static __device__ __forceinline__ uint4 bf_cuda_axis_bytes(const char *at) {
    uint4 r = {0, 0, 0, 0};
    if (bytes == 16) r = __ldcs((const uint4 *)at);
    if (bytes == 8) {
        const uint2 h = __ldcs((const uint2 *)at);
        r.x = h.x;
        r.y = h.y;
    }
    if (bytes == 4) r.x = __ldcs((const unsigned *)at);
    if (bytes == 2) r.x = __ldcs((const unsigned short *)at);
    if (bytes == 1) r.x = __ldcs((const unsigned char *)at);
    return r;
}

/* Element k of a vector. */
template <int bytes> static __device__ __forceinline__ uint64_t bf_cuda_axis_part(uint4 v, int k) {
    const unsigned w[4] = {v.x, v.y, v.z, v.w};
    if (bytes == 8) return (uint64_t)w[2 * k % 4 + 1] << 32 | w[2 * k % 4];
    const unsigned word = w[k * bytes / 4 % 4];
    return bytes == 4 ? word : word >> k * bytes % 4 * 8 & ((1u << 8 * (bytes % 4)) - 1);
}

/* The first `some` of n elements at any address that they may have; the others are 0. */
template <int bytes, int n>
static __device__ __forceinline__ uint4 bf_cuda_axis_gather(const char *at, int some) {
    unsigned w[4] = {0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < n; k++) {
        if (k >= some) continue;
        const uint4 e = bf_cuda_axis_bytes<bytes>(at + k * bytes);
        w[k * bytes / 4 % 4] |= e.x << k * bytes % 4 * 8;
        if (bytes == 8) w[2 * k % 4 + 1] = e.y;
    }
    return {w[0], w[1], w[2], w[3]};
}

/* What all classes of values have, whose elements have one of these sizes, 0: none.
 *
 *   N          elements of a vector, at most
 *   fetch()    loads n elements from an address that is a multiple of them
 *   gather()   loads the first `some` of n from anywhere
 *   unpack()   makes them values */
template <int N_, int Most, int Middle, int Least> struct bf_cuda_axis_vectors {
    static constexpr int N = N_;

    template <int n>
    static __device__ __forceinline__ uint4 fetch(const bf_cuda_axis_params &p, const char *at) {
        if (Middle == 0 || p.element == Most) return bf_cuda_axis_bytes<Most * n>(at);
        if (Least == 0 || p.element == Middle) return bf_cuda_axis_bytes<Middle * n>(at);
        return bf_cuda_axis_bytes<Least * n>(at);
    }
    template <int n>
    static __device__ __forceinline__ uint4 gather(const bf_cuda_axis_params &p, const char *at,
                                                   int some) {
        constexpr int middle = Middle > 0 ? Middle : Most, least = Least > 0 ? Least : middle;
        if (Middle == 0 || p.element == Most) return bf_cuda_axis_gather<Most, n>(at, some);
        if (Least == 0 || p.element == Middle) return bf_cuda_axis_gather<middle, n>(at, some);
        return bf_cuda_axis_gather<least, n>(at, some);
    }
};

/* --- single elements --- */

/* A class of values loads n elements at once: elements at(0) ... at(n - 1) of an array, or only the
 * first `some` of them. */
template <class E, int n, class At, class Make>
static __device__ __forceinline__ void bf_cuda_axis_load(const void *from, At at, int some,
                                                         Make make) {
    if (some >= n) {
        E e[n];
#pragma unroll
        for (int k = 0; k < n; k++) e[k] = __ldcs((const E *)from + at(k));
#pragma unroll
        for (int k = 0; k < n; k++) make(k, e[k]);
    } else {
#pragma unroll
        for (int k = 0; k < n; k++) make(k, k < some ? __ldcs((const E *)from + at(k)) : (E)0);
    }
}

/* f16, bf16 and f32 as f32. */
struct bf_cuda_axis_small_float : bf_cuda_axis_vectors<4, 4, 2, 0> {
    typedef float Value;
    static constexpr bf_dtype dtype = BF_F32;
    template <int n>
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &p, uint4 v,
                                                  Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const unsigned half = (unsigned)bf_cuda_axis_part<2>(v, k);
            if (p.dtype == BF_F32)
                x[k] = __uint_as_float((unsigned)bf_cuda_axis_part<4>(v, k));
            else if (p.dtype == BF_F16)
                x[k] = __half2float(__ushort_as_half((unsigned short)half));
            else
                x[k] = __uint_as_float(half << 16);
        }
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, int some, Value (&x)[n]) {
        if (p.dtype == BF_F32)
            bf_cuda_axis_load<float, n>(from, at, some, [&](int k, float e) { x[k] = e; });
        else if (p.dtype == BF_F16)
            bf_cuda_axis_load<unsigned short, n>(from, at, some, [&](int k, unsigned short e) {
                x[k] = __half2float(__ushort_as_half(e));
            });
        else
            bf_cuda_axis_load<unsigned short, n>(from, at, some, [&](int k, unsigned short e) {
                x[k] = __uint_as_float((unsigned)e << 16);
            });
    }
};

struct bf_cuda_axis_double : bf_cuda_axis_vectors<2, 8, 0, 0> {
    typedef double Value;
    static constexpr bf_dtype dtype = BF_F64;
    template <int n>
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &, uint4 v,
                                                  Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++)
            x[k] = __longlong_as_double((long long)bf_cuda_axis_part<8>(v, k));
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, int some, Value (&x)[n]) {
        bf_cuda_axis_load<double, n>(from, at, some, [&](int k, double e) { x[k] = e; });
    }
};

/* Integers and bools of 1, 2 and 4 bytes, extended to 32 bits by their sign; and floats' bits. */
struct bf_cuda_axis_small_word : bf_cuda_axis_vectors<4, 4, 2, 1> {
    typedef int32_t Value;
    static constexpr bool is_wide = false;

    static __device__ __forceinline__ Value value(bf_dtype dtype, uint4 v, int k) {
        switch (dtype) {
        case BF_BOOL: return bf_cuda_axis_part<1>(v, k) != 0;
        case BF_U8: return (Value)bf_cuda_axis_part<1>(v, k);
        case BF_I8: return (signed char)bf_cuda_axis_part<1>(v, k);
        case BF_U16: return (Value)bf_cuda_axis_part<2>(v, k);
        case BF_I16:
        case BF_F16:
        case BF_BF16: return (short)bf_cuda_axis_part<2>(v, k);
        default: return (Value)bf_cuda_axis_part<4>(v, k);
        }
    }
    template <int n>
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &p, uint4 v,
                                                  Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = value(p.dtype, v, k);
    }

    template <class E, int n, class At>
    static __device__ __forceinline__ void load_as(const void *from, At at, int some,
                                                   Value (&x)[n]) {
        bf_cuda_axis_load<E, n>(from, at, some, [&](int k, E e) { x[k] = (Value)e; });
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, int some, Value (&x)[n]) {
        switch (p.dtype) {
        case BF_BOOL: load_as<unsigned char>(from, at, some, x);
#pragma unroll
            for (int k = 0; k < n; k++) x[k] = x[k] != 0;
            break;
        case BF_U8: load_as<unsigned char>(from, at, some, x); break;
        case BF_I8: load_as<signed char>(from, at, some, x); break;
        case BF_U16: load_as<unsigned short>(from, at, some, x); break;
        case BF_I16:
        case BF_F16:
        case BF_BF16: load_as<short>(from, at, some, x); break;
        default: load_as<int>(from, at, some, x);
        }
    }
};

struct bf_cuda_axis_wide_word : bf_cuda_axis_vectors<2, 8, 0, 0> {
    typedef long long Value;
    static constexpr bool is_wide = true;
    template <int n>
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &, uint4 v,
                                                  Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = (Value)bf_cuda_axis_part<8>(v, k);
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, int some, Value (&x)[n]) {
        bf_cuda_axis_load<long long, n>(from, at, some, [&](int k, long long e) { x[k] = e; });
    }
};

#endif
