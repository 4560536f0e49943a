/* Histograms of 8-bit elements. Their 256 patterns are counted, and become bins at the end.
 *
 * A block has a counter for each pattern and lane, in the bank of the lane. So no two lanes of a
 * warp meet, whatever the data, and an element costs one atomic addition that waits for no other.
 */
#include "cuda/histogram/histogram.cuh"

namespace bf_cuda_counting {

enum { LANE_BITS = 2, PATTERN_BITS = 7, PATTERN_MASK = (BF_CUDA_PATTERN_ROWS - 1) << PATTERN_BITS };

/* The offset of a counter is 128 times the pattern plus 4 times the lane, in bytes. */
struct pattern_counter {
    unsigned lane;

    __device__ __forceinline__ void add(unsigned pattern) const {
        atomicAdd((unsigned *)((char *)memory + ((pattern & PATTERN_MASK) | lane)), 1u);
    }
    __device__ __forceinline__ void word(unsigned w) const {
        add(w << PATTERN_BITS);
        add(w >> (8 - PATTERN_BITS));
        add(w >> (16 - PATTERN_BITS));
        add(w >> (24 - PATTERN_BITS));
    }
    __device__ __forceinline__ void vector(uint4 v) const {
        word(v.x);
        word(v.y);
        word(v.z);
        word(v.w);
    }
    __device__ __forceinline__ void one(uint8_t e) const { add((unsigned)e << PATTERN_BITS); }
};

/* Returns the sum of a pattern's counters. Each thread begins with another lane, so that banks
 * differ. */
static __device__ unsigned long long sum_of_lanes(unsigned pattern) {
    const unsigned *counters = (const unsigned *)memory + pattern * BF_CUDA_WARP;
    unsigned long long sum = 0;
    for (unsigned k = 0; k < BF_CUDA_WARP; k++) sum += counters[(k + pattern) % BF_CUDA_WARP];
    return sum;
}

/* Writes the counts from the totals of patterns. All threads of one block call it. */
static __device__ void write_counts(const bf_cuda_count_params &p, int64_t total) {
    unsigned long long *rows = (unsigned long long *)memory;
    __syncthreads();
    for (unsigned r = threadIdx.x; r < p.rows; r += blockDim.x) rows[r] = 0;
    __syncthreads();
    if (total > 0) atomicAdd(rows + p.row_of[threadIdx.x], (unsigned long long)total);
    __syncthreads();
    for (unsigned r = threadIdx.x; r < p.rows; r += blockDim.x) p.counts[r] = (int64_t)rows[r];
}

__global__ void __launch_bounds__(BF_CUDA_PATTERN_THREADS)
    count_patterns(const bf_cuda_count_params p) {
    clear_shared(BF_CUDA_PATTERN_SHARED / 4, 0);
    bf_cuda_wait_for_previous();
    unsigned ticket = draw_ticket(p);
    __syncthreads();
    pattern_counter visitor = {threadIdx.x % BF_CUDA_WARP << LANE_BITS};
    visit_elements<uint8_t, BF_CUDA_COUNT_VECTORS>(p.data, p.count, visitor);
    __syncthreads();
    bool has_row = threadIdx.x < BF_CUDA_PATTERN_ROWS;
    int64_t total = has_row ? (int64_t)sum_of_lanes(threadIdx.x) : 0;
    if (gridDim.x > 1 || p.counts == nullptr) {
        if (has_row) add_total(p, threadIdx.x, (unsigned long long)total);
        if (p.counts == nullptr || !is_last(ticket)) return;
        if (has_row) total = collect_total(p.totals + threadIdx.x);
    }
    write_counts(p, total);
}

__global__ void fold_patterns(unsigned long long *patterns, const unsigned *row_of,
                              unsigned long long *totals) {
    unsigned long long total = patterns[threadIdx.x];
    patterns[threadIdx.x] = 0;
    if (total > 0) atomicAdd(totals + row_of[threadIdx.x], total);
}

} // namespace bf_cuda_counting

const void *bf_cuda_count_patterns() { return (const void *)bf_cuda_counting::count_patterns; }

cudaError_t bf_cuda_fold_patterns(cudaStream_t stream, unsigned long long *patterns,
                                  const unsigned *row_of, unsigned long long *totals) {
    bf_cuda_counting::fold_patterns<<<1, BF_CUDA_PATTERN_ROWS, 0, stream>>>(patterns, row_of,
                                                                            totals);
    return cudaGetLastError();
}
