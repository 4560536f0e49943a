/* Histograms on a GPU: the parameters of kernels, and the loops that all kernels share.
 *
 * Kernels count rows: the bins, and then those of elements in no bin (rules/histogram/bin.h); of
 * 8-bit elements, the 256 patterns. A block counts in its shared memory and adds its counts to
 * totals, of 64 bits, in global memory. If there are few rows, one launch does it all: with its
 * count each block adds 1 in the upper bits of each total, so the block that started last
 * (grid.cuh) sees when a total is complete, without a fence. It writes the totals as counts, and
 * clears them for the next launch. */
#ifndef BF_CUDA_HISTOGRAM_HISTOGRAM_CUH
#define BF_CUDA_HISTOGRAM_HISTOGRAM_CUH

#include "cuda/runtime/element.cuh"
#include "cuda/runtime/grid.cuh"
#include "cuda/runtime/workspace.cuh"

extern "C" {
#include "seam/histogram.h"
}

extern const bf_histogram_backend bf_cuda_histogram_backend;

/* The numbers of bf_guess, of the type in which kernels compute. */
template <class T> struct bf_cuda_guess {
    T first, scale, most, above, before; /* before: 1 - below */
};

struct bf_cuda_count_params {
    const void *data;
    int64_t count;
    const void *edges; /* as bf_cuda_bins_on_device says */
    unsigned bins, steps;
    int levels; /* how many the tree to search has */
    bf_cuda_guess<float> f32;
    bf_cuda_guess<double> f64;
    const unsigned *row_of;     /* the row of each pattern, for 8-bit elements */
    unsigned first, rows;       /* rows [first, first + rows) are counted */
    bool tree_in_shared;        /* edges are searched in shared memory, behind the counters */
    unsigned *ticket;           /* 0 between launches, as are the totals */
    unsigned long long *totals; /* for rows, or for patterns */
    int64_t *counts;            /* for rows, if one launch does it all; else NULL */
};

/* How kernels find the rows of elements. */
typedef enum bf_cuda_count_method {
    BF_CUDA_GUESS_F32,
    BF_CUDA_GUESS_F64,
    BF_CUDA_SEARCH,
    BF_CUDA_STEPS, /* a search among integers */
    BF_CUDA_PATTERNS,
    BF_CUDA_EDGES /* none: edges are copied */
} bf_cuda_count_method;

enum {
    BF_CUDA_COUNT_THREADS = 512,
    BF_CUDA_PATTERN_THREADS = 1024,
    BF_CUDA_COUNT_VECTORS = 4,   /* most that a thread takes at a time */
    BF_CUDA_ROWS_AT_ONCE = 4096, /* most rows that one launch finishes */
    BF_CUDA_LEVELS_SHARED = 12,  /* most levels of a tree in shared memory */
    BF_CUDA_PATTERN_ROWS = 256,
    BF_CUDA_PATTERN_SHARED = 4 * BF_CUDA_PATTERN_ROWS * BF_CUDA_WARP, /* bytes */
    BF_CUDA_CACHE_SLOTS_BITS = 13,
    BF_CUDA_CACHE_SHARED = 8 << BF_CUDA_CACHE_SLOTS_BITS /* bytes */
};

/* Return the kernel for elements of this dtype. cached: for more rows than shared memory holds. */
const void *bf_cuda_count_guessed(bf_cuda_count_method method, bf_dtype dtype, bool cached);
const void *bf_cuda_count_searched(bf_dtype dtype, bool cached);
const void *bf_cuda_count_by_steps(bf_dtype dtype, bool cached);
const void *bf_cuda_count_patterns();

/* Moves the totals of patterns to those of their rows. */
cudaError_t bf_cuda_fold_patterns(cudaStream_t stream, unsigned long long *patterns,
                                  const unsigned *row_of, unsigned long long *totals);

/* --- plan.cu --- */

/* How the elements of a job are counted, wherever they are. */
typedef struct bf_cuda_count_plan {
    bf_cuda_count_method method;
    bf_cuda_count_params params;
    struct bf_cuda_counters *counters;
    const void *kernel;
    int64_t rows;     /* the histogram's rows: bins, and rows of elements in none */
    unsigned at_once; /* rows that a launch counts */
    int threads, element;
    size_t shared;
} bf_cuda_count_plan;

bf_status bf_cuda_plan_count(bf_context *context, const bf_bin_job *job, bf_cuda_count_plan *plan);

