/* What all kernels of element-wise operations begin and end with. */
#ifndef BF_CUDA_MAP_KERNEL_CUH
#define BF_CUDA_MAP_KERNEL_CUH

#include "cuda/map/map.cuh"
#include "cuda/map/operation.cuh"
#include "cuda/runtime/launch.cuh"

namespace bf_map {

enum { THREADS = BF_CUDA_MAP_THREADS, NONE = 0x7fffffff };

/* Keeps the least place. Where very many fail, most see that a lesser one is there. */
static __device__ __forceinline__ void note_failure(const bf_cuda_map_params &p, int64_t place) {
    unsigned long long key = (unsigned long long)(p.index + place) << 8 | p.code;
    if (p.failed == nullptr) return;
    if (*(volatile unsigned long long *)p.failed > key) atomicMin(p.failed, key);
}

/* The one element of a single input. */
template <class T> static __device__ __forceinline__ T single(const bf_cuda_map_params &p, int k) {
    if (p.in[k] != nullptr) return *(const T *)p.in[k];
    T x;
    memcpy(&x, &p.value[k], sizeof x);
    return x;
}

template <bf_map_op OP, bf_dtype D>
using result_of =
    typename std::conditional<is_comparison(OP), uint8_t, typename element<D>::stored>::type;

/* One element of the result. */
template <bf_map_op OP, bf_dtype D>
static __device__ __forceinline__ result_of<OP, D>
compute(const bf_cuda_map_params &p, value_of<D> x, value_of<D> y, value_of<D> z, bool *misfit) {
    *misfit = false;
    if constexpr (is_comparison(OP))
        return compare(x, y, p.relations);
    else
        return element<D>::encode(result<OP, D>(x, y, z, p.saturate, misfit));
}

} // namespace bf_map

#endif
