/* Products of integers as accumulators of a thread (sum.cuh says what one has). */
#ifndef BF_CUDA_AXIS_PRODUCT_CUH
#define BF_CUDA_AXIS_PRODUCT_CUH

#include "cuda/axis/taking.cuh"
#include "cuda/axis/value.cuh"
#include "cuda/reduce/sum_result.cuh"

#include "rules/reduce/element.h"

/* Integers of any size as 64 bits. */
struct bf_cuda_axis_any_word {
    typedef long long Raw;
    typedef long long Value;
    static constexpr bool is_wide = true;
    static constexpr int N = 1;

    static __device__ __forceinline__ Value value(const bf_cuda_axis_params &, Raw x) { return x; }
    static __device__ __forceinline__ uint4 fetch(const bf_cuda_axis_params &p, const char *at) {
        const uint64_t x = bf_load_bits(at, p.element);
        return {(unsigned)x, (unsigned)(x >> 32), 0, 0};
    }
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &, uint4 v,
                                                  Value (&x)[N]) {
        x[0] = (Value)bf_cuda_axis_part<8>(v, 0);
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, int some, Raw (&x)[n]) {
        const int bytes = bf_dtype_bytes(p.dtype);
#pragma unroll
        for (int k = 0; k < n; k++)
            x[k] = k < some ? (Raw)bf_load_bits((const char *)from + at(k) * bytes, bytes) : 0;
    }
};

struct bf_cuda_axis_product : bf_cuda_axis_takes_all<bf_cuda_axis_product>,
                              bf_cuda_axis_same_total<bf_cuda_axis_product> {
    using Class = bf_cuda_axis_any_word;
    using Value = long long;
    static constexpr bool pair = false;
    static constexpr int words = BF_PRODUCT_WORDS, total = words, blocks = 2;
    static constexpr int columns = 1;

    int64_t state[words];
    bf_dtype dtype;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        dtype = p.dtype;
        reset();
    }
    __device__ __forceinline__ void reset() { bf_product_init(state); }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t, int64_t, int some) {
#pragma unroll
        for (int k = 0; k < n; k++)
            if (k < some) bf_product_take(dtype, state, (uint64_t)x[k]);
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) const {
#pragma unroll
        for (int i = 0; i < words; i++) part[i] = state[i];
    }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
        bf_product_merge(into, from);
    }

    /* As bf_element_of_product, which rounds through memory. */
    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r, int64_t,
                                                  const int64_t (&whole)[total]) {
        bf_cuda_long<3> x;
        const bf_dtype integer = bf_element_integer(p.dtype);
        const bool exact = bf_product_finish(p.dtype, whole, x.w);
        const bool narrow = exact && bf_integer_fits(integer, x.w);
        const bool rounds = bf_dtype_is_float(p.to) && p.overflow != BF_OVERFLOW_WRAP;
        const bool fits = rounds ? exact : narrow;
        if (!fits) {
            x.w[0] = bf_product_wrapped(whole);
            x.w[1] = x.w[2] = integer == BF_I64 ? (uint64_t)((int64_t)x.w[0] >> 63) : 0;
        }
        uint64_t bits = x.w[0];
        if (bf_dtype_is_float(p.to)) {
            const bool negative = x.is_negative();
            if (negative) x.negate();
            bits = bf_leading_round(bf_format_of(p.to), negative, x.leading(0));
        }
        bf_cuda_axis_store_fit(p, r, bits, fits);
    }
};

#endif
