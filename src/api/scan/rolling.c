/* Rolling windows along an axis: arguments and arrays. */
#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "api/runtime/sized.h"
#include "api/scan/lines.h"
#include "api/scan/spans.h"
#include "base/memory.h"
#include "seam/memory.h"
#include "seam/scan.h"

typedef struct rolling {
    bf_context *context;
    const bf_array *array, *other, *values; /* other: of pairs, else NULL */
    bool queued;                            /* a call on a stream */
    int axis;
    bf_spans spans; /* on is NULL: windows are numbers of elements */
    bf_window_quantiles quantiles;
    bf_flat input, second, output;
    bf_rolling_job job;
} rolling;

/* ---- arguments ------------------------------------------------------------------------------- */

static bf_status check_window(bf_context *context, const bf_rolling_options *o) {
    if (o->window < 1)
        return bf_fail(context, BF_E_ARGUMENT, "a window has at least 1 element, not %lld",
                       (long long)o->window);
    if (o->min_count < -1 || o->min_count > o->window)
        return bf_fail(context, BF_E_ARGUMENT, "min_count is -1 to the window, %lld, not %lld",
                       (long long)o->window, (long long)o->min_count);
    return BF_OK;
}

static bf_status check_spans(bf_context *context, const bf_rolling_options *o) {
    if (o->window != 0)
        return bf_fail(context, BF_E_ARGUMENT,
                       "a window is a number of elements, or a span of a key, not both");
    if (o->min_count < -1)
        return bf_fail(context, BF_E_ARGUMENT, "min_count is at least -1, not %lld",
                       (long long)o->min_count);
    return bf_spans_check(context, &(bf_spans){.on = o->on, .span = o->span});
}

static bf_status check_options(bf_context *context, const bf_rolling_options *o) {
    if ((int)o->nan < 0 || o->nan > BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, "no NaN policy has number %d", (int)o->nan);
    if ((int)o->method < 0 || o->method > BF_QUANTILE_NORMAL_UNBIASED)
        return bf_fail(context, BF_E_ARGUMENT, "no method of quantiles has number %d",
                       (int)o->method);
    if (o->ddof != 0 && o->ddof != 1)
        return bf_fail(context, BF_E_ARGUMENT, "ddof is 0 or 1, not %d", o->ddof);
    if (o->step < 0)
        return bf_fail(context, BF_E_ARGUMENT, "a step is at least 1, not %lld",
                       (long long)o->step);
    return o->on != NULL || o->span != NULL ? check_spans(context, o) : check_window(context, o);
}

static bf_status check_quantiles(bf_context *context, const bf_window_quantiles *s) {
    if (s->count < 0 || s->q == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "%d quantiles", s->count);
    for (int i = 0; i < s->count; i++)
        if (!(s->q[i] >= 0 && s->q[i] <= 1))
            return bf_fail(context, BF_E_ARGUMENT, "quantile %d is %g, outside 0 to 1", i, s->q[i]);
    return BF_OK;
}

static const char *name_of(const rolling *r) {
    if (r->job.quantiles != NULL) return "quantile";
    return r->job.window.counts ? "count" : bf_reduction_name(r->job.window.op);
}

static bf_status read_options(rolling *r, bf_reduction op, bf_dtype dtype,
                              const bf_rolling_options *given) {
    bf_context *context = r->context;
    bf_rolling_options o = {.size = sizeof o};
    bf_rolling_job *job = &r->job;
    bf_window *w = &job->window;
    if (!bf_window_op(op))
        return bf_fail(context, BF_E_ARGUMENT, "no window is reduced by reduction number %d",
                       (int)op);
    if (given != NULL && !BF_READ(&o, given, later))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_rolling_options: size is not set, or from a newer version");
    bf_status status = check_options(context, &o);
    if (status == BF_OK && r->queued && o.nan == BF_NAN_ERROR && o.later == 0)
        status = bf_fail(context, BF_E_ARGUMENT, BF_LINES_NAN_LATER);
    if (status == BF_OK) status = bf_check_scale(context, op, dtype, o.scale);
    if (status != BF_OK) return status;
    w->op = op;
    w->kind = bf_kind_of(op, dtype);
    w->dtype = dtype;
    w->options = (bf_reduce_options){
        .size = sizeof w->options, .nan = o.nan, .ddof = o.ddof, .scale = w->counts ? 0 : o.scale};
    w->least = o.min_count < 0 ? 0 : o.min_count;
    if (o.min_count == 0) w->least = o.on != NULL ? 1 : o.window;
    r->quantiles.method = o.method;
    w->to = job->quantiles == NULL   ? bf_window_dtype(w, o.out_dtype)
            : o.out_dtype == BF_NONE ? bf_window_quantile_to(job->quantiles, dtype)
                                     : BF_NONE;
    job->size = o.window;
    job->after = o.center ? (o.window - 1) / 2 : 0;
    job->step = o.step == 0 ? 1 : o.step;
    r->spans = (bf_spans){.on = o.on, .span = o.span, .center = o.center != 0};
    if (w->to == BF_NONE)
        return bf_fail(context, BF_E_DTYPE, "no window of %s by %s has results of %s",
                       bf_dtype_name(dtype), name_of(r),
                       o.out_dtype == BF_NONE ? "that" : bf_dtype_name(o.out_dtype));
    return BF_OK;
}

