/* The lock of a context: calls of several threads take turns, and those of one may nest. */
#include "python/native/native.h"

#include <stddef.h>

/* Waits until the thread that holds the lock hands it over. */
static void wait_for_turn(native_lock *lock) {
    PyThreadState *state = PyEval_SaveThread();
    PyThread_acquire_lock(lock->turn, WAIT_LOCK);
    PyEval_RestoreThread(state);
}

void native_acquire(native_lock *lock) {
    const unsigned long me = PyThread_get_thread_ident();
    if (atomic_load_explicit(&lock->owner, memory_order_relaxed) != me) {
        if (atomic_fetch_add(&lock->threads, 1) > 0) wait_for_turn(lock);
        atomic_store_explicit(&lock->owner, me, memory_order_relaxed);
    }
    lock->depth++;
}

void native_release(native_lock *lock) {
    if (--lock->depth > 0) return;
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    if (atomic_fetch_sub(&lock->threads, 1) > 1) PyThread_release_lock(lock->turn);
}

/* ---- in Python ------------------------------------------------------------------------------- */

static PyObject *enter(PyObject *self, PyObject *unused) {
    (void)unused;
    native_acquire((native_lock *)self);
    return Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *unused) {
    (void)unused;
    native_lock *lock = (native_lock *)self;
    if (atomic_load(&lock->owner) != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "this thread does not hold the lock");
        return NULL;
    }
    native_release(lock);
    return Py_NewRef(Py_None);
}

/* The context is no more. */
static PyObject *forget(PyObject *self, PyObject *unused) {
    (void)unused;
    ((native_lock *)self)->context = NULL;
    return Py_NewRef(Py_None);
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    unsigned long long address;
    if (named != NULL) {
        PyErr_SetString(PyExc_TypeError, "Lock(address)");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "K", &address)) return NULL;
    native_lock *lock = (native_lock *)PyType_GenericAlloc(type, 0);
    if (lock == NULL) return NULL;
    lock->context = (bf_context *)(uintptr_t)address;
    lock->turn = PyThread_allocate_lock();
    if (lock->turn == NULL) {
        Py_DECREF(lock);
        return PyErr_NoMemory();
    }
    PyThread_acquire_lock(lock->turn, WAIT_LOCK);
    return (PyObject *)lock;
}

static void destroy(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    native_lock *lock = (native_lock *)self;
    if (lock->turn != NULL) {
        PyThread_release_lock(lock->turn);
        PyThread_free_lock(lock->turn);
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *take_later(PyObject *self, PyObject *unused) {
    (void)unused;
    native_lock *lock = (native_lock *)self;
    const bool later = lock->later;
    lock->later = false;
    return Py_NewRef(later ? Py_True : Py_False);
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave, METH_VARARGS, NULL},
    {"forget", forget, METH_NOARGS, "forget()\n\nSays that the context is no more."},
    {"take_later", take_later, METH_NOARGS,
     "take_later()\n\nReturns whether calls were enqueued that are checked later, since it was "
     "last "
     "asked."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"later", T_BOOL, offsetof(native_lock, later), READONLY,
     "Whether calls were enqueued that are checked later."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Lock(address)\n\nThe lock of the context at an address: `with` holds it."},
    {Py_tp_new, create},
    {Py_tp_dealloc, destroy},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec native_lock_spec = {
    "bitfold._native.Lock", sizeof(native_lock), 0, Py_TPFLAGS_DEFAULT, slots,
};

/* ---- the contexts of a thread ---------------------------------------------------------------- */

/* Asks Python for the lock of a context, which the thread keeps. */
static native_lock *ask_for_lock(const native_module *module, const char *rule,
                                 PyObject *arguments) {
    PyObject *lock = native_rule(module, rule, arguments);
    if (lock == NULL) return NULL;
    const bool is_ours = PyObject_TypeCheck(lock, module->lock_type);
    if (!is_ours) PyErr_SetString(PyExc_TypeError, "a context has no lock of this module");
    Py_DECREF(lock); /* the context has it */
    return is_ours ? (native_lock *)lock : NULL;
}

static native_lock *lock_of(const native_module *module, PyObject *key, const char *rule,
                            PyObject *arguments) {
    PyObject *kept = PyThreadState_GetDict();
    if (kept == NULL) return NULL;
    native_lock *found = (native_lock *)PyDict_GetItemWithError(kept, key);
    if (found != NULL && found->context != NULL) return found;
    if (PyErr_Occurred()) return NULL;
    found = ask_for_lock(module, rule, arguments);
    return found != NULL && PyDict_SetItem(kept, key, (PyObject *)found) == 0 ? found : NULL;
}

native_lock *native_lock_of(const native_module *module, PyObject *context) {
    PyObject *lock = PyObject_GetAttr(context, module->lock);
    if (lock != NULL && PyObject_TypeCheck(lock, module->lock_type)) return (native_lock *)lock;
    Py_XDECREF(lock);
    PyErr_Clear(); /* Python says what is wrong */
    return NULL;
}

native_lock *native_default_lock(const native_module *module) {
    return lock_of(module, module->context_key, "default_lock", NULL);
}

static PyObject *key_of(int gpu, void *stream) {
    return Py_BuildValue("iK", gpu, (unsigned long long)(uintptr_t)stream);
}

native_lock *native_stream_lock(const native_module *module, int gpu, void *stream) {
    PyObject *key = key_of(gpu, stream);
    native_lock *found = key != NULL ? lock_of(module, key, "stream_lock", key) : NULL;
    Py_XDECREF(key);
    return found;
}

native_lock *native_guest_lock(const native_module *module, int gpu, void *stream) {
    PyObject *key = key_of(gpu, stream);
    native_lock *found = key != NULL ? ask_for_lock(module, "guest_lock", key) : NULL;
    Py_XDECREF(key);
    return found;
}
