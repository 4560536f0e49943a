/* Histograms. */
#include "python/native/call.h"

#include <string.h>

enum { OTHERS = 3 }; /* counts behind those of the bins */

/* Integers that doubles hold are bounds as these are; greater ones are for Python. */
static bool read_bound(PyObject *x, double *bound) {
    const long long most = (1LL << 53) - 1;
    int64_t whole;
    if (PyFloat_Check(x)) {
        *bound = PyFloat_AsDouble(x);
        return true;
    }
    if (!native_read_whole(x, -most, most, &whole)) return false;
    *bound = (double)whole;
    return true;
}

static bool read_range(native_call *c) {
    PyObject *range = c->given[RANGE];
    return native_length_of(range) == 2 && read_bound(native_item_of(range, 0), &c->q[0]) &&
           read_bound(native_item_of(range, 1), &c->q[1]) && c->q[0] <= c->q[1];
}

static bool has_edges(const native_call *c) {
    return c->given[BINS] != NULL && native_length_of(c->given[BINS]) >= 0;
}

static bool read_edges(native_call *c) {
    PyObject *edges = c->given[BINS];
    const Py_ssize_t length = native_length_of(edges);
    if (length < 2 || length > EDGES || is_given(c, RANGE)) return false;
    for (Py_ssize_t i = 0; i < length; i++)
        if (!read_bound(native_item_of(edges, i), &c->edges[i]) ||
            (i > 0 && !(c->edges[i - 1] < c->edges[i])))
            return false; /* Python says what is wrong */
    c->n = length - 1;
    return true;
}

static bool read_bins(native_call *c) {
    c->n = 10;
    if (has_edges(c)) return read_edges(c);
    return (c->given[BINS] == NULL || native_read_whole(c->given[BINS], 1, BF_BINS_MAX, &c->n)) &&
           (!is_given(c, RANGE) || read_range(c));
}

/* Work on a GPU is enqueued if the bins are known; else arrays are made when they are. */
static bool plan_histogram(native_call *c) {
    if (!read_bins(c) || c->arrays[0].kind == NATIVE_PLAIN_BUFFER) return false;
    const bool are_known = has_edges(c) || is_given(c, RANGE);
    if (!are_known || !is_on_gpu(c) || !is_contiguous(&c->arrays[0].view)) return true;
    return native_add_extent(native_add_result(c, BF_I64), c->n + OTHERS) &&
           native_add_extent(native_add_result(c, BF_F64), c->n + 1);
}

static bf_status enqueue_histogram(native_call *c, const bf_histogram_options *options) {
    const native_library *l = &c->module->library;
    const bf_array *x = &c->arrays[0].view;
    bf_status status = l->bf_histogram_create(c->lock->context, x->dtype, options, &c->histogram);
    if (status == BF_OK) status = l->bf_histogram_async(c->histogram, x, c->target[0].data);
    return status == BF_OK ? l->bf_histogram_edges_async(c->histogram, c->target[1].data) : status;
}

static bf_status run_histogram(native_call *c) {
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = c->n);
    if (has_edges(c)) options.edges = c->edges;
    if (is_given(c, RANGE)) options.range = 1, options.lo = c->q[0], options.hi = c->q[1];
    if (c->results > 0) return enqueue_histogram(c, &options);
    return c->module->library.bf_histogram_of(c->lock->context, &c->arrays[0].view, NULL, &options,
                                              &c->histogram);
}

/* Returns the counts of the bins, and the edges. */
static PyObject *finish_enqueued(native_call *c) {
    PyObject *end = PyLong_FromLongLong(c->n), *bins = end ? PySlice_New(NULL, end, NULL) : NULL;
    PyObject *counts = bins ? PyObject_GetItem(c->made[0], bins) : NULL;
    PyObject *made = counts ? PyTuple_Pack(2, counts, c->made[1]) : NULL;
    Py_XDECREF(end);
    Py_XDECREF(bins);
    Py_XDECREF(counts);
    return made;
}

/* Makes an array of numbers of 8 bytes that the library has. */
static bool copy_numbers(native_call *c, bf_dtype dtype, const void *numbers, int64_t n) {
    const int i = c->results;
    native_add_extent(native_add_result(c, dtype), n);
    c->made[i] = native_new_array(c->module, &c->arrays[0], &c->target[i]);
    if (c->made[i] == NULL) return false;
    void *to = c->target[i].data;
    const size_t bytes = 8 * (size_t)n;
    if (is_on_gpu(c))
        return c->module->library.bf_memory_copy(c->lock->context, to, numbers, bytes) == BF_OK;
    memcpy(to, numbers, bytes);
    return true;
}

static PyObject *finish_histogram(native_call *c) {
    if (c->results > 0) return finish_enqueued(c);
    const native_library *l = &c->module->library;
    bf_histogram_info info = {.size = sizeof info};
    const bf_histogram *h = c->histogram;
    if (l->bf_histogram_describe(h, &info) != BF_OK) return NULL;
    const void *integers = l->bf_histogram_integers(h);
    const bool made =
        copy_numbers(c, BF_I64, l->bf_histogram_counts(h), info.bins) &&
        (integers != NULL ? copy_numbers(c, info.edges, integers, info.bins + 1)
                          : copy_numbers(c, BF_F64, l->bf_histogram_edges(h), info.bins + 1));
    return made ? PyTuple_Pack(2, c->made[0], c->made[1]) : NULL;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const native_row native_histogram_rows[] = {
    {"histogram",
     {{"a", FIRST}, {"bins", BINS}, {"range", RANGE}, {"context", CONTEXT}},
     plan_histogram,
     run_histogram,
     finish_histogram},
    {.name = NULL},
};
