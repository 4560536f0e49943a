/* Calls on the order of values: their arguments and their place. */
#include "api/order/order.h"

#include "api/axis/axis.h"
#include "api/runtime/array.h"
#include "api/runtime/sized.h"
#include "rules/key/rank.h"
#include "rules/reduce/element.h"
#include "rules/reduce/result.h"
#include "seam/memory.h"

/* ---- arguments ------------------------------------------------------------------------------- */

bf_status bf_order_read_options(bf_context *context, bf_dtype dtype,
                                const bf_order_options *options, bf_order_options *o) {
    *o = (bf_order_options){.size = sizeof *o};
    if (options != NULL && !BF_READ(o, options, empty))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_order_options: size is not set, or from a newer version");
    if ((int)o->nan < 0 || o->nan > BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, "no NaN policy has number %d", (int)o->nan);
    if (strcmp(bf_quantile_method_name(o->method), "?") == 0)
        return bf_fail(context, BF_E_ARGUMENT, "no method has number %d", (int)o->method);
    if (!bf_scale_valid(dtype, o->scale))
        return bf_fail(context, BF_E_ARGUMENT, "%s takes no scale of %d", bf_dtype_name(dtype),
                       o->scale);
    if (o->whole && !bf_scale_valid(dtype, 1))
        return bf_fail(context, BF_E_ARGUMENT, "%s takes no option `whole`", bf_dtype_name(dtype));
    return BF_OK;
}

bf_status bf_order_take_empty(bf_context *context, bf_dtype to, const bf_value *given,
                              bf_value *empty) {
    const bf_dtype dtype = to == BF_I128 ? BF_I192 : to;
    const uint64_t *words = given->as.i192;
    if (given->dtype != dtype)
        return bf_fail(context, BF_E_ARGUMENT, "the value for results of nothing is %s: %s",
                       bf_dtype_name(given->dtype), bf_dtype_name(dtype));
    if (dtype == BF_I192 && words[2] != (uint64_t)((int64_t)words[1] >> 63))
        return bf_fail(context, BF_E_ARGUMENT,
                       "the value for results of nothing takes more than 128 bits");
    *empty = dtype == BF_I192 ? bf_value_from_i128((bf_i128)((bf_u128)words[1] << 64 | words[0]))
                              : bf_value_from_bits(to, bf_load_bits(&given->as, sizeof(uint64_t)));
    return BF_OK;
}

bf_order bf_order_of(const bf_order_options *o) {
    if (!o->descending) return BF_ASCENDING;
    return o->nan == BF_NAN_SKIP ? BF_DESCENDING_NAN_LAST : BF_DESCENDING;
}

static bf_status check_input(bf_context *context, const bf_array *array) {
    if (array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    int bytes = bf_key_bytes(array->dtype);
    if (bytes == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)array->dtype);
    int64_t count = bf_array_elements(array, bytes);
    if (count < 0) return bf_fail(context, BF_E_ARGUMENT, "an array is not well formed");
    for (int d = 0; d < array->ndim; d++)
        if (array->shape[d] > 1 && array->strides[d] == 0 && count > BF_REPEATS_MAX)
            return bf_fail(context, BF_E_ARGUMENT,
                           "an array that repeats memory has 2^40 elements");
    return BF_OK;
}

bf_status bf_order_open(bf_order_call *call, bf_context *context, const bf_array *array,
                        const bf_array *other, const bf_order_options *options) {
    *call = (bf_order_call){.context = context, .inputs = {array, other}};
    bf_status status = check_input(context, array);
    if (status == BF_OK && other != NULL) status = check_input(context, other);
    if (status != BF_OK) return status;
    if (other != NULL && other->dtype != array->dtype)
        return bf_fail(context, BF_E_DTYPE, "arrays of %s and %s", bf_dtype_name(array->dtype),
                       bf_dtype_name(other->dtype));
    status = bf_order_read_options(context, array->dtype, options, &call->options);
    call->order = bf_order_of(&call->options);
    return status;
}

bf_status bf_order_check_line(bf_context *context, const bf_array *array, const char *name) {
    if (array->ndim == 1) return BF_OK;
    return bf_fail(context, BF_E_SHAPE, "the %s have %d dimensions, not one", name, array->ndim);
}

