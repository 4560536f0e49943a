/* Reductions of rows: by segments and by index. */
#include "api/axis/axis.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "seam/memory.h"

/* Checks the shape of the results: (slots, the array's other extents). */
static bf_status check_shape(const bf_axis_call *call, const bf_array *results) {
    const bf_array *a = call->inputs[0];
    bool same = results->ndim == a->ndim && results->ndim > 0 && results->shape[0] >= 0;
    for (int d = 1; same && d < a->ndim; d++) same = results->shape[d] == a->shape[d];
    if (same) return BF_OK;
    return bf_fail(call->context, BF_E_SHAPE,
                   "the values have not the shape of the array but for the first axis");
}

bf_status bf_axis_check_wrong(bf_context *context, bool later, const int64_t *wrong) {
    if (later && wrong != NULL)
        return bf_fail(context, BF_E_ARGUMENT,
                       "a call that fails later has no place for what is wrong");
    if (!later && (wrong == NULL || (uintptr_t)wrong % 8 != 0))
        return bf_fail(context, BF_E_ARGUMENT, "no place, aligned to 8 bytes, for what is wrong");
    return BF_OK;
}

/* On a stream: nothing is copied, and there is a place for what is wrong. */
static bf_status check_queued(const bf_axis_call *call) {
    bf_status status = bf_axis_check_wrong(call->context, call->results.later, call->results.wrong);
    if (status != BF_OK) return status;
    for (int i = 0; i < BF_AXIS_INPUTS; i++) {
        const bf_array *input = call->inputs[i];
        if (input != NULL && bf_array_count(input) > 0 && !bf_array_is_contiguous(input))
            return bf_fail(call->context, BF_E_ARGUMENT,
                           "on a stream arrays of rows are contiguous");
    }
    return BF_OK;
}

/* There are no results: nothing is wrong. */
static bf_status settle_nothing(bf_axis_call *call) {
    static const int64_t none = -1;
    bf_context *context = call->context;
    if (call->results.wrong == NULL) return BF_OK;
    bf_status status = bf_axis_place(call, NULL);
    if (status != BF_OK) return status;
    return context->used->memory->copy(context, call->results.wrong, &none, sizeof none);
}

/* Checks what depends on the number of slots, which that of the results is. */
static bf_status read_rows(bf_axis_call *call, bf_rows_by by, const bf_array *values,
                           bf_rows *rows) {
    bf_context *context = call->context;
    if (values == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the values");
    bf_status status = check_shape(call, values);
    if (status != BF_OK) return status;
    int64_t slots = values->shape[0];
    if (by == BF_ROWS_BY_INDEX && slots > BF_SLOTS_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "%lld slots are more than 2^31", (long long)slots);
    status = bf_axis_read_rows(context, call->inputs[0], call->inputs[2], by, slots, rows);
    if (status == BF_OK && by == BF_ROWS_BY_INDEX && slots == 0 && rows->count > 0)
        return bf_fail(context, BF_E_ARGUMENT, "there are indices, but no slots");
    return status;
}

/* Reduces rows by contiguous places. */
static bf_status reduce_placed(bf_axis_call *call, bf_rows *rows) {
    bf_flat places;
    bf_context *context = call->context;
    bf_status status =
        bf_flat_take(context, context->used, rows->places_dtype, call->inputs[2], &places);
    rows->places = places.data;
    if (status == BF_OK) status = bf_axis_reduce_rows(call, rows);
    bf_flat_release(&places);
    return status;
}

/* Reduces the rows of an opened call. */
static bf_status run_call(bf_axis_call *call, bf_rows_by by, const bf_array *places,
                          const bf_array *values, const bf_array *fits) {
    bf_rows rows;
    call->inputs[2] = places;
    bf_status status = read_rows(call, by, values, &rows);
    if (status == BF_OK) status = bf_axis_set_outputs(call, values, fits);
    if (status == BF_OK && call->results.queued) status = check_queued(call);
    if (status != BF_OK) return status;
    if (call->values.count == 0) return settle_nothing(call);
    status = bf_axis_place(call, NULL);
    if (status != BF_OK) return status;
    status = bf_axis_prepare(call, rows.count, true);
    if (status == BF_OK) status = reduce_placed(call, &rows);
    return bf_axis_finish(call, status);
}

static bf_status reduce_rows(bf_context *context, bf_reduction op, const bf_array *a,
                             const bf_array *b, bf_rows_by by, const bf_array *places,
                             const bf_reduce_options *options, const bf_array *values,
                             const bf_array *fits) {
    bf_axis_call call;
    bf_status status = bf_axis_open(&call, context, op, a, b, options);
    return status == BF_OK ? run_call(&call, by, places, values, fits) : status;
}

static bf_status reduce_pair_rows(bf_context *context, bf_reduction op, const bf_array *a,
                                  const bf_array *b, bf_rows_by by, const bf_array *places,
                                  const bf_reduce_options *options, const bf_array *values,
                                  const bf_array *fits) {
    bf_status status = bf_axis_check_pair(context, op, b);
    return status == BF_OK ? reduce_rows(context, op, a, b, by, places, options, values, fits)
                           : status;
}

static bf_status enqueue_rows(bf_context *context, bf_reduction op, const bf_array *a,
                              bf_rows_by by, const bf_array *places,
                              const bf_reduce_options *options, const bf_array *values,
                              const bf_array *fits, int64_t *wrong) {
    bf_axis_call call;
    bf_status status = bf_axis_open_queued(&call, context, op, a, NULL, options);
    call.results.wrong = wrong;
    return status == BF_OK ? run_call(&call, by, places, values, fits) : status;
}

/* ---- segments -------------------------------------------------------------------------------- */

bf_status bf_reduce_segments(bf_context *context, bf_reduction op, const bf_array *array,
                             const bf_array *offsets, const bf_reduce_options *options,
                             const bf_array *values, const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_rows(context, op, array, NULL, BF_ROWS_BY_OFFSETS, offsets,
                                         options, values, fits));
}

