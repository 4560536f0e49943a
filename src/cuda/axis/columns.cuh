/* Columns that lie next to each other: a block reduces `columns` results, a thread `width` columns
 * at a time, with `lanes` threads for each. Columns that are few, of an array without gaps, are
 * reduced as if `folded` of its rows were one. */
#ifndef BF_CUDA_AXIS_COLUMNS_CUH
#define BF_CUDA_AXIS_COLUMNS_CUH

#include "cuda/axis/blocks.cuh"

template <class A> struct bf_cuda_axis_columns_of {
    static constexpr int W = A::columns;
    using C = typename A::Class;

    static __device__ __forceinline__ bf_cuda_axis_vector_line line_of(const bf_cuda_axis_params &p,
                                                                       const void *from,
                                                                       int64_t first, int64_t step,
                                                                       int some) {
        const char *at = (const char *)from + first * p.element;
        const int64_t bytes = step * p.element;
        const bool whole = some == W && bf_cuda_axis_is_aligned<C, W>(p, at) &&
                           bf_cuda_axis_is_aligned<C, W>(p, (const char *)bytes);
        return {at, bytes, whole};
    }
    /* Takes this thread's elements of a piece: of `some` columns from number `column` on. */
    static __device__ __forceinline__ void take(const bf_cuda_axis_params &p,
                                                const bf_cuda_axis_work &w, A (&sums)[W],
                                                int column, int lane, int some) {
        bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, w.first);
        if (p.by_line) bf_cuda_axis_go_to_line(p, w.line, &line);
        const int64_t rows = (w.to - w.from) / p.folded; /* the last ones may be fewer */
        const int64_t step_a = p.steps[0] * p.folded, step_b = p.steps[1] * p.folded;
        const int64_t a = line.a + w.from * p.steps[0] + column + lane * step_a;
        const int64_t b = line.b + w.from * p.steps[1] + column + lane * step_b;
        bf_cuda_axis_stream<A, W, W> s = {p, line_of(p, p.a, a, step_a * p.lanes, some),
                                          A::pair ? line_of(p, p.b, b, step_b * p.lanes, some)
                                                  : bf_cuda_axis_vector_line(),
                                          some};
        const int64_t first = w.line * bf_cuda_axis_line_length(p) + w.from + lane;
        if (lane < rows) s.take(sums, (int)((rows - lane + p.lanes - 1) / p.lanes), first, p.lanes);
        const int64_t rest = (w.to - w.from - rows * p.folded) * p.inner - column;
        if (lane != 0 || rest <= 0) return;
        const char *x = (const char *)p.a + (a + rows * step_a) * p.element;
        const char *y = A::pair ? (const char *)p.b + (b + rows * step_b) * p.element : x;
#pragma unroll
        for (int k = 0; k < W; k++) {
            if (k >= rest || k >= some) continue;
            typename A::Value u[1], v[1];
            C::template unpack<1>(p, C::template gather<1>(p, x + k * p.element, 1), u);
            if (A::pair)
                C::template unpack<1>(p, C::template gather<1>(p, y + k * p.element, 1), v);
            sums[k].take(u, v, first, 1, 1);
        }
    }
    /* Merges what shared memory has of each column, which is of so many lanes. */
    static __device__ __forceinline__ void merge(int64_t *room, int columns, int lanes) {
        const int all = columns * lanes;
        BF_ROLLED
        for (int left = lanes; left > 1;) {
            const int half = (left + 1) / 2;
            __syncthreads();
            BF_ROLLED
            for (int at = (int)threadIdx.x; at < (left - half) * columns; at += (int)blockDim.x) {
                int64_t x[A::words], y[A::words];
#pragma unroll
                for (int i = 0; i < A::words; i++) {
                    x[i] = room[i * all + at];
                    y[i] = room[i * all + at + half * columns];
                }
                A::merge(x, y);
#pragma unroll
                for (int i = 0; i < A::words; i++) room[i * all + at] = x[i];
            }
            left = half;
        }
        __syncthreads();
    }
    /* What some pieces of a column have: number `lane`, and on. */
    static __device__ __forceinline__ void collect(const bf_cuda_axis_params &p,
                                                   const bf_cuda_axis_work &w, int column, int lane,
                                                   int lanes, int64_t (&whole)[A::total]) {
        const int64_t all = (int64_t)A::total * p.columns;
        const int64_t *from = p.slots + w.slot * all + column;
#pragma unroll 4
        for (int q = lane; q < w.pieces; q += lanes) {
            int64_t other[A::total];
#pragma unroll
            for (int i = 0; i < A::total; i++)
                other[i] = __ldcg(from + q * all + (int64_t)i * p.columns);
            if (q != lane) {
                A::merge_total(whole, other);
            } else {
#pragma unroll
                for (int i = 0; i < A::total; i++) whole[i] = other[i];
            }
        }
    }
    /* By the last block of a tile. */
    static __device__ __forceinline__ void
    collect_all(const bf_cuda_axis_params &p, const bf_cuda_axis_work &w, int64_t *shared) {
        int lanes = (int)blockDim.x / p.columns, most = p.room / (A::total * p.columns);
        lanes = min(min(lanes, most), w.pieces);
        lanes = max(lanes, 1);
        const int all = lanes * p.columns;
        int64_t whole[A::total];
        for (int at = (int)threadIdx.x; at < all; at += (int)blockDim.x) {
            const int c = at % p.columns;
            if (c >= w.columns) continue;
            collect(p, w, c, at / p.columns, lanes, whole);
            if (lanes == 1) {
                bf_cuda_axis_finish<A>(p, w.first + c, p.at.length, whole);
            } else {
#pragma unroll
                for (int i = 0; i < A::total; i++) shared[i * all + at] = whole[i];
            }
        }
        if (lanes == 1) return;
        __syncthreads();
        for (int c = (int)threadIdx.x; c < w.columns; c += (int)blockDim.x) {
            for (int lane = 0; lane < lanes; lane++) {
                int64_t other[A::total];
#pragma unroll
                for (int i = 0; i < A::total; i++)
                    other[i] = shared[i * all + lane * p.columns + c];
                if (lane > 0) {
                    A::merge_total(whole, other);
                } else {
#pragma unroll
                    for (int i = 0; i < A::total; i++) whole[i] = other[i];
                }
            }
            bf_cuda_axis_finish<A>(p, w.first + c, p.at.length, whole);
        }
        __syncthreads();
    }
    static __device__ __forceinline__ void
    run(const bf_cuda_axis_params &p, const bf_cuda_axis_work &w, A (&sums)[W], int64_t *shared) {
        const int columns = p.columns * p.folded, threads = (columns + W - 1) / W;
        const int valid = p.folded > 1 ? columns : w.columns; /* as one folded row has them */
        const int thread = (int)threadIdx.x % threads, lane = (int)threadIdx.x / threads;
        const int column = thread * W, some = valid - column < W ? valid - column : W;
        const bool active = some > 0 && lane < p.lanes;
        const int lanes = p.lanes * p.folded;
        int64_t part[A::words], whole[A::total];
#pragma unroll
        for (int k = 0; k < W; k++) sums[k].reset();
        if (active) take(p, w, sums, column, lane, some);
        if (lanes == 1 && w.pieces == 1) {
            int64_t parts[W][A::words];
#pragma unroll
            for (int k = 0; k < W; k++) sums[k].close(parts[k]);
            BF_ROLLED
            for (int k = 0; k < W; k++) {
                A::widen(parts[0], whole);
                if (active && k < some) A::finish(p, w.first + column + k, p.at.length, whole);
#pragma unroll
                for (int i = 1; i < W; i++) {
#pragma unroll
                    for (int j = 0; j < A::words; j++) parts[i - 1][j] = parts[i][j];
                }
            }
            return;
        }
        const int all = columns * p.lanes;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < W; k++) {
            sums[k].close(part);
            if (lane >= p.lanes || column + k >= columns) continue;
#pragma unroll
            for (int i = 0; i < A::words; i++)
                shared[i * all + lane * columns + column + k] = part[i];
        }
        merge(shared, p.columns, lanes);
        for (int c = (int)threadIdx.x; c < w.columns; c += (int)blockDim.x) {
#pragma unroll
            for (int i = 0; i < A::words; i++) part[i] = shared[i * all + c];
            A::widen(part, whole);
            if (w.pieces > 1)
                bf_cuda_axis_block<A>::store_slot(p, w.slot + w.piece * w.step, c, whole);
            else
                bf_cuda_axis_finish<A>(p, w.first + c, p.at.length, whole);
        }
        if (w.pieces == 1 || !bf_cuda_axis_block<A>::is_last(p, w)) return;
        collect_all(p, w, shared);
    }
};

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_THREADS, 2)
    bf_cuda_axis_columns(const __grid_constant__ bf_cuda_axis_params p) {
    using Columns = bf_cuda_axis_columns_of<A>;
    extern __shared__ int64_t bf_cuda_axis_memory[];
    bf_cuda_wait_for_previous();
    const int64_t units = p.tiles * (int64_t)p.pieces;
    A sums[Columns::W];
#pragma unroll
    for (int k = 0; k < Columns::W; k++) sums[k].open(p);
    for (int64_t u = blockIdx.x; u < units; u += gridDim.x)
        Columns::run(p, bf_cuda_axis_work_of(p, u), sums, bf_cuda_axis_memory);
}

#endif
