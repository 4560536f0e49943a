/* Elements as the values that threads add or compare. */
#ifndef BF_CUDA_AXIS_VALUE_CUH
#define BF_CUDA_AXIS_VALUE_CUH

#include "cuda/axis/layout.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/number/dtype.h"

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
struct bf_cuda_axis_small_float {
    typedef float Value;
    static constexpr bf_dtype dtype = BF_F32;
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

struct bf_cuda_axis_double {
    typedef double Value;
    static constexpr bf_dtype dtype = BF_F64;
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, int some, Value (&x)[n]) {
        bf_cuda_axis_load<double, n>(from, at, some, [&](int k, double e) { x[k] = e; });
    }
};

/* Integers and bools of 1, 2 and 4 bytes, extended to 32 bits by their sign; and floats' bits. */
struct bf_cuda_axis_small_word {
    typedef int32_t Value;
    static constexpr bool is_wide = false;

    template <class E, int n, class At>
    static __device__ __forceinline__ void load_as(const void *from, At at, int some,
                                                   Value (&x)[n]) {
        bf_cuda_axis_load<E, n>(from, at, some, [&](int k, E e) { x[k] = (Value)e; });
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, int some, Value (&x)[n]) {
        switch (p.dtype) {
        case BF_BOOL:
            load_as<unsigned char>(from, at, some, x);
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

struct bf_cuda_axis_wide_word {
    typedef long long Value;
    static constexpr bool is_wide = true;
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, int some, Value (&x)[n]) {
        bf_cuda_axis_load<long long, n>(from, at, some, [&](int k, long long e) { x[k] = e; });
    }
};

#endif
