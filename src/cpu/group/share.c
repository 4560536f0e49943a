/* Shared columns: aggregates of one dtype are parts of one column, as long as they absorb the same
 * values. */
#include "cpu/group/group.h"

#include "rules/reduce/columns.h"

#include <string.h>

static void set_columns(bf_cpu_groups *g, const int columns[]) {
    g->count = 0;
    memset(g->parts, 0, sizeof g->parts);
    for (int i = 0; i < g->asked; i++) {
        const int c = g->of[i] = columns[i];
        g->dtypes[c] = g->wanted[i].dtype;
        g->parts[c] |= bf_part_of(g->wanted[i].op);
        if (c >= g->count) g->count = c + 1;
    }
}

void bf_group_share_none(bf_cpu_groups *g) {
    int columns[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->asked; i++) columns[i] = i;
    set_columns(g, columns);
}

/* Replaces the set by another, which is made for other columns. */
static void replace_set(bf_cpu_groups *g, bf_cpu_groups *by) {
    bf_group_set_destroy(g, &g->set);
    *g = *by;
}

bf_status bf_group_share(bf_context *context, bf_cpu_groups *g, const int columns[]) {
    const bool empty = bf_group_set_size(&g->set) == 0;
    int to[BF_AGGREGATES_MAX] = {0}, map[BF_AGGREGATES_MAX];
    bf_columns_of_both(empty ? columns : g->of, columns, g->asked, to);
    if (memcmp(g->of, to, (size_t)g->asked * sizeof *to) == 0) return BF_OK;
    bf_cpu_groups other = *g;
    set_columns(&other, to);
    bf_group_shares_map(&other, g->of, map);
    if (!bf_group_set_create(&other, 0, &other.set)) return BF_E_MEMORY;
    bf_status status = bf_group_set_merge(context, &other, &other.set, &g->set, map);
    if (status == BF_OK)
        replace_set(g, &other);
    else
        bf_group_set_destroy(&other, &other.set);
    return status;
}

void bf_group_take_arrays(bf_cpu_groups *g, const bf_group_job *job) {
    g->arrays = job->arrays;
    for (int k = 0; k < job->arrays; k++) g->array_dtypes[k] = job->dtypes[k];
    for (int i = 0; i < g->asked; i++)
        for (int k = 0; k < 2; k++) g->array_of[g->of[i]][k] = job->of[i][k];
}

void bf_group_shares_map(const bf_cpu_groups *into, const int of[], int map[]) {
    for (int i = 0; i < into->asked; i++) map[into->of[i]] = of[i];
}
