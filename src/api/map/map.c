/* Element-wise operations: check arguments, resolve dtypes and shapes. */
#include "api/map/map.h"

#include "api/map/walk.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "api/runtime/sized.h"
#include "rules/map/map.h"
#include "rules/number/dtype.h"
#include <bitfold/value.h>

#define OP_NAME(id, number, name, inputs) [number] = #name,
#define OP_ARITY(id, number, name, inputs) [number] = inputs,
enum { OPS = BF_MAP_CAST + 1 };
static const char *const names[OPS] = {BF_MAP_LIST(OP_NAME)};
static const int arities[OPS] = {BF_MAP_LIST(OP_ARITY)};

int bf_map_arity(bf_map_op op) { return (unsigned)op < OPS ? arities[op] : 0; }

const char *bf_map_name(bf_map_op op) { return bf_map_arity(op) > 0 ? names[op] : "?"; }

bf_map_op bf_map_from_name(const char *name) {
    for (int op = 1; name != NULL && op < OPS; op++)
        if (strcmp(name, names[op]) == 0) return (bf_map_op)op;
    return (bf_map_op)0;
}

/* --- dtypes --- */

/* Floats meet first, so that the order of the inputs makes no difference. */
bf_status bf_map_find_work(bf_map_op op, const bf_dtype *inputs, int count, unsigned weak,
                           bf_dtype *work, const char **why) {
    bf_dtype common = BF_NONE, number = BF_NONE;
    *why = "i64 and u64 have no common dtype: cast one of them";
    for (int i = 0; i < 2 * count; i++) {
        bf_dtype input = inputs[i % count];
        bf_dtype *meet = weak >> i % count & 1 ? &number : &common;
        if (bf_dtype_is_float(input) != (i < count)) continue;
        *meet = *meet == BF_NONE ? input : bf_map_promote(*meet, input);
        if (*meet == BF_NONE) return BF_E_DTYPE;
    }
    if (number != BF_NONE) common = bf_map_promote_weak(common, number);
    *work = bf_map_work_dtype(op, common);
    *why = "bools have no such operation: cast them first";
    return *work == BF_NONE ? BF_E_DTYPE : BF_OK;
}

static bool is_number_dtype(bf_dtype dtype) {
    return dtype == BF_I64 || dtype == BF_U64 || dtype == BF_F64;
}

static bool inputs_are_known(const bf_dtype *inputs, int count, unsigned weak) {
    if (weak >> count != 0) return false;
    for (int i = 0; i < count; i++) {
        if (bf_dtype_size(inputs[i]) == 0) return false;
        if (weak >> i & 1 && !is_number_dtype(inputs[i])) return false;
    }
    return true;
}

static bf_dtype result_of(bf_map_op op, bf_dtype work) {
    return bf_map_is_comparison(op) ? BF_BOOL : work;
}

bf_status bf_map_result_dtype(bf_map_op op, const bf_dtype *inputs, int count, unsigned weak,
                              bf_dtype *result) {
    bf_dtype work;
    const char *why;
    if (inputs == NULL || result == NULL || op == BF_MAP_CAST || count < 1 ||
        count != bf_map_arity(op) || !inputs_are_known(inputs, count, weak))
        return BF_E_ARGUMENT;
    bf_status status = bf_map_find_work(op, inputs, count, weak, &work, &why);
    if (status == BF_OK) *result = result_of(op, work);
    return status;
}

/* --- arguments --- */

/* A call that is checked step by step. */
typedef struct request {
    bf_context *context;
    const bf_array *const *inputs;
    const bf_array *out;
    bf_map_options options;
    bf_map_job job;
    bf_map_arrays arrays;
    uint64_t numbers[3]; /* plain numbers, in job.work */
} request;

