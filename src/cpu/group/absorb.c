/* Rows become a set of groups. Threads take pieces, each into a shard of its own, as long as these
 * fit the cache. What is left then is sorted by the hash of its keys into BF_SHARDS parts, so that
 * each part's groups do fit, and belong to one thread. */
#include "cpu/group/group.h"

#include "cpu/runtime/estimate.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 14, /* rows that a thread takes at a time */
    BLOCK = 1 << 22  /* rows that are sorted at a time */
};

/* The rows of a call. */
typedef struct rows {
    const bf_cpu_groups *groups;
    const char *keys;
    const char *values[BF_AGGREGATES_MAX];
    int64_t n;
} rows;

static int value_bytes(const bf_cpu_groups *g, int column) {
    return bf_dtype_bytes(g->aggregates[column].dtype);
}

static int key_bytes(const bf_cpu_groups *g) { return bf_key_bytes(g->key); }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- few groups -------------------------------------------------------------------------------
 */

typedef struct few_job {
    const rows *rows;
    bf_group_set *sets;   /* each worker's, of one shard */
    _Atomic int64_t done; /* rows that were absorbed */
    atomic_bool failed;   /* there was no memory */
} few_job;

static bool absorb_few(const rows *r, bf_group_shard *shard, int64_t first, int64_t n) {
    const bf_cpu_groups *g = r->groups;
    const char *values[BF_AGGREGATES_MAX];
    _Alignas(16) char ranks[BF_GROUP_BATCH * 8]; /* on the stack: half a batch of pairs */
    const int64_t batch = least(BF_GROUP_BATCH, (int64_t)sizeof ranks / g->rank_bytes);
    for (int64_t at = first; at < first + n; at += batch) {
        int64_t some = least(first + n - at, batch);
        g->loops->rank(g->key, r->keys + at * key_bytes(g), some, ranks);
        for (int c = 0; c < g->columns; c++) values[c] = r->values[c] + at * value_bytes(g, c);
        if (!bf_shard_take(g, shard, ranks, values, some)) return false;
    }
    return true;
}

/* BF_E_MEMORY: there is none, or the worker's shard is crowded. */
static bf_status absorb_piece(void *arg, int worker, int64_t first, int64_t n) {
    few_job *job = arg;
    bf_group_shard *shard = job->sets[worker].shards;
    if (!absorb_few(job->rows, shard, first, n)) {
        atomic_store(&job->failed, true);
        return BF_E_MEMORY;
    }
    atomic_fetch_add(&job->done, n);
    return shard->size > BF_SHARD_CROWD ? BF_E_MEMORY : BF_OK;
}

/* Absorbs rows from the first on until a worker's shard is crowded: how many (-1: no memory). */
static int64_t absorb_first(bf_context *context, const rows *r, int workers, bf_group_set *sets) {
    few_job job = {.rows = r, .sets = sets};
    (void)bf_parallel(context, workers, r->n, PIECE, absorb_piece, &job);
    return atomic_load(&job.failed) ? -1 : atomic_load(&job.done);
}

/* ---- many groups ------------------------------------------------------------------------------
 */

/* A block of rows, sorted by shard. */
typedef struct sorting {
    const rows *rows;
    bf_group_set *set;
    int64_t first, n; /* of the block */
    int slices;       /* that workers sort, one by one */
    uint8_t *shards;  /* of each row */
    char *ranks, *sorted_ranks;
    char *values[BF_AGGREGATES_MAX];
    int64_t (*at)[BF_SHARDS]; /* where each slice's rows go */
    int64_t begin[BF_SHARDS + 1];
} sorting;

static int64_t slice_begin(const sorting *s, int64_t i) { return s->n * i / s->slices; }

