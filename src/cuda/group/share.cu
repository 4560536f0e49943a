/* Shared columns: aggregates that keep the same of the same values have one, as long as they absorb
 * the same values. Arrays of values that several columns have are read, copied and partitioned
 * once. */
#include "cuda/group/group.cuh"

namespace {

/* Aggregates of a kind keep the same, but for the two directions of extremes. */
unsigned kept_by(bf_aggregate a) {
    return 2 * (unsigned)bf_kind_of(a.op, a.dtype) + bf_is_greatest(a.op);
}

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

/* Gives each aggregate a column of its own: the first that shares one keeps it. */
bf_status share_none(bf_context *context, bf_cuda_groups *g) {
    bf_cuda_group_set *set = &g->set;
    bf_cuda_aggregate made[BF_AGGREGATES_MAX] = {};
    bool keeps[BF_AGGREGATES_MAX], taken[BF_AGGREGATES_MAX] = {};
    int none[BF_AGGREGATES_MAX];
    bf_status status = BF_OK;
    for (int i = 0; i < g->asked; i++) {
        none[i] = i;
        keeps[i] = !taken[g->of[i]];
        taken[g->of[i]] = true;
        if (!keeps[i] && status == BF_OK)
            status = copy_column(context, set, g->wanted[i], &set->aggregates[g->of[i]], &made[i]);
    }
    if (status != BF_OK) {
        for (bf_cuda_aggregate &each : made) bf_cuda_aggregate_destroy(context, &each);
        return status;
    }
    for (int i = 0; i < g->asked; i++)
        if (keeps[i]) made[i] = set->aggregates[g->of[i]];
    name_columns(g, none);
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

void bf_cuda_groups_shares_of(const bf_cuda_groups *g, const void *const values[], int of[]) {
    unsigned keeps[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->asked; i++) keeps[i] = kept_by(g->wanted[i]);
    bf_group_columns_of(g->wanted, keeps, g->asked, values, of);
}

bf_status bf_cuda_groups_share(bf_context *context, bf_cuda_groups *g, const int of[]) {
    if (memcmp(g->of, of, (size_t)g->asked * sizeof *of) == 0) return BF_OK;
    if (g->set.size > 0)
        return bf_group_columns_stay(g->of, of, g->asked) ? BF_OK : share_none(context, g);
    bf_cuda_groups_set_columns(context, g, of);
    return BF_OK;
}

void bf_cuda_groups_set_arrays(bf_cuda_groups *g, const void *const values[], const void *held[]) {
    g->arrays = 0;
    for (int i = 0; i < g->asked; i++) {
        int *const array_of = g->array_of[g->of[i]];
        for (int k = 0; k < bf_aggregate_arrays(g->wanted[i]); k++, values++) {
            int a = 0;
            while (a < g->arrays && (held[a] != *values || g->dtypes[a] != g->wanted[i].dtype)) a++;
            if (a == g->arrays) g->dtypes[g->arrays++] = g->wanted[i].dtype;
            held[a] = *values;
            array_of[k] = a;
            if (k == 0) array_of[1] = a;
        }
    }
}
