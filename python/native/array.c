/* Objects as bf_array: plain buffers, arrays of NumPy and CuPy, and tensors of libraries with a
 * table of functions (exchange.h). Others, and all whose values are not in their memory alone, are
 * for Python. */
#include "python/native/exchange.h"
#include "python/native/native.h"

#include <stdio.h>
#include <string.h>

/* ---- plain buffers --------------------------------------------------------------------------- */

static bool has_order_of_this_machine(const char *format) {
    return format[0] == '@' || format[0] == '=' || format[0] == '<';
}

/* The dtype of a buffer's elements; BF_NONE: not for this module. */
static bf_dtype dtype_of_buffer(const Py_buffer *buffer) {
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

/* Sets the layout of memory whose strides are in bytes. false: they are of no whole elements. */
static bool set_layout(bf_array *view, int ndim, const Py_ssize_t *shape, const Py_ssize_t *strides,
                       Py_ssize_t size) {
    if (ndim > BF_MAX_DIMS) return false;
    view->ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        const Py_ssize_t stride = shape[d] > 1 ? strides[d] : size;
        if (stride % size != 0) return false;
        view->shape[d] = shape[d];
        view->strides[d] = stride / size;
    }
    return true;
}

static bool read_buffer(PyObject *x, native_array *array) {
    Py_buffer *buffer = &array->buffer;
    if (PyObject_GetBuffer(x, buffer, PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear(); /* Python says what is wrong */
        return false;
    }
    array->has_buffer = true;
    array->kind = NATIVE_PLAIN_BUFFER;
    array->view.data = buffer->buf;
    array->view.dtype = dtype_of_buffer(buffer);
    return array->view.dtype != BF_NONE && buffer->suboffsets == NULL &&
           set_layout(&array->view, buffer->ndim, buffer->shape, buffer->strides, buffer->itemsize);
}

/* ---- NumPy ----------------------------------------------------------------------------------- */

/* The beginnings of an array and of its dtype, which NumPy's headers let programs read and which
 * all of its versions have. */
typedef struct numpy_dtype {
    PyObject ob_base;
    PyObject *scalar;
    char kind, code, order, flags;
    int number;
} numpy_dtype;

typedef struct numpy_array {
    PyObject ob_base;
    void *data;
    int ndim;
    Py_ssize_t *shape, *strides;
    PyObject *base;
    numpy_dtype *dtype;
    int flags;
} numpy_array;

enum { NUMPY_WRITABLE = 0x400 }; /* a flag */

/* By NumPy's numbers of its own dtypes. */
static const bf_dtype dtypes_of_numpy[] = {
    BF_BOOL,
    BF_I8,
    BF_U8,
    BF_I16,
    BF_U16,
    BF_I32,
    BF_U32,
    sizeof(long) == 8 ? BF_I64 : BF_I32,
    sizeof(long) == 8 ? BF_U64 : BF_U32,
    BF_I64,
    BF_U64,
    BF_F32,
    BF_F64,
    [23] = BF_F16,
};

static bf_dtype dtype_of_numpy(const numpy_dtype *dtype) {
    const size_t number = (size_t)dtype->number;
    const bool is_native = dtype->order == '=' || dtype->order == '|';
    const size_t count = sizeof dtypes_of_numpy / sizeof *dtypes_of_numpy;
    return is_native && number < count ? dtypes_of_numpy[number] : BF_NONE;
}

static Py_ssize_t bytes_of(const native_module *module, bf_dtype dtype) {
    return (Py_ssize_t)module->library.bf_dtype_size(dtype);
}

static bool read_numpy(const native_module *module, PyObject *x, native_array *array) {
    const numpy_array *held = (const numpy_array *)x;
    array->kind = NATIVE_NUMPY;
    array->readonly = (held->flags & NUMPY_WRITABLE) == 0;
    array->view.data = held->data;
    array->view.dtype = dtype_of_numpy(held->dtype);
    return array->view.dtype != BF_NONE &&
           set_layout(&array->view, held->ndim, held->shape, held->strides,
                      bytes_of(module, array->view.dtype));
}

/* Has Python say what NumPy, or CuPy, is called with, once it is there: the type of its arrays,
 * what makes one, its dtypes by ours, and what gives the current GPU. */
static bool find_numpy(native_module *module, PyObject *name, native_numpy *numpy) {
    PyObject *parts = native_rule(module, "parts_of", name);
    if (parts == NULL) return false;
    PyObject *type, *empty, *dtypes, *device;
    if (!PyArg_ParseTuple(parts, "OOO!O", &type, &empty, &PyDict_Type, &dtypes, &device)) {
        Py_DECREF(parts);
        return false;
    }
    numpy->device = Py_NewRef(device);
    for (int i = 0; i < NATIVE_DTYPES; i++) {
        PyObject *number = PyLong_FromLong(i);
        if (number == NULL) return false;
        numpy->dtypes[i] = PyDict_GetItemWithError(dtypes, number);
        Py_XINCREF(numpy->dtypes[i]);
        Py_DECREF(number);
    }
    numpy->empty = Py_NewRef(empty);
    atomic_store(&numpy->ndarray, (PyTypeObject *)Py_NewRef(type));
    Py_DECREF(parts);
    return true;
}

/* Whether the library is there, and what it is called with is known. */
static bool learn_numpy(native_module *module, const char *library, native_numpy *numpy) {
    PyObject *name = PyUnicode_FromString(library), *there = name ? PyImport_GetModule(name) : NULL;
    bool found =
        there != NULL && there != Py_None && !atomic_flag_test_and_set(&module->is_learning);
    if (found) {
        found = find_numpy(module, name, numpy);
        atomic_flag_clear(&module->is_learning);
    }
    Py_XDECREF(name);
    Py_XDECREF(there);
    return found;
}

/* Whether a type is the library's ndarray itself: a subclass may hide values. */
static bool is_ndarray(native_module *module, const char *library, native_numpy *numpy,
                       const PyTypeObject *type) {
    const PyTypeObject *known = atomic_load_explicit(&numpy->ndarray, memory_order_acquire);
    if (known == NULL && learn_numpy(module, library, numpy)) known = atomic_load(&numpy->ndarray);
    return known == type;
}

static bool is_of_numpy(native_module *module, const PyTypeObject *type) {
    return is_ndarray(module, "numpy", &module->numpy, type);
}

static PyObject *empty_of(const native_numpy *numpy, const bf_array *view) {
    PyObject *shape = PyTuple_New(view->ndim);
    for (int d = 0; d < view->ndim && shape != NULL; d++) {
        PyObject *extent = PyLong_FromLongLong(view->shape[d]);
        if (extent == NULL || PyTuple_SetItem(shape, d, extent) != 0) Py_CLEAR(shape);
    }
    if (shape == NULL) return NULL;
    PyObject *dtype = numpy->dtypes[view->dtype];
    PyObject *made = dtype ? PyObject_CallFunctionObjArgs(numpy->empty, shape, dtype, NULL) : NULL;
    Py_DECREF(shape);
    return made;
}

static PyObject *new_numpy(const native_module *module, bf_array *view) {
    PyObject *made = empty_of(&module->numpy, view);
    if (made != NULL) view->data = ((const numpy_array *)made)->data;
    return made;
}

/* ---- CuPy ------------------------------------------------------------------------------------ */

enum { LEGACY_STREAM = 1, THREAD_STREAM = 2 }; /* the default streams of array interfaces */

/* Sets *number to an attribute of an attribute. */
static bool read_number(PyObject *x, const char *outer, const char *inner,
                        unsigned long long *number) {
    PyObject *held = PyObject_GetAttrString(x, outer);
    PyObject *found = held != NULL ? PyObject_GetAttrString(held, inner) : NULL;
    const bool is_whole = found != NULL && PyLong_Check(found);
    if (is_whole) *number = PyLong_AsUnsignedLongLong(found);
    Py_XDECREF(held);
    Py_XDECREF(found);
    return is_whole && !PyErr_Occurred();
}

/* Sets n numbers to those of a tuple. */
static bool read_numbers(PyObject *tuple, Py_ssize_t n, Py_ssize_t *numbers) {
    if (tuple == NULL || !PyTuple_Check(tuple) || PyTuple_Size(tuple) != n) return false;
    for (Py_ssize_t i = 0; i < n; i++) numbers[i] = PyLong_AsSsize_t(PyTuple_GetItem(tuple, i));
    return !PyErr_Occurred();
}

static bool read_layout(PyObject *interface, Py_ssize_t size, bf_array *view) {
    Py_ssize_t shape[BF_MAX_DIMS], strides[BF_MAX_DIMS], step = size;
    PyObject *extents = PyDict_GetItemString(interface, "shape");
    PyObject *steps = PyDict_GetItemString(interface, "strides");
    const Py_ssize_t ndim = extents != NULL && PyTuple_Check(extents) ? PyTuple_Size(extents) : -1;
    if (ndim > BF_MAX_DIMS || !read_numbers(extents, ndim, shape)) return false;
    for (Py_ssize_t d = ndim - 1; d >= 0; step *= shape[d--]) strides[d] = step;
    if (steps != NULL && steps != Py_None && !read_numbers(steps, ndim, strides)) return false;
    return set_layout(view, (int)ndim, shape, strides, size);
}

/* Sets what an array's interface says, if it names a stream: then nothing need be waited for. One
 * that is no default stream may be destroyed, and another one get its handle. */
static bool read_interface(PyObject *interface, Py_ssize_t size, native_array *array) {
    unsigned long long data;
    int readonly;
    PyObject *memory = PyDict_GetItemString(interface, "data");
    PyObject *queue = PyDict_GetItemString(interface, "stream");
    if (memory == NULL || !PyTuple_Check(memory) || queue == NULL || !PyLong_Check(queue) ||
        !PyArg_ParseTuple(memory, "Kp", &data, &readonly))
        return false;
    const unsigned long long stream = PyLong_AsUnsignedLongLong(queue);
    if (stream == 0 || PyErr_Occurred()) return false;
    array->ends = stream != LEGACY_STREAM && stream != THREAD_STREAM;
    array->view.data = (void *)(uintptr_t)data;
    array->readonly = readonly != 0;
    array->stream = stream == LEGACY_STREAM ? NULL : (void *)(uintptr_t)stream;
    return read_layout(interface, size, &array->view);
}

/* Whether the current GPU, where CuPy makes results, is the array's. */
static bool is_on_current_gpu(const native_numpy *cupy, PyObject *x, native_array *array) {
    unsigned long long gpu = 0;
    PyObject *current = PyObject_CallObject(cupy->device, NULL);
    const bool is_current = current != NULL && read_number(x, "device", "id", &gpu) &&
                            PyLong_AsUnsignedLongLong(current) == gpu;
    Py_XDECREF(current);
    array->gpu = (int)gpu;
    return is_current;
}

static bool read_cupy(const native_module *module, PyObject *x, native_array *array) {
    array->kind = NATIVE_CUPY;
    PyObject *dtype = PyObject_GetAttrString(x, "dtype");
    array->view.dtype = dtype ? dtype_of_numpy((const numpy_dtype *)dtype) : BF_NONE;
    Py_XDECREF(dtype);
    const bool is_known = array->view.dtype != BF_NONE;
    PyObject *interface = is_known ? PyObject_GetAttr(x, module->interface) : NULL;
    const bool is_read = interface != NULL && PyDict_Check(interface) &&
                         read_interface(interface, bytes_of(module, array->view.dtype), array) &&
                         is_on_current_gpu(&module->cupy, x, array);
    Py_XDECREF(interface);
    PyErr_Clear(); /* Python says what is wrong */
    return is_read;
}

static PyObject *new_cupy(const native_module *module, bf_array *view) {
    PyObject *made = empty_of(&module->cupy, view);
    unsigned long long data = 0;
    if (made != NULL && !read_number(made, "data", "ptr", &data)) Py_CLEAR(made);
    view->data = (void *)(uintptr_t)data;
    return made;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static const char exchange_name[] = "__dlpack_c_exchange_api__";

/* The table of a type itself, of our version; NULL: it has none. A subclass is not what the table
 * reads. */
static const native_exchange *find_table(PyTypeObject *type) {
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, exchange_name);
    PyObject *base = capsule ? PyObject_GetAttrString((PyObject *)type, "__base__") : NULL;
    PyObject *inherited = base ? PyObject_GetAttrString(base, exchange_name) : NULL;
    const native_exchange *table = NULL;
    if (capsule != NULL && inherited == NULL && PyCapsule_CheckExact(capsule))
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    PyErr_Clear();
    while (table != NULL && table->major > NATIVE_EXCHANGE_MAJOR) table = table->earlier;
    Py_XDECREF(capsule);
    Py_XDECREF(base);
    Py_XDECREF(inherited);
    const bool fits = table != NULL && table->major == NATIVE_EXCHANGE_MAJOR;
    return fits ? table : NULL;
}

static const native_exchange *table_of(native_module *module, PyTypeObject *type) {
    native_tensors *each = module->tensors, *end = each + NATIVE_TABLES;
    for (; each < end; each++) {
        const PyTypeObject *known = atomic_load_explicit(&each->type, memory_order_acquire);
        if (known == type) return each->table;
        if (known == NULL) break;
    }
    const native_exchange *table = find_table(type);
    if (table != NULL && each < end && !atomic_flag_test_and_set(&module->is_learning)) {
        each->table = table;
        atomic_store(&each->type, (PyTypeObject *)Py_NewRef((PyObject *)type));
        atomic_flag_clear(&module->is_learning);
    }
    return table;
}

/* Whether an attribute is true, or what a method of that name returns; without one it is not. */
static bool says_yes(PyObject *x, PyObject *name, bool is_method) {
    PyObject *said =
        is_method ? PyObject_CallMethodObjArgs(x, name, NULL) : PyObject_GetAttr(x, name);
    const bool yes = said != NULL && PyObject_IsTrue(said) != 0;
    Py_XDECREF(said);
    PyErr_Clear();
    return yes;
}

/* Its deleter may be in Python, while an exception is on its way. */
static void delete_tensor(native_managed *managed) {
    if (managed == NULL || managed->deleter == NULL) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    managed->deleter(managed);
    PyErr_Restore(type, value, traceback);
}

/* The tensor owns the memory until it is deleted, whatever else is done with x. */
static bool read_tensor(const native_module *module, const native_lock *lock, PyObject *x,
                        bool detached, native_array *array) {
    array->kind = NATIVE_TENSOR;
    if (says_yes(x, module->is_neg, true) ||
        (!detached && says_yes(x, module->requires_grad, false)))
        return false;
    if (array->table->managed_of(x, &array->managed) != 0) {
        PyErr_Clear(); /* Python says what is wrong */
        array->managed = NULL;
        return false;
    }
    const void *managed = array->managed;
    int readonly = 0;
    const native_tensor *tensor = &array->managed->tensor;
    if (tensor->device_type == NATIVE_ON_CUDA) array->gpu = tensor->device_id;
    const bool is_read = (array->gpu >= 0 || tensor->device_type == NATIVE_ON_CPU) &&
                         module->library.bf_array_from_dlpack(lock->context, managed, &array->view,
                                                              &readonly) == BF_OK;
    array->readonly = readonly != 0;
    return is_read;
}

enum { ERROR_TEXT = 200 };

/* Keeps what an allocator says, which need not hold the GIL. */
static void keep_error(void *to, const char *kind, const char *message) {
    snprintf(to, ERROR_TEXT, "%s: %s", kind, message);
}

static PyObject *new_tensor(const native_module *module, const native_array *beside,
                            bf_array *view) {
    const native_exchange *table = beside->table;
    native_tensor like = {
        .device_type = beside->managed->tensor.device_type,
        .device_id = beside->managed->tensor.device_id,
        .ndim = view->ndim,
        .code = (uint8_t)native_code_of(&module->library, view->dtype),
        .bits = (uint8_t)(8 * bytes_of(module, view->dtype)),
        .lanes = 1,
        .shape = view->shape,
    };
    native_managed *managed = NULL;
    void *made = NULL;
    char error[ERROR_TEXT] = "no tensor could be made";
    if (table->allocate(&like, &managed, error, keep_error) != 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_MemoryError, error);
        return NULL;
    }
    view->data = (char *)managed->tensor.data + managed->tensor.byte_offset;
    for (int d = 0; d < view->ndim && managed->tensor.strides != NULL; d++)
        view->strides[d] = managed->tensor.strides[d];
    return table->object_of(managed, &made) == 0 ? made : NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_plain(const native_module *module, const PyTypeObject *type) {
    for (int i = 0; i < NATIVE_PLAIN; i++)
        if (module->plain[i] == type) return true;
    return false;
}

bool native_read_array(native_module *module, const native_lock *lock, PyObject *x, bool detached,
                       native_array *array) {
    PyTypeObject *type = Py_TYPE(x);
    array->gpu = NATIVE_HOST;
    array->has_buffer = false;
    array->managed = NULL;
    array->ends = false;
    if (is_plain(module, type)) return read_buffer(x, array);
    if (is_of_numpy(module, type)) return read_numpy(module, x, array);
    if (PyErr_Occurred()) return false;
    array->table = table_of(module, type);
    if (array->table != NULL) return read_tensor(module, lock, x, detached, array);
    return is_ndarray(module, "cupy", &module->cupy, type) && read_cupy(module, x, array);
}

bool native_stream_of(const native_array *array, void **stream) {
    const native_exchange *table = array->table;
    *stream = array->stream;
    if (array->kind == NATIVE_CUPY) return true;
    const bool found =
        table->stream_of != NULL && table->stream_of(NATIVE_ON_CUDA, array->gpu, stream) == 0;
    PyErr_Clear(); /* Python says what is wrong */
    return found;
}

void native_release_array(native_array *array) {
    if (array->has_buffer) PyBuffer_Release(&array->buffer);
    delete_tensor(array->managed);
    array->has_buffer = false;
    array->managed = NULL;
}

/* Sets the strides of C order. */
static void set_strides(bf_array *view) {
    uint64_t step = 1; /* it may be beyond all memory: then no array is made */
    for (int d = view->ndim - 1; d >= 0; d--) {
        view->strides[d] = (int64_t)step;
        step *= (uint64_t)view->shape[d];
    }
}

PyObject *native_new_array(const native_module *module, const native_array *like, bf_array *view) {
    set_strides(view);
    switch (like->kind) {
    case NATIVE_NUMPY: return new_numpy(module, view);
    case NATIVE_CUPY: return new_cupy(module, view);
    case NATIVE_TENSOR: return new_tensor(module, like, view);
    default: return NULL;
    }
}

/* ---- views of Python ------------------------------------------------------------------------- */

static bool copy_view(const bf_array *view, PyObject *to) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(to, &buffer, PyBUF_WRITABLE) != 0) return false;
    const bool fits = buffer.len == sizeof *view;
    if (fits) memcpy(buffer.buf, view, sizeof *view);
    if (!fits) PyErr_SetString(PyExc_ValueError, "no bf_array");
    PyBuffer_Release(&buffer);
    return fits;
}

