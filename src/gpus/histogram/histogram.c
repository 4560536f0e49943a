/* Histograms: each GPU counts its parts of the jobs into counts of its own, which are added at the
 * end. */
#include "gpus/histogram/histogram.h"

#include "gpus/runtime/context.h"
#include "rules/number/dtype.h"
#include "rules/reduce/sum.h"

#include <stdlib.h>

/* The counts and sums of a GPU. */
typedef struct tally {
    int64_t *counts, *sums; /* NULL: this GPU has no part; there are no weights */
} tally;

typedef struct division {
    bf_context *context;
    const bf_bin_job *jobs;
    int n;
    int64_t bins, sum_words; /* sum_words: of a bin; 0: no weights */
    tally *tallies;          /* one for each GPU */
} division;

static int64_t bytes_of(const bf_bin_job *job) {
    int64_t bytes = bf_dtype_bytes(job->dtype);
    if (job->weights != NULL) bytes += bf_dtype_bytes(job->weights_dtype);
    return job->count < BF_COUNT_MAX / bytes ? job->count * bytes : BF_COUNT_MAX;
}

static int find_gpu(const bf_context *context, const bf_bin_job *job) {
    const void *memory[] = {job->data, job->weights};
    return bf_gpus_find(context, memory, 2);
}

/* Returns the number of GPUs that a job is split among. Each has counts of its own, which the
 * elements of its part must be worth. */
static int count_parts(const bf_context *context, const bf_bin_job *job) {
    int parts = find_gpu(context, job) < 0 ? bf_gpus_worth(context, bytes_of(job)) : 1;
    return job->count / parts >= job->bins->count ? parts : 1;
}

static bf_status count_on(bf_context *context, int gpu, const bf_bin_job *job, int64_t *counts,
                          int64_t *sums) {
    const void *memory[] = {job->data, job->weights};
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    return bf_gpus_leave(context, gpu, one->used->histogram->count(one, job, counts, sums));
}

/* ---- all GPUs -------------------------------------------------------------------------------- */

/* Sets *cut to the elements of job i that this GPU counts. Returns false if it counts none. Small
 * jobs in host memory go to the GPUs in turn. */
static bool cut_job(const division *d, int i, int gpu, bf_bin_job *cut) {
    const bf_bin_job *job = &d->jobs[i];
    int on = find_gpu(d->context, job), parts = count_parts(d->context, job);
    int64_t first = 0, end = job->count;
    if (parts == 1) {
        if ((on < 0 ? i % d->context->gpus->count : on) != gpu) return false;
    } else {
        if (gpu >= parts) return false;
        first = bf_gpus_cut(job->count, parts, gpu, 0);
        end = bf_gpus_cut(job->count, parts, gpu + 1, 0);
    }
    *cut = *job;
    cut->data = (const char *)job->data + first * bf_dtype_bytes(job->dtype);
    if (job->weights != NULL)
        cut->weights = (const char *)job->weights + first * bf_dtype_bytes(job->weights_dtype);
    cut->count = end - first;
    return cut->count > 0;
}

static bool make_tally(const division *d, tally *t) {
    t->counts = calloc((size_t)d->bins + BF_BIN_OTHERS, sizeof *t->counts);
    if (t->counts == NULL || d->sum_words == 0) return t->counts != NULL;
    t->sums = calloc((size_t)(d->bins * d->sum_words), sizeof *t->sums);
    return t->sums != NULL;
}

static bf_status count_parts_of(void *arg, bf_context *context, int gpu) {
    const division *d = arg;
    tally *t = &d->tallies[gpu];
    bf_bin_job cut;
    bf_status status = BF_OK;
    for (int i = 0; i < d->n && status == BF_OK; i++) {
        if (!cut_job(d, i, gpu, &cut)) continue;
        if (t->counts == NULL && !make_tally(d, t))
            return bf_fail(context, BF_E_MEMORY, "no memory for bins");
        status = context->used->histogram->count(context, &cut, t->counts, t->sums);
    }
    return status;
}

static void add_tally(const division *d, const tally *t, int64_t *counts, int64_t *sums) {
    if (t->counts == NULL) return;
    for (int64_t i = 0; d->sum_words > 0 && i < d->bins; i++)
        if (t->counts[i] > 0)
            bf_sum_merge(BF_KIND_SUM, d->jobs->weights_dtype, sums + i * d->sum_words,
                         t->sums + i * d->sum_words);
    for (int64_t i = 0; i < d->bins + BF_BIN_OTHERS; i++) counts[i] += t->counts[i];
}

static bf_status count_shards(bf_context *context, const bf_bin_job *jobs, int n, int64_t *counts,
                              int64_t *sums) {
    int gpus = context->gpus->count;
    division d = {.context = context, .jobs = jobs, .n = n, .bins = jobs->bins->count};
    if (sums != NULL) d.sum_words = bf_sum_shape_of(BF_KIND_SUM, jobs->weights_dtype).words;
    d.tallies = calloc((size_t)gpus, sizeof *d.tallies);
    if (d.tallies == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for bins");
    bf_status status = bf_gpus_run(context, gpus, count_parts_of, &d);
    for (int i = 0; i < gpus; i++) {
        if (status == BF_OK) add_tally(&d, &d.tallies[i], counts, sums);
        free(d.tallies[i].counts);
        free(d.tallies[i].sums);
    }
    free(d.tallies);
    return status;
}

static bf_status count_job(bf_context *context, const bf_bin_job *job, int64_t *counts,
                           int64_t *sums) {
    int gpu = find_gpu(context, job);
    if (gpu >= 0) return count_on(context, gpu, job, counts, sums);
    if (count_parts(context, job) == 1) return count_on(context, 0, job, counts, sums);
    return count_shards(context, job, 1, counts, sums);
}

static bf_status enqueue_job(bf_context *context, const bf_bin_job *job, int64_t *counts) {
    const void *memory[] = {job->data, counts};
    int gpu = bf_gpus_find(context, memory, 2);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->histogram->enqueue(one, job, counts));
}

static bf_status enqueue_edges(bf_context *context, const bf_bins *bins, double *edges) {
    const void *memory[] = {edges};
    int gpu = bf_gpus_find(context, memory, 1);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 1);
    context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->histogram->enqueue_edges(one, bins, edges));
}

const bf_histogram_backend bf_gpus_histogram_backend = {.count = count_job,
                                                        .count_shards = count_shards,
                                                        .enqueue = enqueue_job,
                                                        .enqueue_edges = enqueue_edges};
