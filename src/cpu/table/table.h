/* Tables in host memory: open addressing in buckets of one or two cache lines.
 *
 * A bucket holds its keys, then its values. Its entries are in front: a filled last slot means that
 * it is full. An entry lies in its key's home, the bucket that the key's hash chooses, or, where
 * that is full, in the first bucket behind it that had room. Regions of buckets are rings of their
 * own, so threads that work on different regions never meet.
 *
 * Buckets hold key ^ pattern, and 0 means "no key": fresh memory is an empty table. The entry whose
 * key is the pattern is kept aside, so every key is legal. */
#ifndef BF_CPU_TABLE_TABLE_H
#define BF_CPU_TABLE_TABLE_H

#include "cpu/runtime/context.h"
#include "rules/key/hash.h"
#include "rules/table/entry.h"
#include "seam/table.h"

#include <stdatomic.h>

enum {
    BF_REGION_SHIFT = 11,       /* a region of a large table: 2^11 buckets, 128 or 256 KiB */
    BF_TABLE_BLOCK = 32,        /* keys whose buckets are fetched into the cache together */
    BF_ENTRIES_LEAST = 1 << 15, /* entries that are worth a thread */
    BF_TABLE_FAR = 100,         /* buckets: random keys are never so far from home */
    BF_TABLE_MANY = 1 << 16     /* entries that are worth sorting by region first */
};

typedef struct bf_region {
    uint32_t used; /* entries */
    char apart[BF_CPU_APART];
} bf_region;

/* The buckets of a table. */
typedef struct bf_buckets {
    char *first;
    void *memory; /* in which they lie */
    bf_region *regions;
    uint64_t count; /* buckets */
    int shift;      /* a region has 2^shift of them */
    uint32_t limit; /* entries that a region may have */
    bf_hash_seed seed;
} bf_buckets;

/* A multimap's entries of one key: the last of its nodes, which are linked in a ring, and their
 * number. */
typedef struct bf_run {
    int64_t tail, count;
} bf_run;

/* The nodes of a multimap: each is a value and the index of the next one of its run. Nodes of
 * erased keys are dead, until the living ones are copied to new memory. */
typedef struct bf_multimap {
    int64_t *next;
    char *values;
    int64_t count, room, dead;
} bf_multimap;

/* Appends the run at `value` to the run at `stored`; neither need be aligned. */
static inline void bf_run_append(const bf_multimap *m, char *stored, const char *value) {
    bf_run before, after;
    memcpy(&before, stored, sizeof before);
    memcpy(&after, value, sizeof after);
    int64_t head = m->next[before.tail];
    m->next[before.tail] = m->next[after.tail];
    m->next[after.tail] = head;
    after.count += before.count;
    memcpy(stored, &after, sizeof after);
}

typedef struct bf_table_loops bf_table_loops;

typedef struct bf_cpu_table {
    bf_table_kind kind;
    const bf_table_loops *loops;
    int key_bytes;
    int value_bytes;     /* in buckets: a multimap has a bf_run there */
    uint64_t pattern[2]; /* its first key_bytes count */
    bf_buckets buckets;
    _Atomic int64_t keys;   /* different ones */
    int64_t fullest;        /* no region has more entries */
    int64_t reseed_at;      /* keys below which no other seed is tried */
    _Atomic bool clustered; /* a key was put far from home */
    bool has_aside;
    unsigned char aside[16]; /* the value of the key that is the pattern */
    bf_multimap *multimap;   /* NULL: it is none; two tables may share one */
} bf_cpu_table;

static inline size_t bf_table_row_bytes(const bf_cpu_table *table) {
    return (size_t)(table->key_bytes + table->value_bytes);
}

/* Entries to be inserted or erased, their keys and values at any steps. */
typedef struct bf_entries {
    const char *keys, *values; /* values NULL: of a set; of a multimap: its nodes from `node` on */
    size_t key_step, value_step;
    bool is_raw;  /* keys may have to be made canonical */
    int64_t node; /* the first entry's */
} bf_entries;

/* Returns the entries from index `first` on. */
static inline bf_entries bf_entries_from(const bf_entries *entries, int64_t first) {
    bf_entries e = *entries;
    e.keys += (size_t)first * e.key_step;
    if (e.values != NULL) e.values += (size_t)first * e.value_step;
    e.node += first;
    return e;
}

/* The loops for a width of keys and one of values: instances of loops.h. */
struct bf_table_loops {
    int bucket_bytes, slots; /* slots: of a bucket */
    /* Adds the number of entries [first, first + n) in each group of 2^shift buckets to counts. */
    void (*count)(const bf_cpu_table *table, const bf_entries *entries, int64_t first, int64_t n,
                  int shift, uint32_t *counts);
    /* Counts only entries whose keys the table does not have. */
    void (*count_new)(const bf_cpu_table *table, const bf_entries *entries, int64_t first,
                      int64_t n, int shift, uint32_t *counts);
    /* Copies entries as rows of a key and a value: those of group g to row at[g], which moves on.
     */
    void (*scatter)(const bf_cpu_table *table, const bf_entries *entries, int64_t first, int64_t n,
                    int shift, int64_t *at, char *rows);
    /* Inserts entries until one would fill a region beyond its limit. Returns how many it inserted.
     */
    int64_t (*insert)(bf_cpu_table *table, const bf_entries *entries, int64_t first, int64_t n);
    /* Sets values[i] (if found) and found[i], i from 0, for keys [first, first + n); either may be
     * NULL. Returns how many were found. */
    int64_t (*find)(const bf_cpu_table *table, const bf_entries *keys, int64_t first, int64_t n,
                    char *values, uint8_t *found);
    /* Erases keys. Returns how many entries went. */
    int64_t (*erase)(bf_cpu_table *table, const bf_entries *keys, int64_t first, int64_t n);
    /* Copies a region's entries to other buckets. false: a region there is full. */
    bool (*move)(const bf_cpu_table *table, uint64_t region, bf_buckets *to);
    /* Copies a region's entries to arrays of keys and of values (NULL: keys alone). */
    void (*collect)(const bf_cpu_table *table, uint64_t region, char *keys, char *values);
};

