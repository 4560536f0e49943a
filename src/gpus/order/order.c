#include "gpus/order/order.h"

#include "gpus/runtime/context.h"

enum { PAYLOADS_MOST = 64, MEMORY = 3 };

/* Enters the GPU that holds most of this memory, else the first, and sets *gpu to its number. */
static bf_context *enter_gpu(bf_context *context, const void *const memory[], int n, int *gpu) {
    *gpu = bf_gpus_find(context, memory, n);
    if (*gpu < 0) *gpu = 0;
    return bf_gpus_enter(context, *gpu, memory, n);
}

static bf_context *enter_near(bf_context *context, const void *a, const void *b, const void *c,
                              int *gpu) {
    const void *memory[MEMORY] = {a, b, c};
    return enter_gpu(context, memory, MEMORY, gpu);
}

static bf_status sort(bf_context *context, const bf_order_lines *lines, void *sorted, void *index) {
    int gpu;
    bf_context *one = enter_near(context, lines->values, sorted, index, &gpu);
    if (lines->queued) context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->order->sort(one, lines, sorted, index));
}

static bf_status sort_rows(bf_context *context, const bf_order_lines *keys, int payloads,
                           void *const payload[], const int bytes[]) {
    const void *memory[1 + PAYLOADS_MOST] = {keys->values};
    int gpu;
    for (int i = 0; i < payloads; i++) memory[1 + i] = payload[i];
    bf_context *one = enter_gpu(context, memory, 1 + payloads, &gpu);
    return bf_gpus_leave(context, gpu,
                         one->used->order->sort_rows(one, keys, payloads, payload, bytes));
}

static bf_status top(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                     void *index) {
    int gpu;
    bf_context *one = enter_near(context, lines->values, values, index, &gpu);
    return bf_gpus_leave(context, gpu, one->used->order->top(one, lines, k, values, index));
}

static bf_status select_elements(bf_context *context, const bf_order_lines *lines,
                                 const bf_selection *selection, void *results) {
    int gpu;
    bf_context *one = enter_near(context, lines->values, results, NULL, &gpu);
    if (lines->queued) context->gpus->gpu[gpu].busy = true;
    return bf_gpus_leave(context, gpu, one->used->order->select(one, lines, selection, results));
}

static bf_status search(bf_context *context, bf_dtype dtype, bf_order order, const void *sorted,
                        int64_t n, const void *wanted, int64_t m, bool right, void *places) {
    int gpu;
    bf_context *one = enter_near(context, sorted, wanted, places, &gpu);
    return bf_gpus_leave(
        context, gpu,
        one->used->order->search(one, dtype, order, sorted, n, wanted, m, right, places));
}

static bf_status is_sorted(bf_context *context, bf_dtype dtype, bf_order order, const void *values,
                           int64_t n, bool *sorted) {
    int gpu;
    bf_context *one = enter_near(context, values, NULL, NULL, &gpu);
    return bf_gpus_leave(context, gpu,
                         one->used->order->is_sorted(one, dtype, order, values, n, sorted));
}

static bf_status unique(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                        void *keys, void *counts, int64_t room, int64_t *different) {
    int gpu;
    bf_context *one = enter_near(context, values, keys, counts, &gpu);
    return bf_gpus_leave(
        context, gpu,
        one->used->order->unique(one, dtype, values, n, keys, counts, room, different));
}

static bf_status take(bf_context *context, int bytes, const void *from, const void *index,
                      int64_t n, void *to) {
    int gpu;
    bf_context *one = enter_near(context, from, index, to, &gpu);
    return bf_gpus_leave(context, gpu, one->used->order->take(one, bytes, from, index, n, to));
}

const bf_order_backend bf_gpus_order_backend = {
    .sort = sort,
    .sort_rows = sort_rows,
    .top = top,
    .select = select_elements,
    .search = search,
    .is_sorted = is_sorted,
    .unique = unique,
    .take = take,
};
