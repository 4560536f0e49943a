/* Scans: the reduction of every prefix of a line of elements. Rolling windows: that of the window
 * of each element.
 *
 * Each result has the bits that the reduction of its prefix alone has: the exact value, rounded
 * once. It depends on the elements alone: never on threads, chunks or the device.
 *
 *   BF_SUM          of floats rounded to options->out_dtype, or to the array's dtype; a sum of
 *                   nothing but -0 is -0. Of bools and signed integers BF_I64, of unsigned ones
 *                   BF_U64, of BF_I128 BF_I128: exact, or BF_E_OVERFLOW
 *   BF_PROD         of integers (not BF_I128): BF_I64 or BF_U64, exact, or BF_E_OVERFLOW
 *   BF_MIN, BF_MAX  the array's dtype; IEEE 754-2019 minimum and maximum: -0 < +0, NaN propagates
 *
 * With BF_NAN_SKIP a NaN is as if absent: it repeats what came before. A minimum or maximum of no
 * elements is options->empty, or BF_E_EMPTY if that is NULL.
 *
 * On failure nothing is written, unless options->fresh says that this is no matter. */
#ifndef BITFOLD_SCAN_H
#define BITFOLD_SCAN_H

#include "axis.h"
#include "order.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_scan_options {
    size_t size;        /* sizeof(bf_scan_options): see bitfold.h */
    bf_nan_policy nan;  /* floats only; default: propagate */
    bf_dtype out_dtype; /* sums of floats: BF_NONE (default: the array's dtype), or the float dtype
                           that the exact sums are rounded to */
    bf_overflow_policy overflow; /* integers: error (default), or wrap modulo 2^64 (of BF_I128,
                                    2^128) */
    const bf_value *empty; /* the minimum or maximum of nothing, of the array's dtype (of BF_I128 a
                              BF_I192); NULL: BF_E_EMPTY */
    int exclusive;         /* not 0: the prefix of an element ends before it, and is empty for the
                              first one: 0 for sums, 1 for products */
    int reverse;           /* not 0: prefixes begin at the end of the line, or of the segment */
    int fresh;             /* not 0: what the values hold after a failure is no matter, as in new
                              memory. So none is looked for beforehand, which is faster */
    int later;             /* for calls on a stream: not 0: they fail for their data, but later */
} bf_scan_options;

/* BF_SCAN_OPTIONS(.exclusive = true). Options may be NULL in every call. */
#define BF_SCAN_OPTIONS(...) BF_OPTIONS_OF(bf_scan_options, __VA_ARGS__)

/* Returns the dtype of the results. BF_NONE: no scan has op, dtype or these options. */
BF_API bf_dtype bf_scan_dtype(bf_reduction op, bf_dtype dtype, const bf_scan_options *options);

/* Scans each line along axis (-ndim to ndim - 1) of an array of any strides. `values`, of
 * bf_scan_dtype, has its shape; it is the array itself, where both have one dtype, or shares no
 * memory with it. O(n). Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_NAN, BF_E_EMPTY,
 * BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED. */
BF_API bf_status bf_scan(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                         const bf_scan_options *options, const bf_array *values);

/* Enqueues the scan on the context's stream (context.h). A graph can capture it, and then has one
 * executable at a time. The arrays are contiguous, and in memory that the GPU reaches, else
 * BF_E_ARGUMENT. Where bf_scan fails for the data, this goes on: options->nan may not be
 * BF_NAN_ERROR; integers are written modulo 2^64 (of BF_I128, 2^128); options->empty defaults to
 * NaN, or of integers 0. On the CPU all is done when the call returns.
 *
 * With options->later it fails where bf_scan does, but later: bf_context_failure and
 * bf_context_synchronize report the first call that did, and its results are not defined. On the
 * CPU the call itself fails. */
BF_API bf_status bf_scan_async(bf_context *context, bf_reduction op, const bf_array *array,
                               int axis, const bf_scan_options *options, const bf_array *values);

/* Scans the rows [offsets[s], offsets[s + 1]) of array for each segment s: offsets as in axis.h,
 * but from 0 to the number of rows, so that each belongs to a segment. Prefixes begin again with
 * each segment; a row of several elements has a prefix for each column. `values` as for bf_scan.
 * The segments of runs of equal keys begin where bf_reduce_runs says, and end at the number of
 * rows. O(n). Errors: as bf_scan; BF_E_ARGUMENT also names the first offset that is wrong. */
