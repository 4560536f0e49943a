/* Elements as the values that threads add or compare. */
#ifndef BF_CUDA_AXIS_VALUE_CUH
#define BF_CUDA_AXIS_VALUE_CUH

#include "cuda/axis/layout.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/number/dtype.h"

/* A class of values loads n elements at once: elements at(0) ... at(n - 1) of an array. */

/* f16, bf16 and f32 as f32. */
struct bf_cuda_axis_small_float {
    typedef float Value;
    static constexpr bf_dtype dtype = BF_F32;
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, Value (&x)[n]) {
        if (p.dtype == BF_F32) {
#pragma unroll
            for (int k = 0; k < n; k++) x[k] = __ldcs((const float *)from + at(k));
        } else if (p.dtype == BF_F16) {
#pragma unroll
            for (int k = 0; k < n; k++)
                x[k] = __half2float(
                    __ushort_as_half(__ldcs((const unsigned short *)from + at(k))));
        } else {
#pragma unroll
            for (int k = 0; k < n; k++)
                x[k] = __uint_as_float((unsigned)__ldcs((const unsigned short *)from + at(k))
                                       << 16);
        }
    }
};

struct bf_cuda_axis_double {
    typedef double Value;
    static constexpr bf_dtype dtype = BF_F64;
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = __ldcs((const double *)from + at(k));
    }
};

/* Integers and bools of 1, 2 and 4 bytes, extended to 32 bits by their sign; and floats' bits. */
struct bf_cuda_axis_small_word {
    typedef int32_t Value;
    static constexpr bool is_wide = false;

    template <class E, int n, class At>
    static __device__ __forceinline__ void load_as(const void *from, At at, Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = (Value)__ldcs((const E *)from + at(k));
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, Value (&x)[n]) {
        switch (p.dtype) {
        case BF_BOOL:
            load_as<unsigned char>(from, at, x);
#pragma unroll
            for (int k = 0; k < n; k++) x[k] = x[k] != 0;
            break;
        case BF_U8: load_as<unsigned char>(from, at, x); break;
        case BF_I8: load_as<signed char>(from, at, x); break;
        case BF_U16: load_as<unsigned short>(from, at, x); break;
        case BF_I16:
        case BF_F16:
        case BF_BF16: load_as<short>(from, at, x); break;
        default: load_as<int>(from, at, x);
        }
    }
};

struct bf_cuda_axis_wide_word {
    typedef long long Value;
    static constexpr bool is_wide = true;
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, Value (&x)[n]) {
#pragma unroll
        for (int k = 0; k < n; k++) x[k] = __ldcs((const long long *)from + at(k));
    }
};

#endif