bf_dtype bf_rolling_dtype(bf_reduction op, bf_dtype dtype, const bf_rolling_options *options) {
    bf_context messages = {.fixed = NULL}; /* nobody reads them */
    rolling r = {.context = &messages};
    return read_options(&r, op, dtype, options) == BF_OK ? r.job.window.to : BF_NONE;
}

static bf_status set_lines(rolling *r, int axis) {
    bf_rolling_job *job = &r->job;
    bf_lines lines;
    bf_status status = bf_lines_find(r->context, r->array, axis, &lines);
    if (status != BF_OK) return status;
    r->axis = lines.axis;
    job->outer = lines.outer;
    job->length = lines.length;
    job->inner = lines.inner;
    job->results = lines.length / job->step + (lines.length % job->step != 0);
    job->apart = lines.outer * job->results * lines.inner;
    return BF_OK;
}

static bf_status check_output(const rolling *r) {
    bf_context *context = r->context;
    if (r->values == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the values");
    bf_status status = bf_flat_check(context, r->values, r->job.window.to, "values");
    if (status != BF_OK) return status;
    const bool one = r->quantiles.count == 1 && r->values->ndim == r->array->ndim;
    const bool first = r->quantiles.q != NULL && !one; /* there is an extent of quantiles */
    int64_t shape[BF_MAX_DIMS + 1] = {r->quantiles.count};
    for (int d = 0; d < r->array->ndim; d++)
        shape[d + first] = d == r->axis ? r->job.results : r->array->shape[d];
    if (!bf_array_has_shape(r->values, r->array->ndim + first, shape))
        return bf_fail(context, BF_E_SHAPE,
                       "the values have not the shape of the array, with a result for each step");
    if (bf_arrays_overlap(r->values, r->array) ||
        (r->other != NULL && bf_arrays_overlap(r->values, r->other)))
        return bf_fail(context, BF_E_ARGUMENT, "the values lie in the array's memory");
    return BF_OK;
}

/* Checks the other array of pairs. */
static bf_status check_other(const rolling *r) {
    const bf_reduction op = r->job.window.op;
    if (bf_takes_pairs(op) != (r->other != NULL))
        return bf_fail(r->context, BF_E_ARGUMENT, "windows of %s take %s", name_of(r),
                       bf_takes_pairs(op) ? "two arrays: bf_rolling_pair" : "one array");
    if (r->other == NULL) return BF_OK;
    bf_status status = bf_lines_check(r->context, r->other);
    if (status != BF_OK) return status;
    if (r->other->dtype != r->array->dtype)
        return bf_fail(r->context, BF_E_DTYPE, "the arrays are %s and %s",
                       bf_dtype_name(r->array->dtype), bf_dtype_name(r->other->dtype));
    return bf_same_shape(r->array, r->other)
               ? BF_OK
               : bf_fail(r->context, BF_E_SHAPE, "the shapes of the arrays differ");
}

/* ---- running --------------------------------------------------------------------------------- */

/* Why the CPU reduces the windows, or NULL: a GPU can, too. */
static const char *why_cpu(const rolling *r) {
    const bf_rolling_job *job = &r->job;
    const int64_t most = job->size < job->length ? job->size : job->length;
    if (job->quantiles != NULL && r->spans.on != NULL)
        return "the CPU has quantiles of windows of a span";
    if (job->quantiles != NULL && most > BF_ROLLING_QUANTILES_MOST)
        return "the CPU has quantiles of windows of more than 2048 elements";
    if (bf_kind_is_joint(r->job.window.kind)) return "the CPU has windows of powers and pairs";
    return r->array->dtype == BF_I128 ? "the CPU has windows of i128" : NULL;
}

/* The CPU reaches the host's memory alone. */
static bf_status check_reach(const rolling *r, const char *why, const bf_memory memory[4]) {
    for (int i = 0; why != NULL && i < 4; i++)
        if (memory[i].bytes > 0 && bf_where_is(memory[i].data, NULL) == BF_WHERE_DEVICE)
            return bf_fail(r->context, BF_E_DEVICE,
                           "%s, and an array is in a GPU's memory: copy it", why);
    return BF_OK;
}

static bf_status choose_place(rolling *r) {
    const bf_memory memory[4] = {bf_flat_memory(r->array), bf_flat_memory(r->values),
                                 bf_flat_memory(r->spans.on), bf_flat_memory(r->other)};
    const char *why = why_cpu(r);
    const bf_demand demand = {
        .share = 5, .n = 4, .memory = memory, .cpu = why != NULL, .on_host = why};
    bf_status status = check_reach(r, why, memory);
    if (status == BF_OK) status = bf_place(r->context, &demand);
    r->job.queued = r->queued && r->spans.on == NULL && r->context->used != &bf_backend_cpu;
    if (status == BF_OK && r->queued)
        status = bf_flat_check_queued(r->context, r->array, "elements");
    if (status == BF_OK && r->queued)
        status = bf_flat_check_queued(r->context, r->values, "values");
    return status;
}

static bf_status run_backend(rolling *r) {
    bf_context *context = r->context;
    const int64_t bytes = bf_bytes_of(r->input.count, bf_number_bytes(r->array->dtype));
    r->job.elements = r->input.data;
    r->job.others = r->second.data;
    r->job.values = r->output.data;
    if (r->job.queued) return context->used->scan->roll(context, &r->job);
    bf_status status = bf_watch_begin(context, bytes);
    if (status == BF_OK) status = context->used->scan->roll(context, &r->job);
    return bf_watch_end(context, status);
}

static bf_status run_rolling(rolling *r) {
    bf_context *context = r->context;
    const bf_backend *on = context->used;
    const bool apart =
        !r->job.queued && (bf_is_watched(context) || r->job.window.options.nan == BF_NAN_ERROR);
    bf_status status = bf_flat_take(context, on, r->array->dtype, r->array, &r->input);
    if (status == BF_OK && r->other != NULL)
        status = bf_flat_take(context, on, r->other->dtype, r->other, &r->second);
    if (status == BF_OK && r->spans.on != NULL) status = bf_spans_find(context, &r->spans, &r->job);
    if (status == BF_OK) status = bf_flat_prepare(context, on, r->values, apart, &r->output);
    if (status == BF_OK) status = run_backend(r);
    if (status == BF_OK) status = bf_flat_return(context, &r->output);
    bf_flat_release(&r->input);
    bf_flat_release(&r->second);
    bf_flat_release(&r->output);
    bf_free((void *)r->job.first);
    return status;
}

static bf_status roll(rolling *r, bf_reduction op, int axis, const bf_rolling_options *options) {
    bf_status status = bf_lines_check(r->context, r->array);
    if (status == BF_OK) status = read_options(r, op, r->array->dtype, options);
    if (status == BF_OK) status = check_other(r);
    if (status == BF_OK) status = set_lines(r, axis);
    if (status == BF_OK) status = check_output(r);
    if (status != BF_OK || bf_array_elements(r->values, bf_dtype_bytes(r->job.window.to)) == 0)
        return status;
    status = choose_place(r);
    return status == BF_OK ? run_rolling(r) : status;
}

bf_status bf_rolling(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                     const bf_rolling_options *options, const bf_array *values) {
    rolling r = {.context = context, .array = array, .values = values};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, roll(&r, op, axis, options));
}

