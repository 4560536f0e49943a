/* The plan of a histogram: its kernel, shared memory and grid; and the way from totals to counts.
 */
#include "cuda/histogram/histogram.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/workspace.cuh"

enum {
    MOST_PASSES = 6,      /* over the data; with more, counting in global memory is faster */
    LEAST_THREADS = 256,  /* the least of a block, for small arrays */
    STATIC_SHARED = 1024, /* the most of a block, with the machine's own */
    MOVERS = 256          /* threads of a block */
};

static const bf_cuda_part_kind counters_part = {};

/* Returns counters for so many rows. Their number is a power of two, so they rarely grow. */
static bf_cuda_counters *get_counters(bf_context *context, bf_cuda_workspace *w, int64_t rows) {
    bf_cuda_counters *counters;
    size_t head = sizeof *counters, row = sizeof counters->rows[0];
    if (rows < 1 << 20) rows = (int64_t)1 << bf_bit_length((uint64_t)rows);
    return (bf_cuda_counters *)bf_cuda_workspace_part(context, w, &counters_part,
                                                      head + (size_t)rows * row);
}

/* --- one launch --- */

static bf_cuda_count_method choose_method(const bf_bin_job *job) {
    if (bf_dtype_bytes(job->dtype) == 1) return BF_CUDA_PATTERNS;
    if (job->bins->steps != NULL) return BF_CUDA_STEPS;
    if (job->bins->f32.scale != 0 && job->bins->count < 1 << 22) return BF_CUDA_GUESS_F32;
    return job->bins->even ? BF_CUDA_GUESS_F64 : BF_CUDA_SEARCH;
}

template <class T> static bf_cuda_guess<T> guess_from(const bf_guess *g) {
    return {(T)g->first, (T)g->scale, (T)g->most, (T)g->above, (T)(1 - g->below)};
}

/* Choose the kernel and its shared memory. */
static void plan_patterns(bf_cuda_count_plan *plan) {
    plan->kernel = bf_cuda_count_patterns();
    plan->threads = BF_CUDA_PATTERN_THREADS;
    plan->shared = BF_CUDA_PATTERN_SHARED;
    plan->at_once = (unsigned)plan->rows;
}

static const void *find_kernel(bf_cuda_count_method method, bf_dtype dtype, bool cached) {
    switch (method) {
    case BF_CUDA_SEARCH: return bf_cuda_count_searched(dtype, cached);
    case BF_CUDA_STEPS: return bf_cuda_count_by_steps(dtype, cached);
    default: return bf_cuda_count_guessed(method, dtype, cached);
    }
}

static void plan_rows(const bf_cuda *cuda, const bf_bins *bins, bf_dtype dtype,
                      bf_cuda_count_plan *plan) {
    int64_t room = (cuda->shared - STATIC_SHARED) / 4 - 4, edges = 0; /* words */
    bool search = plan->method == BF_CUDA_SEARCH || plan->method == BF_CUDA_STEPS;
    plan->params.levels = bf_cuda_levels(bins);
    plan->params.tree_in_shared = search && plan->params.levels <= BF_CUDA_LEVELS_SHARED;
    if (plan->params.tree_in_shared)
        edges = ((1 << plan->params.levels) + 1) * (bf_bin_is_single(dtype) ? 1 : 2);
    int64_t passes = (plan->rows + room - edges - 1) / (room - edges);
    bool cached = passes > MOST_PASSES;
    plan->kernel = find_kernel(plan->method, dtype, cached);
    plan->threads = BF_CUDA_COUNT_THREADS;
    plan->at_once = (unsigned)(cached ? plan->rows : (plan->rows + passes - 1) / passes);
    plan->shared =
        cached ? BF_CUDA_CACHE_SHARED : ((size_t)plan->at_once + 4) / 4 * 16 + (size_t)edges * 4;
}

