/* Reductions: the value of each, or the state where that tells more. */
#include "reduce/reduce.h"
#include "works/data.h"
#include "works/works.h"

#include <string.h>

static bf_reduction reduction_of(const task *t) { return (bf_reduction)t->what; }

static bf_status create(const task *t, work_object *o) {
    return bf_state_create(t->context, reduction_of(t), t->a.dtype, &o->saved.state);
}

static bf_status absorb(task *t, work_object *o, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last);
    bf_state *state = o->saved.state;
    if (bf_reduction_arrays(reduction_of(t)) == 2) return bf_state_absorb_pair(state, &a, &b);
    const bf_status st = reduce_is_ordered(reduction_of(t)) ? bf_state_seek(state, first) : BF_OK;
    return st == BF_OK ? bf_state_absorb(state, &a) : st;
}

/* work_result tells these by their states. */
static bf_status reduce_whole(task *t) {
    const bf_reduction op = reduction_of(t);
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = t->nan);
    if (op == BF_DESCRIBE || op == BF_PROD) return work_absorb(t, 1);
    return bf_reduction_arrays(op) == 2
               ? bf_reduce_pair(t->context, op, &t->a, &t->b, &rules, &t->value)
               : bf_reduce(t->context, op, &t->a, &rules, &t->value);
}

/* Pairs are of the first half and the second. */
static bool row(task *t, int i) {
    const int64_t n = t->a.shape[0];
    const bf_reduction op = data_reductions[i];
    if (!op) return false;
    t->op = bf_reduction_name(op);
    t->what = (int)op;
    t->sum_is_1 = op == BF_SUM && strcmp(t->data, data_names[DATA_WIDE]) == 0;
    const bool pairs = bf_reduction_arrays(op) == 2;
    t->b = work_slice(&t->a, 0, pairs ? n / 2 : 0);
    if (pairs) t->a = work_slice(&t->a, n - n / 2, n);
    return true;
}

/* ---- bench ----------------------------------------------------------------------------------- */

static bf_status enqueue(const bench_point *p, const bf_array *v) {
    if (bf_reduction_arrays(p->reduction) == 2)
        return bf_reduce_pair_async(p->context, p->reduction, &v[0], &v[1], NULL, p->gpu->result);
    return bf_reduce_async(p->context, p->reduction, &v[0], NULL, p->gpu->result);
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    bf_description description = {.size = sizeof description};
    bf_value value;
    (void)o;
    if (p->stream) return enqueue(p, v);
    if (p->reduction == BF_DESCRIBE) return bf_describe(p->context, &v[0], NULL, &description);
    if (bf_reduction_arrays(p->reduction) == 2)
        return bf_reduce_pair(p->context, p->reduction, &v[0], &v[1], NULL, &value);
    return bf_reduce(p->context, p->reduction, &v[0], NULL, &value);
}

const work work_reduce = {
    .row = row,
    .whole = reduce_whole,
    .create = create,
    .absorb = absorb,
    .measure = &(const measure){.pass = pass},
};
