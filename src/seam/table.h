/* Tables of keys with values, and sets of keys. */
#ifndef BF_SEAM_TABLE_H
#define BF_SEAM_TABLE_H

#include <bitfold/table.h>

/* The kind of a table. */
typedef struct bf_table_kind {
    bf_dtype key, value; /* value BF_NONE: a set */
    bf_duplicates duplicates;
    uint64_t seed;
} bf_table_kind;

/* A backend's tables. Keys and values follow rules/table/entry.h; n > 0, and values is NULL for a
 * set. Errors of all: BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED; then the table is as it was, and
 * outputs are undefined. Entries do not depend on threads, the hash or its seed. */
typedef struct bf_table_backend {
    bf_status (*create)(bf_context *context, const bf_table_kind *kind, void **table);
    void (*destroy)(bf_context *context, void *table);
    void (*clear)(bf_context *context, void *table);
    /* Makes room for this many entries in all. */
    bf_status (*reserve)(bf_context *context, void *table, int64_t entries);
    int64_t (*size)(const void *table);
    bf_status (*insert)(bf_context *context, void *table, const void *keys, const void *values,
                        int64_t n);
    /* Looks the keys up. values and found may be NULL; the value of an absent key is left alone. */
    bf_status (*find)(bf_context *context, void *table, const void *keys, int64_t n, void *values,
                      uint8_t *found);
    /* Counts the entries of each key (counts may be NULL) and of all together. */
    bf_status (*count)(bf_context *context, void *table, const void *keys, int64_t n,
                       int64_t *counts, int64_t *total);
    /* Writes all values of the keys, one after another. */
    bf_status (*find_all)(bf_context *context, void *table, const void *keys, int64_t n,
                          void *values);
    bf_status (*erase)(bf_context *context, void *table, const void *keys, int64_t n,
                       int64_t *erased);
    /* Writes all entries, by key. There is at least one. values may be NULL. */
    bf_status (*list)(bf_context *context, void *table, void *keys, void *values);
} bf_table_backend;

#endif
