/* Parts of rows into lists by region: a block for each part. */
#ifndef BF_CUDA_TABLE_REFINE_CUH
#define BF_CUDA_TABLE_REFINE_CUH

#include "cuda/table/rows.cuh"
#include "cuda/table/table.cuh"

namespace bf_cuda_lists_of {

using namespace bf_cuda_partition;
using namespace bf_cuda_sources;

/* Where parts or lists have more rows than this, keys are hot: report->hot, and tight. */
struct limits {
    uint32_t part, list;
};

/* What lists are made of, and where. */
template <class W> struct lists_to {
    uint32_t regions, each; /* in all, and of a part */
    uint32_t room;          /* rows of a list */
    bf_cuda_entry<W> *out;
    uint32_t *start, *count; /* of each list */
};

/* Where the lists of a part begin that are one after another: their rows are counted. */
template <class W>
__device__ __forceinline__ void place_exactly(const bf_cuda_entry<W> *from, uint32_t begin,
                                              uint32_t end, const region_digit<W> &digit, int n,
                                              uint32_t *at) {
    for (int k = threadIdx.x; k < n; k += THREADS) at[k] = 0;
    __syncthreads();
    for (uint64_t i = (uint64_t)begin + threadIdx.x; i < end; i += THREADS)
        atomicAdd(&at[digit(from[i].key)], 1);
    __syncthreads();
    uint32_t sum = begin, all;
    for (int first = 0; first < n; first += THREADS) {
        int k = first + (int)threadIdx.x;
        uint32_t mine = k < n ? at[k] : 0, before = sum_before<WARPS>(mine, &all);
        if (k < n) at[k] = sum + before;
        sum += all;
        __syncthreads();
    }
}

/* Lists of `room` rows each (memory for a tile more follows the last) or, where exact, one after
 * another: for that rows are counted first, if report->spill says that room is too small. */
template <class W, bool exact>
__global__ void __launch_bounds__(THREADS, exact ? 1 : BLOCKS)
    refine_kernel(const bf_cuda_entry<W> *from, const uint32_t *bases, lists_to<W> to, limits most,
                  bf_cuda_report *report) {
    extern __shared__ __align__(16) char shared[];
    __shared__ bool too_long;
    if (exact && report->spill == 0) return;
    uint32_t base = blockIdx.x * to.each, begin = bases[blockIdx.x], end = bases[blockIdx.x + 1];
    if (end - begin > most.part) { /* nobody will look at the lists */
        if (threadIdx.x == 0) report->hot = report->tight = 1;
        return;
    }
    int n = (int)(to.regions - base < to.each ? to.regions - base : to.each);
    bf_cuda_entry<W> *held = (bf_cuda_entry<W> *)shared;
    digits d = digits_at<W>(shared, n);
    uint32_t *stop = d.ranks + (n + 1) * WARPS; /* where a list's room ends */
    region_digit<W> digit = {to.regions, base};
    entries<W> source = {from};
    if (exact) place_exactly(from, begin, end, digit, n, d.at);
    for (int k = threadIdx.x; k < n; k += THREADS) {
        if (!exact) d.at[k] = (base + k) * to.room;
        stop[k] = (base + k + 1) * to.room;
        to.start[base + k] = d.at[k];
    }
    if (threadIdx.x == 0) too_long = false;
    __syncthreads();
    /* The next tile is only begun where it cannot pass anybody's room. */
    copy_rows<W>(source, digit, n, d, held, begin, end, to.out, [&] {
#pragma unroll 1
        for (int k = threadIdx.x; k < n && !exact; k += THREADS)
            if (d.at[k] > stop[k]) too_long = true;
        __syncthreads();
        return !too_long;
    });
#pragma unroll 1
    for (int k = threadIdx.x; k < n; k += THREADS) {
        uint32_t count = d.at[k] - to.start[base + k];
        to.count[base + k] = count;
        if (count > most.list) report->hot = report->tight = 1;
    }
    if (too_long && threadIdx.x == 0) report->spill = 1;
}

static __global__ void spill_kernel(bf_cuda_report *report) { report->spill = 1; }

/* Where the parts are the lists. */
static __global__ void __launch_bounds__(SUM_THREADS)
    direct_kernel(const uint32_t *bases, uint32_t regions, uint32_t most, uint32_t *start,
                  uint32_t *count, bf_cuda_report *report) {
    uint32_t r = blockIdx.x * SUM_THREADS + threadIdx.x;
    if (r >= regions) return;
    start[r] = bases[r];
    count[r] = bases[r + 1] - bases[r];
    if (count[r] > most) report->hot = report->tight = 1;
}

/* Enqueues it, for so many parts; room 0: lists are exact. */
template <class W>
static cudaError_t refine_parts(const bf_cuda *cuda, uint32_t parts, const bf_cuda_entry<W> *from,
                                const uint32_t *bases, const lists_to<W> &to, const limits &most,
                                bf_cuda_report *report) {
    size_t bytes = shared_bytes<W>((int)to.each) + sizeof(uint32_t) * to.each;
    bf_cuda_shape shape = {parts, THREADS, bytes, false, true};
    cudaError_t error = cudaSuccess;
    if (to.room == 0)
        spill_kernel<<<1, 1, 0, cuda->stream>>>(report);
    else
        error = bf_cuda_launch(cuda, refine_kernel<W, false>, shape, from, bases, to, most, report);
    if (error != cudaSuccess) return error;
    return bf_cuda_launch(cuda, refine_kernel<W, true>, shape, from, bases, to, most, report);
}

} // namespace bf_cuda_lists_of

#endif
