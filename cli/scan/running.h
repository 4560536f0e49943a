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
    const char *window_text, *on;    /* NULL: not given */
    int64_t window, min_count, step; /* 0, -1 and 0: not given; window 0: it is a span */
} running_options;

typedef struct running {
    const char *name; /* the command, or the operation on windows */
    options options;
    running_options own;
    bool windows; /* rolling */
    bool counts;  /* the numbers of a window are counted: there is no op */
    bool sparse;  /* elements between windows are left out: steps are longer than these */
    bool prompt;  /* each part of a line gives its results, however few */
    bf_reduction op;
    bf_scan_options scan;
    bf_value empty; /* the least or greatest of nothing */
    bf_rolling_options roll;
    bf_value span; /* with --on, which has this dtype; else BF_NONE */
    bf_dtype on;
    bf_context *context;
    bf_dtype dtype, to; /* the numbers' and the results' */
    int scale;          /* results are integers in units of 10^-scale */
    buffer results;     /* holds those of a line's last part */
} running;

/* Functions that return an exit code have reported the failure. */

/* Takes what numbers are: integers in units of 10^-scale, or of another dtype. file: of messages.
 */
int running_settle(running *x, bf_dtype dtype, int scale, const char *file);

/* The results of so many numbers; and of a file whose numbers are not counted yet (-1), -1. */
int64_t running_count(const running *x, int64_t n);

/* Reports what the library refuses: mostly the data. */
int running_failed(const running *x, bf_status st, const source *s);

#endif
