/* Order: sorting, and what depends on the order of values.
 *
 * Values are ordered from -inf to inf, -0 before +0, false before true; NaNs, whatever their bits,
 * are equal and last. Equal values are in the order of their positions (stable). Descending is the
 * reverse, NaNs first, but equal values stay in the order of their positions. A pair (BF_PAIR) is
 * ordered by its first word, then by its second; it has no quantiles and no mode. Results depend on
 * the values and their positions alone: never on threads, chunks or the device.
 *
 * Arrays have any strides, in host memory or in that of the GPU that works. Arrays of BF_I128 or of
 * pairs that have strides have at most 7 dimensions. The CPU selects from such dtypes by sorting
 * each line, in O(n log n). No output may lie in the memory of an input, unless the call says so:
 * BF_E_ARGUMENT. On failure nothing is written.
 * Errors of all: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED.
 */
#ifndef BITFOLD_ORDER_H
#define BITFOLD_ORDER_H

#include "array.h"
#include "context.h"
#include "options.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a quantile is found between two neighbours: NumPy's methods (Hyndman and Fan 1996), by their
 * names there. */
typedef enum bf_quantile_method {
    BF_QUANTILE_LINEAR = 0,
    BF_QUANTILE_LOWER = 1,
    BF_QUANTILE_HIGHER = 2,
    BF_QUANTILE_MIDPOINT = 3,
    BF_QUANTILE_NEAREST = 4,
    BF_QUANTILE_INVERTED_CDF = 5,
    BF_QUANTILE_AVERAGED_INVERTED_CDF = 6,
    BF_QUANTILE_CLOSEST_OBSERVATION = 7,
    BF_QUANTILE_INTERPOLATED_INVERTED_CDF = 8,
    BF_QUANTILE_HAZEN = 9,
    BF_QUANTILE_WEIBULL = 10,
    BF_QUANTILE_MEDIAN_UNBIASED = 11,
    BF_QUANTILE_NORMAL_UNBIASED = 12
} bf_quantile_method;

/* The name of a method, such as "linear"; "?" if there is none. The other returns the method of a
 * name, or -1. */
BF_API const char *bf_quantile_method_name(bf_quantile_method method);
BF_API int bf_quantile_method_from_name(const char *name);

typedef struct bf_order_options {
    size_t size;       /* sizeof(bf_order_options): see bitfold.h */
    int descending;    /* not 0: the reverse of sorting; of bf_top: the greatest */
    bf_nan_policy nan; /* BF_NAN_SKIP: NaNs are last, also in descending order, and quantiles
                          are those of the others; BF_NAN_ERROR: BF_E_NAN if there is one */
    bf_quantile_method method; /* how quantiles are made */
    const bf_value *empty; /* the quantile of nothing, of the results' dtype (the first that they
                              may have, if they are BF_PAIR; of BF_I128 a BF_I192); NULL: BF_E_EMPTY
                            */
    int scale; /* integers stand for themselves times 10^-scale, from 0 (default) to BF_SCALE_MOST,
                  of BF_I128 to BF_SCALE_MOST_I128: quantiles and medians of BF_F64 are divided
                  before they are rounded; those of the array's dtype, and all that is sorted or
                  chosen, are elements as they are. Not for floats and bools */
    int whole; /* not 0: a quantile or a median between two integers is the nearest integer, or of
                  two the even one, so that results have the array's dtype (or are BF_PAIR, all of
                  it). Not for floats and bools */
} bf_order_options;

/* BF_ORDER_OPTIONS(.descending = true). Options may be NULL in every call. */
#define BF_ORDER_OPTIONS(...) BF_OPTIONS_OF(bf_order_options, __VA_ARGS__)

/* ---- sorting --------------------------------------------------------------------------------- */

/* Sorts each line of array along axis (negative ones count from the end). values: of the array's
 * shape and dtype, and it may be the array itself; NULL: none are wanted. index: BF_I64 of that
 * shape, the position in its line that each value came from; NULL: none. A bool becomes 0 or 1, and
 * other values keep their bits. O(n log n). */
BF_API bf_status bf_sort(bf_context *context, const bf_array *array, int axis,
                         const bf_order_options *options, const bf_array *values,
                         const bf_array *index);