static bf_status check_arguments(request *r, int count) {
    bf_context *context = r->context;
    if (bf_map_arity(r->job.op) == 0) return bf_fail(context, BF_E_ARGUMENT, "no such operation");
    if (count != bf_map_arity(r->job.op))
        return bf_fail(context, BF_E_ARGUMENT, "%s takes %d inputs, not %d", bf_map_name(r->job.op),
                       bf_map_arity(r->job.op), count);
    if ((unsigned)r->options.overflow > BF_OVERFLOW_SATURATE)
        return bf_fail(context, BF_E_ARGUMENT, "unknown overflow policy %d",
                       (int)r->options.overflow);
    if (r->options.index < 0 || r->options.index > BF_COUNT_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "index %lld is out of range",
                       (long long)r->options.index);
    if (r->inputs == NULL || r->out == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    if (bf_array_count(r->out) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the output is not well formed");
    for (int i = 0; i < count; i++)
        if (r->inputs[i] == NULL || bf_array_count(r->inputs[i]) < 0)
            return bf_fail(context, BF_E_ARGUMENT, "input %d is not well formed", i);
    return BF_OK;
}

/* Can the job fail with an index? Then elements are taken in order. */
static bool can_fail(const bf_map_job *job) {
    bool checked = bf_dtype_is_integer(job->work) && !bf_map_is_comparison(job->op);
    return job->refuse_zero || (checked && job->overflow == BF_OVERFLOW_ERROR);
}

static bool is_whole(bf_dtype dtype) { return !bf_dtype_is_float(dtype); }

static bf_status resolve_dtypes(request *r) {
    bf_map_job *job = &r->job;
    const char *why;
    bf_status status = BF_OK;
    for (int i = 0; i < job->arity; i++) job->from[i] = r->inputs[i]->dtype;
    if (!inputs_are_known(job->from, job->arity, r->options.weak))
        return bf_fail(r->context, BF_E_ARGUMENT, "a plain number is an i64, u64 or f64");
    job->to = job->work = r->out->dtype;
    if (job->op == BF_MAP_CAST) {
        if (bf_dtype_is_float(job->from[0]) && bf_dtype_is_integer(job->to) &&
            job->overflow == BF_OVERFLOW_WRAP)
            return bf_fail(r->context, BF_E_ARGUMENT, "floats do not wrap: saturate, or error");
        return BF_OK;
    }
    status = bf_map_find_work(job->op, job->from, job->arity, r->options.weak, &job->work, &why);
    if (status != BF_OK) return bf_fail(r->context, status, "%s: %s", bf_map_name(job->op), why);
    if (job->to != result_of(job->op, job->work))
        return bf_fail(r->context, BF_E_DTYPE, "the result is %s, the output %s",
                       bf_dtype_name(result_of(job->op, job->work)), bf_dtype_name(job->to));
    job->refuse_zero = job->op == BF_MAP_DIV && is_whole(job->from[0]) && is_whole(job->from[1]);
    return BF_OK;
}

/* --- numbers and shapes --- */

static bf_status number_misfit(const request *r, int i) {
    char text[BF_VALUE_TEXT];
    bf_value value = {.dtype = r->inputs[i]->dtype};
    memcpy(&value.as, r->inputs[i]->data, 8);
    bf_value_format(&value, text);
    return bf_fail(r->context, BF_E_OVERFLOW, "the number %s does not fit %s", text,
                   bf_dtype_name(r->job.work));
}

/* Converts a plain number to an element of the dtype of the work. */
static bf_status place_number(request *r, int i) {
    bool misfit = false;
    if (r->inputs[i]->ndim != 0)
        return bf_fail(r->context, BF_E_SHAPE, "a plain number has no dimensions");
    if (bf_where_is(r->inputs[i]->data, NULL) == BF_WHERE_DEVICE)
        return bf_fail(r->context, BF_E_ARGUMENT, "a plain number is in the host's memory");
    uint64_t bits = bf_load_bits(r->inputs[i]->data, 8);
    bits = bf_cast(r->job.from[i], r->job.work, bits, false, &misfit);
    if (misfit) return number_misfit(r, i);
    bf_store_bits(&r->numbers[i], bf_dtype_bytes(r->job.work), bits);
    r->job.from[i] = r->job.work;
    r->arrays.data[i + 1] = (char *)&r->numbers[i];
    return BF_OK;
}

/* Finds the strides of input i in the output's dimensions. */
static bf_status broadcast_input(request *r, int i) {
    const bf_array *in = r->inputs[i];
    int before = r->out->ndim - in->ndim;
    bool fits = before >= 0;
    for (int d = 0; fits && d < in->ndim; d++) {
        bool same = in->shape[d] == r->out->shape[before + d];
        fits = same || in->shape[d] == 1;
        r->arrays.strides[i + 1][before + d] = same && in->shape[d] > 1 ? in->strides[d] : 0;
    }
    return fits ? BF_OK : bf_fail(r->context, BF_E_SHAPE, "input %d has not the output's shape", i);
}

static bf_status place_input(request *r, int i) {
    r->arrays.data[i + 1] = r->inputs[i]->data;
    if (r->options.weak >> i & 1 && r->job.op != BF_MAP_CAST) {
        bf_status status = place_number(r, i);
        if (status != BF_OK) return status;
    }
    r->arrays.bytes[i + 1] = bf_dtype_bytes(r->job.from[i]);
    return broadcast_input(r, i);
}

static bf_status place_arrays(request *r) {
    bf_map_arrays *x = &r->arrays;
    x->arity = r->job.arity;
    x->ndim = r->out->ndim;
    x->data[0] = r->out->data;
    x->bytes[0] = bf_dtype_bytes(r->out->dtype);
    for (int d = 0; d < x->ndim; d++) {
        x->shape[d] = r->out->shape[d];
        x->strides[0][d] = r->out->shape[d] > 1 ? r->out->strides[d] : 0;
    }
    for (int i = 0; i < x->arity; i++) {
        bf_status status = place_input(r, i);
        if (status != BF_OK) return status;
    }
    return BF_OK;
}

static bf_status check_overlap(const request *r) {
    if (bf_map_output_overlaps(&r->arrays))
        return bf_fail(r->context, BF_E_ARGUMENT, "the output's elements overlap each other");
    for (int k = 1; k <= r->arrays.arity; k++)
        if (bf_map_input_overlaps(&r->arrays, k))
            return bf_fail(r->context, BF_E_ARGUMENT,
                           "input %d overlaps the output, but is not the same", k - 1);
    return BF_OK;
}

/* Returns the bytes of operand k's elements, each counted once. */
static int64_t operand_bytes(const bf_map_arrays *x, int k) {
    int64_t count = 1;
    for (int d = 0; d < x->ndim; d++)
        if (x->strides[k][d] != 0) count *= x->shape[d];
    return bf_bytes_of(count, x->bytes[k]);
}

int bf_map_share(bf_map_op op) {
    return op == BF_MAP_DIV || op == BF_MAP_SQRT || op == BF_MAP_CAST ? 50 : 100;
}

static bf_status place_request(const request *r) {
    bf_memory memory[BF_MAP_OPERANDS];
    const bf_demand demand = {
        .share = bf_map_share(r->job.op), .n = r->arrays.arity + 1, .memory = memory};
    for (int k = 0; k < demand.n; k++)
        memory[k] = (bf_memory){r->arrays.data[k], operand_bytes(&r->arrays, k)};
    return bf_place(r->context, &demand);
}

/* Checks everything but the elements. *empty: there are none. */
static bf_status prepare_request(request *r, bf_context *context, bf_map_op op, int count,
                                 const bf_map_options *options, bool *empty) {
    r->context = context;
    r->options = BF_MAP_OPTIONS(.index = 0);
    if (options != NULL && !BF_READ(&r->options, options, index))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_map_options: size is not set, or from a newer version");
    r->job.op = op;
    r->job.arity = count;
    r->job.overflow = r->options.overflow;
    r->arrays.index = r->options.index;
    bf_status status = check_arguments(r, count);
    if (status == BF_OK) status = resolve_dtypes(r);
    if (status == BF_OK) status = place_arrays(r);
    if (status != BF_OK) return status;
    *empty = bf_array_count(r->out) == 0;
    if (!*empty) status = check_overlap(r);
    return status == BF_OK && !*empty ? place_request(r) : status;
}

static bf_status run_map(bf_context *context, bf_map_op op, const bf_array *const inputs[],
                         int count, const bf_map_options *options, const bf_array *out) {
    request r = {.inputs = inputs, .out = out};
    bool empty = false;
    bf_status status = prepare_request(&r, context, op, count, options, &empty);
    if (status != BF_OK || empty) return status;
    return bf_map_walk(context, &r.arrays, !can_fail(&r.job), &r.job);
}

bf_status bf_map(bf_context *context, bf_map_op op, const bf_array *const inputs[], int count,
                 const bf_map_options *options, const bf_array *out) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, run_map(context, op, inputs, count, options, out));
}

