/* Sets of groups merge: first all memory is made, then what cannot fail is done. */
#include "cpu/group/group.h"

#include "cpu/table/table.h"

#include <stdlib.h>

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

typedef struct merge_job {
    const bf_cpu_groups *groups;
    bf_group_set *into;
    const bf_group_set *from;
    uint32_t *numbers;           /* from's only shard, sorted by into's shards; NULL: as they are */
    size_t begin[BF_SHARDS + 1]; /* of each shard's, among those numbers */
    atomic_bool failed;
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
static int64_t gather(const merge_job *job, const arrivals *a, size_t k, char *ranks) {
    size_t n = a->count - k < BATCH ? a->count - k : BATCH;
    size_t bytes = (size_t)job->groups->rank_bytes;
    for (size_t i = 0; i < n; i++)
        memcpy(ranks + i * bytes, (const char *)a->from->ranks + number_of(a, k + i) * bytes,
               bytes);
    return (int64_t)n;
}

static void prepare_shard(void *arg, int64_t shard) {
    merge_job *job = arg;
    char ranks[BATCH * 16];
    arrivals a = arrivals_of(job, shard);
    bf_group_shard *into = &job->into->shards[shard];
    int64_t size = into->size;
    if (a.count == 0) return;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather(job, &a, k, ranks);
        size += job->groups->loops->missing(into, ranks, n);
    }
    bool made = bf_shard_reserve(job->groups, into, size);
    for (int c = 0; c < job->groups->columns && made; c++)
        made = bf_column_widen(&into->columns[c], into->room, &a.from->columns[c]);
    if (!made) atomic_store(&job->failed, true);
}

static void merge_shard(void *arg, int64_t shard) {
    merge_job *job = arg;
    char ranks[BATCH * 16];
    uint32_t numbers[BATCH];
    arrivals a = arrivals_of(job, shard);
    bf_group_shard *into = &job->into->shards[shard];
    int columns = job->groups->columns;
    if (a.count == 0) return;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather(job, &a, k, ranks);
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

/* Sorts the numbers of from's only shard by into's shards. */
static bool route(merge_job *job) {
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
    merge_job *job = calloc(1, sizeof *job);
    if (job == NULL) return false;
    job->groups = groups;
    job->into = into;
    job->from = from;
    int threads = bf_table_threads(context, bf_group_set_size(from));
    bool made = into->bits == from->bits || route(job);
    if (made) {
        bf_table_share(context, threads, (int64_t)1 << into->bits, prepare_shard, job);
        made = !atomic_load(&job->failed);
    }
    if (made) bf_table_share(context, threads, (int64_t)1 << into->bits, merge_shard, job);
    free(job->numbers);
    free(job);
    return made;
}

/* Makes BF_SHARDS shards of the one that there is. */
static bool split(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into) {
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
    if (many && into->bits == 0 && !split(context, groups, into)) return false;
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
