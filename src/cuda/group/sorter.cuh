/* Tiles of rows sorted by the parts that the hashes of their keys choose (partition.cu).
 *
 * A thread keeps its rows in registers while they are counted and placed; a row's count tells where
 * among its part's rows it goes, so that one addition to shared memory does both. These are numbers
 * of 16 bits, two to a register. Where there are no values, the next tile is loaded into the same
 * registers while this one is written. */
#ifndef BF_CUDA_GROUP_SORTER_CUH
#define BF_CUDA_GROUP_SORTER_CUH

#include "cuda/group/batch.cuh"

namespace {

/* A multiprocessor has one block, and its tiles are as large as registers allow: the longer the
 * runs of a part, the fewer lines of memory are written in pieces. */
enum {
    THREADS = BF_CUDA_UNIT_THREADS,
    WARP = 32,
    PARTS_MOST = BF_CUDA_PARTS_MOST,
    OWN = PARTS_MOST / THREADS /* parts of a thread */
};

struct part_column {
    const char *from;
    char *to;
    int bytes;
};

struct part_params {
    const void *ranks;
    void *parted;
    unsigned n, rows;              /* of a block */
    int bits;                      /* 2^bits parts, by a multiplication */
    uint64_t factor, factor_again; /* the same */
    unsigned *cursors;             /* of parts: how many rows, then where the next ones go */
    unsigned room;          /* of each part; 0: they are counted first, and have what they need */
    int columns, row_bytes; /* the most that a row has in shared memory at a time */
    part_column column[BF_AGGREGATES_MAX];
};

/* Rows of a thread, and of a block. */
template <class R, bool Values> struct Tile {
    static constexpr int ITEMS = (Values ? 16 : 32) * 4 / (int)sizeof(R);
    static constexpr unsigned ROWS = ITEMS * THREADS;
};

__device__ __forceinline__ unsigned part_of(const part_params &p, uint32_t rank) {
    return rank * (uint32_t)p.factor >> (32 - p.bits);
}
__device__ __forceinline__ unsigned part_of(const part_params &p, uint64_t rank) {
    return (unsigned)(rank * p.factor >> 32) >> (32 - p.bits);
}

/* The same number, computed anew: by another copy of the factor, or the compiler would keep the
 * first in registers, of which there are too few. */
template <class R> __device__ __forceinline__ unsigned part_again(const part_params &p, R rank) {
    return (unsigned)(rank * (R)p.factor_again >> (8 * sizeof(R) - (unsigned)p.bits));
}

/* Numbers below 2^16, two to a register. */
template <int N> struct halves {
    unsigned word[N / 2];

    __device__ __forceinline__ unsigned get(int k) const {
        return word[k / 2] >> k % 2 * 16 & 0xffff;
    }
    __device__ __forceinline__ void put(int k, unsigned x) {
        word[k / 2] = __byte_perm(word[k / 2], x, k % 2 == 0 ? 0x3254 : 0x5410);
    }
};

/* The sum of what the threads before this one have. By all threads. */
__device__ __forceinline__ unsigned sum_before(unsigned mine) {
    __shared__ unsigned warps[WARP];
    int lane = (int)threadIdx.x % WARP;
    unsigned sum = mine;
    for (int d = 1; d < WARP; d *= 2) {
        unsigned x = __shfl_up_sync(0xffffffffu, sum, (unsigned)d);
        if (lane >= d) sum += x;
    }
    if (lane == WARP - 1) warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    unsigned total = lane < THREADS / WARP ? warps[lane] : 0, begin = total;
    for (int d = 1; d < WARP; d *= 2) {
        unsigned x = __shfl_up_sync(0xffffffffu, begin, (unsigned)d);
        if (lane >= d) begin += x;
    }
    return __shfl_sync(0xffffffffu, begin - total, (int)threadIdx.x / WARP) + sum - mine;
}

/* All counts become where they begin. By all threads, of which each has neighbours. */
__device__ __forceinline__ void scan_counts(unsigned *counts, unsigned parts) {
    unsigned at = OWN * threadIdx.x, own[OWN], sum = 0;
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        own[k] = at + k < parts ? counts[at + k] : 0;
        sum += own[k];
    }
    unsigned begin = sum_before(sum);
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        if (at + k < parts) counts[at + k] = begin;
        begin += own[k];
    }
}

/* The compiler takes it for something new, and computes nothing from it any earlier. */
__device__ __forceinline__ void keep(unsigned *x) { asm volatile("" : "+r"(*x)); }

extern __shared__ uint4 part_memory[];

