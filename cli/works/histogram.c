/* Histograms, compared by the checksum of their saved form: edges, counts and sums. */
#include "works/works.h"

static bool has_weights(const task *t) { return t->b.shape[0] > 0; }

/* Counts over the automatic range, or from -1 to 1 if that is too wide. With weights there are
 * fewer bins, so that each sums many. */
static bf_status count_all(const task *t, bf_histogram **h) {
    const bf_array *weights = has_weights(t) ? &t->b : NULL;
    bf_histogram_options how = BF_HISTOGRAM_OPTIONS(.bins = weights ? 10 : 100, .lo = -1, .hi = 1);
    if (weights) how.weights = weights->dtype;
    const bf_status st = bf_histogram_of(t->context, &t->a, weights, &how, h);
    if (st != BF_E_ARGUMENT) return st;
    how.range = 1;
    return bf_histogram_of(t->context, &t->a, weights, &how, h);
}

/* Makes an empty histogram with the bins of all elements, through its saved form. */
static bf_status create(const task *t, work_object *o) {
    statefile all = {.histogram = NULL};
    bf_status st = count_all(t, &all.histogram);
    if (st == BF_OK) st = statefile_empty(t->context, &all, &o->saved);
    statefile_free(&all);
    return st;
}

static bf_status absorb(task *t, work_object *o, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last), b = work_slice(&t->b, first, last);
    return bf_histogram_absorb(o->saved.histogram, &a, has_weights(t) ? &b : NULL);
}

static bf_status count_whole(task *t) {
    statefile all = {.histogram = NULL};
    bf_status st = count_all(t, &all.histogram);
    if (st == BF_OK) st = work_tell_saved(t, &all);
    statefile_free(&all);
    return st;
}

static bool row(task *t, int i) {
    static const char *const names[] = {"hist", "weights"};
    if (t->nan != BF_NAN_PROPAGATE || i == 2) return false;
    t->op = names[i];
    t->b = i == 0 ? work_slice(&t->a, 0, 0) : t->a;
    return true;
}

/* ---- bench: all 256 values of u8, or 100 even bins from 0 to 1 of floats -----------------------
 */

static bf_status begin(const bench_point *p, const bf_array *v, work_object *o) {
    const bool bytes = v->dtype == BF_U8;
    const bf_histogram_options how =
        BF_HISTOGRAM_OPTIONS(.bins = bytes ? 256 : 100, .range = 1, .hi = bytes ? 256 : 1);
    return bf_histogram_create(p->context, v->dtype, &how, &o->saved.histogram);
}

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    bf_histogram *h = o->saved.histogram;
    if (p->stream) return bf_histogram_async(h, v, p->gpu->result);
    bf_histogram_clear(h);
    return bf_histogram_absorb(h, v, NULL);
}

const work work_histogram = {
    .row = row,
    .whole = count_whole,
    .create = create,
    .absorb = absorb,
    .measure = &(const measure){.open = begin, .pass = pass},
};