/* Enqueues the sort on the context's stream (context.h). The arrays are in memory that the GPU
 * reaches, contiguous if the axis is their last dimension, else BF_E_ARGUMENT; options->nan is not
 * BF_NAN_ERROR. Values of more than 2^20 floats are waited for until the first of several passes
 * has read them, but not in a graph. On the CPU, and of BF_I128, all is done when the call returns.
 */
BF_API bf_status bf_sort_async(bf_context *context, const bf_array *array, int axis,
                               const bf_order_options *options, const bf_array *values,
                               const bf_array *index);
/* Sorts the elements [offsets[s], offsets[s + 1]) of a one-dimensional array for each segment s:
 * offsets as in axis.h. Elements of no segment stay where they are, and their index counts from the
 * first of them. */
BF_API bf_status bf_sort_segments(bf_context *context, const bf_array *array,
                                  const bf_array *offsets, const bf_order_options *options,
                                  const bf_array *values, const bf_array *index);
/* Sorts rows by their keys, in place: keys has one dimension, and each of `columns` payloads (any
 * dtype, or BF_PAIR) one element a row. At most 64 payloads. */
BF_API bf_status bf_sort_rows(bf_context *context, const bf_array *keys, const bf_array payloads[],
                              int columns, const bf_order_options *options);

/* The rank of equal elements: the mean of their positions (from 1) in order, the least of them, the
 * greatest, the number of their value among the different ones, or each its own position. */
typedef enum bf_rank_method {
    BF_RANK_AVERAGE = 0,
    BF_RANK_MIN = 1,
    BF_RANK_MAX = 2,
    BF_RANK_DENSE = 3,
    BF_RANK_ORDINAL = 4
} bf_rank_method;

/* Writes the rank of each element in its line along axis, from 1: BF_F64 for BF_RANK_AVERAGE, else
 * BF_I64, of the array's shape. Elements are equal as bf_unique has it: -0 and +0 are, and all
 * NaNs. In descending order the first is the greatest. O(n log n); a GPU leaves it to the CPU. */
BF_API bf_status bf_rank(bf_context *context, const bf_array *array, int axis,
                         bf_rank_method method, const bf_order_options *options,
                         const bf_array *ranks);

/* The first k of each line along axis, in order: values (the array's dtype) and index (BF_I64; the
 * position in the line) have its shape with extent k along axis; either may be NULL. k is 0 to the
 * extent there. O(n). */
BF_API bf_status bf_top(bf_context *context, const bf_array *array, int axis, int64_t k,
                        const bf_order_options *options, const bf_array *values,
                        const bf_array *index);

/* ---- order statistics ------------------------------------------------------------------------ */

/* A quantile is an element, or lies between two: the exact interpolation, rounded once. It has one
 * of these dtypes, which the array of the results says:
 * - bf_quantile_dtype: of the methods lower, higher, nearest, inverted_cdf and closest_observation
 *   the array's, of all others BF_F64. A median has bf_median_dtype: of floats the array's, of
 *   integers and bools BF_F64. It may round an integer of 64 bits.
 * - The array's own dtype. Floats are rounded once, to it; but if an integer or bool lies between
 *   two elements (bf_quantile_is_whole says it), the call fails: BF_E_DTYPE.
 * - BF_PAIR: each result is its bits, and its dtype. That is the array's where the result is an
 *   element, also one of two equal integers; else the first one. Of BF_I128 each result is two
 *   pairs, in a last dimension of extent 2, which are the bytes of a bf_value: a BF_I192 with the
 *   scale of the options where the result is an element, else a BF_F64. Groups have no such
 *   results: BF_E_DTYPE. */
BF_API bf_dtype bf_quantile_dtype(bf_dtype dtype, bf_quantile_method method);
BF_API bf_dtype bf_median_dtype(bf_dtype dtype);

/* Returns 1 if all quantiles q[0..m) of n elements, or (q NULL, m 0) their median, are elements by
 * their places; else 0. Skipped NaNs do not count among the n. */
BF_API int bf_quantile_is_whole(bf_quantile_method method, int64_t n, const double q[], int m);

/* The quantiles q[0..m) (0 to 1) of each fibre along axes[0..n) (axis.h): values has the
 * shape (m, the array's extents without these axes, or with 1 in place of each). Errors: BF_E_NAN,
 * BF_E_EMPTY (a fibre of no elements, or of NaNs that are all skipped). docs/numerics.md has the
 * arithmetic. O(n). */