/* Is every operand contiguous, or one element? Then the whole call is one job. */
static bool is_one_job(request *r) {
    if (!bf_array_is_contiguous(r->out)) return false;
    r->job.out = r->arrays.data[0];
    r->job.count = bf_array_count(r->out);
    r->job.index = r->arrays.index;
    for (int i = 0; i < r->job.arity; i++) {
        int64_t n = bf_array_count(r->inputs[i]);
        r->job.in[i] = r->arrays.data[i + 1];
        r->job.single[i] = n == 1;
        if (n != 1 && (n != r->job.count || !bf_array_is_contiguous(r->inputs[i]))) return false;
    }
    return true;
}

static bf_status enqueue_map(bf_context *context, bf_map_op op, const bf_array *const inputs[],
                             int count, const bf_map_options *options, const bf_array *out) {
    request r = {.inputs = inputs, .out = out};
    bool empty = false;
    bf_status status = prepare_request(&r, context, op, count, options, &empty);
    if (status != BF_OK || empty) return status;
    if (!is_one_job(&r)) return bf_fail(context, BF_E_ARGUMENT, "the memory is not contiguous");
    return context->used->map->enqueue != NULL ? context->used->map->enqueue(context, &r.job)
                                               : context->used->map->run(context, &r.job);
}

bf_status bf_map_async(bf_context *context, bf_map_op op, const bf_array *const inputs[], int count,
                       const bf_map_options *options, const bf_array *out) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, enqueue_map(context, op, inputs, count, options, out));
}

