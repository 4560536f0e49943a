/* Rows of middling length: `lanes` lanes of a warp reduce a row, one after another, as many as each
 * of them then finishes. */
#ifndef BF_CUDA_AXIS_WARPS_CUH
#define BF_CUDA_AXIS_WARPS_CUH

#include "cuda/axis/blocks.cuh"

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
        const bool mine = lane < p.chunk && r < p.at.results;
        bf_cuda_axis_line line = {0, 0, 0};
        int64_t kept[A::words] = {};
        if (mine) line = bf_cuda_axis_line_of(p.at, r);
        const bool giant = line.length > p.giant;
        if (giant) bf_cuda_axis_push(p, r, line.length);
        BF_ROLLED
        for (int i = 0; i < p.chunk; i++) {
            const int64_t a = __shfl_sync(0xffffffffu, line.a, leader + i);
            const int64_t b = A::pair ? __shfl_sync(0xffffffffu, line.b, leader + i) : a;
            int64_t part[A::words], length = __shfl_sync(0xffffffffu, line.length, leader + i);
            if (length > p.giant) length = 0;
            sum.reset();
            bf_cuda_axis_take<A>(p, sum, a, b, 0, length, lane, p.lanes, 0);
            sum.close(part);
            bf_cuda_axis_merge_warp<A>(part, p.lanes);
            if (lane == i) {
#pragma unroll
                for (int w = 0; w < A::words; w++) kept[w] = part[w];
            }
        }
        if (!mine || giant) continue;
        int64_t whole[A::total];
        A::widen(kept, whole);
        A::finish(p, r, line.length, whole);
    }
}

#endif
