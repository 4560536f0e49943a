/* Rows of middling length: `lanes` lanes of a warp reduce a row, one after another, as many as each
 * of them then finishes. */
#ifndef BF_CUDA_AXIS_WARPS_CUH
#define BF_CUDA_AXIS_WARPS_CUH

#include "cuda/axis/blocks.cuh"

enum { BF_CUDA_AXIS_DIRECT_BLOCKS = 4 /* a multiprocessor has so many */ };

/* A chunk of rows, which a warp reduces: `lanes` lanes together one after another of `chunk` rows,
 * of which lane i finishes the i-th. */
template <class A> struct bf_cuda_axis_chunk {
    const bf_cuda_axis_params &p;
    int lane, leader;       /* among the lanes that reduce rows together */
    int64_t result;         /* this lane's */
    bool is_mine;           /* there is one */
    bf_cuda_axis_line line; /* its elements */

    static __device__ __forceinline__ int64_t rows(const bf_cuda_axis_params &p) {
        return (int64_t)p.chunk * (BF_CUDA_WARP / p.lanes);
    }
    __device__ __forceinline__ bf_cuda_axis_chunk(const bf_cuda_axis_params &params, int64_t number)
        : p(params) {
        const int thread = (int)threadIdx.x % BF_CUDA_WARP;
        lane = thread % p.lanes;
        leader = thread - lane;
        result = number * rows(p) + leader / p.lanes * p.chunk + lane;
        is_mine = lane < p.chunk && result < p.at.results;
        line = {0, 0, 0};
        if (is_mine) line = bf_cuda_axis_line_of(p.at, result);
        if (line.length <= p.giant) return;
        /* Once, and after the check of offsets, so that the list has room for all. */
        if (p.second == p.proven) bf_cuda_axis_push(p, result, line.length);
        line.length = 0;
        is_mine = false;
    }
    /* The first elements of each warp. */
    static __device__ __forceinline__ void prefetch(const bf_cuda_axis_params &p) {
        const int64_t first = rows(p) * (((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32);
        if (threadIdx.x % BF_CUDA_WARP != 0 || first >= p.at.results || !p.along) return;
        const int64_t bytes = p.at.length * p.element, most = BF_CUDA_AXIS_EARLY / 8;
        bf_cuda_prefetch_bulk((const char *)p.a + bf_cuda_axis_line_of(p.at, first).a * p.element,
                              bytes < most ? bytes : most);
    }
    /* Calls body(i, a, b, length) for every row. */
    template <class Body> __device__ __forceinline__ void for_each(Body body) const {
        BF_ROLLED
        for (int i = 0; i < p.chunk; i++) {
            const int64_t a = __shfl_sync(0xffffffffu, line.a, leader + i);
            const int64_t b = A::pair ? __shfl_sync(0xffffffffu, line.b, leader + i) : a;
            body(i, a, b, __shfl_sync(0xffffffffu, line.length, leader + i));
        }
    }
    /* Returns whether all results are written. */
    __device__ __forceinline__ bool finish_directly() const {
        using Direct = typename A::Direct;
        Direct direct, kept;
        kept.reset();
        for_each([&](int i, int64_t a, int64_t, int64_t length) {
            direct.reset();
            bf_cuda_axis_take_directly<A>(p, direct, a, length, lane, p.lanes);
            BF_ROLLED
            for (int d = p.lanes / 2; d > 0; d /= 2) direct.merge(d);
            if (lane == i) kept = direct;
        });
        return __all_sync(0xffffffffu, !is_mine || kept.finish(p, result, line.length));
    }
    __device__ __forceinline__ void finish(A &sum) const {
        int64_t kept[A::words] = {}, whole[A::total];
        for_each([&](int i, int64_t a, int64_t b, int64_t length) {
            int64_t part[A::words];
            sum.reset();
            if constexpr (A::has_origin)
                if (length > 0) bf_cuda_axis_start(p, sum, a);
            bf_cuda_axis_take<A>(p, sum, a, b, 0, length, lane, p.lanes, 0);
            sum.close(part);
            bf_cuda_axis_merge_warp<A>(part, p.lanes);
            if (lane != i) return;
#pragma unroll
            for (int w = 0; w < A::words; w++) kept[w] = part[w];
        });
        if (!is_mine) return;
        A::widen(kept, whole);
        A::finish(p, result, line.length, whole);
    }
};

/* This warp, among all of the grid. */
static __device__ __forceinline__ int64_t bf_cuda_axis_warp() {
    return ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / BF_CUDA_WARP;
}
static __device__ __forceinline__ int64_t bf_cuda_axis_warps_of_grid() {
    return (int64_t)gridDim.x * (blockDim.x / BF_CUDA_WARP);
}

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, A::blocks)
    bf_cuda_axis_warps(const __grid_constant__ bf_cuda_axis_params p) {
    using Chunk = bf_cuda_axis_chunk<A>;
    bf_cuda_let_next_begin();
    if (p.at.offsets == nullptr && !p.second) Chunk::prefetch(p);
    bf_cuda_wait_for_end();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int64_t rows = Chunk::rows(p), all = (p.at.results + rows - 1) / rows;
    const int64_t chunks = p.second ? (int64_t)p.board->deferred : all;
    A sum;
    sum.open(p);
    for (int64_t i = bf_cuda_axis_warp(); i < chunks; i += bf_cuda_axis_warps_of_grid())
        Chunk(p, p.second ? bf_cuda_axis_deferred(p, i) : i).finish(sum);
}

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, BF_CUDA_AXIS_DIRECT_BLOCKS)
    bf_cuda_axis_direct_warps(const __grid_constant__ bf_cuda_axis_params p) {
    using Chunk = bf_cuda_axis_chunk<A>;
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int64_t rows = Chunk::rows(p), chunks = (p.at.results + rows - 1) / rows;
    for (int64_t i = bf_cuda_axis_warp(); i < chunks; i += bf_cuda_axis_warps_of_grid())
        if (!Chunk(p, i).finish_directly() && threadIdx.x % BF_CUDA_WARP == 0)
            bf_cuda_axis_defer(p, i);
}

#endif
