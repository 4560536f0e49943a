/* Sorting: along an axis, by segments, and rows by keys; the first of an order. */
#include "api/order/order.h"

#include "api/axis/axis.h"
#include "api/order/sorter.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

/* A sort, or the first k of each line. */
typedef struct sorting {
    bf_order_call call;
    bool queued;   /* it is enqueued */
    bool in_place; /* values are the array */
    const bf_array *values, *index;
    bf_order_lines lines;
    int64_t k; /* -1: all */
    bf_flat input, sorted, positions;
} sorting;

/* Checks the outputs, which have this shape. */
static bf_status check_outputs(sorting *s, int ndim, const int64_t shape[]) {
    bf_order_call *call = &s->call;
    const bf_array *array = call->inputs[0];
    bf_status status = BF_OK;
    if (s->values == NULL && s->index == NULL)
        return bf_fail(call->context, BF_E_ARGUMENT, "neither values nor index are wanted");
    if ((s->values != NULL && !bf_array_has_shape(s->values, ndim, shape)) ||
        (s->index != NULL && !bf_array_has_shape(s->index, ndim, shape)))
        return bf_fail(call->context, BF_E_SHAPE, "the outputs have not the shape of the result");
    s->in_place = s->values != NULL && s->k < 0 && bf_same_array(array, s->values);
    if (s->in_place) {
        status = bf_flat_check(call->context, array, array->dtype, "values");
    } else if (s->values != NULL) {
        status = bf_order_add_output(call, s->values, array->dtype, "values");
    }
    if (status == BF_OK && s->index != NULL)
        status = bf_order_add_output(call, s->index, BF_I64, "index");
    return status;
}

/* Whether the lines are sorted in a copy of the input, which is then written back. */
static bool sorts_copy(const sorting *s) { return s->in_place && s->input.copy != NULL; }

/* Sets s->input to contiguous lines, and the outputs to what is written. */
static bf_status take_arrays(sorting *s, const bf_array *input, const bf_array *values,
                             const bf_array *index) {
    bf_context *context = s->call.context;
    const bf_backend *on = context->used;
    bf_status status = bf_flat_take_ordered(context, on, input, &s->input);
    bool apart = bf_is_watched(context) && !s->queued; /* one that is cancelled writes nothing */
    if (status == BF_OK && !sorts_copy(s))
        status = bf_flat_prepare_ordered(context, on, values, apart, &s->sorted);
    if (status == BF_OK) status = bf_flat_prepare(context, on, index, apart, &s->positions);
    return status;
}

/* ---- elements of no segment: they stay, and their positions count from the first of them ------
 */

static bf_status number_elements(sorting *s, int64_t first, int64_t n) {
    enum { BATCH = 1024 };
    int64_t numbers[BATCH];
    bf_status status = BF_OK;
    for (int64_t at = 0; at < n && status == BF_OK; at += BATCH) {
        int64_t count = n - at < BATCH ? n - at : BATCH;
        for (int64_t i = 0; i < count; i++) numbers[i] = at + i;
        char *to = s->positions.data + (first + at) * (int64_t)sizeof *numbers;
        status = s->call.context->used->memory->copy(s->call.context, to, numbers,
                                                     (size_t)count * sizeof *numbers);
    }
    return status;
}

static bf_status fill_gap(sorting *s, int64_t first, int64_t end) {
    bf_context *context = s->call.context;
    int64_t bytes = bf_key_bytes(s->lines.dtype), from = first * bytes;
    bf_status status = BF_OK;
    if (first == end) return BF_OK;
    if (s->sorted.data != NULL && s->sorted.data != s->input.data)
        status = context->used->memory->copy(context, s->sorted.data + from, s->input.data + from,
                                             (size_t)((end - first) * bytes));
    if (status == BF_OK && s->positions.data != NULL)
        status = number_elements(s, first, end - first);
    return status;
}

