/* Entering entries so that a failure leaves the table as it was. Where they all have room nothing
 * can fail. Elsewhere there is a copy of the table to go back to or, where they are few, they make
 * a table of their own first, of which all keys are different. */
#include "cpu/table/table.h"

#include "cpu/runtime/estimate.h"

#include <stdlib.h>

/* Enters entries of which all have room. */
static void insert_directly(bf_cpu_table *t, const bf_entries *e, int64_t n) {
    int64_t before = t->keys;
    t->loops->insert(t, e, 0, n);
    t->fullest += t->keys - before;
}

/* One after another, growing as needed. */
static bf_status insert_one_by_one(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                   int64_t n) {
    int64_t done = t->loops->insert(t, e, 0, n);
    while (done < n) {
        bf_status status = bf_table_grow(context, t);
        if (status != BF_OK) return status;
        done += t->loops->insert(t, e, done, n - done);
    }
    bf_table_see_fullest(t);
    return BF_OK;
}

static bf_status insert_roomy(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                              int64_t n) {
    if (bf_table_wants_parts(context, t, n)) return bf_table_insert_parts(context, t, e, n);
    insert_directly(t, e, n);
    return BF_OK;
}

/* Enters the first entries, *done of them, for as long as the table stays small and they repeat its
 * keys. */
static bf_status insert_repeats(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                int64_t n, int64_t *done) {
    bf_status status = BF_OK;
    bool repeats = true;
    while (repeats && !bf_table_wants_parts(context, t, n) && *done < n && status == BF_OK) {
        bf_entries piece = bf_entries_from(e, *done);
        int64_t size = n - *done < BF_TABLE_MANY ? n - *done : BF_TABLE_MANY / 2, before = t->keys;
        status = insert_one_by_one(context, t, &piece, size);
        *done += size;
        repeats = 4 * (t->keys - before) < size;
    }
    return status;
}

/* Is there room for so many keys more, if they spread? */
static bool has_places(const bf_cpu_table *t, int64_t keys) {
    return t->keys + keys <= (int64_t)(t->slots.count * (uint64_t)t->loops->places * 3 / 4);
}

/* Grows as it must: at first to what the entries seem to need. After a failure some are there. */
static bf_status insert_growing(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                int64_t n) {
    int64_t keys = 0, done = 0;
    bool was_empty = t->keys == 0 && t->nodes == NULL;
    bf_status status = insert_repeats(context, t, e, n, &done);
    if (status != BF_OK || done == n) return status;
    if (was_empty && done == BF_TABLE_MANY / 2) { /* only the first piece: start over, in place */
        bf_table_wipe(context, t);
        done = 0;
    }
    bf_entries rest = bf_entries_from(e, done);
    n -= done;
    if (n >= BF_TABLE_MANY && !has_places(t, n))
        status = bf_estimate_keys(context, t->slots.seed, t->kind.key, rest.keys, rest.key_step, n,
                                  &keys);
    if (status == BF_OK && keys > t->keys) status = bf_table_make_room(context, t, keys);
    if (status != BF_OK) return status;
    return bf_table_wants_parts(context, t, n) ? bf_table_insert_parts(context, t, &rest, n)
                                               : insert_one_by_one(context, t, &rest, n);
}

static bf_status insert_first(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                              int64_t n) {
    bf_status status = insert_growing(context, t, e, n);
    if (status != BF_OK) bf_table_wipe(context, t);
    return status;
}

/* With a copy of the table to go back to. */
static bf_status insert_with_copy(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                  int64_t n) {
    bf_slots before;
    int64_t keys = t->keys;
    bool has_aside = t->has_aside;
    unsigned char aside[sizeof t->aside];
    memcpy(aside, t->aside, sizeof aside);
    bf_status status = bf_slots_copy(context, t->loops, &t->slots, &before);
    if (status != BF_OK) return status;
    status = insert_growing(context, t, e, n);
    if (status == BF_OK) {
        bf_slots_destroy(&before);
        return BF_OK;
    }
    bf_slots_destroy(&t->slots);
    t->slots = before;
    t->keys = keys;
    t->has_aside = has_aside;
    memcpy(t->aside, aside, sizeof aside);
    bf_table_see_fullest(t);
    return status;
}

/* Is that worth it? Not for few entries; and a multimap's nodes are linked across the copies. */
static bool wants_copy(const bf_cpu_table *t, int64_t n) {
    size_t bytes = (size_t)n * (size_t)(t->key_bytes + t->value_bytes);
    return t->nodes == NULL && bytes >= bf_slots_bytes(&t->slots, t->loops) / 4;
}

/* Entries that are all of different keys: there can be made room for them. */
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

/* Enters the entries of another table of the kind, which is destroyed. */
static bf_status insert_table(bf_context *context, bf_cpu_table *t, bf_cpu_table *other) {
    size_t keys = (size_t)other->keys, key = (size_t)t->key_bytes, value = (size_t)t->value_bytes;
    char *memory = bf_zeros(keys * (key + value));
    if (memory != NULL) bf_table_collect(context, other, memory, memory + keys * key);
    bf_slots_destroy(&other->slots);
    if (memory == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to insert");
    bf_entries entries = {
        .keys = memory, .key_step = key, .values = memory + keys * key, .value_step = value};
    bf_status status = insert_different(context, t, &entries, (int64_t)keys);
    free(memory);
    return status;
}

/* The entries become a table of their own, whose entries then come into this one. */
static bf_status insert_apart(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                              int64_t n) {
    bf_cpu_table apart = {.kind = t->kind,
                          .loops = t->loops,
                          .key_bytes = t->key_bytes,
                          .value_bytes = t->value_bytes,
                          .nodes = t->nodes};
    memcpy(apart.pattern, t->pattern, sizeof apart.pattern);
    bf_status status = bf_slots_create(context, t->loops, 1, t->slots.seed, &apart.slots);
    if (status != BF_OK) return status;
    status = insert_first(context, &apart, e, n);
    if (status == BF_OK) return insert_table(context, t, &apart);
    bf_slots_destroy(&apart.slots);
    return status;
}

static bf_status insert_entries(bf_context *context, bf_cpu_table *t, const bf_entries *e,
                                int64_t n) {
    bool room = false;
    int64_t count;
    if (t->fullest + n > t->slots.limit) bf_table_see_fullest(t);
    if (t->fullest + n <= t->slots.limit) return insert_roomy(context, t, e, n);
    if (t->keys == 0) return insert_first(context, t, e, n);
    if (n == 1) return insert_different(context, t, e, n);
    bf_status status = BF_OK;
    if (t->keys + n <= (int64_t)bf_slots_regions(&t->slots) * t->slots.limit)
        status = bf_table_has_room(context, t, e, n, false, &room, &count);
    if (status == BF_OK && !room && wants_copy(t, n)) return insert_with_copy(context, t, e, n);
    if (status == BF_OK && !room) status = bf_table_has_room(context, t, e, n, true, &room, &count);
    if (status != BF_OK) return status;
    return room ? insert_roomy(context, t, e, n) : insert_apart(context, t, e, n);
}

bf_status bf_table_insert_entries(bf_context *context, bf_cpu_table *table, const bf_entries *entries,
                          int64_t n) {
    bf_status status = insert_entries(context, table, entries, n);
    if (status == BF_OK) bf_table_heal(context, table);
    return status;
}
