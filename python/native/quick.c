/* bitfold._quick: reductions of plain buffers with default options, without ctypes, whose calls
 * take more time than a reduction of a few elements. Optional: the module works without it.
 *
 * It calls the library by the addresses of its functions, and Python by the stable ABI, which a
 * Python without a GIL does not have. Nothing changes after attach(), so threads need no lock. */
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030b0000 /* 3.11: the first whose stable ABI has buffers */
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <bitfold.h>
#include <stdbool.h>
#include <string.h>

/* What a reduction is called with, from attach(). */
typedef struct library {
    bf_status (*reduce)(bf_context *, bf_reduction, const bf_array *, const bf_reduce_options *,
                        bf_value *);
    bf_status (*dot)(bf_context *, const bf_array *, const bf_array *, const bf_reduce_options *,
                     bf_value *);
    PyObject *failed; /* the exception that carries a status */
} library;

static library *library_of(PyObject *module) { return PyModule_GetState(module); }

/* ---- buffers --------------------------------------------------------------------------------- */

static bool has_order_of_this_machine(const char *format) {
    return format[0] == '@' || format[0] == '=' || format[0] == '<';
}

/* The dtype of a buffer's elements; BF_NONE: not for this module. */
static bf_dtype dtype_of(const Py_buffer *buffer) {
    static const char signed_codes[] = "bhilqn", unsigned_codes[] = "BHILQN";
    static const bf_dtype signed_dtypes[] = {BF_I8, BF_I16, BF_I32, BF_I64};
    static const bf_dtype unsigned_dtypes[] = {BF_U8, BF_U16, BF_U32, BF_U64};
    const char *format = buffer->format != NULL ? buffer->format : "B";
    if (has_order_of_this_machine(format)) format++;
    if (format[0] == '\0' || format[1] != '\0') return BF_NONE;
    const Py_ssize_t size = buffer->itemsize;
    const int log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    if (format[0] == 'd' && size == 8) return BF_F64;
    if (format[0] == 'f' && size == 4) return BF_F32;
    if (format[0] == '?' && size == 1) return BF_BOOL;
    if (log >= 0 && strchr(signed_codes, format[0])) return signed_dtypes[log];
    if (log >= 0 && strchr(unsigned_codes, format[0])) return unsigned_dtypes[log];
    return BF_NONE;
}

