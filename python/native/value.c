/* One value as a number of Python. */
#include "python/native/native.h"

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

native_code native_code_of(const native_library *library, bf_dtype dtype) {
    const char *name = library->bf_dtype_name(dtype);
    switch (name[0]) {
    case 'i': return NATIVE_INT;
    case 'u': return NATIVE_UINT;
    case 'f': return NATIVE_FLOAT;
    default: return name[1] == 'f' ? NATIVE_BFLOAT : NATIVE_BOOL;
    }
}

PyObject *native_python_value(const native_library *library, const bf_value *value) {
    if (value->dtype == BF_F64) return PyFloat_FromDouble(value->as.f64);
    if (value->dtype == BF_I192) return wide_integer(value->as.i192);
    switch (native_code_of(library, value->dtype)) {
    case NATIVE_INT: return PyLong_FromLongLong(value->as.i64);
    case NATIVE_UINT: return PyLong_FromUnsignedLongLong(value->as.u64);
    case NATIVE_BOOL: return PyBool_FromLong(value->as.i64 != 0);
    default: return PyFloat_FromDouble(library->bf_value_f64(value));
    }
}