BF_API bf_status bf_quantile_axes(bf_context *context, const bf_array *array, const int axes[],
                                  int n, const double q[], int m, const bf_order_options *options,
                                  const bf_array *values);
/* Finds quantiles of segments of a one-dimensional array; values has the shape (m, segments). */
BF_API bf_status bf_quantile_segments(bf_context *context, const bf_array *array,
                                      const bf_array *offsets, const double q[], int m,
                                      const bf_order_options *options, const bf_array *values);
/* Finds quantiles of slots: element i of a one-dimensional array goes to slot index[i]; values has
 * the shape (m, slots). */
BF_API bf_status bf_quantile_index(bf_context *context, const bf_array *array,
                                   const bf_array *index, const double q[], int m,
                                   const bf_order_options *options, const bf_array *values);

/* Finds quantiles of groups: values[i] of a one-dimensional array belongs to the group of keys[i].
 * keys has one dimension and any dtype; keys are equal as those of bf_groups are (group.h). *n
 * becomes the number of groups. values has the shape (m, groups) with room for n groups, or more,
 * which is left alone; so has the one-dimensional `groups`, which gets their keys, ascending (of
 * the keys' dtype; NULL: they are not wanted). Sorts all rows by their keys: it needs memory for
 * them, or a context that may spill (context.h). Errors: BF_E_SHAPE if there is too little room; *n
 * is set even then. O(n log n). */
BF_API bf_status bf_quantile_groups(bf_context *context, const bf_array *array,
                                    const bf_array *keys, const double q[], int m,
                                    const bf_order_options *options, const bf_array *groups,
                                    const bf_array *values, int64_t *n);

/* The median: the exact mean of the two in the middle, rounded once (of an odd number, the one),
 * which is the quantile 0.5 of the method linear. values has the shape of the kept axes, or of
 * segments, or of slots. */
BF_API bf_status bf_median_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                                const bf_order_options *options, const bf_array *values);
/* Enqueue both on the context's stream (context.h). The array, with the axes as its last
 * dimensions, and values are contiguous, and in memory that the GPU reaches, else BF_E_ARGUMENT;
 * options->nan is not BF_NAN_ERROR, and options->empty defaults to NaN, or of integers 0. Few
 * results of fibres of 2^18 elements and more, and fibres of more than 2^20 floats in all, are
 * waited for until they have been read; in a graph they are sorted. On the CPU, and of BF_I128, all
 * is done when the call returns. */
BF_API bf_status bf_quantile_axes_async(bf_context *context, const bf_array *array,
                                        const int axes[], int n, const double q[], int m,
                                        const bf_order_options *options, const bf_array *values);
BF_API bf_status bf_median_axes_async(bf_context *context, const bf_array *array, const int axes[],
                                      int n, const bf_order_options *options,
                                      const bf_array *values);
BF_API bf_status bf_median_segments(bf_context *context, const bf_array *array,
                                    const bf_array *offsets, const bf_order_options *options,
                                    const bf_array *values);
BF_API bf_status bf_median_index(bf_context *context, const bf_array *array, const bf_array *index,
                                 const bf_order_options *options, const bf_array *values);
BF_API bf_status bf_median_groups(bf_context *context, const bf_array *array, const bf_array *keys,
                                  const bf_order_options *options, const bf_array *groups,
                                  const bf_array *values, int64_t *n);

/* The elements at positions[0..m) of the order of each fibre, from 0: what a sort has there. values
 * has the array's dtype, and the shape that quantiles have. Errors: BF_E_ARGUMENT, of a position
 * outside the fibres. */
BF_API bf_status bf_nth_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                             const int64_t positions[], int m, const bf_order_options *options,
                             const bf_array *values);

/* ---- places in an order ---------------------------------------------------------------------- */

/* For each of wanted, the place (BF_I64, of the shape of wanted) where it would go into sorted, of
 * one dimension and the same dtype: before its equals, or (right not 0) after them.
 * options->descending says how sorted is ordered; if it is not, the places are any. O(log n) each.
 */
BF_API bf_status bf_searchsorted(bf_context *context, const bf_array *sorted,
                                 const bf_array *wanted, int right, const bf_order_options *options,
                                 const bf_array *places);

