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
                                 .scale = scale);
}

static int settle_rolling(running *x, const char *file) {
    bf_rolling_options any = x->roll;
    any.window = 1; /* it may be a span */
    any.min_count = 0;
    x->to = bf_rolling_dtype(x->op, x->dtype, &any);
    if (x->counts) x->to = x->roll.out_dtype == BF_NONE ? BF_F64 : BF_NONE;
    if (x->to != BF_NONE) return EXIT_DONE;
    return fail(EXIT_USAGE, file, "--out-dtype: the %s of %s is not rounded", x->name,
                bf_dtype_name(x->dtype));
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
                              .reverse = x->own.reverse);
    x->to = bf_scan_dtype(x->op, dtype, &x->scan);
    if (x->to != BF_NONE && (x->op != BF_PROD || scale == 0)) return EXIT_DONE;
    return fail(EXIT_DATA, file, "%s is of integers, and these are %s", x->name,
                output_dtype(dtype, scale));
}

int64_t running_count(const running *x, int64_t n) {
    const int64_t step = x->own.step > 0 ? x->own.step : 1;
    return n < 0 ? -1 : n / step + (n % step != 0);
}

int running_failed(const running *x, bf_status st, const source *s) {
    const int code = source_check(s);
    if (code != EXIT_DONE || st == BF_E_MEMORY || st == BF_E_DEVICE || st == BF_E_CANCELLED)
        return code != EXIT_DONE ? code : fail_status(st, x->context, s->name);
    fail(EXIT_DATA, s->name, "%s", bf_context_message(x->context));
    if (st == BF_E_EMPTY) hint("--empty VALUE says what it is");
    return EXIT_DATA;
}
