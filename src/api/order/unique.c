/* Different values, and the one that occurs most often. */
#include "api/order/order.h"

#include "api/order/sorter.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"
#include "rules/reduce/result.h"
#include "seam/axis.h"
#include "seam/memory.h"

/* ---- different values ------------------------------------------------------------------------ */

/* The elements of a checked array. */
static int64_t count_of(const bf_array *array) {
    return bf_array_elements(array, bf_key_bytes(array->dtype));
}

/* Checks an output, and sets *room to the values that it has room for, if it is less. */
static bf_status check_room(bf_order_call *call, const bf_array *output, bf_dtype dtype,
                            const char *name, int64_t *room) {
    if (output == NULL) return BF_OK;
    bf_status status = bf_order_add_output(call, output, dtype, name);
    if (status == BF_OK) status = bf_order_check_line(call->context, output, name);
    if (status == BF_OK && output->shape[0] < *room) *room = output->shape[0];
    return status;
}

/* Sets *skipped to 1 if NaNs are left out and there is one: it is the last value, then. */
static bf_status count_skipped(const bf_order_call *call, const bf_flat *input, int64_t *skipped) {
    *skipped = 0;
    if (call->options.nan == BF_NAN_PROPAGATE) return BF_OK;
    bf_status status =
        bf_order_find_nan(call->context, input->array->dtype, input->data, input->count);
    if (call->options.nan == BF_NAN_ERROR || status != BF_E_NAN) return status;
    *skipped = 1;
    return BF_OK;
}

/* Has the backend find the different values, for which flat has memory. */
static bf_status run_backend(bf_context *context, const bf_flat *input, bf_flat flat[2],
                             int64_t room, int64_t *n) {
    bf_status status = bf_watch_begin(context, input->count);
    if (status != BF_OK) return status;
    status = context->used->order->unique(context, bf_flat_dtype(input->array->dtype), input->data,
                                          input->count, flat[0].data, flat[1].data, room, n);
    return bf_watch_end(context, status);
}

static bf_status check_found(const bf_order_call *call, int64_t n, int64_t room) {
    if (n <= room) return BF_OK;
    return bf_fail(call->context, BF_E_SHAPE, "there are %lld different values, and room for %lld",
                   (long long)n, (long long)room);
}

/* Finds the different values of contiguous elements, and writes them if there is room. Nothing is
 * written if there is too little, nor behind what there is: by copies of the outputs. */
static bf_status find_unique(const bf_order_call *call, const bf_flat *input,
                             const bf_array *const outputs[2], int64_t room, int64_t *n) {
    bf_context *context = call->context;
    bf_order_outputs o = {.cut = {{.data = NULL}}};
    int64_t skipped;
    const bool writes = outputs[0] != NULL || outputs[1] != NULL;
    bf_status status = count_skipped(call, input, &skipped);
    const bool apart = bf_is_watched(context) || room < input->count || skipped > 0;
    if (status == BF_OK) status = bf_order_prepare(context, outputs, room + skipped, apart, &o);
    if (status == BF_OK) status = run_backend(context, input, o.flat, room + skipped, n);
    if (status == BF_OK) *n -= skipped;
    if (status == BF_OK && writes) status = check_found(call, *n, room);
    return bf_order_return(context, outputs, *n, &o, status);
}

/* Does so where memory does not hold what that takes: their number is known before they are. */
static bf_status spill_unique(const bf_order_call *call, const bf_flat *input,
                              const bf_array *const outputs[2], int64_t room, int64_t *n) {
    bf_context *context = call->context;
    bf_order_outputs o = {.cut = {{.data = NULL}}};
    bf_sorter s;
    const bf_order_plan plan = {.context = context,
                                .dtype = bf_flat_dtype(input->array->dtype),
                                .different = true,
                                .beside = outputs[1] != NULL};
    bf_sorter_open(&s, &plan, call->options.nan, 0);
    bf_status status = bf_sorter_take(&s, input->data, NULL, input->count);
    if (status == BF_OK) status = bf_sorter_finish(&s);
    *n = s.count;
    if (status == BF_OK && (outputs[0] != NULL || outputs[1] != NULL))
        status = check_found(call, *n, room);
    if (status == BF_OK)
        status = bf_order_prepare(context, outputs, *n, bf_is_watched(context), &o);
    if (status == BF_OK) status = bf_sorter_give(&s, o.flat[0].data, o.flat[1].data, *n, n);
    bf_sorter_close(&s);
    return bf_order_return(context, outputs, *n, &o, status);
}

