/* A call for many results, step by step: its arguments, its outputs, its place. */
#include "api/axis/axis.h"

#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "rules/key/rank.h"
#include "rules/reduce/element.h"
#include "seam/memory.h"

#include <stdlib.h>

/* ---- arguments ------------------------------------------------------------------------------- */

static bf_status check_op(bf_context *context, bf_reduction op, const bf_array *b) {
    if (strcmp(bf_reduction_name(op), "?") == 0 || op == BF_DESCRIBE)
        return bf_fail(context, BF_E_ARGUMENT, "no reduction to a value has number %d", (int)op);
    if ((b != NULL) != bf_takes_pairs(op))
        return bf_fail(context, BF_E_ARGUMENT, "%s takes %s", bf_reduction_name(op),
                       b == NULL ? "two arrays" : "one array");
    return BF_OK;
}

bf_status bf_axis_check_pair(bf_context *context, bf_reduction op, const bf_array *b) {
    if (b == NULL) return bf_fail(context, BF_E_ARGUMENT, "no second array");
    return bf_check_takes_pairs(context, op);
}

bf_dtype bf_reduce_dtype(bf_reduction op, bf_dtype dtype, const bf_reduce_options *options) {
    bf_context messages = {.fixed = NULL}; /* nobody reads them */
    bf_reduce_options read;
    if (strcmp(bf_reduction_name(op), "?") == 0 || op == BF_DESCRIBE) return BF_NONE;
    if (bf_dtype_bytes(dtype) == 0) return BF_NONE;
    if (bf_read_reduce_options(&messages, op, BF_NONE, options, &read) != BF_OK) return BF_NONE;
    return bf_element_dtype(op, dtype, read.out_dtype);
}

/* Keeps the caller's value for results of nothing, if op has any. */
static bf_status read_empty(bf_axis_call *call) {
    const bf_value *given = call->options.empty;
    call->options.empty = NULL;
    if (given == NULL || call->operands.kind != BF_KIND_EXTREME) return BF_OK;
    if (given->dtype != call->results.to)
        return bf_fail(call->context, BF_E_ARGUMENT, "the value for results of nothing is %s: %s",
                       bf_dtype_name(given->dtype), bf_dtype_name(call->results.to));
    call->empty = *given;
    call->options.empty = &call->empty;
    return BF_OK;
}

bf_status bf_axis_read_options(bf_axis_call *call, bf_reduction op, bf_dtype dtype,
                               const bf_reduce_options *options) {
    bf_status status = bf_read_reduce_options(call->context, op, BF_NONE, options, &call->options);
    if (status != BF_OK) return status;
    call->operands = (bf_operands){.op = op, .kind = bf_kind_of(op, dtype), .dtype = dtype};
    call->results.options = &call->options;
    call->results.to = bf_element_dtype(op, dtype, call->options.out_dtype);
    return read_empty(call);
}

