/* Stable radix partitions of entries: in the order of a digit and, of one digit, as they came.
 *
 * The rows are cut into parts, one for each block. Digits are counted part by part, the counts are
 * summed up, and each block copies its part a tile at a time: a warp ranks its rows by comparing
 * digits, 32 at once, tiles are put in order in shared memory and written run by run. (The method
 * is that of CUB's radix sort, without its single pass.) */
#ifndef BF_CUDA_PARTITION_CUH
#define BF_CUDA_PARTITION_CUH

#include "partition_rows.cuh"

namespace bf_cuda_partition {

/* Shared memory: the entries of a tile, then these for each digit and one more. */
struct digits {
    uint32_t *first; /* its rows' place in the tile */
    uint32_t *at;    /* where the next row goes */
    uint16_t *ranks; /* rows of each warp, then of those before it; */
    uint32_t *move;  /* in the same memory: from a row's place in the tile to that in the output */
};

template <class W> static size_t shared_bytes(int n) {
    return tile<W> * sizeof(bf_cuda_entry<W>) + (size_t)(n + 1) * (8 + 2 * WARPS);
}

template <class W> __device__ __forceinline__ digits digits_at(char *shared, int n) {
    digits d;
    d.first = (uint32_t *)(shared + tile<W> * sizeof(bf_cuda_entry<W>));
    d.at = d.first + n + 1;
    d.ranks = (uint16_t *)(d.at + n + 1);
    d.move = (uint32_t *)d.ranks;
    return d;
}

/* The sum of what the threads before this one have; *all: of what all have. */
static __device__ __forceinline__ uint32_t sum_before(uint32_t mine, uint32_t *all) {
    __shared__ uint32_t sums[WARPS];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t sum = mine;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        uint32_t other = __shfl_up_sync(~0u, sum, by);
        if (lane >= by) sum += other;
    }
    __syncthreads(); /* with the sums of the call before */
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    uint32_t before = 0, total = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        if (w == warp) before = total;
        total += sums[w];
    }
    *all = total;
    return before + sum - mine;
}

/* Turns ranks[warp][digit] into the rows of the warps before, and first into the digits' places in
 * the tile. */
static __device__ __forceinline__ void sum_digits(const digits &d, int n) {
    int each = (n + THREADS - 1) / THREADS, first = threadIdx.x * each;
    uint32_t mine = 0, all;
    for (int k = first; k < first + each && k < n; k++) {
        uint32_t sum = 0;
#pragma unroll
        for (int half = 0; half < WARPS; half += WARPS / 4) { /* as many loads at once */
            uint16_t counts[WARPS / 4];
#pragma unroll
            for (int w = 0; w < WARPS / 4; w++) counts[w] = d.ranks[(half + w) * n + k];
#pragma unroll
            for (int w = 0; w < WARPS / 4; w++) {
                d.ranks[(half + w) * n + k] = (uint16_t)sum;
                sum += counts[w];
            }
        }
        d.first[k] = sum;
        mine += sum;
    }
    uint32_t before = sum_before(mine, &all);
    for (int k = first; k < first + each && k < n; k++) {
        uint32_t count = d.first[k];
        d.first[k] = before;
        before += count;
    }
}

/* The lanes with the same digit, of so many bits. All lanes call it. */
static __device__ __forceinline__ uint32_t same_digit(uint32_t digit, int bits) {
    uint32_t same = ~0u;
#pragma unroll
    for (int b = 0; b < 8; b++) {
        bool one = digit >> b & 1;
        uint32_t ones = __ballot_sync(~0u, one);
        same &= one ? ones : ~ones;
    }
    for (int b = 8; b < bits; b++) {
        bool one = digit >> b & 1;
        uint32_t ones = __ballot_sync(~0u, one);
        same &= one ? ones : ~ones;
    }
    return same;
}

/* How many rows of its warp with the same digit a row comes after. All lanes call it. */
static __device__ __forceinline__ uint32_t rank_in_warp(uint16_t *counts, uint32_t digit,
                                                        uint32_t same) {
    uint32_t rank = counts[digit];
    __syncwarp();
    if ((same >> (threadIdx.x % 32)) == 1) /* the last of them */
        counts[digit] = (uint16_t)(rank + __popc(same));
    __syncwarp();
    return rank + __popc(same & ((1u << threadIdx.x % 32) - 1));
}

/* Copies rows [first, end), no more than a tile (whole: all of one), to where their digits go. What
 * is missing of a tile has a digit of its own, after all others. */
