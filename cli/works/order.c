/* What depends on the order of values. */
#include "sheet/output.h"
#include "works/works.h"

#include <stdlib.h>

enum { TOP = 100, QUANTILES = 7 };

static const double quantiles[QUANTILES] = {0, 0.01, 0.25, 0.5, 0.75, 0.999, 1};
/* ---- calls, which the first letter of their names tells ---------------------------------------
 */

/* Returns where the results of a call on n elements go, without memory; q: how many quantiles. */
static bf_array results_of(char call, bf_dtype dtype, int64_t n, int64_t q,
                           bf_quantile_method method) {
    switch (call) {
    case 's': return bf_array_of(dtype, NULL, n);
    case 'a': return bf_array_of(BF_I64, NULL, n);
    case 'm': return bf_array_of(bf_median_dtype(dtype), NULL, 1);
    case 'q': return bf_array_of(bf_quantile_dtype(dtype, method), NULL, q);
    default: return bf_array_of(dtype, NULL, n < TOP ? n : TOP);
    }
}

static bf_status do_call(bf_context *context, char call, const bf_array *a, const double *q,
                         bf_order_options rules, const bf_array *to) {
    static const int axis = 0;
    const bf_array one = {.data = to->data, .dtype = to->dtype};
    rules.descending = call == 't';
    switch (call) {
    case 's': return bf_sort(context, a, 0, &rules, to, NULL);
    case 'a': return bf_sort(context, a, 0, &rules, NULL, to);
    case 'm': return bf_median_axes(context, a, &axis, 1, &rules, &one);
    case 'q': return bf_quantile_axes(context, a, &axis, 1, q, (int)to->shape[0], &rules, to);
    default: return bf_top(context, a, 0, to->shape[0], &rules, to, NULL);
    }
}

/* ---- verify ---------------------------------------------------------------------------------- */

static bf_order_options rules_of(const task *t) {
    return (bf_order_options){.size = sizeof(bf_order_options), .nan = t->nan};
}

/* Makes room for n results of the dtype, and for as many integers. */
static bf_status open(task *t) {
    return work_room(t, BF_PAIR, t->a.shape[0] + QUANTILES, false, &t->out);
}

static bf_status call_by(task *t, bf_quantile_method method) {
    bf_order_options rules = rules_of(t);
    rules.method = method;
    bf_array to = results_of(*t->op, t->a.dtype, t->a.shape[0], QUANTILES, method);
    to.data = t->out.host.data;
    return work_add_array(t, do_call(t->context, *t->op, &t->a, quantiles, rules, &to), &to);
}

static bf_status call_once(task *t) { return call_by(t, BF_QUANTILE_LINEAR); }

/* By every method. */
static bf_status quantile(task *t) {
    bf_status st = BF_OK;
    for (bf_quantile_method m = BF_QUANTILE_LINEAR; m <= BF_QUANTILE_NORMAL_UNBIASED && st == BF_OK;
         m++)
        st = call_by(t, m);
    return st;
}

static bf_status unique(task *t) {
    int64_t n = t->a.shape[0];
    const bf_order_options rules = rules_of(t);
    bf_array values = bf_array_of(t->a.dtype, t->out.host.data, n);
    result_room counts = {{0}, {0}};
    bf_status st = work_room(t, BF_I64, n, false, &counts);
    if (st == BF_OK) st = bf_unique(t->context, &t->a, &rules, &values, &counts.at, &n);
    values.shape[0] = counts.host.shape[0] = n;
    st = work_add_array(t, st, &values);
    if (st == BF_OK) st = work_tell(t, &counts);
    work_room_free(t, &counts);
    return st;
}

/* Makes a copy of what has absorbed nothing in this pass, through its saved form. */
static bf_status copy_quantiles(bf_context *context, const bf_quantiles *from, bf_quantiles **to) {
    const size_t size = bf_quantiles_save_size(from);
    void *bytes = malloc(size);
    bf_status st = bytes ? bf_quantiles_save(from, bytes) : BF_E_MEMORY;
    if (st == BF_OK) st = bf_quantiles_load(context, bytes, size, to);
    free(bytes);
    return st;
}

/* A pass over all elements, of which the last third goes to another object. */
static bf_status pass_once(const task *t, bf_quantiles *q, int *done) {
    const int64_t n = t->a.shape[0];
    const bf_array first = work_slice(&t->a, 0, n - n / 3), rest = work_slice(&t->a, n - n / 3, n);
    bf_quantiles *other = NULL;
    bf_status st = copy_quantiles(t->context, q, &other);
    if (st == BF_OK) st = bf_quantiles_absorb(q, &first);
    if (st == BF_OK) st = bf_quantiles_absorb(other, &rest);
    if (st == BF_OK) st = bf_quantiles_merge(q, other);
    bf_quantiles_destroy(other);
    return st == BF_OK ? bf_quantiles_next(q, done) : st;
}

