/* A table in host memory.
 *
 * Open addressing in buckets of one or two cache lines: the keys of a bucket first, then its
 * values. A key's bucket is its hash's place; a full bucket's entries go on to the next one, within
 * a region of buckets, after whose last comes its first: threads that work on different regions
 * never meet. In a bucket entries are in front, so that its last place says whether it is full, and
 * no bucket before an entry's own, back to its key's, has room.
 *
 * Buckets hold key ^ pattern, and 0 is no key: fresh memory is an empty table. The entry of the key
 * that is the pattern is kept aside, so that every key is legal. */
#ifndef BF_CPU_TABLE_TABLE_H
#define BF_CPU_TABLE_TABLE_H

#include "cpu/runtime/context.h"
#include "rules/key/hash.h"
#include "rules/table/entry.h"
#include "seam/table.h"

#include <stdatomic.h>

enum {
    BF_REGION_SHIFT = 11,       /* a region of a large table: 2^11 buckets, 128 or 256 KiB */
    BF_TABLE_BLOCK = 32,        /* keys whose buckets are on their way into the cache */
    BF_ENTRIES_LEAST = 1 << 15, /* entries that are worth a thread */
    BF_TABLE_FAR = 100,         /* buckets: random keys are never so far from theirs */
    BF_TABLE_MANY = 1 << 16     /* entries that are worth being sorted by region first */
};

typedef struct bf_region {
    uint32_t used; /* entries */
    char apart[BF_CPU_APART];
} bf_region;

/* The buckets of a table. */
typedef struct bf_slots {
    char *buckets;
    void *memory; /* that they lie in */
    bf_region *regions;
    uint64_t count; /* buckets */
    int shift;      /* a region has 2^shift of them */
    uint32_t limit; /* entries that a region may have */
    bf_hash_seed seed;
} bf_slots;

/* What a multimap has for a key: the last of its nodes, which are linked in a ring, and how many.
 */
typedef struct bf_chain {
    int64_t tail, count;
} bf_chain;

/* The nodes of a multimap: its values, and for each the one after it. Those of erased keys are
 * dead until all are gathered anew. */
typedef struct bf_nodes {
    int64_t *next;
    char *values;
    int64_t count, room, dead;
} bf_nodes;

/* The ring of `value` after that of `place`: both are a bf_chain, which need not be aligned. */
static inline void bf_chain_join(const bf_nodes *nodes, char *place, const char *value) {
    bf_chain before, after;
    memcpy(&before, place, sizeof before);
    memcpy(&after, value, sizeof after);
    int64_t head = nodes->next[before.tail];
    nodes->next[before.tail] = nodes->next[after.tail];
    nodes->next[after.tail] = head;
    after.count += before.count;
    memcpy(place, &after, sizeof after);
}

typedef struct bf_table_loops bf_table_loops;

typedef struct bf_cpu_table {
    bf_table_kind kind;
    const bf_table_loops *loops;
    int key_bytes;
    int value_bytes;     /* in buckets: of a multimap those of a bf_chain */
    uint64_t pattern[2]; /* as many bytes of it as a key has */
    bf_slots slots;
    _Atomic int64_t keys;   /* different ones */
    int64_t fullest;        /* no region has more entries */
    int64_t reseed_at;      /* keys, below which another seed is not tried again */
    _Atomic bool clustered; /* a key was found far from its bucket */
    bool has_aside;
    unsigned char aside[16]; /* the value of the key that is the pattern */
    bf_nodes *nodes;         /* of a multimap, else NULL; may be shared by two tables */
} bf_cpu_table;

/* Entries to come, in whatever steps. */
typedef struct bf_entries {
    const char *keys, *values; /* values NULL: a set, or a multimap's nodes, in order */
    size_t key_step, value_step;
    bool is_raw;  /* keys may have to be made canonical */
    int64_t node; /* of the first entry */
} bf_entries;

/* Those from number `first` on. */
static inline bf_entries bf_entries_from(const bf_entries *entries, int64_t first) {
    bf_entries e = *entries;
    e.keys += (size_t)first * e.key_step;
    if (e.values != NULL) e.values += (size_t)first * e.value_step;
    e.node += first;
    return e;
}

