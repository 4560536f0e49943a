/* Shared columns: aggregates that keep the same of the same values have one, as long as they absorb
 * the same values. Arrays of values that several columns have are read, copied and partitioned
 * once. */
#include "cuda/group/group.cuh"

#include "rules/reduce/columns.h"

namespace {

void name_columns(bf_cuda_groups *g, const int of[]) {
    g->count = 0;
    for (int i = 0; i < g->asked; i++) {
        g->of[i] = of[i];
        g->columns[of[i]] = g->wanted[i];
        if (of[i] >= g->count) g->count = of[i] + 1;
    }
}

void init_columns(bf_context *context, const bf_cuda_groups *g, bf_cuda_group_set *set) {
    for (int c = 0; c < BF_AGGREGATES_MAX; c++) {
        bf_cuda_aggregate_destroy(context, &set->aggregates[c]);
        if (c < g->count) bf_cuda_aggregate_init(&set->aggregates[c], g->columns[c]);
    }
}

/* Makes a copy of a column of the set. */
bf_status copy_column(bf_context *context, const bf_cuda_group_set *set, bf_aggregate kind,
                      const bf_cuda_aggregate *from, bf_cuda_aggregate *to) {
    bf_cuda_aggregate_init(to, kind);
    bf_status status = bf_cuda_aggregate_widen(context, to, from, 0, set->room);
    if (status == BF_OK) status = bf_cuda_aggregate_reserve(context, to, 0, set->room);
    if (status != BF_OK) return status;
    cudaError_t error = bf_cuda_aggregate_extend(context, to, 0, set->size);
    if (error == cudaSuccess)
        error = bf_cuda_aggregate_merge(context, to, from, NULL, 0, set->size, set->size);
    return bf_cuda_group_check(context, error);
}

/* Splits columns into `count`: the first one that comes of a column keeps its memory. */
bf_status split_columns(bf_context *context, bf_cuda_groups *g, const int columns[], int count) {
    bf_cuda_group_set *set = &g->set;
    bf_cuda_aggregate made[BF_AGGREGATES_MAX] = {};
    int from[BF_AGGREGATES_MAX];
    bool keeps[BF_AGGREGATES_MAX], taken[BF_AGGREGATES_MAX] = {};
    bf_status status = BF_OK;
    for (int i = 0; i < g->asked; i++) from[columns[i]] = g->of[i];
    for (int c = 0; c < count; c++) {
        keeps[c] = !taken[from[c]];
        taken[from[c]] = true;
        if (!keeps[c] && status == BF_OK)
            status =
                copy_column(context, set, g->columns[from[c]], &set->aggregates[from[c]], &made[c]);
    }
    if (status != BF_OK) {
        for (bf_cuda_aggregate &each : made) bf_cuda_aggregate_destroy(context, &each);
        return status;
    }
    for (int c = 0; c < count; c++)
        if (keeps[c]) made[c] = set->aggregates[from[c]];
    name_columns(g, columns);
    for (int i = 0; i < BF_AGGREGATES_MAX; i++) set->aggregates[i] = made[i];
    init_columns(context, g, &g->fresh);
    return BF_OK;
}

} // namespace

void bf_cuda_groups_set_columns(bf_context *context, bf_cuda_groups *g, const int of[]) {
    name_columns(g, of);
    init_columns(context, g, &g->set);
    init_columns(context, g, &g->fresh);
}

bf_status bf_cuda_groups_share(bf_context *context, bf_cuda_groups *g, const int columns[]) {
    int kept[BF_AGGREGATES_MAX], each[BF_AGGREGATES_MAX];
    int to[BF_AGGREGATES_MAX] = {};
    const bool empty = g->set.size == 0;
    for (int i = 0; i < g->asked; i++) {
        const bf_aggregate a = g->wanted[i];
        kept[i] = 0;
        while (!bf_holds_result(g->wanted[kept[i]].op, a.op, a.dtype)) kept[i]++;
    }
    bf_columns_of_both(kept, columns, g->asked, each);
    const int count = bf_columns_of_both(empty ? each : g->of, each, g->asked, to);
    if (memcmp(g->of, to, (size_t)g->asked * sizeof *to) == 0) return BF_OK;
    if (!empty) return split_columns(context, g, to, count);
    bf_cuda_groups_set_columns(context, g, to);
    return BF_OK;
}

void bf_cuda_groups_take_arrays(bf_cuda_groups *g, const bf_group_job *job) {
    g->arrays = job->arrays;
    for (int k = 0; k < job->arrays; k++) g->dtypes[k] = job->dtypes[k];
    for (int i = 0; i < g->asked; i++)
        for (int k = 0; k < 2; k++) g->array_of[g->of[i]][k] = job->of[i][k];
}
