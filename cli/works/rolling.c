/* Windows of so many elements. */
#include "works/data.h"
#include "works/works.h"

#include <string.h>

enum { WINDOW = 50 };

static const struct {
    const char *name;
    bf_reduction op; /* BF_PROD: the median */
} windows[] = {{"rolling-sum", BF_SUM},    {"rolling-mean", BF_MEAN}, {"rolling-var", BF_VAR},
               {"rolling-std", BF_STD},    {"rolling-min", BF_MIN},   {"rolling-max", BF_MAX},
               {"rolling-median", BF_PROD}};
enum { WINDOWS = sizeof windows / sizeof *windows };

static bf_dtype dtype_of(bf_reduction op, bf_dtype dtype, const bf_rolling_options *rules) {
    if (op != BF_PROD) return bf_rolling_dtype(op, dtype, rules);
    return data_is_float(dtype) ? bf_median_dtype(dtype) : BF_F64;
}

static bf_status roll(bf_context *context, bf_reduction op, const bf_array *a,
                      const bf_rolling_options *rules, const bf_array *to) {
    return op == BF_PROD ? bf_rolling_median(context, a, 0, rules, to)
                         : bf_rolling(context, op, a, 0, rules, to);
}

/* ---- verify ---------------------------------------------------------------------------------- */

enum { VERIFIED = 1 << 14 }; /* elements: hard data take many times as long as others */

static int64_t count_of(const task *t) {
    return t->a.shape[0] < VERIFIED ? t->a.shape[0] : VERIFIED;
}

static bf_rolling_options rules_of(const task *t) {
    return BF_ROLLING_OPTIONS(.nan = t->nan, .window = WINDOW, .min_count = 1);
}

static bf_status open(task *t) {
    const bf_rolling_options rules = rules_of(t);
    const bf_dtype to = dtype_of((bf_reduction)t->what, t->a.dtype, &rules);
    return work_room(t, to, count_of(t), false, &t->out);
}

static bf_status whole(task *t) {
    const bf_rolling_options rules = rules_of(t);
    const bf_array a = work_slice(&t->a, 0, count_of(t));
    const bf_status st = roll(t->context, (bf_reduction)t->what, &a, &rules, &t->out.host);
    return work_add_array(t, st, &t->out.host);
}

/* The last part first: each begins with elements of the part before it, whose results are wrong
 * until that part is done. */
static bf_status parts(task *t) {
    const bf_rolling_options rules = rules_of(t);
    bf_status st = BF_OK;
    for (int i = WORK_PARTS - 1; i >= 0 && st == BF_OK; i--) {
        const int64_t first = work_cut(count_of(t), i, WORK_PARTS),
                      last = work_cut(count_of(t), i + 1, WORK_PARTS),
                      from = first < WINDOW ? 0 : first - WINDOW;
        const bf_array a = work_slice(&t->a, from, last), to = work_slice(&t->out.host, from, last);
        st = roll(t->context, (bf_reduction)t->what, &a, &rules, &to);
    }
    return work_add_array(t, st, &t->out.host);
}

static bool row(task *t, int i) {
    if (i >= WINDOWS) return false;
    t->what = (int)windows[i].op;
    t->op = windows[i].name;
    return true;
}

/* ---- bench: the data name the operation ------------------------------------------------------ */

static const char *const points[][2] = {{"f64", "mean"}, {"f32", "mean"},   {"f64", "std"},
                                        {"f64", "max"},  {"f64", "median"}, {NULL, NULL}};
static const char *const none[][2] = {{NULL, NULL}}; /* on GPUs windows are not timed */

static bf_reduction op_of(const bench_point *p) {
    int k = 0;
    while (strcmp(windows[k].name + strlen("rolling-"), p->data) != 0) k++;
    return windows[k].op;
}

static bf_rolling_options measured(void) { return BF_ROLLING_OPTIONS(.window = WINDOW); }

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const bf_dtype dtype = bf_dtype_from_name(p->dtype);
    const bf_rolling_options rules = measured();
    v[0] = (point_vector){dtype, p->count, point_elements};
    v[1] = (point_vector){dtype_of(op_of(p), dtype, &rules), p->count, NULL};
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    const bf_rolling_options rules = measured();
    (void)o;
    return roll(p->context, op_of(p), &v[0], &rules, &v[1]);
}

const work work_rolling = {
    .row = row,
    .stays = work_always,
    .open = open,
    .whole = whole,
    .parts = parts,
    .measure =
        &(const measure){
            .work = "rolling",
            .item = "elements",
            .points = {points, none},
            .counts = {{{1 << 24}, {1 << 20}}, {{1 << 24}, {1 << 20}}},
            .vectors = vectors,
            .pass = pass,
        },
};