/* --- the simple calls --- */

static bf_status map_vectors(bf_context *context, bf_map_op op, bf_dtype dtype,
                             const void *const *x, int64_t n, void *out) {
    bf_array arrays[3], to;
    const bf_array *inputs[3];
    int count = bf_map_arity(op);
    bf_array_set(&to, dtype, out, n);
    for (int i = 0; i < count; i++) {
        bf_array_set(&arrays[i], dtype, x[i], n);
        inputs[i] = &arrays[i];
    }
    return bf_map(context, op, inputs, count, NULL, &to);
}

#define DEFINE(name, op, D, T)                                                                     \
    bf_status bf_##name(bf_context *context, const T *a, const T *b, int64_t n, T *out) {          \
        return map_vectors(context, op, BF_##D, (const void *const[]){a, b}, n, out);              \
    }
#define BF_X(X, D, T)                                                                              \
    DEFINE(add_##X, BF_MAP_ADD, D, T)                                                              \
    DEFINE(sub_##X, BF_MAP_SUB, D, T)                                                              \
    DEFINE(mul_##X, BF_MAP_MUL, D, T)                                                              \
    DEFINE(div_##X, BF_MAP_DIV, D, T)                                                              \
    bf_status bf_fma_##X(bf_context *context, const T *a, const T *b, const T *c, int64_t n,       \
                         T *out) {                                                                 \
        return map_vectors(context, BF_MAP_FMA, BF_##D, (const void *const[]){a, b, c}, n, out);   \
    }                                                                                              \
    bf_status bf_sqrt_##X(bf_context *context, const T *a, int64_t n, T *out) {                    \
        return map_vectors(context, BF_MAP_SQRT, BF_##D, (const void *const[]){a}, n, out);        \
    }
BF_MAP_SIMPLE_LIST(BF_X)
