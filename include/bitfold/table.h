/* Hash tables: values by key, in bulk.
 *
 * Keys are integers, floats or pairs of 64-bit words, and every bit pattern is a legal key. Of
 * floats, -0 and +0 are one key (which shows as +0), and all NaNs are one (the default NaN, last in
 * order). What another entry of a key means is for the table's policy to say: the same entries in
 * the same order make the same table, whatever the threads and the device. A table grows as it
 * needs to.
 *
 * A table is in the memory of its context's device. In a context that leaves the device open it is
 * in host memory, but moves to the GPU that its first keys are on: when some are inserted into an
 * empty table.
 *
 * Method: open addressing in buckets of a cache line or two, in regions that fit a core's cache or
 * a block's shared memory; bulk insertion sorts the entries by region first (docs/design.md). */
#ifndef BITFOLD_TABLE_H
#define BITFOLD_TABLE_H

#include "array.h"
#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an entry does whose key is there already: X(identifier, number, name) */
#define BF_DUPLICATES_LIST(X)                                                                      \
    X(FIRST, 0, first)  /* nothing: the first stays */                                             \
    X(LAST, 1, last)    /* its value replaces the other */                                         \
    X(LEAST, 2, min)    /* the lesser value stays; of floats as bf_reduce's min has it */          \
    X(GREATEST, 3, max) /* the greater one */                                                      \
    X(ADD, 4, add)      /* the values, which are integers, are added modulo 2^bits */              \
    X(KEEP, 5, keep)    /* all stay, in order: a multimap */

typedef enum bf_duplicates {
#define BF_X(id, number, name) BF_DUPLICATES_##id = number,
    BF_DUPLICATES_LIST(BF_X)
#undef BF_X
} bf_duplicates;

typedef struct bf_table bf_table;

typedef struct bf_table_options {
    size_t size;              /* sizeof(bf_table_options): see bitfold.h */
    bf_dtype key;             /* BF_I32, BF_U32, BF_I64, BF_U64, BF_F32, BF_F64 or BF_PAIR */
    bf_dtype value;           /* the same; BF_NONE (default): the table is a set */
    bf_duplicates duplicates; /* default: the first stays */
    int64_t reserve;          /* entries to make room for */
    uint64_t seed; /* of the hash: shows in no result. A secret and random one keeps keys that
                      somebody else chooses from being chosen to be slow. */
} bf_table_options;

/* BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_F32) (C only). */
#define BF_TABLE_OPTIONS(...) ((bf_table_options){.size = sizeof(bf_table_options), __VA_ARGS__})

/* Arrays may have any shape and strides; those of a call have one shape, else BF_E_SHAPE, and the
 * table's dtypes, else BF_E_DTYPE. (Strides that are not contiguous: BF_PAIR has at most 7
 * dimensions.) Tables on a GPU take memory of any kind, those in host memory none of a GPU's. What
 * a call writes must not overlap what it reads. Further errors of all calls: BF_E_ARGUMENT,
 * BF_E_MEMORY (also more than 2^32 - 4096 keys of a call, or entries, on a GPU), BF_E_DEVICE. A
 * table belongs to one thread at a time, together with its context, which must outlive it. */

/* Errors besides: BF_E_DTYPE (no key or value can have it; min and max compare numbers, add takes
 * integers). */
BF_API bf_status bf_table_create(bf_context *context, const bf_table_options *options,
                                 bf_table **table);
BF_API void bf_table_destroy(bf_table *table);

/* Makes *table a table of the same kind with the same entries, in a context that may be of another
 * device. O(n log n). */
BF_API bf_status bf_table_copy(bf_context *context, const bf_table *from, bf_table **table);

/* Takes out all entries. The memory stays, for as many others. */
BF_API bf_status bf_table_clear(bf_table *table);

/* Makes room for so many entries (of a multimap: so many keys) in all. */
BF_API bf_status bf_table_reserve(bf_table *table, int64_t entries);

/* Entries in the table; of a multimap, all values count. */
BF_API int64_t bf_table_size(const bf_table *table);

/* Enters keys with values (NULL for a set), as if one after another in C order. O(n), but growth
 * takes time and memory in proportion to the table's size. A bulk insertion takes memory for a copy
 * of the entries while it runs. */
BF_API bf_status bf_table_insert(bf_table *table, const bf_array *keys, const bf_array *values);

/* values[i] becomes that of keys[i] (of a multimap: its first), where there is one, and stays what
 * it was elsewhere; found, of dtype BF_BOOL, says where. Either may be NULL, of a set values is. */
BF_API bf_status bf_table_find(bf_table *table, const bf_array *keys, const bf_array *values,
                               const bf_array *found);

/* counts, of dtype BF_I64: how many entries each key has. */
BF_API bf_status bf_table_count(bf_table *table, const bf_array *keys, const bf_array *counts);

/* All values of each key, those of keys[0] first, in the order of their insertion: values is one
 * contiguous dimension of as many elements as bf_table_count says in all (else BF_E_SHAPE). */
BF_API bf_status bf_table_find_all(bf_table *table, const bf_array *keys, const bf_array *values);

/* Takes out all entries of these keys; *erased (or NULL) becomes their number. */
BF_API bf_status bf_table_erase(bf_table *table, const bf_array *keys, int64_t *erased);

/* All entries, by key ascending (-inf to inf, NaN; pairs by their first word, then the second),
 * those of one key by insertion: bf_table_size elements each. values may be NULL. O(n log n). */
BF_API bf_status bf_table_export(bf_table *table, const bf_array *keys, const bf_array *values);

/* One key at a time, from host memory, misaligned or not; *found is 0 or 1. value: NULL for a set;
 * found and value may be NULL where they are written. */
BF_API bf_status bf_table_insert_one(bf_table *table, const void *key, const void *value);
BF_API bf_status bf_table_find_one(bf_table *table, const void *key, void *value, int *found);
BF_API bf_status bf_table_erase_one(bf_table *table, const void *key, int *found);

/* Saved form: portable (little-endian), versioned, checksummed; equal entries, kinds and seeds save
 * to equal bytes. bf_table_save writes as many as bf_table_save_size says. bf_table_load trusts
 * nothing: BF_E_STATE unless every byte is as bf_table_save could have written it. */
BF_API size_t bf_table_save_size(const bf_table *table);
BF_API bf_status bf_table_save(bf_table *table, void *buffer);
BF_API bf_status bf_table_load(bf_context *context, const void *buffer, size_t size,
                               bf_table **table);

/* "first", "last", ...; "?" for a number that is no policy. And back: -1 for an unknown name. */
BF_API const char *bf_duplicates_name(bf_duplicates duplicates);
BF_API int bf_duplicates_from_name(const char *name);

#ifdef __cplusplus
}
#endif
#endif
