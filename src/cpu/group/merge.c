/* Merging sets of groups: first all memory is made, then nothing can fail. The watch is asked until
 * then. */
#include "cpu/group/group.h"

enum { BATCH = BF_GROUP_BATCH / 2 }; /* ranks on the stack */

typedef struct merge_job {
    const bf_cpu_groups *groups;
    bf_group_set *into;
    const bf_group_set *from;
    const int *map;  /* the column of `from` that goes to each; NULL: the same */
    int64_t *places; /* partition << 32 | number of from's groups, sorted by into's partitions;
                        NULL: those are from's */
    size_t begin[BF_PARTITIONS + 1]; /* where each partition begins, among those places */
} merge_job;

/* The groups of `from` that go to a partition. */
typedef struct arrivals {
    const merge_job *job;
    const int64_t *places; /* NULL: all of from's partition */
    int64_t partition;
    size_t count;
} arrivals;

static arrivals arrivals_of(const merge_job *job, int64_t partition) {
    if (job->places == NULL)
        return (arrivals){job, NULL, partition, job->from->partitions[partition].size};
    size_t first = job->begin[partition];
    return (arrivals){job, job->places + first, partition, job->begin[partition + 1] - first};
}

/* The place of an arrival. */
static int64_t place_of(const arrivals *a, size_t k) {
    return a->places == NULL ? a->partition << 32 | (int64_t)k : a->places[k];
}

static const bf_group_partition *partition_at(const merge_job *job, int64_t place) {
    return &job->from->partitions[place >> 32];
}

/* Copies up to BATCH of their ranks, from k on. Returns how many. */
static int64_t gather_ranks(const arrivals *a, size_t k, char *ranks) {
    size_t n = a->count - k < BATCH ? a->count - k : BATCH;
    size_t bytes = (size_t)a->job->groups->rank_bytes;
    for (size_t i = 0; i < n; i++) {
        int64_t place = place_of(a, k + i);
        const char *from = partition_at(a->job, place)->ranks;
        memcpy(ranks + i * bytes, from + (uint32_t)place * bytes, bytes);
    }
    return (int64_t)n;
}

/* Prepares a partition for the accumulators of those that its arrivals come from. */
static bool prepare_accumulators(const merge_job *job, int64_t partition) {
    const int64_t first = job->places == NULL ? partition : 0;
    const int64_t end = job->places == NULL ? partition + 1 : (int64_t)1 << job->from->bits;
    bf_accumulators *into = &job->into->partitions[partition].accumulators;
    for (int64_t p = first; p < end; p++) {
        const bf_group_partition *from = &job->from->partitions[p];
        if (from->size > 0 && !bf_accumulators_prepare(into, &from->accumulators, job->map))
            return false;
    }
    return true;
}

static bool prepare_partition(const merge_job *job, int64_t partition) {
    char ranks[BATCH * 16];
    arrivals a = arrivals_of(job, partition);
    bf_group_partition *into = &job->into->partitions[partition];
    int64_t size = into->size;
    if (a.count == 0) return true;
    for (size_t k = 0; k < a.count; k += BATCH) {
        int64_t n = gather_ranks(&a, k, ranks);
        size += job->groups->loops->missing(into, ranks, n);
    }
    return bf_partition_reserve(job->groups, into, size) && prepare_accumulators(job, partition);
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
        int64_t n = gather_ranks(&a, k, ranks);
        job->groups->loops->number(into, ranks, n, bf_stream_none(), numbers);
        job->groups->accumulate->fetch(&into->accumulators, numbers, n);
        for (int64_t i = 0; i < n; i++) {
            int64_t place = place_of(&a, k + (size_t)i);
            bf_accumulators_merge(&into->accumulators, numbers[i],
                                  &partition_at(job, place)->accumulators, (uint32_t)place,
                                  job->map);
        }
    }
    bf_partition_heal(job->groups, into);
}

