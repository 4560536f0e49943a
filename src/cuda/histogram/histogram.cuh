/* Histograms on the GPU: what the host gives to kernels, and how a kernel reads and finishes.
 *
 * Kernels count rows: the bins, then what is in none (rules/histogram/bin.h); of 8-bit elements,
 * their 256 patterns. A block counts in its shared memory and adds what it has to totals, of 64
 * bits, in global memory. Where rows are few, one launch does it all: with its count each block
 * adds a 1 in the upper bits of each total, so that the block that started last (grid.cuh) sees
 * when a total is whole, without a fence; it hands the totals on and clears them for the next
 * launch. */
#ifndef BF_CUDA_HISTOGRAM_HISTOGRAM_CUH
#define BF_CUDA_HISTOGRAM_HISTOGRAM_CUH

#include "cuda/runtime/element.cuh"
#include "cuda/runtime/grid.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "seam/histogram.h"
}

extern const bf_histogram_backend bf_cuda_histogram_backend;

/* Of bf_guess, as the kernels compute. */
template <class T> struct bf_cuda_guess {
    T first, scale, most, above, before; /* before: 1 - below */
};

struct bf_cuda_count_params {
    const void *data;
    int64_t count;
    const void *edges; /* as bf_cuda_bins_on_device says */
    unsigned bins;
    int levels; /* of the tree to search */
    bf_cuda_guess<float> f32;
    bf_cuda_guess<double> f64;
    const unsigned *row_of;     /* a pattern; of 8-bit elements */
    unsigned first, rows;       /* rows [first, first + rows) are counted */
    bool staged;                /* edges are searched in shared memory, behind the counters */
    unsigned *ticket;           /* 0 between launches, as are */
    unsigned long long *totals; /* of rows, or of patterns */
    int64_t *counts;            /* of rows, where a launch does it all; else NULL */
};

/* How elements find their rows. */
typedef enum bf_cuda_finding {
    BF_CUDA_GUESS_F32,
    BF_CUDA_GUESS_F64,
    BF_CUDA_SEARCH,
    BF_CUDA_PATTERNS
} bf_cuda_finding;

enum {
    BF_CUDA_COUNT_THREADS = 512,
    BF_CUDA_PATTERN_THREADS = 1024,
    BF_CUDA_COUNT_VECTORS = 4,   /* most that a thread takes at a time */
    BF_CUDA_ROWS_AT_ONCE = 4096, /* most that one launch finishes */
    BF_CUDA_LEVELS_STAGED = 12,  /* most */
    BF_CUDA_PATTERN_ROWS = 256,
    BF_CUDA_PATTERN_SHARED = 4 * BF_CUDA_PATTERN_ROWS * BF_CUDA_WARP, /* bytes */
    BF_CUDA_CACHE_SLOTS_BITS = 13,
    BF_CUDA_CACHE_SHARED = 8 << BF_CUDA_CACHE_SLOTS_BITS /* bytes */
};

/* The kernel for elements of dtype; cached: for more rows than shared memory holds. */
const void *bf_cuda_count_guessed(bf_cuda_finding finding, bf_dtype dtype, bool cached);
const void *bf_cuda_count_searched(bf_dtype dtype, bool cached);
const void *bf_cuda_count_patterns();

/* Moves the totals of patterns to those of their rows. */
cudaError_t bf_cuda_fold_patterns(cudaStream_t stream, unsigned long long *patterns,
                                  const unsigned *row_of, unsigned long long *totals);

/* --- plan.cu --- */

/* How the elements of a job are counted, wherever they are. */
typedef struct bf_cuda_count_plan {
    bf_cuda_finding finding;
    bf_cuda_count_params params;
    struct bf_cuda_counters *counters;
    const void *kernel;
    int64_t rows;     /* of the histogram: bins, and what is in none */
    unsigned at_once; /* rows that a launch counts */
    int threads, element;
    size_t shared;
} bf_cuda_count_plan;

bf_status bf_cuda_plan_count(bf_context *context, const bf_bin_job *job, bf_cuda_count_plan *plan);

/* Enqueues the counting of elements that are in place: into counts, or if that is NULL, as with
 * more than BF_CUDA_ROWS_AT_ONCE rows it must be, into totals. */
cudaError_t bf_cuda_count_in_place(const bf_cuda *cuda, const bf_cuda_count_plan *plan,
                                   const void *data, int64_t count, int64_t *counts);

/* When all is counted: makes totals those of rows, and then moves rows [first, first + n) from
 * there to counts. */
cudaError_t bf_cuda_fold_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan);
cudaError_t bf_cuda_move_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan, int64_t first,
                                int64_t n, int64_t *counts);

/* --- bins.cu, weights.cu --- */

