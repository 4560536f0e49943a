/* Rows of a few vectors, one behind another, from a few doubles each (doubles.cuh): a warp copies
 * batches of neighbouring vectors to shared memory, where each lane takes whole rows. The next
 * batches are under way meanwhile. */
#ifndef BF_CUDA_AXIS_DOUBLES_SHORT_CUH
#define BF_CUDA_AXIS_DOUBLES_SHORT_CUH

#include "cuda/axis/doubles/batch.h"
#include "cuda/axis/doubles/doubles.cuh"

/* A batch of rows that have V vectors each, a power of 2. */
template <class C, class Proven, int V> struct bf_cuda_axis_proven_batch {
    static constexpr int N = C::N, each = bf_cuda_axis_batch_each(V),
                         rows = each / V * BF_CUDA_WARP, vectors = each * BF_CUDA_WARP;

    const bf_cuda_axis_params &p;
    bf_cuda_axis_proven proven;
    int lane;

    static __device__ __forceinline__ int64_t count(const bf_cuda_axis_params &p) {
        return (p.at.results + rows - 1) / rows;
    }
    /* The vectors of a row lie in another order than those of rows before, so that lanes read from
     * all banks. */
    static __device__ __forceinline__ int place(int vector) {
        return vector ^ (vector >> 3 & (V - 1));
    }
    __device__ __forceinline__ void begin(int64_t batch, uint4 *room) const {
        const int64_t first = batch * vectors + lane, left = p.at.results * V - first;
        const char *from = (const char *)p.a + first * 16;
#pragma unroll
        for (int k = 0; k < each; k++)
            if (k * BF_CUDA_WARP < left)
                bf_cuda_begin_copy(room + place(k * BF_CUDA_WARP + lane),
                                   from + k * BF_CUDA_WARP * 16);
        bf_cuda_end_group();
    }
    /* Returns whether the result of row number r is proven, if there is one. */
    __device__ __forceinline__ bool finish(int64_t r, const uint4 *room) const {
        Proven sum;
        typename Proven::Joint joint;
        uint64_t bits;
        if (r >= p.at.results) return true;
        sum.reset();
        joint.open(p);
#pragma unroll
        for (int c = 0; c < V; c++) {
            typename C::Value e[N];
            C::unpack(p, room[place(lane * V + c)], e);
            if (Proven::has_origin && c == 0) sum.start(e[0], joint);
#pragma unroll
            for (int k = 0; k < N; k++) sum.take(e[k], joint, c * N + k);
        }
        const bool good = sum.prove(p, proven, joint, &bits);
        if (good) bf_cuda_axis_store_once(p, r, bits);
        return good;
    }
    __device__ __forceinline__ void run(int64_t batch, const uint4 *room) const {
#pragma unroll
        for (int k = 0; k < each / V; k++) {
            const int64_t chunk = batch * (each / V) + k; /* a chunk has 32 rows */
            const bool good = finish(chunk * BF_CUDA_WARP + lane, room + k * BF_CUDA_WARP * V);
            const unsigned missing = __ballot_sync(0xffffffffu, !good);
            if (missing == 0 || lane > 0) continue;
            if (Proven::settles)
                bf_cuda_axis_mark_some(p, chunk * BF_CUDA_WARP, missing);
            else
                bf_cuda_axis_defer(p, chunk);
        }
    }
};

template <class C, class Proven, int V>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, V > 4 ? 3 : 4)
    bf_cuda_axis_doubles_short_rows(const __grid_constant__ bf_cuda_axis_params p) {
    using Batch = bf_cuda_axis_proven_batch<C, Proven, V>;
    constexpr int stages = bf_cuda_axis_batch_stages(V), last = stages - 1;
    extern __shared__ int64_t bf_cuda_axis_memory[];
    uint4 *room =
        (uint4 *)bf_cuda_axis_memory + threadIdx.x / BF_CUDA_WARP * (stages * Batch::vectors);
    const Batch batch = {p, bf_cuda_axis_proven(p, p.at.length, (int)p.at.length),
                         (int)threadIdx.x % BF_CUDA_WARP};
    const int64_t step = bf_cuda_axis_warps_of_grid(), batches = Batch::count(p);
    int64_t i = bf_cuda_axis_warp();
    int stage = 0;
    bf_cuda_let_next_begin();
#pragma unroll
    for (int k = 0; k < last; k++) batch.begin(i + k * step, room + k * Batch::vectors);
    BF_ROLLED
    for (; i < batches; i += step) {
        batch.begin(i + last * step, room + (stage > 0 ? stage - 1 : last) * Batch::vectors);
        bf_cuda_wait_for_groups<last>();
        __syncwarp();
        bf_cuda_wait_for_end();
        batch.run(i, room + stage * Batch::vectors);
        __syncwarp();
        stage = stage < last ? stage + 1 : 0;
    }
}

#endif
