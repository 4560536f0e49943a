/* Group-by (count and aggregate the rows of each key) and joins.
 *
 * A bf_groups is a state, like a bf_state: it absorbs rows (a key, and the values to aggregate),
 * merges with others, and is saved and loaded. It gives the keys, ascending, and for each key the
 * number of its rows and their aggregates. An aggregate has the bits that bf_reduce returns for the
 * values of these rows alone; so sums of floats are exact. The order of the rows, the chunks and
 * the number of threads change no bit. Memory grows with the number of groups, not of rows. The
 * context's watch (watch.h) may cancel a call on groups, or a join: BF_E_CANCELLED.
 *
 * Every dtype can be a key or a value, BF_I128 too. Groups of BF_I128 are in host memory, whatever
 * the context. Of floats, -0 and +0 are one key (shown as +0), and all NaNs are one key (the
 * default NaN, last in order). A bool is true if its byte is not 0 (shown as 1).
 *
 * Method: a hash table or a sort numbers the keys; each aggregate then absorbs the values by these
 * numbers, into as many limbs as the exponents need (docs/design/group.md). */
#ifndef BITFOLD_GROUP_H
#define BITFOLD_GROUP_H

#include "options.h"
#include "reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_groups bf_groups;

/* An aggregate of values of this dtype: a reduction whose state keeps sums (BF_REDUCTION_LIST: SUM,
 * SQUARES, MOMENTS, POWERS, COMOMENTS, WEIGHTED), or one that gives an element. Its layout never
 * changes. */
typedef struct bf_aggregate {
    bf_reduction op;
    bf_dtype dtype;
} bf_aggregate;

typedef struct bf_groups_options {
    size_t size;                    /* sizeof(bf_groups_options): see bitfold.h */
    bf_dtype key;                   /* any dtype, BF_I128 or BF_PAIR */
    int count;                      /* how many aggregates, 0 to BF_AGGREGATES_MAX; 0: rows are
                                       counted */
    const bf_aggregate *aggregates; /* copied */
    uint64_t seed;                  /* the hash's (table.h); no result depends on it */
} bf_groups_options;

#define BF_AGGREGATES_MAX 64

/* BF_GROUPS_OPTIONS(.key = BF_U32). */
#define BF_GROUPS_OPTIONS(...) BF_OPTIONS_OF(bf_groups_options, __VA_ARGS__)

/* Creates groups in the memory of the context's device. In a context for "auto" they are in host
 * memory, but move to a GPU if their first rows are there (also the first after a clear). The
 * context must outlive the groups, and belongs to one thread at a time together with them. Errors:
 * BF_E_ARGUMENT, BF_E_DTYPE, BF_E_MEMORY. */
BF_API bf_status bf_groups_create(bf_context *context, const bf_groups_options *options,
                                  bf_groups **groups);
BF_API void bf_groups_destroy(bf_groups *groups);

/* Removes all rows. Groups on a GPU keep their memory for the next rows. */
BF_API bf_status bf_groups_clear(bf_groups *groups);

/* Absorbs rows: keys, and for each aggregate an array of values of the keys' shape (values is NULL
 * if there are no aggregates). An aggregate of pairs (pair.h: COMOMENTS and WEIGHTED) has two
 * arrays, one after the other: a, then b. Arrays may have any strides, and may be the same. Groups
 * on a GPU take memory of any kind; groups in host memory take no GPU's (BF_E_DEVICE). All rows
 * have been read when the call returns. On failure the groups are unchanged. Errors: BF_E_ARGUMENT,
 * BF_E_DTYPE, BF_E_SHAPE, BF_E_OVERFLOW (more than 2^62 rows in all), BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_groups_absorb(bf_groups *groups, const bf_array *keys,
                                  const bf_array *const values[]);

/* Adds the groups of `from`, which stay as they are. Both must have the same dtype of keys and the
 * same aggregates, else BF_E_STATE. Keys and values of BF_I128 also take those of every integer
 * dtype but bool, exactly. The devices may differ. On failure both are unchanged. Errors also:
 * BF_E_OVERFLOW, BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_groups_merge(bf_groups *into, const bf_groups *from);

/* Takes the rows that `from` holds out of `into`, which has absorbed or merged them. Afterwards
 * `into` holds the groups of the rows that remain, and saves to the same bytes; a group without
 * rows is gone. Errors: BF_E_ARGUMENT (an aggregate is a minimum or maximum), BF_E_STATE (as of
 * bf_groups_merge; `from` holds more than `into`; the sign of a zero is not known, see
 * bf_state_retract), BF_E_DEVICE, BF_E_MEMORY. On failure both are unchanged. */
