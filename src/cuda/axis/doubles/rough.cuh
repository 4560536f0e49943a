/* Variances of f32, f16 and bf16, as f32, of any number of elements: in doubles that round, like
 * those of few elements (doubles.cuh), by the kernels that sums have. A tile of which some result
 * is not told is left to the accumulator of sum.cuh. */
#ifndef BF_CUDA_AXIS_DOUBLES_ROUGH_CUH
#define BF_CUDA_AXIS_DOUBLES_ROUGH_CUH

#include "cuda/axis/doubles/doubles.cuh"
#include "cuda/axis/taking.cuh"

template <class C> struct bf_cuda_axis_rough : bf_cuda_axis_takes_all<bf_cuda_axis_rough<C>> {
    using Class = C;
    using Value = typename C::Value;
    static constexpr bool pair = false, has_origin = true;
    static constexpr int words = 2, total = 2, columns = 4, blocks = 4;

    double sum, squares, origin;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &) { reset(); }
    __device__ __forceinline__ void reset() { sum = squares = 0; }
    __device__ __forceinline__ void start(Value x) { origin = x; }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t, int64_t, int some) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const double d = k < some ? x[k] - origin : 0;
            sum += d;
            squares = fma(d, d, squares);
        }
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) {
        part[0] = __double_as_longlong(sum);
        part[1] = __double_as_longlong(squares);
    }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
#pragma unroll
        for (int i = 0; i < words; i++)
            into[i] =
                __double_as_longlong(__longlong_as_double(into[i]) + __longlong_as_double(from[i]));
    }
    static __device__ __forceinline__ void widen(const int64_t (&part)[words],
                                                 int64_t (&whole)[total]) {
#pragma unroll
        for (int i = 0; i < words; i++) whole[i] = part[i];
    }
    static __device__ __forceinline__ void merge_total(int64_t (&into)[total],
                                                       const int64_t (&from)[total]) {
        merge(into, from);
    }
    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r, int64_t,
                                                  const int64_t (&whole)[total]) {
        bf_cuda_axis_told told(p, p.at.length, 1);
        uint64_t bits;
        told.lost = bf_cuda_axis_lost(p.roundings);
        if (bf_cuda_axis_tell_variance(p, told, __longlong_as_double(whole[0]),
                                       __longlong_as_double(whole[1]), &bits))
            bf_cuda_axis_store(p, r, bits);
        else
            bf_cuda_axis_leave_once(p, r);
    }
};

#endif
