/* Scans along an axis: arguments, arrays, and what must not fail half done. */
#include "seam/scan.h"
#include "api/axis/axis.h"
#include "api/axis/states.h"
#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "api/runtime/sized.h"
#include "api/scan/lines.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "rules/key/rank.h"
#include "seam/memory.h"
#include <bitfold/axis.h>

typedef struct scanning {
    bf_context *context;
    const bf_array *array, *values;
    const bf_array *offsets; /* where segments begin; NULL: there are none */
    bf_value empty;          /* what the job's options.empty points to */
    bool fresh;              /* after a failure the values may be anything */
    bool queued;             /* a call on a stream */
    bool goes_on;            /* on a stream: whatever the data are */
    int64_t *words;          /* absorb the array before it is scanned; NULL: nobody asks */
    bf_flat input, output;
    bf_scan_job job;
} scanning;

/* ---- arguments ------------------------------------------------------------------------------- */

/* What goes on always has a value for results of nothing. */
static bf_status read_empty(scanning *s, const bf_value *given) {
    const bf_prefix *p = &s->job.prefix;
    const bf_dtype dtype = p->to == BF_I128 ? BF_I192 : p->to;
    if ((given == NULL && !s->goes_on) || p->kind != BF_KIND_EXTREME) return BF_OK;
    if (given != NULL && given->dtype != dtype)
        return bf_fail(s->context, BF_E_ARGUMENT, "the value for results of nothing is %s: %s",
                       bf_dtype_name(given->dtype), bf_dtype_name(dtype));
    const uint64_t none = bf_dtype_is_float(dtype) ? bf_format_nan(bf_format_of(dtype)) : 0;
    s->empty = given != NULL ? *given : bf_value_from_bits(dtype, none);
    s->job.prefix.options.empty = &s->empty;
    return BF_OK;
}

static bf_status read_options(scanning *s, bf_reduction op, bf_dtype dtype,
                              const bf_scan_options *given) {
    bf_context *context = s->context;
    bf_scan_options o = {.size = sizeof o};
    bf_prefix *p = &s->job.prefix;
    if (!bf_prefix_op(op))
        return bf_fail(context, BF_E_ARGUMENT, "there is no scan by reduction number %d", (int)op);
    if (given != NULL && !BF_READ(&o, given, later))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_scan_options: size is not set, or from a newer version");
    if ((int)o.nan < 0 || o.nan > BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, "no NaN policy has number %d", (int)o.nan);
    if (o.overflow != BF_OVERFLOW_ERROR && o.overflow != BF_OVERFLOW_WRAP)
        return bf_fail(context, BF_E_ARGUMENT, "overflow of a scan is an error, or wraps");
    s->goes_on = s->queued && o.later == 0;
    if (s->goes_on && o.nan == BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, BF_LINES_NAN_LATER);
    if (s->goes_on) o.overflow = BF_OVERFLOW_WRAP;
    *p = (bf_prefix){.op = op, .kind = bf_kind_of(op, dtype), .dtype = dtype};
    p->options =
        (bf_reduce_options){.size = sizeof p->options, .nan = o.nan, .overflow = o.overflow};
    p->to = bf_prefix_dtype(op, dtype, o.out_dtype);
    if (p->to == BF_NONE)
        return bf_fail(context, BF_E_DTYPE, "no scan of %s by %s has results of %s",
                       bf_dtype_name(dtype), bf_reduction_name(op),
                       o.out_dtype == BF_NONE ? "that" : bf_dtype_name(o.out_dtype));
    s->job.exclusive = o.exclusive != 0;
    s->job.reverse = o.reverse != 0;
    s->fresh = o.fresh != 0;
    return read_empty(s, o.empty);
}

bf_dtype bf_scan_dtype(bf_reduction op, bf_dtype dtype, const bf_scan_options *options) {
    bf_context messages = {.fixed = NULL}; /* nobody reads them */
    scanning s = {.context = &messages};
    return read_options(&s, op, dtype, options) == BF_OK ? s.job.prefix.to : BF_NONE;
}

