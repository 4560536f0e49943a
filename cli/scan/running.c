#include "scan/running.h"

#include "sheet/output.h"
#include "work/places.h"

/* Steps that are longer than windows leave elements between them out (scan/line.c), and are then
 * as long as these. */
static void settle_windows(running *x, int scale) {
    const running_options *own = &x->own;
    const bf_reduce_options *rules = &x->options.rules;
    x->sparse = !own->on && own->step > own->window;
    x->roll = BF_ROLLING_OPTIONS(.nan = rules->nan, .out_dtype = rules->out_dtype,
                                 .ddof = rules->ddof, .center = own->center, .window = own->window,
                                 .min_count = own->min_count < 0    ? 0
                                              : own->min_count == 0 ? -1
                                                                    : own->min_count,
                                 .step = x->sparse        ? own->window
                                         : own->step == 0 ? 1
                                                          : own->step,
                                 .method = x->options.method, .scale = scale);
}

/* The dtype of what is not reduced, which is not rounded to another. */
static bf_dtype dtype_of_other(const running *x) {
    if (x->roll.out_dtype != BF_NONE) return BF_NONE;
    if (x->result == WINDOW_COUNTED || bf_dtype_kind(x->dtype) != 'f') return BF_F64;
    return x->result == WINDOW_MEDIAN ? bf_median_dtype(x->dtype)
                                      : bf_quantile_dtype(x->dtype, x->roll.method);
}

static int settle_rolling(running *x, const char *file) {
    bf_rolling_options any = x->roll;
    any.window = 1; /* it may be a span */
    any.min_count = 0;
    x->to =
        x->result == WINDOW_REDUCED ? bf_rolling_dtype(x->op, x->dtype, &any) : dtype_of_other(x);
    if (x->to != BF_NONE) return EXIT_DONE;
    return fail(EXIT_USAGE, file, "--out-dtype: the %s of %s is not rounded", x->name,
                bf_dtype_name(x->dtype));
}

/* Results of a number lie together, also those of several quantiles. */
static bf_status roll_quantiles(const running *x, const bf_array *numbers, int axis,
                                const bf_rolling_options *how, const bf_array *results) {
    const int64_t each = running_each(x);
    bf_array all = {results->data, x->to, results->ndim + 1, {each}, {1}};
    if (each == 1)
        return bf_rolling_quantile(x->context, numbers, axis, x->own.percents.at, 1, how, results);
    for (int d = 0; d < results->ndim; d++) {
        all.shape[d + 1] = results->shape[d];
        all.strides[d + 1] = results->strides[d] * each;
    }
    return bf_rolling_quantile(x->context, numbers, axis, x->own.percents.at, (int)each, how, &all);
}

bf_status running_roll(const running *x, const bf_array numbers[], int axis,
                       const bf_rolling_options *how, const bf_array *results) {
    switch (x->result) {
    case WINDOW_COUNTED: return bf_rolling_count(x->context, numbers, axis, how, results);
    case WINDOW_MEDIAN: return bf_rolling_median(x->context, numbers, axis, how, results);
    case WINDOW_QUANTILE: return roll_quantiles(x, numbers, axis, how, results);
    case WINDOW_REDUCED: break;
    }
    return running_arrays(x) == 2
               ? bf_rolling_pair(x->context, x->op, &numbers[0], &numbers[1], axis, how, results)
               : bf_rolling(x->context, x->op, numbers, axis, how, results);
}

int running_settle(running *x, bf_dtype dtype, int scale, const char *file) {
    x->dtype = dtype;
    if (x->windows) {
        settle_windows(x, scale);
        return settle_rolling(x, file);
    }
    const options *o = &x->options;
    x->scale = scale;
    const int code = places_read_empty(o, dtype, scale, &x->empty);
    if (code != EXIT_DONE) return code;
    x->scan = BF_SCAN_OPTIONS(.nan = o->rules.nan, .overflow = o->rules.overflow,
                              .empty = o->empty ? &x->empty : NULL, .exclusive = x->own.exclusive,
                              .reverse = x->own.reverse, .fresh = true);
    x->to = bf_scan_dtype(x->op, dtype, &x->scan);
    if (x->to != BF_NONE && (x->op != BF_PROD || scale == 0)) return EXIT_DONE;
    return fail(EXIT_DATA, file, "%s is of integers, and these are %s", x->name,
                output_dtype(dtype, scale));
}

int64_t running_count(const running *x, int64_t n) {
    const int64_t step = x->own.step > 0 ? x->own.step : 1;
    return n < 0 ? -1 : n / step + (n % step != 0);
}

int64_t running_limit(const running *x) {
    const memory_plan *p = &x->options.memory;
    return (p->library + p->results) / 2;
}

int running_failed(const running *x, bf_status st, const source *s) {
    const int code = source_check(s);
    if (code == EXIT_DONE && st == BF_E_MEMORY && x->options.memory.limit > 0)
        return fail(EXIT_IO, s->name, "--memory does not hold what windows and results take");
    if (code != EXIT_DONE || st == BF_E_MEMORY || st == BF_E_DEVICE || st == BF_E_CANCELLED)
        return code != EXIT_DONE ? code : fail_status(st, x->context, s->name);
    fail(EXIT_DATA, s->name, "%s", bf_context_message(x->context));
    if (st == BF_E_EMPTY) hint("--empty VALUE says what it is");
    return EXIT_DATA;
}
