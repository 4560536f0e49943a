/* Groups in host memory that hold all of their rows there. */
#include "cpu/group/group.h"

#include "cpu/runtime/sort.h"

enum {
    MANY = 1 << 16,        /* rows that are sorted at once, if there are many groups already */
    PIECE = 1 << 10,       /* groups of which a worker lists or gives the words at a time */
    WORDS_LEAST = 1 << 11, /* groups whose words are worth a thread */
    AHEAD = 16             /* groups whose counts are fetched ahead */
};

static bf_status no_memory(bf_context *context) {
    return bf_fail(context, BF_E_MEMORY, "no memory for groups");
}

static bf_status create_groups(bf_context *context, const bf_group_kind *kind, void **groups) {
    bf_cpu_groups *g = bf_calloc(1, sizeof *g);
    if (g == NULL) return no_memory(context);
    g->key = kind->key;
    g->rank_bytes = bf_rank_bytes(kind->key);
    g->asked = kind->count;
    for (int i = 0; i < kind->count; i++) g->wanted[i] = kind->aggregates[i];
    bf_group_share_none(g);
    g->seed = bf_hash_seed_of(kind->seed);
    g->loops = context->cpu->isa->group_loops(g->rank_bytes);
    g->accumulate = context->cpu->isa->accumulate;
    if (!bf_group_set_create(g, 0, &g->set)) {
        bf_free(g);
        return no_memory(context);
    }
    *groups = g;
    return BF_OK;
}

static void forget_order(bf_cpu_groups *g) {
    bf_free(g->order);
    bf_free(g->ranks);
    g->order = NULL;
    g->ranks = NULL;
}

static void destroy_groups(bf_context *context, void *groups) {
    bf_cpu_groups *g = groups;
    (void)context;
    forget_order(g);
    bf_group_set_destroy(g, &g->set);
    bf_free(g);
}

static int64_t groups_size(const void *groups) {
    const bf_cpu_groups *g = groups;
    return bf_group_set_size(&g->set);
}