template <class W, bool whole, class Source, class Digit>
__device__ __forceinline__ void copy_tile(const Source &source, const Digit &digit, int n,
                                          const digits &d, bf_cuda_entry<W> *held, uint32_t first,
                                          uint32_t end, bf_cuda_entry<W> *out) {
    constexpr int N = items<W>;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int all = whole ? n : n + 1, bits = 32 - __clz(all - 1);
    uint16_t *mine = d.ranks + warp * all;
    bf_cuda_entry<W> row[N];
    uint32_t same[N / 2], place[N]; /* the digit and, above it, the rank */
    uint32_t at = first + warp * 32 * N + lane, count = whole ? tile<W> : end - first;
    int left = (int)(end - at); /* of the rows from the thread's first on */
#pragma unroll
    for (int i = 0; i < N; i++)
        if (whole || i * 32 < left) row[i] = source.load(at + i * 32);
    for (int k = lane; k < all; k += 32) mine[k] = 0;
    __syncwarp();
#pragma unroll
    for (int half = 0; half < N; half += N / 2) {
#pragma unroll
        for (int i = half; i < half + N / 2; i++) {
            row[i].key = source.key(row[i].key);
            row[i].value = source.value(row[i].value);
            place[i] = whole || i * 32 < left ? digit(row[i].key) : n;
            same[i - half] = same_digit(place[i], bits);
        }
#pragma unroll
        for (int i = half; i < half + N / 2; i++)
            place[i] |= rank_in_warp(mine, place[i], same[i - half]) << 16;
    }
    __syncthreads();
    sum_digits(d, all);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; i++) {
        uint32_t k = place[i] & 0xffff;
        place[i] = (place[i] >> 16) + d.first[k] + mine[k];
    }
#pragma unroll
    for (int i = 0; i < N; i++) held[place[i]] = row[i];
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += THREADS) {
        uint32_t begin = d.first[k], next = k + 1 < all ? d.first[k + 1] : count, to = d.at[k];
        d.at[k] = to + next - begin;
        d.move[k] = to - begin;
    }
    __syncthreads();
#pragma unroll
    for (int half = 0; half < N; half += N / 2) {
#pragma unroll
        for (int i = half; i < half + N / 2; i++) row[i] = held[i * THREADS + threadIdx.x];
#pragma unroll
        for (int i = half; i < half + N / 2; i++) {
            uint32_t j = i * THREADS + threadIdx.x;
            if (whole || j < count) out[j + d.move[digit(row[i].key)]] = row[i];
        }
    }
    __syncthreads();
}

/* Copies rows [first, end) tile by tile; go_on() is asked after each. */
template <class W, class Source, class Digit, class Check>
__device__ __forceinline__ void copy_rows(const Source &source, const Digit &digit, int n,
                                          const digits &d, bf_cuda_entry<W> *held, uint32_t first,
                                          uint32_t end, bf_cuda_entry<W> *out, Check go_on) {
    while (end - first >= (uint32_t)tile<W>) {
        if (end - first >= 2 * (uint32_t)tile<W>) source.prefetch(first + tile<W>);
        copy_tile<W, true>(source, digit, n, d, held, first, end, out);
        first += tile<W>;
        if (!go_on()) return;
    }
    if (first < end) copy_tile<W, false>(source, digit, n, d, held, first, end, out);
    go_on();
}

/* --- a partition of all rows --- */

/* Rows [first, end) of a block. */
struct share {
    uint32_t first, end;
    __device__ share(uint32_t n, uint32_t part) {
        uint64_t from = (uint64_t)blockIdx.x * part, to = from + part;
        first = from < n ? (uint32_t)from : n;
        end = to < n ? (uint32_t)to : n;
    }
};

