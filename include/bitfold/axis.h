/* Reductions of many at once: along axes of an array, by segments, by index, by runs of equal keys.
 *
 * Each result has the bits that bf_reduce (bf_dot) gives for its elements alone: the exact value,
 * rounded once. It depends neither on the order of the work nor on the device, and atomic additions
 * by many threads change no bit of it.
 *
 * Results go to an array `values` of any strides, in host memory or in that of the GPU that works,
 * of dtype bf_reduce_dtype. No part of it may lie in the memory of an input: BF_E_ARGUMENT.
 *
 * Integers that need more than 64 bits: `fits`, which may be NULL, is an array of BF_BOOL with the
 * shape of `values`. Such a result is written modulo 2^64 and its element of fits is 0; all others
 * are 1. If fits is NULL, it is BF_E_OVERFLOW, with the number of the first such result in the
 * message, unless options->overflow is BF_OVERFLOW_WRAP.
 *
 * A result of no elements is that of an empty array. Where there is none (min, max, argmin and
 * argmax; also of NaNs that are all skipped) it is options->empty, or BF_E_EMPTY if that is NULL.
 *
 * On failure nothing is written. Errors of all: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_NAN,
 * BF_E_EMPTY, BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED. */
#ifndef BITFOLD_AXIS_H
#define BITFOLD_AXIS_H

#include "reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most slots of bf_reduce_index, the most states of bf_states, and the most elements of an
 * array that repeats memory (an extent above 1 with stride 0), which no memory bounds. */
#define BF_SLOTS_MAX ((int64_t)1 << 31)
#define BF_REPEATS_MAX ((int64_t)1 << 40)

/* Returns the dtype of results in an array: options->out_dtype if that is given; else, of min and
 * max, dtype; of argmin and argmax, BF_I64; of exact results (BF_RESULT_EXACT) of bools and signed
 * integers, BF_I64, of unsigned integers, BF_U64; of all others, BF_F64. BF_NONE: op, dtype or
 * options (NULL: the defaults) are wrong, or op is BF_DESCRIBE. */
BF_API bf_dtype bf_reduce_dtype(bf_reduction op, bf_dtype dtype, const bf_reduce_options *options);

/* ---- axes ------------------------------------------------------------------------------------ */

/* Reduces array along axes[0..n): every line of elements that differ in these indices alone, its
 * fibre, becomes one result. An axis is -ndim to ndim - 1, negative ones count from the end, and
 * none may be given twice; n is 0 to ndim. `values` has the shape of the array without these axes,
 * or with an extent of 1 in place of each. argmin and argmax give the position within the fibre, in
 * C order; op is any of one array but BF_DESCRIBE. options may be NULL. */
BF_API bf_status bf_reduce_axes(bf_context *context, bf_reduction op, const bf_array *array,
                                const int axes[], int n, const bf_reduce_options *options,
                                const bf_array *values, const bf_array *fits);
/* Reduces the fibres of a and b, which have one shape and dtype, by a reduction of pairs (pair.h);
 * and their dot products. */
BF_API bf_status bf_reduce_pair_axes(bf_context *context, bf_reduction op, const bf_array *a,
                                     const bf_array *b, const int axes[], int n,
                                     const bf_reduce_options *options, const bf_array *values,
                                     const bf_array *fits);
BF_API bf_status bf_dot_axes(bf_context *context, const bf_array *a, const bf_array *b,
                             const int axes[], int n, const bf_reduce_options *options,
                             const bf_array *values, const bf_array *fits);

/* ---- segments -------------------------------------------------------------------------------- */

/* Reduces rows [offsets[s], offsets[s + 1]) of array for each segment s, as in CSR. A row is what
 * one index of the first axis selects: an element, or a row of elements, each of which is reduced
 * in a column of its own. offsets: m + 1 of BF_I32 or BF_I64, m >= 0, not decreasing, from 0 to the
 * number of rows; segments may be empty, and rows before the first offset and from the last one on
 * belong to none. `values` has the shape (m, the array's other extents). argmin and argmax give the
 * position within the segment. Errors: BF_E_ARGUMENT also names the first offset that is wrong. */
BF_API bf_status bf_reduce_segments(bf_context *context, bf_reduction op, const bf_array *array,
                                    const bf_array *offsets, const bf_reduce_options *options,
                                    const bf_array *values, const bf_array *fits);
BF_API bf_status bf_reduce_pair_segments(bf_context *context, bf_reduction op, const bf_array *a,
                                         const bf_array *b, const bf_array *offsets,
                                         const bf_reduce_options *options, const bf_array *values,
                                         const bf_array *fits);
BF_API bf_status bf_dot_segments(bf_context *context, const bf_array *a, const bf_array *b,
                                 const bf_array *offsets, const bf_reduce_options *options,
                                 const bf_array *values, const bf_array *fits);

/* ---- index ----------------------------------------------------------------------------------- */

