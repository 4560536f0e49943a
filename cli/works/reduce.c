/* Reductions: the value of each, or the state where that tells more. */
#include "reduce/reduce.h"
#include "runtime/report.h"
#include "works/data.h"
#include "works/works.h"

#include <stdlib.h>
#include <string.h>

/* Is the state compared instead of the value? A description has many values, and a product is soon
 * 0 or infinite. */
static bool tells_by_state(bf_reduction op) { return op == BF_DESCRIBE || op == BF_PROD; }

static outcome state_checksum(const bf_state *state) {
    const size_t size = bf_state_save_size(state);
    void *bytes = malloc(size);
    if (!bytes) return (outcome){.status = BF_E_MEMORY};
    bf_state_save(state, bytes);
    const outcome r = work_saved_checksum(bytes, size);
    free(bytes);
    return r;
}

outcome work_state_result(const bf_state *state, const bf_reduce_options *rules) {
    bf_state_info info = {.size = sizeof info};
    outcome r = {.status = BF_OK};
    bf_state_describe(state, &info);
    if (tells_by_state(info.op)) return state_checksum(state);
    r.status = bf_state_result(state, rules, &r.value);
    return r;
}

static bf_status create_state(const task *t, void **object) {
    bf_state *state = NULL;
    const bf_status st = bf_state_create(t->context, (bf_reduction)t->what, t->a.dtype, &state);
    *object = state;
    return st;
}

static bf_status absorb(task *t, void *object, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last);
    if (t->what == BF_DOT) return bf_state_absorb_pair(object, &a, &b);
    const bf_status st =
        reduce_is_ordered((bf_reduction)t->what) ? bf_state_seek(object, first) : BF_OK;
    return st == BF_OK ? bf_state_absorb(object, &a) : st;
}

static bf_status merge(void *into, void *from) { return bf_state_merge(into, from); }

static bf_status tell(task *t, void *object) {
    const outcome r = work_state_result(object, &BF_REDUCE_OPTIONS(.nan = t->nan));
    t->value = r.value;
    return r.status;
}

static void destroy(void *object) { bf_state_destroy(object); }

static bf_status reduce_whole(task *t) {
    const bf_reduction op = (bf_reduction)t->what;
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = t->nan);
    if (tells_by_state(op)) return work_absorb_whole(t);
    return op == BF_DOT ? bf_dot(t->context, &t->a, &t->b, &rules, &t->value)
                        : bf_reduce(t->context, op, &t->a, &rules, &t->value);
}

/* dot pairs the first half with the second. */
static int rows(const task *given, task_fn *fn, void *to) {
    const int64_t n = given->a.shape[0];
    int code = EXIT_DONE;
    for (const bf_reduction *op = data_reductions; *op && code == EXIT_DONE; op++) {
        const bool dot = *op == BF_DOT;
        task t = *given;
        t.op = bf_reduction_name(*op);
        t.what = (int)*op;
        t.sum_is_1 = *op == BF_SUM && strcmp(t.data, data_names[DATA_WIDE]) == 0;
        t.b = work_slice(&given->a, 0, dot ? n / 2 : 0);
        if (dot) t.a = work_slice(&given->a, n - n / 2, n);
        code = fn(&t, to);
    }
    return code;
}

/* ---- bench ----------------------------------------------------------------------------------- */

static bf_status enqueue(const bench_point *p, const bf_array *v) {
    if (p->reduction == BF_DOT) return bf_dot_async(p->context, &v[0], &v[1], NULL, p->gpu->result);
    return bf_reduce_async(p->context, p->reduction, &v[0], NULL, p->gpu->result);
}

static bf_status pass(const bench_point *p, void *state, const bf_array *v) {
    bf_description description = {.size = sizeof description};
    bf_value value;
    (void)state;
    if (p->stream) return enqueue(p, v);
    if (p->reduction == BF_DESCRIBE) return bf_describe(p->context, &v[0], NULL, &description);
    if (p->reduction == BF_DOT) return bf_dot(p->context, &v[0], &v[1], NULL, &value);
    return bf_reduce(p->context, p->reduction, &v[0], NULL, &value);
}

const work work_reduce = {
    .rows = rows,
    .whole = reduce_whole,
    .create = create_state,
    .absorb = absorb,
    .merge = merge,
    .tell = tell,
    .destroy = destroy,
    .measure = &(const measure){.pass = pass},
};