static bf_status check_output(const scanning *s) {
    bf_context *context = s->context;
    if (s->values == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the values");
    bf_status status = bf_flat_check(context, s->values, s->job.prefix.to, "values");
    if (status != BF_OK) return status;
    if (!bf_same_shape(s->array, s->values))
        return bf_fail(context, BF_E_SHAPE, "the values have not the shape of the array");
    if (!bf_same_array(s->array, s->values) && bf_arrays_overlap(s->values, s->array))
        return bf_fail(context, BF_E_ARGUMENT, "the values lie in part of the array's memory");
    return BF_OK;
}

/* Sets the lines of the job, whose elements lie in C order. */
static bf_status set_lines(scanning *s, int axis) {
    bf_lines lines;
    bf_status status = bf_lines_find(s->context, s->array, axis, &lines);
    if (status != BF_OK) return status;
    s->job.outer = lines.outer;
    s->job.length = lines.length;
    s->job.inner = lines.inner;
    return BF_OK;
}

static bf_status open_scan(scanning *s, bf_reduction op, const bf_scan_options *options) {
    bf_status status = bf_lines_check(s->context, s->array);
    if (status == BF_OK) status = read_options(s, op, s->array->dtype, options);
    if (status == BF_OK) status = check_output(s);
    return status;
}

/* ---- place ----------------------------------------------------------------------------------- */

enum { SCANS = 50 }; /* the work of a scan, as a share (api/runtime/place.h) */

static bf_status choose_place(scanning *s) {
    const bf_memory memory[3] = {bf_flat_memory(s->array), bf_flat_memory(s->values),
                                 bf_flat_memory(s->offsets)};
    const bf_demand demand = {.share = SCANS,
                              .n = 3,
                              .memory = memory,
                              .cpu = s->array->dtype == BF_I128,
                              .on_host = "the CPU scans"};
    bf_status status = bf_place(s->context, &demand);
    s->job.queued = s->queued && s->context->used != &bf_backend_cpu;
    if (status == BF_OK && s->queued)
        status = bf_flat_check_queued(s->context, s->array, "elements");
    if (status == BF_OK && s->queued)
        status = bf_flat_check_queued(s->context, s->values, "values");
    if (status == BF_OK && s->queued)
        status = bf_flat_check_queued(s->context, s->offsets, "offsets");
    const bf_array wrong = bf_array_of(BF_I64, s->job.wrong, 1);
    if (status == BF_OK && s->queued && s->job.wrong != NULL)
        status = bf_flat_check_queued(s->context, &wrong, "place of what is wrong");
    return status;
}

/* ---- what may fail --------------------------------------------------------------------------- */

/* The state of op absorbs the input. */
static bf_status absorb_input(const scanning *s, bf_reduction op, int64_t *words) {
    const bf_dtype dtype = s->array->dtype;
    const bf_job job = {.op = op,
                        .kind = bf_kind_of(op, dtype),
                        .dtype = dtype,
                        .a = s->input.data,
                        .count = s->input.count,
                        .every_zero = true};
    return s->context->used->reduce->absorb(s->context, &job, words);
}

static bf_status refuse_nan(scanning *s) {
    const bf_dtype dtype = s->array->dtype;
    int64_t words[BF_STATE_WORDS_SMALL];
    if (s->job.prefix.options.nan != BF_NAN_ERROR || !bf_dtype_is_float(dtype) || s->job.queued)
        return BF_OK;
    bf_state_init(bf_kind_of(BF_MIN, dtype), dtype, words);
    bf_status status = absorb_input(s, BF_MIN, words);
    if (status == BF_OK && words[BF_EXTREME_NAN] > 0)
        status = bf_scan_refuse(s->context, BF_E_NAN, &s->job.prefix);
    return status;
}

/* The CPU finds out by scanning without results whether the job fails. */
static bf_status try_job(const scanning *s) {
    const bf_prefix *p = &s->job.prefix;
    int64_t words[BF_STATE_WORDS_SMALL];
    bf_scan_job job = s->job;
    job.elements = s->input.data;
    if (job.words != NULL) {
        memcpy(words, job.words,
               (size_t)bf_state_words(p->kind, p->dtype, job.words) * sizeof *words);
        job.words = words;
    }
    return s->context->used->scan->run(s->context, &job);
}

/* Makes room for the results. They go to a copy where the job may fail when some are written, or
 * would lose elements that it has not read; unless the CPU finds out beforehand, or a GPU keeps
 * what is there itself. */
static bf_status prepare_values(scanning *s) {
    bf_scan_job *job = &s->job;
    const bool on_cpu = s->context->used == &bf_backend_cpu;
    const bool loses = on_cpu && job->exclusive && s->values->data == s->array->data;
    const bool keeps = !s->fresh && !job->queued;
    bool apart = loses || (keeps && bf_is_watched(s->context));
    const bool seeks = keeps && !apart && bf_scan_may_fail(job);
    const bool tries = seeks && on_cpu && s->array->dtype != BF_I128;
    apart |= seeks && on_cpu && !tries;
    bf_status status = tries ? try_job(s) : BF_OK;
    if (status != BF_OK) return status;
    if (tries || !bf_scan_may_fail(job))
        job->prefix.options.overflow = BF_OVERFLOW_WRAP; /* nothing looks for misfits */
    status = bf_flat_prepare(s->context, s->context->used, s->values, apart, &s->output);
    job->kept = seeks && !on_cpu && s->output.copy == NULL;
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

static bf_status run_backend(scanning *s) {
    bf_context *context = s->context;
    const int64_t bytes = bf_bytes_of(s->input.count, bf_number_bytes(s->array->dtype));
    s->job.elements = s->input.data;
    s->job.values = s->output.data;
    if (s->job.queued) return context->used->scan->run(context, &s->job);
    bf_status status = bf_watch_begin(context, bytes);
    if (status == BF_OK) status = context->used->scan->run(context, &s->job);
    return bf_watch_end(context, status);
}

static bf_status run_scan(scanning *s) {
    bf_context *context = s->context;
    bf_status status = bf_flat_take(context, context->used, s->array->dtype, s->array, &s->input);
    if (status == BF_OK) status = refuse_nan(s);
    if (status == BF_OK && s->words != NULL) status = absorb_input(s, s->job.prefix.op, s->words);
    if (status == BF_OK) status = prepare_values(s);
    if (status == BF_OK) status = run_backend(s);
    if (status == BF_OK) status = bf_flat_return(context, &s->output);
    bf_flat_release(&s->input);
    bf_flat_release(&s->output);
    return status;
}

static bf_status scan_axis(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                           bool queued, const bf_scan_options *options, const bf_array *values) {
    scanning s = {.context = context, .array = array, .values = values, .queued = queued};
    bf_status status = open_scan(&s, op, options);
    if (status == BF_OK) status = set_lines(&s, axis);
    if (status != BF_OK || bf_array_elements(array, bf_number_bytes(array->dtype)) == 0)
        return status;
    status = choose_place(&s);
    return status == BF_OK ? run_scan(&s) : status;
}

bf_status bf_scan(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                  const bf_scan_options *options, const bf_array *values) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, scan_axis(context, op, array, axis, false, options, values));
}