bf_status bf_axis_open(bf_axis_call *call, bf_context *context, bf_reduction op, const bf_array *a,
                       const bf_array *b, const bf_reduce_options *options) {
    *call = (bf_axis_call){.context = context, .inputs = {a, b}};
    if (a == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    bf_status status = check_op(context, op, b);
    if (status == BF_OK) status = bf_axis_check_arrays(context, a, b);
    return status == BF_OK ? bf_axis_read_options(call, op, a->dtype, options) : status;
}

bf_status bf_axis_open_queued(bf_axis_call *call, bf_context *context, bf_reduction op,
                              const bf_array *a, const bf_array *b,
                              const bf_reduce_options *options) {
    bf_status status = bf_axis_open(call, context, op, a, b, options);
    if (status != BF_OK) return status;
    call->results.queued = true;
    call->results.later = call->options.later != 0;
    if (call->results.later) return BF_OK;
    if (call->options.nan == BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT,
                       "a call on a stream fails for a NaN later, or never");
    if (call->operands.kind == BF_KIND_EXTREME && call->options.empty == NULL) {
        bf_dtype to = call->results.to;
        uint64_t bits = bf_dtype_is_float(to) ? bf_format_nan(bf_format_of(to)) : 0;
        call->empty = bf_value_from_bits(to, bits);
        call->options.empty = &call->empty;
    }
    return BF_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

bf_status bf_axis_check_output(const bf_axis_call *call, const bf_array *array, bf_dtype dtype,
                               const char *name) {
    bf_status status = bf_flat_check(call->context, array, dtype, name);
    if (status != BF_OK) return status;
    for (int i = 0; i < BF_AXIS_INPUTS; i++)
        if (bf_arrays_overlap(array, call->inputs[i]))
            return bf_fail(call->context, BF_E_ARGUMENT, "the %s lie in the memory of an input",
                           name);
    if (call->results.queued && bf_array_count(array) > 0 && !bf_array_is_contiguous(array))
        return bf_fail(call->context, BF_E_ARGUMENT, "on a stream the %s are contiguous", name);
    return BF_OK;
}

bf_status bf_axis_set_outputs(bf_axis_call *call, const bf_array *values, const bf_array *fits) {
    bf_status status = bf_axis_check_output(call, values, call->results.to, "values");
    if (status != BF_OK) return status;
    call->values = (bf_flat){.array = values, .count = bf_array_count(values)};
    if (fits == NULL) return BF_OK;
    status = bf_axis_check_output(call, fits, BF_BOOL, "fits");
    if (status != BF_OK) return status;
    if (!bf_same_shape(values, fits))
        return bf_fail(call->context, BF_E_SHAPE, "the shapes of values and fits differ");
    if (bf_arrays_overlap(values, fits))
        return bf_fail(call->context, BF_E_ARGUMENT, "values and fits share memory");
    call->fits = (bf_flat){.array = fits, .count = call->values.count};
    return BF_OK;
}

/* ---- place ----------------------------------------------------------------------------------- */

static bf_status check_reach(const bf_axis_call *call, const bf_memory *memory, int n) {
    if (!call->results.queued || call->context->used == &bf_backend_cpu) return BF_OK;
    for (int i = 0; i < n; i++)
        if (memory[i].bytes > 0 && bf_where_is(memory[i].data, NULL) == BF_WHERE_HOST)
            return bf_fail(call->context, BF_E_ARGUMENT,
                           "on a stream all arrays are in memory that the GPU reaches");
    return BF_OK;
}

bf_status bf_axis_place(bf_axis_call *call, const bf_array *more) {
    bf_memory memory[BF_AXIS_INPUTS + 4];
    int n = 0;
    for (int i = 0; i < BF_AXIS_INPUTS; i++) memory[n++] = bf_flat_memory(call->inputs[i]);
    memory[n++] = bf_flat_memory(call->values.array);
    memory[n++] = bf_flat_memory(call->fits.array);
    memory[n++] = bf_flat_memory(more);
    if (call->results.wrong != NULL)
        memory[n++] = (bf_memory){call->results.wrong, sizeof *call->results.wrong};
    bf_demand demand = bf_reduce_demand(call->operands.kind, call->operands.dtype);
    demand.n = n;
    demand.memory = memory;
    bf_status status = bf_place(call->context, &demand);
    if (status == BF_OK) status = check_reach(call, memory, n);
    if (call->results.later && call->context->used == &bf_backend_cpu)
        call->results.queued = call->results.later = false; /* it is done when the call returns */
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

/* May an integer result of so many elements need more than 64 bits? */
static bool may_overflow(const bf_operands *o, bf_dtype to, int64_t longest) {
    if (bf_dtype_is_float(to)) return o->kind == BF_KIND_PRODUCT;
    if (o->kind == BF_KIND_PRODUCT) return true;
    if (!bf_kind_is_sum(o->kind)) return false;
    int bits = 8 * bf_dtype_bytes(o->dtype) * (o->kind == BF_KIND_SUM ? 1 : 2);
    return bits + bf_bit_length((uint64_t)longest) > 63;
}

/* May the call fail when some results are written? */
static bool may_fail(const bf_axis_call *call, int64_t longest, bool some_empty) {
    const bf_reduce_options *o = &call->options;
    bool is_float = bf_dtype_is_float(call->operands.dtype);
    if (call->results.queued) return false;
    if (bf_is_watched(call->context) || (is_float && o->nan == BF_NAN_ERROR)) return true;
    if (call->operands.kind == BF_KIND_EXTREME && o->empty == NULL)
        return some_empty || (is_float && o->nan == BF_NAN_SKIP);
    return call->fits.array == NULL && o->overflow != BF_OVERFLOW_WRAP &&
           may_overflow(&call->operands, call->results.to, longest);
}

bf_status bf_axis_prepare(bf_axis_call *call, int64_t longest, bool some_empty) {
    bool apart = may_fail(call, longest, some_empty);
    const bf_backend *on = call->context->used;
    bf_status status = bf_flat_prepare(call->context, on, call->values.array, apart, &call->values);
    if (status == BF_OK)
        status = bf_flat_prepare(call->context, on, call->fits.array, apart, &call->fits);
    call->results.values = call->values.data;
    call->results.fits = (uint8_t *)call->fits.data;
    return status;
}

bf_status bf_axis_finish(bf_axis_call *call, bf_status status) {
    if (status == BF_OK) status = bf_flat_return(call->context, &call->values);
    if (status == BF_OK) status = bf_flat_return(call->context, &call->fits);
    bf_flat_release(&call->values);
    bf_flat_release(&call->fits);
    return status;
}

static bf_status run_rows(bf_axis_call *call, const bf_rows *rows, const bf_flat flat[2]) {
    bf_context *context = call->context;
    call->operands.a = flat[0].data;
    call->operands.b = flat[1].data;
    int64_t bytes = bf_bytes_of(flat[0].count, bf_dtype_bytes(call->operands.dtype));
    if (call->results.queued)
        return context->used->axis->reduce_rows(context, &call->operands, rows, &call->results);
    bf_status status = bf_watch_begin(context, bytes);
    if (status == BF_OK)
        status = context->used->axis->reduce_rows(context, &call->operands, rows, &call->results);
    return bf_watch_end(context, status);
}

bf_status bf_axis_reduce_rows(bf_axis_call *call, const bf_rows *rows) {
    bf_flat flat[2] = {{.copy = NULL}};
    bf_dtype dtype = call->operands.dtype;
    bf_context *context = call->context;
    bf_status status = bf_flat_take(context, context->used, dtype, call->inputs[0], &flat[0]);
    if (status == BF_OK)
        status = bf_flat_take(context, context->used, dtype, call->inputs[1], &flat[1]);
    if (status == BF_OK) status = run_rows(call, rows, flat);
    bf_flat_release(&flat[0]);
    bf_flat_release(&flat[1]);
    return status;
}
