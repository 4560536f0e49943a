/* Rows of middling length: `lanes` lanes of a warp reduce a row, one after another, as many as each
 * of them then finishes. */
#ifndef BF_CUDA_AXIS_WARPS_CUH
#define BF_CUDA_AXIS_WARPS_CUH

#include "cuda/axis/blocks.cuh"

enum { BF_CUDA_AXIS_DIRECT_ROW = 1024 /* elements of a row; of more, few results are exact */ };

/* The rows of a warp that its lanes reduce together, `lanes` of them each: lane i of these finishes
 * the i-th of `chunk` rows. */
template <class A> struct bf_cuda_axis_warp_rows {
    const bf_cuda_axis_params &p;
    bf_cuda_axis_line mine; /* this lane's; of no length if it is left out */
    int lane, leader;

    /* Calls body(i, a, b, length) for every row. */
    template <class Body> __device__ __forceinline__ void for_each(Body body) const {
        BF_ROLLED
        for (int i = 0; i < p.chunk; i++) {
            const int64_t a = __shfl_sync(0xffffffffu, mine.a, leader + i);
            const int64_t b = A::pair ? __shfl_sync(0xffffffffu, mine.b, leader + i) : a;
            body(i, a, b, __shfl_sync(0xffffffffu, mine.length, leader + i));
        }
    }
    /* Returns whether result r, which is this lane's, is written. All lanes of a warp. */
    __device__ __forceinline__ bool finish_directly(int64_t r, bool is_mine) const {
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
        return is_mine && kept.finish(p, r, mine.length);
    }
    __device__ __forceinline__ void finish(A &sum, int64_t r, bool is_mine) const {
        int64_t kept[A::words] = {}, whole[A::total];
        for_each([&](int i, int64_t a, int64_t b, int64_t length) {
            int64_t part[A::words];
            sum.reset();
            bf_cuda_axis_take<A>(p, sum, a, b, 0, length, lane, p.lanes, 0);
            sum.close(part);
            bf_cuda_axis_merge_warp<A>(part, p.lanes);
            if (lane != i) return;
#pragma unroll
            for (int w = 0; w < A::words; w++) kept[w] = part[w];
        });
        if (!is_mine) return;
        A::widen(kept, whole);
        A::finish(p, r, mine.length, whole);
    }
};

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, A::blocks)
    bf_cuda_axis_warps(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int thread = (int)threadIdx.x % BF_CUDA_WARP;
    const int lane = thread % p.lanes, leader = thread - lane;
    const int64_t warps = (int64_t)gridDim.x * (BF_CUDA_AXIS_WARP_THREADS / BF_CUDA_WARP);
    const int64_t warp = ((int64_t)blockIdx.x * BF_CUDA_AXIS_WARP_THREADS + threadIdx.x) / 32;
    const int64_t all = (int64_t)p.chunk * (BF_CUDA_WARP / p.lanes); /* rows of a warp */
    A sum;
    sum.open(p);
    for (int64_t c = warp; c * all < p.at.results; c += warps) {
        const int64_t r = c * all + leader / p.lanes * p.chunk + lane;
        bool is_mine = lane < p.chunk && r < p.at.results;
        bf_cuda_axis_line line = {0, 0, 0};
        if (is_mine) line = bf_cuda_axis_line_of(p.at, r);
        if (line.length > p.giant) {
            bf_cuda_axis_push(p, r, line.length);
            line.length = 0;
            is_mine = false;
        }
        const bf_cuda_axis_warp_rows<A> rows = {p, line, lane, leader};
        if constexpr (A::Direct::some) {
            const bool is_short = line.length <= BF_CUDA_AXIS_DIRECT_ROW;
            if (p.direct && p.along && __all_sync(0xffffffffu, is_short)) {
                const bool is_written = rows.finish_directly(r, is_mine);
                is_mine = is_mine && !is_written;
                if (!__any_sync(0xffffffffu, is_mine)) continue;
            }
        }
        rows.finish(sum, r, is_mine);
    }
}

#endif
