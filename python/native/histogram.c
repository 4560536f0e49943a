/* Histograms, whose arrays are made when the bins are known. */
#include "python/native/call.h"

#include <string.h>

static bool read_range(native_call *c) {
    PyObject *range = c->given[RANGE];
    if (native_length_of(range) != 2) return false;
    for (int i = 0; i < 2; i++) {
        if (!PyFloat_CheckExact(native_item_of(range, i)))
            return false; /* integers are bounds of their own */
        c->q[i] = PyFloat_AsDouble(native_item_of(range, i));
    }
    return true;
}

static bool plan_histogram(native_call *c) {
    c->n = 10;
    if (c->given[BINS] != NULL && !native_read_whole(c->given[BINS], 1, BF_BINS_MAX, &c->n))
        return false;
    return c->arrays[0].kind != NATIVE_PLAIN_BUFFER && (!is_given(c, RANGE) || read_range(c));
}

static bf_status run_histogram(native_call *c) {
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = c->n);
    if (is_given(c, RANGE)) options.range = 1, options.lo = c->q[0], options.hi = c->q[1];
    return c->module->library.bf_histogram_of(c->lock->context, &c->arrays[0].view, NULL, &options,
                                              &c->histogram);
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