static bf_status merge_partitions(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t partition = first; partition < first + n; partition++)
        merge_partition(arg, partition);
    return BF_OK;
}

/* Adds a partition's places to where the groups of each of into's partitions go. */
static void route_partition(merge_job *job, int64_t p, const uint8_t *partitions, size_t *at) {
    for (uint32_t i = 0; i < job->from->partitions[p].size; i++)
        job->places[at[partitions[i]]++] = p << 32 | i;
}

/* Sorts the places of from's groups by into's partitions. */
static bool route_places(merge_job *job) {
    const size_t size = (size_t)bf_group_set_size(job->from);
    uint8_t *partitions = bf_alloc(size), *next = partitions;
    size_t at[BF_PARTITIONS];
    job->places = bf_alloc(size * sizeof *job->places);
    bool made = partitions != NULL && job->places != NULL;
    for (int64_t p = 0; made && p < 1 << job->from->bits; p++) {
        const bf_group_partition *from = &job->from->partitions[p];
        job->groups->loops->partitions(job->groups->seed, from->ranks, from->size, next);
        next += from->size;
    }
    for (size_t i = 0; made && i < size; i++) job->begin[partitions[i] + 1]++;
    for (int p = 0; p < BF_PARTITIONS; p++) job->begin[p + 1] += job->begin[p];
    memcpy(at, job->begin, sizeof at);
    next = partitions;
    for (int64_t p = 0; made && p < 1 << job->from->bits; p++) {
        route_partition(job, p, next, at);
        next += job->from->partitions[p].size;
    }
    bf_free(partitions);
    return made;
}

/* routed: the groups go to other partitions than those that they are in. */
static bf_status merge_sets(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                            const bf_group_set *from, const int map[], bool routed) {
    int64_t partitions = (int64_t)1 << into->bits;
    bf_status status = BF_E_MEMORY;
    merge_job *job = bf_calloc(1, sizeof *job);
    if (job == NULL) return status;
    job->groups = groups;
    job->into = into;
    job->from = from;
    job->map = map;
    int workers = bf_workers(context, bf_group_set_size(from), BF_ROWS_LEAST);
    if (!routed || route_places(job))
        status = bf_parallel_watched(context, workers, partitions, 1, 0, prepare_partitions, job);
    if (status == BF_OK) (void)bf_parallel(context, workers, partitions, 1, merge_partitions, job);
    bf_free(job->places);
    bf_free(job);
    return status;
}

bf_status bf_group_set_rehash(bf_context *context, const bf_cpu_groups *groups,
                              const bf_group_set *from, const int map[], bf_group_set *set) {
    bf_status status = BF_OK;
    if (!bf_group_set_create(groups, BF_PARTITION_BITS, set)) return BF_E_MEMORY;
    if (bf_group_set_size(from) > 0) status = merge_sets(context, groups, set, from, map, true);
    if (status != BF_OK) bf_group_set_destroy(groups, set);
    return status;
}

/* Moves the groups to BF_PARTITIONS partitions by hash. */
static bf_status split_set(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into) {
    bf_group_set wider;
    bf_status status = bf_group_set_rehash(context, groups, into, NULL, &wider);
    if (status != BF_OK) return status;
    bf_group_set_destroy(groups, into);
    *into = wider;
    return BF_OK;
}

bf_status bf_group_set_merge(bf_context *context, const bf_cpu_groups *groups, bf_group_set *into,
                             const bf_group_set *from, const int map[]) {
    int64_t size = bf_group_set_size(from);
    if (size == 0) return BF_OK;
    bool many = from->bits > 0 || size + bf_group_set_size(into) > BF_PARTITION_CROWD;
    bf_status status = BF_OK;
    if (into->ordered || (many && into->bits == 0)) status = split_set(context, groups, into);
    if (status != BF_OK) return status;
    bool routed = into->bits != from->bits || from->ordered;
    return merge_sets(context, groups, into, from, map, routed);
}
