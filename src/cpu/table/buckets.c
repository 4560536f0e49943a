/* The buckets of a table: their memory, and moving to more of them or to another seed. */
#include "cpu/table/table.h"

enum {
    LINE = 128,      /* buckets are aligned to this */
    LEAST_SHIFT = 2, /* the smallest table has 4 buckets */
    PIECE = 1 << 21, /* bytes that a worker clears or touches at a time */
    TRIES = 16       /* so many sizes and seeds are tried, for keys that are chosen against them */
};

/* How many of all slots a new table fills, and how many a region may fill. */
static uint64_t fill_at_first(uint64_t slots) { return slots / 2; }
static uint64_t fill_at_most(uint64_t slots) { return slots * 13 / 16; }

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t buckets_for(const bf_table_loops *loops, int64_t keys) {
    uint64_t buckets = (uint64_t)keys / fill_at_first((uint64_t)loops->slots * 8) * 8 + 8;
    return buckets;
}

/* Sets the shape for so many buckets or more: whole regions, or one of a power of two. */
static void set_shape(const bf_table_loops *loops, uint64_t buckets, bf_buckets *s) {
    s->shift = LEAST_SHIFT;
    while (s->shift < BF_REGION_SHIFT && (uint64_t)1 << s->shift < buckets) s->shift++;
    s->count = (((buckets - 1) >> s->shift) + 1) << s->shift;
    s->limit = (uint32_t)fill_at_most((uint64_t)loops->slots << s->shift);
}

bf_status bf_buckets_create(bf_context *context, const bf_table_loops *loops, uint64_t count,
                            bf_hash_seed seed, bf_buckets *made) {
    bf_buckets s = {.seed = seed};
    size_t bytes = 0;
    set_shape(loops, count, &s);
    bool fits = !__builtin_mul_overflow(s.count, (uint64_t)loops->bucket_bytes, &bytes) &&
                bytes < SIZE_MAX / 4;
    if (fits) s.memory = bf_zeros(bytes + LINE);
    if (s.memory != NULL) s.regions = bf_calloc(bf_buckets_regions(&s), sizeof *s.regions);
    if (s.regions == NULL) {
        bf_free(s.memory);
        return bf_fail(context, BF_E_MEMORY, "no memory for a table of %llu buckets",
                       (unsigned long long)s.count);
    }
    s.first = (char *)s.memory + (LINE - (uintptr_t)s.memory % LINE);
    *made = s;
    return BF_OK;
}

bf_status bf_buckets_copy(bf_context *context, const bf_table_loops *loops, const bf_buckets *from,
                          bf_buckets *made) {
    bf_status status = bf_buckets_create(context, loops, from->count, from->seed, made);
    if (status != BF_OK) return status;
    memcpy(made->first, from->first, bf_buckets_bytes(from, loops));
    memcpy(made->regions, from->regions, bf_buckets_regions(from) * sizeof *from->regions);
    return BF_OK;
}

void bf_buckets_destroy(bf_buckets *buckets) {
    bf_free(buckets->memory);
    bf_free(buckets->regions);
}