/* Enqueues the counting of elements that kernels reach: into counts, or, if that is NULL, into
 * totals. With more than BF_CUDA_ROWS_AT_ONCE rows it must be NULL. */
cudaError_t bf_cuda_count_in_place(const bf_cuda *cuda, const bf_cuda_count_plan *plan,
                                   const void *data, int64_t count, int64_t *counts);

/* After all is counted: bf_cuda_fold_totals() makes the totals those of rows; bf_cuda_move_totals()
 * then moves rows [first, first + n) of them to counts. */
cudaError_t bf_cuda_fold_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan);
cudaError_t bf_cuda_move_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan, int64_t first,
                                int64_t n, int64_t *counts);

/* --- bins.cu, weights.cu --- */

/* Returns the device's copy of bins: the row of each pattern (unsigned); edges (floats for
 * BF_CUDA_GUESS_F32); or a search tree of them (floats if elements are exact as such) or of steps.
 * BF_CUDA_GUESS_F64 of bins that have steps: these, in their order. BF_CUDA_EDGES: the edges as
 * doubles. The workspace keeps it for later calls, or as long as its graph lasts. NULL: no memory,
 * with a message. */
const void *bf_cuda_bins_on_device(bf_context *context, bf_cuda_workspace *w, const bf_bins *bins,
                                   bf_cuda_count_method method, bf_dtype dtype);

/* Returns the levels of the tree: the comparisons that find one of so many bins; of steps, one of
 * these and the two outsides. */
static inline int bf_cuda_levels(const bf_bins *bins) {
    const int64_t leaves = bins->steps != NULL ? bins->count + 2 : bins->count;
    return leaves > 1 ? bf_bit_length((uint64_t)(leaves - 1)) : 0;
}

/* Enqueues the addition of a job's weights, which kernels reach, to the words of each bin, and
 * carries these. edges: on the device, or the steps of bins that have some. */
cudaError_t bf_cuda_absorb_weights(const bf_cuda *cuda, const bf_bin_job *job, const void *edges,
                                   int64_t *words);

/* --- in a workspace --- */

/* The counters of a workspace. Between calls all are zero. */
struct bf_cuda_counters {
    unsigned ticket;
    unsigned unused[31];
    unsigned long long patterns[BF_CUDA_PATTERN_ROWS], rows[];
};

enum { BF_CUDA_COUNTS_PINNED = 1 << 16 }; /* at least as many as one launch finishes */

namespace bf_cuda_counting {

extern __shared__ uint4 memory[];

enum { DONE_BITS = 16, COUNT_BITS = 64 - DONE_BITS };

static __device__ __forceinline__ void clear_shared(unsigned words, unsigned value) {
    uint4 v = make_uint4(value, value, value, value);
    for (unsigned i = threadIdx.x; i < (words + 3) / 4; i += blockDim.x) memory[i] = v;
}

/* Draws the block's ticket. Only thread 0 gets it. */
static __device__ __forceinline__ unsigned draw_ticket(const bf_cuda_count_params &p) {
    bool needed = threadIdx.x == 0 && gridDim.x > 1 && p.counts != nullptr;
    return needed ? atomicInc(p.ticket, gridDim.x - 1) : 0;
}

/* --- reading --- */

/* Calls visitor.vector with the whole 16-byte vectors that belong to this thread, and visitor.one
 * with the elements beside these. */
template <class E, int tile, class Visitor>
static __device__ __forceinline__ void visit_elements(const void *data, int64_t count,
                                                      const Visitor &visitor) {
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
        for (int k = 0; k < tile; k++) visitor.vector(v[k]);
    }
#pragma unroll 1
    for (int k = 0; k < tile; k++, i += stride)
        if (i < last) visitor.vector(vectors[i]);
    if (blockIdx.x != 0) return;
    if (last < whole) last = whole;
    int64_t head = before + threadIdx.x, tail = last * N + threadIdx.x;
    if (head < whole * N && head < end) visitor.one(((const E *)vectors)[head]);
    if (tail < end) visitor.one(((const E *)vectors)[tail]);
}

/* --- finishing --- */

/* Waits until all blocks have added to a total, clears it, and returns it. */
static __device__ __forceinline__ int64_t collect_total(unsigned long long *total) {
    volatile unsigned long long *at = total;
    unsigned long long x = *at;
    while (x >> COUNT_BITS != gridDim.x) x = *at;
    *at = 0;
    return (int64_t)(x & (~0ull >> DONE_BITS));
}

/* Returns whether this block started last. All threads call it. */
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

} // namespace bf_cuda_counting

#endif
