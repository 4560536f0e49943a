/* Pictures: each GPU counts a band of the rows. */
#include "gpus/julia/julia.h"

#include "gpus/runtime/context.h"

typedef struct division {
    const bf_julia_job *job;
    int parts;
} division;

static bf_status count_band(void *arg, bf_context *context, int gpu) {
    const division *d = arg;
    int64_t rows = d->job->at.rows, first = rows * gpu / d->parts;
    bf_julia_job band = *d->job;
    band.at.y += first;
    band.at.rows = rows * (gpu + 1) / d->parts - first;
    band.counts += first * d->job->stride;
    return band.at.rows > 0 ? context->used->julia->count(context, &band) : BF_OK;
}

static bf_status count_job(bf_context *context, const bf_julia_job *job) {
    const void *counts = job->counts;
    int64_t bytes = job->at.rows * job->at.columns * (int64_t)sizeof *job->counts;
    int gpu = bf_gpus_find(context, &counts, 1);
    division d = {job, gpu < 0 ? bf_gpus_worth(context, bytes) : 1};
    if (d.parts > 1) return bf_gpus_run(context, d.parts, count_band, &d);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, &counts, 1);
    return bf_gpus_leave(context, gpu, one->used->julia->count(one, job));
}

static bf_status enqueue_job(bf_context *context, const bf_julia_job *job) {
    const void *counts = job->counts;
    int gpu = bf_gpus_find(context, &counts, 1);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, &counts, 1);
    context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->julia->enqueue(one, job));
}

const bf_julia_backend bf_gpus_julia_backend = {.count = count_job, .enqueue = enqueue_job};
