/* Stable radix partitions of entries. Each block has a range of the rows. Digits are counted block
 * by block, the counts are summed up, and each block copies its rows a tile at a time. */
#ifndef BF_CUDA_RUNTIME_SORT_PARTITION_CUH
#define BF_CUDA_RUNTIME_SORT_PARTITION_CUH

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/sort/partition_tile.cuh"

namespace bf_cuda_partition {

enum { SUM_THREADS = 256, SUM_WARPS = SUM_THREADS / 32 };

/* The rows [first, end) of a block: all of its range, or the first block_counts[block] of it. */
struct row_range {
    uint32_t first, end;
    __device__ row_range(uint32_t n, uint32_t each, const uint32_t *block_counts) {
        uint64_t from = (uint64_t)blockIdx.x * each, to = from + each;
        first = from < n ? (uint32_t)from : n;
        end = to < n ? (uint32_t)to : n;
        if (block_counts != NULL) end = first + block_counts[blockIdx.x];
    }
};

/* Sets counts[digit][block] to the number of the block's rows with this digit. */
template <class W, class Source, class Digit>
__global__ void __launch_bounds__(THREADS)
    count_kernel(Source source, Digit digit, int digits, uint32_t n, uint32_t each,
                 const uint32_t *block_counts, uint32_t *counts) {
    constexpr int AT_ONCE = 64 / sizeof(W);
    extern __shared__ uint32_t found[];
    row_range rows(n, each, block_counts);
    for (int k = threadIdx.x; k < digits; k += THREADS) found[k] = 0;
    __syncthreads();
    for (uint64_t first = rows.first; first < rows.end; first += THREADS * AT_ONCE) {
        W word[AT_ONCE];
        uint32_t i = (uint32_t)first + threadIdx.x;
        int n = (int)((rows.end - i + THREADS - 1) /
                      THREADS); /* more than AT_ONCE, unless these are the last */
        if (i >= rows.end) n = 0;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (k < n) word[k] = source.load_key((size_t)i + k * THREADS);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (k < n) atomicAdd(&found[digit(source.key(word[k]))], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < digits; k += THREADS)
        counts[(size_t)k * gridDim.x + blockIdx.x] = found[k];
}

/* Turns counts[digit][block] into the sums of the blocks before, one digit a block; totals[digit]:
 * of all. */
static __global__ void __launch_bounds__(SUM_THREADS)
    sum_blocks_kernel(uint32_t *counts, int blocks, uint32_t *totals) {
    uint32_t *mine = counts + (size_t)blockIdx.x * blocks;
    const uint32_t sum = bf_cuda_block_sums<SUM_WARPS>(
        blocks, 0u, [&](int k) { return mine[k]; },
        [&](int k, uint32_t before, uint32_t) { mine[k] = before; });
    if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

/* Turns counts[0..n) into the sums of those before, and sets counts[n] to the sum of all. One
 * block. */
static __global__ void __launch_bounds__(SUM_THREADS) sum_kernel(uint32_t *counts, uint32_t n) {
    uint32_t sum = 0, all;
    for (uint32_t first = 0; first < n; first += SUM_THREADS * 4) {
        uint32_t k = first + threadIdx.x * 4, count[4], mine = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) mine += count[i] = k + i < n ? counts[k + i] : 0;
        uint32_t before = sum + bf_cuda_block_sum_before<SUM_WARPS>(mine, &all);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (k + i < n) counts[k + i] = before;
            before += count[i];
        }
        sum += all;
        __syncthreads();
    }
    if (threadIdx.x == 0) counts[n] = sum;
}

template <class W, class Source, class Digit>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    copy_kernel(Source source, Digit digit, int n, uint32_t rows, uint32_t each,
                const uint32_t *block_counts, const uint32_t *counts, const uint32_t *bases,
                bf_cuda_entry<W> *out) {
    extern __shared__ __align__(16) char shared[];
    bf_cuda_entry<W> *held = (bf_cuda_entry<W> *)shared;
    digits d = digits_at<W>(shared, n);
    row_range mine(rows, each, block_counts);
    for (int k = threadIdx.x; k < n; k += THREADS)
        d.at[k] = bases[k] + counts[(size_t)k * gridDim.x + blockIdx.x];
    __syncthreads();
    copy_rows<W>(source, digit, n, d, held, mine.first, mine.end, out, [] { return true; });
}

/* Blocks, and the rows of each: whole tiles. */
struct plan {
    uint32_t blocks, each;
};

template <class W> static plan plan_of(const bf_cuda *cuda, uint32_t n) {
    constexpr uint32_t rows = tile<W>;
    uint32_t tiles = n / rows + (n % rows != 0);
    uint32_t most = BLOCKS * (uint32_t)cuda->multiprocessors, each = (tiles + most - 1) / most;
    plan p = {(tiles + each - 1) / each, each * rows};
    return p;
}

static size_t counts_needed(const plan &p, int digits) {
    return (size_t)digits * p.blocks + (size_t)digits + 1;
}

/* Enqueues the partition of n rows of a source to `out`. block_counts: as for row_range; NULL: all
 * rows. counts: counts_needed() words; bases[digit], behind the counts, becomes the first row of a
 * digit. */
template <class W, class Source, class Digit>
static cudaError_t partition_entries(const bf_cuda *cuda, const plan &p, const Source &source,
                                     const Digit &digit, int digits, uint32_t n,
                                     const uint32_t *block_counts, uint32_t *counts,
                                     bf_cuda_entry<W> *out) {
    uint32_t *bases = counts + (size_t)digits * p.blocks;
    cudaStream_t stream = cuda->stream;
    bf_cuda_shape shape = {p.blocks, THREADS, shared_bytes<W>(digits), false, true};
    auto copy = copy_kernel<W, Source, Digit>; /* named first, because nvcc inlines by order */
    count_kernel<W><<<p.blocks, THREADS, (size_t)digits * 4, stream>>>(
        source, digit, digits, n, p.each, block_counts, counts);
    sum_blocks_kernel<<<digits, SUM_THREADS, 0, stream>>>(counts, (int)p.blocks, bases);
    sum_kernel<<<1, SUM_THREADS, 0, stream>>>(bases, digits);
    return bf_cuda_launch(cuda, copy, shape, source, digit, digits, n, p.each, block_counts, counts,
                          bases, out);
}

} // namespace bf_cuda_partition

#endif