static const char tensor_name[] = "dltensor_versioned";

static void delete_owner(PyObject *owner) {
    delete_tensor(PyCapsule_GetPointer(owner, tensor_name));
}

/* What owns the memory of an array, which need not be released any more: of NumPy, the object
 * itself. */
static PyObject *take_owner(native_array *array) {
    if (array->managed == NULL) return Py_NewRef(Py_None);
    PyObject *owner = PyCapsule_New(array->managed, tensor_name, delete_owner);
    if (owner != NULL) array->managed = NULL;
    return owner;
}

static PyObject *view_of(native_array *array, PyObject *to) {
    PyObject *owner = copy_view(&array->view, to) ? take_owner(array) : NULL;
    PyObject *found = owner ? PyTuple_Pack(2, array->readonly ? Py_True : Py_False, owner) : NULL;
    Py_XDECREF(owner);
    return found;
}

/* Plain buffers are for Python, which holds them as long as the view. */
static bool read_for_view(native_module *module, PyObject *x, native_array *array) {
    PyTypeObject *type = Py_TYPE(x);
    if (is_of_numpy(module, type)) return read_numpy(module, x, array);
    if (PyErr_Occurred() || (array->table = table_of(module, type)) == NULL) return false;
    native_lock *lock = native_default_lock(module);
    if (lock == NULL || lock->context == NULL) return false;
    native_acquire(lock);
    const bool is_read = read_tensor(module, lock, x, false, array);
    native_release(lock);
    return is_read;
}

