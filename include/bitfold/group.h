/* Groups: what the rows of each key come to; and joins.
 *
 * A bf_groups is a state, as a bf_state is: it absorbs rows (a key, and the values to aggregate)
 * and merges with others. For each key it then tells the number of its rows, and aggregates that
 * are to the bit what bf_reduce would give for the values of these rows alone: sums of floats are
 * exact. Groups are in the order of their keys, ascending. Neither the order of the rows, nor the
 * chunks they come in, nor threads show in the result. Memory goes with the number of groups.
 *
 * Every dtype can be a key. Of floats, -0 and +0 are one key (which shows as +0), and all NaNs are
 * one (the default NaN, last in order); a bool is true where its byte is not 0 (and shows as 1).
 *
 * Method: keys become numbers of groups by a hash table, in batches; each aggregate then takes the
 * values by these numbers, into as many limbs as the data's exponents need (docs/design.md). */
#ifndef BITFOLD_GROUP_H
#define BITFOLD_GROUP_H

#include "reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_groups bf_groups;

/* An aggregate, whose layout never changes: BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_SUMSQ, BF_NORM,
 * BF_MIN or BF_MAX, of values of this dtype. */
typedef struct bf_aggregate {
    bf_reduction op;
    bf_dtype dtype;
} bf_aggregate;

typedef struct bf_groups_options {
    size_t size;                    /* sizeof(bf_groups_options): see bitfold.h */
    bf_dtype key;                   /* any dtype, or BF_PAIR */
    int count;                      /* of aggregates, 0 to BF_AGGREGATES_MAX; 0: rows are counted */
    const bf_aggregate *aggregates; /* copied */
    uint64_t seed;                  /* of the hash, as a table's (table.h): shows in no result */
} bf_groups_options;

#define BF_AGGREGATES_MAX 64

/* BF_GROUPS_OPTIONS(.key = BF_U32) (C only). */
#define BF_GROUPS_OPTIONS(...) ((bf_groups_options){.size = sizeof(bf_groups_options), __VA_ARGS__})

/* Groups are in the memory of the device that the context was asked for by name. Where none was,
 * they are in host memory, or in a GPU's if the first rows lie there (the first after clearing
 * them, too). Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. The context must outlive the groups;
 * both belong to one thread at a time. */
BF_API bf_status bf_groups_create(bf_context *context, const bf_groups_options *options,
                                  bf_groups **groups);
BF_API void bf_groups_destroy(bf_groups *groups);

/* Forgets all rows; on a GPU, memory is kept for those to come. */
BF_API bf_status bf_groups_clear(bf_groups *groups);

/* Takes in rows: keys, and for each aggregate an array of as many values, of the keys' shape
 * (values: NULL if there are no aggregates). Arrays may be one and the same, and of any
 * strides; groups on a GPU take them from any memory. It has happened when the call returns. On
 * failure the groups are as they were. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_OVERFLOW
 * (more than 2^62 rows in all), BF_E_DEVICE (arrays in a GPU's memory, for groups in the host's),
 * BF_E_MEMORY. */
BF_API bf_status bf_groups_absorb(bf_groups *groups, const bf_array *keys,
                                  const bf_array *const values[]);

/* Adds what `from` holds to `into`; `from` is unchanged. Both have one dtype of keys and the same
 * aggregates, else BF_E_STATE; they may be on different devices. On failure both are as they were.
 * BF_E_OVERFLOW, BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_groups_merge(bf_groups *into, const bf_groups *from);

/* Groups, and rows in all of them. */
BF_API int64_t bf_groups_size(const bf_groups *groups);
BF_API int64_t bf_groups_rows(const bf_groups *groups);

/* The keys, ascending (false to true, -inf to inf, NaN; pairs by their first word, then the
 * second), and the number of rows of each (of dtype BF_I64): bf_groups_size elements. Either may be
 * NULL; those of groups on a GPU may be in its memory. O(n log n) once after a change. Errors:
 * BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_MEMORY.
 */
