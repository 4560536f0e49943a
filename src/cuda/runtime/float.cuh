/* Floats on the device: the ranges of their dtypes, and elements as the doubles that they equal. */
#ifndef BF_CUDA_RUNTIME_FLOAT_CUH
#define BF_CUDA_RUNTIME_FLOAT_CUH

#include "rules/number/dtype.h"

#include <cuda_fp16.h>

template <bf_dtype D> struct bf_cuda_float;
template <> struct bf_cuda_float<BF_F64> {
    using Element = double;
    static constexpr int least = -1074, most = 1023, bits = 53;
    static __device__ __forceinline__ double value(double x) { return x; }
};
template <> struct bf_cuda_float<BF_F32> {
    using Element = float;
    static constexpr int least = -149, most = 127, bits = 24;
    static __device__ __forceinline__ double value(float x) { return (double)x; }
};
template <> struct bf_cuda_float<BF_F16> {
    using Element = uint16_t;
    static constexpr int least = -24, most = 15, bits = 11;
    static __device__ __forceinline__ double value(uint16_t x) {
        return (double)__half2float(__ushort_as_half(x));
    }
};
template <> struct bf_cuda_float<BF_BF16> {
    using Element = uint16_t;
    static constexpr int least = -133, most = 127, bits = 8;
    static __device__ __forceinline__ double value(uint16_t x) {
        return (double)__uint_as_float((unsigned)x << 16);
    }
};

#endif
