#include "work/wide.h"

#include "runtime/info.h"
#include "work/units.h"

static bool is_integer(bf_dtype dtype) { return dtype >= BF_I8 && dtype <= BF_U64; }

bool wide_joins(bf_dtype a, bf_dtype b) {
    return a == b || (units_are_integers(a) && units_are_integers(b));
}

bf_status wide_state(bf_context *context, bf_state **state) {
    const bf_state_info info = state_info(*state);
    bf_state *wide = NULL;
    bf_status st = bf_state_create(context, info.op, BF_I128, &wide);
    if (st == BF_OK) st = bf_state_merge(wide, *state);
    if (st == BF_OK && bf_reduction_result(info.op) >= BF_RESULT_INDEX)
        st = bf_state_seek(wide, info.next);
    bf_state_destroy(st == BF_OK ? *state : wide);
    if (st == BF_OK) *state = wide;
    return st;
}

bool wide_is_same_kind(const bf_groups *a, const bf_groups *b) {
    const bf_groups_options x = groups_kind(a), y = groups_kind(b);
    bool same = x.key == y.key && x.count == y.count;
    for (int i = 0; same && i < x.count; i++)
        same = x.aggregates[i].op == y.aggregates[i].op &&
               x.aggregates[i].dtype == y.aggregates[i].dtype;
    return same;
}

bf_status wide_groups(bf_context *context, bf_groups **groups) {
    bf_groups_options kind = groups_kind(*groups);
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    bf_groups *wide = NULL;
    bool same = !is_integer(kind.key);
    if (!same) kind.key = BF_I128;
    for (int i = 0; i < kind.count; i++) {
        aggregates[i] = kind.aggregates[i];
        if (!is_integer(aggregates[i].dtype)) continue;
        aggregates[i].dtype = BF_I128;
        same = false;
    }
    kind.aggregates = aggregates;
    if (same) return BF_OK;
    bf_status st = bf_groups_create(context, &kind, &wide);
    if (st == BF_OK) st = bf_groups_merge(wide, *groups);
    bf_groups_destroy(st == BF_OK ? *groups : wide);
    if (st == BF_OK) *groups = wide;
    return st;
}

bf_status wide_rescale(bf_context *context, bf_groups **groups, int key, const int digits[]) {
    const bf_groups_options kind = groups_kind(*groups);
    bool beyond = key > BF_SCALE_MOST;
    for (int i = 0; i < kind.count && digits; i++) beyond = beyond || digits[i] > BF_SCALE_MOST;
    bf_status st = beyond ? BF_E_OVERFLOW : bf_groups_rescale(*groups, key, digits);
    if (st != BF_E_OVERFLOW) return st;
    st = wide_groups(context, groups);
    return st == BF_OK ? bf_groups_rescale(*groups, key, digits) : st;
}
