/* The backend's functions for histograms. Elements that kernels do not reach go through the
 * pipeline. */
#include "cuda/histogram/histogram.cuh"
#include "cuda/runtime/pipeline.cuh"
#include "cuda/runtime/workspace.cuh"

#include "rules/reduce/sum.h"

#include <stdlib.h>

enum { WEIGHTS_AT_ONCE = 1 << 30 };

/* Returns the most elements of a launch, so that no block gets 2^32, which its counters could not
 * hold. */
static int64_t most_at_once(const bf_context *context) {
    return (int64_t)context->cuda->multiprocessors << 31;
}

/* --- weights --- */

/* Allocates the words of all bins on the device, all zero. */
static cudaError_t alloc_words(const bf_bin_job *job, void **words, size_t *bytes) {
    bf_sum_shape shape = bf_sum_shape_of(BF_KIND_SUM, job->weights_dtype);
    *bytes = (size_t)job->bins->count * (size_t)shape.words * sizeof(int64_t);
    return bf_cuda_alloc_cleared(words, *bytes);
}

/* Copies the words to the host, completes them with counts of elements, and adds them to sums. */
static bf_status add_words(bf_context *context, const bf_bin_job *job, const int64_t *words,
                           size_t bytes, const int64_t *found, int64_t *sums) {
    int n = bf_sum_shape_of(BF_KIND_SUM, job->weights_dtype).words;
    int64_t *copied = (int64_t *)malloc(bytes);
    if (copied == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for sums of weights");
    bf_status status = bf_cuda_copy(context, copied, words, bytes);
    if (status == BF_OK) status = bf_cuda_wait(context, cudaSuccess, "weights");
    for (int64_t i = 0; i < job->bins->count && status == BF_OK; i++) {
        copied[i * n + BF_SUM_COUNT] = found[i];
        bf_sum_merge(BF_KIND_SUM, job->weights_dtype, sums + i * n, copied + i * n);
    }
    free(copied);
    return status;
}

/* --- pieces --- */

/* The work of a call. */
typedef struct count_work {
    bf_bin_job job;
    bf_cuda_count_plan plan;
    const void *edges; /* on the device, if there are weights */
    int64_t *words;    /* the words of the bins, likewise */
    int64_t *pinned;   /* BF_CUDA_COUNTS_PINNED of them */
    bool direct;       /* one launch has finished the counts there */
} count_work;

static bool is_in_place(const bf_context *context, const bf_bin_job *job) {
    return bf_cuda_in_place(context, job->data, bf_dtype_bytes(job->dtype)) &&
           (job->weights == NULL ||
            bf_cuda_in_place(context, job->weights, bf_dtype_bytes(job->weights_dtype)));
}

/* Counts n elements. If these are all, and there are few rows, the launch finishes the counts. */
static bf_status count_piece(bf_context *context, void *arg, void *const at[], int64_t, int64_t n) {
    count_work *work = (count_work *)arg;
    bf_bin_job piece = work->job;
    piece.data = at[0];
    piece.count = n;
    work->direct = n == work->job.count && work->plan.rows <= BF_CUDA_ROWS_AT_ONCE;
    int64_t *counts = work->direct ? work->pinned : NULL;
    cudaError_t error = bf_cuda_count_in_place(context->cuda, &work->plan, piece.data, n, counts);
    if (error == cudaSuccess && piece.weights != NULL) {
        piece.weights = at[1];
        error = bf_cuda_absorb_weights(context->cuda, &piece, work->edges, work->words);
    }
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "a histogram");
}

static bf_status count_pieces(bf_context *context, count_work *work) {
    const bf_bin_job *job = &work->job;
    int bytes = bf_dtype_bytes(job->dtype), weight_bytes = bf_dtype_bytes(job->weights_dtype);
    const bf_cuda_operand operands[] = {
        {job->data, NULL, bytes, bytes, NULL, NULL, 0},
        {job->weights, NULL, weight_bytes, weight_bytes, NULL, NULL, 0}};
    bool weighted = job->weights != NULL;
    int64_t most = weighted ? (int64_t)WEIGHTS_AT_ONCE : most_at_once(context);
    return bf_cuda_pipeline(context, operands, weighted ? 2 : 1, job->count, most, count_piece,
                            work);
}

