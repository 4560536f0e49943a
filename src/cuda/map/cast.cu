/* Kernels of casts between any two dtypes, element by element. */
#include "cuda/map/scalar.cuh"

namespace bf_cuda_map {

template <bf_dtype FROM, bf_dtype TO>
static __device__ __forceinline__ void store_cast(const bf_cuda_map_params &p,
                                                  value_of<FROM> (&x)[E]) {
    int64_t i = first_index(), failed = -1;
#pragma unroll
    for (int e = 0; e < E; e++, i += THREADS) {
        bool misfit;
        if (i >= p.count) break;
        ((stored_of<TO> *)p.out)[i] = cast_element<FROM, TO>(x[e], p.saturate, &misfit);
        if (misfit && failed < 0) failed = i;
    }
    if (failed >= 0) note_failure(p, failed);
}

template <bf_dtype FROM>
static __global__ void __launch_bounds__(THREADS)
    map_cast(const __grid_constant__ bf_cuda_map_params p) {
    value_of<FROM> x[E];
    bf_cuda_wait_for_previous();
    if (p.in[0] == nullptr)
        load_input<FROM>(x, p, 0);
    else
        load_as<FROM, FROM>(x, p, 0);
    switch (p.to) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: store_cast<FROM, BF_##id>(p, x); break;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: break;
    }
}

} // namespace bf_cuda_map

const void *bf_cuda_map_cast_kernel(bf_dtype from) {
    switch (from) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return (const void *)bf_cuda_map::map_cast<BF_##id>;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}
