/* Insertion. A failure leaves the table as it was: where all entries have room, nothing can fail;
 * many entries are inserted into a table of which there is a copy to go back to; a few are first
 * made a table of their own, whose keys are all different. The watch is asked as long as the table
 * can be put back. */
#include "cpu/table/table.h"

#include "cpu/runtime/estimate.h"

enum { PIECE = 1 << 18 }; /* entries between two questions to the watch */

/* Inserts entries that all have room. */
static void insert_directly(bf_cpu_table *t, const bf_entries *e, int64_t n) {
    int64_t before = t->keys;
    t->loops->insert(t, e, 0, n);
    t->fullest += t->keys - before;
}

/* Tells the watch that so many entries have been inserted. */
static bf_status tell_entries(bf_context *context, const bf_cpu_table *t, int64_t n) {
    int64_t bytes = n * (int64_t)bf_table_row_bytes(t);
    bf_watch_tell(context, context->watched.bytes + bytes);
    return bf_watch_tick(context, 0);
}

/* Inserts entries one after another, growing as needed. */
static bf_status insert_one_by_one(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                   int64_t n) {
    bf_status status = BF_OK;
    for (int64_t done = 0; done < n && status == BF_OK;) {
        int64_t piece = n - done < PIECE ? n - done : PIECE;
        int64_t inserted = t->loops->insert(t, e, done, piece);
        done += inserted;
        status = inserted < piece ? bf_table_grow(context, t) : tell_entries(context, t, piece);
    }
    bf_table_see_fullest(t);
    return status;
}

static bf_status insert_roomy(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                              int64_t n) {
    if (bf_table_wants_partitions(context, t, n))
        return bf_table_insert_partitions(context, t, e, n, false);
    insert_directly(t, e, n);
    return BF_OK;
}

/* Inserts the first entries, *done of them, while the table stays small and they repeat its keys.
 */
static bf_status insert_repeats(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                int64_t n, int64_t *done) {
    bf_status status = BF_OK;
    bool repeats = true;
    while (repeats && !bf_table_wants_partitions(context, t, n) && *done < n && status == BF_OK) {
        bf_entries piece = bf_entries_from(e, *done);
        int64_t size = n - *done < BF_TABLE_MANY ? n - *done : BF_TABLE_MANY / 2, before = t->keys;
        status = insert_one_by_one(context, t, &piece, size);
        *done += size;
        repeats = 4 * (t->keys - before) < size;
    }
    return status;
}

/* Returns whether there is room for so many more keys, if they spread evenly. */
static bool has_slots(const bf_cpu_table *t, int64_t keys) {
    return t->keys + keys <= (int64_t)(t->buckets.count * (uint64_t)t->loops->slots * 3 / 4);
}

/* Grows as it must, at first to the estimated need. After a failure some entries are there. */
static bf_status insert_growing(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                int64_t n) {
    int64_t keys = 0, done = 0;
    bool was_empty = t->keys == 0 && t->multimap == NULL;
    bf_status status = insert_repeats(context, t, e, n, &done);
    if (status != BF_OK || done == n) return status;
    if (was_empty && done == BF_TABLE_MANY / 2) { /* only the first piece: start over, in place */
        bf_table_wipe(context, t);
        done = 0;
    }
    bf_entries rest = bf_entries_from(e, done);
    n -= done;
    if (n >= BF_TABLE_MANY && !has_slots(t, n))
        status = bf_estimate_keys(context, t->buckets.seed, t->kind.key, rest.keys, rest.key_step,
                                  n, &keys);
    if (status == BF_OK && keys > t->keys) status = bf_table_make_room(context, t, keys);
    if (status != BF_OK) return status;
    return bf_table_wants_partitions(context, t, n)
               ? bf_table_insert_partitions(context, t, &rest, n, true)
               : insert_one_by_one(context, t, &rest, n);
}

static bf_status insert_first(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                              int64_t n) {
    bf_status status = insert_growing(context, t, e, n);
    if (status != BF_OK) bf_table_wipe(context, t);
    return status;
}