bf_status bf_scan_async(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                        const bf_scan_options *options, const bf_array *values) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, scan_axis(context, op, array, axis, true, options, values));
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Reads the offsets into new memory of the host, *read, and checks them. */
static bf_status read_offsets(scanning *s, int64_t **read) {
    const int64_t rows = s->array->shape[0];
    int64_t segments, longest;
    bf_status status =
        bf_axis_read_offsets(s->context, s->offsets, rows, read, &segments, &longest);
    s->job.offsets = *read;
    s->job.offsets_dtype = BF_I64;
    return status == BF_OK ? bf_scan_check_ends(s->context, (*read)[0], (*read)[segments], rows)
                           : status;
}

/* The place of the first offset that is wrong, of some with one that is. */
static int64_t find_wrong(const scanning *s, const int64_t *offsets) {
    const int64_t rows = s->array->shape[0], segments = s->job.segments;
    for (int64_t i = 0; i <= segments; i++)
        if (offsets[i] < (i > 0 ? offsets[i - 1] : 0) || offsets[i] > rows) return i;
    return offsets[0] != 0 ? 0 : segments;
}

/* Reads the offsets, and tells a call that goes on what is wrong with them. */
static bf_status read_or_tell(scanning *s, int64_t **read, bool *wrong) {
    bf_status status = read_offsets(s, read);
    *wrong = status == BF_E_ARGUMENT && s->goes_on;
    if (*wrong) status = BF_OK;
    if (status != BF_OK || !s->goes_on) return status;
    const int64_t place = *wrong ? find_wrong(s, *read) : -1;
    return s->context->used->memory->copy(s->context, s->job.wrong, &place, sizeof place);
}

