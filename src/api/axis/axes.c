/* Reductions along axes. */
#include "api/axis/axis.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"

/* Checks the shape of the results: without the reduced dimensions, or with an extent of 1 there. */
static bf_status check_shape(const bf_axis_call *call, const bool reduced[BF_MAX_DIMS],
                             const bf_array *results) {
    const bf_array *a = call->inputs[0];
    int64_t without[BF_MAX_DIMS], with[BF_MAX_DIMS];
    int kept = 0;
    if (results == NULL) return bf_fail(call->context, BF_E_ARGUMENT, "no place for the values");
    for (int d = 0; d < a->ndim; d++) {
        with[d] = reduced[d] ? 1 : a->shape[d];
        if (!reduced[d]) without[kept++] = a->shape[d];
    }
    if (bf_array_has_shape(results, kept, without) || bf_array_has_shape(results, a->ndim, with))
        return BF_OK;
    return bf_fail(call->context, BF_E_SHAPE,
                   "the values have not the shape of the array without its reduced axes");
}

/* Fibres of no elements: slots to which no row goes. */
static bf_status reduce_nothing(bf_axis_call *call) {
    bf_rows rows = {.width = 1, .slots = call->values.count, .by = BF_ROWS_BY_INDEX};
    rows.places_dtype = BF_I64;
    return call->context->used->axis->reduce_rows(call->context, &call->operands, &rows,
                                                  &call->results);
}

static bf_status reduce_fibres(bf_axis_call *call, const bool reduced[BF_MAX_DIMS]) {
    bf_context *context = call->context;
    const bf_array *a = call->inputs[0];
    bf_operands *o = &call->operands;
    bool ordered = o->kind == BF_KIND_PRODUCT_TREE || bf_is_indexed(o->op);
    bf_fibres fibres;
    bf_axis_find_fibres(a, call->inputs[1], reduced, !ordered, &fibres, o);
    bf_status status = bf_axis_prepare(call, fibres.length, false);
    if (status != BF_OK) return status;
    if (call->results.queued)
        return context->used->axis->reduce_fibres(context, o, &fibres, &call->results);
    int64_t bytes = bf_bytes_of(bf_array_count(a), bf_dtype_bytes(o->dtype));
    status = bf_watch_begin(context, bytes);
    if (status == BF_OK)
        status = context->used->axis->reduce_fibres(context, o, &fibres, &call->results);
    return bf_watch_end(context, status);
}

/* Reduces the arrays of an opened call. */
static bf_status run_call(bf_axis_call *call, const int axes[], int n, const bf_array *values,
                          const bf_array *fits) {
    bool reduced[BF_MAX_DIMS];
    const bf_array *a = call->inputs[0];
    bf_status status = bf_array_read_axes(call->context, a, axes, n, reduced);
    if (status == BF_OK) status = check_shape(call, reduced, values);
    if (status == BF_OK) status = bf_axis_set_outputs(call, values, fits);
    if (status != BF_OK || call->values.count == 0) return status;
    status = bf_axis_place(call, NULL);
    if (status != BF_OK) return status;
    if (bf_array_count(a) == 0) {
        status = bf_axis_prepare(call, 0, true);
        if (status == BF_OK) status = reduce_nothing(call);
    } else {
        status = reduce_fibres(call, reduced);
    }
    return bf_axis_finish(call, status);
}

static bf_status reduce_axes(bf_context *context, bf_reduction op, const bf_array *a,
                             const bf_array *b, const int axes[], int n,
                             const bf_reduce_options *options, const bf_array *values,
                             const bf_array *fits) {
    bf_axis_call call;
    bf_status status = bf_axis_open(&call, context, op, a, b, options);
    return status == BF_OK ? run_call(&call, axes, n, values, fits) : status;
}

static bf_status enqueue_axes(bf_context *context, bf_reduction op, const bf_array *a,
                              const bf_array *b, const int axes[], int n,
                              const bf_reduce_options *options, const bf_array *values,
                              const bf_array *fits) {
    bf_axis_call call;
    bf_status status = bf_axis_open_queued(&call, context, op, a, b, options);
    return status == BF_OK ? run_call(&call, axes, n, values, fits) : status;
}

bf_status bf_reduce_axes(bf_context *context, bf_reduction op, const bf_array *array,
                         const int axes[], int n, const bf_reduce_options *options,
                         const bf_array *values, const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_axes(context, op, array, NULL, axes, n, options, values, fits));
}

bf_status bf_reduce_pair_axes(bf_context *context, bf_reduction op, const bf_array *a,
                              const bf_array *b, const int axes[], int n,
                              const bf_reduce_options *options, const bf_array *values,
                              const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    bf_status status = bf_axis_check_pair(context, op, b);
    if (status == BF_OK) status = reduce_axes(context, op, a, b, axes, n, options, values, fits);
    return bf_leave(context, status);
}

bf_status bf_dot_axes(bf_context *context, const bf_array *a, const bf_array *b, const int axes[],
                      int n, const bf_reduce_options *options, const bf_array *values,
                      const bf_array *fits) {
    return bf_reduce_pair_axes(context, BF_DOT, a, b, axes, n, options, values, fits);
}

bf_status bf_reduce_axes_async(bf_context *context, bf_reduction op, const bf_array *array,
                               const int axes[], int n, const bf_reduce_options *options,
                               const bf_array *values, const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    enqueue_axes(context, op, array, NULL, axes, n, options, values, fits));
}

bf_status bf_reduce_pair_axes_async(bf_context *context, bf_reduction op, const bf_array *a,
                                    const bf_array *b, const int axes[], int n,
                                    const bf_reduce_options *options, const bf_array *values,
                                    const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    bf_status status = bf_axis_check_pair(context, op, b);
    if (status == BF_OK) status = enqueue_axes(context, op, a, b, axes, n, options, values, fits);
    return bf_leave(context, status);
}
