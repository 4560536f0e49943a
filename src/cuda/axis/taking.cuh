/* Accumulators that take any value at once: what they answer to loops that let floats try first
 * (sum.cuh says what an accumulator has). */
#ifndef BF_CUDA_AXIS_TAKING_CUH
#define BF_CUDA_AXIS_TAKING_CUH

#include "cuda/axis/store.cuh"

struct bf_cuda_axis_no_direct {
    static constexpr bool some = false;
};

template <class A> struct bf_cuda_axis_takes_all {
    using Direct = bf_cuda_axis_no_direct; /* direct.cuh */
    static constexpr int most = 1 << 30;
    static constexpr bool has_origin = false;

    template <class Value, int n>
    __device__ __forceinline__ void try_values(Value (&x)[n], Value (&y)[n], int64_t j) {
        static_cast<A *>(this)->take(x, y, j, 1, n);
    }
    template <class Value, int n>
    static __device__ __forceinline__ void try_columns(A (&all)[n], Value (&x)[n], Value (&y)[n],
                                                       int64_t j) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            Value u[1] = {x[k]}, v[1] = {y[k]};
            all[k].take(u, v, j, 0, 1);
        }
    }
    __device__ __forceinline__ bool fits() const { return true; }
    __device__ __forceinline__ bool is_lost() const { return false; }
    __device__ __forceinline__ void drop() {}
    __device__ __forceinline__ void fold() {}
    __device__ __forceinline__ void keep(int) {}
};

/* Accumulators whose whole has the words of a part. */
template <class A> struct bf_cuda_axis_same_total {
    template <int n>
    static __device__ __forceinline__ void widen(const int64_t (&part)[n], int64_t (&whole)[n]) {
#pragma unroll
        for (int i = 0; i < n; i++) whole[i] = part[i];
    }
    template <int n>
    static __device__ __forceinline__ void merge_total(int64_t (&into)[n],
                                                       const int64_t (&from)[n]) {
        A::merge(into, from);
    }
};

#endif