bf_status bf_order_add_output(bf_order_call *call, const bf_array *array, bf_dtype dtype,
                              const char *name) {
    bf_context *context = call->context;
    int at = 0;
    bf_status status = bf_flat_check(context, array, dtype, name);
    if (status != BF_OK) return status;
    for (int i = 0; i < BF_ORDER_ARRAYS; i++) {
        if (bf_arrays_overlap(array, call->inputs[i]))
            return bf_fail(context, BF_E_ARGUMENT, "the %s lie in the memory of an input", name);
        if (bf_arrays_overlap(array, call->outputs[i]))
            return bf_fail(context, BF_E_ARGUMENT, "two outputs share memory");
        if (call->outputs[i] != NULL) at = i + 1;
    }
    call->outputs[at] = array;
    return BF_OK;
}

/* ---- place ----------------------------------------------------------------------------------- */

bf_status bf_order_choose(const bf_order_call *call, int share) {
    bf_memory memory[2 * BF_ORDER_ARRAYS];
    for (int i = 0; i < BF_ORDER_ARRAYS; i++) {
        memory[i] = bf_flat_memory(call->inputs[i]);
        memory[BF_ORDER_ARRAYS + i] = bf_flat_memory(call->outputs[i]);
    }
    const bf_demand demand = {.share = share,
                              .n = 2 * BF_ORDER_ARRAYS,
                              .memory = memory,
                              .cpu = call->on_cpu,
                              .on_host = "the CPU selects from i128 and pairs"};
    return bf_place(call->context, &demand);
}

/* A NaN is what a minimum refuses. */
bf_status bf_order_find_nan(bf_context *context, bf_dtype dtype, const void *values, int64_t n) {
    if (!bf_dtype_is_float(dtype)) return BF_OK;
    const bf_reduce_options options = {.size = sizeof options, .nan = BF_NAN_ERROR};
    const bf_operands operands = {BF_MIN, bf_kind_of(BF_MIN, dtype), dtype, values, NULL};
    bf_fibres fibre = {.reduced = 1, .count = 1, .length = n};
    fibre.reduced_shape[0] = n;
    fibre.reduced_strides[0][0] = 1;
    bf_results results = {.options = &options, .to = dtype};
    results.values = context->used->memory->allocate(context, sizeof(uint64_t));
    if (results.values == NULL) return BF_E_MEMORY;
    bf_status status = context->used->axis->reduce_fibres(context, &operands, &fibre, &results);
    context->used->memory->release(context, results.values);
    return status;
}

bf_status bf_order_refuse_nan(const bf_order_call *call, bf_dtype dtype, const void *values,
                              int64_t n) {
    if (call->options.nan != BF_NAN_ERROR) return BF_OK;
    return bf_order_find_nan(call->context, dtype, values, n);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

void bf_order_move_axes(const bf_array *array, const bool named[BF_MAX_DIMS], bf_array *view) {
    *view = *array;
    int at = 0;
    for (int last = 0; last < 2; last++) {
        for (int d = 0; d < array->ndim; d++) {
            if (named[d] != (last == 1)) continue;
            view->shape[at] = array->shape[d];
            view->strides[at++] = array->strides[d];
        }
    }
}

bf_status bf_order_prepare(bf_context *context, const bf_array *const outputs[2], int64_t n,
                           bool apart, bf_order_outputs *o) {
    bf_status status = BF_OK;
    for (int i = 0; i < 2 && status == BF_OK; i++)
        status = bf_flat_prepare_ordered(
            context, context->used, bf_order_cut(outputs[i], n, &o->cut[i]), apart, &o->flat[i]);
    return status;
}

bf_status bf_order_return(bf_context *context, const bf_array *const outputs[2], int64_t n,
                          bf_order_outputs *o, bf_status status) {
    for (int i = 0; i < 2; i++) {
        o->flat[i].array = bf_order_cut(outputs[i], n, &o->cut[i]);
        o->flat[i].count = n;
        if (status == BF_OK) status = bf_flat_return_ordered(context, &o->flat[i]);
        bf_flat_release(&o->flat[i]);
    }
    return status;
}