BF_API bf_status bf_groups_retract(bf_groups *into, const bf_groups *from);

/* Takes keys (of BF_I64 or BF_I128) and values (of integers) that stand for themselves times
 * 10^-scale, as in bf_reduce_options, to a finer unit: keys are multiplied by 10^key, and the
 * values of each aggregate by 10 to the power of its digits (NULL: none has any), from 0 to
 * BF_SCALE_MOST, or BF_SCALE_MOST_I128 where they are BF_I128. So groups of decimals of several
 * scales merge exactly. Errors: BF_E_ARGUMENT, BF_E_OVERFLOW (the dtype does not hold a key, a
 * minimum or a maximum then: groups of BF_I128 that merge these hold more), BF_E_DEVICE,
 * BF_E_MEMORY. On failure the groups are unchanged. */
BF_API bf_status bf_groups_rescale(bf_groups *groups, int key, const int digits[]);

/* Replaces the key of each group, in the order of bf_groups_list, by a number: `numbers` has
 * bf_groups_size different elements of BF_I32 or BF_I64, in host memory, with any stride. They
 * become the groups' keys, of this dtype. So groups of names merge whose dictionaries were merged
 * (dictionary.h). Errors: BF_E_ARGUMENT (two groups have one number), BF_E_DTYPE, BF_E_SHAPE,
 * BF_E_DEVICE, BF_E_MEMORY. On failure the groups are unchanged. */
BF_API bf_status bf_groups_renumber(bf_groups *groups, const bf_array *numbers);

/* Shares the groups out by their keys: makes `parts` groups, 1 to BF_PARTS_MAX, in the same context
 * and on the same device. The part of a key depends on the key and `parts` alone: not on the seed,
 * the device or the process. Each part gets about 1 / parts of many keys. `groups` stay as they
 * are. On failure no part is made. Takes O(n log n). Errors: BF_E_ARGUMENT, BF_E_DEVICE,
 * BF_E_MEMORY. */
#define BF_PARTS_MAX 65536
BF_API bf_status bf_groups_split(bf_groups *groups, int parts, bf_groups *into[]);

/* Return the number of groups, and of rows in all of them. */
BF_API int64_t bf_groups_size(const bf_groups *groups);
BF_API int64_t bf_groups_rows(const bf_groups *groups);

/* Writes the keys, ascending (false to true, -inf to inf, NaN; pairs by their first word, then the
 * second), and the number of rows of each, of dtype BF_I64. Each array has bf_groups_size elements
 * and any strides, or is NULL. Arrays for groups on a GPU may be in its memory. Takes O(n log n)
 * once after a change. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_groups_list(bf_groups *groups, const bf_array *keys, const bf_array *counts);

/* Returns the dtype that bf_groups_aggregate writes by these options (NULL: the defaults), or
 * BF_NONE if there is no such aggregate or the options are wrong. It is options->out_dtype if that
 * is given; else, of min and max, that of the values; of exact sums of bools and signed
 * integers, BF_I64, of unsigned integers, BF_U64, of BF_I128, BF_I128; of all others, BF_F64. */
BF_API bf_dtype bf_groups_aggregate_dtype(const bf_groups *groups, int which,
                                          const bf_reduce_options *options);

/* Writes aggregate number `which` of all groups, in the order of bf_groups_list. `values` has
 * bf_groups_size elements of bf_groups_aggregate_dtype. `fits`, which may be NULL, has as many of
 * BF_BOOL. Both may have any strides, and for groups on a GPU they may be in its memory.
 *
 * An integer that needs more than 64 bits, or of BF_I128 more than 128, is written modulo 2^64 or
 * 2^128, and its element of fits is 0; all others are 1. If fits is NULL, it is BF_E_OVERFLOW, with
 * the number of the first such group in the message, unless options->overflow is BF_OVERFLOW_WRAP.
 * The minimum and maximum of values that are all NaN and skipped are NaN. On failure nothing is
 * written. Errors also: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_NAN, BF_E_DEVICE, BF_E_MEMORY.
 */
