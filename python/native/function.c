/* A function of the module, which behaves as the one in Python that it stands before: its name, its
 * documentation, its signature and what else it is asked for are that one's. */
#include "python/native/native.h"

#include <stddef.h>

#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11) /* 3.11 has it; its stable ABI has not */
#endif

/* The arguments of a call in one array, of which the last are named: the tuple and dict of a call.
 */
static PyObject *call_python(const native_function *function, PyObject *const *given,
                             Py_ssize_t count, PyObject *names) {
    const Py_ssize_t named = names != NULL ? PyTuple_Size(names) : 0;
    PyObject *unnamed = PyTuple_New(count), *result = NULL;
    PyObject *options = named > 0 ? PyDict_New() : NULL;
    bool made = unnamed != NULL && (named == 0 || options != NULL);
    for (Py_ssize_t i = 0; i < count && made; i++)
        made = PyTuple_SetItem(unnamed, i, Py_NewRef(given[i])) == 0;
    for (Py_ssize_t i = 0; i < named && made; i++)
        made = PyDict_SetItem(options, PyTuple_GetItem(names, i), given[count + i]) == 0;
    if (made) result = PyObject_Call(function->python, unnamed, options);
    Py_XDECREF(unnamed);
    Py_XDECREF(options);
    return result;
}

/* Whether a call with such dispatch keys has nothing left to do but what the door does. */
static bool is_plain_call(const native_function *function, PyObject *keyset) {
    PyObject *number = PyObject_CallMethodObjArgs(keyset, function->module->raw_repr, NULL);
    const bool is_plain = number != NULL && PySet_Contains(function->keysets, number) == 1;
    Py_XDECREF(number);
    PyErr_Clear(); /* Python says what is wrong */
    return is_plain;
}

static PyObject *vectorcall(PyObject *self, PyObject *const *given, size_t flagged,
                            PyObject *names) {
    const native_function *function = (const native_function *)self;
    const Py_ssize_t count = (Py_ssize_t)(flagged & (SIZE_MAX >> 1)); /* the top bit is a flag */
    const Py_ssize_t first = function->keysets != NULL && function->keysets != Py_None;
    PyObject *result = NULL;
    if (first == 0 || (count > 0 && is_plain_call(function, given[0])))
        result = native_try(function, given + first, count - first, names);
    if (result != NULL || PyErr_Occurred()) return result;
    return call_python(function, given, count, names);
}

/* A call by a tuple and a dict goes to Python: those who call so do not count microseconds. */
static PyObject *call(PyObject *self, PyObject *given, PyObject *options) {
    return PyObject_Call(((native_function *)self)->python, given, options);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Pickled and copied is the name. */
static PyObject *reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(((native_function *)self)->python, "__qualname__");
}

static PyObject *get_attribute(PyObject *self, PyObject *name) {
    if (PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0)
        return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((native_function *)self)->python, name);
}

static int set_attribute(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((native_function *)self)->python, name, value);
}

static PyObject *show(PyObject *self) { return PyObject_Repr(((native_function *)self)->python); }

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    PyObject *owner, *python, *keysets = NULL;
    const char *name;
    int choice;
    if (named != NULL) {
        PyErr_SetString(PyExc_TypeError, "Function(module, function, row, choice, keysets)");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "O!Osi|O", &PyModule_Type, &owner, &python, &name, &choice,
                          &keysets))
        return NULL;
    if (keysets != NULL && keysets != Py_None && !PySet_Check(keysets))
        return PyErr_Format(PyExc_TypeError, "keysets: a set, or None");
    const struct native_row *row = native_row_of(name);
    if (row == NULL) return PyErr_Format(PyExc_ValueError, "no row is called %s", name);
    native_function *function = (native_function *)PyType_GenericAlloc(type, 0);
    if (function == NULL) return NULL;
    function->vectorcall = vectorcall;
    function->module = PyModule_GetState(owner);
    function->owner = Py_NewRef(owner);
    function->python = Py_NewRef(python);
    function->row = row;
    function->choice = choice;
    function->keysets = Py_XNewRef(keysets);
    return (PyObject *)function;
}

static void destroy(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    native_function *function = (native_function *)self;
    if (function->weak != NULL) PyObject_ClearWeakRefs(self);
    Py_XDECREF(function->owner);
    Py_XDECREF(function->python);
    Py_XDECREF(function->keysets);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"__reduce_ex__", reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(native_function, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(native_function, weak), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Function(module, function, row, choice[, keysets])\n\nA function, behind the door of a "
     "row. keysets: of a kernel of PyTorch's for a backend None; of one\nfor autograd the "
     "numbers of sets of dispatch keys with which nothing else is left to do."},
    {Py_tp_new, create},
    {Py_tp_dealloc, destroy},
    {Py_tp_call, call},
    {Py_tp_repr, show},
    {Py_tp_getattro, get_attribute},
    {Py_tp_setattro, set_attribute},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec native_function_spec = {
    "bitfold._native.Function",
    sizeof(native_function),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};