static bf_status fill_gaps(sorting *s) {
    const int64_t *offsets = s->lines.offsets;
    if (offsets == NULL) return BF_OK;
    bf_status status = fill_gap(s, 0, offsets[0]);
    return status == BF_OK ? fill_gap(s, offsets[s->lines.count], s->input.count) : status;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Sorts the lines, or takes the first of each. There may be no elements in any segment. */
static bf_status sort_lines(sorting *s) {
    bf_context *context = s->call.context;
    const bf_order_backend *order = context->used->order;
    char *sorted = sorts_copy(s) ? s->input.data : s->sorted.data;
    s->lines.values = s->input.data;
    if (s->lines.count == 0 || s->lines.length == 0) return BF_OK;
    return s->k < 0 ? bf_order_sort_lines(context, &s->lines, sorted, s->positions.data)
                    : order->top(context, &s->lines, s->k, sorted, s->positions.data);
}

static bf_status run_backend(sorting *s) {
    bf_context *context = s->call.context;
    int64_t bytes = bf_bytes_of(s->input.count, bf_key_bytes(s->lines.dtype));
    if (s->queued) return sort_lines(s);
    bf_status status = bf_order_refuse_nan(&s->call, s->lines.dtype, s->input.data, s->input.count);
    if (status == BF_OK) status = bf_watch_begin(context, bytes);
    if (status == BF_OK) status = bf_watch_end(context, sort_lines(s));
    return status == BF_OK ? fill_gaps(s) : status; /* last: a sort that fails writes nothing */
}

/* Sorts the lines of views of the arrays, whose last dimension lies along a line. */
static bf_status sort_views(sorting *s, const bf_array *input, const bf_array *values,
                            const bf_array *index) {
    bf_context *context = s->call.context;
    const bf_array *const views[] = {input, values, index};
    bf_status status = bf_order_choose(&s->call, s->k < 0 ? BF_ORDER_SORTS : BF_ORDER_SELECTS);
    for (int i = 0; i < 3 && status == BF_OK && s->queued; i++)
        status = bf_flat_check_queued(context, views[i], "lines of a sort");
    if (status != BF_OK) return status;
    s->lines.queued = s->queued && input->dtype != BF_I128;
    status = take_arrays(s, input, values, index);
    if (status == BF_OK) status = run_backend(s);
    if (status == BF_OK)
        status = bf_flat_return_ordered(context, sorts_copy(s) ? &s->input : &s->sorted);
    if (status == BF_OK) status = bf_flat_return(context, &s->positions);
    bf_flat_release(&s->input);
    bf_flat_release(&s->sorted);
    bf_flat_release(&s->positions);
    return status;
}

/* ---- along an axis --------------------------------------------------------------------------- */

static const bf_array *view_of(const bf_array *array, const bool named[BF_MAX_DIMS],
                               bf_array *view) {
    if (array == NULL) return NULL;
    bf_order_move_axes(array, named, view);
    return view;
}

static bf_status sort_axis(bf_context *context, const bf_array *array, int axis, int64_t k,
                           bool queued, const bf_order_options *options, const bf_array *values,
                           const bf_array *index) {
    sorting s = {.queued = queued, .values = values, .index = index, .k = k};
    bool named[BF_MAX_DIMS];
    int64_t shape[BF_MAX_DIMS], count = 1, length = 0;
    bf_array views[3];
    bf_status status = bf_order_open(&s.call, context, array, NULL, options);
    if (status == BF_OK) status = bf_array_read_axes(context, array, &axis, 1, named);
    if (status == BF_OK && queued && s.call.options.nan == BF_NAN_ERROR)
        status = bf_fail(context, BF_E_ARGUMENT, "a sort on a stream does not fail for a NaN");
    if (status != BF_OK) return status;
    for (int d = 0; d < array->ndim; d++) {
        shape[d] = array->shape[d];
        if (named[d]) length = shape[d];
        if (named[d] && k >= 0) shape[d] = k;
        if (!named[d]) count *= shape[d]; /* checked: no more than elements */
    }
    if (k > length)
        return bf_fail(context, BF_E_ARGUMENT, "the first %lld of %lld elements", (long long)k,
                       (long long)length);
    status = check_outputs(&s, array->ndim, shape);
    if (status != BF_OK || length == 0 || count == 0 || k == 0) return status;
    s.lines =
        (bf_order_lines){.dtype = bf_flat_dtype(array->dtype), .count = count, .length = length};
    s.lines.order = s.call.order;
    return sort_views(&s, view_of(array, named, &views[0]), view_of(values, named, &views[1]),
                      view_of(index, named, &views[2]));
}

bf_status bf_sort(bf_context *context, const bf_array *array, int axis,
                  const bf_order_options *options, const bf_array *values, const bf_array *index) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, sort_axis(context, array, axis, -1, false, options, values, index));
}