BF_API bf_status bf_groups_aggregate(bf_groups *groups, int which, const bf_reduce_options *options,
                                     const bf_array *values, const bf_array *fits);

/* Writes the same to bf_groups_size values in host memory, as bf_reduce does: integer sums have 192
 * bits. Errors: BF_E_ARGUMENT, BF_E_NAN, BF_E_OVERFLOW (squares of BF_I128 past 192 bits),
 * BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_groups_result(bf_groups *groups, int which, const bf_reduce_options *options,
                                  bf_value *values);

/* Writes the share of each group in a sum, to bf_groups_size values in host memory, in the order of
 * bf_groups_list: aggregate number `which`, a BF_SUM, divided by that of all rows of all groups of
 * `of` together (NULL: of `groups`), which have the same aggregate and context. Both sums are
 * exact, and their quotient is rounded once, to f64 or options->out_dtype; 0 / 0 is NaN. Errors:
 * BF_E_ARGUMENT, BF_E_STATE (another aggregate or context), BF_E_NAN, BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_groups_shares(bf_groups *groups, int which, bf_groups *of,
                                  const bf_reduce_options *options, bf_value *values);

/* Writes the options that the groups were created with to *kind, whose size is set. Its aggregates
 * are the groups' own memory. Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_groups_describe(const bf_groups *groups, bf_groups_options *kind);

/* Saved form: portable (little-endian), versioned, checksummed. Equal groups of one kind and seed
 * save to equal bytes, whatever the chunks and the order of their rows. bf_groups_save_size gives
 * the number of bytes that bf_groups_save writes. Errors of both: BF_E_ARGUMENT, BF_E_MEMORY.
 * bf_groups_load checks every byte: BF_E_STATE unless bf_groups_save could have written them all.
 * They take O(n log n). */
BF_API bf_status bf_groups_save_size(bf_groups *groups, size_t *size);
BF_API bf_status bf_groups_save(bf_groups *groups, void *buffer);
BF_API bf_status bf_groups_load(bf_context *context, const void *buffer, size_t size,
                                bf_groups **groups);

/* Saves `count` groups from number `first` on, in the order of their keys, in pieces of at most so
 * many groups: calls write(arg, bytes, size, key) for each, where key is the piece's least key. A
 * piece is the saved form of its groups alone. write returns 0, or any other number to stop
 * (BF_E_CANCELLED); it calls nothing on this context. Needs memory for keys, counts and one piece.
 * Errors also: BF_E_ARGUMENT, BF_E_MEMORY. */
BF_API bf_status bf_groups_save_pieces(
    bf_groups *groups, int64_t first, int64_t count, int64_t piece,
    int (*write)(void *arg, const void *bytes, size_t size, const void *key), void *arg);

/* ---- joins ------------------------------------------------------------------------------------
 */

/* Pairs of rows that have the same key. */
typedef struct bf_pairs bf_pairs;

/* Makes the inner join: all (i, j) with a[i] == b[j] as keys (NaN equals NaN here), in the order of
 * i, then j. a and b have one dtype (any, BF_I128 or BF_PAIR), and any shapes; rows are numbered in
 * C order. In a context for "auto", keys in a GPU's memory are joined there. Pairs are in host
 * memory. seed is that of a table. Takes O(rows + pairs). Errors: BF_E_ARGUMENT, BF_E_DTYPE (they
 * differ), BF_E_DEVICE, BF_E_MEMORY (also for more pairs than memory, unless the context may spill:
 * context.h), BF_E_IO. */
BF_API bf_status bf_join(bf_context *context, const bf_array *a, const bf_array *b, uint64_t seed,
                         bf_pairs **pairs);
BF_API void bf_pairs_destroy(bf_pairs *pairs);

/* Return the number of pairs, and the row of each in a and in b: memory of the pairs' own. */
BF_API int64_t bf_pairs_size(const bf_pairs *pairs);
BF_API const int64_t *bf_pairs_a(const bf_pairs *pairs);
BF_API const int64_t *bf_pairs_b(const bf_pairs *pairs);

#ifdef __cplusplus
}
#endif
#endif