static bf_status count_slice(void *arg, int worker, int64_t i, int64_t unused) {
    sorting *s = arg;
    (void)worker, (void)unused;
    const bf_cpu_groups *g = s->rows->groups;
    int64_t first = slice_begin(s, i), n = slice_begin(s, i + 1) - first;
    char *ranks = s->ranks + first * g->rank_bytes;
    g->loops->rank(g->key, s->rows->keys + (s->first + first) * key_bytes(g), n, ranks);
    g->loops->shards(g->seed, ranks, n, s->shards + first);
    memset(s->at[i], 0, sizeof s->at[i]);
    for (int64_t k = first; k < first + n; k++) s->at[i][s->shards[k]]++;
    return BF_OK;
}

static void place_slices(sorting *s) {
    int64_t at = 0;
    for (int shard = 0; shard < BF_SHARDS; shard++) {
        s->begin[shard] = at;
        for (int i = 0; i < s->slices; i++) {
            int64_t count = s->at[i][shard];
            s->at[i][shard] = at;
            at += count;
        }
    }
    s->begin[BF_SHARDS] = at;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void scatter_bytes(const uint8_t *shards, int64_t *at, const char *from,
                                        char *to, int64_t n, size_t bytes) {
    for (int64_t i = 0; i < n; i++) {
        char *row = to + (size_t)at[shards[i]]++ * bytes;
        __builtin_prefetch(row + BF_CPU_LINE, 1);
        memcpy(row, from + (size_t)i * bytes, bytes);
    }
}

static void scatter_values(const uint8_t *shards, const int64_t *begin, const char *from, char *to,
                           int64_t n, int bytes) {
    int64_t at[BF_SHARDS];
    memcpy(at, begin, sizeof at);
    switch (bytes) {
    case 1: scatter_bytes(shards, at, from, to, n, 1); break;
    case 2: scatter_bytes(shards, at, from, to, n, 2); break;
    case 4: scatter_bytes(shards, at, from, to, n, 4); break;
    case 8: scatter_bytes(shards, at, from, to, n, 8); break;
    default: scatter_bytes(shards, at, from, to, n, 16); break;
    }
}

static bf_status scatter_slice(void *arg, int worker, int64_t i, int64_t unused) {
    sorting *s = arg;
    (void)worker, (void)unused;
    const bf_cpu_groups *g = s->rows->groups;
    int64_t first = slice_begin(s, i), n = slice_begin(s, i + 1) - first;
    const uint8_t *shards = s->shards + first;
    scatter_values(shards, s->at[i], s->ranks + first * g->rank_bytes, s->sorted_ranks, n,
                   g->rank_bytes);
    for (int c = 0; c < g->columns; c++) {
        const char *from = s->rows->values[c] + (s->first + first) * value_bytes(g, c);
        scatter_values(shards, s->at[i], from, s->values[c], n, value_bytes(g, c));
    }
    return BF_OK;
}

static bool absorb_shard(const sorting *s, int64_t shard) {
    const bf_cpu_groups *g = s->rows->groups;
    const char *values[BF_AGGREGATES_MAX];
    int64_t first = s->begin[shard], n = s->begin[shard + 1] - first;
    for (int c = 0; c < g->columns; c++) values[c] = s->values[c] + first * value_bytes(g, c);
    bf_group_shard *to = &s->set->shards[shard];
    return bf_shard_open(g, to) &&
           bf_shard_take(g, to, s->sorted_ranks + first * g->rank_bytes, values, n);
}

static bf_status absorb_shards(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t shard = first; shard < first + n; shard++)
        if (!absorb_shard(arg, shard)) return BF_E_MEMORY;
    return BF_OK;
}

/* How many groups the rows from `first` on seem to have. Keys of less than 4 bytes never have so
 * many that this matters. */
static int64_t estimate_groups(bf_context *context, const rows *r, int64_t first) {
    const bf_cpu_groups *g = r->groups;
    size_t bytes = (size_t)key_bytes(g);
    int64_t groups = 0;
    if (bytes < 4) return 0;
    bf_status status = bf_estimate_keys(context, g->seed, g->key, r->keys + (size_t)first * bytes,
                                        bytes, r->n - first, &groups);
    return status == BF_OK ? groups : 0;
}

