/* Functions that all kernels of element-wise operations need. */
#ifndef BF_CUDA_MAP_KERNEL_CUH
#define BF_CUDA_MAP_KERNEL_CUH

#include "cuda/map/map.cuh"
#include "cuda/map/operation.cuh"
#include "cuda/runtime/launch.cuh"

namespace bf_cuda_map {

enum { THREADS = BF_CUDA_MAP_THREADS, NONE = 0x7fffffff };

/* Notes a failure; the least index is kept. If very many fail, most see a lesser one and do
 * nothing. */
static __device__ __forceinline__ void note_failure(const bf_cuda_map_params &p, int64_t at) {
    unsigned long long key = (unsigned long long)(p.index + at) << 8 | p.code;
    if (p.failed == nullptr) return;
    if (*(volatile unsigned long long *)p.failed > key) atomicMin(p.failed, key);
}

/* Returns the one element of a single input. */
template <class T>
static __device__ __forceinline__ T load_single(const bf_cuda_map_params &p, int k) {
    if (p.in[k] != nullptr) return *(const T *)p.in[k];
    T x;
    memcpy(&x, &p.value[k], sizeof x);
    return x;
}

template <bf_map_op OP, bf_dtype D>
using result_of =
    typename std::conditional<is_comparison(OP), uint8_t, typename element<D>::stored>::type;

/* Returns one element of the result. */
template <bf_map_op OP, bf_dtype D>
static __device__ __forceinline__ result_of<OP, D> compute_element(const bf_cuda_map_params &p,
                                                                   value_of<D> x, value_of<D> y,
                                                                   value_of<D> z, bool *misfit) {
    *misfit = false;
    if constexpr (is_comparison(OP))
        return holds(x, y, p.relations);
    else
        return element<D>::encode(compute_result<OP, D>(x, y, z, p.saturate, misfit));
}

} // namespace bf_cuda_map

#endif