bf_status bf_rolling_async(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                           const bf_rolling_options *options, const bf_array *values) {
    rolling r = {.context = context, .array = array, .values = values, .queued = true};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, roll(&r, op, axis, options));
}

bf_status bf_rolling_pair(bf_context *context, bf_reduction op, const bf_array *a,
                          const bf_array *b, int axis, const bf_rolling_options *options,
                          const bf_array *values) {
    rolling r = {.context = context, .array = a, .other = b, .values = values};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    bf_status status = b == NULL ? bf_fail(context, BF_E_ARGUMENT, "no other array") : BF_OK;
    if (status == BF_OK) status = roll(&r, op, axis, options);
    return bf_leave(context, status);
}

bf_status bf_rolling_count(bf_context *context, const bf_array *array, int axis,
                           const bf_rolling_options *options, const bf_array *values) {
    rolling r = {.context = context, .array = array, .values = values, .job.window.counts = true};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, roll(&r, BF_SUM, axis, options));
}

bf_status bf_rolling_count_async(bf_context *context, const bf_array *array, int axis,
                                 const bf_rolling_options *options, const bf_array *values) {
    rolling r = {.context = context, .array = array, .values = values, .queued = true};
    r.job.window.counts = true;
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, roll(&r, BF_SUM, axis, options));
}

bf_status bf_rolling_median(bf_context *context, const bf_array *array, int axis,
                            const bf_rolling_options *options, const bf_array *values) {
    rolling r = {.context = context, .array = array, .values = values, .quantiles.count = 1};
    r.job.quantiles = &r.quantiles;
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, roll(&r, BF_MIN, axis, options));
}

bf_status bf_rolling_quantile(bf_context *context, const bf_array *array, int axis,
                              const double q[], int m, const bf_rolling_options *options,
                              const bf_array *values) {
    rolling r = {.context = context, .array = array, .values = values, .quantiles = {q, m, 0}};
    r.job.quantiles = &r.quantiles;
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    bf_status status = check_quantiles(context, &r.quantiles);
    if (status == BF_OK) status = roll(&r, BF_MIN, axis, options);
    return bf_leave(context, status);
}
