/* Columns that lie next to each other: a block reduces `columns` results, a thread `width` columns
 * at a time, with `lanes` threads for each: neighbours, if they are aligned vectors, else some way
 * apart, so that threads read neighbours. Columns that are few, of an array without gaps, are
 * reduced as if `folded` of its rows were one. */
#ifndef BF_CUDA_AXIS_COLUMNS_CUH
#define BF_CUDA_AXIS_COLUMNS_CUH

#include "cuda/axis/blocks.cuh"
#include "cuda/axis/warps.cuh"

template <class A> struct bf_cuda_axis_columns_of {
    static constexpr int W = A::columns;
    using C = typename A::Class;
    using Columns = bf_cuda_axis_columns_at<C, W>;

    /* The columns of a thread, of the first `valid` of a tile; a column that is not there is 0. */
    static __device__ __forceinline__ Columns place(const bf_cuda_axis_params &p, int thread,
                                                    int threads, int valid, bool vector) {
        Columns at;
        at.distance = p.distance;
#pragma unroll
        for (int k = 0; k < W; k++) {
            const int column = vector ? thread * W + k : thread + k * threads;
            at.column[k] = column < valid ? column : 0;
        }
        return at;
    }
    /* Do vectors hold the columns of threads? */
    static __device__ __forceinline__ bool has_vectors(const bf_cuda_axis_params &p,
                                                       const void *from, int64_t first,
                                                       int64_t step, int valid) {
        constexpr int bytes = (int)sizeof(typename C::Raw);
        if (p.distance != 1 || p.element != bytes || valid % W != 0 || W * bytes > 16) return false;
        const uintptr_t at = (uintptr_t)from + (uintptr_t)(first * bytes);
        return ((at | (uintptr_t)(step * bytes)) & (unsigned)(W * bytes - 1)) == 0;
    }
    /* Takes this thread's elements of a piece: of rows `lane`, and on, `lanes` apart. */
    template <bool vector>
    static __device__ __forceinline__ void
    take(const bf_cuda_axis_params &p, const bf_cuda_axis_work &w, A (&sums)[W],
         const Columns &columns, int64_t a, int64_t b, int lane) {
        const int64_t rows = (w.to - w.from) / p.folded; /* the last ones may be fewer */
        const int64_t step_a = p.steps[0] * p.folded, step_b = p.steps[1] * p.folded;
        const int64_t first = w.line * bf_cuda_axis_line_length(p) + w.from + lane;
        if (lane < rows) {
            bf_cuda_axis_column_stream<A, W, vector> s = {p,
                                                          columns,
                                                          a + lane * step_a,
                                                          b + lane * step_b,
                                                          step_a * p.lanes,
                                                          step_b * p.lanes,
                                                          first,
                                                          p.lanes,
                                                          {},
                                                          {}};
            s.take(sums, (int)((rows - lane + p.lanes - 1) / p.lanes));
        }
    }
    /* Takes what one thread has of the rows behind the last whole folded one. */
    static __device__ __forceinline__ void take_rest(const bf_cuda_axis_params &p,
                                                     const bf_cuda_axis_work &w, A (&sums)[W],
                                                     const Columns &columns, int64_t a, int64_t b) {
        const int64_t rows = (w.to - w.from) / p.folded * p.folded;
        const int64_t rest = (w.to - w.from - rows) * p.inner;
        if (rest == 0) return;
#pragma unroll
        for (int k = 0; k < W; k++) {
            const int column = columns.column[k];
            if (column < rest && (k == 0 || column > 0))
                bf_cuda_axis_take_one(p, sums[k], a + rows * p.steps[0] + column,
                                      b + rows * p.steps[1] + column,
                                      w.line * bf_cuda_axis_line_length(p) + w.from);
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
    /* The first rows of a piece. */
    static __device__ __forceinline__ void prefetch(const bf_cuda_axis_params &p,
                                                    const bf_cuda_axis_work &w) {
        const int64_t bytes = (int64_t)w.columns * p.folded * p.element;
        bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, w.first);
        if (p.by_line) bf_cuda_axis_go_to_line(p, w.line, &line);
        const int64_t step = p.steps[0] * p.folded, rows = (w.to - w.from) / p.folded;
        const char *at = (const char *)p.a + (line.a + w.from * p.steps[0]) * p.element;
        BF_ROLLED
        for (int64_t i = threadIdx.x; i < rows && i * bytes < BF_CUDA_AXIS_EARLY; i += blockDim.x)
            bf_cuda_prefetch_bulk(at + i * step * p.element, bytes);
    }
    /* Sets the origins of a thread's columns: their first elements. */
    static __device__ __forceinline__ void start(const bf_cuda_axis_params &p, int64_t first,
                                                 const Columns &columns, A (&sums)[W]) {
#pragma unroll
        for (int k = 0; k < W; k++) {
            const int column = columns.column[k];
            const int64_t at = p.folded > 1 ? column % (int)p.inner : column;
            sums[k].start(C::value(p, ((const typename C::Raw *)p.a)[first + at * p.distance]));
        }
    }
    static __device__ __forceinline__ void
    run(const bf_cuda_axis_params &p, const bf_cuda_axis_work &w, A (&sums)[W], int64_t *shared) {
        const int columns = p.columns * p.folded, threads = (columns + W - 1) / W;
        const int valid = p.folded > 1 ? columns : w.columns; /* as one folded row has them */
        const int thread = (int)threadIdx.x % threads, lane = (int)threadIdx.x / threads;
        const int lanes = p.lanes * p.folded;
        int64_t part[A::words], whole[A::total];
        bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, w.first);
        const int64_t first = line.a;
        if (p.by_line) bf_cuda_axis_go_to_line(p, w.line, &line);
        const int64_t a = line.a + w.from * p.steps[0], b = line.b + w.from * p.steps[1];
        const bool vector = has_vectors(p, p.a, a, p.steps[0] * p.folded, valid) &&
                            (!A::pair || has_vectors(p, p.b, b, p.steps[1] * p.folded, valid));
        const Columns at = place(p, thread, threads, valid, vector);
        const bool active = (vector ? thread * W : thread) < valid && lane < p.lanes;
#pragma unroll
        for (int k = 0; k < W; k++) sums[k].reset();
        if constexpr (A::has_origin) start(p, first, at, sums);
        if (active && vector) take<true>(p, w, sums, at, a, b, lane);
        if (active && !vector) take<false>(p, w, sums, at, a, b, lane);
        if (active && lane == 0) take_rest(p, w, sums, at, a, b);
        if (lanes == 1 && w.pieces == 1) {
            int64_t parts[W][A::words];
#pragma unroll
            for (int k = 0; k < W; k++) sums[k].close(parts[k]);
            BF_ROLLED
            for (int k = 0; k < W; k++) {
                const int column = vector ? thread * W + k : thread + k * threads;
                A::widen(parts[0], whole);
                if (lane == 0 && column < valid) A::finish(p, w.first + column, p.at.length, whole);
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
            const int column = vector ? thread * W + k : thread + k * threads;
            sums[k].close(part);
            if (lane >= p.lanes || column >= columns) continue;
#pragma unroll
            for (int i = 0; i < A::words; i++) shared[i * all + lane * columns + column] = part[i];
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

template <class A> constexpr int bf_cuda_axis_column_blocks = A::blocks > 3 ? 3 : 2;

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_THREADS, bf_cuda_axis_column_blocks<A>)
    bf_cuda_axis_columns(const __grid_constant__ bf_cuda_axis_params p) {
    using Columns = bf_cuda_axis_columns_of<A>;
    extern __shared__ int64_t bf_cuda_axis_memory[];
    bf_cuda_let_next_begin();
    if (!p.second) Columns::prefetch(p, bf_cuda_axis_work_of(p, blockIdx.x));
    bf_cuda_wait_for_end();
    const int64_t units = bf_cuda_axis_units(p);
    A sums[Columns::W];
#pragma unroll
    for (int k = 0; k < Columns::W; k++) sums[k].open(p);
    for (int64_t i = blockIdx.x; i < units; i += gridDim.x) {
        const int64_t u = p.second ? bf_cuda_axis_unit_deferred(p, i) : i;
        Columns::run(p, bf_cuda_axis_work_of(p, u), sums, bf_cuda_axis_memory);
    }
}

/* --- columns of few elements --- */

/* Finishes W columns, of a thread each. Returns whether all results are written. */
template <class A, int W, bool vector>
static __device__ __forceinline__ bool
bf_cuda_axis_finish_columns(const bf_cuda_axis_params &p, const bf_cuda_axis_work &w, int64_t row,
                            const bf_cuda_axis_columns_at<typename A::Class, W> &columns) {
    using C = typename A::Class;
    constexpr int U = (sizeof(typename C::Raw) > 4 ? 8 : 16) / W;
    const int rows = (int)w.to;
    typename A::Direct direct[W];
#pragma unroll
    for (int k = 0; k < W; k++) direct[k].reset();
    BF_ROLLED
    for (int i = 0; i < rows; i += U, row += U * p.steps[0]) {
        bf_cuda_axis_raws<typename C::Raw, W> x[U];
#pragma unroll
        for (int u = 0; u < U; u++)
            if (i + u < rows) columns.template load<vector>(p, p.a, row + u * p.steps[0], x[u]);
#pragma unroll
        for (int u = 0; u < U; u++) {
            if (i + u >= rows) break;
#pragma unroll
            for (int k = 0; k < W; k++) direct[k].take(C::value(p, x[u][k]));
        }
    }
    bool good = true;
#pragma unroll
    for (int k = 0; k < W; k++) /* a column that is not there is the first once more */
        good = direct[k].finish(p, w.first + columns.column[k], rows) && good;
    return good;
}

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_THREADS, BF_CUDA_AXIS_DIRECT_BLOCKS)
    bf_cuda_axis_direct_columns(const __grid_constant__ bf_cuda_axis_params p) {
    using Columns = bf_cuda_axis_columns_of<A>;
    constexpr int W = Columns::W;
    bf_cuda_wait_for_previous();
    const int threads = (p.columns + W - 1) / W, thread = (int)threadIdx.x;
    for (int64_t u = blockIdx.x; u < p.tiles; u += gridDim.x) {
        const bf_cuda_axis_work w = bf_cuda_axis_work_of(p, u);
        const int64_t a = bf_cuda_axis_line_of(p.at, w.first).a;
        const bool vector = Columns::has_vectors(p, p.a, a, p.steps[0], w.columns);
        const auto at = Columns::place(p, thread, threads, w.columns, vector);
        bool good = true;
        if ((vector ? thread * W : thread) < w.columns && thread < threads)
            good = vector ? bf_cuda_axis_finish_columns<A, W, true>(p, w, a, at)
                          : bf_cuda_axis_finish_columns<A, W, false>(p, w, a, at);
        if (__syncthreads_or(!good) && threadIdx.x == 0) bf_cuda_axis_defer(p, u);
    }
}

#endif
