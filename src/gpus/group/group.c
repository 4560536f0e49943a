/* Groups: each GPU has groups of its own of the rows that it was given. They come together on the
 * first GPU when somebody looks at them. */
#include "gpus/group/group.h"

#include "gpus/runtime/context.h"
#include "rules/key/rank.h"
#include "rules/reduce/state.h"

#include <stdlib.h>

/* The groups of one GPU. A call that several GPUs do either counts on all of them or on none: its
 * rows are absorbed into `main` if that is empty, else into `fresh`, and are dropped from there if
 * another GPU fails. The next call merges them into `main`. */
typedef struct own_groups {
    void *main, *fresh; /* fresh: NULL until needed */
    void *taken;        /* where the rows of the call at hand went; NULL: it has none */
} own_groups;

typedef struct groups {
    bf_context *context;
    const bf_group_backend *by;
    bf_group_kind kind;
    bf_aggregate aggregates[BF_AGGREGATES_MAX]; /* kind.aggregates are these */
    int gpus;
    own_groups own[];
} groups;

/* ---- making ---------------------------------------------------------------------------------- */

static bf_status create_on(bf_context *context, const groups *g, int gpu, void **made) {
    bf_context *one = bf_gpus_enter(context, gpu, NULL, 0);
    return bf_gpus_leave(context, gpu, g->by->create(one, &g->kind, made));
}

static void destroy_groups(bf_context *context, void *made) {
    groups *g = made;
    for (int i = 0; i < g->gpus; i++) {
        bf_context *one = context->gpus->gpu[i].context;
        if (g->own[i].main != NULL) g->by->destroy(one, g->own[i].main);
        if (g->own[i].fresh != NULL) g->by->destroy(one, g->own[i].fresh);
    }
    free(g);
}

