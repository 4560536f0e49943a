/* Merging sets of groups: first all memory is made, then nothing can fail. The watch is asked until
 * then. */
#include "cpu/group/group.h"

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

typedef struct merge_job {
    const bf_cpu_groups *groups;
    bf_group_set *into;
    const bf_group_set *from;
    const int *map;    /* the column of `from` that goes to each; NULL: the same */
    uint32_t *numbers; /* from's only partition, sorted by into's partitions; NULL: as they are */
    size_t begin[BF_PARTITIONS + 1]; /* of each partition's, among those numbers */
} merge_job;

/* The groups of `from` that go to a partition. */
typedef struct arrivals {
    const bf_group_partition *from;
    const uint32_t *numbers;
    size_t count;
} arrivals;

static arrivals arrivals_of(const merge_job *job, int64_t partition) {
    if (job->numbers == NULL)
        return (arrivals){&job->from->partitions[partition], NULL,
                          job->from->partitions[partition].size};
    size_t first = job->begin[partition];
    return (arrivals){job->from->partitions, job->numbers + first,
                      job->begin[partition + 1] - first};
}

static size_t number_of(const arrivals *a, size_t k) {
    return a->numbers == NULL ? k : a->numbers[k];
}

/* Copies up to BATCH of their ranks, from k on. Returns how many. */
static int64_t gather_ranks(const merge_job *job, const arrivals *a, size_t k, char *ranks) {
    size_t n = a->count - k < BATCH ? a->count - k : BATCH;
    size_t bytes = (size_t)job->groups->rank_bytes;
    for (size_t i = 0; i < n; i++)
        memcpy(ranks + i * bytes, (const char *)a->from->ranks + number_of(a, k + i) * bytes,
               bytes);
    return (int64_t)n;
}

static bool prepare_partition(const merge_job *job, int64_t partition) {
    char ranks[BATCH * 16];
    arrivals a = arrivals_of(job, partition);
    bf_group_partition *into = &job->into->partitions[partition];
    int64_t size = into->size;
    if (a.count == 0) return true;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather_ranks(job, &a, k, ranks);
        size += job->groups->loops->missing(into, ranks, n);
    }
    return bf_partition_reserve(job->groups, into, size) &&
           bf_accumulators_prepare(&into->accumulators, &a.from->accumulators, job->map);
}

static bf_status prepare_partitions(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t partition = first; partition < first + n; partition++)
        if (!prepare_partition(arg, partition)) return BF_E_MEMORY;
    return BF_OK;
}

static void merge_partition(const merge_job *job, int64_t partition) {
    char ranks[BATCH * 16];
    uint32_t numbers[BATCH];
    arrivals a = arrivals_of(job, partition);
    bf_group_partition *into = &job->into->partitions[partition];
    if (a.count == 0) return;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather_ranks(job, &a, k, ranks);
        job->groups->loops->number(into, ranks, n, bf_stream_none(), numbers);
        job->groups->accumulate->fetch(&into->accumulators, numbers, n);
        for (int64_t i = 0; i < n; i++)
            bf_accumulators_merge(&into->accumulators, numbers[i], &a.from->accumulators,
                                  number_of(&a, k + (size_t)i), job->map);
    }
    bf_partition_heal(job->groups, into);
}

static bf_status merge_partitions(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t partition = first; partition < first + n; partition++)
        merge_partition(arg, partition);
    return BF_OK;
}

/* Sorts the numbers of from's only partition by into's partitions. */
static bool route_numbers(merge_job *job) {
    const bf_group_partition *from = job->from->partitions;
    uint8_t *partitions = bf_alloc(from->size);
    size_t at[BF_PARTITIONS];
    job->numbers = bf_alloc(from->size * sizeof *job->numbers);
    bool made = partitions != NULL && job->numbers != NULL;
    if (made) {
        job->groups->loops->partitions(job->groups->seed, from->ranks, from->size, partitions);
        for (uint32_t i = 0; i < from->size; i++) job->begin[partitions[i] + 1]++;
        for (int s = 0; s < BF_PARTITIONS; s++) job->begin[s + 1] += job->begin[s];
        memcpy(at, job->begin, sizeof at);
        for (uint32_t i = 0; i < from->size; i++) job->numbers[at[partitions[i]]++] = i;
    }
    bf_free(partitions);
    return made;
}

/* `into` has as many partitions as `from`, or `from` has one. */
static bf_status merge_sets(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                            const bf_group_set *from, const int map[]) {
    int64_t partitions = (int64_t)1 << into->bits;
    bf_status status = BF_E_MEMORY;
    merge_job *job = bf_calloc(1, sizeof *job);
    if (job == NULL) return status;
    job->groups = groups;
    job->into = into;
    job->from = from;
    job->map = map;
    int workers = bf_workers(context, bf_group_set_size(from), BF_ROWS_LEAST);
    if (into->bits == from->bits || route_numbers(job))
        status = bf_parallel_watched(context, workers, partitions, 1, 0, prepare_partitions, job);
    if (status == BF_OK) (void)bf_parallel(context, workers, partitions, 1, merge_partitions, job);
    bf_free(job->numbers);
    bf_free(job);
    return status;
}

/* Splits the only partition into BF_PARTITIONS. */
static bf_status split_set(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into) {
    bf_group_set wider;
    bf_status status = BF_OK;
    if (!bf_group_set_create(groups, BF_PARTITION_BITS, &wider)) return BF_E_MEMORY;
    if (bf_group_set_size(into) > 0) status = merge_sets(context, groups, &wider, into, NULL);
    bf_group_set_destroy(groups, status == BF_OK ? into : &wider);
    if (status == BF_OK) *into = wider;
    return status;
}

bf_status bf_group_set_merge(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                             const bf_group_set *from, const int map[]) {
    int64_t size = bf_group_set_size(from);
    if (size == 0) return BF_OK;
    bool many = from->bits > 0 || size + bf_group_set_size(into) > BF_PARTITION_CROWD;
    bf_status status = BF_OK;
    if (many && into->bits == 0) status = split_set(context, groups, into);
    return status == BF_OK ? merge_sets(context, groups, into, from, map) : status;
}

bf_status bf_group_set_rehash(bf_context *context, const bf_cpu_groups *groups,
                              const bf_group_set *from, const int map[], bf_group_set *set) {
    bf_status status = BF_OK;
    if (!bf_group_set_create(groups, BF_PARTITION_BITS, set)) return BF_E_MEMORY;
    for (size_t s = 0; s < (size_t)1 << from->bits && status == BF_OK; s++) {
        const bf_group_set one = {.partitions = &from->partitions[s]};
        if (one.partitions->size > 0) status = merge_sets(context, groups, set, &one, map);
    }
    if (status != BF_OK) bf_group_set_destroy(groups, set);
    return status;
}
