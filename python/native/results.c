/* The results of a call: which arrays they are, which are made before the library is called, and
 * what the caller is given. */
#include "python/native/call.h"

/* ---- plans ----------------------------------------------------------------------------------- */

bf_array *native_add_result(native_call *c, bf_dtype dtype) {
    bf_array *target = &c->target[c->results++];
    target->dtype = dtype;
    target->ndim = 0;
    return target;
}

bool native_add_extent(bf_array *target, int64_t extent) {
    if (target->ndim == BF_MAX_DIMS) return false;
    target->shape[target->ndim++] = extent;
    return true;
}

static bool is_reduced(const native_call *c, int d) {
    for (int i = 0; i < c->n_axes; i++)
        if (c->axes[i] == d) return true;
    return false;
}

bool native_add_left(const native_call *c, bf_array *target) {
    const bf_array *x = &c->arrays[0].view;
    for (int d = 0; d < x->ndim; d++) {
        const bool reduced = is_reduced(c, d);
        if ((!reduced || c->keepdims) && !native_add_extent(target, reduced ? 1 : x->shape[d]))
            return false;
    }
    return true;
}

int64_t native_elements_of(const bf_array *x) {
    int64_t n = 1;
    for (int d = 0; d < x->ndim; d++)
        if (__builtin_mul_overflow(n, x->shape[d], &n)) return INT64_MAX;
    return n;
}

bool native_find_length(const native_call *c, int64_t *length) {
    *length = 1;
    for (int i = 0; i < c->n_axes; i++)
        if (__builtin_mul_overflow(*length, c->arrays[0].view.shape[c->axes[i]], length))
            return false;
    return true;
}

bool native_make_results(native_call *c) {
    for (int i = 0; i < c->results; i++) {
        c->made[i] = native_new_array(c->module, &c->arrays[0], &c->target[i]);
        if (c->made[i] == NULL) return false;
    }
    return true;
}

/* ---- what is given back ---------------------------------------------------------------------- */

PyObject *native_take(native_call *c, int i) {
    PyObject *made = c->made[i];
    c->made[i] = NULL;
    return made;
}

PyObject *native_finish_array(native_call *c) {
    const bool is_number = c->results > 0 && c->target[0].ndim == 0 &&
                           (c->is_number || c->arrays[0].kind == NATIVE_NUMPY);
    if (c->results == 0) return native_python_value(&c->module->library, &c->value);
    if (!is_number) return native_take(c, 0);
    PyObject *item = PyObject_GetAttr(c->made[0], c->module->item);
    PyObject *number = item != NULL ? PyObject_CallObject(item, NULL) : NULL;
    Py_XDECREF(item);
    return number;
}
