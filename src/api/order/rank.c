/* The ranks of elements along an axis. */
#include "api/order/order.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

typedef struct ranking {
    bf_order_call call;
    bf_rank_method method;
    bf_order_lines lines;
    bf_flat input, ranks;
} ranking;

/* Has the CPU rank copies of what another backend's memory holds. */
static bf_status rank_copies(ranking *r, size_t bytes) {
    bf_context *context = r->call.context;
    const bf_memory_backend *memory = context->used->memory;
    const size_t ranks = (size_t)r->input.count * 8;
    char *copy = bf_alloc(bytes + ranks);
    if (copy == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to rank");
    bf_status status = memory->copy(context, copy + ranks, r->input.data, bytes);
    r->lines.values = copy + ranks;
    if (status == BF_OK) status = bf_backend_cpu.order->rank(context, &r->lines, r->method, copy);
    if (status == BF_OK) status = memory->copy(context, r->ranks.data, copy, ranks);
    bf_free(copy);
    return status;
}

static bf_status run_backend(ranking *r) {
    bf_context *context = r->call.context;
    const size_t bytes = (size_t)bf_bytes_of(r->input.count, bf_key_bytes(r->lines.dtype));
    bf_status status = bf_order_refuse_nan(&r->call, r->lines.dtype, r->input.data, r->input.count);
    if (status == BF_OK) status = bf_watch_begin(context, (int64_t)bytes);
    if (status != BF_OK) return status;
    r->lines.values = r->input.data;
    status = context->used->order->rank == NULL
                 ? rank_copies(r, bytes)
                 : context->used->order->rank(context, &r->lines, r->method, r->ranks.data);
    return bf_watch_end(context, status);
}

/* Ranks the lines of views of the arrays, whose last dimension lies along a line. */
static bf_status rank_views(ranking *r, const bf_array *input, const bf_array *ranks) {
    bf_context *context = r->call.context;
    const bf_backend *on = context->used;
    bf_status status = bf_flat_take_ordered(context, on, input, &r->input);
    if (status == BF_OK)
        status = bf_flat_prepare(context, on, ranks, bf_is_watched(context), &r->ranks);
    if (status == BF_OK) status = run_backend(r);
    if (status == BF_OK) status = bf_flat_return(context, &r->ranks);
    bf_flat_release(&r->input);
    bf_flat_release(&r->ranks);
    return status;
}

static bf_status rank_axis(bf_context *context, const bf_array *array, int axis,
                           bf_rank_method method, const bf_order_options *options,
                           const bf_array *ranks) {
    ranking r = {.method = method};
    bool named[BF_MAX_DIMS];
    bf_array views[2];
    const bf_dtype to = method == BF_RANK_AVERAGE ? BF_F64 : BF_I64;
    if (ranks == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the ranks");
    if ((int)method < 0 || method > BF_RANK_ORDINAL)
        return bf_fail(context, BF_E_ARGUMENT, "no method of ranks has number %d", (int)method);
    bf_status status = bf_order_open(&r.call, context, array, NULL, options);
    if (status == BF_OK) status = bf_array_read_axes(context, array, &axis, 1, named);
    if (status == BF_OK) status = bf_order_add_output(&r.call, ranks, to, "ranks");
    if (status == BF_OK && !bf_same_shape(array, ranks))
        status = bf_fail(context, BF_E_SHAPE, "the ranks have not the shape of the array");
    const int64_t count = status == BF_OK ? bf_array_count(ranks) : 0;
    if (count == 0) return status;
    r.lines =
        (bf_order_lines){.dtype = bf_flat_dtype(array->dtype), .length = 1, .order = r.call.order};
    for (int d = 0; d < array->ndim; d++)
        if (named[d]) r.lines.length = array->shape[d];
    r.lines.count = count / r.lines.length;
    status = bf_order_choose(&r.call, BF_ORDER_SORTS);
    if (status != BF_OK) return status;
    bf_order_move_axes(array, named, &views[0]);
    bf_order_move_axes(ranks, named, &views[1]);
    return rank_views(&r, &views[0], &views[1]);
}

bf_status bf_rank(bf_context *context, const bf_array *array, int axis, bf_rank_method method,
                  const bf_order_options *options, const bf_array *ranks) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, rank_axis(context, array, axis, method, options, ranks));
}
