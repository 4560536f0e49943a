/* Columns, and pieces of long rows: a block reduces `columns` results, with `lanes` threads for
 * each. What it has of a piece it leaves in slots; the last of the blocks that share a tile merges
 * them. A result's lines are those of its last reduced dimension. */
#ifndef BF_CUDA_AXIS_BLOCKS_CUH
#define BF_CUDA_AXIS_BLOCKS_CUH

#include "cuda/axis/store.cuh"
#include "cuda/axis/stream.cuh"

enum {
    BF_CUDA_AXIS_UNROLLED = 8, /* elements that a thread loads at once */
    BF_CUDA_AXIS_EARLY =
        1 << 16 /* bytes that a block, or 8 warps, fetch before the plan is there */
};

/* What a block does at a time. */
struct bf_cuda_axis_work {
    int64_t first;    /* the first result */
    int columns;      /* how many results there are */
    int64_t line;     /* the line of their elements */
    int64_t from, to; /* elements of it; of segments without a list: all */
    int64_t ticket;
    int piece, pieces;
    int64_t slot, step; /* where piece 0 has its slot, and the distance to the next */
};

static __device__ __forceinline__ bf_cuda_axis_work
bf_cuda_axis_listed(const bf_cuda_axis_params &p, int64_t u) {
    int64_t part, i = bf_cuda_axis_divide(u, p.parts, &part);
    const bf_cuda_axis_unit unit = p.units[i];
    bf_cuda_axis_work w;
    int64_t left = p.inner - part * p.columns;
    w.first = unit.slot * p.inner + part * p.columns;
    w.columns = (int)(left < p.columns ? left : p.columns);
    w.line = 0;
    w.from = unit.first;
    w.to = unit.end;
    w.ticket = unit.giant * p.parts + part;
    w.piece = unit.piece;
    w.pieces = unit.pieces;
    w.slot = (i - unit.piece) * p.parts + part;
    w.step = p.parts;
    return w;
}

/* Elements of a line: those of the last reduced dimension, if there are pieces of one line each. */
static __device__ __forceinline__ int64_t bf_cuda_axis_line_length(const bf_cuda_axis_params &p) {
    return p.by_line ? p.at.reduced_shape[p.at.reduced - 1] : p.at.length;
}

/* From the first line of a result to this one. */
static __device__ __forceinline__ void
bf_cuda_axis_go_to_line(const bf_cuda_axis_params &p, int64_t number, bf_cuda_axis_line *line) {
    const bf_cuda_axis_layout &at = p.at;
    line->a += bf_cuda_axis_offset(at.reduced - 1, at.reduced_shape, at.reduced_strides[0], number);
    line->b += bf_cuda_axis_offset(at.reduced - 1, at.reduced_shape, at.reduced_strides[1], number);
}

static __device__ __forceinline__ bf_cuda_axis_work
bf_cuda_axis_work_of(const bf_cuda_axis_params &p, int64_t u) {
    if (p.listed) return bf_cuda_axis_listed(p, u);
    bf_cuda_axis_work w;
    int64_t tile, piece, part, rest;
    if (p.columns > 1)
        piece = bf_cuda_axis_divide(u, p.tiles, &tile);
    else
        tile = bf_cuda_axis_divide(u, p.pieces, &piece);
    int64_t outer = bf_cuda_axis_divide(tile, p.parts, &part);
    int64_t left = p.inner - part * p.columns;
    w.first = outer * p.inner + part * p.columns;
    w.columns = (int)(left < p.columns ? left : p.columns);
    const int64_t length = bf_cuda_axis_line_length(p);
    w.line = bf_cuda_axis_divide(piece, p.line_pieces, &rest);
    w.from = rest * p.piece;
    w.to = length - w.from < p.piece ? length : w.from + p.piece;
    w.ticket = tile;
    w.piece = (int)piece;
    w.pieces = p.pieces;
    w.slot = tile * p.pieces;
    w.step = 1;
    return w;
}