template <class R, bool Values> struct Sorter {
    static constexpr int ITEMS = Tile<R, Values>::ITEMS;
    static constexpr unsigned ROWS = Tile<R, Values>::ROWS;
    enum { BATCH = 8 }; /* rows that are under way at once */
    const part_params &p;
    unsigned *full;           /* a part has no room for its rows */
    R *sorted;                /* later, values */
    unsigned *delta, *counts; /* by part: from a place in the tile to that in memory */
    unsigned parts;
    R rank[ITEMS];
    halves<ITEMS> spot;              /* of rows: how many of the part came before; then places */
    unsigned to[Values ? ITEMS : 1]; /* where what lies at the thread's places goes */

    __device__ Sorter(const part_params &params, unsigned *flag) : p(params), full(flag) {
        parts = 1u << p.bits;
        sorted = (R *)part_memory;
        delta = (unsigned *)((char *)part_memory + (size_t)p.row_bytes * ROWS);
        counts = delta + parts;
    }
    __device__ __forceinline__ unsigned row_at(int k) const { return threadIdx.x + k * THREADS; }
    __device__ __forceinline__ void clear_counts() {
        for (unsigned i = threadIdx.x; i < parts; i += THREADS) counts[i] = 0;
    }
    __device__ __forceinline__ void load_ranks(unsigned first) {
        const R *ranks = (const R *)p.ranks + first + threadIdx.x;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) rank[k] = __ldcs(ranks + k * THREADS);
    }
    __device__ __forceinline__ void count_rows() {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            spot.put(k, atomicAdd(counts + part_of(p, rank[k]), 1u));
            if (k % BATCH == BATCH - 1) __syncwarp();
        }
    }
    /* Where each part's rows begin, in the tile and in memory. */
    __device__ __forceinline__ void place_parts() {
        unsigned at[OWN];
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (row_at(k) < parts) at[k] = take_places(row_at(k), counts[row_at(k)]);
        scan_counts(counts, parts);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (row_at(k) < parts) delta[row_at(k)] = at[k] - counts[row_at(k)];
    }
    __device__ __forceinline__ unsigned take_places(unsigned part, unsigned n) {
        if (n == 0) return 0;
        unsigned at = atomicAdd(p.cursors + part, n);
        if (p.room > 0 && at + n > (part + 1) * p.room) atomicExch(full, 1u);
        return at;
    }
    __device__ __forceinline__ void sort_rows() {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            unsigned at = counts[part_again(p, rank[k])] + spot.get(k);
            sorted[at] = rank[k];
            if (Values) spot.put(k, at);
            if (k % BATCH == BATCH - 1) __syncwarp();
        }
    }
    __device__ __forceinline__ void write_ranks() {
        const R *mine = sorted + threadIdx.x;
        R *out = (R *)p.parted;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            R moved = mine[k * THREADS];
            unsigned at = delta[part_of(p, moved)] + row_at(k);
            out[at] = moved;
            if (Values) to[k] = at;
        }
    }
    template <class W>
    __device__ __forceinline__ void move_values(const part_column &c, unsigned first) {
        const W *from = (const W *)c.from + first + threadIdx.x;
        W *out = (W *)c.to, *held = (W *)part_memory;
        const W *mine = held + threadIdx.x;
        constexpr int AHEAD = sizeof(W) == 8 && ITEMS > 4 ? ITEMS / 4 : ITEMS / 2;
        __syncthreads(); /* all that lies there is read */
#pragma unroll
        for (int k = 0; k < ITEMS; k++) { /* else addresses for all columns take registers */
            keep(&spot.word[k / 2]);
            keep(&to[k]);
        }
#pragma unroll
        for (int done = 0; done < ITEMS; done += AHEAD) {
            W value[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) value[k] = __ldcs(from + (done + k) * THREADS);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) held[spot.get(done + k)] = value[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) out[to[k]] = mine[k * THREADS];
    }
    __device__ __forceinline__ void move_column(const part_column &c, unsigned first) {
        switch (c.bytes) {
        case 1: move_values<uint8_t>(c, first); break;
        case 2: move_values<uint16_t>(c, first); break;
        case 4: move_values<uint32_t>(c, first); break;
        default: move_values<uint64_t>(c, first); break;
        }
    }
    /* Brings a tile's lines closer. */
    __device__ __forceinline__ void prefetch(const void *rows, int bytes, unsigned first) {
        const unsigned LINE = 128, size = ROWS * (unsigned)bytes;
        const char *from = (const char *)rows + (size_t)first * (unsigned)bytes;
        for (unsigned at = threadIdx.x * LINE; at < size; at += THREADS * LINE)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
    }
    /* Rows from `first` on, before the tile at `next`; false: there is no room for them. */
    __device__ __forceinline__ bool move_tile(unsigned first, unsigned next) {
        for (int c = 0; Values && c < p.columns; c++)
            prefetch(p.column[c].from, p.column[c].bytes, first);
        if (Values) prefetch(p.ranks, sizeof(R), next);
        if (Values) load_ranks(first);
        count_rows();
        __syncthreads();
        place_parts();
        sort_rows();
        if (!Values) load_ranks(next);
        __syncthreads();
        if (*full) return false;
        clear_counts();
        write_ranks();
        for (int c = 0; Values && c < p.columns; c++) move_column(p.column[c], first);
        __syncthreads();
        return true;
    }
    /* Rows that are no whole tile, one by one. */
    __device__ void move_rest(unsigned first) {
        for (unsigned row = first + threadIdx.x; row < p.n; row += THREADS) {
            R moved = ((const R *)p.ranks)[row];
            unsigned part = part_of(p, moved), at = atomicAdd(p.cursors + part, 1u);
            if (p.room > 0 && at >= (part + 1) * p.room) continue;
            ((R *)p.parted)[at] = moved;
            for (int c = 0; Values && c < p.columns; c++) copy_value(p.column[c], row, at);
        }
    }
    __device__ void copy_value(const part_column &c, unsigned row, unsigned at) {
        const char *from = c.from + (size_t)row * (unsigned)c.bytes;
        char *to = c.to + (size_t)at * (unsigned)c.bytes;
        for (int i = 0; i < c.bytes; i++) to[i] = from[i];
    }
};

} // namespace

#endif