/* --- a whole histogram: the call waits for it --- */

/* Pinned memory in which kernels write counts for the host. */
struct pinned_counts {
    int64_t *counts;
};

static void free_counts(void *part) {
    cudaStreamCaptureMode mode = bf_cuda_relax();
    cudaFreeHost(((pinned_counts *)part)->counts);
    bf_cuda_restore(mode);
}

static const bf_cuda_part_kind counts_part = {sizeof(pinned_counts), free_counts};

static bf_status get_pinned_counts(bf_context *context, int64_t **counts) {
    bf_cuda_workspace *w = bf_cuda_workspace_of(context);
    pinned_counts *held =
        w != NULL ? (pinned_counts *)bf_cuda_workspace_part(context, w, &counts_part, 0) : NULL;
    if (held == NULL) return BF_E_MEMORY;
    cudaError_t error = cudaSuccess;
    if (held->counts == NULL)
        error = cudaHostAlloc((void **)&held->counts, BF_CUDA_COUNTS_PINNED * sizeof **counts,
                              cudaHostAllocMapped | cudaHostAllocPortable);
    *counts = held->counts;
    return bf_cuda_check(context, error, "memory for counts");
}

/* Fetches totals through the pinned memory. */
static cudaError_t fetch_totals(const bf_cuda *cuda, const count_work *work, int64_t *found) {
    cudaError_t error = bf_cuda_fold_totals(cuda, &work->plan);
    for (int64_t first = 0; first < work->plan.rows && error == cudaSuccess;) {
        int64_t left = work->plan.rows - first;
        int64_t n = left < BF_CUDA_COUNTS_PINNED ? left : BF_CUDA_COUNTS_PINNED;
        error = bf_cuda_move_totals(cuda, &work->plan, first, n, work->pinned);
        if (error == cudaSuccess) error = cudaStreamSynchronize(cuda->stream);
        if (error == cudaSuccess) memcpy(found + first, work->pinned, (size_t)n * sizeof *found);
        first += n;
    }
    return error;
}

static bf_status count_elements(bf_context *context, count_work *work, int64_t *found) {
    bf_cuda *cuda = context->cuda;
    bf_status status = count_pieces(context, work);
    if (status != BF_OK) return status;
    cudaError_t error =
        work->direct ? cudaStreamSynchronize(cuda->stream) : fetch_totals(cuda, work, found);
    if (error != cudaSuccess) return bf_cuda_fail(context, error, "a histogram");
    if (work->direct) memcpy(found, work->pinned, (size_t)work->plan.rows * sizeof *found);
    return BF_OK;
}

/* Clears the counts of a call that failed, for the next one. */
static void clear_totals(const bf_cuda *cuda, const bf_cuda_count_plan *plan) {
    size_t bytes = sizeof *plan->counters + (size_t)plan->rows * sizeof plan->counters->rows[0];
    if (plan->counters != NULL) cudaMemsetAsync(plan->counters, 0, bytes, cuda->stream);
    cudaGetLastError();
}

static bf_status count_and_add(bf_context *context, count_work *work, size_t bytes, int64_t *found,
                               int64_t *counts, int64_t *sums) {
    bf_status status = count_elements(context, work, found);
    if (status == BF_OK && work->words != NULL)
        status = add_words(context, &work->job, work->words, bytes, found, sums);
    for (int64_t i = 0; i < work->plan.rows && status == BF_OK; i++) counts[i] += found[i];
    if (status != BF_OK) clear_totals(context->cuda, &work->plan);
    return status;
}

