#include "gpus/scan/scan.h"

#include "gpus/runtime/context.h"

static bf_status run(bf_context *context, const bf_scan_job *job) {
    const void *memory[2] = {job->elements, job->values};
    int gpu = bf_gpus_find(context, memory, 2);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    return bf_gpus_leave(context, gpu, one->used->scan->run(one, job));
}

static bf_status roll(bf_context *context, const bf_rolling_job *job) {
    const void *memory[2] = {job->elements, job->values};
    int gpu = bf_gpus_find(context, memory, 2);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    return bf_gpus_leave(context, gpu, one->used->scan->roll(one, job));
}

const bf_scan_backend bf_gpus_scan_backend = {.run = run, .roll = roll};