/* Units of tiles and pieces; of the second kernel those of the tiles that were left. */
static __device__ __forceinline__ int64_t bf_cuda_axis_units(const bf_cuda_axis_params &p) {
    if (p.listed) return (int64_t)p.board->units * p.parts;
    return (p.second ? (int64_t)p.board->deferred : p.tiles) * p.pieces;
}
static __device__ __forceinline__ int64_t bf_cuda_axis_unit_deferred(const bf_cuda_axis_params &p,
                                                                     int64_t i) {
    int64_t piece;
    const int64_t tile = bf_cuda_axis_deferred(p, bf_cuda_axis_divide(i, p.pieces, &piece));
    return p.columns > 1 ? piece * p.tiles + tile : tile * p.pieces + piece;
}

/* Puts a segment that is too long for a thread or a warp on the list. */
static __device__ void bf_cuda_axis_push(const bf_cuda_axis_params &p, int64_t slot,
                                         int64_t length) {
    const int pieces = (int)((length + p.piece - 1) / p.piece);
    const int giant = (int)atomicAdd(&p.board->giants, 1ull);
    const int64_t at = (int64_t)atomicAdd(&p.board->units, (unsigned long long)pieces);
    for (int i = 0; i < pieces; i++) {
        const int64_t first = i * p.piece, left = length - first;
        p.units[at + i] = {slot,  first, first + (left < p.piece ? left : p.piece),
                           giant, i,     pieces};
    }
}

/* Merges what the `lanes` threads of each column have, to the first of them. */
template <class A, int n, class Merge>
static __device__ __forceinline__ void bf_cuda_axis_merge_lanes(int64_t *room, int columns,
                                                                int lanes, int column, int lane,
                                                                int64_t (&mine)[n], Merge merge) {
    if (lanes == 1) return;
    const int at = lane * columns + column, all = lanes * columns;
    __syncthreads();
    if (lane < lanes) {
#pragma unroll
        for (int i = 0; i < n; i++) room[i * all + at] = mine[i];
    }
    BF_ROLLED
    for (int left = lanes; left > 1;) {
        const int half = (left + 1) / 2;
        __syncthreads();
        if (lane < left - half) {
            int64_t other[n];
#pragma unroll
            for (int i = 0; i < n; i++) other[i] = room[i * all + at + half * columns];
            merge(mine, other);
#pragma unroll
            for (int i = 0; i < n; i++) room[i * all + at] = mine[i];
        }
        left = half;
    }
    __syncthreads();
}

/* Merges the parts of neighbouring lanes of a warp; all have the whole of it. */
template <class A>
static __device__ __forceinline__ void bf_cuda_axis_merge_warp(int64_t (&part)[A::words],
                                                               int lanes) {
    BF_ROLLED
    for (int d = lanes / 2; d > 0; d /= 2) {
        int64_t other[A::words];
#pragma unroll
        for (int i = 0; i < A::words; i++) other[i] = __shfl_xor_sync(0xffffffffu, part[i], d);
        A::merge(part, other);
    }
}

/* As A::finish(), which kernels that have many elements a result need not have in their loops. */
template <class A>
static __device__ __noinline__ void bf_cuda_axis_finish(const bf_cuda_axis_params &p, int64_t r,
                                                        int64_t count,
                                                        const int64_t (&whole)[A::total]) {
    A::finish(p, r, count, whole);
}

/* Takes n elements from number j on, `lanes` apart, as far as there are so many: `at` says where
 * they are in each operand. */
template <class A, int n, class At>
static __device__ __forceinline__ void bf_cuda_axis_take_some(const bf_cuda_axis_params &p, A &sum,
                                                              int64_t j, int64_t to, int lanes,
                                                              int64_t index, At at) {
    using C = typename A::Class;
    typename C::Raw r[n], t[A::pair ? n : 1];
    typename A::Value x[n], y[n];
    const int64_t left = n == 1 ? 1 : (to - j + lanes - 1) / lanes;
    const int some = left < n ? (int)left : n;
    C::load(
        p, p.a, [&](int k) { return at(0, j + (int64_t)k * lanes); }, some, r);
    if constexpr (A::pair)
        C::load(
            p, p.b, [&](int k) { return at(1, j + (int64_t)k * lanes); }, some, t);
#pragma unroll
    for (int k = 0; k < n; k++) {
        x[k] = C::value(p, r[k]);
        if (A::pair) y[k] = C::value(p, t[A::pair ? k : 0]);
    }
    sum.take(x, y, index + j, lanes, some);
    sum.keep(n);
}

