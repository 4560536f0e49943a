/* Rows become a set of groups. Each worker absorbs pieces into a partition of its own, as long as
 * that fits the cache. The rows left then are parted into BF_PARTITIONS partitions, whose groups
 * fit, and each of which one worker absorbs; or all rows are sorted. */
#include "cpu/group/group.h"

#include "base/budget.h"
#include "base/environment.h"
#include "cpu/group/part.h"
#include "cpu/runtime/estimate.h"

#include <stdatomic.h>

#define SORTED_BYTES ((int64_t)1 << 32) /* the most that rows take which are sorted */

enum {
    PIECE = 1 << 14,       /* rows that a worker takes at a time */
    BLOCK = 1 << 22,       /* rows that are parted at a time */
    BLOCK_LEAST = 1 << 16, /* if there is little memory, too */
    FEW_BATCH = 512, /* rows that are numbered at a time, while memory is fetched for the next */
    SORTED_LEAST = 1 << 19, /* so many rows are worth a sort */
    SORTED_ROWS = 8,        /* the most rows of a group for which it is worth that */
    COUNTED_ROWS = 32,      /* the most where there are keys of 4 bytes alone */
    DONE_SHARE = 8,         /* so few rows are done that it does no harm to sort them, too */
    GUESS_LEAST = 1 << 14,  /* rows of a worker that are worth a table of guesses */
    FRONT_LEAST = 1 << 14,  /* so many are worth a front */
    FRONT_ROWS = 8,         /* so many of a group in a block are worth that */
    FRONT_GROUPS = BF_FRONT_SLOTS * BF_PARTITIONS / 2, /* in so many, partitions fit theirs */
    NEW_SHARE = 64 /* keys are new if one row in so many has met its group, at most */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many of n rows are parted at a time: a quarter of the memory that is left holds them. */
static int64_t block_rows(const bf_group_rows *r, int64_t n) {
    const int64_t quarter = bf_budget_left(bf_budget_current()) / 4;
    const int64_t held = quarter / (bf_group_row_bytes(r) + 1);
    return least(least(n, BLOCK), held > BLOCK_LEAST ? held : BLOCK_LEAST);
}

/* ---- few groups ------------------------------------------------------------------------------ */

typedef struct few_job {
    const bf_group_rows *rows;
    int64_t first;        /* where the rows begin */
    bf_group_set *sets;   /* each worker's, of one partition */
    bool new_stop;        /* workers stop when their keys are mostly new */
    bool part_early;      /* they stop when a front outgrows its groups */
    _Atomic int64_t done; /* rows that were absorbed */
    atomic_bool failed;   /* there was no memory */
} few_job;

static bool absorb_few(const bf_group_rows *r, bf_group_partition *partition, int64_t first,
                       int64_t n) {
    const bf_cpu_groups *g = r->groups;
    const char *values[BF_GROUP_ARRAYS];
    _Alignas(16) char ranks[FEW_BATCH * 16];
    const int64_t batch = FEW_BATCH;
    for (int64_t at = first; at < first + n; at += batch) {
        int64_t some = least(first + n - at, batch);
        const bf_stream keys = {r->keys + at * bf_key_bytes(g->key), bf_key_bytes(g->key)};
        g->loops->rank(g->key, keys.at, some, ranks);
        for (int c = 0; c < g->arrays; c++)
            values[c] = r->values[c] + at * bf_number_bytes(g->array_dtypes[c]);
        if (!bf_partition_absorb(g, partition, ranks, keys, values, some)) return false;
    }
    return true;
}

/* Have nearly all rows of a partition brought a new key? */
static bool is_new(const bf_group_partition *s) {
    const int64_t n = s->accumulators.deposits;
    return n - (int64_t)s->size <= n / NEW_SHARE;
}

/* Has a joint kind a front that some groups are not in? The records of such kinds take as much time
 * as parting rows, so that all groups are in one. */
static bool outgrows_front(const bf_group_partition *s) {
    const bf_accumulators *a = &s->accumulators;
    bool joint = false;
    for (int c = 0; c < a->count; c++)
        joint = joint || (a->columns[c].front != NULL && bf_part_is_joint(a->columns[c].parts));
    return joint && s->size > BF_FRONT_SLOTS;
}

static bool is_crowded(const bf_group_partition *s) {
    return s->size > BF_PARTITION_CROWD || s->size * s->accumulators.stride > BF_PARTITION_WORDS;
}

/* BF_E_MEMORY: there is none, or the worker stops. */
static bf_status absorb_piece(void *arg, int worker, int64_t first, int64_t n) {
    few_job *job = arg;
    bf_group_partition *partition = job->sets[worker].partitions;
    const bf_environment environment = bf_environment_enter(); /* fronts add doubles */
    const bool absorbed = absorb_few(job->rows, partition, job->first + first, n);
    bf_environment_leave(environment);
    if (!absorbed) {
        atomic_store(&job->failed, true);
        return BF_E_MEMORY;
    }
    atomic_fetch_add(&job->done, n);
    const bool stops = is_crowded(partition) || (job->new_stop && is_new(partition)) ||
                       (job->part_early && outgrows_front(partition));
    return stops ? BF_E_MEMORY : BF_OK;
}

/* Opens the fronts of a partition's columns, for n rows from one on. */
static void open_fronts(const bf_cpu_groups *g, bf_group_partition *partition,
                        const char *const values[], int64_t first, int64_t n) {
    for (int c = 0; c < g->count; c++) {
        const int64_t at = first * bf_number_bytes(g->dtypes[c]);
        const char *second = bf_group_second(g, c, values);
        bf_front_open(&partition->accumulators, g->accumulate, c, values[g->array_of[c][0]] + at,
                      second != NULL ? second + at : NULL, n);
    }
}

/* Absorbs rows from *done on until a worker's partition is crowded, or has new keys if they stop
 * it. Raises *done. */
static bf_status absorb_first(bf_context *context, const bf_group_rows *r, int workers,
                              bf_group_set *sets, bool new_stop, int64_t *done) {
    const int64_t n = r->n - *done;
    few_job job = {.rows = r,
                   .first = *done,
                   .sets = sets,
                   .new_stop = new_stop,
                   .part_early = block_rows(r, n) == least(n, BLOCK)};
    for (int i = 0; i < workers && n / workers >= FRONT_LEAST; i++)
        open_fronts(r->groups, sets[i].partitions, r->values, *done, n);
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, n * bf_group_row_bytes(r),
                                           absorb_piece, &job);
    for (int i = 0; i < workers; i++) bf_fronts_close(&sets[i].partitions->accumulators);
    *done += atomic_load(&job.done);
    if (status == BF_E_CANCELLED) return status;
    return atomic_load(&job.failed) ? BF_E_MEMORY : BF_OK;
}

