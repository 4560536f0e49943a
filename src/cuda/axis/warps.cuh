/* Rows of middling length: a warp reduces `chunk` neighbouring results, one after another; then
 * each of its lanes finishes one. */
#ifndef BF_CUDA_AXIS_WARPS_CUH
#define BF_CUDA_AXIS_WARPS_CUH

#include "cuda/axis/blocks.cuh"

/* Merges the parts of a warp; all lanes have the whole of it. */
template <class A>
static __device__ __forceinline__ void bf_cuda_axis_merge_warp(int64_t (&part)[A::words]) {
#pragma unroll
    for (int d = BF_CUDA_WARP / 2; d > 0; d /= 2) {
        int64_t other[A::words];
#pragma unroll
        for (int i = 0; i < A::words; i++) other[i] = __shfl_xor_sync(0xffffffffu, part[i], d);
        A::merge(part, other);
    }
}

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, A::blocks)
    bf_cuda_axis_warps(const __grid_constant__ bf_cuda_axis_params p) {
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t warps = (int64_t)gridDim.x * (BF_CUDA_AXIS_WARP_THREADS / BF_CUDA_WARP);
    const int64_t warp = ((int64_t)blockIdx.x * BF_CUDA_AXIS_WARP_THREADS + threadIdx.x) / 32;
    const int64_t chunks = (p.at.results + p.chunk - 1) / p.chunk;
    A sum(p);
    sum.open(p.board);
    for (int64_t c = warp; c < chunks; c += warps) {
        const int64_t r = c * p.chunk + lane;
        const bool mine = lane < p.chunk && r < p.at.results;
        bf_cuda_axis_line line = {0, 0, 0};
        int64_t kept[A::words] = {};
        if (mine) line = bf_cuda_axis_line_of(p.at, r);
        const bool giant = line.length > p.giant;
        if (giant) bf_cuda_axis_push(p, r, line.length);
        const int64_t left = p.at.results - c * p.chunk;
        const int n = left < p.chunk ? (int)left : p.chunk;
        BF_ROLLED
        for (int i = 0; i < n; i++) {
            const int64_t a = __shfl_sync(0xffffffffu, line.a, i);
            const int64_t b = __shfl_sync(0xffffffffu, line.b, i);
            int64_t part[A::words], length = __shfl_sync(0xffffffffu, line.length, i);
            if (length > p.giant) length = 0;
            sum.reset();
            bf_cuda_axis_block<A>::take(p, sum, a, b, 0, length, lane, BF_CUDA_WARP, 0);
            sum.close(part);
            bf_cuda_axis_merge_warp<A>(part);
            if (lane == i) {
#pragma unroll
                for (int w = 0; w < A::words; w++) kept[w] = part[w];
            }
        }
        if (!mine || giant) continue;
        int64_t whole[A::total];
        A::widen(kept, whole);
        bf_cuda_axis_finish<A>(p, r, line.length, whole);
    }
}

#endif
