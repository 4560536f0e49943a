/* The module: its types, and what it is given of the library and of Python. */
#include "python/native/native.h"

#include <dlfcn.h>
#include <string.h>

PyObject *native_rule(const native_module *module, const char *name, PyObject *arguments) {
    PyObject *rule = PyObject_GetAttrString(module->rules, name);
    PyObject *given = arguments == NULL || PyTuple_Check(arguments) ? Py_XNewRef(arguments)
                                                                    : PyTuple_Pack(1, arguments);
    PyObject *result = rule != NULL ? PyObject_CallObject(rule, given) : NULL;
    Py_XDECREF(rule);
    Py_XDECREF(given);
    return result;
}

/* ---- the library ----------------------------------------------------------------------------- */

static bool find_calls(native_library *library, void *opened) {
#define NATIVE_X(name)                                                                             \
    {                                                                                              \
        void *address = dlsym(opened, #name);                                                      \
        memcpy(&library->name, &address, sizeof address);                                          \
        if (address == NULL) return false;                                                         \
    }
    NATIVE_CALLS(NATIVE_X)
#undef NATIVE_X
    return true;
}

PyDoc_STRVAR(
    attach_text,
    "attach(path, plain, rules)\n\nOpens the library. plain: the types whose buffers have "
    "all their values.\nrules: an object with the dicts nan_policies and dtypes "
    "and the functions\ndefault_lock(), stream_lock(gpu, stream), guest_lock(gpu, stream), "
    "fail(status, context),\nparts_of(name) and different(choice, n, values, counts).");

static PyObject *attach(PyObject *self, PyObject *arguments) {
    native_module *module = PyModule_GetState(self);
    const char *path;
    PyObject *plain, *rules;
    if (!PyArg_ParseTuple(arguments, "sO!O", &path, &PyTuple_Type, &plain, &rules)) return NULL;
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* Python has it open, too, and for ever */
    if (opened == NULL || !find_calls(&module->library, opened))
        return PyErr_Format(PyExc_ImportError, "%s", dlerror());
    for (Py_ssize_t i = 0; i < PyTuple_Size(plain) && i < NATIVE_PLAIN; i++)
        module->plain[i] = (PyTypeObject *)Py_NewRef(PyTuple_GetItem(plain, i));
    module->rules = Py_NewRef(rules);
    module->nan_policies = PyObject_GetAttrString(rules, "nan_policies");
    module->dtypes = module->nan_policies ? PyObject_GetAttrString(rules, "dtypes") : NULL;
    return module->dtypes != NULL ? Py_NewRef(Py_None) : NULL;
}

/* ---- the module ------------------------------------------------------------------------------ */

static PyTypeObject *add_type(PyObject *self, PyType_Spec *spec, const char *name) {
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL) return NULL;
    if (PyModule_AddObject(self, name, Py_NewRef(type)) != 0) {
        Py_DECREF(type);
        Py_CLEAR(type);
    }
    return (PyTypeObject *)type;
}

static int execute(PyObject *self) {
    native_module *module = PyModule_GetState(self);
    atomic_flag_clear(&module->is_learning);
    module->context_key = PyUnicode_InternFromString("bitfold._native.context");
    module->is_neg = PyUnicode_InternFromString("is_neg");
    module->requires_grad = PyUnicode_InternFromString("requires_grad");
    module->item = PyUnicode_InternFromString("item");
    module->interface = PyUnicode_InternFromString("__cuda_array_interface__");
    module->lock = PyUnicode_InternFromString("_lock");
    module->raw_repr = PyUnicode_InternFromString("raw_repr");
    module->lock_type = add_type(self, &native_lock_spec, "Lock");
    module->function_type = add_type(self, &native_function_spec, "Function");
    const bool made = module->context_key && module->is_neg && module->requires_grad &&
                      module->item && module->interface && module->lock && module->raw_repr &&
                      module->lock_type && module->function_type;
    return made ? 0 : -1;
}

PyDoc_STRVAR(read_text, "read(x, array)\n\nFills a bf_array with an array of NumPy or a tensor. "
                        "Returns whether it is read-only\nand what owns its memory (None: x "
                        "does); or None: it is not for this module.");

PyDoc_STRVAR(
    read_on_stream_text,
    "read_on_stream(x, array)\n\nDoes the same for a tensor on a GPU. Returns what read "
    "does, and the stream on which its\nlibrary works now; or None: it is no such tensor.");

PyDoc_STRVAR(jax_targets_text,
             "jax_targets(path)\n\nOpens the library. Returns for each target of bitfold.jax its "
             "name and, in capsules,\nits functions for CPUs and for GPUs.");

static PyMethodDef methods[] = {
    {"attach", attach, METH_VARARGS, attach_text},
    {"read", native_read, METH_VARARGS, read_text},
    {"read_on_stream", native_read_on_stream, METH_VARARGS, read_on_stream_text},
    {"jax_targets", native_jax_targets, METH_O, jax_targets_text},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_MOD_GIL_NOT_USED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", NULL, sizeof(native_module), methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
