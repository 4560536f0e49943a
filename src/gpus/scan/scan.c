#include "gpus/scan/scan.h"

#include "gpus/runtime/context.h"

/* Enters the GPU that has the elements or the values, or the first one. Returns its context. */
static bf_context *enter(bf_context *context, const void *elements, const void *values, int *gpu) {
    const void *memory[2] = {elements, values};
    const int near = bf_gpus_find(context, memory, 2);
    *gpu = near < 0 ? 0 : near;
    return bf_gpus_enter(context, *gpu, memory, 2);
}

static bf_status run(bf_context *context, const bf_scan_job *job) {
    int gpu;
    bf_context *one = enter(context, job->elements, job->values, &gpu);
    if (job->queued) context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->scan->run(one, job));
}

static bf_status roll(bf_context *context, const bf_rolling_job *job) {
    int gpu;
    bf_context *one = enter(context, job->elements, job->values, &gpu);
    if (job->queued) context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->scan->roll(one, job));
}

const bf_scan_backend bf_gpus_scan_backend = {.run = run, .roll = roll};