/* A GPU checks the offsets where they are, if there are rows. */
static bf_status scan_cut(scanning *s) {
    bf_context *context = s->context;
    bool none = s->job.length * s->job.inner == 0;
    int64_t *read = NULL;
    bf_flat flat = {.context = context};
    bf_status status = choose_place(s);
    s->job.segments = s->offsets->shape[0] - 1;
    if (status == BF_OK && (none || context->used == &bf_backend_cpu)) {
        bool wrong;
        status = read_or_tell(s, &read, &wrong);
        none |= wrong;
    } else if (status == BF_OK) {
        status = bf_flat_take(context, context->used, s->offsets->dtype, s->offsets, &flat);
        s->job.offsets = flat.data;
        s->job.offsets_dtype = s->offsets->dtype;
    }
    if (status == BF_OK && !none) status = run_scan(s);
    bf_flat_release(&flat);
    bf_free(read);
    return status;
}

static bf_status scan_rows(scanning *s, bf_reduction op, const bf_scan_options *options) {
    bf_status status = open_scan(s, op, options);
    if (status == BF_OK) status = set_lines(s, 0);
    if (status == BF_OK) status = bf_axis_check_offsets(s->context, s->offsets);
    if (status == BF_OK && s->queued)
        status = bf_axis_check_wrong(s->context, !s->goes_on, s->job.wrong);
    return status == BF_OK ? scan_cut(s) : status;
}

bf_status bf_scan_segments(bf_context *context, bf_reduction op, const bf_array *array,
                           const bf_array *offsets, const bf_scan_options *options,
                           const bf_array *values) {
    scanning s = {.context = context, .array = array, .values = values, .offsets = offsets};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, scan_rows(&s, op, options));
}

bf_status bf_scan_segments_async(bf_context *context, bf_reduction op, const bf_array *array,
                                 const bf_array *offsets, const bf_scan_options *options,
                                 const bf_array *values, int64_t *wrong) {
    scanning s = {.context = context, .array = array, .values = values, .offsets = offsets};
    s.queued = true;
    s.job.wrong = wrong;
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, scan_rows(&s, op, options));
}

/* ---- after a state --------------------------------------------------------------------------- */

static bf_status check_state(const scanning *s, const bf_state *state) {
    if (s->array->dtype != state->dtype)
        return bf_fail(s->context, BF_E_DTYPE, "an array of %s after a state of %s",
                       bf_dtype_name(s->array->dtype), bf_dtype_name(state->dtype));
    if (s->array->ndim != 1)
        return bf_fail(s->context, BF_E_SHAPE, "what follows a state has %d dimensions, not one",
                       s->array->ndim);
    if (s->job.reverse)
        return bf_fail(s->context, BF_E_ARGUMENT, "no prefix begins at the end after a state");
    if (s->array->shape[0] > BF_COUNT_MAX - state->words[0])
        return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
    return BF_OK;
}

static bf_status scan_after(bf_state *state, const bf_array *array, const bf_scan_options *options,
                            const bf_array *values) {
    scanning s = {.context = state->context, .array = array, .values = values};
    int64_t words[BF_STATE_WORDS_SMALL];
    bf_status status = open_scan(&s, state->op, options);
    if (status == BF_OK) status = check_state(&s, state);
    if (status != BF_OK || array->shape[0] == 0) return status;
    const size_t bytes = bf_state_bytes(state);
    memcpy(words, state->words, bytes);
    status = set_lines(&s, 0);
    if (status == BF_OK) status = choose_place(&s);
    if (s.context->used == &bf_backend_cpu) {
        s.job.words = words;
    } else {
        s.words = words;
        s.job.starts = state->words;
    }
    if (status == BF_OK) status = run_scan(&s);
    if (status == BF_OK) memcpy(state->words, words, bytes);
    return status;
}