/* Sets *sorted to 1 if a one-dimensional array is in order, else to 0. It reads as far as it must.
 */
BF_API bf_status bf_is_sorted(bf_context *context, const bf_array *array,
                              const bf_order_options *options, int *sorted);

/* ---- different values ------------------------------------------------------------------------ */

/* The different values of an array, ascending, and how often each occurs. -0 and +0 are one value,
 * +0, and all NaNs are one, the last (as keys of groups are: group.h), which BF_NAN_SKIP leaves
 * out. *n becomes their number. values (the array's dtype) and counts (BF_I64) have one dimension
 * and room for n, or more, which is left alone; either may be NULL. Errors: BF_E_SHAPE if there is
 * too little room; *n is set even then. */
BF_API bf_status bf_unique(bf_context *context, const bf_array *array,
                           const bf_order_options *options, const bf_array *values,
                           const bf_array *counts, int64_t *n);

/* The value that occurs most often, of several the first in order, and how often (NULL: not asked):
 * of the values that bf_unique gives; of BF_I128 it is a BF_I192. Errors: BF_E_EMPTY, BF_E_DTYPE
 * (no value is a pair). */
BF_API bf_status bf_mode(bf_context *context, const bf_array *array,
                         const bf_order_options *options, bf_value *value, int64_t *count);

/* ---- sorting streams ------------------------------------------------------------------------- */

/* Sorts elements that come in parts, more than memory holds: a sorter takes arrays, and when all
 * are added it gives the elements in order, in parts of any size. It holds them in memory; where
 * the context limits that and names a directory (bf_options.memory, .spill), what does not fit is
 * written there as sorted runs, which are merged as they are given. The parts change no bit. The
 * CPU sorts, and arrays are in host memory. */
typedef struct bf_sorter bf_sorter;

typedef struct bf_sorter_options {
    size_t size;    /* sizeof(bf_sorter_options): see bitfold.h */
    bf_dtype dtype; /* the elements': any, BF_I128 or BF_PAIR */
    int different;  /* not 0: each different value is given once, ascending, as bf_unique has it */
    int beside;     /* not 0: a BF_I64 goes with each element; of different values, their sum */
    int descending; /* not 0: the reverse, as in bf_order_options */
    bf_nan_policy nan; /* BF_NAN_SKIP: NaNs are left out; BF_NAN_ERROR: BF_E_NAN if one is added */
    int64_t memory; /* bytes of the context's memory that this sorter takes before it spills, what
                       its calls need among them; 0: half of what the context has left when the
                       first element is added, and again when all are. Several sorters of a
                       context need shares that they all have */
} bf_sorter_options;

/* BF_SORTER_OPTIONS(.dtype = BF_F64). */
#define BF_SORTER_OPTIONS(...) BF_OPTIONS_OF(bf_sorter_options, __VA_ARGS__)

/* Creates a sorter without elements. The context must outlive it, and belongs to one thread at a
 * time together with it. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. */
BF_API bf_status bf_sorter_create(bf_context *context, const bf_sorter_options *options,
                                  bf_sorter **sorter);
BF_API void bf_sorter_destroy(bf_sorter *sorter);

/* Adds the elements of an array of any shape and strides, in C order. beside: BF_I64 of the same
 * shape, what goes with each; NULL: the position of the element among all that were added, from 0;
 * or, if values are different, 1, so that the sum says how often a value occurs. All has been read
 * when the call returns. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_NAN, BF_E_STATE (the
 * sorter gives already), BF_E_DEVICE, and the sorter is as it was; also BF_E_MEMORY, BF_E_IO,
 * BF_E_OVERFLOW (a sum; more than 2^62 elements), BF_E_CANCELLED: if one of these comes when some
 * elements are added, the sorter can only be destroyed, and other calls give BF_E_STATE. */
BF_API bf_status bf_sorter_add(bf_sorter *sorter, const bf_array *values, const bf_array *beside);

/* Ends adding. Sets *count (NULL: not asked) to the number of elements that are given in all. Calls
 * that follow only tell the number. O(n log n). Errors: those of bf_sorter_add that are not of its
 * arrays, with the same consequence. */
BF_API bf_status bf_sorter_end(bf_sorter *sorter, int64_t *count);