static bf_status passes(task *t) {
    const bf_order_options rules = rules_of(t);
    bf_value values[QUANTILES];
    bf_quantiles *q = NULL;
    int done = 0;
    bf_status st = bf_quantiles_create(t->context, t->a.dtype, quantiles, QUANTILES, &rules, &q);
    while (st == BF_OK && !done) st = pass_once(t, q, &done);
    if (st == BF_OK) st = bf_quantiles_result(q, values);
    for (int i = 0; i < QUANTILES && st == BF_OK; i++) work_add_value(t, &values[i]);
    bf_quantiles_destroy(q);
    return st;
}

/* What passes tells, of one call: its results are pairs of bits and dtype, or of i128 values, which
 * are two pairs. */
static bf_status at_once(task *t) {
    const bool wide = t->a.dtype == BF_I128;
    bf_value found[QUANTILES];
    bf_array values = bf_array_of(BF_PAIR, found, QUANTILES);
    if (wide) values = (bf_array){found, BF_PAIR, 2, {QUANTILES, 2}, {2, 1}};
    const bf_status st = do_call(t->context, 'q', &t->a, quantiles, rules_of(t), &values);
    for (int i = 0; i < QUANTILES && st == BF_OK; i++) {
        const bf_value value = output_element(wide ? BF_I192 : BF_PAIR, 0, found, i);
        work_add_value(t, &value);
    }
    return st;
}

/* In parts, the elements are taken after three parts of them were sorted, each for itself; but for
 * argsort. */
static const struct {
    const char *name;
    bf_status (*whole)(task *), (*parts)(task *);
} calls[] = {{"sort", call_once, call_once},   {"argsort", call_once, NULL},
             {"median", call_once, call_once}, {"quantile", quantile, quantile},
             {"passes", passes, at_once},      {"top", call_once, call_once},
             {"unique", unique, unique}};
enum { CALLS = sizeof calls / sizeof *calls };

/* The CPU selects from i128. */
static bool is_wide(const task *t) { return t->a.dtype == BF_I128; }

static bf_status whole(task *t) { return calls[t->what].whole(t); }

static bf_status parts(task *t) {
    const int64_t n = t->a.shape[0];
    int64_t cuts[WORK_PARTS + 1];
    const bf_array offsets = bf_array_of(BF_I64, cuts, WORK_PARTS + 1);
    for (int i = 0; i <= WORK_PARTS; i++) cuts[i] = work_cut(n, i, WORK_PARTS);
    if (!calls[t->what].parts) return whole(t);
    result_room sorted = {{0}, {0}};
    task of_sorted = *t;
    bf_status st = work_room(t, t->a.dtype, n, false, &sorted);
    if (st == BF_OK) st = bf_sort_segments(t->context, &t->a, &offsets, NULL, &sorted.at, NULL);
    of_sorted.a = sorted.at;
    if (st == BF_OK) st = calls[t->what].parts(&of_sorted);
    t->value = of_sorted.value;
    work_room_free(t, &sorted);
    return st;
}

/* Two i64 are an i128, too. */
static bool row(task *t, int i) {
    if (i >= (t->a.dtype == BF_I64 ? 2 : 1) * CALLS) return false;
    if (i >= CALLS) t->a = bf_array_of(BF_I128, t->a.data, t->a.shape[0] / 2);
    t->what = i % CALLS;
    t->op = calls[t->what].name;
    return true;
}

/* ---- bench ----------------------------------------------------------------------------------- *
 *
 * The data name the call. Elements are random: whole numbers of all bits, floats of a normal
 * distribution. A pass is one call, which leaves the elements as they are. */

static const double few[] = {0.05, 0.25, 0.5, 0.75, 0.95};
enum { FEW = sizeof few / sizeof *few };

static const char *const points[][2] = {{"u32", "sort"},   {"i64", "sort"},      {"f32", "sort"},
                                        {"f64", "sort"},   {"f32", "argsort"},   {"f32", "median"},
                                        {"f64", "median"}, {"f64", "quantiles"}, {"f32", "top-100"},
                                        {NULL, NULL}};

static size_t fit_elements(size_t n) { return n < TOP ? TOP : n; }

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const bf_dtype dtype = bf_dtype_from_name(p->dtype);
    const bf_array to = results_of(*p->data, dtype, (int64_t)p->count, FEW, BF_QUANTILE_LINEAR);
    v[0] = (point_vector){dtype, p->count, point_elements};
    v[1] = (point_vector){to.dtype, (size_t)to.shape[0], NULL};
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    const bf_order_options rules = {.size = sizeof rules};
    (void)o;
    return do_call(p->context, *p->data, &v[0], few, rules, &v[1]);
}

const work work_order = {
    .row = row,
    .stays = is_wide,
    .open = open,
    .whole = whole,
    .parts = parts,
    .measure =
        &(const measure){
            .work = "order",
            .item = "elements",
            .points = {points, points},
            .counts = {{{1 << 24}, {1 << 20}}, {{1 << 28}, {1 << 24}}},
            .fit = fit_elements,
            .vectors = vectors,
            .pass = pass,
        },
};