BF_API bf_status bf_scan_segments(bf_context *context, bf_reduction op, const bf_array *array,
                                  const bf_array *offsets, const bf_scan_options *options,
                                  const bf_array *values);

/* Enqueues the same, as bf_scan_async does, of a contiguous array and offsets. *wrong (memory that
 * the GPU can write, aligned to 8 bytes) becomes the place of the first offset that is wrong, or
 * -1; if there is one, no result is defined. With options->later the call fails for it later, and
 * wrong is NULL. */
BF_API bf_status bf_scan_segments_async(bf_context *context, bf_reduction op, const bf_array *array,
                                        const bf_array *offsets, const bf_scan_options *options,
                                        const bf_array *values, int64_t *wrong);

/* Scans an array of one dimension whose elements follow those that a state has absorbed, and
 * absorbs it: so chunks, files and days go on where the last one ended. The state is of one of the
 * reductions above, and of the array's dtype; options->reverse is 0. On failure the state is as it
 * was. Errors: as bf_scan, and BF_E_OVERFLOW for more than 2^62 elements in all. */
BF_API bf_status bf_state_scan(bf_state *state, const bf_array *array,
                               const bf_scan_options *options, const bf_array *values);

/* Do the same for many lines or segments at once: each begins behind what a state of its number has
 * absorbed, and that state absorbs it. Lines along axis are numbered as the fibres of
 * bf_states_absorb_axes, segments as in bf_states_absorb_segments (axis.h), with offsets as in
 * bf_scan_segments. So the chunks of a matrix go on where the last one ended. options->reverse is
 * 0. On failure the states are as they were. Errors: as bf_scan; BF_E_SHAPE also if there are not
 * as many states as lines; BF_E_DEVICE also if the states are in host memory (axis.h), but the
 * array is not. */
BF_API bf_status bf_states_scan(bf_states *states, const bf_array *array, int axis,
                                const bf_scan_options *options, const bf_array *values);
BF_API bf_status bf_states_scan_segments(bf_states *states, const bf_array *array,
                                         const bf_array *offsets, const bf_scan_options *options,
                                         const bf_array *values);

/* ---- rolling windows ------------------------------------------------------------------------- */

/* Rolling windows reduce the window of each element of a line.
 *
 * Each result has the bits that the reduction of its window alone has: the exact value, rounded
 * once. Elements that have left a window leave no trace in it, whatever they were, so that nothing
 * drifts, and a variance is never negative. A result depends on its window alone: never on threads
 * or on what came before.
 *
 *   BF_SUM, BF_MEAN, BF_VAR, BF_STD  BF_F64, or options->out_dtype; of integers too, because NaN
 *                                    stands for windows with too few elements
 *   BF_SKEW, BF_KURTOSIS             the same; so have BF_COV, BF_CORR, BF_SLOPE, BF_INTERCEPT and
 *                                    BF_R2, of pairs (bf_rolling_pair)
 *   BF_MIN, BF_MAX                   the array's dtype; of integers BF_F64 or options->out_dtype
 *   counts (bf_rolling_count)        BF_F64
 *   bf_rolling_median, _quantile     bf_median_dtype, bf_quantile_dtype; of integers BF_F64
 *
 * A NaN does not count as one of a window's elements, nor does a pair with one. A window with fewer
 * than options->min_count has NaN; so has one with a NaN, unless the policy is BF_NAN_SKIP.
 *
 * Windows of a span (options->on, ->span; window 0) have the elements whose keys are in (key -
 * span, key], where key is that of the window's element, or, with center, in (key - span / 2, key +
 * span / 2]. So elements with one key have one window, before and behind them. `on` has one
 * dimension, a key for each element of a line; the keys, integers (times are the integers of their
 * unit) or finite floats, do not decrease. They are compared exactly, and on the CPU. */