/* Writes the next elements in order to values (the dtype; NULL: none), and what goes with them to
 * beside (BF_I64; NULL: none), each of one dimension, any strides and equal length, and sets *n to
 * their number: the arrays are full, unless there are no more elements. What is behind them is left
 * alone. Equal elements come in the order in which they were added. Ends adding, as bf_sorter_end
 * does. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_DEVICE, BF_E_STATE, BF_E_MEMORY for a
 * copy of arrays that need one, and the sorter is as it was; also those of bf_sorter_end. */
BF_API bf_status bf_sorter_next(bf_sorter *sorter, const bf_array *values, const bf_array *beside,
                                int64_t *n);

/* ---- quantiles of data that are read again --------------------------------------------------- */

/* Quantiles, or the median, of data that are larger than memory, or come in parts: exact, in passes
 * over the same elements. A pass absorbs them all, in any order, into one object or into several
 * that are then merged; bf_quantiles_next ends it. Elements of 1 or 2 bytes take one pass, of 4
 * mostly two and at most four, of 8 two or three and at most six, of BF_I128 two or three and at
 * most eleven. An object has 3.7 MB, whatever the data. */
typedef struct bf_quantiles bf_quantiles;

#define BF_QUANTILES_MAX 32

/* Quantiles q[0..m) (0 to 1; m at most BF_QUANTILES_MAX) of elements of dtype; or (q NULL, m 0) the
 * median. Options as of bf_quantile_axes. The context must outlive the object; both belong to one
 * thread at a time. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. */
BF_API bf_status bf_quantiles_create(bf_context *context, bf_dtype dtype, const double q[], int m,
                                     const bf_order_options *options, bf_quantiles **quantiles);
BF_API void bf_quantiles_destroy(bf_quantiles *quantiles);

/* Takes the elements of an array into the present pass. On failure the object is as it was. Errors:
 * BF_E_ARGUMENT, BF_E_DTYPE, BF_E_STATE (all is found; or the elements are not those of the first
 * pass), BF_E_OVERFLOW (more than 2^62 elements), BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED. */
BF_API bf_status bf_quantiles_absorb(bf_quantiles *quantiles, const bf_array *array);

/* Adds what `from` has absorbed in this pass to `into`. Both look for the same of the same dtype,
 * and are in the same pass of the same data: both new, or both loaded from what one was saved to
 * when the pass began. Else BF_E_STATE. */
BF_API bf_status bf_quantiles_merge(bf_quantiles *into, const bf_quantiles *from);

/* Ends the pass. Sets *done to 1 if all is found; else to 0: another pass begins. Errors:
 * BF_E_STATE (this pass had not the elements of the first); then the object is as it was. */
BF_API bf_status bf_quantiles_next(bf_quantiles *quantiles, int *done);

/* Writes the m quantiles, or the median. One that is an element has dtype `dtype` (of BF_I128, the
 * value's BF_I192) and the scale of bf_quantiles_info, others have `to`: each value says which.
 * Errors: BF_E_STATE (not done), BF_E_NAN, BF_E_EMPTY. */
BF_API bf_status bf_quantiles_result(const bf_quantiles *quantiles, bf_value values[]);

typedef struct bf_quantiles_info {
    size_t size;        /* sizeof(bf_quantiles_info): set before the call, see bitfold.h */
    bf_dtype dtype, to; /* the elements' dtype; that of results between them */
    int results;        /* m, or 1 */
    int pass;           /* from 1 */
    int done;
    int64_t count; /* elements absorbed in this pass */
    int64_t all;   /* elements of the first pass, when it has ended; else 0 */
    int64_t nan;   /* how many of them are NaN */
    int scale;     /* as in the options */
} bf_quantiles_info;

/* Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_quantiles_describe(const bf_quantiles *quantiles, bf_quantiles_info *info);

/* Saved form, as bf_state_save's: portable, versioned, checksummed, trusted in nothing. The same
 * elements give the same bytes, whatever their order and the merging. */
BF_API size_t bf_quantiles_save_size(const bf_quantiles *quantiles);
BF_API bf_status bf_quantiles_save(const bf_quantiles *quantiles, void *buffer);
BF_API bf_status bf_quantiles_load(bf_context *context, const void *buffer, size_t size,
                                   bf_quantiles **quantiles);

#ifdef __cplusplus
}
#endif
#endif
