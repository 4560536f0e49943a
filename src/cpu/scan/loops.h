/* The loops of scans: one table of them for each instruction set. */
#ifndef BF_CPU_SCAN_LOOPS_H
#define BF_CPU_SCAN_LOOPS_H

#include "cpu/runtime/isa.h"

#include <stdint.h>

enum {
    BF_SCAN_BLOCK = 1024, /* elements that are taken at a time */
    BF_SCAN_GAP = 43,     /* the units of a window are so many bits apart */
    BF_SCAN_LEAST = -1074,
    BF_SCAN_MOST = 927 /* a window's least and greatest exponent: its numbers are normal doubles */
};

/* A window for the sums of a block: a multiple of 2^exponent is the sum of two doubles, `high` a
 * multiple of 2^(exponent + BF_SCAN_GAP). docs/numerics.md says why their sums are exact. */
typedef struct bf_scan_window {
    int exponent;
    double high, low, rest; /* the sum of what came before: |low| is at most high's unit, and
                               |rest|, rounded to odd, at most low's */
} bf_scan_window;

/* Writes the sums of the prefixes of n <= BF_SCAN_BLOCK elements after the window's, rounded to
 * nearest or, if `odd`, to odd, for a second rounding. False, and the window is as it was: the
 * elements do not fit it. results (f64) are not the elements. */
typedef bool (*bf_scan_sum_loop)(const void *elements, int64_t n, bf_scan_window *window, bool odd,
                                 void *results);

/* Writes the sums (i64 or u64) of the prefixes of n integers after *total, modulo 2^64, and sets
 * *total to the last. False: one of them does not fit, and not `wraps`. results are maybe the
 * elements. */
typedef bool (*bf_scan_integer_loop)(const void *elements, int64_t n, bool wraps, uint64_t *total,
                                     void *results);

typedef struct bf_scan_loops {
    bf_scan_sum_loop sum_f64, sum_f32;
    bf_scan_integer_loop sum_integers[BF_DTYPES];
} bf_scan_loops;

#endif
