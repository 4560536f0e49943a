/* bitfold._native: the module's functions on plain arrays with few options, without Python on the
 * way to the library, where a call would take more time than a sum of a few elements. What it does
 * not take it leaves to the functions in Python, which alone know the rules.
 *
 * Python 3.11 and later is called by its stable ABI, so that one file serves them all. Python 3.9
 * and 3.10 load that file, too: they have all that it calls, in the same layouts. A Python without
 * a GIL has no such ABI. The library is called by the addresses of its functions. */
#ifndef BITFOLD_PYTHON_NATIVE_NATIVE_H
#define BITFOLD_PYTHON_NATIVE_NATIVE_H

#include <patchlevel.h>
#include <pyconfig.h>
#if PY_VERSION_HEX >= 0x030b0000 && !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <bitfold.h>
#include <stdatomic.h>
#include <stdbool.h>

#if PY_VERSION_HEX < 0x030a0000
static inline PyObject *Py_XNewRef(PyObject *object) {
    Py_XINCREF(object);
    return object;
}
#define Py_NewRef(object) Py_XNewRef((PyObject *)(object))
#endif

/* ---- the library ----------------------------------------------------------------------------- */

#define NATIVE_CALLS(X)                                                                            \
    X(bf_array_from_dlpack)                                                                        \
    X(bf_memory_copy)                                                                              \
    X(bf_dtype_name)                                                                               \
    X(bf_dtype_size)                                                                               \
    X(bf_reduce)                                                                                   \
    X(bf_reduction_result)                                                                         \
    X(bf_reduce_dtype)                                                                             \
    X(bf_reduce_axes)                                                                              \
    X(bf_reduce_axes_async)                                                                        \
    X(bf_context_failure)                                                                          \
    X(bf_context_set_stream)                                                                       \
    X(bf_context_leave_stream)                                                                     \
    X(bf_reduce_segments)                                                                          \
    X(bf_reduce_segments_async)                                                                    \
    X(bf_reduce_index)                                                                             \
    X(bf_reduce_index_async)                                                                       \
    X(bf_reduce_pair)                                                                              \
    X(bf_reduce_pair_axes)                                                                         \
    X(bf_reduce_pair_axes_async)                                                                   \
    X(bf_sort)                                                                                     \
    X(bf_sort_async)                                                                               \
    X(bf_top)                                                                                      \
    X(bf_searchsorted)                                                                             \
    X(bf_scan)                                                                                     \
    X(bf_scan_async)                                                                               \
    X(bf_scan_dtype)                                                                               \
    X(bf_rolling)                                                                                  \
    X(bf_rolling_async)                                                                            \
    X(bf_rolling_count)                                                                            \
    X(bf_rolling_count_async)                                                                      \
    X(bf_rolling_dtype)                                                                            \
    X(bf_unique)                                                                                   \
    X(bf_median_axes_async)                                                                        \
    X(bf_quantile_axes_async)                                                                      \
    X(bf_median_axes)                                                                              \
    X(bf_median_dtype)                                                                             \
    X(bf_quantile_axes)                                                                            \
    X(bf_quantile_dtype)                                                                           \
    X(bf_quantile_is_whole)                                                                        \
    X(bf_quantile_method_from_name)                                                                \
    X(bf_histogram_of)                                                                             \
    X(bf_histogram_create)                                                                         \
    X(bf_histogram_async)                                                                          \
    X(bf_histogram_edges_async)                                                                    \
    X(bf_histogram_describe)                                                                       \
    X(bf_histogram_counts)                                                                         \
    X(bf_histogram_edges)                                                                          \
    X(bf_histogram_integers)                                                                       \
    X(bf_histogram_destroy)                                                                        \
    X(bf_value_f64)

typedef struct native_library {
#define NATIVE_X(name) __typeof__(&name) name;
    NATIVE_CALLS(NATIVE_X)
#undef NATIVE_X
} native_library;

/* ---- the module ------------------------------------------------------------------------------ */

enum { NATIVE_TABLES = 4, NATIVE_PLAIN = 4, NATIVE_DTYPES = 16 };

struct native_exchange;

/* A type of tensors, by whose table they are read and made; NULL: none yet. */
typedef struct native_tensors {
    _Atomic(PyTypeObject *) type;
    const struct native_exchange *table;
} native_tensors;

/* What NumPy, or CuPy, is called with. */
typedef struct native_numpy {
    _Atomic(PyTypeObject *) ndarray;
    PyObject *empty;
    PyObject *dtypes[NATIVE_DTYPES]; /* by bf_dtype */
    PyObject *device;                /* gives the current GPU; None: there is none */
} native_numpy;

typedef struct native_module {
    native_library library;
    PyTypeObject *lock_type, *function_type;
    PyTypeObject *plain[NATIVE_PLAIN]; /* types whose buffers have all their values */
    native_numpy numpy, cupy;
    native_tensors tensors[NATIVE_TABLES];
    atomic_flag is_learning;         /* a thread adds to what is known of types */
    PyObject *rules;                 /* what the module asks Python: see rule() */
    PyObject *nan_policies, *dtypes; /* dicts, of numbers by names */
    PyObject *context_key;           /* a key in the dict of a thread */
    PyObject *is_neg, *requires_grad, *item, *interface, *lock, *raw_repr; /* names */
} native_module;

