/* Hash tables: values by key, in bulk.
 *
 * Keys are integers, floats or pairs of 64-bit words; every bit pattern is a legal key. Of floats,
 * -0 and +0 are one key (shown as +0), and all NaNs are one key (the default NaN, last in order).
 * The table's policy says what another entry of the same key does. The same entries in the same
 * order make the same table, with any number of threads and on any device. A table grows as needed.
 *
 * A table is in the memory of its context's device. In a context for "auto" it is in host memory,
 * but moves to a GPU if its first keys are there: when entries are inserted into an empty table.
 *
 * Method: open addressing in buckets of a cache line or two, in regions that fit a core's cache or
 * a block's shared memory; bulk insertion sorts the entries by region first (docs/design/table.md).
 */
#ifndef BITFOLD_TABLE_H
#define BITFOLD_TABLE_H

#include "array.h"
#include "context.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a new entry does if its key is in the table already: X(identifier, number, name) */
#define BF_DUPLICATES_LIST(X)                                                                      \
    X(FIRST, 0, first)  /* nothing: the first stays */                                             \
    X(LAST, 1, last)    /* its value replaces the other */                                         \
    X(LEAST, 2, min)    /* the lesser value stays; of floats by the rule of bf_reduce's min */     \
    X(GREATEST, 3, max) /* the greater one */                                                      \
    X(ADD, 4, add)      /* the values, which are integers, are added modulo 2^bits */              \
    X(KEEP, 5, keep)    /* all entries stay, in order: a multimap */

typedef enum bf_duplicates {
#define BF_X(id, number, name) BF_DUPLICATES_##id = number,
    BF_DUPLICATES_LIST(BF_X)
#undef BF_X
} bf_duplicates;

typedef struct bf_table bf_table;

typedef struct bf_table_options {
    size_t size;              /* sizeof(bf_table_options): see bitfold.h */
    bf_dtype key;             /* BF_I32, BF_U32, BF_I64, BF_U64, BF_F32, BF_F64 or BF_PAIR */
    bf_dtype value;           /* the values' dtype; BF_NONE (default): the table is a set */
    bf_duplicates duplicates; /* default: BF_DUPLICATES_FIRST */
    int64_t reserve;          /* entries to make room for */
    uint64_t seed; /* the hash's; no result depends on it. A secret random seed keeps others from
                      choosing keys that are slow. */
} bf_table_options;

/* BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_F32). */
#define BF_TABLE_OPTIONS(...) BF_OPTIONS_OF(bf_table_options, __VA_ARGS__)

/* Arrays may have any shape and strides. The arrays of one call have one shape, else BF_E_SHAPE,
 * and the table's dtypes, else BF_E_DTYPE. (A BF_PAIR array that is not contiguous has at most 7
 * dimensions.) Tables on a GPU take memory of any kind; tables in host memory take no GPU's. An
 * output must not overlap an input. All calls also return BF_E_ARGUMENT, BF_E_MEMORY (on a GPU also
 * for more than 2^32 - 4096 keys of a call, or entries), BF_E_DEVICE and BF_E_CANCELLED (watch.h).
 * A table belongs to one thread at a time, together with its context, which must outlive it. */

/* Errors besides: BF_E_DTYPE (a dtype that no key or value has; min and max need numbers, add needs
 * integers). */
BF_API bf_status bf_table_create(bf_context *context, const bf_table_options *options,
                                 bf_table **table);
BF_API void bf_table_destroy(bf_table *table);

/* Creates a table with the same kind and entries, in a context that may be for another device. O(n
 * log n). */
BF_API bf_status bf_table_copy(bf_context *context, const bf_table *from, bf_table **table);

/* Removes all entries and keeps the memory. */
BF_API bf_status bf_table_clear(bf_table *table);

/* Makes room for so many entries in all (of a multimap: keys). */
BF_API bf_status bf_table_reserve(bf_table *table, int64_t entries);

/* The number of entries; in a multimap every value counts. */
BF_API int64_t bf_table_size(const bf_table *table);

/* Inserts keys with values (NULL for a set), as if one after another in C order. O(n); growth takes
 * time and memory in proportion to the table's size. A bulk insertion takes memory for a copy of
 * the entries while it runs. */
BF_API bf_status bf_table_insert(bf_table *table, const bf_array *keys, const bf_array *values);

/* Sets values[i] to the value of keys[i] (of a multimap: the first) if the key is there, and leaves
 * it otherwise. found, of dtype BF_BOOL, tells which keys are there. Either may be NULL; for a set
 * values must be. */
BF_API bf_status bf_table_find(bf_table *table, const bf_array *keys, const bf_array *values,
                               const bf_array *found);

/* Sets counts[i], of dtype BF_I64, to the number of entries that keys[i] has. */
BF_API bf_status bf_table_count(bf_table *table, const bf_array *keys, const bf_array *counts);

/* Writes all values of each key: those of keys[0] first, each key's in the order of insertion.
 * values is one contiguous dimension of as many elements as the counts of bf_table_count add up to,
 * else BF_E_SHAPE. */
BF_API bf_status bf_table_find_all(bf_table *table, const bf_array *keys, const bf_array *values);

/* Removes all entries of these keys. Sets *erased to their number, unless it is NULL. */
BF_API bf_status bf_table_erase(bf_table *table, const bf_array *keys, int64_t *erased);

/* Writes all entries, bf_table_size elements each, by key ascending (-inf to inf, NaN; pairs by
 * their first word, then the second), then by insertion. values may be NULL. O(n log n). */
BF_API bf_status bf_table_export(bf_table *table, const bf_array *keys, const bf_array *values);

/* One key at a time, from host memory, aligned or not. *found is 0 or 1. value is NULL for a set;
 * found and value may be NULL where they are outputs. */
BF_API bf_status bf_table_insert_one(bf_table *table, const void *key, const void *value);
BF_API bf_status bf_table_find_one(bf_table *table, const void *key, void *value, int *found);
BF_API bf_status bf_table_erase_one(bf_table *table, const void *key, int *found);

/* Saved form: portable (little-endian), versioned, checksummed. Equal entries, kinds and seeds save
 * to equal bytes. bf_table_save writes bf_table_save_size bytes. bf_table_load returns BF_E_STATE
 * unless every byte is as bf_table_save could have written it. */
BF_API size_t bf_table_save_size(const bf_table *table);
BF_API bf_status bf_table_save(bf_table *table, void *buffer);
BF_API bf_status bf_table_load(bf_context *context, const void *buffer, size_t size,
                               bf_table **table);

/* The name of a policy, such as "first"; "?" for an unknown number. The other returns -1 for an
 * unknown name. */
BF_API const char *bf_duplicates_name(bf_duplicates duplicates);
BF_API int bf_duplicates_from_name(const char *name);

#ifdef __cplusplus
}
#endif
#endif