typedef struct bf_rolling_options {
    size_t size;        /* sizeof(bf_rolling_options): see bitfold.h */
    bf_nan_policy nan;  /* floats only; default: propagate. BF_NAN_ERROR: BF_E_NAN if a window that
                           has a result has a NaN */
    bf_dtype out_dtype; /* BF_NONE (default), or the float dtype that exact values are rounded to;
                           not for the minima and maxima of floats, nor for counts */
    int ddof;           /* var, std, cov, skew, kurtosis: as in bf_reduce_options; 0 (default)
                           or 1 */
    int center;         /* 0 (default): a window ends with its element; else the element is in the
                           middle, and of an even window the first one behind it */
    int64_t window;     /* how many elements a window has, > 0: fewer at the ends of a line, so that
                           INT64_MAX are all up to each one */
    int64_t min_count;  /* how many elements that are no NaN a window must have, up to the window;
                           0 (default): as many as the window, of a span 1; -1: none */
    int64_t step;       /* results are those of elements 0, step, 2 * step and so on; 0 (default):
                           of each */
    const bf_array *on; /* a key for windows of a span; NULL: windows are numbers of elements */
    const bf_value *span;      /* > 0: of a key of integers whole and below 2^64, of floats a finite
                                  float */
    bf_quantile_method method; /* how quantiles are made */
    int scale;                 /* integers stand for themselves times 10^-scale, as in
                                  bf_reduce_options, and are divided before they are rounded; 0
                                  (default) */
    int later;                 /* for calls on a stream: as in bf_scan_options */
} bf_rolling_options;

/* BF_ROLLING_OPTIONS(.window = 10). */
#define BF_ROLLING_OPTIONS(...) BF_OPTIONS_OF(bf_rolling_options, __VA_ARGS__)

/* Returns the dtype of the results. BF_NONE: no window has op, dtype or these options. */
BF_API bf_dtype bf_rolling_dtype(bf_reduction op, bf_dtype dtype,
                                 const bf_rolling_options *options);

/* Reduces the window of each element of the lines along axis (-ndim to ndim - 1) of an array of any
 * strides. `values`, of bf_rolling_dtype, has its shape, but along axis the number of elements
 * divided by the step, rounded up; it shares no memory with the array. On a CPU O(n), whatever the
 * window. Of BF_I128, and by BF_SKEW and BF_KURTOSIS, the CPU does it, and refuses memory of a GPU.
 * On failure nothing is written.
 * Errors: BF_E_ARGUMENT (keys that decrease, too), BF_E_DTYPE, BF_E_SHAPE, BF_E_NAN (of keys, too),
 * BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED. */
BF_API bf_status bf_rolling(bf_context *context, bf_reduction op, const bf_array *array, int axis,
                            const bf_rolling_options *options, const bf_array *values);

/* Reduces the windows of pairs of a and b, which have one shape and dtype, by BF_COV, BF_CORR,
 * BF_SLOPE, BF_INTERCEPT or BF_R2 (pair.h), as bf_rolling does. O(n). The CPU does it,
 * and refuses memory of a GPU. Errors: as bf_rolling. */
BF_API bf_status bf_rolling_pair(bf_context *context, bf_reduction op, const bf_array *a,
                                 const bf_array *b, int axis, const bf_rolling_options *options,
                                 const bf_array *values);

/* Counts the elements of each window that are no NaN, whatever the policy for NaNs, as bf_rolling
 * reduces them. Here min_count asks for elements of any kind, so that only windows at the ends of a
 * line have too few. Errors: as bf_rolling. */
BF_API bf_status bf_rolling_count(bf_context *context, const bf_array *array, int axis,
                                  const bf_rolling_options *options, const bf_array *values);

/* Enqueue the same, as bf_scan_async does. NaNs are refused with options->later alone. A call with
 * windows of a span, which the host finds, waits, and no graph captures it. */
BF_API bf_status bf_rolling_async(bf_context *context, bf_reduction op, const bf_array *array,
                                  int axis, const bf_rolling_options *options,
                                  const bf_array *values);
BF_API bf_status bf_rolling_count_async(bf_context *context, const bf_array *array, int axis,
                                        const bf_rolling_options *options, const bf_array *values);

/* Finds the median of each window, as bf_rolling reduces them: of its elements that are no NaN, the
 * exact mean of the two in the middle, rounded once. options->out_dtype is BF_NONE. O(n log w). A
 * GPU does it for windows of up to 2048 elements, and the CPU, which refuses memory of a GPU, for
 * longer ones, and for those of a span. Errors: as bf_rolling. */
BF_API bf_status bf_rolling_median(bf_context *context, const bf_array *array, int axis,
                                   const bf_rolling_options *options, const bf_array *values);

/* Finds the quantiles q[0..m) (0 to 1) of each window, by options->method, as bf_quantile_axes does
 * (order.h): values has the shape (m, that of bf_rolling's), or of one quantile that alone. Errors:
 * as bf_rolling_median. */
BF_API bf_status bf_rolling_quantile(bf_context *context, const bf_array *array, int axis,
                                     const double q[], int m, const bf_rolling_options *options,
                                     const bf_array *values);

#ifdef __cplusplus
}
#endif
#endif