/* Calls rules.name(arguments), a function in Python. */
PyObject *native_rule(const native_module *module, const char *name, PyObject *arguments);

/* ---- contexts -------------------------------------------------------------------------------- */

/* A context's address and its lock, which costs little while no other thread holds it. */
typedef struct native_lock {
    PyObject ob_base;
    bf_context *context;
    PyThread_type_lock turn; /* taken, but while it is handed over to one who waits */
    atomic_int threads;      /* how many hold it or wait for it: one holds it */
    atomic_ulong owner;      /* the thread that holds it; 0: none */
    int depth;               /* how often it does */
    bool later;              /* calls were enqueued that are checked later */
} native_lock;

extern PyType_Spec native_lock_spec;
/* Return the lock of this thread's default context, and that of its context for a stream of a GPU,
 * which the thread keeps. NULL: an exception. */
native_lock *native_default_lock(const native_module *module);
native_lock *native_stream_lock(const native_module *module, int gpu, void *stream);
/* Returns that of a context which is on no stream between calls, for a stream that its owner may
 * destroy then. */
native_lock *native_guest_lock(const native_module *module, int gpu, void *stream);
/* Returns a new reference to that of a context that the caller has. NULL: it is for Python. */
native_lock *native_lock_of(const native_module *module, PyObject *context);
void native_acquire(native_lock *lock);
void native_release(native_lock *lock);

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef enum native_kind {
    NATIVE_PLAIN_BUFFER,
    NATIVE_NUMPY,
    NATIVE_CUPY,
    NATIVE_TENSOR
} native_kind;

enum { NATIVE_HOST = -1 }; /* where another number is a GPU's */

/* An object that is read: its memory, which is valid until native_release_array. */
typedef struct native_array {
    bf_array view;
    native_kind kind;
    int gpu;                             /* its number; NATIVE_HOST: the host has the memory */
    bool readonly;                       /* not of a plain buffer */
    void *stream;                        /* CuPy's current one */
    bool ends;                           /* CuPy may destroy it when the call has returned */
    const struct native_exchange *table; /* a tensor's */
    struct native_managed *managed;      /* what owns a tensor's memory; NULL: no tensor */
    Py_buffer buffer;                    /* a plain buffer's */
    bool has_buffer;
} native_array;

/* Reads an object. false: it is for Python, or there is an exception. lock: held. detached: it is
 * no matter whether it requires a gradient. */
bool native_read_array(native_module *module, const native_lock *lock, PyObject *x, bool detached,
                       native_array *array);
void native_release_array(native_array *array);

/* Whether one library has both arrays, which are on a GPU. */
static inline bool native_are_of_one_library(const native_array *a, const native_array *b) {
    return a->kind == b->kind && (a->kind == NATIVE_CUPY || a->table == b->table);
}

/* Sets the stream on which the library of an array on a GPU works now. false: it does not say. */
bool native_stream_of(const native_array *array, void **stream);

/* read(x, array) in Python: fills a bf_array, given as a buffer, with an array of NumPy or a
 * tensor. Returns whether it may not be written, and what owns its memory (None: x does). None: x
 * is for Python to read. */
PyObject *native_read(PyObject *self, PyObject *arguments);
/* read_on_stream(x, array) in Python: does the same for a tensor on a GPU. Returns what read does,
 * and the stream on which its library works now: only there its memory is ready. None: x is none.
 */
PyObject *native_read_on_stream(PyObject *self, PyObject *arguments);

/* Makes an array of the kind of `like`, of the dtype, ndim and shape of `view`, whose data and
 * strides are set to it. NULL: an exception, or there is none of this kind. */
PyObject *native_new_array(const native_module *module, const native_array *like, bf_array *view);

/* ---- values ---------------------------------------------------------------------------------- */

/* What DLPack calls a kind of dtype. */
typedef enum native_code {
    NATIVE_INT = 0,
    NATIVE_UINT = 1,
    NATIVE_FLOAT = 2,
    NATIVE_BFLOAT = 4,
    NATIVE_BOOL = 6
} native_code;

native_code native_code_of(const native_library *library, bf_dtype dtype);
PyObject *native_python_value(const native_library *library, const bf_value *value);

/* ---- functions ------------------------------------------------------------------------------- */

struct native_row;

/* A function of the module: that in Python, before which the door of its row is tried. */
typedef struct native_function {
    PyObject ob_base;
    PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);
    PyObject *weak; /* references to it */
    native_module *module;
    PyObject *owner;  /* the module's object */
    PyObject *python; /* the function in Python */
    const struct native_row *row;
    int choice; /* says which it is, where several share the row */
    /* NULL: no kernel of PyTorch's. None: one of a backend, for which it is no matter what requires
     * a gradient. A set: one for autograd, whose first argument is a set of dispatch keys, of which
     * these numbers go through. */
    PyObject *keysets;
} native_function;

extern PyType_Spec native_function_spec;

const struct native_row *native_row_of(const char *name);
/* Tries a call. NULL without an exception: it is for Python. */
PyObject *native_try(const native_function *function, PyObject *const *given, Py_ssize_t count,
                     PyObject *names);

/* ---- JAX ------------------------------------------------------------------------------------- */

/* jax_targets(path) in Python: opens the library. Returns for each target of bitfold.jax its name
 * and, in capsules, its functions for CPUs and for GPUs. */
PyObject *native_jax_targets(PyObject *self, PyObject *path);

#endif
