/* Inputs element by element, each cast as it is loaded. */
#ifndef BF_CUDA_MAP_SCALAR_CUH
#define BF_CUDA_MAP_SCALAR_CUH

#include "cuda/map/kernel.cuh"

namespace bf_cuda_map {

enum { E = BF_CUDA_MAP_ELEMENTS };

/* Returns the first of a thread's E elements, which are a block's width apart. */
static __device__ __forceinline__ int64_t first_index() {
    return (int64_t)blockIdx.x * (E * THREADS) + threadIdx.x;
}

/* Loads input k, of dtype FROM, as D. D holds every FROM, except that 64-bit integers may become
 * f64: a conversion rounds at most once. */
template <bf_dtype FROM, bf_dtype D>
static __device__ __forceinline__ void load_as(value_of<D> (&x)[E], const bf_cuda_map_params &p,
                                               int k) {
    if constexpr (is_float(D) || !is_float(FROM)) {
        const stored_of<FROM> *from = (const stored_of<FROM> *)p.in[k];
        int64_t i = first_index();
#pragma unroll
        for (int e = 0; e < E; e++, i += THREADS)
            if (i < p.count) x[e] = (value_of<D>)element<FROM>::decode(from[p.single[k] ? 0 : i]);
    }
}

template <bf_dtype D>
static __device__ __forceinline__ void load_input(value_of<D> (&x)[E], const bf_cuda_map_params &p,
                                                  int k) {
    if (p.in[k] == nullptr) {
#pragma unroll
        for (int e = 0; e < E; e++) x[e] = element<D>::decode(load_single<stored_of<D>>(p, k));
        return;
    }
    switch (p.from[k]) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: load_as<BF_##id, D>(x, p, k); break;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: break;
    }
}

} // namespace bf_cuda_map

#endif
