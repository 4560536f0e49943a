/* Sorting, different values, medians and quantiles. */
#include "python/native/call.h"

#include <string.h>

enum { VALUES, POSITIONS }; /* what sorting gives */

static bool plan_sort(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    int64_t axis = -1;
    if (c->given[AXIS] != NULL && !native_read_whole(c->given[AXIS], -x->ndim, x->ndim - 1, &axis))
        return false;
    if (x->ndim == 0) return false;
    c->axes[0] = (int)axis;
    bf_array *target = native_add_result(c, c->function->choice == VALUES ? x->dtype : BF_I64);
    for (int d = 0; d < x->ndim; d++) native_add_extent(target, x->shape[d]);
    return true;
}

/* Lines that lie apart are copied, and NaNs that are refused are looked for: both wait. */
static bool sort_waits(const native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    const bool is_last = c->axes[0] == -1 || c->axes[0] == x->ndim - 1;
    return !is_last || !is_contiguous(x) || (c->has_options && c->order.nan == BF_NAN_ERROR);
}

static bf_status run_sort(native_call *c) {
    const native_library *l = &c->module->library;
    const bool positions = c->function->choice == POSITIONS;
    return (is_enqueued(c, sort_waits(c)) ? l->bf_sort_async : l->bf_sort)(
        c->lock->context, &c->arrays[0].view, c->axes[0], order_options(c),
        positions ? NULL : &c->target[0], positions ? &c->target[0] : NULL);
}

/* ---- different values ------------------------------------------------------------------------ */

enum { DIFFERENT, DIFFERENT_NAMED, DIFFERENT_VALUES }; /* with their counts, or not */

static bool plan_unique(native_call *c) {
    const int64_t most = native_elements_of(&c->arrays[0].view);
    native_add_extent(native_add_result(c, c->arrays[0].view.dtype), most);
    if (c->function->choice != DIFFERENT_VALUES)
        native_add_extent(native_add_result(c, BF_I64), most);
    return true;
}

static bf_status run_unique(native_call *c) {
    return c->module->library.bf_unique(c->lock->context, &c->arrays[0].view, order_options(c),
                                        &c->target[0], c->results > 1 ? &c->target[1] : NULL,
                                        &c->n);
}

static PyObject *finish_unique(native_call *c) {
    const int choice = c->function->choice;
    PyObject *counts = c->results > 1 ? c->made[1] : Py_None;
    if (choice == DIFFERENT && c->n == c->target[0].shape[0])
        return PyTuple_Pack(2, c->made[0], counts);
    PyObject *given = Py_BuildValue("iLOO", choice, (long long)c->n, c->made[0], counts);
    PyObject *cut = given != NULL ? native_rule(c->module, "different", given) : NULL;
    Py_XDECREF(given);
    return cut;
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static bool add_q(native_call *c, PyObject *x) {
    if (!PyFloat_Check(x) && !PyLong_Check(x)) return false;
    c->q[c->n_q] = PyFloat_AsDouble(x) / c->function->choice;
    return c->q[c->n_q++] != -1 || !PyErr_Occurred();
}

static bool read_q(native_call *c) {
    PyObject *q = c->given[Q];
    const Py_ssize_t length = native_length_of(q);
    c->n_q = 0;
    if (length < 0) return add_q(c, q);
    if (length > QUANTILES) return false;
    for (Py_ssize_t i = 0; i < length; i++)
        if (!add_q(c, native_item_of(q, i))) return false;
    return true;
}

/* Quantiles that are elements have their dtype. */
static bool plan_quantiles(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    const native_library *library = &c->module->library;
    const bool is_median = c->given[Q] == NULL;
    int64_t length;
    c->n_q = 0;
    if (!native_read_axes(c) || (!is_median && !read_q(c)) || !native_find_length(c, &length))
        return false;
    const bool whole = length > 0 && library->bf_quantile_is_whole(BF_QUANTILE_LINEAR, length,
                                                                   is_median ? NULL : c->q, c->n_q);
    const bf_dtype dtype = whole       ? x->dtype
                           : is_median ? library->bf_median_dtype(x->dtype)
                                       : library->bf_quantile_dtype(x->dtype, BF_QUANTILE_LINEAR);
    if (dtype == BF_NONE) return false;
    c->is_number = !is_given(c, AXIS);
    bf_array *target = native_add_result(c, dtype);
    if (!is_median && native_length_of(c->given[Q]) >= 0) native_add_extent(target, c->n_q);
    return native_add_left(c, target);
}

/* Fibres that do not lie one behind another are copied, and waited for; nothing has no quantile. */
static bool quantiles_wait(const native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    bool waits = !is_contiguous(x) || native_elements_of(x) == 0;
    for (int i = 0; i < c->n_axes; i++) waits |= c->axes[i] < x->ndim - c->n_axes;
    return waits;
}

static bf_status run_median(native_call *c) {
    const native_library *l = &c->module->library;
    const bool queued = !quantiles_wait(c) && is_enqueued(c, false);
    return (queued ? l->bf_median_axes_async : l->bf_median_axes)(
        c->lock->context, &c->arrays[0].view, c->axes, c->n_axes, NULL, &c->target[0]);
}

/* The library writes quantiles behind an axis of theirs, also of one. */
static bf_status run_quantiles(native_call *c) {
    bf_array all = c->target[0];
    if (native_length_of(c->given[Q]) < 0) {
        if (all.ndim == BF_MAX_DIMS) return BF_E_SHAPE;
        memmove(all.shape + 1, all.shape, (size_t)all.ndim * sizeof *all.shape);
        memmove(all.strides + 1, all.strides, (size_t)all.ndim * sizeof *all.strides);
        all.shape[0] = all.strides[0] = 1;
        all.ndim++;
    }
    const native_library *l = &c->module->library;
    const bool queued = !quantiles_wait(c) && is_enqueued(c, false);
    return (queued ? l->bf_quantile_axes_async : l->bf_quantile_axes)(
        c->lock->context, &c->arrays[0].view, c->axes, c->n_axes, c->q, c->n_q, NULL, &all);
}

/* ---- the rows -------------------------------------------------------------------------------- */

const native_row native_order_rows[] = {
    {"sort",
     {{"x", FIRST},
      {"axis", AXIS},
      {"nan", NAN_POLICY},
      {"descending", DESCENDING},
      {"context", CONTEXT}},
     plan_sort,
     run_sort,
     native_finish_array},
    {"unique",
     {{"x", FIRST}, {"nan", NAN_POLICY}, {"context", CONTEXT}},
     plan_unique,
     run_unique,
     finish_unique},
    {"median",
     {{"x", FIRST}, {"axis", AXIS}, {"keepdims", KEEPDIMS}, {"context", CONTEXT}},
     plan_quantiles,
     run_median,
     native_finish_array},
    {"quantile",
     {{"x", FIRST}, {"q", Q}, {"axis", AXIS}, {"keepdims", KEEPDIMS}, {"context", CONTEXT}},
     plan_quantiles,
     run_quantiles,
     native_finish_array},
    {.name = NULL},
};
