/* The memory of a table: making it, and moving to more of it, or to another seed. */
#include "cpu/table/table.h"

#include <stdlib.h>

enum {
    LINE = 128,      /* buckets are aligned to this */
    LEAST_SHIFT = 2, /* the least table: 4 buckets */
    PIECE = 1 << 21, /* bytes that a thread clears or touches at a time */
    TRIES = 16       /* of sizes and seeds, for keys that are chosen against them */
};

/* A share of all places: what a table is made for, and the most that a region may have. */
static uint64_t made_for(uint64_t places) { return places / 2; }
static uint64_t most(uint64_t places) { return places * 13 / 16; }

/* ---- slots ----------------------------------------------------------------------------------- */

static uint64_t buckets_for(const bf_table_loops *loops, int64_t keys) {
    uint64_t buckets = (uint64_t)keys / made_for((uint64_t)loops->places * 8) * 8 + 8;
    return buckets;
}

/* Rounded up to whole regions; a small table is one region, of a power of two. */
static void shape(const bf_table_loops *loops, uint64_t buckets, bf_slots *s) {
    s->shift = LEAST_SHIFT;
    while (s->shift < BF_REGION_SHIFT && (uint64_t)1 << s->shift < buckets) s->shift++;
    s->count = (((buckets - 1) >> s->shift) + 1) << s->shift;
    s->limit = (uint32_t)most((uint64_t)loops->places << s->shift);
}

bf_status bf_slots_create(bf_context *context, const bf_table_loops *loops, uint64_t buckets,
                          bf_hash_seed seed, bf_slots *slots) {
    bf_slots s = {.seed = seed};
    size_t bytes = 0;
    shape(loops, buckets, &s);
    bool fits = !__builtin_mul_overflow(s.count, (uint64_t)loops->bucket_bytes, &bytes) &&
                bytes < SIZE_MAX / 4;
    if (fits) s.memory = bf_zeros(bytes + LINE);
    if (s.memory != NULL) s.regions = calloc(bf_slots_regions(&s), sizeof *s.regions);
    if (s.regions == NULL) {
        free(s.memory);
        return bf_fail(context, BF_E_MEMORY, "no memory for a table of %llu buckets",
                       (unsigned long long)s.count);
    }
    s.buckets = (char *)s.memory + (LINE - (uintptr_t)s.memory % LINE);
    *slots = s;
    return BF_OK;
}

bf_status bf_slots_copy(bf_context *context, const bf_table_loops *loops, const bf_slots *from,
                        bf_slots *slots) {
    bf_status status = bf_slots_create(context, loops, from->count, from->seed, slots);
    if (status != BF_OK) return status;
    memcpy(slots->buckets, from->buckets, from->count * (uint64_t)loops->bucket_bytes);
    memcpy(slots->regions, from->regions, bf_slots_regions(from) * sizeof *from->regions);
    return BF_OK;
}

void bf_slots_destroy(bf_slots *slots) {
    free(slots->memory);
    free(slots->regions);
}

void bf_table_see_fullest(bf_cpu_table *table) {
    uint32_t fullest = 0;
    for (uint64_t r = 0; r < bf_slots_regions(&table->slots); r++)
        if (table->slots.regions[r].used > fullest) fullest = table->slots.regions[r].used;
    table->fullest = fullest;
}

static bf_status clear_piece(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    memset((char *)arg + first, 0, (size_t)n);
    return BF_OK;
}

static bf_status touch_piece(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    bf_touch((char *)arg + first, (size_t)n);
    return BF_OK;
}

/* Clears or touches all buckets. */
static void share_buckets(bf_context *context, const bf_slots *s, const bf_table_loops *loops,
                          bf_host_work *work) {
    (void)bf_parallel(context, bf_host_threads(context), (int64_t)bf_slots_bytes(s, loops), PIECE,
                      work, s->buckets);
}

void bf_table_wipe(bf_context *context, bf_cpu_table *table) {
    bf_slots *s = &table->slots;
    share_buckets(context, s, table->loops, clear_piece);
    memset(s->regions, 0, bf_slots_regions(s) * sizeof *s->regions);
    atomic_store(&table->keys, 0);
    table->fullest = 0;
    table->has_aside = false;
}

