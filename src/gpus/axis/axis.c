#include "gpus/axis/axis.h"

#include "gpus/runtime/context.h"

/* ---- at once --------------------------------------------------------------------------------- */

enum { MEMORY = 5 };

/* Enters the GPU that does a call, and sets *gpu to its number. places may be NULL. */
static bf_context *enter_gpu(bf_context *context, const bf_operands *operands, const void *places,
                             const bf_results *results, int *gpu) {
    const void *memory[MEMORY] = {operands->a, operands->b, places, results->values, results->fits};
    *gpu = bf_gpus_find(context, memory, MEMORY);
    if (*gpu < 0) *gpu = 0;
    bf_context *one = bf_gpus_enter(context, *gpu, memory, MEMORY);
    if (results->queued) context->gpus->gpu[*gpu].busy = true;
    return one;
}

static bf_status reduce_fibres(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results) {
    int gpu;
    bf_context *one = enter_gpu(context, operands, NULL, results, &gpu);
    return bf_gpus_leave(context, gpu,
                         one->used->axis->reduce_fibres(one, operands, fibres, results));
}

static bf_status reduce_rows(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                             const bf_results *results) {
    int gpu;
    bf_context *one = enter_gpu(context, operands, rows->places, results, &gpu);
    return bf_gpus_leave(context, gpu, one->used->axis->reduce_rows(one, operands, rows, results));
}

static bf_status find_runs(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                           int64_t *first, int64_t room, int64_t *runs) {
    const void *memory[] = {keys, first};
    int gpu = bf_gpus_find(context, memory, 2);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 2);
    return bf_gpus_leave(context, gpu,
                         one->used->axis->find_runs(one, key, keys, n, first, room, runs));
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_context *enter_first(bf_context *context, const void *a, const void *b) {
    const void *memory[] = {a, b};
    return bf_gpus_enter(context, 0, memory, 2);
}

static bf_status create_states(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                               void **states) {
    bf_context *one = enter_first(context, NULL, NULL);
    return bf_gpus_leave(context, 0, one->used->axis->create(one, op, dtype, count, states));
}

static void destroy_states(bf_context *context, void *states) {
    bf_context *one = context->gpus->gpu[0].context;
    one->used->axis->destroy(one, states);
}

static void clear_states(bf_context *context, void *states) {
    bf_context *one = enter_first(context, NULL, NULL);
    one->used->axis->clear(one, states);
    bf_gpus_leave(context, 0, BF_OK);
}

static bf_status absorb_rows(bf_context *context, void *states, int64_t first, const void *values,
                             const bf_rows *rows) {
    bf_context *one = enter_first(context, values, rows->places);
    return bf_gpus_leave(context, 0, one->used->axis->absorb(one, states, first, values, rows));
}

static bf_status merge_states(bf_context *context, void *into, const void *from) {
    bf_context *one = enter_first(context, NULL, NULL);
    return bf_gpus_leave(context, 0, one->used->axis->merge(one, into, from));
}

static bf_status finish_states(bf_context *context, void *states, const bf_results *results) {
    bf_context *one = enter_first(context, results->values, results->fits);
    return bf_gpus_leave(context, 0, one->used->axis->result(one, states, results));
}

static bf_status count_elements(bf_context *context, void *states, void *counts) {
    bf_context *one = enter_first(context, counts, NULL);
    return bf_gpus_leave(context, 0, one->used->axis->counts(one, states, counts));
}

static bf_status get_words(bf_context *context, void *states, int64_t first, int64_t n,
                           int64_t *words) {
    bf_context *one = enter_first(context, words, NULL);
    return bf_gpus_leave(context, 0, one->used->axis->words(one, states, first, n, words));
}

static bf_status add_words(bf_context *context, void *states, int64_t first, int64_t n,
                           const int64_t *words) {
    bf_context *one = enter_first(context, words, NULL);
    return bf_gpus_leave(context, 0, one->used->axis->add_words(one, states, first, n, words));
}

const bf_axis_backend bf_gpus_axis_backend = {
    .reduce_fibres = reduce_fibres,
    .reduce_rows = reduce_rows,
    .find_runs = find_runs,
    .create = create_states,
    .destroy = destroy_states,
    .clear = clear_states,
    .absorb = absorb_rows,
    .merge = merge_states,
    .result = finish_states,
    .counts = count_elements,
    .words = get_words,
    .add_words = add_words,
};
