/* Tiles of rows sorted by partition (partition.cu).
 *
 * A thread keeps its rows in registers while they are counted and sorted. The count that its
 * addition to shared memory returns is a row's position in its partition's run. These numbers have
 * 16 bits, two to a register. Without values, the next tile is loaded into the same registers while
 * this one is written. */
#ifndef BF_CUDA_GROUP_SORTER_CUH
#define BF_CUDA_GROUP_SORTER_CUH

#include "cuda/group/batch.cuh"
#include "cuda/runtime/warp.cuh"

namespace {

/* A multiprocessor has one block, with tiles as large as registers allow: the longer the runs of a
 * partition, the fewer lines of memory are written in pieces. */
enum {
    PARTITIONS_MOST = BF_CUDA_PARTITIONS_MOST,
    OWN = PARTITIONS_MOST / BF_CUDA_BATCH_THREADS /* partitions of a thread */
};

struct value_array {
    const char *from;
    char *to;
    int bytes;
};

struct partition_params {
    const void *ranks;
    void *partitioned;
    unsigned n, rows; /* a block's */
    int bits;         /* 2^bits partitions */
    uint64_t factor, factor_again;
    unsigned *cursors;     /* for each partition: the number of rows, later the index of the next
                              one */
    unsigned room;         /* rows of each partition; 0: rows were counted */
    int arrays, row_bytes; /* the most that a row takes in shared memory */
    value_array array[BF_GROUP_ARRAYS];
};

/* Rows of a thread, and of a tile. */
template <class R, bool Values> struct Tile {
    static constexpr int ITEMS = (Values ? 16 : 32) * 4 / (int)sizeof(R);
    static constexpr unsigned ROWS = ITEMS * BF_CUDA_BATCH_THREADS;
};

__device__ __forceinline__ unsigned partition_of(const partition_params &p, uint32_t rank) {
    return rank * (uint32_t)p.factor >> (32 - p.bits);
}
__device__ __forceinline__ unsigned partition_of(const partition_params &p, uint64_t rank) {
    return (unsigned)(rank * p.factor >> 32) >> (32 - p.bits);
}

/* Returns partition_of(rank), computed anew from a copy of the factor. The compiler would otherwise
 * keep the first result in registers, of which there are too few. */
template <class R>
__device__ __forceinline__ unsigned partition_of_again(const partition_params &p, R rank) {
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

/* Turns counts into the sums of those before. All threads call it; each has neighbouring counts. */
__device__ __forceinline__ void scan_counts(unsigned *counts, unsigned partitions) {
    unsigned at = OWN * threadIdx.x, own[OWN], sum = 0;
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        own[k] = at + k < partitions ? counts[at + k] : 0;
        sum += own[k];
    }
    unsigned all, begin = bf_cuda_block_sum_before<BF_CUDA_BATCH_THREADS / BF_CUDA_WARP>(sum, &all);
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        if (at + k < partitions) counts[at + k] = begin;
        begin += own[k];
    }
}

extern __shared__ uint4 part_memory[];

