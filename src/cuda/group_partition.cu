/* Rows parted by the hash of their keys, in no order within a part: parts are counted, then blocks
 * sort tiles of rows in shared memory and write them out, part by part, each run where the part's
 * last one ended. So few places are written to at a time, and lines are full when they leave the
 * cache. Values follow their keys. */
#include "group_units.cuh"

namespace {

enum {
    THREADS = 1024,
    WARP = 32,
    PARTS_MOST = BF_CUDA_PARTS_MOST,
    OWN = PARTS_MOST / THREADS /* parts of a thread: next to each other */
};

struct part_column {
    const char *from;
    char *to;
    int bytes;
};

struct part_params {
    const void *ranks;
    void *parted;
    unsigned n, rows; /* of a block */
    int bits;         /* 2^bits parts, by a multiplication */
    uint64_t factor;
    unsigned *cursors; /* of parts: how many rows, then where the next ones go */
    unsigned room;     /* of each part; 0: they are counted first, and have what they need */
    int columns;
    part_column column[BF_AGGREGATES_MAX];
};

/* Of which two blocks of a multiprocessor have one each. */
template <class R, bool Values> struct Tile {
    static constexpr unsigned BYTES = (Values ? 32 : 64) << 10, ROWS = BYTES / sizeof(R);
};

__device__ __forceinline__ unsigned part_of(const part_params &p, uint32_t rank) {
    return rank * (uint32_t)p.factor >> (32 - p.bits);
}
__device__ __forceinline__ unsigned part_of(const part_params &p, uint64_t rank) {
    return (unsigned)(rank * p.factor >> 32) >> (32 - p.bits);
}

template <class R>
__global__ void __launch_bounds__(THREADS) count_parts(const __grid_constant__ part_params p) {
    enum { AHEAD = 8 };
    __shared__ unsigned counts[PARTS_MOST];
    const unsigned begin = blockIdx.x * p.rows, end = min(begin + p.rows, p.n);
    const R *ranks = (const R *)p.ranks;
    for (unsigned i = threadIdx.x; i < 1u << p.bits; i += THREADS) counts[i] = 0;
    __syncthreads();
    unsigned row = begin + threadIdx.x;
    for (; row + (AHEAD - 1) * THREADS < end; row += AHEAD * THREADS) {
        R rank[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) rank[k] = ranks[row + k * THREADS];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) atomicAdd(counts + part_of(p, rank[k]), 1u);
    }
    for (; row < end; row += THREADS) atomicAdd(counts + part_of(p, ranks[row]), 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1u << p.bits; i += THREADS)
        if (counts[i] > 0) atomicAdd(p.cursors + i, counts[i]);
}

/* All counts become where they begin. By all threads. */
__device__ __forceinline__ void scan_counts(unsigned *counts, int parts) {
    __shared__ unsigned warps[WARP];
    int at = OWN * (int)threadIdx.x, lane = (int)threadIdx.x % WARP;
    unsigned own[OWN], sum = 0;
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        own[k] = sum;
        sum += at + k < parts ? counts[at + k] : 0;
    }
    unsigned before = sum;
    for (int d = 1; d < WARP; d *= 2) {
        unsigned x = __shfl_up_sync(0xffffffffu, before, (unsigned)d);
        if (lane >= d) before += x;
    }
    if (lane == WARP - 1) warps[threadIdx.x / WARP] = before;
    __syncthreads();
    unsigned total = lane < THREADS / WARP ? warps[lane] : 0, begin = total;
    for (int d = 1; d < WARP; d *= 2) {
        unsigned x = __shfl_up_sync(0xffffffffu, begin, (unsigned)d);
        if (lane >= d) begin += x;
    }
    begin = __shfl_sync(0xffffffffu, begin - total, (int)threadIdx.x / WARP) + before - sum;
#pragma unroll
    for (int k = 0; k < OWN; k++)
        if (at + k < parts) counts[at + k] = begin + own[k];
}

extern __shared__ uint4 part_memory[];

