/* The kernel for inputs of one dtype: vectors of 16 bytes. All loads of a thread are under way
 * before it computes. */
#ifndef BF_CUDA_MAP_VECTOR_CUH
#define BF_CUDA_MAP_VECTOR_CUH

#include "cuda/map/kernel.cuh"

namespace bf_cuda_map {

/* The type of a word of so many bytes. */
template <int BYTES> struct word;
template <> struct word<16> { typedef uint4 type; };
template <> struct word<8> { typedef uint2 type; };
template <> struct word<4> { typedef unsigned type; };
template <> struct word<2> { typedef unsigned short type; };

template <class T> constexpr int lanes() { return 16 / (int)sizeof(T); }

/* Loads V vectors of input k, a block's width apart. WHOLE: all exist. */
template <int V, bool WHOLE, class T>
static __device__ __forceinline__ void load_vectors(uint4 (&x)[V], const bf_cuda_map_params &p,
                                                    int k, int64_t first) {
    if (p.single[k]) {
        T all[lanes<T>()];
        T one = load_single<T>(p, k);
#pragma unroll
        for (int l = 0; l < lanes<T>(); l++) all[l] = one;
#pragma unroll
        for (int v = 0; v < V; v++) memcpy(&x[v], all, 16);
        return;
    }
    const uint4 *from = (const uint4 *)((const T *)p.in[k] + p.head) + first;
#pragma unroll
    for (int v = 0; v < V; v++) {
        if (!WHOLE && first + v * THREADS >= p.vectors) break;
        x[v] = from[v * THREADS];
    }
}

/* Computes one vector of results. Returns its first lane that does not fit, or NONE. */
template <bf_map_op OP, bf_dtype D>
static __device__ __forceinline__ int compute_vector(const bf_cuda_map_params &p, uint4 x, uint4 y,
                                                     uint4 z, int64_t vector) {
    typedef stored_of<D> T;
    typedef result_of<OP, D> R;
    typedef typename word<lanes<T>() * (int)sizeof(R)>::type W;
    constexpr int L = lanes<T>();
    T a[L], b[L], c[L];
    R r[L];
    W w;
    int failed = NONE;
    memcpy(a, &x, 16);
    memcpy(b, &y, 16);
    memcpy(c, &z, 16);
#pragma unroll
    for (int l = L - 1; l >= 0; l--) {
        bool misfit;
        r[l] = compute_element<OP, D>(p, element<D>::decode(a[l]), element<D>::decode(b[l]),
                                      element<D>::decode(c[l]), &misfit);
        if (can_fail(OP, D) && misfit) failed = l;
    }
    memcpy(&w, r, sizeof w);
    ((W *)((R *)p.out + p.head))[vector] = w;
    return failed;
}

/* Computes the thread's whole vectors. */
template <bf_map_op OP, bf_dtype D, int V, bool WHOLE>
static __device__ __forceinline__ void compute_vectors(const bf_cuda_map_params &p) {
    typedef stored_of<D> T;
    constexpr int arity = arity_of(OP);
    int64_t first = (int64_t)blockIdx.x * (V * THREADS) + threadIdx.x;
    uint4 x[V], y[V], z[V];
    int failed = NONE;
    load_vectors<V, WHOLE, T>(x, p, 0, first);
    if (arity > 1) load_vectors<V, WHOLE, T>(y, p, 1, first);
    if (arity > 2) load_vectors<V, WHOLE, T>(z, p, 2, first);
#pragma unroll
    for (int v = 0; v < V; v++) {
        int64_t vector = first + v * THREADS;
        if (!WHOLE && vector >= p.vectors) break;
        int lane = compute_vector<OP, D>(p, x[v], arity > 1 ? y[v] : x[v], arity > 2 ? z[v] : x[v],
                                         vector);
        if (lane != NONE && failed == NONE) failed = v * THREADS * lanes<T>() + lane;
    }
    if (failed != NONE) note_failure(p, p.head + first * lanes<T>() + failed);
}

template <class T>
static __device__ __forceinline__ T load_one(const bf_cuda_map_params &p, int k, int64_t i) {
    return p.single[k] ? load_single<T>(p, k) : ((const T *)p.in[k])[i];
}

/* Computes the elements before and after the whole vectors, one a thread. */
template <bf_map_op OP, bf_dtype D>
static __device__ __forceinline__ void compute_ends(const bf_cuda_map_params &p) {
    typedef stored_of<D> T;
    constexpr int arity = arity_of(OP);
    int64_t i = threadIdx.x;
    bool misfit;
    if (i >= p.head) i += p.vectors * lanes<T>();
    if (i >= p.count) return;
    value_of<D> x = element<D>::decode(load_one<T>(p, 0, i)), y = x, z = x;
    if (arity > 1) y = element<D>::decode(load_one<T>(p, 1, i));
    if (arity > 2) z = element<D>::decode(load_one<T>(p, 2, i));
    ((result_of<OP, D> *)p.out)[i] = compute_element<OP, D>(p, x, y, z, &misfit);
    if (misfit) note_failure(p, i);
}

template <bf_map_op OP, bf_dtype D>
static __global__ void __launch_bounds__(THREADS)
    map_vectors(const __grid_constant__ bf_cuda_map_params p) {
    constexpr int most = bf_cuda_map_vectors(OP, is_float(D), (int)sizeof(stored_of<D>));
    bf_cuda_wait_for_previous();
    bool whole = (int64_t)(blockIdx.x + 1) * (most * THREADS) <= p.vectors;
    if (most == 1 || p.per_thread == 1)
        compute_vectors<OP, D, 1, false>(p);
    else if (!whole)
        compute_vectors<OP, D, most, false>(p);
    else
        compute_vectors<OP, D, most, true>(p);
    if (blockIdx.x == gridDim.x - 1) compute_ends<OP, D>(p);
}

/* --- the choice of a kernel --- */

template <bf_map_op OP, bf_dtype D> static const void *kernel_for() {
    if constexpr (OP == BF_MAP_CAST || !is_defined(OP, D))
        return nullptr;
    else
        return (const void *)map_vectors < is_comparison(OP) ? BF_MAP_EQ : OP, D > ;
}

template <bf_dtype D> static const void *kernel_of(bf_map_op op) {
    switch (op) {
#define BF_X(id, number, name, inputs)                                                             \
    case BF_MAP_##id: return kernel_for<BF_MAP_##id, D>();
        BF_MAP_LIST(BF_X)
#undef BF_X
    default: return nullptr;
    }
}

} // namespace bf_cuda_map

#endif
