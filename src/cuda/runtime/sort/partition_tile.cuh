/* Tiles of a partition. A warp ranks its rows by comparing the digits of 32 at once; the tile is
 * sorted by digit in shared memory, stably, and written run by run. (The method is that of CUB's
 * radix sort.) A source of rows has the functions of `entries`; a digit is called with a key. */
#ifndef BF_CUDA_RUNTIME_SORT_PARTITION_TILE_CUH
#define BF_CUDA_RUNTIME_SORT_PARTITION_TILE_CUH

#include "cuda/runtime/entry.cuh"
#include "cuda/runtime/warp.cuh"

namespace bf_cuda_partition {

/* --- rows --- */

/* Tiles: threads of a block, bytes of rows of a thread, and blocks of a multiprocessor. Two blocks
 * fit: one ranks its rows while the other loads. (Larger tiles are written in longer runs, but only
 * one block fits, which is slower.) */
enum { THREADS = 384, WARPS = THREADS / 32, BYTES = 96, BLOCKS = 2 };
template <class W> constexpr int items = BYTES / (2 * (int)sizeof(W));
template <class W> constexpr int tile = THREADS *items<W>;

/* Prefetches n rows from row `first` on into the L2 cache. */
static __device__ __forceinline__ void prefetch_rows(const void *rows, int bytes, uint32_t first,
                                                     int n) {
    bf_cuda_prefetch_lines((const char *)rows + (size_t)first * bytes, n * bytes, blockDim.x);
}

/* Entries as they are. A source first loads rows, and then makes keys and values of them, so that
 * many loads are under way at once. */
template <class W> struct entries {
    const bf_cuda_entry<W> *from;
    __device__ __forceinline__ W load_key(size_t i) const { return from[i].key; }
    __device__ __forceinline__ bf_cuda_entry<W> load(size_t i) const { return from[i]; }
    __device__ __forceinline__ void prefetch(uint32_t first, int n) const {
        prefetch_rows(from, sizeof *from, first, n);
    }
    __device__ __forceinline__ W key(W word) const { return word; }
    __device__ __forceinline__ W value(W word) const { return word; }
};

/* A digit: eight bits of a rank, from bit `shift` on. */
template <class W> struct rank_digit {
    int shift;
    __device__ __forceinline__ uint32_t operator()(W rank) const {
        return (uint32_t)(rank >> shift) & 255;
    }
};
template <> struct rank_digit<bf_cuda_wide> {
    int shift;
    __device__ __forceinline__ uint32_t operator()(bf_cuda_wide rank) const {
        return (uint32_t)((shift < 64 ? rank.lo : rank.hi) >> shift % 64) & 255;
    }
};

/* --- tiles --- */

/* Shared memory of a block: the entries of a tile, then these for each digit and one more. */
struct digits {
    uint32_t *at;    /* index of the digit's next row in the output */
    uint32_t *move;  /* from a row's index in the tile to that in the output */
    uint32_t *ranks; /* rows of each warp; later, index of its next row in the tile */
};

template <class W> static size_t shared_bytes(int n) {
    return tile<W> * sizeof(bf_cuda_entry<W>) + (size_t)(n + 1) * (8 + 4 * WARPS);
}

template <class W> __device__ __forceinline__ digits digits_at(char *shared, int n) {
    digits d;
    d.at = (uint32_t *)(shared + tile<W> * sizeof(bf_cuda_entry<W>));
    d.move = d.at + n + 1;
    d.ranks = d.move + n + 1;
    return d;
}

/* Turns ranks[warp][digit] into the index of the warp's first such row in the tile, and sets
 * d.move. Each thread has one digit at a time; unrolled, it would need too many registers beside
 * its rows. */
static __device__ __forceinline__ void sum_digits(const digits &d, int n) {
    uint32_t first = 0, all;
    for (int base = 0; base < n; base += THREADS) {
        int k = base + (int)threadIdx.x;
        uint32_t mine = 0;
#pragma unroll 4
        for (int w = 0; w < WARPS; w++) mine += k < n ? d.ranks[w * n + k] : 0;
        uint32_t position = first + bf_cuda_block_sum_before<WARPS>(mine, &all);
        if (k < n) {
            uint32_t to = d.at[k];
            d.at[k] = to + mine;
            d.move[k] = to - position;
#pragma unroll 4
            for (int w = 0; w < WARPS; w++) {
                uint32_t count = d.ranks[w * n + k];
                d.ranks[w * n + k] = position;
                position += count;
            }
        }
        first += all;
        __syncthreads();
    }
}

/* Rows that a thread moves at a time, so that their latencies overlap. */
template <int n> constexpr int rows_at_once = n % 4 == 0 ? 4 : n % 3 == 0 ? 3 : n % 2 == 0 ? 2 : 1;

/* Ranks rows of the lanes. position[i]: the digit, and then, above it, the number of the warp's
 * rows before with the same digit. The last lane of those with one digit counts for all. All lanes
 * call it. */
template <int n>
__device__ __forceinline__ void rank_rows(uint32_t *counts, uint32_t *position, int bits) {
    uint32_t lane = threadIdx.x % 32, same[n], before[n];
#pragma unroll
    for (int i = 0; i < n; i++) same[i] = bf_cuda_same_digit(position[i], bits);
#pragma unroll
    for (int i = 0; i < n; i++) {
        before[i] = 0;
        if (same[i] >> lane == 1)
            before[i] = atomicAdd(&counts[position[i]], (uint32_t)__popc(same[i]));
        __syncwarp(); /* the next row's lanes count after these */
    }
#pragma unroll
    for (int i = 0; i < n; i++) {
        uint32_t rank = __shfl_sync(~0u, before[i], 31 - __clz((int)same[i]));
        position[i] |= (rank + __popc(same[i] & ((1u << lane) - 1))) << 16;
    }
}

/* Loads a thread's rows of the tile that begins with row `first`, as far as `end`. A warp's rows
 * are side by side. */
template <class W, class Source>
__device__ __forceinline__ void load_rows(const Source &source, uint32_t first, uint32_t end,
                                          bf_cuda_entry<W> *row) {
    uint32_t warp = threadIdx.x / 32, at = first + warp * 32 * items<W> + threadIdx.x % 32;
    uint32_t left = at < end ? end - at : 0;
#pragma unroll
    for (int i = 0; i < items<W>; i++)
        if (i * 32 < left) row[i] = source.load((size_t)at + i * 32);
}

/* Copies a tile of `count` rows, which are loaded, to the ranges of their digits (whole: it is
 * full). next() then loads `row` anew. The missing rows of a tile have a digit of their own, after
 * all others. */
template <class W, bool whole, class Source, class Digit, class Next>
__device__ __forceinline__ void
copy_tile(const Source &source, const Digit &digit, int n, const digits &d, bf_cuda_entry<W> *held,
          bf_cuda_entry<W> *row, uint32_t count, bf_cuda_entry<W> *out, const Next &next) {
    constexpr int N = items<W>, AT_A_TIME = rows_at_once<N>, RANKS = N % 2 == 0 ? 2 : 1;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int all = whole ? n : n + 1, bits = 32 - __clz(all - 1);
    uint32_t *mine = d.ranks + warp * all, position[N];
    int left = (int)count - warp * 32 * N - lane;
#pragma unroll 1
    for (int k = lane; k < all; k += 32) mine[k] = 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < N; i++) {
        row[i].key = source.key(row[i].key);
        row[i].value = source.value(row[i].value);
        position[i] = whole || i * 32 < left ? digit(row[i].key) : n;
        if ((i + 1) % RANKS == 0) rank_rows<RANKS>(mine, position + i + 1 - RANKS, bits);
    }
    __syncthreads();
    sum_digits(d, all);
#pragma unroll
    for (int i = 0; i < N; i++) held[(position[i] >> 16) + mine[position[i] & 0xffff]] = row[i];
    __syncthreads();
    next();
#pragma unroll 1 /* more at a time would take more registers */
    for (int first = 0; first < N; first += AT_A_TIME) {
        bf_cuda_entry<W> moved[AT_A_TIME];
#pragma unroll
        for (int i = 0; i < AT_A_TIME; i++) moved[i] = held[(first + i) * THREADS + threadIdx.x];
#pragma unroll
        for (int i = 0; i < AT_A_TIME; i++) {
            uint32_t j = (first + i) * THREADS + threadIdx.x;
            if (whole || j < count) out[j + d.move[digit(moved[i].key)]] = moved[i];
        }
    }
    __syncthreads();
}

/* Copies rows [first, end) tile by tile, while go_on() returns true after each. The next tile's
 * rows are loaded while a tile is written. */
template <class W, class Source, class Digit, class Check>
__device__ __forceinline__ void copy_rows(const Source &source, const Digit &digit, int n,
                                          const digits &d, bf_cuda_entry<W> *held, uint32_t first,
                                          uint32_t end, bf_cuda_entry<W> *out, Check go_on) {
    bf_cuda_entry<W> row[items<W>];
    if (first < end) load_rows<W>(source, first, end, row);
    while (end - first >= (uint32_t)tile<W>) {
        if (end - first >= 2 * (uint32_t)tile<W>) source.prefetch(first + tile<W>, tile<W>);
        first += tile<W>;
        copy_tile<W, true>(source, digit, n, d, held, row, tile<W>, out,
                           [&] { load_rows<W>(source, first, end, row); });
        if (!go_on()) return;
    }
    if (first < end) copy_tile<W, false>(source, digit, n, d, held, row, end - first, out, [] {});
    go_on();
}

} // namespace bf_cuda_partition

#endif
