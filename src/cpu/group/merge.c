/* Sets of groups merge: first all memory is made, then what cannot fail is done. */
#include "cpu/group/group.h"

#include <stdlib.h>

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

typedef struct merge_job {
    const bf_cpu_groups *groups;
    bf_group_set *into;
    const bf_group_set *from;
    uint32_t *numbers;           /* from's only shard, sorted by into's shards; NULL: as they are */
    size_t begin[BF_SHARDS + 1]; /* of each shard's, among those numbers */
} merge_job;

/* The groups that go to a shard: number k of them is from's number ... */
typedef struct arrivals {
    const bf_group_shard *from;
    const uint32_t *numbers;
    size_t count;
} arrivals;

static arrivals arrivals_of(const merge_job *job, int64_t shard) {
    if (job->numbers == NULL)
        return (arrivals){&job->from->shards[shard], NULL, job->from->shards[shard].size};
    size_t first = job->begin[shard];
    return (arrivals){job->from->shards, job->numbers + first, job->begin[shard + 1] - first};
}

static size_t number_of(const arrivals *a, size_t k) {
    return a->numbers == NULL ? k : a->numbers[k];
}

/* Up to BATCH of their ranks from k on: how many. */
static int64_t gather_ranks(const merge_job *job, const arrivals *a, size_t k, char *ranks) {
    size_t n = a->count - k < BATCH ? a->count - k : BATCH;
    size_t bytes = (size_t)job->groups->rank_bytes;
    for (size_t i = 0; i < n; i++)
        memcpy(ranks + i * bytes, (const char *)a->from->ranks + number_of(a, k + i) * bytes,
               bytes);
    return (int64_t)n;
}

static bool prepare_shard(const merge_job *job, int64_t shard) {
    char ranks[BATCH * 16];
    arrivals a = arrivals_of(job, shard);
    bf_group_shard *into = &job->into->shards[shard];
    int64_t size = into->size;
    if (a.count == 0) return true;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather_ranks(job, &a, k, ranks);
        size += job->groups->loops->missing(into, ranks, n);
    }
    bool made = bf_shard_reserve(job->groups, into, size);
    for (int c = 0; c < job->groups->columns && made; c++)
        made = bf_column_widen(&into->columns[c], into->room, &a.from->columns[c]);
    return made;
}

static bf_status prepare_shards(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t shard = first; shard < first + n; shard++)
        if (!prepare_shard(arg, shard)) return BF_E_MEMORY;
    return BF_OK;
}

static void merge_shard(const merge_job *job, int64_t shard) {
    char ranks[BATCH * 16];
    uint32_t numbers[BATCH];
    arrivals a = arrivals_of(job, shard);
    bf_group_shard *into = &job->into->shards[shard];
    int columns = job->groups->columns;
    if (a.count == 0) return;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather_ranks(job, &a, k, ranks);
        job->groups->loops->number(into, ranks, n, numbers);
        for (int64_t i = 0; i < n; i++)
            into->counts[numbers[i]] += a.from->counts[number_of(&a, k + (size_t)i)];
        for (int c = 0; c < columns; c++)
            for (int64_t i = 0; i < n; i++)
                bf_column_merge(&into->columns[c], numbers[i], &a.from->columns[c],
                                number_of(&a, k + (size_t)i));
    }
    for (int c = 0; c < columns; c++) bf_column_merged(&into->columns[c], &a.from->columns[c]);
    bf_shard_heal(job->groups, into);
}

static bf_status merge_shards(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t shard = first; shard < first + n; shard++) merge_shard(arg, shard);
    return BF_OK;
}

/* Sorts the numbers of from's only shard by into's shards. */
static bool route_numbers(merge_job *job) {
    const bf_group_shard *from = job->from->shards;
    uint8_t *shards = malloc(from->size);
    size_t at[BF_SHARDS];
    job->numbers = malloc(from->size * sizeof *job->numbers);
    bool made = shards != NULL && job->numbers != NULL;
    if (made) {
        job->groups->loops->shards(job->groups->seed, from->ranks, from->size, shards);
        for (uint32_t i = 0; i < from->size; i++) job->begin[shards[i] + 1]++;
        for (int s = 0; s < BF_SHARDS; s++) job->begin[s + 1] += job->begin[s];
        memcpy(at, job->begin, sizeof at);
        for (uint32_t i = 0; i < from->size; i++) job->numbers[at[shards[i]]++] = i;
    }
    free(shards);
    return made;
}

/* into has as many shards as from, or more. */
static bool merge_sets(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                       const bf_group_set *from) {
    int64_t shards = (int64_t)1 << into->bits;
    merge_job *job = calloc(1, sizeof *job);
    if (job == NULL) return false;
    job->groups = groups;
    job->into = into;
    job->from = from;
    int workers = bf_workers(context, bf_group_set_size(from), BF_ROWS_LEAST);
    bool made = into->bits == from->bits || route_numbers(job);
    if (made) made = bf_parallel(context, workers, shards, 1, prepare_shards, job) == BF_OK;
    if (made) (void)bf_parallel(context, workers, shards, 1, merge_shards, job);
    free(job->numbers);
    free(job);
    return made;
}

/* Makes BF_SHARDS shards of the one that there is. */
static bool split_set(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into) {
    bf_group_set wider;
    if (!bf_group_set_create(groups, BF_SHARD_BITS, &wider)) return false;
    if (bf_group_set_size(into) > 0 && !merge_sets(context, groups, &wider, into)) {
        bf_group_set_destroy(groups, &wider);
        return false;
    }
    bf_group_set_destroy(groups, into);
    *into = wider;
    return true;
}

bool bf_group_set_merge(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                        const bf_group_set *from) {
    int64_t size = bf_group_set_size(from);
    if (size == 0) return true;
    bool many = from->bits > 0 || size + bf_group_set_size(into) > BF_SHARD_CROWD;
    if (many && into->bits == 0 && !split_set(context, groups, into)) return false;
    return merge_sets(context, groups, into, from);
}

bool bf_group_set_rehash(bf_context *context, const bf_cpu_groups *groups, const bf_group_set *from,
                         bf_group_set *set) {
    if (!bf_group_set_create(groups, BF_SHARD_BITS, set)) return false;
    for (size_t s = 0; s < (size_t)1 << from->bits; s++) {
        const bf_group_set one = {.shards = &from->shards[s]};
        if (one.shards->size == 0 || merge_sets(context, groups, set, &one)) continue;
        bf_group_set_destroy(groups, set);
        return false;
    }
    return true;
}