/* ---- many groups ----------------------------------------------------------------------------- */

/* A block of rows, by hash. */
typedef struct block {
    bf_parting parting;
    bf_group_set *set;
    bool fronts; /* each partition opens its own */
} block;

static bool absorb_partition(const block *b, int64_t partition) {
    const bf_cpu_groups *g = b->parting.rows->groups;
    const char *values[BF_GROUP_ARRAYS];
    int64_t first = b->parting.begin[partition], n = b->parting.begin[partition + 1] - first;
    for (int c = 0; c < g->arrays; c++)
        values[c] = b->parting.values[c] + first * bf_number_bytes(g->array_dtypes[c]);
    bf_group_partition *to = &b->set->partitions[partition];
    for (int c = 0; c < g->count && to->accumulators.room == 0; c++)
        if (!bf_accumulators_expect(&to->accumulators, c, values[g->array_of[c][0]],
                                    bf_group_second(g, c, values), n))
            return false;
    if (!bf_partition_open(g, to)) return false;
    if (b->fronts) open_fronts(g, to, values, 0, n);
    const bool absorbed = bf_partition_absorb(g, to, b->parting.ranks + first * g->rank_bytes,
                                              bf_stream_none(), values, n);
    bf_fronts_close(&to->accumulators);
    return absorbed;
}

static bf_status absorb_partitions(void *arg, int worker, int64_t first, int64_t n) {
    const bf_environment environment = bf_environment_enter(); /* fronts add doubles */
    bool absorbed = true;
    (void)worker;
    for (int64_t partition = first; partition < first + n && absorbed; partition++)
        absorbed = absorb_partition(arg, partition);
    bf_environment_leave(environment);
    return absorbed ? BF_OK : BF_E_MEMORY;
}

/* Sets *groups to about how many groups the rows from `first` on have, or to 0: keys are so short
 * that there are few, or there is no memory to estimate. */
static bf_status estimate_groups(bf_context *context, const bf_group_rows *r, int64_t first,
                                 int64_t *groups) {
    const bf_cpu_groups *g = r->groups;
    size_t bytes = (size_t)bf_key_bytes(g->key);
    *groups = 0;
    if (bytes < 4) return BF_OK;
    const bf_dtype key = bytes == 16 ? BF_PAIR : g->key;
    bf_status status = bf_estimate_keys(context, g->seed, key, r->keys + (size_t)first * bytes,
                                        bytes, r->n - first, groups);
    return status == BF_E_CANCELLED ? status : BF_OK;
}

/* Parts and absorbs a block of rows. */
static bf_status absorb_block(bf_context *context, int workers, block *b) {
    int64_t bytes = b->parting.n * bf_group_row_bytes(b->parting.rows);
    bf_status status = bf_parting_run(context, workers, &b->parting, bytes / 2);
    if (status != BF_OK) return status;
    return bf_parallel_watched(context, workers, BF_PARTITIONS, 1, bytes / 2, absorb_partitions, b);
}

/* Do partitions open fronts for blocks of so many rows? */
static bool has_fronts(const bf_cpu_groups *g, int64_t groups, int64_t rows) {
    bool joint = false;
    for (int c = 0; c < g->count; c++) joint = joint || bf_part_is_joint(g->parts[c]);
    return joint && groups <= least(FRONT_GROUPS, rows / FRONT_ROWS);
}