static bf_status create_groups(bf_context *context, const bf_group_kind *kind, void **made) {
    int gpus = context->gpus->count;
    groups *g = calloc(1, sizeof *g + (size_t)gpus * sizeof *g->own);
    if (g == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    g->context = context;
    g->by = context->gpus->by->group;
    g->kind = *kind;
    g->kind.aggregates = g->aggregates;
    for (int i = 0; i < kind->count; i++) g->aggregates[i] = kind->aggregates[i];
    g->gpus = gpus;
    bf_status status = BF_OK;
    for (int i = 0; i < gpus && status == BF_OK; i++)
        status = create_on(context, g, i, &g->own[i].main);
    if (status == BF_OK)
        *made = g;
    else
        destroy_groups(context, g);
    return status;
}

static void clear_groups(bf_context *context, void *made) {
    const groups *g = made;
    for (int i = 0; i < g->gpus; i++) {
        bf_context *one = bf_gpus_enter(context, i, NULL, 0);
        g->by->clear(one, g->own[i].main);
        if (g->own[i].fresh != NULL) g->by->clear(one, g->own[i].fresh);
        bf_gpus_leave(context, i, BF_OK);
    }
}

/* ---- absorbing ------------------------------------------------------------------------------- */

static bool has_fresh(const groups *g, int gpu) {
    return g->own[gpu].fresh != NULL && g->by->size(g->own[gpu].fresh) > 0;
}

static bf_status merge_fresh(void *arg, bf_context *context, int gpu) {
    const groups *g = arg;
    if (!has_fresh(g, gpu)) return BF_OK;
    bf_status status = g->by->merge(context, g->own[gpu].main, g->own[gpu].fresh);
    if (status == BF_OK) g->by->clear(context, g->own[gpu].fresh);
    return status;
}

/* Rows that are split among GPUs. */
typedef struct rows {
    groups *groups;
    const bf_group_job *job;
    int parts;
} rows;

/* Returns the groups that are to take the rows, which are empty. NULL: no memory. */
static void *choose_taker(bf_context *context, groups *g, int gpu, bf_status *status) {
    own_groups *own = &g->own[gpu];
    *status = BF_OK;
    if (g->by->size(own->main) == 0) return own->main;
    if (own->fresh == NULL) *status = g->by->create(context, &g->kind, &own->fresh);
    return *status == BF_OK ? own->fresh : NULL;
}

static bf_status absorb_part(void *arg, bf_context *context, int gpu) {
    const rows *r = arg;
    groups *g = r->groups;
    bf_group_job part = *r->job;
    const int64_t first = bf_gpus_cut(part.n, r->parts, gpu, 0);
    part.n = bf_gpus_cut(r->job->n, r->parts, gpu + 1, 0) - first;
    g->own[gpu].taken = NULL;
    bf_status status = merge_fresh(g, context, gpu);
    if (status != BF_OK || part.n == 0) return status;
    void *taker = choose_taker(context, g, gpu, &status);
    if (status != BF_OK) return status;
    for (int i = 0; i < part.arrays; i++)
        part.values[i] = (const char *)part.values[i] + first * bf_key_bytes(part.dtypes[i]);
    part.keys = (const char *)part.keys + first * bf_key_bytes(g->kind.key);
    g->own[gpu].taken = taker;
    return g->by->absorb(context, taker, &part);
}

static bf_status absorb_on_all(bf_context *context, rows *r) {
    groups *g = r->groups;
    bf_status status = bf_gpus_run(context, r->parts, absorb_part, r);
    for (int i = 0; i < r->parts && status != BF_OK; i++)
        if (g->own[i].taken != NULL)
            g->by->clear(g->context->gpus->gpu[i].context, g->own[i].taken);
    return status;
}

static bf_status absorb_rows(bf_context *context, void *made, const bf_group_job *job) {
    groups *g = made;
    const void *memory[1 + BF_GROUP_ARRAYS] = {job->keys};
    int64_t bytes = bf_key_bytes(g->kind.key);
    for (int i = 0; i < job->arrays; i++) {
        memory[1 + i] = job->values[i];
        bytes += bf_key_bytes(job->dtypes[i]);
    }
    int gpu = bf_gpus_find(context, memory, 1 + job->arrays);
    rows r = {g, job, gpu < 0 ? bf_gpus_worth(context, job->n * bytes) : 1};
    if (r.parts > 1) return absorb_on_all(context, &r);
    if (gpu < 0) gpu = 0;
    bf_context *one = bf_gpus_enter(context, gpu, memory, 1 + job->arrays);
    return bf_gpus_leave(context, gpu, g->by->absorb(one, g->own[gpu].main, job));
}

/* ---- together -------------------------------------------------------------------------------- */

enum { PAGE = 1 << 14 /* groups that are copied at a time */ };

/* The groups of one GPU on their way to another. */
typedef struct journey {
    bf_context *context;
    const groups *groups;
    int from;
    void *to; /* on the first GPU */
    int64_t n;
    char *keys; /* all keys, in order */
    int64_t *counts;
    int64_t *words[BF_AGGREGATES_MAX]; /* one page */
} journey;

static int words_of(bf_aggregate a) {
    return bf_state_words(bf_kind_of(a.op, a.dtype), a.dtype, NULL);
}

static bool make_pages(journey *j) {
    const groups *g = j->groups;
    size_t n = (size_t)j->n, page = n < PAGE ? n : PAGE;
    j->keys = malloc(n * (size_t)bf_key_bytes(g->kind.key));
    j->counts = malloc(n * sizeof *j->counts);
    bool made = j->keys != NULL && j->counts != NULL;
    for (int i = 0; i < g->kind.count && made; i++) {
        j->words[i] = malloc(page * (size_t)words_of(g->aggregates[i]) * sizeof *j->words[i]);
        made = j->words[i] != NULL;
    }
    return made;
}

static void free_pages(const journey *j) {
    free(j->keys);
    free(j->counts);
    for (int i = 0; i < j->groups->kind.count; i++) free(j->words[i]);
}

static bf_status copy_page(const journey *j, int64_t first, int64_t n) {
    const groups *g = j->groups;
    bf_status status = BF_OK;
    bf_context *one = bf_gpus_enter(j->context, j->from, NULL, 0);
    for (int i = 0; i < g->kind.count && status == BF_OK; i++)
        status = g->by->words(one, g->own[j->from].main, i, first, n, j->words[i]);
    status = bf_gpus_leave(j->context, j->from, status);
    if (status != BF_OK) return status;
    one = bf_gpus_enter(j->context, 0, NULL, 0);
    status = g->by->insert(one, j->to, j->keys + first * bf_key_bytes(g->kind.key),
                           j->counts + first, (const int64_t *const *)j->words, n);
    return bf_gpus_leave(j->context, 0, status);
}

static bf_status copy_pages(journey *j) {
    if (!make_pages(j)) return bf_fail(j->context, BF_E_MEMORY, "no memory for groups");
    const groups *g = j->groups;
    bf_context *one = bf_gpus_enter(j->context, j->from, NULL, 0);
    bf_status status = g->by->list(one, g->own[j->from].main, j->keys, j->counts);
    status = bf_gpus_leave(j->context, j->from, status);
    for (int64_t at = 0; at < j->n && status == BF_OK; at += PAGE)
        status = copy_page(j, at, j->n - at < PAGE ? j->n - at : PAGE);
    return status;
}

/* Moves a GPU's groups to the first one. A failure leaves them where they were. */
static bf_status move_groups(bf_context *context, const groups *g, int from) {
    journey j = {.context = context, .groups = g, .from = from};
    j.n = g->by->size(g->own[from].main);
    if (j.n == 0) return BF_OK;
    bf_status status = create_on(context, g, 0, &j.to);
    if (status != BF_OK) return status;
    status = copy_pages(&j);
    free_pages(&j);
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    if (status == BF_OK) status = g->by->merge(one, g->own[0].main, j.to);
    g->by->destroy(one, j.to);
    bf_gpus_leave(context, 0, status);
    if (status != BF_OK) return status;
    g->by->clear(bf_gpus_enter(context, from, NULL, 0), g->own[from].main);
    return bf_gpus_leave(context, from, BF_OK);
}

static bf_status settle_groups(bf_context *context, void *made) {
    groups *g = made;
    bool fresh = false;
    bf_status status = BF_OK;
    for (int i = 0; i < g->gpus; i++) fresh |= has_fresh(g, i);
    if (fresh) status = bf_gpus_run(context, g->gpus, merge_fresh, g);
    for (int i = 1; i < g->gpus && status == BF_OK; i++) status = move_groups(context, g, i);
    return status;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int64_t count_groups(const void *made) {
    const groups *g = made;
    return g->by->size(g->own[0].main);
}

static bf_status merge_groups(bf_context *context, void *into, const void *from) {
    groups *g = into;
    groups *f = (groups *)(uintptr_t)from;
    bf_status status = settle_groups(f->context, f);
    if (status != BF_OK && f->context != context)
        return bf_fail(context, status, "%s", f->context->message);
    if (status == BF_OK) status = settle_groups(context, g);
    if (status != BF_OK) return status;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    return bf_gpus_leave(context, 0, g->by->merge(one, g->own[0].main, f->own[0].main));
}

static bf_status list_groups(bf_context *context, void *made, void *keys, void *counts) {
    groups *g = made;
    const void *memory[] = {keys, counts};
    bf_status status = settle_groups(context, g);
    if (status != BF_OK) return status;
    bf_context *one = bf_gpus_enter(context, 0, memory, 2);
    return bf_gpus_leave(context, 0, g->by->list(one, g->own[0].main, keys, counts));
}

static bf_status aggregate_groups(bf_context *context, void *made, int which, bf_reduction op,
                                  const bf_reduce_options *options, bf_dtype to, void *values,
                                  uint8_t *fits) {
    groups *g = made;
    const void *memory[] = {values, fits};
    bf_status status = settle_groups(context, g);
    if (status != BF_OK) return status;
    bf_context *one = bf_gpus_enter(context, 0, memory, 2);
    status = g->by->aggregate(one, g->own[0].main, which, op, options, to, values, fits);
    return bf_gpus_leave(context, 0, status);
}

static bf_status read_words(bf_context *context, void *made, int which, int64_t first, int64_t n,
                            int64_t *words) {
    groups *g = made;
    bf_status status = settle_groups(context, g);
    if (status != BF_OK) return status;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    return bf_gpus_leave(context, 0, g->by->words(one, g->own[0].main, which, first, n, words));
}

static bf_status insert_groups(bf_context *context, void *made, const void *keys,
                               const int64_t *counts, const int64_t *const words[], int64_t n) {
    groups *g = made;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    return bf_gpus_leave(context, 0, g->by->insert(one, g->own[0].main, keys, counts, words, n));
}

const bf_group_backend bf_gpus_group_backend = {
    .create = create_groups,
    .destroy = destroy_groups,
    .clear = clear_groups,
    .settle = settle_groups,
    .size = count_groups,
    .absorb = absorb_rows,
    .merge = merge_groups,
    .list = list_groups,
    .aggregate = aggregate_groups,
    .words = read_words,
    .insert = insert_groups,
};
