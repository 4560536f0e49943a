/* Element-wise operations: each GPU computes a range of the elements. */
#include "gpus/map/map.h"

#include "gpus/runtime/context.h"

enum { OPERANDS = 4 };

typedef struct division {
    const bf_map_job *job;
    int parts;
} division;

static void list_memory(const bf_map_job *job, const void *memory[OPERANDS]) {
    memory[0] = job->out;
    for (int i = 0; i < OPERANDS - 1; i++) memory[i + 1] = i < job->arity ? job->in[i] : NULL;
}

static int64_t element_bytes(const bf_map_job *job) {
    int64_t bytes = (int64_t)bf_dtype_size(job->to);
    for (int i = 0; i < job->arity; i++)
        if (!job->single[i]) bytes += (int64_t)bf_dtype_size(job->from[i]);
    return bytes;
}

static bf_status map_part(void *arg, bf_context *context, int gpu) {
    const division *d = arg;
    const bf_map_job *job = d->job;
    int64_t first = bf_gpus_cut(job->count, d->parts, gpu, 0);
    bf_map_job part = *job;
    part.count = bf_gpus_cut(job->count, d->parts, gpu + 1, 0) - first;
    part.index = job->index + first;
    part.out = (char *)job->out + first * (int64_t)bf_dtype_size(job->to);
    for (int i = 0; i < job->arity; i++)
        if (!job->single[i])
            part.in[i] = (const char *)job->in[i] + first * (int64_t)bf_dtype_size(job->from[i]);
    return part.count > 0 ? context->used->map->run(context, &part) : BF_OK;
}

/* Parts are in the order of the elements, so the failure reported is that of the first element. */
static bf_status run_job(bf_context *context, const bf_map_job *job) {
    const void *memory[OPERANDS];
    list_memory(job, memory);
    int gpu = bf_gpus_find(context, memory, OPERANDS);
    division d = {job, gpu < 0 ? bf_gpus_worth(context, job->count * element_bytes(job)) : 1};
    if (d.parts > 1) return bf_gpus_run(context, d.parts, map_part, &d);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, OPERANDS);
    return bf_gpus_leave(context, gpu, one->used->map->run(one, job));
}

static bf_status enqueue_job(bf_context *context, const bf_map_job *job) {
    const void *memory[OPERANDS];
    list_memory(job, memory);
    int gpu = bf_gpus_find(context, memory, OPERANDS);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, OPERANDS);
    context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->map->enqueue(one, job));
}

const bf_map_backend bf_gpus_map_backend = {.run = run_job, .enqueue = enqueue_job};