bf_status bf_cuda_plan_count(bf_context *context, const bf_bin_job *job, bf_cuda_count_plan *plan) {
    const bf_bins *bins = job->bins;
    bf_cuda_workspace *w = bf_cuda_workspace_of(context);
    if (w == NULL) return BF_E_MEMORY;
    plan->rows = bins->count + BF_BIN_OTHERS;
    plan->method = choose_method(job);
    plan->element = bf_dtype_bytes(job->dtype);
    plan->params.bins = (unsigned)bins->count;
    plan->params.steps = (unsigned)bins->step_count;
    plan->params.f32 = guess_from<float>(&bins->f32);
    plan->params.f64 = guess_from<double>(&bins->f64);
    if (plan->method == BF_CUDA_PATTERNS)
        plan_patterns(plan);
    else
        plan_rows(context->cuda, bins, job->dtype, plan);
    plan->counters = get_counters(context, w, plan->rows);
    if (plan->counters == NULL) return BF_E_MEMORY;
    const void *bins_on_device = bf_cuda_bins_on_device(context, w, bins, plan->method, job->dtype);
    if (bins_on_device == NULL) return BF_E_MEMORY;
    bool patterns = plan->method == BF_CUDA_PATTERNS;
    plan->params.edges = bins_on_device;
    plan->params.row_of = (const unsigned *)bins_on_device;
    plan->params.ticket = &plan->counters->ticket;
    plan->params.totals = patterns ? plan->counters->patterns : plan->counters->rows;
    return BF_OK;
}

/* Chooses the grid: more and smaller blocks for small arrays; for large ones, as many blocks as fit
 * the multiprocessors. */
static cudaError_t choose_shape(const bf_cuda *cuda, const bf_cuda_count_plan *plan, int64_t bytes,
                                bf_cuda_shape *shape) {
    int64_t vectors = bytes / 16 + 1, most = cuda->multiprocessors;
    bf_cuda_shape s = {0, plan->threads, plan->shared, true};
    while (plan->rows <= BF_CUDA_ROWS_AT_ONCE && s.threads > LEAST_THREADS &&
           vectors < most * s.threads * BF_CUDA_COUNT_VECTORS)
        s.threads /= 2;
    int64_t tile = (int64_t)s.threads * BF_CUDA_COUNT_VECTORS;
    s.blocks = (vectors + tile - 1) / tile;
    int each = 1;
    cudaError_t error =
        s.blocks > most ? bf_cuda_occupancy(cuda, plan->kernel, s, &each) : cudaSuccess;
    if (s.blocks > most * each) s.blocks = most * each;
    *shape = s;
    return error;
}

static cudaError_t launch_count(const bf_cuda *cuda, const bf_cuda_count_plan *plan,
                                const bf_cuda_count_params *p) {
    bf_cuda_shape shape;
    cudaError_t error = choose_shape(cuda, plan, p->count * plan->element, &shape);
    if (error != cudaSuccess) return error;
    void *arguments[] = {(void *)p};
    return bf_cuda_launch(cuda, plan->kernel, shape, arguments);
}

cudaError_t bf_cuda_count_in_place(const bf_cuda *cuda, const bf_cuda_count_plan *plan,
                                   const void *data, int64_t count, int64_t *counts) {
    bf_cuda_count_params p = plan->params;
    cudaError_t error = cudaSuccess;
    p.data = data;
    p.count = count;
    p.counts = counts;
    for (int64_t first = 0; first < plan->rows && error == cudaSuccess; first += plan->at_once) {
        int64_t left = plan->rows - first;
        p.first = (unsigned)first;
        p.rows = (unsigned)(left < plan->at_once ? left : plan->at_once);
        error = launch_count(cuda, plan, &p);
    }
    return error;
}

/* --- from totals to counts --- */

static __global__ void move_totals(unsigned long long *totals, int64_t *counts, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * MOVERS + threadIdx.x;
    if (i >= n) return;
    counts[i] = (int64_t)totals[i];
    totals[i] = 0;
}

cudaError_t bf_cuda_move_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan, int64_t first,
                                int64_t n, int64_t *counts) {
    move_totals<<<(unsigned)((n + MOVERS - 1) / MOVERS), MOVERS, 0, cuda->stream>>>(
        plan->counters->rows + first, counts, n);
    return cudaGetLastError();
}

cudaError_t bf_cuda_fold_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan) {
    if (plan->method != BF_CUDA_PATTERNS) return cudaSuccess;
    return bf_cuda_fold_patterns(cuda->stream, plan->counters->patterns, plan->params.row_of,
                                 plan->counters->rows);
}