bf_status bf_reduce_pair_segments(bf_context *context, bf_reduction op, const bf_array *a,
                                  const bf_array *b, const bf_array *offsets,
                                  const bf_reduce_options *options, const bf_array *values,
                                  const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_pair_rows(context, op, a, b, BF_ROWS_BY_OFFSETS, offsets,
                                              options, values, fits));
}

bf_status bf_dot_segments(bf_context *context, const bf_array *a, const bf_array *b,
                          const bf_array *offsets, const bf_reduce_options *options,
                          const bf_array *values, const bf_array *fits) {
    return bf_reduce_pair_segments(context, BF_DOT, a, b, offsets, options, values, fits);
}

bf_status bf_reduce_segments_async(bf_context *context, bf_reduction op, const bf_array *array,
                                   const bf_array *offsets, const bf_reduce_options *options,
                                   const bf_array *values, const bf_array *fits, int64_t *wrong) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, enqueue_rows(context, op, array, BF_ROWS_BY_OFFSETS, offsets, options,
                                          values, fits, wrong));
}

/* ---- index ----------------------------------------------------------------------------------- */

bf_status bf_reduce_index(bf_context *context, bf_reduction op, const bf_array *array,
                          const bf_array *index, const bf_reduce_options *options,
                          const bf_array *values, const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_rows(context, op, array, NULL, BF_ROWS_BY_INDEX, index, options,
                                         values, fits));
}

bf_status bf_reduce_pair_index(bf_context *context, bf_reduction op, const bf_array *a,
                               const bf_array *b, const bf_array *index,
                               const bf_reduce_options *options, const bf_array *values,
                               const bf_array *fits) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_pair_rows(context, op, a, b, BF_ROWS_BY_INDEX, index, options,
                                              values, fits));
}

bf_status bf_dot_index(bf_context *context, const bf_array *a, const bf_array *b,
                       const bf_array *index, const bf_reduce_options *options,
                       const bf_array *values, const bf_array *fits) {
    return bf_reduce_pair_index(context, BF_DOT, a, b, index, options, values, fits);
}

bf_status bf_reduce_index_async(bf_context *context, bf_reduction op, const bf_array *array,
                                const bf_array *index, const bf_reduce_options *options,
                                const bf_array *values, const bf_array *fits, int64_t *wrong) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, enqueue_rows(context, op, array, BF_ROWS_BY_INDEX, index, options,
                                          values, fits, wrong));
}