bf_status bf_sort_async(bf_context *context, const bf_array *array, int axis,
                        const bf_order_options *options, const bf_array *values,
                        const bf_array *index) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, sort_axis(context, array, axis, -1, true, options, values, index));
}

static bf_status top_axis(bf_context *context, const bf_array *array, int axis, int64_t k,
                          const bf_order_options *options, const bf_array *values,
                          const bf_array *index) {
    if (k < 0) return bf_fail(context, BF_E_ARGUMENT, "the first %lld elements", (long long)k);
    return sort_axis(context, array, axis, k, false, options, values, index);
}

bf_status bf_top(bf_context *context, const bf_array *array, int axis, int64_t k,
                 const bf_order_options *options, const bf_array *values, const bf_array *index) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, top_axis(context, array, axis, k, options, values, index));
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Sorts the segments of the arrays, with their offsets in host memory. */
static bf_status sort_offsets(sorting *s, const bf_array *offsets) {
    bf_context *context = s->call.context;
    const bf_array *array = s->call.inputs[0];
    int64_t *host = NULL, segments, longest;
    bf_status status = bf_order_choose(&s->call, BF_ORDER_SORTS);
    if (status == BF_OK)
        status =
            bf_axis_read_offsets(context, offsets, array->shape[0], &host, &segments, &longest);
    if (status == BF_OK && array->shape[0] > 0) {
        s->lines = (bf_order_lines){.dtype = bf_flat_dtype(array->dtype),
                                    .count = segments,
                                    .length = longest,
                                    .offsets = host,
                                    .order = s->call.order};
        status = sort_views(s, array, s->values, s->index);
    }
    bf_free(host);
    return status;
}

static bf_status sort_segments(bf_context *context, const bf_array *array, const bf_array *offsets,
                               const bf_order_options *options, const bf_array *values,
                               const bf_array *index) {
    sorting s = {.values = values, .index = index, .k = -1};
    bf_status status = bf_order_open(&s.call, context, array, NULL, options);
    if (status == BF_OK) status = bf_order_check_line(context, array, "values");
    if (status == BF_OK) status = bf_axis_check_offsets(context, offsets);
    s.call.inputs[1] = offsets;
    if (status == BF_OK) status = check_outputs(&s, 1, array->shape);
    return status == BF_OK ? sort_offsets(&s, offsets) : status;
}

bf_status bf_sort_segments(bf_context *context, const bf_array *array, const bf_array *offsets,
                           const bf_order_options *options, const bf_array *values,
                           const bf_array *index) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, sort_segments(context, array, offsets, options, values, index));
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { PAYLOADS = 64 };

typedef struct rows {
    bf_order_call call;
    int payloads;
    bf_flat keys, payload[PAYLOADS];
} rows;