/* Keeps a copy of the table to go back to. */
static bf_status insert_with_copy(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                  int64_t n) {
    bf_buckets before;
    int64_t keys = t->keys;
    bool has_aside = t->has_aside;
    unsigned char aside[sizeof t->aside];
    memcpy(aside, t->aside, sizeof aside);
    bf_status status = bf_buckets_copy(context, t->loops, &t->buckets, &before);
    if (status != BF_OK) return status;
    status = insert_growing(context, t, e, n);
    if (status == BF_OK) {
        bf_buckets_destroy(&before);
        return BF_OK;
    }
    bf_buckets_destroy(&t->buckets);
    t->buckets = before;
    t->keys = keys;
    t->has_aside = has_aside;
    memcpy(t->aside, aside, sizeof aside);
    bf_table_see_fullest(t);
    return status;
}

/* A copy does not pay for few entries, nor help a multimap, whose nodes are linked across copies.
 */
static bool wants_copy(const bf_cpu_table *t, int64_t n) {
    size_t bytes = (size_t)n * bf_table_row_bytes(t);
    return t->multimap == NULL && bytes >= bf_buckets_bytes(&t->buckets, t->loops) / 4;
}

/* Inserts entries of different keys: makes room for those that are new, then cannot fail. */
static bf_status insert_different(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                  int64_t n) {
    bool room = false;
    int64_t fresh = 0;
    bf_status status = bf_table_has_room(context, t, e, n, true, &room, &fresh);
    if (status == BF_OK && !room) status = bf_table_make_room(context, t, t->keys + fresh);
    while (status == BF_OK && !room) {
        status = bf_table_has_room(context, t, e, n, true, &room, &fresh);
        if (status == BF_OK && !room) status = bf_table_grow(context, t);
    }
    return status == BF_OK ? insert_roomy(context, t, e, n) : status;
}

/* Inserts the entries of another table of the same kind, and destroys that. */
static bf_status insert_table(bf_context *context, bf_cpu_table *t, bf_cpu_table *other) {
    size_t keys = (size_t)other->keys, key = (size_t)t->key_bytes, value = (size_t)t->value_bytes;
    char *memory = bf_zeros(keys * (key + value));
    bf_status status = BF_OK;
    if (memory != NULL) status = bf_table_collect(context, other, memory, memory + keys * key);
    bf_buckets_destroy(&other->buckets);
    if (memory == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to insert");
    bf_entries entries = {
        .keys = memory, .key_step = key, .values = memory + keys * key, .value_step = value};
    if (status == BF_OK) status = insert_different(context, t, &entries, (int64_t)keys);
    bf_free(memory);
    return status;
}

/* Makes the entries a table of their own, then inserts that. */
static bf_status insert_apart(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                              int64_t n) {
    bf_cpu_table apart = {.kind = t->kind,
                          .loops = t->loops,
                          .key_bytes = t->key_bytes,
                          .value_bytes = t->value_bytes,
                          .multimap = t->multimap};
    memcpy(apart.pattern, t->pattern, sizeof apart.pattern);
    bf_status status = bf_buckets_create(context, t->loops, 1, t->buckets.seed, &apart.buckets);
    if (status != BF_OK) return status;
    status = insert_first(context, &apart, e, n);
    if (status == BF_OK) return insert_table(context, t, &apart);
    bf_buckets_destroy(&apart.buckets);
    return status;
}

static bf_status insert_entries(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                int64_t n) {
    bool room = false;
    int64_t count;
    if (t->fullest + n > t->buckets.limit) bf_table_see_fullest(t);
    if (t->fullest + n <= t->buckets.limit) return insert_roomy(context, t, e, n);
    if (t->keys == 0) return insert_first(context, t, e, n);
    if (n == 1) return insert_different(context, t, e, n);
    bf_status status = BF_OK;
    if (t->keys + n <= (int64_t)bf_buckets_regions(&t->buckets) * t->buckets.limit)
        status = bf_table_has_room(context, t, e, n, false, &room, &count);
    if (status == BF_OK && !room && wants_copy(t, n)) return insert_with_copy(context, t, e, n);
    if (status == BF_OK && !room) status = bf_table_has_room(context, t, e, n, true, &room, &count);
    if (status != BF_OK) return status;
    return room ? insert_roomy(context, t, e, n) : insert_apart(context, t, e, n);
}

bf_status bf_table_insert_entries(bf_context *context, bf_cpu_table *table,
                                  const bf_entries *entries, int64_t n) {
    bf_status status = insert_entries(context, table, entries, n);
    if (status == BF_OK) bf_table_heal(context, table);
    return status;
}
