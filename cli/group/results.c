#include "group/results.h"

#include "memory/large.h"
#include "runtime/info.h"

#include <stdlib.h>

/* Takes an aggregate as an array. It stays without one if that cannot hold every value. */
static bf_status take_array(bf_groups *groups, const bf_reduce_options *rules, int which,
                            results *r) {
    const size_t n = (size_t)bf_groups_size(groups);
    r->dtype = bf_groups_aggregate_dtype(groups, which, rules);
    r->array = r->memory = large_alloc((n + 1) * bf_dtype_size(r->dtype));
    if (!r->array) return BF_E_MEMORY;
    const bf_array all = bf_array_of(r->dtype, r->array, (int64_t)n);
    const bf_status st = bf_groups_aggregate(groups, which, rules, &all, NULL);
    if (st != BF_E_OVERFLOW) return st;
    free(r->memory);
    r->array = r->memory = NULL;
    return BF_OK;
}

static bf_status take_values(bf_groups *groups, const bf_reduce_options *rules, int which,
                             results *r) {
    r->values = malloc(((size_t)bf_groups_size(groups) + 1) * sizeof *r->values);
    return r->values ? bf_groups_result(groups, which, rules, r->values) : BF_E_MEMORY;
}

/* The rules for an aggregate: an extreme is an element. */
static bf_reduce_options rules_of(bf_reduction op, const options *o) {
    bf_reduce_options rules = o->rules;
    if (bf_reduction_result(op) == BF_RESULT_ELEMENT) rules.out_dtype = BF_NONE;
    return rules;
}

static bf_reduction op_of(const bf_groups *groups, int which) {
    return groups_kind(groups).aggregates[which].op;
}

bf_dtype results_dtype(const bf_groups *groups, const options *o, int which) {
    const bf_reduce_options rules = rules_of(op_of(groups, which), o);
    return bf_groups_aggregate_dtype(groups, which, &rules);
}

/* The extreme of NaNs that are all skipped is no element. */
bf_status results_take(bf_groups *groups, const options *o, int which, int scale, results *r) {
    const bf_reduction op = op_of(groups, which);
    bf_reduce_options rules = rules_of(op, o);
    rules.scale = r->scale = scale;
    const bool extreme = bf_reduction_result(op) == BF_RESULT_ELEMENT;
    bf_status st = BF_OK;
    if (!extreme || rules.nan != BF_NAN_SKIP) st = take_array(groups, &rules, which, r);
    if (st == BF_OK && !r->array) st = take_values(groups, &rules, which, r);
    return st;
}

bf_status results_take_shares(bf_groups *groups, bf_groups *of, const options *o, int which,
                              results *r) {
    r->dtype = o->rules.out_dtype == BF_F32 ? BF_F32 : BF_F64;
    r->values = malloc(((size_t)bf_groups_size(groups) + 1) * sizeof *r->values);
    return r->values ? bf_groups_shares(groups, which, of, &o->rules, r->values) : BF_E_MEMORY;
}

void results_free(results *r) {
    free(r->memory);
    free(r->values);
}