/* With memory for it all. */
static bf_status run_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts,
                               int64_t *sums) {
    count_work work = {*job};
    size_t bytes = 0;
    bf_status status = get_pinned_counts(context, &work.pinned);
    if (status == BF_OK) status = bf_cuda_plan_count(context, job, &work.plan);
    if (status != BF_OK) return status;
    if (job->weights != NULL) {
        bf_cuda_workspace *w = bf_cuda_workspace_of(context);
        if (w == NULL) return BF_E_MEMORY;
        work.edges = bf_cuda_bins_on_device(context, w, job->bins, BF_CUDA_GUESS_F64, job->dtype);
        if (work.edges == NULL) return BF_E_MEMORY;
        cudaError_t error = alloc_words(job, (void **)&work.words, &bytes);
        if (error != cudaSuccess) return bf_cuda_fail(context, error, "sums of weights");
    }
    int64_t *found = (int64_t *)malloc((size_t)work.plan.rows * sizeof *found);
    status = found != NULL ? count_and_add(context, &work, bytes, found, counts, sums)
                           : bf_fail(context, BF_E_MEMORY, "no memory for counts");
    free(found);
    cudaFree(work.words);
    return status;
}

static bf_status count_job(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums) {
    if (job->count == 0) return BF_OK;
    int previous = bf_cuda_enter(context);
    bf_status status = bf_cuda_refuse_captured(context);
    if (status == BF_OK) status = run_histogram(context, job, counts, sums);
    bf_cuda_leave(previous);
    return status;
}

/* --- enqueued --- */

static bf_status enqueue_histogram(bf_context *context, const bf_bin_job *job, int64_t *counts) {
    bf_cuda_count_plan plan = {};
    bf_status status = bf_cuda_plan_count(context, job, &plan);
    if (status != BF_OK) return status;
    bool direct = plan.rows <= BF_CUDA_ROWS_AT_ONCE;
    const bf_cuda *cuda = context->cuda;
    cudaError_t error =
        bf_cuda_count_in_place(cuda, &plan, job->data, job->count, direct ? counts : NULL);
    if (error == cudaSuccess && !direct) error = bf_cuda_fold_totals(cuda, &plan);
    if (error == cudaSuccess && !direct)
        error = bf_cuda_move_totals(cuda, &plan, 0, plan.rows, counts);
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context, error, "launching a histogram");
}

static bf_status count_job_async(bf_context *context, const bf_bin_job *job, int64_t *counts) {
    bool reachable = job->count == 0 || is_in_place(context, job);
    if (!reachable || !bf_cuda_in_place(context, counts, 8))
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    if (job->count > most_at_once(context))
        return bf_fail(context, BF_E_ARGUMENT, "too many elements for one launch");
    int previous = bf_cuda_enter(context);
    bf_status status = enqueue_histogram(context, job, counts);
    bf_cuda_leave(previous);
    return status;
}

/* A graph has a copy of the edges, for theirs may be gone when it runs. */
static bf_status copy_edges(bf_context *context, const bf_bins *bins, double *edges) {
    const bf_cuda *cuda = context->cuda;
    const void *from = bins->edges;
    if (cuda->capture != 0) {
        bf_cuda_workspace *w = bf_cuda_workspace_of(context);
        from = w ? bf_cuda_bins_on_device(context, w, bins, BF_CUDA_EDGES, BF_F64) : NULL;
        if (from == NULL) return BF_E_MEMORY;
    }
    const size_t bytes = (size_t)(bins->count + 1) * sizeof *edges;
    return bf_cuda_check(
        context, cudaMemcpyAsync(edges, from, bytes, cudaMemcpyDefault, cuda->stream), "edges");
}

static bf_status copy_edges_async(bf_context *context, const bf_bins *bins, double *edges) {
    if (!bf_cuda_in_place(context, edges, 8))
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    int previous = bf_cuda_enter(context);
    bf_status status = copy_edges(context, bins, edges);
    bf_cuda_leave(previous);
    return status;
}

extern const bf_histogram_backend bf_cuda_histogram_backend = {
    .count = count_job, .enqueue = count_job_async, .enqueue_edges = copy_edges_async};
