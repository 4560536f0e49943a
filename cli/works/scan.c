/* Sums, products and extremes of every prefix. */
#include "works/works.h"

#include <string.h>

static const struct {
    const char *name;
    bf_reduction op;
} scans[] = {{"cumsum", BF_SUM}, {"cumprod", BF_PROD}, {"cummin", BF_MIN}, {"cummax", BF_MAX}};
enum { SCANS = sizeof scans / sizeof *scans };

/* ---- verify ---------------------------------------------------------------------------------- */

static bf_scan_options rules_of(const task *t) {
    return BF_SCAN_OPTIONS(.nan = t->nan, .overflow = BF_OVERFLOW_WRAP);
}

static bf_status open(task *t) {
    const bf_scan_options rules = rules_of(t);
    const bf_dtype to = bf_scan_dtype((bf_reduction)t->what, t->a.dtype, &rules);
    return work_room(t, to, t->a.shape[0], false, &t->out);
}

static bf_status whole(task *t) {
    const bf_scan_options rules = rules_of(t);
    const bf_status st = bf_scan(t->context, (bf_reduction)t->what, &t->a, 0, &rules, &t->out.host);
    return work_add_array(t, st, &t->out.host);
}

/* Each part after the state of those before. */
static bf_status parts(task *t) {
    const bf_scan_options rules = rules_of(t);
    const int64_t n = t->a.shape[0];
    bf_state *state = NULL;
    bf_status st = bf_state_create(t->context, (bf_reduction)t->what, t->a.dtype, &state);
    for (int i = 0; i < WORK_PARTS && st == BF_OK; i++) {
        const int64_t first = work_cut(n, i, WORK_PARTS), last = work_cut(n, i + 1, WORK_PARTS);
        const bf_array a = work_slice(&t->a, first, last),
                       to = work_slice(&t->out.host, first, last);
        st = bf_state_scan(state, &a, &rules, &to);
    }
    bf_state_destroy(state);
    return work_add_array(t, st, &t->out.host);
}

/* Products of floats have no scan. */
static bool row(task *t, int i) {
    for (int k = 0; k < SCANS; k++) {
        if (bf_scan_dtype(scans[k].op, t->a.dtype, NULL) == BF_NONE || i-- > 0) continue;
        t->what = (int)scans[k].op;
        t->op = scans[k].name;
        return true;
    }
    return false;
}

/* ---- bench: the data name the scan, as order has it ------------------------------------------ */

static const char *const points[][2] = {
    {"f64", "cumsum"}, {"f32", "cumsum"}, {"i64", "cumsum"}, {"f32", "cummax"}, {NULL, NULL}};
static const char *const none[][2] = {{NULL, NULL}}; /* GPUs leave scans to the CPU */

static bf_reduction op_of(const bench_point *p) {
    int k = 0;
    while (strcmp(scans[k].name, p->data) != 0) k++;
    return scans[k].op;
}

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const bf_dtype dtype = bf_dtype_from_name(p->dtype);
    v[0] = (point_vector){dtype, p->count, point_elements};
    v[1] = (point_vector){bf_scan_dtype(op_of(p), dtype, NULL), p->count, NULL};
}

/* Sums of random integers wrap. */
static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    const bf_scan_options rules = BF_SCAN_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    (void)o;
    return bf_scan(p->context, op_of(p), &v[0], 0, &rules, &v[1]);
}

const work work_scan = {
    .row = row,
    .stays = work_always,
    .open = open,
    .whole = whole,
    .parts = parts,
    .measure =
        &(const measure){
            .work = "scan",
            .item = "elements",
            .points = {points, none},
            .counts = {{{1 << 24}, {1 << 20}}, {{1 << 24}, {1 << 20}}},
            .vectors = vectors,
            .pass = pass,
        },
};
