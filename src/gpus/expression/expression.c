#include "gpus/expression/expression.h"

#include "gpus/runtime/context.h"

enum { MEMORY = BF_EXPRESSION_COLUMNS + 1 };

/* Enters the GPU that holds some of the job's memory, else the first, and sets *gpu to its number.
 */
static bf_context *enter_gpu(bf_context *context, const bf_expression_job *job, int *gpu) {
    const void *memory[MEMORY];
    const int columns = job->program->columns;
    for (int i = 0; i < columns; i++) memory[i] = job->columns[i].numbers.data;
    memory[columns] = job->out.data;
    *gpu = bf_gpus_find(context, memory, columns + 1);
    if (*gpu < 0) *gpu = 0;
    return bf_gpus_enter(context, *gpu, memory, columns + 1);
}

static bf_status eval(bf_context *context, const bf_expression_job *job) {
    int gpu;
    bf_context *one = enter_gpu(context, job, &gpu);
    return bf_gpus_leave(context, gpu, one->used->expression->eval(one, job));
}

static bf_status absorb(bf_context *context, const bf_expression_job *job, const bf_job *to,
                        int64_t *words) {
    int gpu;
    bf_context *one = enter_gpu(context, job, &gpu);
    return bf_gpus_leave(context, gpu, one->used->expression->absorb(one, job, to, words));
}

const bf_expression_backend bf_gpus_expression_backend = {.eval = eval, .absorb = absorb};
