/* The door before the functions of the module. A call goes through the same steps whatever the row
 * of its function: its arguments are told apart, its arrays read, its results planned and made, the
 * library is called, and the results are finished. A step that meets what is not for it ends the
 * door's part, and Python takes the call. */
#include "python/native/call.h"

#include <string.h>

enum { AT_ONCE = 1024 }; /* elements */

const native_row *native_row_of(const char *name) {
    static const native_row *const tables[] = {native_reduce_rows, native_order_rows,
                                               native_scan_rows, native_histogram_rows};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const native_row *r = tables[i]; r->name != NULL; r++)
            if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

/* ---- the library ----------------------------------------------------------------------------- */

/* Whether a call of the library has succeeded; else there is an exception. */
static bool succeeds(const native_call *c, bf_status status) {
    if (status == BF_OK) return true;
    if (is_given(c, CONTEXT)) { /* its watch may have raised an exception */
        Py_XDECREF(PyObject_CallMethod(c->given[CONTEXT], "_check", "i", (int)status));
        return false;
    }
    PyObject *given =
        Py_BuildValue("iK", (int)status, (unsigned long long)(uintptr_t)c->lock->context);
    Py_XDECREF(given != NULL ? native_rule(c->module, "fail", given) : NULL);
    Py_XDECREF(given);
    return false;
}

/* Runs the call on the stream of its arrays, of which nothing is kept if it may be destroyed. */
static bf_status run_on_stream(native_call *c) {
    const native_library *l = &c->module->library;
    const native_array *x = &c->arrays[0];
    if (!is_on_gpu(c) || !x->ends) return c->function->row->run(c);
    bf_status status = l->bf_context_set_stream(c->lock->context, x->stream);
    if (status != BF_OK) return status;
    status = c->function->row->run(c);
    l->bf_context_leave_stream(c->lock->context);
    return status;
}

/* A call on few elements of the host takes less time than to let other threads of Python go on. A
 * context that is given may take them to a GPU. */
static bool run(native_call *c) {
    PyThreadState *state = NULL;
    bool long_one = is_on_gpu(c) || is_given(c, CONTEXT) ||
                    (c->results > 0 && native_elements_of(&c->target[0]) > AT_ONCE);
    for (int i = 0; i < c->count; i++) long_one |= native_elements_of(&c->arrays[i].view) > AT_ONCE;
    if (long_one) state = PyEval_SaveThread();
    const bf_status status = run_on_stream(c);
    if (state != NULL) PyEval_RestoreThread(state);
    return succeeds(c, status);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static bool read_arrays(native_call *c) {
    PyObject *second = is_given(c, WEIGHTS) ? c->given[WEIGHTS] : c->given[SECOND];
    PyObject *const given[] = {c->given[FIRST], second};
    const bool detached = c->function->keysets == Py_None;
    for (int i = 0; i < 2 && given[i] != NULL; i++) {
        c->count = i + 1;
        if (!native_read_array(c->module, c->lock, given[i], detached, &c->arrays[i])) return false;
    }
    return true;
}

static void begin(native_call *c, const native_function *function) {
    c->module = function->module;
    c->function = function;
    c->op = (bf_reduction)function->choice;
    c->lock = NULL;
    c->count = c->results = 0;
    c->is_number = false;
    c->histogram = NULL;
    for (int i = 0; i < ROLES; i++) c->given[i] = NULL;
    for (int i = 0; i < RESULTS; i++) c->made[i] = NULL;
}

static void let_go(native_call *c) {
    if (c->lock == NULL) return;
    native_release(c->lock);
    Py_CLEAR(c->lock);
}

/* Holds a context instead of the one that is held. What failed since it was checked is raised. */
static bool hold(native_call *c, native_lock *lock) {
    let_go(c);
    if (lock == NULL || lock->context == NULL) return false;
    c->lock = (native_lock *)Py_NewRef((PyObject *)lock);
    native_acquire(lock);
    return !lock->later || succeeds(c, c->module->library.bf_context_failure(lock->context));
}

static bool hold_context(native_call *c) {
    if (!is_given(c, CONTEXT)) return hold(c, native_default_lock(c->module));
    native_lock *lock = native_lock_of(c->module, c->given[CONTEXT]);
    const bool is_held = hold(c, lock);
    Py_XDECREF((PyObject *)lock);
    return is_held;
}

/* Calls on tensors of a GPU go to the stream that their library works on now: they see what is
 * enqueued there, and what is enqueued after them sees what they give. A context that is given has
 * a stream of its own, for which Python makes them wait. */
static bool follow_stream(native_call *c) {
    void *stream;
    const native_array *x = c->arrays;
    for (int i = 1; i < c->count; i++)
        if (x[i].gpu != x->gpu || (is_on_gpu(c) && !native_are_of_one_library(&x[i], x)))
            return false;
    if (!is_on_gpu(c)) return true;
    return !is_given(c, CONTEXT) && native_stream_of(x, &stream) &&
           hold(c, (x->ends ? native_guest_lock : native_stream_lock)(c->module, x->gpu, stream));
}

static void end(native_call *c) {
    if (c->histogram != NULL) c->module->library.bf_histogram_destroy(c->histogram);
    let_go(c);
    for (int i = 0; i < c->count; i++) native_release_array(&c->arrays[i]);
    for (int i = 0; i < RESULTS; i++) Py_XDECREF(c->made[i]);
}

PyObject *native_try(const native_function *function, PyObject *const *given, Py_ssize_t count,
                     PyObject *names) {
    native_call c;
    begin(&c, function);
    PyObject *result = NULL;
    if (native_tell_apart(&c, given, count, names) && native_read_options(&c) && hold_context(&c) &&
        read_arrays(&c) && follow_stream(&c) && function->row->plan(&c) &&
        native_make_results(&c) && run(&c))
        result = function->row->finish(&c);
    end(&c);
    return result;
}