/* Sets *array to a buffer's memory. false: not for this module. */
static bool read_buffer(const Py_buffer *buffer, bf_array *array) {
    array->dtype = dtype_of(buffer);
    array->data = buffer->buf;
    array->ndim = buffer->ndim;
    if (array->dtype == BF_NONE || buffer->ndim > BF_MAX_DIMS || buffer->suboffsets != NULL)
        return false;
    for (int d = 0; d < buffer->ndim; d++) {
        Py_ssize_t stride = buffer->shape[d] > 1 ? buffer->strides[d] : buffer->itemsize;
        if (stride % buffer->itemsize != 0) return false;
        array->shape[d] = buffer->shape[d];
        array->strides[d] = stride / buffer->itemsize;
    }
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A whole number of three words, of which the last has the sign. */
static PyObject *wide_integer(const uint64_t words[3]) {
    const uint64_t sign = (uint64_t)((int64_t)words[0] >> 63);
    if (words[1] == sign && words[2] == sign) return PyLong_FromLongLong((long long)words[0]);
    PyObject *made = PyLong_FromLongLong((long long)words[2]), *bits = PyLong_FromLong(64);
    for (int i = 1; i >= 0 && made != NULL && bits != NULL; i--) {
        PyObject *word = PyLong_FromUnsignedLongLong(words[i]);
        PyObject *shifted = PyNumber_Lshift(made, bits);
        PyObject *joined = word && shifted ? PyNumber_Or(shifted, word) : NULL;
        Py_XDECREF(word);
        Py_XDECREF(shifted);
        Py_DECREF(made);
        made = joined;
    }
    if (bits == NULL) Py_CLEAR(made);
    Py_XDECREF(bits);
    return made;
}

static PyObject *python_value(const bf_value *value) {
    switch (value->dtype) {
    case BF_F64: return PyFloat_FromDouble(value->as.f64);
    case BF_F32: return PyFloat_FromDouble((double)value->as.f32);
    case BF_BOOL: return PyBool_FromLong(value->as.i64 != 0);
    case BF_I192: return wide_integer(value->as.i192);
    case BF_U8:
    case BF_U16:
    case BF_U32:
    case BF_U64: return PyLong_FromUnsignedLongLong(value->as.u64);
    default: return PyLong_FromLongLong(value->as.i64);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A context as Python gives it: its address, and its lock's methods. */
enum { ADDRESS, ACQUIRE, RELEASE, PARTS };

static bool call_method(PyObject *context, int part) {
    PyObject *result = PyObject_CallNoArgs(PyTuple_GetItem(context, part));
    Py_XDECREF(result);
    return result != NULL;
}

/* Calls the library, holding the context's lock. false: there is an exception. */
static bool call_library(const library *l, PyObject *context, bf_reduction op,
                         const bf_array arrays[2], bf_value *value) {
    bf_context *address = PyLong_AsVoidPtr(PyTuple_GetItem(context, ADDRESS));
    if (address == NULL || !call_method(context, ACQUIRE)) return false;
    PyThreadState *state = PyEval_SaveThread();
    bf_status status = op == BF_DOT ? l->dot(address, &arrays[0], &arrays[1], NULL, value)
                                    : l->reduce(address, op, &arrays[0], NULL, value);
    PyEval_RestoreThread(state);
    if (!call_method(context, RELEASE)) return false;
    if (status == BF_OK) return true;
    PyObject *number = PyLong_FromLong(status);
    if (number != NULL) PyErr_SetObject(l->failed, number);
    Py_XDECREF(number);
    return false;
}

/* Reduces one object, or two for a dot product. Returns None if one is no plain buffer. */
static PyObject *reduce_objects(const library *l, PyObject *context, bf_reduction op,
                                PyObject *const *objects, int count) {
    Py_buffer buffers[2];
    bf_array arrays[2];
    bf_value value;
    bool plain = true;
    int held = 0;
    for (; held < count && plain; held++) {
        if (PyObject_GetBuffer(objects[held], &buffers[held], PyBUF_RECORDS_RO) != 0) {
            PyErr_Clear();
            plain = false;
            break;
        }
        plain = read_buffer(&buffers[held], &arrays[held]);
    }
    PyObject *result = plain ? NULL : Py_NewRef(Py_None);
    if (plain && call_library(l, context, op, arrays, &value)) result = python_value(&value);
    while (held > 0) PyBuffer_Release(&buffers[--held]);
    return result;
}

PyDoc_STRVAR(reduce_text, "reduce(context, op, x[, y])\n\n"
                          "Returns the value, or None if an object is no plain buffer of numbers.");

static PyObject *reduce(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    const library *l = library_of(module);
    if (count < 3 || count > 4 || !PyTuple_Check(args[0]) || PyTuple_Size(args[0]) != PARTS ||
        l->reduce == NULL) {
        PyErr_SetString(PyExc_TypeError, "reduce(context, op, x[, y]), after attach()");
        return NULL;
    }
    const long op = PyLong_AsLong(args[1]);
    if (op == -1 && PyErr_Occurred()) return NULL;
    if ((op == BF_DOT) != (count == 4)) {
        PyErr_SetString(PyExc_TypeError, "a dot product has two objects");
        return NULL;
    }
    return reduce_objects(l, args[0], (bf_reduction)op, args + 2, (int)count - 2);
}

PyDoc_STRVAR(attach_text,
             "attach(reduce, dot, failed)\n\nSets the addresses of bf_reduce and bf_dot, "
             "and the exception whose argument is the status of a call that failed.");

static PyObject *attach(PyObject *module, PyObject *args) {
    library *l = library_of(module);
    unsigned long long addresses[2];
    PyObject *failed;
    if (!PyArg_ParseTuple(args, "KKO", &addresses[0], &addresses[1], &failed)) return NULL;
    memcpy(&l->reduce, &addresses[0], sizeof l->reduce);
    memcpy(&l->dot, &addresses[1], sizeof l->dot);
    Py_XDECREF(l->failed);
    l->failed = Py_NewRef(failed);
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"reduce", (PyCFunction)(void (*)(void))reduce, METH_FASTCALL, reduce_text},
    {"attach", attach, METH_VARARGS, attach_text},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_quick", NULL, sizeof(library), methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__quick(void);
PyMODINIT_FUNC PyInit__quick(void) { return PyModuleDef_Init(&definition); }
