/* Sorting, different values, medians and quantiles. */
#include "python/native/call.h"

#include <string.h>

enum { VALUES, POSITIONS, BOTH }; /* what sorting gives */

/* Sets the axis, by default the last one. */
static bool read_axis(native_call *c) {
    const int ndim = c->arrays[0].view.ndim;
    int64_t axis = -1;
    if (c->given[AXIS] != NULL && !native_read_whole(c->given[AXIS], -ndim, ndim - 1, &axis))
        return false;
    c->axes[0] = (int)axis;
    return ndim > 0;
}

static void add_sorted(native_call *c, bf_dtype dtype) {
    const bf_array *x = &c->arrays[0].view;
    bf_array *target = native_add_result(c, dtype);
    for (int d = 0; d < x->ndim; d++) native_add_extent(target, x->shape[d]);
}

static bool plan_sort(native_call *c) {
    if (!read_axis(c)) return false;
    if (c->function->choice != POSITIONS) add_sorted(c, c->arrays[0].view.dtype);
    if (c->function->choice != VALUES) add_sorted(c, BF_I64);
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
    const int choice = c->function->choice;
    return (is_enqueued(c, sort_waits(c)) ? l->bf_sort_async : l->bf_sort)(
        c->lock->context, &c->arrays[0].view, c->axes[0], order_options(c),
        choice == POSITIONS ? NULL : &c->target[0],
        choice == VALUES ? NULL : &c->target[c->results - 1]);
}

static PyObject *finish_sort(native_call *c) {
    if (c->results == 1) return native_finish_array(c);
    return PyTuple_Pack(2, c->made[VALUES], c->made[POSITIONS]);
}

/* Python makes lines on a GPU that lie apart contiguous, which is enqueued. */
static bool plan_sort_operator(native_call *c) {
    return plan_sort(c) && !(is_on_gpu(c) && sort_waits(c));
}

/* ---- the first, and places ------------------------------------------------------------------- */

/* The greatest are first, unless the least are. */
static bool plan_top(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    int64_t k;
    if (!read_axis(c) || !native_read_whole(c->given[COUNT], 0, INT64_MAX, &k)) return false;
    if (c->axes[0] < 0) c->axes[0] += x->ndim;
    c->n = k < x->shape[c->axes[0]] ? k : x->shape[c->axes[0]];
    c->order = BF_ORDER_OPTIONS(.nan = c->has_options ? c->reduce.nan : BF_NAN_PROPAGATE);
    c->order.descending = c->given[DESCENDING] != Py_False;
    for (int i = 0; i < 2; i++) {
        bf_array *target = native_add_result(c, i == VALUES ? x->dtype : BF_I64);
        for (int d = 0; d < x->ndim; d++)
            native_add_extent(target, d == c->axes[0] ? c->n : x->shape[d]);
    }
    return true;
}

static bf_status run_top(native_call *c) {
    return c->module->library.bf_top(c->lock->context, &c->arrays[0].view, c->axes[0], c->n,
                                     &c->order, &c->target[VALUES], &c->target[POSITIONS]);
}

/* Python converts one of two dtypes to the other. */
static bool plan_search(native_call *c) {
    PyObject *side = c->given[SIDE];
    const bf_array *x = &c->arrays[0].view;
    const bool right = side != NULL && is_text(side, "right");
    if (x->dtype != c->arrays[1].view.dtype) return false;
    c->n = right;
    bf_array *target = native_add_result(c, BF_I64);
    for (int d = 0; d < x->ndim; d++) native_add_extent(target, x->shape[d]);
    return side == NULL || right || is_text(side, "left");
}

