/* Rolling windows: a call. */
#include "cuda/scan/rolling.cuh"

#include "cuda/runtime/memory.cuh"

extern "C" {
#include "base/memory.h"
#include "rules/number/dtype.h"
}

namespace {

enum { LONG = 8 * BF_CUDA_ROLLING_CHUNK /* elements of windows for which records are made */ };

bf_cuda_rolling_params params_of(const bf_rolling_job *job) {
    bf_cuda_rolling_params p = {};
    p.job = *job;
    p.is_float = bf_dtype_is_float(job->window.dtype);
    if (p.is_float) p.format = bf_format_of(job->window.dtype);
    p.bytes = bf_dtype_bytes(job->window.dtype);
    p.to_bytes = bf_dtype_bytes(job->window.to);
    return p;
}

bool sums_up(const bf_window &w) { return !w.counts && w.kind != BF_KIND_EXTREME; }

bf_cuda_rolling_kernels find_kernels(const bf_cuda_rolling_params &p, int shared) {
    if (p.job.quantiles != NULL) return bf_cuda_rolling_quantiles();
    return sums_up(p.job.window) ? bf_cuda_rolling_sums(p, shared) : bf_cuda_rolling_extremes(p);
}

/* --- tiles --- */

int64_t lines_of(const bf_rolling_job &job) { return job.outer * job.inner; }

/* Parts of units of so many lines, each of so many results. */
void cut_units(bf_cuda_rolling_params *p, int64_t lines, int64_t results) {
    const bf_rolling_job &job = p->job;
    const int64_t all = lines * job.results;
    p->unit_lines = lines;
    p->units = lines_of(job) / lines;
    p->tile_results = results;
    p->tiles = p->units * ((all + results - 1) / results);
}

/* The elements that tiles of one result have. */
int64_t reach_of(const bf_rolling_job &job) {
    const int64_t most = job.length - 1, before = job.size - job.after - 1;
    return (before < most ? before : most) + (job.after < most ? job.after : most) + 1;
}

/* Small windows: lists have all elements, and so tiles may go on in the next line; of long columns,
 * in that behind it. Of other windows a tile is in a line, and its list has two parts. */
void cut_evenly(bf_cuda_rolling_params *p) {
    const bf_rolling_job &job = p->job;
    const int64_t reach = reach_of(job), results = (p->room - reach) / job.step + 1;
    if (reach > p->room / 2)
        cut_units(p, 1, p->room / 2 / job.step + 1);
    else if (job.inner > 1 && job.outer * job.results > results / 2)
        cut_units(p, job.outer, results);
    else
        cut_units(p, lines_of(job), results);
}

/* Finds where the next tile of a line begins, of windows that are spans. */
int64_t next_start(const bf_rolling_job *job, int64_t from, int room) {
    int64_t to = from + 1;
    for (; to < job->results && to - from < room; to++) {
        const int64_t heads = job->first[to] - job->first[from];
        const int64_t tails = job->end[to] - job->end[from];
        const int64_t all = job->end[to] - job->first[from];
        if (heads + tails > room && all > room) break;
    }
    return to;
}

/* Cuts lines of spans; the caller frees the starts. */
bf_status cut_spans(bf_context *context, const bf_rolling_job *job, bf_cuda_rolling_params *p,
                    int64_t **starts) {
    int64_t *at = (int64_t *)bf_alloc((size_t)(job->results + 1) * sizeof *at), n = 0;
    *starts = at;
    if (at == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for windows");
    at[0] = 0;
    while (at[n] < job->results) {
        at[n + 1] = next_start(job, at[n], p->room);
        n++;
    }
    p->unit_lines = 1;
    p->units = lines_of(*job);
    p->tiles = n * p->units;
    return BF_OK;
}

/* --- memory --- */

bf_status reach_arrays(bf_cuda_call *call, bf_cuda_rolling_params *p) {
    bf_rolling_job *job = &p->job;
    const bf_window_quantiles *quantiles = job->quantiles;
    const int64_t n = lines_of(*job) * job->length;
    const int64_t results = lines_of(*job) * job->results * (quantiles ? quantiles->count : 1);
    const size_t spans = job->first != NULL ? (size_t)job->results * sizeof(int64_t) : 0;
    const int align = sizeof(int64_t);
    const void *first = NULL, *end = NULL, *q = NULL;
    bf_status status =
        bf_cuda_call_read(call, job->elements, (size_t)(n * p->bytes), p->bytes, &job->elements);
    if (status == BF_OK)
        status = bf_cuda_call_write(call, job->values, (size_t)(results * p->to_bytes), p->to_bytes,
                                    &job->values);
    if (status == BF_OK) status = bf_cuda_call_read(call, job->first, spans, align, &first);
    if (status == BF_OK) status = bf_cuda_call_read(call, job->end, spans, align, &end);
    job->first = (const int64_t *)first;
    job->end = (const int64_t *)end;
    if (status != BF_OK || quantiles == NULL) return status;
    p->quantiles = *quantiles;
    if (quantiles->q == NULL) return BF_OK; /* the median */
    const size_t bytes = (size_t)quantiles->count * sizeof *quantiles->q;
    status = bf_cuda_call_read(call, quantiles->q, bytes, sizeof *quantiles->q, &q);
    p->quantiles.q = (const double *)q;
    return status;
}

/* The board, and the list of marked tiles. */
bf_status make_board(bf_cuda_call *call, bf_cuda_rolling_params *p) {
    const size_t bytes = sizeof *p->board + (size_t)p->tiles * sizeof *p->marked;
    p->board = (bf_cuda_rolling_board *)bf_cuda_call_alloc(call, bytes);
    if (p->board == NULL) return BF_E_MEMORY;
    p->marked = (int64_t *)(p->board + 1);
    return bf_cuda_check(
        call->context, cudaMemsetAsync(p->board, 0, sizeof *p->board, call->context->cuda->stream),
        "rolling windows");
}

/* Makes records for windows that have several chunks. */
bf_status make_records(bf_cuda_call *call, const bf_cuda_rolling_kernels &k,
                       bf_cuda_rolling_params *p) {
    const bf_cuda *cuda = call->context->cuda;
    const int64_t longest = p->job.size < p->job.length ? p->job.size : p->job.length;
    if (longest < LONG) return BF_OK;
    p->chunks = lines_of(p->job) * p->job.length / BF_CUDA_ROLLING_CHUNK;
    const int64_t groups = p->chunks / BF_CUDA_ROLLING_GROUP;
    const size_t bytes = (size_t)((p->chunks + groups) * k.record) * sizeof *p->records;
    p->records = (int64_t *)bf_cuda_call_alloc(call, bytes);
    if (p->records == NULL) return BF_E_MEMORY;
    const bf_cuda_shape of_chunks = {p->chunks, BF_CUDA_SCAN_THREADS};
    const bf_cuda_shape of_groups = {groups, BF_CUDA_SCAN_THREADS};
    void *arguments[] = {p};
    cudaError_t error = bf_cuda_launch(cuda, k.chunks, of_chunks, arguments);
    if (error == cudaSuccess && groups > 0)
        error = bf_cuda_launch(cuda, k.groups, of_groups, arguments);
    return bf_cuda_check(call->context, error, "rolling windows");
}

/* --- a call --- */

/* Makes what is marked, and tells of a NaN that is refused. */
bf_status settle(bf_cuda_call *call, const bf_cuda_rolling_params &p) {
    const bf_window &w = p.job.window;
    const bf_prefix window = {.op = w.op, .to = w.to};
    bf_status status = sums_up(w) ? bf_cuda_roll_exactly(call, p) : BF_OK;
    if (status != BF_OK || !p.is_float || w.options.nan != BF_NAN_ERROR) return status;
    return bf_cuda_scan_conclude(call, &p.board->failed, window);
}

bf_status roll(bf_cuda_call *call, const bf_rolling_job *job, bf_cuda_rolling_params *p,
               int64_t **starts) {
    const bf_cuda_rolling_kernels k = find_kernels(*p, call->context->cuda->shared);
    const void *reached = NULL;
    bf_status status = BF_OK;
    p->room = k.room;
    if (job->first == NULL)
        cut_evenly(p);
    else
        status = cut_spans(call->context, job, p, starts);
    if (status == BF_OK) status = reach_arrays(call, p);
    if (status == BF_OK && *starts != NULL) {
        const size_t bytes = (size_t)(p->tiles / p->units + 1) * sizeof **starts;
        status = bf_cuda_call_read(call, *starts, bytes, sizeof **starts, &reached);
        p->starts = (const int64_t *)reached;
    }
    if (status == BF_OK) status = make_board(call, p);
    if (status == BF_OK) status = make_records(call, k, p);
    if (status != BF_OK) return status;
    const bf_cuda_shape shape = {p->tiles, k.threads, k.shared, false, true};
    void *arguments[] = {p};
    status =
        bf_cuda_check(call->context, bf_cuda_launch(call->context->cuda, k.tiles, shape, arguments),
                      "rolling windows");
    return status == BF_OK ? settle(call, *p) : status;
}

} // namespace

bf_status bf_cuda_roll(bf_context *context, const bf_rolling_job *job) {
    bf_cuda_call call;
    bf_cuda_rolling_params p = params_of(job);
    int64_t *starts = NULL;
    bf_status status = bf_cuda_call_begin(&call, context, job->queued);
    if (status == BF_OK) status = roll(&call, job, &p, &starts);
    status = bf_cuda_call_end(&call, status);
    bf_free(starts);
    return status;
}