BF_API bf_status bf_groups_list(bf_groups *groups, const bf_array *keys, const bf_array *counts);

/* The dtype of aggregate number `which` in an array, by these options (NULL: the defaults):
 * options->out_dtype if it is given; else of min and max that of the values; of sum and sumsq of
 * bools and signed integers BF_I64, of unsigned integers BF_U64; of all others BF_F64. BF_NONE:
 * there is no such aggregate, or the options are wrong. */
BF_API bf_dtype bf_groups_aggregate_dtype(const bf_groups *groups, int which,
                                          const bf_reduce_options *options);

/* Element i of values becomes aggregate number `which` of the i-th group by key. values has
 * bf_groups_size elements of bf_groups_aggregate_dtype, and any strides; those of groups on a GPU
 * may be in its memory. Options and errors: as bf_reduce; but the minimum or maximum of values that
 * are all NaN and skipped is NaN.
 * Integers of more than 64 bits: element i of fits, an array of BF_BOOL and as many elements,
 * becomes whether value i fits its dtype; what does not is put modulo 2^64. Without fits (NULL) one
 * that does not fit is BF_E_OVERFLOW, unless options->overflow is BF_OVERFLOW_WRAP. On failure
 * nothing is written. Errors also: BF_E_SHAPE, BF_E_DEVICE (an array in a GPU's memory, of groups
 * in the host's). */
BF_API bf_status bf_groups_aggregate(bf_groups *groups, int which, const bf_reduce_options *options,
                                     const bf_array *values, const bf_array *fits);

/* The same as values in host memory, of any size: values[i] becomes aggregate number `which` of
 * group i: bf_groups_size of them. options and
 * errors: as bf_reduce; but the minimum or maximum of values that are all NaN and skipped is NaN.
 */
BF_API bf_status bf_groups_result(bf_groups *groups, int which, const bf_reduce_options *options,
                                  bf_value *values);

/* What the groups were made by: kind->aggregates are the groups' own. kind->size is set. Errors:
 * BF_E_ARGUMENT. */
BF_API bf_status bf_groups_describe(const bf_groups *groups, bf_groups_options *kind);

/* Saved form: portable (little-endian), versioned, checksummed; equal groups, kinds and seeds save
 * to equal bytes, in whatever chunks and order the rows came. bf_groups_save writes as many as
 * bf_groups_save_size says. Errors of both: BF_E_ARGUMENT, BF_E_MEMORY. bf_groups_load trusts
 * nothing: BF_E_STATE unless every byte is as bf_groups_save could have written it. O(n log n). */
BF_API bf_status bf_groups_save_size(bf_groups *groups, size_t *size);
BF_API bf_status bf_groups_save(bf_groups *groups, void *buffer);
BF_API bf_status bf_groups_load(bf_context *context, const void *buffer, size_t size,
                                bf_groups **groups);

/* ---- joins ------------------------------------------------------------------------------------
 */

/* Pairs of rows. */
typedef struct bf_pairs bf_pairs;

/* The inner join: all (i, j) with a[i] == b[j] as keys (NaN equals NaN here), in the order of i,
 * then j. a and b are arrays of one dtype (any, or BF_PAIR), each of any shape: rows are numbered
 * in C order. O(rows and pairs). Where no device was asked for by name, keys in a GPU's memory are
 * joined there; pairs are in host memory. seed: as a table's. Errors: BF_E_ARGUMENT, BF_E_DTYPE
 * (they differ), BF_E_DEVICE, BF_E_MEMORY (also where there are more pairs than memory). */
BF_API bf_status bf_join(bf_context *context, const bf_array *a, const bf_array *b, uint64_t seed,
                         bf_pairs **pairs);
BF_API void bf_pairs_destroy(bf_pairs *pairs);

/* How many, and the rows of both sides. */
BF_API int64_t bf_pairs_size(const bf_pairs *pairs);
BF_API const int64_t *bf_pairs_a(const bf_pairs *pairs);
BF_API const int64_t *bf_pairs_b(const bf_pairs *pairs);

#ifdef __cplusplus
}
#endif
#endif
