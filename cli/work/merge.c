/* What ranks hold becomes one. */
#include "runtime/ranks.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>

/* A call of a communicator fails on all ranks or on none. */
static int end_merge(bf_context *context, bf_comm *comm, bf_status st, const char *file) {
    const int code = st == BF_OK ? EXIT_DONE : fail_status(st, context, file);
    bf_comm_destroy(comm);
    return ranks_agree(code);
}

int ranks_merge_states(bf_context *context, bf_state *const states[], int n, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_states(comm, states, n), file);
}

int ranks_merge_histogram(bf_context *context, bf_histogram *histogram, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_histogram(comm, histogram), file);
}

int ranks_merge_many(bf_context *context, bf_states *states, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_many(comm, states), file);
}

int ranks_merge_quantiles(bf_context *context, bf_quantiles *quantiles, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    const int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    return end_merge(context, comm, bf_comm_merge_quantiles(comm, quantiles), file);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The saved groups of this rank; and on rank 0 those of all, one behind another. */
typedef struct parcels {
    char *mine, *all;
    int64_t size, *sizes;
} parcels;

static bf_status save_groups(bf_groups *groups, parcels *p) {
    size_t size = 0;
    bf_status st = bf_groups_save_size(groups, &size);
    p->mine = st == BF_OK ? malloc(size) : NULL;
    if (st == BF_OK && !p->mine) st = BF_E_MEMORY;
    p->size = (int64_t)size;
    return st == BF_OK ? bf_groups_save(groups, p->mine) : st;
}

static bf_status merge_parcels(bf_context *context, bf_groups *groups, const parcels *p) {
    const char *at = p->all + p->sizes[0];
    bf_status st = BF_OK;
    for (int i = 1; i < ranks_count() && st == BF_OK; at += p->sizes[i++]) {
        bf_groups *more = NULL;
        st = bf_groups_load(context, at, (size_t)p->sizes[i], &more);
        if (st == BF_OK) st = bf_groups_merge(groups, more);
        bf_groups_destroy(more);
    }
    return st;
}

static int gather_groups(bf_context *context, bf_groups *groups, const char *file) {
    parcels p = {.size = 0};
    bf_status st = save_groups(groups, &p);
    int code = ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, context, file));
    if (code == EXIT_DONE) {
        p.sizes = ranks_allocate((size_t)ranks_count() * sizeof *p.sizes);
        p.all = ranks_collect(p.mine, p.size, p.sizes);
        st = ranks_rank() == 0 ? merge_parcels(context, groups, &p) : bf_groups_clear(groups);
        code = ranks_agree(st == BF_OK ? EXIT_DONE : fail_status(st, context, file));
    }
    free(p.mine);
    free(p.all);
    free(p.sizes);
    return code;
}

/* Each group first goes to one rank, so that rank 0 receives each key once. */
int ranks_merge_groups(bf_context *context, bf_groups *groups, const char *file) {
    bf_comm *comm;
    if (ranks_count() == 1) return EXIT_DONE;
    int code = ranks_open(context, &comm, file);
    if (code != EXIT_DONE) return code;
    code = end_merge(context, comm, bf_comm_exchange_groups(comm, groups), file);
    return code == EXIT_DONE ? gather_groups(context, groups, file) : code;
}
