/* The second pass of a partition by region: a block takes a coarse partition and partitions it by
 * region. */
#ifndef BF_CUDA_TABLE_REFINE_CUH
#define BF_CUDA_TABLE_REFINE_CUH

#include "cuda/table/rows.cuh"
#include "cuda/table/table.cuh"

namespace bf_cuda_by_region {

using namespace bf_cuda_partition;
using namespace bf_cuda_sources;

/* Keys are hot if a coarse or a fine partition has more rows than this. */
struct row_limits {
    uint32_t coarse, fine;
};

/* The partitions by region. */
template <class W> struct region_partitions {
    uint32_t regions, each; /* in all, and of a coarse partition */
    uint32_t room;          /* memory for the rows of a partition */
    bf_cuda_entry<W> *out;
    uint32_t *start, *count; /* each partition's */
};

/* Sets the starts of a coarse partition's regions, one after another, by counting their rows. */
template <class W>
__device__ __forceinline__ void find_starts(const bf_cuda_entry<W> *from, uint32_t begin,
                                            uint32_t end, const region_digit<W> &digit, int n,
                                            uint32_t *at) {
    for (int k = threadIdx.x; k < n; k += THREADS) at[k] = 0;
    __syncthreads();
    for (uint64_t i = (uint64_t)begin + threadIdx.x; i < end; i += THREADS)
        atomicAdd(&at[digit(from[i].key)], 1);
    __syncthreads();
    bf_cuda_block_sums<WARPS>(
        n, begin, [&](int k) { return at[k]; },
        [&](int k, uint32_t before, uint32_t) { at[k] = before; });
}

/* Writes each region's partition to memory for `room` rows; memory for one tile follows the last.
 * exact: writes them one after another, and counts the rows first, but only if notes->spill says
 * that `room` was too small. */
template <class W, bool exact>
__global__ void __launch_bounds__(THREADS, exact ? 1 : BLOCKS)
    refine_kernel(const bf_cuda_entry<W> *from, const uint32_t *bases, region_partitions<W> to,
                  row_limits most, bf_cuda_table_notes *notes) {
    extern __shared__ __align__(16) char shared[];
    __shared__ bool too_long;
    if (exact && notes->spill == 0) return;
    uint32_t base = blockIdx.x * to.each, begin = bases[blockIdx.x], end = bases[blockIdx.x + 1];
    if (end - begin > most.coarse) { /* the partitions are not used then */
        if (threadIdx.x == 0) notes->hot = notes->tight = 1;
        return;
    }
    int n = (int)(to.regions - base < to.each ? to.regions - base : to.each);
    bf_cuda_entry<W> *held = (bf_cuda_entry<W> *)shared;
    digits d = digits_at<W>(shared, n);
    uint32_t *stop = d.ranks + (n + 1) * WARPS; /* where a partition's memory ends */
    region_digit<W> digit = {to.regions, base};
    entries<W> source = {from};
    if (exact) find_starts(from, begin, end, digit, n, d.at);
    for (int k = threadIdx.x; k < n; k += THREADS) {
        if (!exact) d.at[k] = (base + k) * to.room;
        stop[k] = (base + k + 1) * to.room;
        to.start[base + k] = d.at[k];
    }
    if (threadIdx.x == 0) too_long = false;
    __syncthreads();
    /* A tile begins only if it cannot exceed the memory of any partition by more than itself. */
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
        if (count > most.fine) notes->hot = notes->tight = 1;
    }
    if (too_long && threadIdx.x == 0) notes->spill = 1;
}

static __global__ void set_spill_kernel(bf_cuda_table_notes *notes) { notes->spill = 1; }

/* If the coarse partitions are those of single regions: copies their starts. */
static __global__ void __launch_bounds__(SUM_THREADS)
    copy_starts_kernel(const uint32_t *bases, uint32_t regions, uint32_t most, uint32_t *start,
                       uint32_t *count, bf_cuda_table_notes *notes) {
    uint32_t r = blockIdx.x * SUM_THREADS + threadIdx.x;
    if (r >= regions) return;
    start[r] = bases[r];
    count[r] = bases[r + 1] - bases[r];
    if (count[r] > most) notes->hot = notes->tight = 1;
}

/* Enqueues the second pass of so many coarse partitions. room 0: exact. */
template <class W>
static cudaError_t launch_refine(const bf_cuda *cuda, uint32_t coarse, const bf_cuda_entry<W> *from,
                                 const uint32_t *bases, const region_partitions<W> &to,
                                 const row_limits &most, bf_cuda_table_notes *notes) {
    size_t bytes = shared_bytes<W>((int)to.each) + sizeof(uint32_t) * to.each;
    bf_cuda_shape shape = {coarse, THREADS, bytes, false, true};
    cudaError_t error = cudaSuccess;
    if (to.room == 0)
        set_spill_kernel<<<1, 1, 0, cuda->stream>>>(notes);
    else
        error = bf_cuda_launch(cuda, refine_kernel<W, false>, shape, from, bases, to, most, notes);
    if (error != cudaSuccess) return error;
    return bf_cuda_launch(cuda, refine_kernel<W, true>, shape, from, bases, to, most, notes);
}

} // namespace bf_cuda_by_region

#endif
