/* What the running commands make of lines of numbers: cumsum and its like of what came up to each
 * one, rolling of the window of each. */
#ifndef BITFOLD_CLI_SCAN_RUNNING_H
#define BITFOLD_CLI_SCAN_RUNNING_H

#include "input/source.h"
#include "memory/buffer.h"
#include "options/options.h"

typedef struct running_options {
    bool exclusive, reverse, center;
    struct wanted_axes axes;
    struct wanted_percents percents; /* become fractions */
    const char *window_text, *on;    /* NULL: not given */
    int64_t window, min_count, step; /* 0, -1 and 0: not given; window 0: it is a span */
} running_options;

typedef struct running {
    const char *name; /* the command, or the operation on windows */
    options options;
    running_options own;
    bool windows; /* rolling */
    enum window_result { WINDOW_REDUCED, WINDOW_COUNTED, WINDOW_MEDIAN, WINDOW_QUANTILE } result;
    bool sparse;     /* elements between windows are left out: steps are longer than these */
    bool prompt;     /* each part of a line gives its results, however few */
    bf_reduction op; /* reduces windows, or prefixes */
    bf_scan_options scan;
    bf_value empty; /* the least or greatest of nothing */
    bf_rolling_options roll;
    bf_value span; /* with --on, which has this dtype; else BF_NONE */
    bf_dtype on;
    const void *reached; /* no key to come is less than this one */
    double began;        /* seconds of progress_clock */
    bf_context *context;
    bf_dtype dtype, to; /* the numbers' and the results' */
    int scale;          /* results are integers in units of 10^-scale */
    buffer results;     /* holds those of a line's last part */
} running;

/* How many numbers are reduced together: 2 are a pair, which lie one behind another, and are an
 * element. */
static inline int running_arrays(const running *x) { return bf_reduction_arrays(x->op); }
static inline size_t running_element(const running *x) {
    return (size_t)running_arrays(x) * bf_dtype_size(x->dtype);
}

/* Results of a number, which lie together, and in one line: several quantiles. */
static inline int64_t running_each(const running *x) {
    return x->own.percents.n > 1 ? x->own.percents.n : 1;
}
static inline size_t running_bytes(const running *x) {
    return (size_t)running_each(x) * bf_dtype_size(x->to);
}

/* Functions that return an exit code have reported the failure. */

/* Takes what numbers are: integers in units of 10^-scale, or of another dtype. file: of messages.
 */
int running_settle(running *x, bf_dtype dtype, int scale, const char *file);

/* Finds the results of windows along an axis: `results` tells where those of each number begin.
 * numbers: of pairs two arrays. */
bf_status running_roll(const running *x, const bf_array numbers[], int axis,
                       const bf_rolling_options *how, const bf_array *results);

/* The results of so many numbers; and of a file whose numbers are not counted yet (-1), -1. */
int64_t running_count(const running *x, int64_t n);

/* The bytes that what is held of lines may take; 0: no limit. As much is for results and the
 * library's calls. */
int64_t running_limit(const running *x);

/* Reports what the library refuses: mostly the data. */
int running_failed(const running *x, bf_status st, const source *s);

#endif