static bf_status check_payloads(rows *r, const bf_array payloads[], int n) {
    bf_context *context = r->call.context;
    const bf_array *keys = r->call.inputs[0];
    if (n < 0 || n > PAYLOADS || (n > 0 && payloads == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "%d payloads are not 0 to %d", n, PAYLOADS);
    for (int i = 0; i < n; i++) {
        bf_status status = bf_flat_check(context, &payloads[i], payloads[i].dtype, "payload");
        if (status == BF_OK) status = bf_order_check_line(context, &payloads[i], "payload");
        if (status != BF_OK) return status;
        if (payloads[i].shape[0] != keys->shape[0])
            return bf_fail(context, BF_E_SHAPE, "payload %d has not as many rows as keys", i);
        bool shared = bf_arrays_overlap(keys, &payloads[i]);
        for (int j = 0; j < i; j++) shared |= bf_arrays_overlap(&payloads[j], &payloads[i]);
        if (shared) return bf_fail(context, BF_E_ARGUMENT, "payload %d shares memory", i);
    }
    return BF_OK;
}

static bf_status place_rows(rows *r, const bf_array payloads[]) {
    bf_memory memory[PAYLOADS + 1];
    memory[0] = bf_flat_memory(r->call.inputs[0]);
    for (int i = 0; i < r->payloads; i++) memory[1 + i] = bf_flat_memory(&payloads[i]);
    const bf_demand demand = {.share = BF_ORDER_SORTS, .n = 1 + r->payloads, .memory = memory};
    return bf_place(r->call.context, &demand);
}

/* Makes a copy of contiguous memory, too, if the call may be cancelled. */
static bf_status take_apart(bf_context *context, const bf_array *array, bf_flat *flat) {
    if (!bf_is_watched(context) || !bf_array_is_contiguous(array))
        return bf_flat_take(context, context->used, array->dtype, array, flat);
    bf_status status = bf_flat_prepare(context, context->used, array, true, flat);
    size_t bytes = (size_t)bf_bytes_of(flat->count, bf_key_bytes(array->dtype));
    if (status != BF_OK || bytes == 0) return status;
    return context->used->memory->copy(context, flat->data, array->data, bytes);
}

static bf_status run_rows(rows *r, const bf_array payloads[]) {
    bf_context *context = r->call.context;
    const bf_array *keys = r->call.inputs[0];
    void *data[PAYLOADS];
    int bytes[PAYLOADS];
    bf_status status = keys->dtype == BF_I128
                           ? bf_flat_take_ordered(context, context->used, keys, &r->keys)
                           : take_apart(context, keys, &r->keys);
    for (int i = 0; i < r->payloads && status == BF_OK; i++) {
        status = take_apart(context, &payloads[i], &r->payload[i]);
        data[i] = r->payload[i].data;
        bytes[i] = bf_key_bytes(payloads[i].dtype);
    }
    if (status == BF_OK)
        status = bf_order_refuse_nan(&r->call, keys->dtype, r->keys.data, r->keys.count);
    if (status == BF_OK) status = bf_watch_begin(context, bf_bytes_of(r->keys.count, 1));
    if (status != BF_OK) return status;
    const bf_order_lines line = {.dtype = bf_flat_dtype(keys->dtype),
                                 .values = r->keys.data,
                                 .count = 1,
                                 .length = r->keys.count,
                                 .order = r->call.order};
    status = context->used->order->sort_rows(context, &line, r->payloads, data, bytes);
    return bf_watch_end(context, status);
}

static bf_status sort_rows(bf_context *context, const bf_array *keys, const bf_array payloads[],
                           int columns, const bf_order_options *options) {
    rows r = {.payloads = columns};
    bf_status status = bf_order_open(&r.call, context, keys, NULL, options);
    if (status == BF_OK) status = bf_order_check_line(context, keys, "keys");
    if (status == BF_OK) status = bf_flat_check(context, keys, keys->dtype, "keys");
    if (status == BF_OK) status = check_payloads(&r, payloads, columns);
    if (status != BF_OK || keys->shape[0] == 0) return status;
    status = place_rows(&r, payloads);
    if (status == BF_OK) status = run_rows(&r, payloads);
    if (status == BF_OK) status = bf_flat_return_ordered(context, &r.keys);
    bf_flat_release(&r.keys);
    for (int i = 0; i < columns; i++) {
        if (status == BF_OK) status = bf_flat_return(context, &r.payload[i]);
        bf_flat_release(&r.payload[i]);
    }
    return status;
}

bf_status bf_sort_rows(bf_context *context, const bf_array *keys, const bf_array payloads[],
                       int columns, const bf_order_options *options) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, sort_rows(context, keys, payloads, columns, options));
}