/* Sorts tiles of rows by part. */
template <class R, bool Values> struct Sorter {
    static constexpr unsigned ROWS = Tile<R, Values>::ROWS, BYTES = Tile<R, Values>::BYTES;
    const part_params &p;
    char *sorted;
    unsigned *delta, *counts; /* by part: from a place in the tile to that in memory */
    uint16_t *parts, *places; /* of places, and of rows: for values */
    unsigned *full;           /* a part has no room for its rows */

    __device__ Sorter(const part_params &params, unsigned *flag) : p(params), full(flag) {
        sorted = (char *)part_memory;
        delta = (unsigned *)(sorted + BYTES);
        counts = delta + (1 << p.bits);
        parts = (uint16_t *)(counts + (1 << p.bits));
        places = parts + ROWS;
    }
    /* Where each part's rows begin, in the tile and in memory. */
    __device__ __forceinline__ void place_parts(unsigned first, unsigned end) {
        const R *ranks = (const R *)p.ranks;
        for (unsigned i = threadIdx.x; i < 1u << p.bits; i += THREADS) counts[i] = 0;
        __syncthreads();
#pragma unroll 8
        for (unsigned row = first + threadIdx.x; row < end; row += THREADS)
            atomicAdd(counts + part_of(p, ranks[row]), 1u);
        __syncthreads();
        unsigned part = OWN * threadIdx.x, at[OWN];
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (part + k < 1u << p.bits) at[k] = take_places(part + k, counts[part + k]);
        scan_counts(counts, 1 << p.bits);
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (part + k < 1u << p.bits) delta[part + k] = at[k] - counts[part + k];
        __syncthreads();
    }
    __device__ __forceinline__ unsigned take_places(unsigned part, unsigned n) {
        unsigned at = atomicAdd(p.cursors + part, n);
        if (p.room > 0 && at + n > (part + 1) * p.room) atomicExch(full, 1u);
        return at;
    }
    __device__ __forceinline__ void move_ranks(unsigned first, unsigned end) {
        const R *ranks = (const R *)p.ranks;
        R *to = (R *)p.parted;
#pragma unroll 4
        for (unsigned row = first + threadIdx.x; row < end; row += THREADS) {
            R rank = ranks[row];
            unsigned part = part_of(p, rank), at = atomicAdd(counts + part, 1u);
            ((R *)sorted)[at] = rank;
            if (Values) parts[at] = (uint16_t)part;
            if (Values) places[row - first] = (uint16_t)at;
        }
        __syncthreads();
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < end - first; i += THREADS) {
            R rank = ((const R *)sorted)[i];
            to[delta[part_of(p, rank)] + i] = rank;
        }
        __syncthreads();
    }
    /* Values that do not fit at once go in several steps. */
    template <class W>
    __device__ __forceinline__ void move_values(const part_column &c, unsigned first, unsigned n) {
        const W *from = (const W *)c.from + first;
        W *to = (W *)c.to;
        const unsigned most = BYTES / sizeof(W);
        for (unsigned low = 0; low < n; low += most) {
#pragma unroll 4
            for (unsigned i = threadIdx.x; i < n; i += THREADS) {
                unsigned at = places[i] - low;
                if (at < most) ((W *)sorted)[at] = from[i];
            }
            __syncthreads();
            unsigned some = min(most, n - low);
#pragma unroll 4
            for (unsigned i = threadIdx.x; i < some; i += THREADS)
                to[delta[parts[low + i]] + low + i] = ((const W *)sorted)[i];
            __syncthreads();
        }
    }
    __device__ __forceinline__ void move_column(const part_column &c, unsigned first, unsigned n) {
        switch (c.bytes) {
        case 1: move_values<uint8_t>(c, first, n); break;
        case 2: move_values<uint16_t>(c, first, n); break;
        case 4: move_values<uint32_t>(c, first, n); break;
        default: move_values<uint64_t>(c, first, n); break;
        }
    }
};

template <class R, bool Values>
__global__ void __launch_bounds__(THREADS, BF_CUDA_HALVES)
    move_rows(const __grid_constant__ part_params p) {
    __shared__ unsigned full;
    const unsigned begin = blockIdx.x * p.rows, end = min(begin + p.rows, p.n);
    Sorter<R, Values> sorter(p, &full);
    if (threadIdx.x == 0) full = 0;
    for (unsigned first = begin; first < end; first += Sorter<R, Values>::ROWS) {
        unsigned last = min(first + Sorter<R, Values>::ROWS, end);
        sorter.place_parts(first, last);
        if (full) return;
        sorter.move_ranks(first, last);
        for (int c = 0; Values && c < p.columns; c++)
            sorter.move_column(p.column[c], first, last - first);
    }
}

/* Where parts begin that have equal room. */
__global__ void __launch_bounds__(THREADS)
    even_cursors(unsigned *cursors, int parts, unsigned room) {
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) cursors[i] = (unsigned)i * room;
}

/* From where their rows end. count[1]: a part had too little room. One block. */
__global__ void __launch_bounds__(THREADS)
    make_even_parts(const unsigned *cursors, int parts, unsigned room, bool mixes, unsigned *count,
                    bf_cuda_unit *units) {
    if (threadIdx.x == 0) count[0] = (unsigned)parts;
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) {
        unsigned begin = (unsigned)i * room, end = cursors[i];
        if (end - begin > room) count[1] = 1;
        units[i] = bf_cuda_unit{begin, end, !mixes};
    }
}

/* Sizes of parts become where these begin. Parts become units of at most `most` rows; *count is
 * their number. One block. */