static bool allocate_sorting(sorting *s, int64_t n) {
    const bf_cpu_groups *g = s->rows->groups;
    size_t count = (size_t)n, ranks = count * (size_t)g->rank_bytes;
    s->shards = bf_zeros(count);
    s->ranks = bf_zeros(ranks);
    s->sorted_ranks = bf_zeros(ranks);
    s->at = calloc((size_t)s->slices, sizeof *s->at);
    bool made = s->shards && s->ranks && s->sorted_ranks && s->at;
    for (int c = 0; c < g->columns && made; c++) {
        s->values[c] = bf_zeros(count * (size_t)value_bytes(g, c));
        made = s->values[c] != NULL;
    }
    return made;
}

static void release_sorting(sorting *s) {
    free(s->shards);
    free(s->ranks);
    free(s->sorted_ranks);
    free(s->at);
    for (int c = 0; c < s->rows->groups->columns; c++) free(s->values[c]);
}

/* Takes rows from `first` on into a set of BF_SHARDS shards. */
static bool absorb_many(bf_context *context, const rows *r, int64_t first, bf_group_set *set) {
    int64_t room = least(r->n - first, BLOCK);
    int workers = bf_workers(context, room, BF_ROWS_LEAST);
    sorting s = {.rows = r, .set = set, .slices = 4 * workers};
    bool made = allocate_sorting(&s, room) &&
                bf_group_set_reserve(r->groups, set,
                                     least(estimate_groups(context, r, first), room) / BF_SHARDS);
    for (; first < r->n && made; first += room) {
        s.first = first;
        s.n = least(r->n - first, room);
        (void)bf_parallel(context, workers, s.slices, 1, count_slice, &s);
        place_slices(&s);
        (void)bf_parallel(context, workers, s.slices, 1, scatter_slice, &s);
        made = bf_parallel(context, workers, BF_SHARDS, 1, absorb_shards, &s) == BF_OK;
    }
    release_sorting(&s);
    return made;
}

/* ---- both -------------------------------------------------------------------------------------
 */

/* Merges the others into the first, and that, or with `rest` rows to come all of it, into *set. */
static bool join_sets(bf_context *context, const bf_cpu_groups *g, bf_group_set *sets, int count,
                      bf_group_set *set) {
    for (int i = 0; i < count; i++)
        if (!bf_group_set_merge(context, g, set, &sets[i])) return false;
    return true;
}

static bool create_sets(const bf_cpu_groups *g, bf_group_set *sets, int count) {
    for (int i = 0; i < count; i++)
        if (!bf_group_set_create(g, 0, &sets[i])) return false;
    return true;
}

/* sets: of each worker, at least one. */
static bool absorb_rows(bf_context *context, const rows *r, int workers, bool many,
                        bf_group_set *sets, bf_group_set *set) {
    const bf_cpu_groups *g = r->groups;
    int64_t done = 0;
    if (!create_sets(g, sets, workers)) return false;
    if (!many) done = absorb_first(context, r, workers, sets);
    if (done < 0) return false;
    if (done == r->n) {
        *set = sets[0];
        sets[0].shards = NULL;
        return join_sets(context, g, sets + 1, workers - 1, set);
    }
    return bf_group_set_create(g, BF_SHARD_BITS, set) && absorb_many(context, r, done, set) &&
           join_sets(context, g, sets, workers, set);
}

bool bf_group_set_absorb(bf_context *context, const bf_cpu_groups *groups, const char *keys,
                         const void *const values[], int64_t n, bool many, bf_group_set *set) {
    int workers = bf_workers(context, n, BF_ROWS_LEAST);
    rows r = {.groups = groups, .keys = keys, .n = n};
    for (int c = 0; c < groups->columns; c++) r.values[c] = values[c];
    bf_group_set *sets = calloc((size_t)workers, sizeof *sets);
    *set = (bf_group_set){0};
    bool made = sets != NULL && absorb_rows(context, &r, workers, many, sets, set);
    for (int i = 0; i < workers && sets != NULL; i++) bf_group_set_destroy(groups, &sets[i]);
    free(sets);
    if (!made) bf_group_set_destroy(groups, set);
    return made;
}