template <class R, bool Values> struct Sorter {
    static constexpr int ITEMS = Tile<R, Values>::ITEMS;
    static constexpr unsigned ROWS = Tile<R, Values>::ROWS;
    enum { BATCH = 8 }; /* rows that are under way at once */
    const partition_params &p;
    unsigned *full; /* set if a partition has no room for its rows */
    R *sorted;      /* later, values */
    unsigned *delta,
        *counts; /* for each partition; delta: from a row's index in the tile to that in memory */
    unsigned partitions;
    R rank[ITEMS];
    halves<ITEMS> spot; /* for each row: how many of the partition came before; later, its index in
                           the tile */
    unsigned to[Values ? ITEMS : 1]; /* index in memory of the rows that the thread writes */

    __device__ Sorter(const partition_params &params, unsigned *flag) : p(params), full(flag) {
        partitions = 1u << p.bits;
        sorted = (R *)part_memory;
        delta = (unsigned *)((char *)part_memory + (size_t)p.row_bytes * ROWS);
        counts = delta + partitions;
    }
    __device__ __forceinline__ unsigned row_at(int k) const {
        return threadIdx.x + k * BF_CUDA_BATCH_THREADS;
    }
    __device__ __forceinline__ void clear_counts() {
        for (unsigned i = threadIdx.x; i < partitions; i += BF_CUDA_BATCH_THREADS) counts[i] = 0;
    }
    __device__ __forceinline__ void load_ranks(unsigned first) {
        const R *ranks = (const R *)p.ranks + first + threadIdx.x;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) rank[k] = __ldcs(ranks + k * BF_CUDA_BATCH_THREADS);
    }
    __device__ __forceinline__ void count_rows() {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            spot.put(k, atomicAdd(counts + partition_of(p, rank[k]), 1u));
            if (k % BATCH == BATCH - 1) __syncwarp();
        }
    }
    /* Reserves memory for each partition's rows of the tile, and sets delta. */
    __device__ __forceinline__ void reserve_ranges() {
        unsigned at[OWN];
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (row_at(k) < partitions) at[k] = reserve_range(row_at(k), counts[row_at(k)]);
        scan_counts(counts, partitions);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < OWN; k++)
            if (row_at(k) < partitions) delta[row_at(k)] = at[k] - counts[row_at(k)];
    }
    __device__ __forceinline__ unsigned reserve_range(unsigned partition, unsigned n) {
        if (n == 0) return 0;
        unsigned at = atomicAdd(p.cursors + partition, n);
        if (p.room > 0 && at + n > (partition + 1) * p.room) atomicExch(full, 1u);
        return at;
    }
    __device__ __forceinline__ void sort_rows() {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            unsigned at = counts[partition_of_again(p, rank[k])] + spot.get(k);
            sorted[at] = rank[k];
            if (Values) spot.put(k, at);
            if (k % BATCH == BATCH - 1) __syncwarp();
        }
    }
    __device__ __forceinline__ void write_ranks() {
        const R *mine = sorted + threadIdx.x;
        R *out = (R *)p.partitioned;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            R moved = mine[k * BF_CUDA_BATCH_THREADS];
            unsigned at = delta[partition_of(p, moved)] + row_at(k);
            out[at] = moved;
            if (Values) to[k] = at;
        }
    }
    template <class W>
    __device__ __forceinline__ void move_values(const value_array &c, unsigned first) {
        const W *from = (const W *)c.from + first + threadIdx.x;
        W *out = (W *)c.to, *held = (W *)part_memory;
        const W *mine = held + threadIdx.x;
        constexpr int AHEAD = sizeof(W) == 8 && ITEMS > 4 ? ITEMS / 4 : ITEMS / 2;
        __syncthreads(); /* until all of the old content is read */
#pragma unroll
        for (int k = 0; k < ITEMS; k++) { /* else addresses for all arrays take registers */
            spot.word[k / 2] = bf_cuda_forget(spot.word[k / 2]);
            to[k] = bf_cuda_forget(to[k]);
        }
#pragma unroll
        for (int done = 0; done < ITEMS; done += AHEAD) {
            W value[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                value[k] = __ldcs(from + (done + k) * BF_CUDA_BATCH_THREADS);
#pragma unroll
            for (int k = 0; k < AHEAD; k++) held[spot.get(done + k)] = value[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) out[to[k]] = mine[k * BF_CUDA_BATCH_THREADS];
    }
    __device__ __forceinline__ void move_array(const value_array &c, unsigned first) {
        switch (c.bytes) {
        case 1: move_values<uint8_t>(c, first); break;
        case 2: move_values<uint16_t>(c, first); break;
        case 4: move_values<uint32_t>(c, first); break;
        default: move_values<uint64_t>(c, first); break;
        }
    }
    /* Prefetches a tile into the L2 cache. */
    __device__ __forceinline__ void prefetch_tile(const void *rows, int bytes, unsigned first) {
        const char *from = (const char *)rows + (size_t)first * (unsigned)bytes;
        bf_cuda_prefetch_lines(from, ROWS * (unsigned)bytes, BF_CUDA_BATCH_THREADS);
    }
    /* Moves the tile from row `first` on; `next`: the tile after it. Returns whether there was
     * room. */
    __device__ __forceinline__ bool move_tile(unsigned first, unsigned next) {
        for (int c = 0; Values && c < p.arrays; c++)
            prefetch_tile(p.array[c].from, p.array[c].bytes, first);
        if (Values) prefetch_tile(p.ranks, sizeof(R), next);
        if (Values) load_ranks(first);
        count_rows();
        __syncthreads();
        reserve_ranges();
        sort_rows();
        if (!Values) load_ranks(next);
        __syncthreads();
        if (*full) return false;
        clear_counts();
        write_ranks();
        for (int c = 0; Values && c < p.arrays; c++) move_array(p.array[c], first);
        __syncthreads();
        return true;
    }
    /* Moves the rows from `first` on one by one. */
    __device__ void move_rest(unsigned first) {
        for (unsigned row = first + threadIdx.x; row < p.n; row += BF_CUDA_BATCH_THREADS) {
            R moved = ((const R *)p.ranks)[row];
            unsigned partition = partition_of(p, moved), at = atomicAdd(p.cursors + partition, 1u);
            if (p.room > 0 && at >= (partition + 1) * p.room) continue;
            ((R *)p.partitioned)[at] = moved;
            for (int c = 0; Values && c < p.arrays; c++) copy_value(p.array[c], row, at);
        }
    }
    __device__ void copy_value(const value_array &c, unsigned row, unsigned at) {
        const char *from = c.from + (size_t)row * (unsigned)c.bytes;
        char *to = c.to + (size_t)at * (unsigned)c.bytes;
        for (int i = 0; i < c.bytes; i++) to[i] = from[i];
    }
};

} // namespace

#endif