/* Takes elements from + lane, from + lane + lanes, ... below `to`, of lines that start at a, b.
 * Indices begin with `index`. */
template <class A>
static __device__ __forceinline__ void
bf_cuda_axis_take(const bf_cuda_axis_params &p, A &sum, int64_t a, int64_t b, int64_t from,
                  int64_t to, int lane, int lanes, int64_t index) {
    using C = typename A::Class;
    constexpr int U = BF_CUDA_AXIS_UNROLLED;
    const bool together = !A::pair || bf_cuda_axis_head<C>(p, p.a, a + from) ==
                                          bf_cuda_axis_head<C>(p, p.b, b + from);
    if (p.along && together) {
        bf_cuda_axis_take_line(p, sum, a, b, from, to, lane, lanes, index);
    } else if (p.planes == 1) {
        for (int64_t j = from + lane; j < to; j += (int64_t)U * lanes)
            bf_cuda_axis_take_some<A, U>(p, sum, j, to, lanes, index, [&](int i, int64_t number) {
                return i == 0 ? a + number * p.steps[0] : b + number * p.steps[1];
            });
    } else {
        for (int64_t j = from + lane; j < to; j += lanes)
            bf_cuda_axis_take_some<A, 1>(p, sum, j, to, lanes, index, [&](int i, int64_t number) {
                return (i == 0 ? a : b) + bf_cuda_axis_element(p.at, i, number);
            });
    }
}

/* Sets the origin of a result: its first element. */
template <class A>
static __device__ __forceinline__ void bf_cuda_axis_start(const bf_cuda_axis_params &p, A &sum,
                                                          int64_t first) {
    sum.start(A::Class::value(p, ((const typename A::Class::Raw *)p.a)[first]));
}

