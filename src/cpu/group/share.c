/* Shared columns: aggregates of one dtype are parts of one column, as long as they absorb the same
 * values. */
#include "cpu/group/group.h"

#include <string.h>

/* The joint kind of an aggregate as the part of a column; 0: another kind. */
static unsigned joint_part(bf_aggregate a) {
    const unsigned part = bf_part_of(a.op);
    return bf_part_is_joint(part) ? part : 0;
}

static bool may_share(bf_aggregate a, const void *const a_values[], bf_aggregate b,
                      const void *const b_values[]) {
    return a.dtype == b.dtype && joint_part(a) == joint_part(b) &&
           memcmp(a_values, b_values, (size_t)bf_aggregate_arrays(a) * sizeof *a_values) == 0;
}

void bf_group_shares_of(const bf_cpu_groups *g, const void *const values[], int of[]) {
    const void *const *of_each[BF_AGGREGATES_MAX];
    int count = 0;
    for (int i = 0; i < g->asked; i++) {
        int k = 0;
        of_each[i] = values;
        values += bf_aggregate_arrays(g->wanted[i]);
        while (k < i && !may_share(g->wanted[k], of_each[k], g->wanted[i], of_each[i])) k++;
        of[i] = k < i ? of[k] : count++;
    }
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

/* Whether aggregates that share a column now shall share one by `of` too. */
static bool may_stay(const bf_cpu_groups *g, const int of[]) {
    for (int i = 0; i < g->asked; i++)
        for (int k = 0; k < i; k++)
            if (g->of[i] == g->of[k] && of[i] != of[k]) return false;
    return true;
}

/* Replaces the set by another, which is made for other shares. */
static void replace_set(bf_cpu_groups *g, bf_cpu_groups *by) {
    bf_group_set_destroy(g, &g->set);
    *g = *by;
}

bf_status bf_group_share(bf_context *context, bf_cpu_groups *g, const int of[]) {
    const bool empty = bf_group_set_size(&g->set) == 0;
    if (memcmp(g->of, of, (size_t)g->asked * sizeof *of) == 0) return BF_OK;
    if (!empty && may_stay(g, of)) return BF_OK;
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
