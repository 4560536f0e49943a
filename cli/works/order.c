/* What depends on the order of values. */
#include "sheet/output.h"
#include "works/works.h"

#include <stdlib.h>

enum { TOP_MOST = 100, QUANTILES = 7 };

static const double quantiles[QUANTILES] = {0, 0.01, 0.25, 0.5, 0.75, 0.999, 1};
static const int axis = 0;

static bf_order_options rules_of(const task *t) {
    return (bf_order_options){.size = sizeof(bf_order_options), .nan = t->nan};
}

/* Makes room for n results of the dtype, and for as many integers. */
static bf_status open(task *t) {
    return work_room(t, BF_PAIR, t->a.shape[0] + QUANTILES, false, &t->out);
}

static bf_array results(const task *t, bf_dtype dtype, int64_t n) {
    return bf_array_of(dtype, t->out.host.data, n);
}

static bf_status sort(task *t) {
    const bf_array values = results(t, t->a.dtype, t->a.shape[0]);
    const bf_order_options rules = rules_of(t);
    return work_add_array(t, bf_sort(t->context, &t->a, 0, &rules, &values, NULL), &values);
}

static bf_status argsort(task *t) {
    const bf_array positions = results(t, BF_I64, t->a.shape[0]);
    const bf_order_options rules = rules_of(t);
    return work_add_array(t, bf_sort(t->context, &t->a, 0, &rules, NULL, &positions), &positions);
}

static bf_status median(task *t) {
    const bf_array value = {.data = t->out.host.data, .dtype = bf_median_dtype(t->a.dtype)},
                   one = results(t, value.dtype, 1);
    const bf_order_options rules = rules_of(t);
    return work_add_array(t, bf_median_axes(t->context, &t->a, &axis, 1, &rules, &value), &one);
}

/* By every method. */
static bf_status quantile(task *t) {
    bf_order_options rules = rules_of(t);
    bf_status st = BF_OK;
    for (rules.method = BF_QUANTILE_LINEAR;
         rules.method <= BF_QUANTILE_NORMAL_UNBIASED && st == BF_OK; rules.method++) {
        const bf_array values = results(t, bf_quantile_dtype(t->a.dtype, rules.method), QUANTILES);
        st = bf_quantile_axes(t->context, &t->a, &axis, 1, quantiles, QUANTILES, &rules, &values);
        st = work_add_array(t, st, &values);
    }
    return st;
}

static bf_status top(task *t) {
    const int64_t n = t->a.shape[0];
    const bf_array values = results(t, t->a.dtype, n < TOP_MOST ? n : TOP_MOST);
    bf_order_options rules = rules_of(t);
    rules.descending = true;
    return work_add_array(t, bf_top(t->context, &t->a, 0, values.shape[0], &rules, &values, NULL),
                          &values);
}

static bf_status unique(task *t) {
    int64_t n = t->a.shape[0];
    const bf_order_options rules = rules_of(t);
    bf_array values = results(t, t->a.dtype, n);
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
    const bf_order_options rules = rules_of(t);
    bf_value found[QUANTILES];
    bf_array values = bf_array_of(BF_PAIR, found, QUANTILES);
    if (wide) values = (bf_array){found, BF_PAIR, 2, {QUANTILES, 2}, {2, 1}};
    const bf_status st =
        bf_quantile_axes(t->context, &t->a, &axis, 1, quantiles, QUANTILES, &rules, &values);
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
} calls[] = {{"sort", sort, sort},        {"argsort", argsort, NULL},
             {"median", median, median},  {"quantile", quantile, quantile},
             {"passes", passes, at_once}, {"top", top, top},
             {"unique", unique, unique}};
enum { CALLS = sizeof calls / sizeof *calls };

/* The CPU selects from i128. */
static bool is_wide(const task *t) { return t->a.dtype == BF_I128; }

static bf_status whole(task *t) { return calls[t->what].whole(t); }

static bf_status parts(task *t) {
    const int64_t n = t->a.shape[0];
    int64_t cuts[WORK_PARTS + 1];
    const bf_array offsets = bf_array_of(BF_I64, cuts, WORK_PARTS + 1);
    for (int i = 0; i <= WORK_PARTS; i++) cuts[i] = work_cut(n, i);
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

enum { FEW_QUANTILES = 5, TOP = 100 };

static const char *const points[][2] = {{"u32", "sort"},   {"i64", "sort"},      {"f32", "sort"},
                                        {"f64", "sort"},   {"f32", "argsort"},   {"f32", "median"},
                                        {"f64", "median"}, {"f64", "quantiles"}, {"f32", "top-100"},
                                        {NULL, NULL}};

static size_t fit_elements(size_t n) { return n < TOP ? TOP : n; }

/* The results of the call: as many as there are elements, or a few. */
static point_vector results_of(const bench_point *p, bf_dtype dtype) {
    switch (*p->data) {
    case 's': return (point_vector){dtype, p->count, NULL};
    case 'a': return (point_vector){BF_I64, p->count, NULL};
    case 'm': return (point_vector){bf_median_dtype(dtype), 1, NULL};
    case 'q':
        return (point_vector){bf_quantile_dtype(dtype, BF_QUANTILE_LINEAR), FEW_QUANTILES, NULL};
    default: return (point_vector){dtype, TOP, NULL};
    }
}

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const bf_dtype dtype = bf_dtype_from_name(p->dtype);
    v[0] = (point_vector){dtype, p->count, point_elements};
    v[1] = results_of(p, dtype);
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    static const double q[FEW_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
    static const bf_order_options greatest = {.size = sizeof greatest, .descending = true};
    const bf_array *a = &v[0], *to = &v[1], one = {.data = to->data, .dtype = to->dtype};
    bf_context *context = p->context;
    (void)o;
    switch (*p->data) {
    case 's': return bf_sort(context, a, 0, NULL, to, NULL);
    case 'a': return bf_sort(context, a, 0, NULL, NULL, to);
    case 'm': return bf_median_axes(context, a, &axis, 1, NULL, &one);
    case 'q': return bf_quantile_axes(context, a, &axis, 1, q, FEW_QUANTILES, NULL, to);
    default: return bf_top(context, a, 0, TOP, &greatest, to, NULL);
    }
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
