/* Rows become a set of groups. Each worker absorbs pieces into a partition of its own, as long as
 * that fits the cache. The rows left then are sorted into BF_PARTITIONS partitions, whose groups
 * fit, and each of which one worker absorbs. */
#include "cpu/group/group.h"

#include "cpu/runtime/estimate.h"

#include <stdatomic.h>

enum {
    PIECE = 1 << 14, /* rows that a worker takes at a time */
    BLOCK = 1 << 22, /* rows that are sorted at a time */
    FEW_BATCH = 512  /* rows that are numbered at a time, while memory is fetched for the next */
};

/* The rows of a call. */
typedef struct rows {
    const bf_cpu_groups *groups;
    const char *keys;
    const char *values[BF_AGGREGATES_MAX];
    int64_t n;
} rows;

static int value_bytes(const bf_cpu_groups *g, int which) {
    return bf_dtype_bytes(g->dtypes[which]);
}

static int key_bytes(const bf_cpu_groups *g) { return bf_key_bytes(g->key); }

static int64_t row_bytes(const rows *r) {
    int64_t bytes = key_bytes(r->groups);
    for (int c = 0; c < r->groups->count; c++) bytes += value_bytes(r->groups, c);
    return bytes;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- few groups ------------------------------------------------------------------------------ */

typedef struct few_job {
    const rows *rows;
    bf_group_set *sets;   /* each worker's, of one partition */
    _Atomic int64_t done; /* rows that were absorbed */
    atomic_bool failed;   /* there was no memory */
} few_job;

static bool absorb_few(const rows *r, bf_group_partition *partition, int64_t first, int64_t n) {
    const bf_cpu_groups *g = r->groups;
    const char *values[BF_AGGREGATES_MAX];
    _Alignas(16) char ranks[FEW_BATCH * 16];
    const int64_t batch = FEW_BATCH;
    for (int64_t at = first; at < first + n; at += batch) {
        int64_t some = least(first + n - at, batch);
        const bf_stream keys = {r->keys + at * key_bytes(g), key_bytes(g)};
        g->loops->rank(g->key, keys.at, some, ranks);
        for (int c = 0; c < g->count; c++) values[c] = r->values[c] + at * value_bytes(g, c);
        if (!bf_partition_absorb(g, partition, ranks, keys, values, some)) return false;
    }
    return true;
}

/* BF_E_MEMORY: there is none, or the worker's partition is crowded. */
static bf_status absorb_piece(void *arg, int worker, int64_t first, int64_t n) {
    few_job *job = arg;
    bf_group_partition *partition = job->sets[worker].partitions;
    if (!absorb_few(job->rows, partition, first, n)) {
        atomic_store(&job->failed, true);
        return BF_E_MEMORY;
    }
    atomic_fetch_add(&job->done, n);
    return partition->size > BF_PARTITION_CROWD ? BF_E_MEMORY : BF_OK;
}

/* Absorbs rows until a worker's partition is crowded: *done of them. */
static bf_status absorb_first(bf_context *context, const rows *r, int workers, bf_group_set *sets,
                              int64_t *done) {
    few_job job = {.rows = r, .sets = sets};
    bf_status status =
        bf_parallel_watched(context, workers, r->n, PIECE, r->n * row_bytes(r), absorb_piece, &job);
    *done = atomic_load(&job.done);
    if (status == BF_E_CANCELLED) return status;
    return atomic_load(&job.failed) ? BF_E_MEMORY : BF_OK;
}

/* ---- many groups ----------------------------------------------------------------------------- */

/* A block of rows, sorted by partition. */
typedef struct sorting {
    const rows *rows;
    bf_group_set *set;
    int64_t first, n;    /* of the block */
    int pieces;          /* that workers sort, one by one */
    uint8_t *partitions; /* of each row */
    char *ranks, *sorted_ranks;
    char *values[BF_AGGREGATES_MAX];
    int64_t (*at)[BF_PARTITIONS]; /* where each piece's rows go */
    int64_t begin[BF_PARTITIONS + 1];
} sorting;

static int64_t piece_begin(const sorting *s, int64_t i) { return s->n * i / s->pieces; }

static bf_status count_piece(void *arg, int worker, int64_t i, int64_t unused) {
    sorting *s = arg;
    (void)worker, (void)unused;
    const bf_cpu_groups *g = s->rows->groups;
    int64_t first = piece_begin(s, i), n = piece_begin(s, i + 1) - first;
    char *ranks = s->ranks + first * g->rank_bytes;
    g->loops->rank(g->key, s->rows->keys + (s->first + first) * key_bytes(g), n, ranks);
    g->loops->partitions(g->seed, ranks, n, s->partitions + first);
    memset(s->at[i], 0, sizeof s->at[i]);
    for (int64_t k = first; k < first + n; k++) s->at[i][s->partitions[k]]++;
    return BF_OK;
}

static void place_pieces(sorting *s) {
    int64_t at = 0;
    for (int partition = 0; partition < BF_PARTITIONS; partition++) {
        s->begin[partition] = at;
        for (int i = 0; i < s->pieces; i++) {
            int64_t count = s->at[i][partition];
            s->at[i][partition] = at;
            at += count;
        }
    }
    s->begin[BF_PARTITIONS] = at;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void scatter_bytes(const uint8_t *partitions, int64_t *at, const char *from,
                                        char *to, int64_t n, size_t bytes) {
    for (int64_t i = 0; i < n; i++) {
        char *row = to + (size_t)at[partitions[i]]++ * bytes;
        __builtin_prefetch(row + BF_CPU_LINE, 1);
        memcpy(row, from + (size_t)i * bytes, bytes);
    }
}

static void scatter_values(const uint8_t *partitions, const int64_t *begin, const char *from,
                           char *to, int64_t n, int bytes) {
    int64_t at[BF_PARTITIONS];
    memcpy(at, begin, sizeof at);
    switch (bytes) {
    case 1: scatter_bytes(partitions, at, from, to, n, 1); break;
    case 2: scatter_bytes(partitions, at, from, to, n, 2); break;
    case 4: scatter_bytes(partitions, at, from, to, n, 4); break;
    case 8: scatter_bytes(partitions, at, from, to, n, 8); break;
    default: scatter_bytes(partitions, at, from, to, n, 16); break;
    }
}

static bf_status scatter_piece(void *arg, int worker, int64_t i, int64_t unused) {
    sorting *s = arg;
    (void)worker, (void)unused;
    const bf_cpu_groups *g = s->rows->groups;
    int64_t first = piece_begin(s, i), n = piece_begin(s, i + 1) - first;
    const uint8_t *partitions = s->partitions + first;
    scatter_values(partitions, s->at[i], s->ranks + first * g->rank_bytes, s->sorted_ranks, n,
                   g->rank_bytes);
    for (int c = 0; c < g->count; c++) {
        const char *from = s->rows->values[c] + (s->first + first) * value_bytes(g, c);
        scatter_values(partitions, s->at[i], from, s->values[c], n, value_bytes(g, c));
    }
    return BF_OK;
}

static bool absorb_partition(const sorting *s, int64_t partition) {
    const bf_cpu_groups *g = s->rows->groups;
    const char *values[BF_AGGREGATES_MAX];
    int64_t first = s->begin[partition], n = s->begin[partition + 1] - first;
    for (int c = 0; c < g->count; c++) values[c] = s->values[c] + first * value_bytes(g, c);
    bf_group_partition *to = &s->set->partitions[partition];
    for (int c = 0; c < g->count && to->accumulators.room == 0; c++)
        if (!bf_accumulators_expect(&to->accumulators, c, values[c], n)) return false;
    return bf_partition_open(g, to) &&
           bf_partition_absorb(g, to, s->sorted_ranks + first * g->rank_bytes, bf_stream_none(),
                               values, n);
}

static bf_status absorb_partitions(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t partition = first; partition < first + n; partition++)
        if (!absorb_partition(arg, partition)) return BF_E_MEMORY;
    return BF_OK;
}

/* Sets *groups to about how many groups the rows from `first` on have, or to 0: keys are so short
 * that there are few, or there is no memory to estimate. */
static bf_status estimate_groups(bf_context *context, const rows *r, int64_t first,
                                 int64_t *groups) {
    const bf_cpu_groups *g = r->groups;
    size_t bytes = (size_t)key_bytes(g);
    *groups = 0;
    if (bytes < 4) return BF_OK;
    bf_status status = bf_estimate_keys(context, g->seed, g->key, r->keys + (size_t)first * bytes,
                                        bytes, r->n - first, groups);
    return status == BF_E_CANCELLED ? status : BF_OK;
}

static bool allocate_sorting(sorting *s, int64_t n) {
    const bf_cpu_groups *g = s->rows->groups;
    size_t count = (size_t)n, ranks = count * (size_t)g->rank_bytes;
    s->partitions = bf_zeros(count);
    s->ranks = bf_zeros(ranks);
    s->sorted_ranks = bf_zeros(ranks);
    s->at = bf_calloc((size_t)s->pieces, sizeof *s->at);
    bool made = s->partitions && s->ranks && s->sorted_ranks && s->at;
    for (int c = 0; c < g->count && made; c++) {
        s->values[c] = bf_zeros(count * (size_t)value_bytes(g, c));
        made = s->values[c] != NULL;
    }
    return made;
}

static void release_sorting(sorting *s) {
    bf_free(s->partitions);
    bf_free(s->ranks);
    bf_free(s->sorted_ranks);
    bf_free(s->at);
    for (int c = 0; c < s->rows->groups->count; c++) bf_free(s->values[c]);
}

/* Sorts and absorbs a block of rows. */
static bf_status absorb_block(bf_context *context, int workers, sorting *s) {
    int64_t bytes = s->n * row_bytes(s->rows);
    bf_status status =
        bf_parallel_watched(context, workers, s->pieces, 1, bytes / 8, count_piece, s);
    if (status != BF_OK) return status;
    place_pieces(s);
    status = bf_parallel_watched(context, workers, s->pieces, 1, bytes / 4, scatter_piece, s);
    if (status != BF_OK) return status;
    return bf_parallel_watched(context, workers, BF_PARTITIONS, 1, bytes / 2, absorb_partitions, s);
}

/* Absorbs rows from `first` on into a set of BF_PARTITIONS partitions. */
static bf_status absorb_many(bf_context *context, const rows *r, int64_t first, bf_group_set *set) {
    int64_t groups, room = least(r->n - first, BLOCK);
    int workers = bf_workers(context, room, BF_ROWS_LEAST);
    sorting s = {.rows = r, .set = set, .pieces = 4 * workers};
    bf_status status = estimate_groups(context, r, first, &groups);
    if (status == BF_OK &&
        (!allocate_sorting(&s, room) ||
         !bf_group_set_reserve(r->groups, set, least(groups, room) / BF_PARTITIONS)))
        status = BF_E_MEMORY;
    for (; first < r->n && status == BF_OK; first += room) {
        s.first = first;
        s.n = least(r->n - first, room);
        status = absorb_block(context, workers, &s);
    }
    release_sorting(&s);
    return status;
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* Merges `count` sets into *set. */
static bf_status merge_all_sets(bf_context *context, const bf_cpu_groups *g, bf_group_set *sets,
                                int count, bf_group_set *set) {
    bf_status status = BF_OK;
    for (int i = 0; i < count && status == BF_OK; i++)
        status = bf_group_set_merge(context, g, set, &sets[i], NULL);
    return status;
}

static bool create_sets(const bf_cpu_groups *g, bf_group_set *sets, int count) {
    for (int i = 0; i < count; i++)
        if (!bf_group_set_create(g, 0, &sets[i])) return false;
    return true;
}

/* sets: one for each worker. */
static bf_status absorb_rows(bf_context *context, const rows *r, int workers, bool many,
                             bf_group_set *sets, bf_group_set *set) {
    const bf_cpu_groups *g = r->groups;
    int64_t done = 0;
    bf_status status = create_sets(g, sets, workers) ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK && !many) status = absorb_first(context, r, workers, sets, &done);
    if (status != BF_OK) return status;
    if (done == r->n) {
        *set = sets[0];
        sets[0].partitions = NULL;
        return merge_all_sets(context, g, sets + 1, workers - 1, set);
    }
    if (!bf_group_set_create(g, BF_PARTITION_BITS, set)) return BF_E_MEMORY;
    status = absorb_many(context, r, done, set);
    return status == BF_OK ? merge_all_sets(context, g, sets, workers, set) : status;
}

bf_status bf_group_set_absorb(bf_context *context, const bf_cpu_groups *groups, const char *keys,
                              const void *const values[], int64_t n, bool many, bf_group_set *set) {
    int workers = bf_workers(context, n, BF_ROWS_LEAST);
    rows r = {.groups = groups, .keys = keys, .n = n};
    for (int c = 0; c < groups->count; c++) r.values[c] = values[c];
    bf_group_set *sets = bf_calloc((size_t)workers, sizeof *sets);
    *set = (bf_group_set){0};
    bf_status status =
        sets != NULL ? absorb_rows(context, &r, workers, many, sets, set) : BF_E_MEMORY;
    for (int i = 0; i < workers && sets != NULL; i++) bf_group_set_destroy(groups, &sets[i]);
    bf_free(sets);
    if (status != BF_OK) bf_group_set_destroy(groups, set);
    return status;
}
