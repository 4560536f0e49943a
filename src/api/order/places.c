/* Places in an order: searching in sorted values, and whether values are sorted. */
#include "api/order/order.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"

static bf_status search_flat(bf_order_call *call, bool right, const bf_flat flat[2],
                             const bf_array *output) {
    bf_context *context = call->context;
    bf_flat places;
    bf_status status =
        bf_flat_prepare(context, context->used, output, bf_is_watched(context), &places);
    if (status == BF_OK)
        status = bf_watch_begin(context, bf_bytes_of(flat[1].count, sizeof(int64_t)));
    if (status == BF_OK) {
        status = context->used->order->search(context, bf_flat_dtype(call->inputs[0]->dtype),
                                              call->order, flat[0].data, flat[0].count,
                                              flat[1].data, flat[1].count, right, places.data);
        status = bf_watch_end(context, status);
    }
    if (status == BF_OK) status = bf_flat_return(context, &places);
    bf_flat_release(&places);
    return status;
}

static bf_status search_sorted(bf_context *context, const bf_array *sorted, const bf_array *wanted,
                               int right, const bf_order_options *options, const bf_array *places) {
    bf_order_call call;
    bf_flat flat[2] = {{.copy = NULL}, {.copy = NULL}};
    if (wanted == NULL || places == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no values, or no place for their places");
    bf_status status = bf_order_open(&call, context, sorted, wanted, options);
    if (status == BF_OK) status = bf_order_check_line(context, sorted, "sorted values");
    if (status == BF_OK) status = bf_order_add_output(&call, places, BF_I64, "places");
    if (status == BF_OK && !bf_same_shape(wanted, places))
        status = bf_fail(context, BF_E_SHAPE, "the shapes of wanted and places differ");
    if (status != BF_OK || bf_array_count(places) == 0) return status;
    status = bf_order_choose(&call, BF_ORDER_SORTS);
    for (int i = 0; i < 2 && status == BF_OK; i++)
        status = bf_flat_take_ordered(context, context->used, call.inputs[i], &flat[i]);
    if (status == BF_OK) status = search_flat(&call, right != 0, flat, places);
    bf_flat_release(&flat[0]);
    bf_flat_release(&flat[1]);
    return status;
}

bf_status bf_searchsorted(bf_context *context, const bf_array *sorted, const bf_array *wanted,
                          int right, const bf_order_options *options, const bf_array *places) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, search_sorted(context, sorted, wanted, right, options, places));
}

static bf_status look_at_order(bf_context *context, const bf_array *array,
                               const bf_order_options *options, int *sorted) {
    bf_order_call call;
    bf_flat flat;
    bool in_order = true;
    if (sorted == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the answer");
    bf_status status = bf_order_open(&call, context, array, NULL, options);
    if (status == BF_OK) status = bf_order_check_line(context, array, "values");
    if (status != BF_OK) return status;
    *sorted = 1;
    if (array->shape[0] == 0) return BF_OK;
    status = bf_order_choose(&call, BF_ORDER_SELECTS);
    if (status != BF_OK) return status;
    status = bf_flat_take_ordered(context, context->used, array, &flat);
    if (status == BF_OK) status = bf_order_refuse_nan(&call, array->dtype, flat.data, flat.count);
    if (status == BF_OK)
        status = context->used->order->is_sorted(context, bf_flat_dtype(array->dtype), call.order,
                                                 flat.data, flat.count, &in_order);
    bf_flat_release(&flat);
    *sorted = in_order;
    return status;
}

bf_status bf_is_sorted(bf_context *context, const bf_array *array, const bf_order_options *options,
                       int *sorted) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, look_at_order(context, array, options, sorted));
}