bf_status bf_state_scan(bf_state *state, const bf_array *array, const bf_scan_options *options,
                        const bf_array *values) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, scan_after(state, array, options, values));
}

/* ---- after many states ----------------------------------------------------------------------- */

static bf_status check_many(const scanning *s, const bf_states *states, int64_t lines) {
    if (s->array->dtype != states->dtype)
        return bf_fail(s->context, BF_E_DTYPE, "an array of %s after states of %s",
                       bf_dtype_name(s->array->dtype), bf_dtype_name(states->dtype));
    if (s->job.reverse)
        return bf_fail(s->context, BF_E_ARGUMENT, "no prefix begins at the end after a state");
    if (lines != states->count)
        return bf_fail(s->context, BF_E_SHAPE, "there are %lld lines, and %lld states",
                       (long long)lines, (long long)states->count);
    return BF_OK;
}

/* Reads the words of all states to new memory. */
static bf_status read_starts(scanning *s, const bf_states *states, int64_t **words) {
    const size_t each = (size_t)bf_states_words(states->op, states->dtype) * sizeof **words;
    *words = bf_alloc((size_t)states->count * each);
    s->job.starts = *words;
    if (*words == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for states");
    bf_status status = bf_states_place(states);
    if (status != BF_OK) return status;
    return states->on->axis->words(s->context, states->inside, 0, states->count, *words);
}

/* Scans lines, or segments, of arrays. The array is absorbed first: values may lie over it. */
static bf_status scan_on(scanning *s, bf_states *states, int axis) {
    bf_states *next = NULL;
    int64_t *words = NULL;
    bf_status status = read_starts(s, states, &words);
    if (status == BF_OK) status = bf_states_follow(states, s->array, axis, s->offsets, &next);
    if (status == BF_OK && s->offsets != NULL) {
        status = scan_cut(s);
    } else if (status == BF_OK) {
        status = choose_place(s);
        if (status == BF_OK) status = run_scan(s);
    }
    if (status == BF_OK)
        bf_states_replace(states, next);
    else
        bf_states_destroy(next);
    bf_free(words);
    return status;
}

static bf_status scan_after_many(bf_states *states, const bf_array *array, int axis,
                                 const bf_scan_options *options, const bf_array *values) {
    scanning s = {.context = states->context, .array = array, .values = values};
    bf_status status = open_scan(&s, states->op, options);
    if (status == BF_OK) status = set_lines(&s, axis);
    if (status == BF_OK) status = check_many(&s, states, s.job.outer * s.job.inner);
    if (status != BF_OK || s.job.outer * s.job.length * s.job.inner == 0) return status;
    return scan_on(&s, states, axis);
}

bf_status bf_states_scan(bf_states *states, const bf_array *array, int axis,
                         const bf_scan_options *options, const bf_array *values) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, scan_after_many(states, array, axis, options, values));
}

static bf_status scan_segments_after(bf_states *states, const bf_array *array,
                                     const bf_array *offsets, const bf_scan_options *options,
                                     const bf_array *values) {
    scanning s = {.context = states->context, .array = array, .values = values, .offsets = offsets};
    bf_status status = open_scan(&s, states->op, options);
    if (status == BF_OK) status = set_lines(&s, 0);
    if (status == BF_OK) status = bf_axis_check_offsets(s.context, offsets);
    if (status == BF_OK)
        status = check_many(&s, states, (offsets->shape[0] - 1) * s.job.outer * s.job.inner);
    if (status != BF_OK) return status;
    return s.job.length * s.job.inner > 0 ? scan_on(&s, states, 0) : scan_cut(&s);
}

bf_status bf_states_scan_segments(bf_states *states, const bf_array *array, const bf_array *offsets,
                                  const bf_scan_options *options, const bf_array *values) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, scan_segments_after(states, array, offsets, options, values));
}
