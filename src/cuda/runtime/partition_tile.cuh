/* Tiles of a partition. A warp ranks its rows by comparing the digits of 32 at once; the tile is
 * sorted by digit in shared memory, stably, and written run by run. (The method is that of CUB's
 * radix sort.) */
#ifndef BF_CUDA_RUNTIME_PARTITION_TILE_CUH
#define BF_CUDA_RUNTIME_PARTITION_TILE_CUH

#include "cuda/runtime/partition_rows.cuh"

namespace bf_cuda_partition {

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

/* Returns the sum of `mine` over the threads before this one; *all: over all threads, of so many
 * warps. The caller synchronizes between two calls. */
template <int warps> __device__ __forceinline__ uint32_t sum_before(uint32_t mine, uint32_t *all) {
    __shared__ uint32_t sums[warps];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = mine;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        uint32_t other = __shfl_up_sync(~0u, sum, by);
        if (lane >= by) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    uint32_t before = 0, total = 0;
#pragma unroll 4
    for (int w = 0; w < warps; w++) {
        if (w == warp) before = total;
        total += sums[w];
    }
    *all = total;
    return before + sum - mine;
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
        uint32_t position = first + sum_before<WARPS>(mine, &all);
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

/* Returns the lanes of `same` that agree on two bits of a digit, given as masks. (nvcc makes code
 * of twice the length from C++.) */
static __device__ __forceinline__ uint32_t same_bits(uint32_t same, uint32_t digit, uint32_t first,
                                                     uint32_t second) {
#ifdef __CUDA_ARCH__
    asm volatile("{ .reg .pred p, q; .reg .b32 s, t;"
                 "and.b32 s, %1, %2; setp.ne.u32 p, s, 0; vote.sync.ballot.b32 s, p, 0xffffffff;"
                 "and.b32 t, %1, %3; setp.ne.u32 q, t, 0; vote.sync.ballot.b32 t, q, 0xffffffff;"
                 "@!p not.b32 s, s; @!q not.b32 t, t; lop3.b32 %0, %0, s, t, 0x80; }"
                 : "+r"(same)
                 : "r"(digit), "r"(first), "r"(second));
    return same;
#else
    uint32_t s = __ballot_sync(~0u, digit & first), t = __ballot_sync(~0u, digit & second);
    return same & (digit & first ? s : ~s) & (digit & second ? t : ~t);
#endif
}

/* Returns the lanes with the same digit, of so many bits. All lanes call it. */
static __device__ __forceinline__ uint32_t same_digit(uint32_t digit, int bits) {
    uint32_t same = ~0u;
#pragma unroll
    for (int b = 0; b < 8; b += 2) same = same_bits(same, digit, 1u << b, 2u << b);
#pragma unroll 1
    for (int b = 8; b < bits; b += 2) same = same_bits(same, digit, 1u << b, 2u << b);
    return same;
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
    for (int i = 0; i < n; i++) same[i] = same_digit(position[i], bits);
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