/* Reduces for each slot s the rows i of array (as of segments) with index[i] == s. index: as many
 * of BF_I32, BF_I64, BF_U32 or BF_U64 as rows, in any order. `values` has the shape (slots, the
 * array's other extents), with at most BF_SLOTS_MAX slots. argmin and argmax give the number i of
 * the row. Errors: BF_E_ARGUMENT also for an index outside [0, slots); the message names the
 * first. */
BF_API bf_status bf_reduce_index(bf_context *context, bf_reduction op, const bf_array *array,
                                 const bf_array *index, const bf_reduce_options *options,
                                 const bf_array *values, const bf_array *fits);
BF_API bf_status bf_reduce_pair_index(bf_context *context, bf_reduction op, const bf_array *a,
                                      const bf_array *b, const bf_array *index,
                                      const bf_reduce_options *options, const bf_array *values,
                                      const bf_array *fits);
BF_API bf_status bf_dot_index(bf_context *context, const bf_array *a, const bf_array *b,
                              const bf_array *index, const bf_reduce_options *options,
                              const bf_array *values, const bf_array *fits);

/* ---- runs ------------------------------------------------------------------------------------ */

/* Reduces each run of equal neighbouring keys: *runs becomes their number, first[r] (BF_I64) the
 * row where run r begins, and values[r] its result. keys: one of any dtype, BF_I128 or BF_PAIR,
 * for each row; equal as keys of groups are (group.h). first and values (and fits) have room for
 * one run a row, or for as many as there are; the rest is left alone. values may be NULL, and then
 * op is not read: runs are only found. Errors: BF_E_SHAPE also if there is too little room; *runs
 * is set even then. */
BF_API bf_status bf_reduce_runs(bf_context *context, bf_reduction op, const bf_array *keys,
                                const bf_array *array, const bf_reduce_options *options,
                                const bf_array *first, const bf_array *values, const bf_array *fits,
                                int64_t *runs);

/* ---- on a stream ----------------------------------------------------------------------------- */

/* Enqueue the same on the context's stream (context.h); they can be captured in a graph. All arrays
 * are in memory that the GPU reaches; values and fits are contiguous, and so are arrays of rows and
 * their places, else BF_E_ARGUMENT. Where the others fail for the data, these go on: options->nan
 * may not be BF_NAN_ERROR; without fits an integer is written modulo 2^64; options->empty defaults
 * to NaN, or of integers 0. Of segments and indices, *wrong (memory that the GPU can write, aligned
 * to 8 bytes) becomes the place of the first offset or index that is wrong, or -1; if there is one,
 * no result is defined. On the CPU all is done when the call returns.
 *
 * With options->later they fail where the others do, but later: bf_context_failure and
 * bf_context_synchronize report the first call that did, and its results are not defined. wrong is
 * NULL. On the CPU the call itself fails. */
BF_API bf_status bf_reduce_axes_async(bf_context *context, bf_reduction op, const bf_array *array,
                                      const int axes[], int n, const bf_reduce_options *options,
                                      const bf_array *values, const bf_array *fits);
BF_API bf_status bf_reduce_pair_axes_async(bf_context *context, bf_reduction op, const bf_array *a,
                                           const bf_array *b, const int axes[], int n,
                                           const bf_reduce_options *options, const bf_array *values,
                                           const bf_array *fits);
BF_API bf_status bf_reduce_segments_async(bf_context *context, bf_reduction op,
                                          const bf_array *array, const bf_array *offsets,
                                          const bf_reduce_options *options, const bf_array *values,
                                          const bf_array *fits, int64_t *wrong);
BF_API bf_status bf_reduce_index_async(bf_context *context, bf_reduction op, const bf_array *array,
                                       const bf_array *index, const bf_reduce_options *options,
                                       const bf_array *values, const bf_array *fits,
                                       int64_t *wrong);

/* ---- many states ----------------------------------------------------------------------------- */

/* `count` states of one op and dtype at once, for data that come in chunks, from several ranks or
 * on several days: what bf_state is for one result. Those of the aggregates of groups
 * (bf_aggregate) are in the memory of the context's device, as groups are, and absorb a chunk on
 * it: 8 to 64 bytes a state are usual, and 1.8 KiB the most, of pairs and of powers 5.4 KiB. Those
 * of all other reductions are in host memory, and absorb on the CPU arrays that it can read: of
 * BF_ARGMIN, BF_ARGMAX and BF_PROD of integers 56 bytes, of BF_PROD of floats 0.5 KiB and more for
 * more elements, of BF_DOT and BF_DESCRIBE up to 1.8 KiB.
 *
 * States of argmin, argmax, describe and prod of floats are ordered, as those of state.h are: each
 * knows the index of its next element (0 at first). Along axes and by segments it is the position
 * in the fibre or segment, and every element moves it by 1. By index, argmin, argmax and describe
 * count rows: a chunk moves all states by its rows. */
typedef struct bf_states bf_states;

/* count is 0 to BF_SLOTS_MAX. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. */
BF_API bf_status bf_states_create(bf_context *context, bf_reduction op, bf_dtype dtype,
                                  int64_t count, bf_states **states);
BF_API void bf_states_destroy(bf_states *states);
BF_API bf_status bf_states_clear(bf_states *states);
BF_API int64_t bf_states_count(const bf_states *states);

