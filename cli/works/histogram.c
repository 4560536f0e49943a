/* Histograms, compared by the checksum of their saved form: edges, counts and sums. */
#include "runtime/report.h"
#include "works/works.h"

#include <stdlib.h>

static void *save(const bf_histogram *h, size_t *size) {
    *size = bf_histogram_save_size(h);
    void *bytes = malloc(*size);
    if (bytes) bf_histogram_save(h, bytes);
    return bytes;
}

outcome work_histogram_result(const bf_histogram *h) {
    size_t size;
    void *bytes = save(h, &size);
    if (!bytes) return (outcome){.status = BF_E_MEMORY};
    const outcome r = work_saved_checksum(bytes, size);
    free(bytes);
    return r;
}

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
static bf_status create(const task *t, void **object) {
    bf_histogram *all = NULL, *h = NULL;
    size_t size;
    bf_status st = count_all(t, &all);
    void *bytes = st == BF_OK ? save(all, &size) : NULL;
    if (st == BF_OK) st = bytes ? bf_histogram_load(t->context, bytes, size, &h) : BF_E_MEMORY;
    if (st == BF_OK) bf_histogram_clear(h);
    *object = h;
    free(bytes);
    bf_histogram_destroy(all);
    return st;
}

static bf_status absorb(task *t, void *object, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last);
    if (!has_weights(t)) return bf_histogram_absorb(object, &a, NULL);
    const bf_array b = work_slice(&t->b, first, last);
    return bf_histogram_absorb(object, &a, &b);
}

static bf_status merge(void *into, void *from) { return bf_histogram_merge(into, from); }

static bf_status tell(task *t, void *object) {
    const outcome r = work_histogram_result(object);
    t->value = r.value;
    return r.status;
}

static void destroy(void *object) { bf_histogram_destroy(object); }

static bf_status count_whole(task *t) {
    bf_histogram *h = NULL;
    bf_status st = count_all(t, &h);
    if (st == BF_OK) st = tell(t, h);
    bf_histogram_destroy(h);
    return st;
}

static int rows(const task *given, task_fn *fn, void *to) {
    task t = *given;
    if (given->nan != BF_NAN_PROPAGATE) return EXIT_DONE;
    t.op = "hist";
    t.b = work_slice(&given->a, 0, 0);
    const int code = fn(&t, to);
    if (code != EXIT_DONE) return code;
    t.op = "weights";
    t.b = given->a;
    return fn(&t, to);
}

/* ---- bench: all 256 values of u8, or 100 even bins from 0 to 1 of floats -----------------------
 */

static bf_status begin(const bench_point *p, const bf_array *v, void **state) {
    const bool bytes = v->dtype == BF_U8;
    const bf_histogram_options options =
        BF_HISTOGRAM_OPTIONS(.bins = bytes ? 256 : 100, .range = 1, .hi = bytes ? 256 : 1);
    bf_histogram *h = NULL;
    const bf_status st = bf_histogram_create(p->context, v->dtype, &options, &h);
    *state = h;
    return st;
}

static bf_status pass(const bench_point *p, void *state, const bf_array *v) {
    if (p->stream) return bf_histogram_async(state, v, p->gpu->result);
    bf_histogram_clear(state);
    return bf_histogram_absorb(state, v, NULL);
}

const work work_histogram = {
    .rows = rows,
    .whole = count_whole,
    .create = create,
    .absorb = absorb,
    .merge = merge,
    .tell = tell,
    .destroy = destroy,
    .measure = &(const measure){.open = begin, .pass = pass, .close = destroy},
};