void bf_table_see_fullest(bf_cpu_table *table) {
    uint32_t fullest = 0;
    for (uint64_t r = 0; r < bf_buckets_regions(&table->buckets); r++)
        if (table->buckets.regions[r].used > fullest) fullest = table->buckets.regions[r].used;
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
static void share_buckets(bf_context *context, const bf_buckets *s, const bf_table_loops *loops,
                          bf_host_work *work) {
    (void)bf_parallel(context, bf_host_threads(context), (int64_t)bf_buckets_bytes(s, loops), PIECE,
                      work, s->first);
}

void bf_table_wipe(bf_context *context, bf_cpu_table *table) {
    bf_buckets *s = &table->buckets;
    share_buckets(context, s, table->loops, clear_piece);
    memset(s->regions, 0, bf_buckets_regions(s) * sizeof *s->regions);
    atomic_store(&table->keys, 0);
    table->fullest = 0;
    table->has_aside = false;
}

/* ---- moving ---------------------------------------------------------------------------------- */

typedef struct move_job {
    const bf_cpu_table *table;
    bf_buckets *to;
} move_job;

/* BF_E_MEMORY: a region of the new buckets is full. */
static bf_status move_regions(void *arg, int worker, int64_t first, int64_t n) {
    move_job *m = arg;
    (void)worker;
    for (int64_t r = first; r < first + n; r++)
        if (!m->table->loops->move(m->table, (uint64_t)r, m->to)) return BF_E_MEMORY;
    return BF_OK;
}

/* Moves all entries to new buckets. *full: a region of these has no room, and the table stays as it
 * is. Workers may share the regions if these go to different ones: by the same seed, to a multiple
 * of the buckets. asks: it may be cancelled. Errors: BF_E_MEMORY, BF_E_CANCELLED; the table stays.
 */
static bf_status move_entries(bf_context *context, bf_cpu_table *t, uint64_t buckets,
                              bf_hash_seed seed, bool asks, bool *full) {
    bf_buckets to;
    bf_status status = bf_buckets_create(context, t->loops, buckets, seed, &to);
    if (status != BF_OK) return status;
    if (t->keys > 0) share_buckets(context, &to, t->loops, touch_piece);
    move_job job = {.table = t, .to = &to};
    bool apart = seed.first == t->buckets.seed.first && to.shift == t->buckets.shift &&
                 to.count % t->buckets.count == 0;
    int workers = apart ? bf_workers(context, t->keys, BF_ENTRIES_LEAST) : 1;
    int64_t regions = (int64_t)bf_buckets_regions(&t->buckets);
    status = asks ? bf_parallel_watched(context, workers, regions, 1, 0, move_regions, &job)
                  : bf_parallel(context, workers, regions, 1, move_regions, &job);
    *full = status == BF_E_MEMORY;
    bf_buckets_destroy(status != BF_OK ? &to : &t->buckets);
    if (status == BF_OK) t->buckets = to;
    bf_table_see_fullest(t);
    return *full ? BF_OK : status;
}

/* Rounds buckets up to a multiple of those that there are, unless these are one region. */
static uint64_t round_buckets(const bf_cpu_table *t, uint64_t buckets) {
    const bf_buckets *s = &t->buckets;
    if (bf_buckets_regions(s) == 1 || t->keys == 0) return buckets;
    return (buckets + s->count - 1) / s->count * s->count;
}

static bool may_reseed(bf_cpu_table *t) {
    if (t->keys < t->reseed_at) return false;
    t->reseed_at = 2 * t->keys;
    return true;
}

/* Tries other seeds, and more room, where one region would get nearly all keys. */
static bf_status resize_buckets(bf_context *context, bf_cpu_table *t, uint64_t buckets) {
    bf_hash_seed seed = t->buckets.seed;
    bf_status status = BF_OK;
    bool full = true;
    for (int i = 0; i < TRIES && full && status == BF_OK; i++) {
        if (i % 4 == 3)
            buckets *= 2;
        else if (i > 0)
            seed = bf_hash_next_seed(seed);
        status = move_entries(context, t, round_buckets(t, buckets), seed, true, &full);
    }
    if (status == BF_OK && full) return bf_fail(context, BF_E_MEMORY, "no seed spreads these keys");
    return status;
}

bf_status bf_table_make_room(bf_context *context, bf_cpu_table *table, int64_t keys) {
    const bf_buckets *s = &table->buckets;
    if ((uint64_t)keys <= s->count * (uint64_t)table->loops->slots * 3 / 4) return BF_OK;
    return resize_buckets(context, table, buckets_for(table->loops, keys));
}

bf_status bf_table_grow(bf_context *context, bf_cpu_table *table) {
    const bf_buckets *s = &table->buckets;
    bool sparse = (uint64_t)table->keys < s->count * (uint64_t)table->loops->slots / 4;
    bool full;
    if (sparse && may_reseed(table)) {
        bf_hash_seed seed = bf_hash_next_seed(s->seed);
        bf_status status = move_entries(context, table, s->count, seed, true, &full);
        if (status != BF_OK || !full) return status;
    }
    return resize_buckets(context, table, 2 * s->count);
}

void bf_table_heal(bf_context *context, bf_cpu_table *table) {
    bool full;
    if (!atomic_load(&table->clustered)) return;
    atomic_store(&table->clustered, false);
    if (may_reseed(table))
        (void)move_entries(context, table, table->buckets.count,
                           bf_hash_next_seed(table->buckets.seed), false, &full);
}
