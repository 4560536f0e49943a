/* Shared columns: aggregates of one dtype are parts of one column, as long as they absorb the same
 * values. */
#include "cpu/group/group.h"

#include <string.h>

/* The joint kind of an aggregate as the part of a column; 0: another kind. */
static unsigned joint_part(bf_aggregate a) {
    const unsigned part = bf_part_of(a.op);
    return bf_part_is_joint(part) ? part : 0;
}

void bf_group_shares_of(const bf_cpu_groups *g, const void *const values[], int of[]) {
    unsigned keeps[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->asked; i++) keeps[i] = joint_part(g->wanted[i]);
    bf_group_columns_of(g->wanted, keeps, g->asked, values, of);
}

static void set_arrays(bf_cpu_groups *g) {
    g->arrays = 0;
    for (int c = 0; c < g->count; c++) {
        g->array_of[c] = g->arrays;
        for (int k = bf_kind_takes_pairs(bf_bands_kind(g->parts[c])) ? 2 : 1; k > 0; k--)
            g->array_dtypes[g->arrays++] = g->dtypes[c];
    }
}

static void set_shares(bf_cpu_groups *g, const int of[]) {
    g->count = 0;
    memset(g->parts, 0, sizeof g->parts);
    for (int i = 0; i < g->asked; i++) {
        g->of[i] = of[i];
        g->dtypes[of[i]] = g->wanted[i].dtype;
        g->parts[of[i]] |= bf_part_of(g->wanted[i].op);
        if (of[i] >= g->count) g->count = of[i] + 1;
    }
    set_arrays(g);
}

void bf_group_share_none(bf_cpu_groups *g) {
    int of[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->asked; i++) of[i] = i;
    set_shares(g, of);
}

/* Replaces the set by another, which is made for other shares. */
static void replace_set(bf_cpu_groups *g, bf_cpu_groups *by) {
    bf_group_set_destroy(g, &g->set);
    *g = *by;
}

bf_status bf_group_share(bf_context *context, bf_cpu_groups *g, const int of[]) {
    const bool empty = bf_group_set_size(&g->set) == 0;
    if (memcmp(g->of, of, (size_t)g->asked * sizeof *of) == 0) return BF_OK;
    if (!empty && bf_group_columns_stay(g->of, of, g->asked)) return BF_OK;
    bf_cpu_groups other = *g;
    if (empty)
        set_shares(&other, of);
    else
        bf_group_share_none(&other);
    if (!bf_group_set_create(&other, 0, &other.set)) return BF_E_MEMORY;
    bf_status status = bf_group_set_merge(context, &other, &other.set, &g->set, g->of);
    if (status == BF_OK)
        replace_set(g, &other);
    else
        bf_group_set_destroy(&other, &other.set);
    return status;
}

void bf_group_shares_map(const bf_cpu_groups *into, const int of[], int map[]) {
    for (int i = 0; i < into->asked; i++) map[into->of[i]] = of[i];
}