/* Absorbs rows from `first` on into a set of BF_PARTITIONS partitions. */
static bf_status absorb_many(bf_context *context, const bf_group_rows *r, int64_t first,
                             bf_group_set *set) {
    int64_t groups, room = block_rows(r, r->n - first);
    int workers = bf_workers(context, room, BF_ROWS_LEAST);
    block b = {.parting = {.rows = r, .pieces = 4 * workers}, .set = set};
    bf_status status = estimate_groups(context, r, first, &groups);
    if (status == BF_OK &&
        (!bf_parting_open(&b.parting, room) ||
         !bf_group_set_reserve(r->groups, set, least(groups, room) / BF_PARTITIONS)))
        status = BF_E_MEMORY;
    b.fronts = has_fronts(r->groups, groups, room);
    for (; first < r->n && status == BF_OK; first += room) {
        b.parting.first = first;
        b.parting.n = least(r->n - first, room);
        status = absorb_block(context, workers, &b);
    }
    bf_parting_close(&b.parting);
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

static bool create_sets(const bf_cpu_groups *g, bf_group_set *sets, int count, bool guess) {
    for (int i = 0; i < count; i++) {
        if (!bf_group_set_create(g, 0, &sets[i])) return false;
        sets[i].partitions->guessed = guess;
    }
    return true;
}

/* May the rows be sorted? Not if what they make is then merged into other groups, nor if a copy of
 * them is too large. */
static bool may_sort(const bf_group_rows *r) {
    const bf_cpu_groups *g = r->groups;
    const int bytes = bf_key_bytes(g->key);
    return (bytes == 4 || bytes == 8) && r->n >= SORTED_LEAST &&
           r->n * bf_group_row_bytes(r) <= SORTED_BYTES && bf_group_set_size(&g->set) == 0;
}

/* The groups that are so many that a sort wins. */
static int64_t sorted_groups(const bf_group_rows *r) {
    const bf_cpu_groups *g = r->groups;
    return r->n / (g->count == 0 && g->rank_bytes == 4 ? COUNTED_ROWS : SORTED_ROWS);
}

/* Absorbs rows until there are many groups. *sort: sorting them all is faster than what is left to
 * do. */
static bf_status absorb_few_groups(bf_context *context, const bf_group_rows *r, int workers,
                                   bf_group_set *sets, int64_t *done, bool *sort) {
    const bool may = may_sort(r);
    int64_t groups = 0;
    bf_status status = absorb_first(context, r, workers, sets, may, done);
    if (status != BF_OK || !may || *done == r->n) return status;
    *sort = bf_group_sample_has(context, r, sorted_groups(r));
    if (*sort) return BF_OK;
    status = absorb_first(context, r, workers, sets, false, done);
    if (status != BF_OK || *done > r->n / DONE_SHARE) return status;
    status = estimate_groups(context, r, *done, &groups);
    *sort = groups > sorted_groups(r);
    return status;
}

/* sets: one for each worker. */
static bf_status absorb_rows(bf_context *context, const bf_group_rows *r, int workers, bool many,
                             bf_group_set *sets, bf_group_set *set) {
    const bf_cpu_groups *g = r->groups;
    int64_t done = 0;
    bool sort = false;
    bf_status status =
        create_sets(g, sets, workers, !many && r->n / workers >= GUESS_LEAST) ? BF_OK : BF_E_MEMORY;
    if (status == BF_OK && many)
        sort = may_sort(r) && bf_group_sample_has(context, r, sorted_groups(r));
    else if (status == BF_OK)
        status = absorb_few_groups(context, r, workers, sets, &done, &sort);
    if (status != BF_OK) return status;
    if (sort) {
        status = bf_group_set_sort(context, r, (r->n - done) * bf_group_row_bytes(r), set);
        if (status != BF_E_MEMORY) return status;
    }
    if (done == r->n) {
        *set = sets[0];
        sets[0].partitions = NULL;
        return merge_all_sets(context, g, sets + 1, workers - 1, set);
    }
    if (!bf_group_set_create(g, BF_PARTITION_BITS, set)) return BF_E_MEMORY;
    status = absorb_many(context, r, done, set);
    return status == BF_OK ? merge_all_sets(context, g, sets, workers, set) : status;
}

bf_status bf_group_set_absorb(bf_context *context, const bf_cpu_groups *groups,
                              const bf_group_job *job, bool many, bf_group_set *set) {
    int workers = bf_workers(context, job->n, BF_ROWS_LEAST);
    bf_group_rows r = {.groups = groups, .keys = job->keys, .n = job->n};
    for (int k = 0; k < job->arrays; k++) r.values[k] = job->values[k];
    bf_group_set *sets = bf_calloc((size_t)workers, sizeof *sets);
    *set = (bf_group_set){0};
    bf_status status =
        sets != NULL ? absorb_rows(context, &r, workers, many, sets, set) : BF_E_MEMORY;
    for (int i = 0; i < workers && sets != NULL; i++) bf_group_set_destroy(groups, &sets[i]);
    bf_free(sets);
    if (status != BF_OK) bf_group_set_destroy(groups, set);
    return status;
}