/* counts[digit][block]: the rows of a block's part. */
template <class W, class Source, class Digit>
__global__ void __launch_bounds__(THREADS)
    count_kernel(Source source, Digit digit, int digits, uint32_t n, uint32_t part,
                 uint32_t *counts) {
    extern __shared__ uint32_t found[];
    share rows(n, part);
    for (int k = threadIdx.x; k < digits; k += THREADS) found[k] = 0;
    __syncthreads();
    for (uint64_t first = rows.first; first < rows.end; first += THREADS * AT_ONCE) {
        W word[AT_ONCE];
        uint32_t i = (uint32_t)first + threadIdx.x;
        int n = (int)((rows.end - i + THREADS - 1) / THREADS); /* more, if they are not the last */
        if (i >= rows.end) n = 0;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (k < n) word[k] = source.load_key(i + k * THREADS);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (k < n) atomicAdd(&found[digit(source.key(word[k]))], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < digits; k += THREADS)
        counts[(size_t)k * gridDim.x + blockIdx.x] = found[k];
}

/* Turns counts[block's digit][part] into those of the parts before; totals: of all parts. */
static __global__ void __launch_bounds__(THREADS)
    sum_parts_kernel(uint32_t *counts, int parts, uint32_t *totals) {
    uint32_t *mine = counts + (size_t)blockIdx.x * parts, sum = 0, all;
    for (int first = 0; first < parts; first += THREADS) {
        int k = first + (int)threadIdx.x;
        uint32_t count = k < parts ? mine[k] : 0, before = sum_before(count, &all);
        if (k < parts) mine[k] = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

/* Turns counts[0..n) into the sums of those before, and counts[n] into that of all. One block. */
static __global__ void __launch_bounds__(THREADS) sum_kernel(uint32_t *counts, uint32_t n) {
    uint32_t sum = 0, all;
    for (uint32_t first = 0; first < n; first += THREADS * 4) {
        uint32_t k = first + threadIdx.x * 4, count[4], mine = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) mine += count[i] = k + i < n ? counts[k + i] : 0;
        uint32_t before = sum + sum_before(mine, &all);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (k + i < n) counts[k + i] = before;
            before += count[i];
        }
        sum += all;
    }
    if (threadIdx.x == 0) counts[n] = sum;
}

template <class W, class Source, class Digit>
__global__ void __launch_bounds__(THREADS, 2)
    copy_kernel(Source source, Digit digit, int n, uint32_t rows, uint32_t part,
                const uint32_t *counts, const uint32_t *bases, bf_cuda_entry<W> *out) {
    extern __shared__ __align__(16) char shared[];
    bf_cuda_entry<W> *held = (bf_cuda_entry<W> *)shared;
    digits d = digits_at<W>(shared, n);
    share mine(rows, part);
    for (int k = threadIdx.x; k < n; k += THREADS)
        d.at[k] = bases[k] + counts[(size_t)k * gridDim.x + blockIdx.x];
    __syncthreads();
    copy_rows<W>(source, digit, n, d, held, mine.first, mine.end, out, [] { return true; });
}

/* More than 48 KiB of shared memory must be asked for, which costs next to nothing. */
template <class Kernel> static cudaError_t allow_shared(Kernel *kernel, size_t bytes) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
    return bytes <= 48 * 1024
               ? cudaSuccess
               : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      (int)bytes);
}

/* The parts of n rows, of whole tiles; and memory for `digits` digits: counts, then bases. */
struct plan {
    uint32_t parts, part;
};

template <class W> static plan plan_of(const bf_cuda *cuda, uint32_t n) {
    uint32_t tiles = n / tile<W> + (n % tile<W> != 0);
    uint32_t most = 2 * (uint32_t)cuda->multiprocessors, each = (tiles + most - 1) / most;
    plan p = {(tiles + each - 1) / each, each * tile<W>};
    return p;
}

static size_t counts_needed(const plan &p, int digits) {
    return (size_t)digits * p.parts + (size_t)digits + 1;
}

/* Enqueues it: from a source to `out`; bases[k] becomes the first row of digit k. */
template <class W, class Source, class Digit>
static cudaError_t run(const bf_cuda *cuda, const plan &p, const Source &source, const Digit &digit,
                       int digits, uint32_t n, uint32_t *counts, bf_cuda_entry<W> *out) {
    uint32_t *bases = counts + (size_t)digits * p.parts;
    cudaStream_t stream = cuda->stream;
    size_t bytes = shared_bytes<W>(digits);
    cudaError_t error = allow_shared(copy_kernel<W, Source, Digit>, bytes);
    if (error != cudaSuccess) return error;
    count_kernel<W><<<p.parts, THREADS, (size_t)digits * 4, stream>>>(source, digit, digits, n,
                                                                      p.part, counts);
    sum_parts_kernel<<<digits, THREADS, 0, stream>>>(counts, (int)p.parts, bases);
    sum_kernel<<<1, THREADS, 0, stream>>>(bases, digits);
    copy_kernel<W>
        <<<p.parts, THREADS, bytes, stream>>>(source, digit, digits, n, p.part, counts, bases, out);
    return cudaGetLastError();
}

} // namespace bf_cuda_partition

#endif