/* What kernels look at of the bins, on the device: the row of each pattern (unsigned); the edges,
 * of BF_CUDA_GUESS_F32 as floats; or to search, a tree of them, of floats where elements are exact
 * as those. It stays in the workspace for later calls, and in that of a graph as long as this
 * lasts. NULL: no memory, with a message. */
const void *bf_cuda_bins_on_device(bf_context *context, bf_cuda_workspace *w, const bf_bins *bins,
                                   bf_cuda_finding finding, bf_dtype dtype);

/* Levels of the tree: comparisons that find one of so many bins. */
static inline int bf_cuda_levels(int64_t bins) {
    return bins > 1 ? bf_bit_length((uint64_t)(bins - 1)) : 0;
}

/* Deposits the weights of a job that is in place into words, those of each bin, and carries them.
 * edges are those on the device. */
cudaError_t bf_cuda_take_weights(const bf_cuda *cuda, const bf_bin_job *job, const double *edges,
                                 int64_t *words);

/* --- a workspace's --- */

/* Between calls all is zero. */
struct bf_cuda_counters {
    unsigned ticket;
    unsigned unused[31];
    unsigned long long patterns[BF_CUDA_PATTERN_ROWS], rows[];
};

enum { BF_CUDA_COUNTS_HELD = 1 << 16 }; /* at least as many as one launch finishes */

namespace bf_count {

extern __shared__ uint4 memory[];

enum { DONE_BITS = 16, COUNT_BITS = 64 - DONE_BITS };

static __device__ __forceinline__ void clear(unsigned words, unsigned value) {
    uint4 v = make_uint4(value, value, value, value);
    for (unsigned i = threadIdx.x; i < (words + 3) / 4; i += blockDim.x) memory[i] = v;
}

/* Only thread 0's is a ticket. */
static __device__ __forceinline__ unsigned draw_ticket(const bf_cuda_count_params &p) {
    bool needed = threadIdx.x == 0 && gridDim.x > 1 && p.counts != nullptr;
    return needed ? atomicInc(p.ticket, gridDim.x - 1) : 0;
}

/* --- reading --- */

/* Calls take.vector with the whole 16-byte vectors that are this thread's, and take.one with the
 * elements beside them. */
template <class E, int tile, class Take>
static __device__ __forceinline__ void each(const void *data, int64_t count, const Take &take) {
    const int N = 16 / (int)sizeof(E);
    int64_t before = (int64_t)(((uintptr_t)data & 15) / sizeof(E)), end = before + count;
    int64_t whole = before > 0, last = end / N;
    const uint4 *vectors = (const uint4 *)((uintptr_t)data & ~(uintptr_t)15);
    const unsigned stride = blockDim.x;
    int64_t i = whole + (int64_t)blockIdx.x * tile * stride + threadIdx.x;
    for (; i + (tile - 1) * stride < last; i += (int64_t)gridDim.x * tile * stride) {
        uint4 v[tile];
#pragma unroll
        for (int k = 0; k < tile; k++) v[k] = __ldcs(vectors + i + k * stride);
#pragma unroll
        for (int k = 0; k < tile; k++) take.vector(v[k]);
    }
#pragma unroll 1
    for (int k = 0; k < tile; k++, i += stride)
        if (i < last) take.vector(vectors[i]);
    if (blockIdx.x != 0) return;
    if (last < whole) last = whole;
    int64_t head = before + threadIdx.x, tail = last * N + threadIdx.x;
    if (head < whole * N && head < end) take.one(((const E *)vectors)[head]);
    if (tail < end) take.one(((const E *)vectors)[tail]);
}

/* --- finishing --- */

/* The whole of a total, when all blocks have added to it; it is then 0 again. */
static __device__ __forceinline__ int64_t collect(unsigned long long *total) {
    volatile unsigned long long *at = total;
    unsigned long long x = *at;
    while (x >> COUNT_BITS != gridDim.x) x = *at;
    *at = 0;
    return (int64_t)(x & (~0ull >> DONE_BITS));
}

/* Is this the block that hands the totals on? All threads ask. */
static __device__ __forceinline__ bool is_last(unsigned ticket) {
    __shared__ unsigned mine;
    if (threadIdx.x == 0) mine = ticket;
    __syncthreads();
    return mine == gridDim.x - 1;
}

/* Adds a block's count of a row to its total. */
static __device__ __forceinline__ void add_total(const bf_cuda_count_params &p, unsigned row,
                                                 unsigned long long n) {
    if (p.counts != nullptr)
        atomicAdd(p.totals + row, n | 1ull << COUNT_BITS);
    else if (n != 0)
        atomicAdd(p.totals + row, n);
}

} // namespace bf_count

#endif