template <class A> struct bf_cuda_axis_block {
    using Value = typename A::Value;
    static constexpr int room = A::words * BF_CUDA_AXIS_THREADS; /* int64 of shared memory */

    static __device__ __forceinline__ void store_slot(const bf_cuda_axis_params &p, int64_t slot,
                                                      int column,
                                                      const int64_t (&whole)[A::total]) {
        int64_t *to = p.slots + slot * A::total * p.columns + column;
#pragma unroll
        for (int i = 0; i < A::total; i++) to[(int64_t)i * p.columns] = whole[i];
    }

    /* By the last block of a tile: what all have. */
    static __device__ __forceinline__ void collect(const bf_cuda_axis_params &p,
                                                   const bf_cuda_axis_work &w, int64_t *shared,
                                                   int column, int lane,
                                                   int64_t (&whole)[A::total]) {
        int lanes = room / (A::total * p.columns);
        if (lanes > p.lanes) lanes = p.lanes;
        if (lanes < 1) lanes = 1;
        if (lanes > w.pieces) lanes = w.pieces;
        bool some = false;
        if (lane < lanes && column < w.columns) {
            BF_ROLLED
            for (int q = lane; q < w.pieces; q += lanes) {
                int64_t other[A::total];
                const int64_t *from =
                    p.slots + (w.slot + q * w.step) * A::total * p.columns + column;
#pragma unroll
                for (int i = 0; i < A::total; i++) other[i] = __ldcg(from + (int64_t)i * p.columns);
                if (some) {
                    A::merge_total(whole, other);
                } else {
#pragma unroll
                    for (int i = 0; i < A::total; i++) whole[i] = other[i];
                }
                some = true;
            }
        }
        bf_cuda_axis_merge_lanes<A, A::total>(
            shared, p.columns, lanes, column, lane, whole,
            [](int64_t(&x)[A::total], const int64_t(&y)[A::total]) { A::merge_total(x, y); });
    }

    /* Whether this block is the last one of its tile; true for all if it is the only one. */
    static __device__ __forceinline__ bool is_last(const bf_cuda_axis_params &p,
                                                   const bf_cuda_axis_work &w) {
        __shared__ bool last;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            last = atomicAdd(&p.tickets[w.ticket], 1u) == (unsigned)w.pieces - 1;
            if (last) p.tickets[w.ticket] = 0;
        }
        __syncthreads();
        const bool is = last;
        if (is) __threadfence();
        return is;
    }

    /* The first elements of a piece, if they lie next to each other. */
    static __device__ __forceinline__ void prefetch(const bf_cuda_axis_params &p,
                                                    const bf_cuda_axis_work &w) {
        const int64_t each = BF_CUDA_AXIS_EARLY / 16, bytes = (w.to - w.from) * p.element;
        const int64_t from = threadIdx.x * each, left = bytes - from;
        if (p.columns > 1 || !p.along || threadIdx.x >= 16 || left <= 0) return;
        bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, w.first);
        if (p.by_line) bf_cuda_axis_go_to_line(p, w.line, &line);
        bf_cuda_prefetch_bulk((const char *)p.a + (line.a + w.from) * p.element + from,
                              left < each ? left : each);
    }

    static __device__ __forceinline__ void
    run(const bf_cuda_axis_params &p, const bf_cuda_axis_work &w, A &sum, int64_t *shared) {
        const int column = (int)threadIdx.x % p.columns, lane = (int)threadIdx.x / p.columns;
        const bool active = column < w.columns && lane < p.lanes;
        const int64_t r = w.first + column;
        const bool whole_segments = p.at.offsets != nullptr && !p.listed;
        int64_t part[A::words], whole[A::total], length = p.at.length;
        bool giant = false;
        sum.reset();
        if (active) {
            bf_cuda_axis_line line = bf_cuda_axis_line_of(p.at, r);
            if constexpr (A::has_origin) bf_cuda_axis_start(p, sum, line.a);
            int64_t from = w.from, to = w.to, index = 0;
            length = line.length;
            if (whole_segments) {
                from = 0;
                to = line.length;
                giant = line.length > p.giant;
                if (giant && r % p.at.width == 0) bf_cuda_axis_push(p, r / p.at.width, line.length);
                if (giant) to = 0;
            }
            if (p.by_line) {
                bf_cuda_axis_go_to_line(p, w.line, &line);
                index = w.line * bf_cuda_axis_line_length(p);
            }
            bf_cuda_axis_take<A>(p, sum, line.a, line.b, from, to, lane, p.lanes, index);
        }
        sum.close(part);
        int lanes = p.lanes, mine = lane;
        if (p.columns == 1 && lanes > 1) {
            bf_cuda_axis_merge_warp<A>(part, BF_CUDA_WARP);
            lanes = (lanes + BF_CUDA_WARP - 1) / BF_CUDA_WARP;
            mine = lane % BF_CUDA_WARP == 0 ? lane / BF_CUDA_WARP : lanes;
        }
        bf_cuda_axis_merge_lanes<A, A::words>(
            shared, p.columns, lanes, column, mine, part,
            [](int64_t(&x)[A::words], const int64_t(&y)[A::words]) { A::merge(x, y); });
        A::widen(part, whole);
        if (w.pieces > 1) {
            if (active && lane == 0) store_slot(p, w.slot + w.piece * w.step, column, whole);
            if (!is_last(p, w)) return;
            collect(p, w, shared, column, lane, whole);
        }
        if (active && lane == 0 && !giant) bf_cuda_axis_finish<A>(p, r, length, whole);
    }
};

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_THREADS, A::blocks)
    bf_cuda_axis_blocks(const __grid_constant__ bf_cuda_axis_params p) {
    __shared__ int64_t shared[bf_cuda_axis_block<A>::room];
    bf_cuda_let_next_begin();
    if (p.at.offsets == nullptr && !p.second)
        bf_cuda_axis_block<A>::prefetch(p, bf_cuda_axis_work_of(p, blockIdx.x));
    bf_cuda_wait_for_end();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int64_t units = bf_cuda_axis_units(p);
    A sum;
    sum.open(p);
    for (int64_t i = blockIdx.x; i < units; i += gridDim.x) {
        const int64_t u = p.second ? bf_cuda_axis_unit_deferred(p, i) : i;
        bf_cuda_axis_block<A>::run(p, bf_cuda_axis_work_of(p, u), sum, shared);
    }
}

#endif