/* ---- moving ---------------------------------------------------------------------------------- */

typedef struct move_job {
    const bf_cpu_table *table;
    bf_slots *to;
} move_job;

/* BF_E_MEMORY: a region has no room. */
static bf_status move_regions(void *arg, int worker, int64_t first, int64_t n) {
    move_job *m = arg;
    (void)worker;
    for (int64_t r = first; r < first + n; r++)
        if (!m->table->loops->move(m->table, (uint64_t)r, m->to)) return BF_E_MEMORY;
    return BF_OK;
}

/* Moves all to other slots. *full: a region of theirs has no room, and the table stays as it is.
 * With the seed it had, and a multiple of its buckets, its regions go to different ones. */
static bf_status move_entries(bf_context *context, bf_cpu_table *t, uint64_t buckets,
                              bf_hash_seed seed, bool *full) {
    bf_slots to;
    bf_status status = bf_slots_create(context, t->loops, buckets, seed, &to);
    if (status != BF_OK) return status;
    if (t->keys > 0) share_buckets(context, &to, t->loops, touch_piece);
    move_job job = {.table = t, .to = &to};
    bool apart = seed.first == t->slots.seed.first && to.shift == t->slots.shift &&
                 to.count % t->slots.count == 0;
    int workers = apart ? bf_workers(context, t->keys, BF_ENTRIES_LEAST) : 1;
    *full = bf_parallel(context, workers, (int64_t)bf_slots_regions(&t->slots), 1, move_regions,
                        &job) != BF_OK;
    bf_slots_destroy(*full ? &to : &t->slots);
    if (!*full) t->slots = to;
    bf_table_see_fullest(t);
    return BF_OK;
}

/* As many buckets or more, a multiple of those there are where regions are many. */
static uint64_t rounded(const bf_cpu_table *t, uint64_t buckets) {
    const bf_slots *s = &t->slots;
    if (bf_slots_regions(s) == 1 || t->keys == 0) return buckets;
    return (buckets + s->count - 1) / s->count * s->count;
}

static bool may_reseed(bf_cpu_table *t) {
    if (t->keys < t->reseed_at) return false;
    t->reseed_at = 2 * t->keys;
    return true;
}

/* Where one region has nearly all keys, a few seeds are tried, then more room. */
static bf_status resize(bf_context *context, bf_cpu_table *t, uint64_t buckets) {
    bf_hash_seed seed = t->slots.seed;
    bf_status status = BF_OK;
    bool full = true;
    for (int i = 0; i < TRIES && full && status == BF_OK; i++) {
        if (i % 4 == 3)
            buckets *= 2;
        else if (i > 0)
            seed = bf_hash_next_seed(seed);
        status = move_entries(context, t, rounded(t, buckets), seed, &full);
    }
    if (status == BF_OK && full) return bf_fail(context, BF_E_MEMORY, "no seed spreads these keys");
    return status;
}

bf_status bf_table_make_room(bf_context *context, bf_cpu_table *table, int64_t keys) {
    const bf_slots *s = &table->slots;
    if ((uint64_t)keys <= s->count * (uint64_t)table->loops->places * 3 / 4) return BF_OK;
    return resize(context, table, buckets_for(table->loops, keys));
}

bf_status bf_table_grow(bf_context *context, bf_cpu_table *table) {
    const bf_slots *s = &table->slots;
    bool sparse = (uint64_t)table->keys < s->count * (uint64_t)table->loops->places / 4;
    bool full;
    if (sparse && may_reseed(table)) {
        bf_hash_seed seed = bf_hash_next_seed(s->seed);
        bf_status status = move_entries(context, table, s->count, seed, &full);
        if (status != BF_OK || !full) return status;
    }
    return resize(context, table, 2 * s->count);
}

void bf_table_heal(bf_context *context, bf_cpu_table *table) {
    bool full;
    if (!atomic_load(&table->clustered)) return;
    atomic_store(&table->clustered, false);
    if (may_reseed(table))
        (void)move_entries(context, table, table->slots.count, bf_hash_next_seed(table->slots.seed),
                           &full);
}