__global__ void __launch_bounds__(THREADS)
    make_units(unsigned *sizes, int parts, unsigned most, bool mixes, unsigned *count,
               bf_cuda_unit *units) {
    __shared__ unsigned begins[PARTS_MOST], counts[PARTS_MOST];
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) begins[i] = sizes[i];
    __syncthreads();
    for (int i = (int)threadIdx.x; i < parts; i += THREADS)
        counts[i] = (begins[i] + most - 1) / most;
    __syncthreads();
    unsigned last = counts[parts - 1];
    __syncthreads();
    scan_counts(begins, parts);
    __syncthreads();
    scan_counts(counts, parts);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < parts; i += THREADS) {
        unsigned begin = begins[i], end = begin + sizes[i], alone = !mixes && sizes[i] <= most;
        sizes[i] = begin;
        for (unsigned at = counts[i]; begin < end; at++, begin += most)
            units[at] = bf_cuda_unit{begin, end - begin < most ? end : begin + most, alone};
    }
    if (threadIdx.x == 0) *count = counts[parts - 1] + last;
}

size_t padded(size_t bytes) { return (bytes + 255) & ~(size_t)255; }

template <class R, bool Values>
cudaError_t launch_move(const bf_context *context, const part_params &p, unsigned blocks) {
    typedef Tile<R, Values> tile;
    int bytes = (int)tile::BYTES + (8 << p.bits) + (Values ? 4 * (int)tile::ROWS : 0);
    cudaError_t error = cudaFuncSetAttribute(move_rows<R, Values>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return error;
    move_rows<R, Values><<<blocks, THREADS, (size_t)bytes, context->cuda->stream>>>(p);
    return cudaGetLastError();
}

template <class R>
cudaError_t part(const bf_context *context, const part_params &p, unsigned blocks,
                 const bf_cuda_unit_plan *plan) {
    cudaStream_t stream = context->cuda->stream;
    int parts = 1 << p.bits;
    cudaError_t error = cudaMemsetAsync(p.cursors, 0, sizeof(unsigned) << p.bits, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(plan->unit_count, 0, 2 * sizeof(unsigned), stream);
    if (error != cudaSuccess) return error;
    if (p.room > 0) {
        even_cursors<<<1, THREADS, 0, stream>>>(p.cursors, parts, p.room);
    } else {
        count_parts<R><<<blocks, THREADS, 0, stream>>>(p);
        make_units<<<1, THREADS, 0, stream>>>(p.cursors, parts, plan->unit_rows, plan->mixes,
                                              plan->unit_count, plan->unit);
    }
    error = p.columns > 0 ? launch_move<R, true>(context, p, blocks)
                          : launch_move<R, false>(context, p, blocks);
    if (error != cudaSuccess || p.room == 0) return error;
    make_even_parts<<<1, THREADS, 0, stream>>>(p.cursors, parts, p.room, plan->mixes,
                                               plan->unit_count, plan->unit);
    return cudaGetLastError();
}

} // namespace

bf_status bf_cuda_groups_part(bf_context *context, bf_cuda_groups *g, bf_cuda_unit_plan *plan) {
    part_params p = {};
    unsigned blocks = 2 * (unsigned)context->cuda->multiprocessors;
    size_t n = (size_t)plan->n, places = (size_t)plan->places;
    size_t ranks = padded(places * (size_t)plan->rank_bytes);
    p.ranks = plan->ranks;
    p.n = (unsigned)n;
    p.bits = bf_bit_length((uint64_t)plan->parts) - 1;
    p.rows = (unsigned)((n + blocks - 1) / blocks);
    p.factor = plan->factor;
    p.room = plan->room;
    p.columns = g->columns;
    size_t cursors = padded(sizeof(unsigned) << p.bits), total = cursors + ranks;
    for (int c = 0; c < p.columns; c++)
        total += padded(places * (size_t)bf_dtype_bytes(g->aggregates[c].dtype));
    char *memory = (char *)bf_cuda_group_scratch_of(context, g, BF_CUDA_SCRATCH_PARTED, total);
    if (memory == NULL) return BF_E_MEMORY;
    p.cursors = (unsigned *)memory;
    p.parted = memory + cursors;
    memory += cursors + ranks;
    for (int c = 0; c < p.columns; c++) {
        int bytes = bf_dtype_bytes(g->aggregates[c].dtype);
        p.column[c] = part_column{(const char *)plan->values[c], memory, bytes};
        plan->values[c] = memory;
        memory += padded(places * (size_t)bytes);
    }
    plan->ranks = p.parted;
    return bf_cuda_group_check(context, plan->rank_bytes == 4
                                            ? part<uint32_t>(context, p, blocks, plan)
                                            : part<uint64_t>(context, p, blocks, plan));
}