static void clear_groups(bf_context *context, void *groups) {
    bf_cpu_groups *g = groups;
    (void)context;
    forget_order(g);
    bf_group_set_empty(g, &g->set);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Gives a status of the sets its message. */
static bf_status explain_status(bf_context *context, bf_status status) {
    return status == BF_E_MEMORY ? no_memory(context) : status;
}

static void swap_sets(bf_group_set *a, bf_group_set *b) {
    bf_group_set before = *a;
    *a = *b;
    *b = before;
}

/* Shall the groups be merged into the set? It is larger, or, if it has any, it is not ordered. */
static bool goes_into(const bf_group_set *groups, const bf_group_set *set) {
    const int64_t n = bf_group_set_size(set), before = bf_group_set_size(groups);
    return n > 0 && before > 0 && groups->ordered != set->ordered ? groups->ordered : n > before;
}

/* Merges a set and the groups, and destroys it. */
static bf_status merge_set(bf_context *context, bf_cpu_groups *g, bf_group_set *set) {
    const bool into = goes_into(&g->set, set);
    if (into) swap_sets(&g->set, set);
    bf_status status = bf_group_set_merge(context, g, &g->set, set, NULL);
    if (into && status != BF_OK) swap_sets(&g->set, set);
    bf_group_set_destroy(g, set);
    return explain_status(context, status);
}

/* The order is forgotten first: even a merge that fails may renumber partitions. */
static bf_status absorb_rows(bf_context *context, void *groups, const bf_group_job *job) {
    bf_cpu_groups *g = groups;
    bf_group_set set;
    forget_order(g);
    bf_status status = bf_group_share(context, g, job->columns);
    if (status != BF_OK) return explain_status(context, status);
    bf_group_take_arrays(g, job);
    bool many = g->set.bits > 0 && job->n >= MANY;
    status = bf_group_set_absorb(context, g, job, many, &set);
    return status == BF_OK ? merge_set(context, g, &set) : explain_status(context, status);
}

static bf_status merge_groups(bf_context *context, void *into, const void *from) {
    bf_cpu_groups *to = into;
    const bf_cpu_groups *g = from;
    int map[BF_AGGREGATES_MAX];
    forget_order(to);
    bf_status status = bf_group_share(context, to, g->of);
    if (status != BF_OK) return explain_status(context, status);
    bf_group_shares_map(to, g->of, map);
    if (g->set.bits > 0 && !g->set.ordered && memcmp(&to->seed, &g->seed, sizeof g->seed) != 0) {
        bf_group_set set;
        status = bf_group_set_rehash(context, to, &g->set, map, &set);
        return status == BF_OK ? merge_set(context, to, &set) : explain_status(context, status);
    }
    return explain_status(context, bf_group_set_merge(context, to, &to->set, &g->set, map));
}

static bf_status insert_groups(bf_context *context, void *groups, const void *keys,
                               const int64_t *counts, const int64_t *const words[], int64_t n) {
    bf_cpu_groups *g = groups;
    bf_group_set set;
    int of[BF_AGGREGATES_MAX];
    forget_order(g);
    for (int i = 0; i < g->asked; i++) of[i] = i;
    bf_status status = bf_group_share(context, g, of);
    if (status != BF_OK) return explain_status(context, status);
    if (!bf_group_set_of(g, keys, counts, words, n, &set)) return no_memory(context);
    return merge_set(context, g, &set);
}

/* ---- in order -------------------------------------------------------------------------------- */

/* Collects the ranks, and where their groups are, partition after partition. */
typedef struct collect_job {
    const bf_cpu_groups *groups;
    char *ranks;
    int64_t *order;
    int64_t begin[BF_PARTITIONS + 1]; /* the first group of each partition */
} collect_job;

static bf_status collect_partitions(void *arg, int worker, int64_t first, int64_t n) {
    const collect_job *job = arg;
    size_t bytes = (size_t)job->groups->rank_bytes;
    (void)worker;
    for (int64_t s = first; s < first + n; s++) {
        const bf_group_partition *partition = &job->groups->set.partitions[s];
        if (partition->size == 0) continue;
        memcpy(job->ranks + (size_t)job->begin[s] * bytes, partition->ranks,
               partition->size * bytes);
        for (uint32_t i = 0; i < partition->size; i++) job->order[job->begin[s] + i] = s << 32 | i;
    }
    return BF_OK;
}

static bf_status collect_groups(bf_context *context, const bf_cpu_groups *g, char *ranks,
                                int64_t *order) {
    collect_job job = {g, ranks, order, {0}};
    int64_t n = bf_group_set_number(&g->set, job.begin);
    return bf_parallel_watched(context, bf_workers(context, n, BF_ROWS_LEAST),
                               (int64_t)1 << g->set.bits, 1, 0, collect_partitions, &job);
}

bf_status bf_cpu_groups_sort(bf_context *context, bf_cpu_groups *g) {
    int64_t n = bf_group_set_size(&g->set);
    if (g->order != NULL) return BF_OK;
    char *ranks = bf_zeros((size_t)n * (size_t)g->rank_bytes);
    int64_t *order = bf_zeros((size_t)n * sizeof *order);
    bf_status status = ranks == NULL || order == NULL ? no_memory(context)
                                                      : collect_groups(context, g, ranks, order);
    if (status == BF_OK && !g->set.ordered)
        status = bf_sort_ranks(context, g->rank_bytes, sizeof *order, n, ranks, (char *)order);
    if (status != BF_OK) {
        bf_free(ranks);
        bf_free(order);
        return status;
    }
    g->ranks = ranks;
    g->order = order;
    return BF_OK;
}

typedef struct list_job {
    const bf_cpu_groups *groups;
    char *keys, *counts;
} list_job;

static bf_status list_piece(void *arg, int worker, int64_t first, int64_t n) {
    const list_job *job = arg;
    const bf_cpu_groups *g = job->groups;
    (void)worker;
    if (job->keys != NULL)
        g->loops->unrank(g->key, g->ranks + first * g->rank_bytes, n,
                         job->keys + first * bf_key_bytes(g->key));
    for (int64_t i = first; job->counts != NULL && i < first + n; i++) {
        if (i + AHEAD < first + n) __builtin_prefetch(bf_group_count(g, i + AHEAD));
        memcpy(job->counts + i * 8, bf_group_count(g, i), 8);
    }
    return BF_OK;
}

static bf_status list_groups(bf_context *context, void *groups, void *keys, void *counts) {
    bf_cpu_groups *g = groups;
    int64_t n = groups_size(g);
    list_job job = {g, keys, counts};
    bf_status status = bf_cpu_groups_sort(context, g);
    if (status != BF_OK) return status;
    return bf_parallel_watched(context, bf_workers(context, n, BF_ROWS_LEAST), n, PIECE,
                               n * (bf_key_bytes(g->key) + 8), list_piece, &job);
}

/* ---- states ---------------------------------------------------------------------------------- */

typedef struct words_job {
    const bf_cpu_groups *groups;
    int64_t first;
    int column, each;
    bf_reduction op;
    int64_t *words;
} words_job;

static bf_status read_piece(void *arg, int worker, int64_t first, int64_t n) {
    const words_job *job = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        int64_t at = job->groups->order[job->first + i];
        const bf_group_partition *s = &job->groups->set.partitions[at >> 32];
        bf_accumulators_words(&s->accumulators, job->column, job->op, (uint32_t)at,
                              job->words + i * job->each);
    }
    return BF_OK;
}

static bf_status read_words(bf_context *context, void *groups, int which, int64_t first, int64_t n,
                            int64_t *words) {
    bf_cpu_groups *g = groups;
    bf_aggregate a = g->wanted[which];
    int each = bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL);
    words_job job = {g, first, g->of[which], each, a.op, words};
    bf_status status = bf_cpu_groups_sort(context, g);
    if (status != BF_OK) return status;
    return bf_parallel_watched(context, bf_workers(context, n, WORDS_LEAST), n, PIECE, 0,
                               read_piece, &job);
}

const bf_group_backend bf_group_memory = {
    .create = create_groups,
    .destroy = destroy_groups,
    .clear = clear_groups,
    .size = groups_size,
    .absorb = absorb_rows,
    .merge = merge_groups,
    .list = list_groups,
    .aggregate = bf_cpu_groups_aggregate,
    .words = read_words,
    .insert = insert_groups,
};