/* The view, or None where there is none; ends with the array. */
static PyObject *finish_view(native_array *array, bool is_read, PyObject *to) {
    PyObject *view = is_read ? view_of(array, to) : PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    native_release_array(array);
    return view;
}

/* The memory of GPUs is for Python, which waits for its stream. */
PyObject *native_read(PyObject *self, PyObject *arguments) {
    native_array array = {.gpu = NATIVE_HOST, .has_buffer = false, .managed = NULL};
    PyObject *x, *to;
    if (!PyArg_ParseTuple(arguments, "OO", &x, &to)) return NULL;
    const bool is_read =
        read_for_view(PyModule_GetState(self), x, &array) && array.gpu == NATIVE_HOST;
    return finish_view(&array, is_read, to);
}

PyObject *native_read_on_stream(PyObject *self, PyObject *arguments) {
    native_array array = {.gpu = NATIVE_HOST, .has_buffer = false, .managed = NULL};
    PyObject *x, *to;
    void *stream = NULL;
    if (!PyArg_ParseTuple(arguments, "OO", &x, &to)) return NULL;
    const bool is_read = read_for_view(PyModule_GetState(self), x, &array) &&
                         array.gpu != NATIVE_HOST && native_stream_of(&array, &stream);
    PyObject *view = finish_view(&array, is_read, to);
    if (view == NULL || !is_read) return view;
    return Py_BuildValue("NK", view, (unsigned long long)(uintptr_t)stream);
}
