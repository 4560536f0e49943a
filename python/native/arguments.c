/* The arguments of a call: which is which, and what they say. */
#include "python/native/call.h"

#include <limits.h>

/* ---- which is which -------------------------------------------------------------------------- */

static const native_parameter *parameter_of(const native_parameter *all, PyObject *name) {
    for (const native_parameter *p = all; p < all + PARAMETERS && p->name; p++)
        if (PyUnicode_CompareWithASCIIString(name, p->name) == 0) return p;
    return NULL;
}

static native_role role_of(const native_parameter *p) {
    return (native_role)((unsigned)p->role & (UNNAMED - 1));
}

static bool is_complete(const native_call *c) {
    const native_parameter *p = c->function->row->parameters;
    for (int i = 0; i < PARAMETERS && p[i].name != NULL; i++)
        if (c->given[role_of(&p[i])] == NULL && role_of(&p[i]) < AXIS) return false;
    return true;
}

bool native_tell_apart(native_call *c, PyObject *const *given, Py_ssize_t count, PyObject *names) {
    const native_parameter *all = c->function->row->parameters;
    if (count > PARAMETERS) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (all[i].name == NULL || (all[i].role >= NAN_POLICY && all[i].role < UNNAMED))
            return false;
        c->given[role_of(&all[i])] = given[i];
    }
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        const native_parameter *p = parameter_of(all, PyTuple_GetItem(names, i));
        if (p == NULL || c->given[role_of(p)] != NULL) return false;
        c->given[role_of(p)] = given[count + i];
    }
    return is_complete(c);
}

/* ---- numbers and axes ------------------------------------------------------------------------ */

bool native_read_whole(PyObject *x, long long least, long long most, int64_t *found) {
    if (!PyLong_Check(x)) return false;
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(x, &overflow);
    *found = number;
    return overflow == 0 && number >= least && number <= most;
}

PyObject *native_item_of(PyObject *list, Py_ssize_t i) {
    return PyTuple_Check(list) ? PyTuple_GetItem(list, i) : PyList_GetItem(list, i);
}

Py_ssize_t native_length_of(PyObject *x) {
    return PyTuple_CheckExact(x) ? PyTuple_Size(x) : PyList_CheckExact(x) ? PyList_Size(x) : -1;
}

/* Adds an axis, which is not there yet. */
static bool add_axis(native_call *c, PyObject *x) {
    const int ndim = c->arrays[0].view.ndim;
    int64_t axis;
    if (!native_read_whole(x, -ndim, ndim - 1, &axis) || c->n_axes == BF_MAX_DIMS) return false;
    if (axis < 0) axis += ndim;
    for (int i = 0; i < c->n_axes; i++)
        if (c->axes[i] == axis) return false;
    c->axes[c->n_axes++] = (int)axis;
    return true;
}

bool native_read_axes(native_call *c) {
    PyObject *axis = c->given[AXIS], *keep = c->given[KEEPDIMS];
    c->n_axes = 0;
    c->keepdims = keep == Py_True;
    if (keep != NULL && !PyBool_Check(keep)) return false;
    if (!is_given(c, AXIS)) {
        while (c->n_axes < c->arrays[0].view.ndim) c->axes[c->n_axes] = c->n_axes, c->n_axes++;
        return true;
    }
    const Py_ssize_t length = native_length_of(axis);
    if (length < 0) return add_axis(c, axis);
    for (Py_ssize_t i = 0; i < length; i++)
        if (!add_axis(c, native_item_of(axis, i))) return false;
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Sets *found to the number that Python has for a name, or leaves it without one. */
static bool read_name(PyObject *numbers, PyObject *name, int64_t *found) {
    if (name == NULL) return true;
    PyObject *number = PyDict_GetItemWithError(numbers, name);
    PyErr_Clear(); /* Python says what is wrong */
    return number != NULL && native_read_whole(number, INT_MIN, INT_MAX, found);
}

/* When a call on a GPU is checked that may fail for its data: now, for which it waits, or later. */
static bool read_check(const native_call *c, bool *later) {
    PyObject *check = c->given[CHECK];
    *later = check != NULL && is_text(check, "later");
    return check == NULL || *later || is_text(check, "now");
}

bool native_read_options(native_call *c) {
    PyObject *ddof = c->given[DDOF], *reverse = c->given[DESCENDING];
    int64_t nan = BF_NAN_PROPAGATE, dtype = BF_NONE, freedom = 0;
    c->has_options =
        c->given[NAN_POLICY] || ddof || c->given[OUT_DTYPE] || reverse || c->given[CHECK];
    if (!read_check(c, &c->later)) return false;
    if (!c->has_options) return true;
    if (!read_name(c->module->nan_policies, c->given[NAN_POLICY], &nan)) return false;
    if (!read_name(c->module->dtypes, c->given[OUT_DTYPE], &dtype)) return false;
    if (ddof != NULL && !native_read_whole(ddof, INT_MIN, INT_MAX, &freedom)) return false;
    c->reduce = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)nan, .out_dtype = (bf_dtype)dtype);
    c->reduce.ddof = (int)freedom;
    c->order = BF_ORDER_OPTIONS(.descending = reverse == Py_True, .nan = c->reduce.nan);
    return reverse == NULL || PyBool_Check(reverse);
}

/* ---- operators of PyTorch -------------------------------------------------------------------- */

bool native_read_operator(native_call *c) {
    const bf_dtype dtype = c->arrays[0].view.dtype, asked = c->reduce.out_dtype;
    const bool adds = c->op == BF_SUM || c->op == BF_DOT,
               is_extreme = c->op == BF_MIN || c->op == BF_MAX;
    bf_dtype to = is_float(c, dtype) && dtype != BF_F64 ? BF_F32 : BF_F64;
    if (is_extreme || (adds && !is_float(c, dtype))) to = BF_NONE;
    if (!c->has_options) c->reduce = BF_REDUCE_OPTIONS(.nan = BF_NAN_PROPAGATE);
    if (c->given[DDOF] == NULL) c->reduce.ddof = 1;
    c->reduce.out_dtype = c->has_options && asked != BF_NONE ? asked : to;
    c->has_options = true;
    to = c->reduce.out_dtype;
    return to == BF_NONE || to == BF_F64 || to == BF_F32;
}

bool native_check_operator(native_call *c, bool may_fail) {
    if (!is_on_gpu(c) || !may_fail) return true;
    PyObject *captures = native_rule(c->module, "is_capturing", NULL);
    c->later = captures == Py_True;
    Py_XDECREF(captures);
    return captures != NULL;
}