static bf_status run_search(native_call *c) {
    return c->module->library.bf_searchsorted(c->lock->context, &c->arrays[1].view,
                                              &c->arrays[0].view, (int)c->n, order_options(c),
                                              &c->target[0]);
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

static bool read_method(native_call *c) {
    c->order = BF_ORDER_OPTIONS(.nan = c->has_options ? c->reduce.nan : BF_NAN_PROPAGATE);
    if (c->given[METHOD] == NULL) return true;
    const char *name =
        PyUnicode_Check(c->given[METHOD]) ? PyUnicode_AsUTF8AndSize(c->given[METHOD], NULL) : NULL;
    PyErr_Clear(); /* Python says what is wrong */
    const int method = name != NULL ? c->module->library.bf_quantile_method_from_name(name) : -1;
    c->order.method = (bf_quantile_method)method;
    return method >= 0;
}

/* Whether all quantiles are elements: of what is left of floats none is known to be. */
static bool are_elements(const native_call *c) {
    const native_library *library = &c->module->library;
    int64_t length;
    if (!native_find_length(c, &length) || length == 0) return false;
    if (is_float(c, c->arrays[0].view.dtype) && c->order.nan == BF_NAN_SKIP) return false;
    const double *q = c->given[Q] != NULL ? c->q : NULL; /* a median has none */
    return library->bf_quantile_is_whole(c->order.method, length, q, c->n_q);
}

/* Quantiles that are elements have their dtype. */
static bool plan_quantiles(native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    const native_library *library = &c->module->library;
    const bool is_median = c->given[Q] == NULL;
    c->n_q = 0;
    if (!native_read_axes(c) || (!is_median && !read_q(c)) || !read_method(c)) return false;
    const bf_dtype dtype = are_elements(c) ? x->dtype
                           : is_median     ? library->bf_median_dtype(x->dtype)
                                           : library->bf_quantile_dtype(x->dtype, c->order.method);
    if (dtype == BF_NONE) return false;
    c->is_number = !is_given(c, AXIS);
    bf_array *target = native_add_result(c, dtype);
    if (!is_median && native_length_of(c->given[Q]) >= 0) native_add_extent(target, c->n_q);
    return native_add_left(c, target);
}

/* Fibres that do not lie one behind another are copied, and waited for; nothing has no quantile,
 * and what is left without NaNs may be nothing. */
static bool quantiles_wait(const native_call *c) {
    const bf_array *x = &c->arrays[0].view;
    bool waits = !is_contiguous(x) || native_elements_of(x) == 0;
    waits |= c->order.nan != BF_NAN_PROPAGATE;
    for (int i = 0; i < c->n_axes; i++) waits |= c->axes[i] < x->ndim - c->n_axes;
    return waits;
}

static bf_status run_median(native_call *c) {
    const native_library *l = &c->module->library;
    const bool queued = !quantiles_wait(c) && is_enqueued(c, false);
    return (queued ? l->bf_median_axes_async : l->bf_median_axes)(
        c->lock->context, &c->arrays[0].view, c->axes, c->n_axes, &c->order, &c->target[0]);
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
        c->lock->context, &c->arrays[0].view, c->axes, c->n_axes, c->q, c->n_q, &c->order, &all);
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
    {"top",
     {{"x", FIRST},
      {"k", COUNT},
      {"axis", AXIS},
      {"largest", DESCENDING},
      {"nan", NAN_POLICY},
      {"context", CONTEXT}},
     plan_top,
     run_top,
     finish_sort},
    {"search",
     {{"sorted", SECOND},
      {"x", FIRST},
      {"side", SIDE},
      {"descending", DESCENDING},
      {"context", CONTEXT}},
     plan_search,
     run_search,
     native_finish_array},
    {"unique",
     {{"x", FIRST}, {"nan", NAN_POLICY}, {"context", CONTEXT}},
     plan_unique,
     run_unique,
     finish_unique},
    {"median",
     {{"x", FIRST},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"nan", NAN_POLICY},
      {"context", CONTEXT}},
     plan_quantiles,
     run_median,
     native_finish_array},
    {"quantile",
     {{"x", FIRST},
      {"q", Q},
      {"axis", AXIS},
      {"keepdims", KEEPDIMS},
      {"method", METHOD},
      {"nan", NAN_POLICY},
      {"context", CONTEXT}},
     plan_quantiles,
     run_quantiles,
     native_finish_array},
    {"sort operator",
     {{"x", FIRST}, {"dim", AXIS}, {"descending", UNNAMED | DESCENDING}},
     plan_sort_operator,
     run_sort,
     finish_sort},
    {.name = NULL},
};