/* What the states are of, such as those that were loaded. */
typedef struct bf_states_info {
    size_t size; /* sizeof(bf_states_info): set before the call, see bitfold.h */
    bf_reduction op;
    bf_dtype dtype;
    int64_t count;
} bf_states_info;

BF_API bf_status bf_states_describe(const bf_states *states, bf_states_info *info);

/* Absorb a chunk, whose elements follow those absorbed before: fibre f into state f; the rows of
 * segment s, or with index s, into states s * width ... s * width + width - 1, where width is the
 * number of elements of a row. The number of states must be that of fibres, or a multiple of width.
 * On failure the states are as they were. Errors: as of the calls above; BF_E_OVERFLOW for more
 * than 2^62 elements. */
BF_API bf_status bf_states_absorb_axes(bf_states *states, const bf_array *array, const int axes[],
                                       int n);
BF_API bf_status bf_states_absorb_segments(bf_states *states, const bf_array *array,
                                           const bf_array *offsets);
BF_API bf_status bf_states_absorb_index(bf_states *states, const bf_array *array,
                                        const bf_array *index);

/* Absorbs pairs (pair.h): b has the shape of a. */
BF_API bf_status bf_states_absorb_pair_axes(bf_states *states, const bf_array *a, const bf_array *b,
                                            const int axes[], int n);
BF_API bf_status bf_states_absorb_pair_segments(bf_states *states, const bf_array *a,
                                                const bf_array *b, const bf_array *offsets);
BF_API bf_status bf_states_absorb_pair_index(bf_states *states, const bf_array *a,
                                             const bf_array *b, const bf_array *index);

/* Sets the index of the next element of each ordered state. next: as many of BF_I64 as states, of
 * any shape; strides of 0 give all the same. An index is up to 2^62, and not below what it is now;
 * of prod of floats, it changes only while the state is empty, to a multiple of 4096. (Prod of
 * integers takes any.) On failure nothing changes. Errors: BF_E_ARGUMENT (also for reductions that
 * have no indices), BF_E_DTYPE, BF_E_SHAPE, BF_E_MEMORY. */
BF_API bf_status bf_states_seek(bf_states *states, const bf_array *next);

/* Adds the states of `from`, each to that of the same number. Both have one op, dtype and count,
 * else BF_E_STATE; so have ordered states whose indices overlap or, of prod, do not adjoin. Their
 * devices may differ. On failure both are unchanged. */
BF_API bf_status bf_states_merge(bf_states *into, const bf_states *from);

/* Merges states of data that follow: index i of a state of `from` becomes the next index of that of
 * `into` plus i. States without indices merge as ever. BF_E_STATE also if indices of `from` do not
 * begin at 0 and, of prod of floats, which depends on the index of each element, unless one of two
 * states is empty; BF_E_OVERFLOW past index 2^62. */
BF_API bf_status bf_states_append(bf_states *into, const bf_states *from);

/* Writes the results: `values` has as many elements as there are states, in any shape; fits and
 * options are those of the calls above. The states can go on. Not of BF_DESCRIBE: BF_E_ARGUMENT. */
BF_API bf_status bf_states_result(bf_states *states, const bf_reduce_options *options,
                                  const bf_array *values, const bf_array *fits);

/* Writes other results of what the states hold: of a reduction that keeps the same sums, as
 * bf_state_result_of does (state.h). Errors: as bf_states_result; BF_E_ARGUMENT for one that keeps
 * others. */
BF_API bf_status bf_states_result_of(bf_states *states, bf_reduction op,
                                     const bf_reduce_options *options, const bf_array *values,
                                     const bf_array *fits);

/* Where the values of descriptions go (describe.h), an array for each: as many elements as there
 * are states, in any shape. NULL: not asked for. n, nan, inf, argmin and argmax are BF_I64, the
 * others of the dtype of that reduction. */
typedef struct bf_descriptions {
    size_t size; /* sizeof(bf_descriptions): set before the call, see bitfold.h */
    const bf_array *n, *nan, *inf, *min, *argmin, *max, *argmax, *sum, *mean, *std;
} bf_descriptions;

/* Writes values of states of BF_DESCRIBE. Where there is no extreme, it is 0 and its index -1,
 * whatever options->empty is. Errors: as bf_states_result; nothing is written then. */
BF_API bf_status bf_states_description(bf_states *states, const bf_reduce_options *options,
                                       const bf_descriptions *arrays);

/* Writes how many elements each state has absorbed (BF_I64). */
BF_API bf_status bf_states_counts(bf_states *states, const bf_array *counts);

/* Saved form: portable, versioned, checksummed; equal states save to equal bytes. As
 * bf_groups_save_size, bf_groups_save and bf_groups_load (group.h). */
BF_API bf_status bf_states_save_size(bf_states *states, size_t *size);
BF_API bf_status bf_states_save(bf_states *states, void *buffer);
BF_API bf_status bf_states_load(bf_context *context, const void *buffer, size_t size,
                                bf_states **states);

#ifdef __cplusplus
}
#endif
#endif