static bf_status list_unique(bf_context *context, const bf_array *array,
                             const bf_order_options *options, const bf_array *values,
                             const bf_array *counts, int64_t *n) {
    bf_order_call call;
    bf_flat input;
    if (n == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the number of values");
    bf_status status = bf_order_open(&call, context, array, NULL, options);
    *n = 0;
    const int64_t count = status == BF_OK ? count_of(array) : 0;
    int64_t room = count;
    if (status == BF_OK) status = check_room(&call, values, array->dtype, "values", &room);
    if (status == BF_OK) status = check_room(&call, counts, BF_I64, "counts", &room);
    if (status != BF_OK || count == 0) return status;
    status = bf_order_choose(&call, BF_ORDER_SORTS);
    if (status != BF_OK) return status;
    const bf_array *const outputs[2] = {values, counts};
    status = bf_flat_take_ordered(context, context->used, array, &input);
    if (status == BF_OK) status = find_unique(&call, &input, outputs, room, n);
    if (status == BF_E_MEMORY && bf_order_spills(context))
        status = spill_unique(&call, &input, outputs, room, n);
    bf_flat_release(&input);
    return status;
}

bf_status bf_unique(bf_context *context, const bf_array *array, const bf_order_options *options,
                    const bf_array *values, const bf_array *counts, int64_t *n) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, list_unique(context, array, options, values, counts, n));
}

/* ---- the mode -------------------------------------------------------------------------------- */

/* Sets *at to the place of the first greatest of n counts. */
static bf_status find_greatest(bf_context *context, const void *counts, int64_t n, int64_t *at) {
    const bf_backend *on = context->used;
    const bf_reduce_options options = {.size = sizeof options};
    const bf_operands operands = {BF_ARGMAX, bf_kind_of(BF_ARGMAX, BF_I64), BF_I64, counts, NULL};
    bf_fibres fibre = {.reduced = 1, .count = 1, .length = n};
    fibre.reduced_shape[0] = n;
    fibre.reduced_strides[0][0] = 1;
    bf_results results = {.options = &options, .to = BF_I64};
    results.values = on->memory->allocate(context, sizeof *at);
    if (results.values == NULL) return BF_E_MEMORY;
    bf_status status = on->axis->reduce_fibres(context, &operands, &fibre, &results);
    if (status == BF_OK) status = on->memory->copy(context, at, results.values, sizeof *at);
    on->memory->release(context, results.values);
    return status;
}

/* Reads value and count number `at` of n different values. */
static bf_status read_mode(bf_context *context, bf_dtype dtype, const char *values,
                           const char *counts, int64_t n, bf_value *value, int64_t *count) {
    const bf_memory_backend *memory = context->used->memory;
    int64_t at = 0, most = 0;
    uint64_t bits[2] = {0};
    size_t bytes = (size_t)bf_key_bytes(dtype);
    bf_status status = find_greatest(context, counts, n, &at);
    if (status == BF_OK) status = memory->copy(context, bits, values + at * (int64_t)bytes, bytes);
    if (status == BF_OK) status = memory->copy(context, &most, counts + at * 8, sizeof most);
    if (status != BF_OK) return status;
    *value = dtype == BF_I128 ? bf_value_from_i128(bf_i128_of_pair(bits))
                              : bf_value_from_bits(dtype, bits[0]);
    if (count != NULL) *count = most;
    return BF_OK;
}

static bf_status find_mode(const bf_order_call *call, const bf_flat *input, bf_value *value,
                           int64_t *count) {
    bf_context *context = call->context;
    bf_array arrays[2] = {bf_array_of(bf_flat_dtype(input->array->dtype), NULL, input->count),
                          bf_array_of(BF_I64, NULL, input->count)};
    bf_flat flat[2] = {{.copy = NULL}, {.copy = NULL}};
    int64_t n = 0, skipped;
    bf_status status = count_skipped(call, input, &skipped);
    for (int i = 0; i < 2 && status == BF_OK; i++) {
        arrays[i].data = input->data; /* well formed; no memory of it is used */
        status = bf_flat_prepare(context, context->used, &arrays[i], true, &flat[i]);
    }
    if (status == BF_OK) status = run_backend(context, input, flat, input->count, &n);
    if (status == BF_OK && n == skipped)
        status = bf_fail(context, BF_E_EMPTY, "no value: the mode of NaNs that are skipped");
    if (status == BF_OK)
        status = read_mode(context, input->array->dtype, flat[0].data, flat[1].data, n - skipped,
                           value, count);
    bf_flat_release(&flat[0]);
    bf_flat_release(&flat[1]);
    return status;
}

static bf_status mode_of(bf_context *context, const bf_array *array,
                         const bf_order_options *options, bf_value *value, int64_t *count) {
    bf_order_call call;
    bf_flat input;
    if (value == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the value");
    bf_status status = bf_order_open(&call, context, array, NULL, options);
    if (status != BF_OK) return status;
    if (array->dtype == BF_PAIR) return bf_fail(context, BF_E_DTYPE, "no value is a pair");
    if (count_of(array) == 0)
        return bf_fail(context, BF_E_EMPTY, "no value: the mode of no elements");
    status = bf_order_choose(&call, BF_ORDER_SORTS);
    if (status != BF_OK) return status;
    status = bf_flat_take_ordered(context, context->used, array, &input);
    if (status == BF_OK) status = bf_watch_begin(context, input.count);
    if (status == BF_OK) status = bf_watch_end(context, find_mode(&call, &input, value, count));
    bf_flat_release(&input);
    return status;
}

bf_status bf_mode(bf_context *context, const bf_array *array, const bf_order_options *options,
                  bf_value *value, int64_t *count) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, mode_of(context, array, options, value, count));
}
