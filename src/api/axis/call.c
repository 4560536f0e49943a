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
    if (op == BF_DOT && b == NULL) return bf_fail(context, BF_E_ARGUMENT, "dot takes two arrays");
    return BF_OK;
}

bf_dtype bf_reduce_dtype(bf_reduction op, bf_dtype dtype, const bf_reduce_options *options) {
    bf_context messages = {.fixed = NULL}; /* that nobody reads */
    bf_reduce_options read;
    if (strcmp(bf_reduction_name(op), "?") == 0 || op == BF_DESCRIBE) return BF_NONE;
    if (bf_dtype_bytes(dtype) == 0) return BF_NONE;
    if (bf_read_reduce_options(&messages, op, options, &read) != BF_OK) return BF_NONE;
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
    bf_status status = bf_read_reduce_options(call->context, op, options, &call->options);
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
                              const bf_array *a, const bf_reduce_options *options) {
    bf_status status = bf_axis_open(call, context, op, a, NULL, options);
    if (status != BF_OK) return status;
    if (call->options.nan == BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, "a call on a stream cannot fail for a NaN");
    call->results.queued = true;
    if (call->operands.kind == BF_KIND_EXTREME && call->options.empty == NULL) {
        bf_dtype to = call->results.to;
        uint64_t bits = bf_dtype_is_float(to) ? bf_format_nan(bf_format_of(to)) : 0;
        call->empty = bf_value_from_bits(to, bits);
        call->options.empty = &call->empty;
    }
    return BF_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

bool bf_axis_has_shape(const bf_array *array, int ndim, const int64_t shape[]) {
    if (array->ndim != ndim) return false;
    for (int d = 0; d < ndim; d++)
        if (array->shape[d] != shape[d]) return false;
    return true;
}

typedef struct range {
    uintptr_t begin, end;
} range;

/* The bytes from the first to the last of an array, which is well formed. */
static range range_of(const bf_array *array) {
    const int64_t bytes = bf_key_bytes(array->dtype);
    range r = {(uintptr_t)array->data, (uintptr_t)array->data};
    if (bf_array_elements(array, bytes) == 0) return r;
    r.end += (uintptr_t)bytes;
    for (int d = 0; d < array->ndim; d++) {
        int64_t reach = array->shape[d] > 1 ? (array->shape[d] - 1) * array->strides[d] * bytes : 0;
        *(reach < 0 ? &r.begin : &r.end) += (uintptr_t)reach;
    }
    return r;
}

bool bf_axis_overlap(const bf_array *a, const bf_array *b) {
    if (a == NULL || b == NULL) return false;
    range x = range_of(a), y = range_of(b);
    return x.begin < y.end && y.begin < x.end;
}

/* Do elements share memory? As far as strides tell: each must reach beyond all smaller ones. */
static bool overlaps_itself(const bf_array *array) {
    int64_t reach = 0;
    bool done[BF_MAX_DIMS] = {false};
    if (bf_array_count(array) == 0) return false;
    for (int i = 0; i < array->ndim; i++) {
        int least = -1;
        for (int d = 0; d < array->ndim; d++) {
            if (done[d]) continue;
            if (least < 0 || llabs(array->strides[d]) < llabs(array->strides[least])) least = d;
        }
        done[least] = true;
        if (array->shape[least] <= 1) continue;
        if (llabs(array->strides[least]) <= reach) return true;
        reach += llabs(array->strides[least]) * (array->shape[least] - 1);
    }
    return false;
}

bf_status bf_axis_check_output(const bf_axis_call *call, const bf_array *array, bf_dtype dtype,
                               const char *name) {
    if (bf_array_count(array) < 0)
        return bf_fail(call->context, BF_E_ARGUMENT, "the array of the %s is not well formed",
                       name);
    if (array->dtype != dtype)
        return bf_fail(call->context, BF_E_DTYPE, "the %s are %s, their array %s", name,
                       bf_dtype_name(dtype), bf_dtype_name(array->dtype));
    if (overlaps_itself(array))
        return bf_fail(call->context, BF_E_ARGUMENT, "%s share memory with each other", name);
    for (int i = 0; i < BF_AXIS_INPUTS; i++)
        if (bf_axis_overlap(array, call->inputs[i]))
            return bf_fail(call->context, BF_E_ARGUMENT, "the %s lie in the memory of an input",
                           name);
    if (call->results.queued && bf_array_count(array) > 0 && !bf_array_is_contiguous(array))
        return bf_fail(call->context, BF_E_ARGUMENT, "on a stream the %s are contiguous", name);
    return BF_OK;
}

bf_status bf_axis_set_outputs(bf_axis_call *call, const bf_array *values, const bf_array *fits) {
    bf_status status = bf_axis_check_output(call, values, call->results.to, "values");
    if (status != BF_OK) return status;
    call->values = (bf_axis_output){.array = values, .count = bf_array_count(values)};
    if (fits == NULL) return BF_OK;
    status = bf_axis_check_output(call, fits, BF_BOOL, "fits");
    if (status != BF_OK) return status;
    if (!bf_same_shape(values, fits))
        return bf_fail(call->context, BF_E_SHAPE, "the shapes of values and fits differ");
    if (bf_axis_overlap(values, fits))
        return bf_fail(call->context, BF_E_ARGUMENT, "values and fits share memory");
    call->fits = (bf_axis_output){.array = fits, .count = call->values.count};
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
    const bf_demand demand = {
        .share = bf_reduce_share(call->operands.kind), .n = n, .memory = memory};
    bf_status status = bf_place(call->context, &demand);
    return status == BF_OK ? check_reach(call, memory, n) : status;
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

/* Has the backend write to the array, if it can, else to a copy. */
static bf_status prepare_output(bf_context *context, bf_axis_output *o, bool apart) {
    const bf_backend *on = context->used;
    if (o->array == NULL || o->count == 0) return BF_OK;
    o->data = o->array->data;
    bool reached = on == &bf_backend_cpu || bf_where_is(o->data, NULL) != BF_WHERE_HOST;
    if (!apart && reached && bf_array_is_contiguous(o->array)) return BF_OK;
    size_t bytes = (size_t)bf_bytes_of(o->count, bf_dtype_bytes(o->array->dtype));
    o->data = o->copy = on->memory->allocate(context, bytes);
    return o->copy != NULL ? BF_OK : BF_E_MEMORY;
}

bf_status bf_axis_prepare(bf_axis_call *call, int64_t longest, bool some_empty) {
    bool apart = may_fail(call, longest, some_empty);
    bf_status status = prepare_output(call->context, &call->values, apart);
    if (status == BF_OK) status = prepare_output(call->context, &call->fits, apart);
    call->results.values = call->values.data;
    call->results.fits = call->fits.data;
    return status;
}

bf_status bf_axis_return(bf_context *context, const bf_axis_output *o) {
    const bf_memory_backend *memory = context->used->memory;
    if (o->copy == NULL) return BF_OK;
    const bf_array *array = o->array;
    int bytes = bf_dtype_bytes(array->dtype);
    if (bf_array_is_contiguous(array))
        return memory->copy(context, array->data, o->copy, (size_t)(o->count * bytes));
    bf_strided to = {array->data, bytes, array->ndim, {0}, {0}};
    for (int d = 0; d < array->ndim; d++) {
        to.shape[d] = array->shape[d];
        to.strides[d] = array->shape[d] > 1 ? array->strides[d] : 0;
    }
    return memory->scatter(context, &to, 0, o->count, o->copy);
}

static void release_output(bf_context *context, const bf_axis_output *o) {
    if (o->copy != NULL) context->used->memory->release(context, o->copy);
}

bf_status bf_axis_finish(bf_axis_call *call, bf_status status) {
    if (status == BF_OK) status = bf_axis_return(call->context, &call->values);
    if (status == BF_OK) status = bf_axis_return(call->context, &call->fits);
    release_output(call->context, &call->values);
    release_output(call->context, &call->fits);
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
