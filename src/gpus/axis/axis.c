#include "gpus/axis/axis.h"

#include "gpus/axis/states.h"
#include "gpus/runtime/context.h"
#include "rules/number/dtype.h"

#include <stdlib.h>

enum { MEMORY = 5, PART_BYTES = 1 << 12 };

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

/* Fibres that are split among GPUs, along the first of their kept dimensions. */
typedef struct division {
    const bf_operands *operands;
    const bf_fibres *fibres;
    const bf_results *results;
    int parts;
} division;

/* A part is at least a page wide, so that GPUs share few pages. */
static int count_parts(bf_context *context, const bf_operands *operands, const bf_fibres *fibres) {
    if (fibres->kept == 0) return 1;
    const int64_t element = bf_dtype_bytes(operands->dtype), fibre = fibres->length * element;
    const int64_t stride = fibres->kept_strides[0][0] * element;
    const int64_t apart = stride < 0 ? -stride : stride;
    const int64_t least = apart < PART_BYTES ? PART_BYTES / (apart + 1) + 1 : 1;
    const int64_t most = fibres->kept_shape[0] / least;
    const int worth = bf_gpus_worth(context, fibres->count * fibre);
    return most < worth ? (int)most : worth;
}

static const void *advance(const void *memory, int64_t bytes) {
    return memory != NULL ? (const char *)memory + bytes : NULL;
}

static bf_status reduce_part(void *arg, bf_context *context, int gpu) {
    const division *d = arg;
    const int64_t element = bf_dtype_bytes(d->operands->dtype);
    bf_operands operands = *d->operands;
    bf_fibres part = *d->fibres;
    bf_results results = *d->results;
    const int64_t all = part.kept_shape[0], each = part.count / all; /* fibres of one index */
    const int64_t at = bf_gpus_share(all, d->parts, gpu);
    part.kept_shape[0] = bf_gpus_share(all, d->parts, gpu + 1) - at;
    part.count = part.kept_shape[0] * each;
    operands.a = advance(operands.a, at * part.kept_strides[0][0] * element);
    operands.b = advance(operands.b, at * part.kept_strides[1][0] * element);
    results.first += at * each;
    results.values = (char *)results.values + at * each * bf_dtype_bytes(results.to);
    if (results.fits != NULL) results.fits += at * each;
    return context->used->axis->reduce_fibres(context, &operands, &part, &results);
}

/* Has all GPUs write results of their own: nothing is to be written if one of them fails. */
static bf_status reduce_parts(bf_context *context, division *d) {
    const bf_results *results = d->results;
    const size_t count = (size_t)d->fibres->count;
    const size_t bytes = count * (size_t)bf_dtype_bytes(results->to);
    bf_results aside = *results;
    aside.values = malloc(bytes);
    aside.fits = results->fits != NULL ? malloc(count) : NULL;
    const bool made = aside.values != NULL && (results->fits == NULL || aside.fits != NULL);
    d->results = &aside;
    bf_status status = made ? bf_gpus_run(context, d->parts, reduce_part, d)
                            : bf_fail(context, BF_E_MEMORY, "no memory for results");
    if (status == BF_OK) memcpy(results->values, aside.values, bytes);
    if (status == BF_OK && results->fits != NULL) memcpy(results->fits, aside.fits, count);
    free(aside.values);
    free(aside.fits);
    return status;
}

static bf_status reduce_fibres(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results) {
    int gpu;
    division d = {operands, fibres, results, 1};
    const void *memory[MEMORY] = {operands->a, operands->b, results->values, results->fits};
    if (!results->queued && bf_gpus_find(context, memory, MEMORY) < 0)
        d.parts = count_parts(context, operands, fibres);
    if (d.parts > 1) return reduce_parts(context, &d);
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

const bf_axis_backend bf_gpus_axis_backend = {
    .reduce_fibres = reduce_fibres,
    .reduce_rows = reduce_rows,
    .find_runs = find_runs,
    .create = bf_gpus_states_create,
    .destroy = bf_gpus_states_destroy,
    .clear = bf_gpus_states_clear,
    .absorb = bf_gpus_states_absorb,
    .merge = bf_gpus_states_merge,
    .result = bf_gpus_states_result,
    .counts = bf_gpus_states_counts,
    .words = bf_gpus_states_words,
    .add_words = bf_gpus_states_add_words,
};