/* The loops for a width of keys and one of values: instances of loops.h. */
struct bf_table_loops {
    int bucket_bytes, places; /* entries in a bucket */
    /* Adds the number of entries [first, first + n) in each group of 2^shift buckets to counts. */
    void (*count)(const bf_cpu_table *table, const bf_entries *entries, int64_t first, int64_t n,
                  int shift, uint32_t *counts);
    /* The same, of those alone whose keys the table does not have. */
    void (*count_new)(const bf_cpu_table *table, const bf_entries *entries, int64_t first,
                      int64_t n, int shift, uint32_t *counts);
    /* Copies them as rows of a key and a value, those of group g to at[g], which moves on. */
    void (*scatter)(const bf_cpu_table *table, const bf_entries *entries, int64_t first, int64_t n,
                    int shift, int64_t *at, char *rows);
    /* Enters them, until one would fill a region beyond its limit: how many were entered. */
    int64_t (*insert)(bf_cpu_table *table, const bf_entries *entries, int64_t first, int64_t n);
    /* values[i] and found[i] (either may be NULL) of keys [first, first + n), i from 0: how many
     * there are. */
    int64_t (*find)(const bf_cpu_table *table, const bf_entries *keys, int64_t first, int64_t n,
                    char *values, uint8_t *found);
    /* Takes them out: how many entries went. */
    int64_t (*erase)(bf_cpu_table *table, const bf_entries *keys, int64_t first, int64_t n);
    /* Moves the entries of a region of the table's to other slots; false: one has no room. */
    bool (*move)(const bf_cpu_table *table, uint64_t region, bf_slots *to);
    /* Copies a region's entries to arrays of keys and values (NULL: not). */
    void (*collect)(const bf_cpu_table *table, uint64_t region, char *keys, char *values);
};

/* --- slots.c: memory, and growth --- */

bf_status bf_slots_create(bf_context *context, const bf_table_loops *loops, uint64_t buckets,
                          bf_hash_seed seed, bf_slots *slots);
bf_status bf_slots_copy(bf_context *context, const bf_table_loops *loops, const bf_slots *from,
                        bf_slots *slots);
void bf_slots_destroy(bf_slots *slots);

static inline uint64_t bf_slots_regions(const bf_slots *slots) {
    return slots->count >> slots->shift;
}

static inline size_t bf_slots_bytes(const bf_slots *slots, const bf_table_loops *loops) {
    return slots->count * (size_t)loops->bucket_bytes;
}

/* Looks which region is the fullest. */
void bf_table_see_fullest(bf_cpu_table *table);

/* Takes out all entries. */
void bf_table_wipe(bf_context *context, bf_cpu_table *table);

/* Makes room for so many keys in all, where there is none; or about twice the room there is.
 * Errors: BF_E_MEMORY; the table is as it was. */
bf_status bf_table_make_room(bf_context *context, bf_cpu_table *table, int64_t keys);
bf_status bf_table_grow(bf_context *context, bf_cpu_table *table);

/* Another seed where keys seem to be chosen against this one, if there is memory for it. */
void bf_table_heal(bf_context *context, bf_cpu_table *table);

/* --- insert.c, partition.c: many entries at once --- */

/* Enters n > 0 entries. On failure the table is as it was. Errors: BF_E_MEMORY. */
bf_status bf_table_insert_entries(bf_context *context, bf_cpu_table *table, const bf_entries *entries,
                          int64_t n);

/* Is it worth the while to sort n entries, to be entered or erased, by region? */
bool bf_table_wants_parts(const bf_context *context, const bf_cpu_table *table, int64_t n);

/* Enters them region by region, growing as it must. Errors: BF_E_MEMORY; some may then be there. */
bf_status bf_table_insert_parts(bf_context *context, bf_cpu_table *table, const bf_entries *entries,
                                int64_t n);

/* Erases keys region by region; *erased entries go. Errors: BF_E_MEMORY; the table is as it was. */
bf_status bf_table_erase_parts(bf_context *context, bf_cpu_table *table, const bf_entries *keys,
                               int64_t n, int64_t *erased);

/* Has every region room for its entries, even if all their keys are different? fresh: for those
 * alone whose keys the table does not have, which are *count. Errors: BF_E_MEMORY. */
bf_status bf_table_has_room(bf_context *context, const bf_cpu_table *table,
                            const bf_entries *entries, int64_t n, bool fresh, bool *room,
                            int64_t *count);

/* --- collect.c: all entries --- */

/* Copies all keys, and their values (NULL: not) as buckets hold them, in no particular order. */
void bf_table_collect(bf_context *context, const bf_cpu_table *table, char *keys, char *values);

/* --- multimap.c: the nodes of multimaps --- */

/* Appends n rings of one node with these values; they are there once nodes->count says so. Dead
 * nodes may go. Errors: BF_E_MEMORY. */
bf_status bf_nodes_prepare(bf_context *context, bf_cpu_table *table, const char *values, int64_t n);
void bf_nodes_destroy(bf_nodes *nodes);

/* Copies the values of a chain, the first `most` of them, in order. */
void bf_nodes_values(const bf_nodes *nodes, bf_chain chain, int64_t most, int bytes, char *values);

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
