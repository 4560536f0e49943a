/* Element-wise operations of mixed dtypes, or of inputs that are aligned differently: element by
 * element, each input cast as it is loaded. */
#include "cuda/map/scalar.cuh"

namespace bf_cuda_map {

/* Returns whether there is such a case. All comparisons come as BF_MAP_EQ. */
constexpr bool is_case(bf_map_op op, bf_dtype dtype) {
    return op != BF_MAP_CAST && (!is_comparison(op) || op == BF_MAP_EQ) && is_defined(op, dtype);
}

template <bf_map_op OP, bf_dtype D>
static __device__ __forceinline__ void store_results(const bf_cuda_map_params &p,
                                                     value_of<D> (&x)[E], value_of<D> (&y)[E],
                                                     value_of<D> (&z)[E]) {
    if constexpr (is_case(OP, D)) {
        int64_t i = first_index(), failed = -1;
#pragma unroll
        for (int e = 0; e < E; e++, i += THREADS) {
            bool misfit;
            if (i >= p.count) break;
            result_of<OP, D> r = compute_element<OP, D>(p, x[e], y[e], z[e], &misfit);
            if (OP == BF_MAP_DIV && p.refuse_zero && y[e] == 0) misfit = true;
            ((result_of<OP, D> *)p.out)[i] = r;
            if (misfit && failed < 0) failed = i;
        }
        if (failed >= 0) note_failure(p, failed);
    }
}

template <bf_dtype D>
static __global__ void __launch_bounds__(THREADS)
    map_mixed(const __grid_constant__ bf_cuda_map_params p) {
    value_of<D> x[E], y[E], z[E];
    bf_cuda_wait_for_previous();
    load_input<D>(x, p, 0);
    if (p.arity > 1) load_input<D>(y, p, 1);
    if (p.arity > 2) load_input<D>(z, p, 2);
    switch (p.op) {
#define BF_X(id, number, name, inputs)                                                             \
    case BF_MAP_##id: store_results<BF_MAP_##id, D>(p, x, y, z); break;
        BF_MAP_LIST(BF_X)
#undef BF_X
    default: break;
    }
}

} // namespace bf_cuda_map

const void *bf_cuda_map_mixed_kernel(bf_dtype work) {
    switch (work) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return (const void *)bf_cuda_map::map_mixed<BF_##id>;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}