/* --- buckets.c: memory, and growth --- */

/* Makes at least `count` buckets, all empty. Errors of both: BF_E_MEMORY. */
bf_status bf_buckets_create(bf_context *context, const bf_table_loops *loops, uint64_t count,
                            bf_hash_seed seed, bf_buckets *made);
bf_status bf_buckets_copy(bf_context *context, const bf_table_loops *loops, const bf_buckets *from,
                          bf_buckets *made);
void bf_buckets_destroy(bf_buckets *buckets);

static inline uint64_t bf_buckets_regions(const bf_buckets *buckets) {
    return buckets->count >> buckets->shift;
}

static inline size_t bf_buckets_bytes(const bf_buckets *buckets, const bf_table_loops *loops) {
    return buckets->count * (size_t)loops->bucket_bytes;
}

/* Sets table->fullest to the most entries that a region has. */
void bf_table_see_fullest(bf_cpu_table *table);

/* Removes all entries. */
void bf_table_wipe(bf_context *context, bf_cpu_table *table);

/* Makes room for so many keys in all, if there is not; grow about doubles the room. Errors:
 * BF_E_MEMORY, BF_E_CANCELLED, and then the table is as it was. */
bf_status bf_table_make_room(bf_context *context, bf_cpu_table *table, int64_t keys);
bf_status bf_table_grow(bf_context *context, bf_cpu_table *table);

/* Moves to another seed if keys are clustered and there is memory: they may have been chosen
 * against this seed. Does not ask the watch. */
void bf_table_heal(bf_context *context, bf_cpu_table *table);

/* --- insert.c, partition.c: many entries at once --- */

/* Inserts n > 0 entries. Errors: BF_E_MEMORY, BF_E_CANCELLED, and then the table is as it was. */
bf_status bf_table_insert_entries(bf_context *context, bf_cpu_table *table,
                                  const bf_entries *entries, int64_t n);

/* Returns whether n entries are worth sorting by region before they are inserted or erased. */
bool bf_table_wants_partitions(const bf_context *context, const bf_cpu_table *table, int64_t n);

/* Inserts entries partition by partition, growing as it must. asks: the watch may cancel the call
 * when some entries have been inserted; false: it may only before the first. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED; some entries may then have been inserted if asks is true. */
bf_status bf_table_insert_partitions(bf_context *context, bf_cpu_table *table,
                                     const bf_entries *entries, int64_t n, bool asks);

/* Erases keys partition by partition, *erased entries in all. Errors: BF_E_MEMORY, BF_E_CANCELLED,
 * and then the table is as it was. */
bf_status bf_table_erase_partitions(bf_context *context, bf_cpu_table *table,
                                    const bf_entries *keys, int64_t n, int64_t *erased);

/* *room: whether every region has room for its entries, even if all their keys are different.
 * *count: how many entries that are. fresh: counts only keys that the table does not have. Errors:
 * BF_E_MEMORY, BF_E_CANCELLED. */
bf_status bf_table_has_room(bf_context *context, const bf_cpu_table *table,
                            const bf_entries *entries, int64_t n, bool fresh, bool *room,
                            int64_t *count);

/* --- collect.c: all entries --- */

/* Copies all keys, and their values as buckets hold them (NULL: keys alone), in no particular
 * order. Errors: BF_E_CANCELLED. */
bf_status bf_table_collect(bf_context *context, const bf_cpu_table *table, char *keys,
                           char *values);

/* --- multimap.c --- */

/* Writes n runs of one node with these values behind the multimap's nodes: they are part of it once
 * its count has grown by n. Drops dead nodes. Errors: BF_E_MEMORY, BF_E_CANCELLED. */
bf_status bf_multimap_prepare(bf_context *context, bf_cpu_table *table, const char *values,
                              int64_t n);
void bf_multimap_destroy(bf_multimap *m);

/* Copies the first values of a run, at most `most`, in order. */
void bf_multimap_values(const bf_multimap *m, bf_run run, int64_t most, int bytes, char *values);

/* --- table.c: the backend's functions --- */

extern const bf_table_backend bf_cpu_tables;

/* --- find.c --- */

bf_status bf_cpu_table_find(bf_context *context, void *table, const void *keys, int64_t n,
                            void *values, uint8_t *found);
bf_status bf_cpu_table_count(bf_context *context, void *table, const void *keys, int64_t n,
                             int64_t *counts, int64_t *total);
bf_status bf_cpu_table_find_all(bf_context *context, void *table, const void *keys, int64_t n,
                                void *values);

#endif
