/* The targets of bitfold.jax: functions that XLA calls within a compiled program, on threads of its
 * own and without Python. Sums of floats are enqueued on the stream that XLA works on. What the
 * data can make fail, and what the library cannot enqueue, is waited for, on that stream alone. */
#include "python/native/native.h"
#include "python/native/xla.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ---- the library ----------------------------------------------------------------------------- */

#define JAX_CALLS(X)                                                                               \
    X(bf_context_create)                                                                           \
    X(bf_context_create_message)                                                                   \
    X(bf_context_destroy)                                                                          \
    X(bf_context_message)                                                                          \
    X(bf_status_string)                                                                            \
    X(bf_dtype_kind)                                                                               \
    X(bf_dtype_size)                                                                               \
    X(bf_map)                                                                                      \
    X(bf_reduce_axes)                                                                              \
    X(bf_reduce_axes_async)                                                                        \
    X(bf_reduce_index)                                                                             \
    X(bf_reduce_index_async)                                                                       \
    X(bf_dot_axes)                                                                                 \
    X(bf_reduce_pair_axes_async)                                                                   \
    X(bf_sort)                                                                                     \
    X(bf_sort_async)

/* XLA gives a target nothing of its own, so there is one for the process. */
static struct {
#define JAX_X(name) __typeof__(&name) name;
    JAX_CALLS(JAX_X)
#undef JAX_X
} library;

static bool open_library(const char *path) {
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (opened == NULL) return false;
#define JAX_X(name)                                                                                \
    {                                                                                              \
        void *address = dlsym(opened, #name);                                                      \
        memcpy(&library.name, &address, sizeof address);                                           \
        if (address == NULL) return false;                                                         \
    }
    JAX_CALLS(JAX_X)
#undef JAX_X
    return true;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* Where calls work. A context has one call at a time, and is kept when it is done. */
typedef struct place {
    int gpu; /* its number; NATIVE_HOST */
    void *stream;
    bf_context *context;
} place;

enum { IDLE_MOST = 64 };

static place idle[IDLE_MOST]; /* the one used last is the last */
static int idle_count;
static PyThread_type_lock idle_lock;

/* Sets at->context to an idle context, or to NULL. */
static void take_idle(place *at) {
    at->context = NULL;
    PyThread_acquire_lock(idle_lock, WAIT_LOCK);
    for (int i = idle_count - 1; i >= 0 && at->context == NULL; i--) {
        if (idle[i].gpu != at->gpu || idle[i].stream != at->stream) continue;
        at->context = idle[i].context;
        memmove(&idle[i], &idle[i + 1], (size_t)(--idle_count - i) * sizeof *idle);
    }
    PyThread_release_lock(idle_lock);
}

static void keep_idle(const place *at) {
    bf_context *oldest = NULL;
    PyThread_acquire_lock(idle_lock, WAIT_LOCK);
    if (idle_count == IDLE_MOST) {
        oldest = idle[0].context;
        memmove(&idle[0], &idle[1], (size_t)--idle_count * sizeof *idle);
    }
    idle[idle_count++] = *at;
    PyThread_release_lock(idle_lock);
    library.bf_context_destroy(oldest);
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct call {
    const xla_frame *frame;
    place at;
    char message[BF_MESSAGE_TEXT]; /* what is wrong, if the library does not say it */
} call;

typedef struct target {
    const char *name;
    int arguments;
    bf_status (*run)(call *c);
    xla_function *on_cpu, *on_gpu;
} target;

static bf_status refuse(call *c, bf_status status, const char *reason) {
    snprintf(c->message, sizeof c->message, "%s", reason);
    return status;
}

/* XLA's numbers up to BF_F16 are the library's. */
static bf_dtype dtype_of(const xla_buffer *x) {
    switch (x->dtype) {
    case XLA_F32: return BF_F32;
    case XLA_F64: return BF_F64;
    case XLA_BF16: return BF_BF16;
    default: return x->dtype >= BF_BOOL && x->dtype <= BF_F16 ? (bf_dtype)x->dtype : BF_NONE;
    }
}

static const xla_buffer *argument(const call *c, int i) { return c->frame->arguments.items[i]; }
static const xla_buffer *result(const call *c, int i) { return c->frame->results.items[i]; }

static bool are_buffers(const xla_list *list) {
    for (int64_t i = 0; i < list->count; i++)
        if (list->types[i] != XLA_BUFFER || dtype_of(list->items[i]) == BF_NONE) return false;
    return true;
}

static const void *attribute(const call *c, const char *name, int32_t type) {
    const xla_attributes *all = &c->frame->attributes;
    for (int64_t i = 0; i < all->count; i++)
        if (all->types[i] == type && all->names[i]->length == strlen(name) &&
            memcmp(all->names[i]->text, name, strlen(name)) == 0)
            return all->values[i];
    return NULL;
}

/* Sets *found to a number among the attributes. */
static bool read_number(const call *c, const char *name, int64_t *found) {
    const xla_scalar *scalar = attribute(c, name, XLA_SCALAR);
    if (scalar == NULL || scalar->dtype != XLA_S64) return false;
    *found = *(const int64_t *)scalar->value;
    return true;
}

static int64_t product(const int64_t *extents, int64_t n) {
    int64_t made = 1;
    for (int64_t i = 0; i < n; i++) made *= extents[i];
    return made;
}

static int64_t bytes_of(const xla_buffer *x) {
    return product(x->dims, x->rank) * (int64_t)library.bf_dtype_size(dtype_of(x));
}

static bool is_alike(const xla_buffer *a, const xla_buffer *b, int64_t rank) {
    return a->rank >= rank && b->rank >= rank &&
           memcmp(a->dims, b->dims, (size_t)rank * sizeof *a->dims) == 0;
}

/* Adds a dimension, whose elements lie one behind the other. */
static void add_extent(bf_array *x, int64_t extent) {
    for (int d = 0; d < x->ndim; d++) x->strides[d] *= extent;
    x->shape[x->ndim] = extent;
    x->strides[x->ndim++] = 1;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The second result of a call, of 8 bytes for each of `count`; NULL: there is none of this size. */
static void *second_result(const call *c, int64_t count) {
    if (c->frame->results.count < 2 || bytes_of(result(c, 1)) / 8 < count) return NULL;
    return result(c, 1)->data;
}

static bool is_narrow(const call *c) {
    return library.bf_dtype_kind(dtype_of(result(c, 0))) != 'f' &&
           library.bf_dtype_size(dtype_of(result(c, 0))) == 4;
}

/* Sets where the library writes `count` sums of x, and their options: to the first result; sums
 * that are to be narrowed, to the second. */
static bf_status find_sums(call *c, const xla_buffer *x, int64_t count, bf_array *sums,
                           bf_reduce_options *options) {
    const bf_dtype dtype = dtype_of(result(c, 0));
    const char kind = library.bf_dtype_kind(dtype);
    const char kind_of_x = library.bf_dtype_kind(dtype_of(x));
    if (kind != (kind_of_x == 'b' ? 'i' : kind_of_x) || library.bf_dtype_size(dtype) < 4)
        return refuse(c, BF_E_DTYPE, "sums are not of this dtype");
    if (product(result(c, 0)->dims, result(c, 0)->rank) != count)
        return refuse(c, BF_E_SHAPE, "the result has another shape");
    *options = BF_REDUCE_OPTIONS(.out_dtype = kind == 'f' ? dtype : BF_NONE);
    sums->dtype = kind == 'f' ? dtype : kind == 'i' ? BF_I64 : BF_U64;
    sums->data = is_narrow(c) ? second_result(c, count) : result(c, 0)->data;
    if (sums->data == NULL && count > 0)
        return refuse(c, BF_E_ARGUMENT, "sums of 32 bits need a second result");
    return BF_OK;
}

/* Writes sums of 64 bits, which must fit, to the first result of 32. */
static bf_status narrow(const call *c, const bf_array *sums) {
    const int64_t count = product(result(c, 0)->dims, result(c, 0)->rank);
    const bf_array wide = bf_array_of(sums->dtype, sums->data, count);
    const bf_array out = bf_array_of(dtype_of(result(c, 0)), result(c, 0)->data, count);
    return library.bf_map(c->at.context, BF_MAP_CAST, (const bf_array *const[]){&wide}, 1, NULL,
                          &out);
}

/* ---- along axes ------------------------------------------------------------------------------ */

/* An array whose dimensions that follow each other are one if all or none of them are reduced. */
typedef struct fibres {
    bf_array x, sums;
    int axes[BF_MAX_DIMS], count;
} fibres;

static bool is_reduced(const xla_array *axes, int64_t axis) {
    for (size_t i = 0; i < axes->count; i++)
        if (((const int64_t *)axes->data)[i] == axis) return true;
    return false;
}

static bool find_fibres(const xla_buffer *x, const xla_array *axes, fibres *f) {
    memset(f, 0, sizeof *f);
    f->x.dtype = dtype_of(x);
    f->x.data = x->data;
    for (int64_t d = 0, next; d < x->rank; d = next) {
        const bool reduced = is_reduced(axes, d - x->rank);
        next = d + 1;
        while (next < x->rank && is_reduced(axes, next - x->rank) == reduced) next++;
        if (f->x.ndim == BF_MAX_DIMS) return false;
        const int64_t extent = product(x->dims + d, next - d);
        if (reduced)
            f->axes[f->count++] = f->x.ndim;
        else
            add_extent(&f->sums, extent);
        add_extent(&f->x, extent);
    }
    return true;
}

/* Reads what a call of sum or dot is about. */
static bf_status plan_fibres(call *c, fibres *f, bf_reduce_options *options) {
    const xla_array *axes = attribute(c, "axes", XLA_ARRAY);
    if (axes == NULL || axes->dtype != XLA_S64)
        return refuse(c, BF_E_ARGUMENT, "there are no axes of 64 bits");
    if (!find_fibres(argument(c, 0), axes, f))
        return refuse(c, BF_E_SHAPE, "the axes alternate more than 8 times");
    return find_sums(c, argument(c, 0), product(f->sums.shape, f->sums.ndim), &f->sums, options);
}

/* Sums and dot products of floats cannot fail for the data. */
static bf_status run_sum(call *c) {
    fibres f;
    bf_reduce_options options;
    bf_status status = plan_fibres(c, &f, &options);
    if (status != BF_OK) return status;
    if (options.out_dtype != BF_NONE)
        return library.bf_reduce_axes_async(c->at.context, BF_SUM, &f.x, f.axes, f.count, &options,
                                            &f.sums, NULL);
    status = library.bf_reduce_axes(c->at.context, BF_SUM, &f.x, f.axes, f.count, &options, &f.sums,
                                    NULL);
    return status == BF_OK && is_narrow(c) ? narrow(c, &f.sums) : status;
}

static bf_status run_dot(call *c) {
    fibres f;
    bf_reduce_options options;
    const xla_buffer *a = argument(c, 0), *b = argument(c, 1);
    if (a->rank != b->rank || !is_alike(a, b, a->rank) || a->dtype != b->dtype)
        return refuse(c, BF_E_SHAPE, "the factors have different shapes or dtypes");
    bf_status status = plan_fibres(c, &f, &options);
    if (status != BF_OK) return status;
    bf_array second = f.x;
    second.data = b->data;
    if (options.out_dtype != BF_NONE)
        return library.bf_reduce_pair_axes_async(c->at.context, BF_DOT, &f.x, &second, f.axes,
                                                 f.count, &options, &f.sums, NULL);
    status =
        library.bf_dot_axes(c->at.context, &f.x, &second, f.axes, f.count, &options, &f.sums, NULL);
    return status == BF_OK && is_narrow(c) ? narrow(c, &f.sums) : status;
}

/* ---- by index -------------------------------------------------------------------------------- */

/* Rows and their slots. The dimensions of the index before its last are batches, each with slots
 * of its own. */
typedef struct rows {
    bf_array index, rows, sums; /* one batch, the first */
    int64_t batches;
} rows;

static bf_status plan_rows(call *c, rows *r, bf_reduce_options *options) {
    const xla_buffer *index = argument(c, 0), *x = argument(c, 1), *out = result(c, 0);
    const int64_t lead = index->rank - 1;
    if (lead < 0 || !is_alike(index, x, index->rank) || !is_alike(x, out, lead) ||
        x->rank != out->rank)
        return refuse(c, BF_E_SHAPE, "there is one index for each row");
    const int64_t width = product(x->dims + index->rank, x->rank - index->rank);
    *r = (rows){.index = {.data = index->data, .dtype = dtype_of(index)},
                .rows = {.data = x->data, .dtype = dtype_of(x)},
                .batches = product(index->dims, lead)};
    add_extent(&r->index, index->dims[lead]);
    add_extent(&r->rows, index->dims[lead]);
    add_extent(&r->sums, out->dims[lead]);
    if (x->rank > index->rank) {
        add_extent(&r->rows, width);
        add_extent(&r->sums, width);
    }
    return find_sums(c, x, r->batches * out->dims[lead] * width, &r->sums, options);
}

static void go_on(bf_array *x, int64_t batch) {
    const int64_t bytes = (int64_t)library.bf_dtype_size(x->dtype) * product(x->shape, x->ndim);
    if (x->data != NULL) x->data = (char *)x->data + batch * bytes;
}

/* wrong: a word that the GPU can write. NULL: a wrong index is an error. */
static bf_status add_rows(const call *c, rows r, int64_t batch, const bf_reduce_options *options,
                          int64_t *wrong) {
    go_on(&r.index, batch);
    go_on(&r.rows, batch);
    go_on(&r.sums, batch);
    return wrong == NULL ? library.bf_reduce_index(c->at.context, BF_SUM, &r.rows, &r.index,
                                                   options, &r.sums, NULL)
                         : library.bf_reduce_index_async(c->at.context, BF_SUM, &r.rows, &r.index,
                                                         options, &r.sums, NULL, wrong);
}

static bf_status run_rows(call *c, bool is_checked) {
    rows r;
    bf_reduce_options options;
    bf_status status = plan_rows(c, &r, &options);
    if (status != BF_OK) return status;
    const bool waits = is_checked || options.out_dtype == BF_NONE;
    int64_t *wrong = waits ? NULL : second_result(c, 1);
    for (int64_t i = 0; i < r.batches && status == BF_OK; i++)
        status = add_rows(c, r, i, &options, wrong);
    return status == BF_OK && is_narrow(c) ? narrow(c, &r.sums) : status;
}

static bf_status run_index_add(call *c) { return run_rows(c, true); }

/* All indices are those of slots, which bitfold.jax sees to. */
static bf_status run_segment_sum(call *c) { return run_rows(c, false); }

/* ---- order ----------------------------------------------------------------------------------- */

/* Values go to the first result; their positions of 64 bits to the second, if there is one. Lines
 * that lie apart are copied, which is waited for. */
static bf_status run_sort(call *c) {
    const xla_buffer *x = argument(c, 0), *out = result(c, 0);
    int64_t axis, descending;
    if (!read_number(c, "axis", &axis) || !read_number(c, "descending", &descending) ||
        axis < -x->rank || axis > -1)
        return refuse(c, BF_E_ARGUMENT, "there is no axis of these numbers");
    if (x->rank != out->rank || !is_alike(x, out, x->rank) || x->dtype != out->dtype)
        return refuse(c, BF_E_SHAPE, "the result has another shape or dtype");
    const int64_t d = axis + x->rank;
    bf_array lines = {.data = x->data, .dtype = dtype_of(x)};
    add_extent(&lines, product(x->dims, d));
    add_extent(&lines, x->dims[d]);
    add_extent(&lines, product(x->dims + d + 1, x->rank - d - 1));
    bf_array values = lines, index = lines;
    values.data = out->data;
    index.data = second_result(c, product(x->dims, x->rank));
    index.dtype = BF_I64;
    const bf_order_options options = BF_ORDER_OPTIONS(.descending = descending != 0);
    return (lines.shape[2] == 1 ? library.bf_sort_async : library.bf_sort)(
        c->at.context, &lines, 1, &options, &values, index.data != NULL ? &index : NULL);
}

/* ---- what XLA calls -------------------------------------------------------------------------- */

/* The data can make sums too large, and an index no slot. */
static int32_t code_of(bf_status status) {
    switch (status) {
    case BF_E_OVERFLOW:
    case BF_E_ARGUMENT: return XLA_OUT_OF_RANGE;
    case BF_E_MEMORY: return XLA_RESOURCE_EXHAUSTED;
    case BF_E_DEVICE: return XLA_UNAVAILABLE;
    case BF_E_DTYPE:
    case BF_E_SHAPE: return XLA_INVALID_ARGUMENT;
    default: return XLA_INTERNAL;
    }
}

static xla_error *error_of(const call *c, const target *t, bf_status status) {
    const char *reason = c->message;
    if (*reason == '\0' && c->at.context != NULL)
        reason = library.bf_context_message(c->at.context);
    if (*reason == '\0') reason = library.bf_status_string(status);
    char message[BF_MESSAGE_TEXT + 64];
    snprintf(message, sizeof message, "bitfold.jax.%s: %s", t->name, reason);
    xla_error_create made = {sizeof made, NULL, message, code_of(status)};
    return c->frame->api->error_create(&made);
}

/* Says which version of the ABI this is: the latest one that both know. */
static xla_error *describe(const xla_frame *frame) {
    const xla_metadata_extension *asked = (const xla_metadata_extension *)frame->extensions;
    int minor = frame->api != NULL ? frame->api->version.minor : XLA_MINOR_LEAST;
    if (minor > XLA_MINOR_MOST) minor = XLA_MINOR_MOST;
    asked->metadata->version.major = XLA_MAJOR;
    asked->metadata->version.minor = minor;
    asked->metadata->traits = 0;
    return NULL;
}

static bf_status check_frame(call *c, const target *t) {
    const xla_frame *frame = c->frame;
    if (frame->api->size < sizeof *frame->api || frame->size < sizeof *frame)
        return refuse(c, BF_E_ARGUMENT, "this version of jaxlib is too old");
    if (frame->arguments.count != t->arguments || frame->results.count < 1 ||
        !are_buffers(&frame->arguments) || !are_buffers(&frame->results))
        return refuse(c, BF_E_ARGUMENT, "there are other arguments or results");
    return BF_OK;
}

/* Sets the GPU and the stream of a call. */
static xla_error *find_stream(call *c) {
    const xla_frame *frame = c->frame;
    xla_stream_get stream = {.size = sizeof stream, .context = frame->context};
    xla_device_get device = {.size = sizeof device, .context = frame->context};
    xla_error *error = frame->api->stream_get(&stream);
    if (error == NULL) error = frame->api->device_get(&device);
    void *const legacy =
        (void *)(uintptr_t)1; /* CUDA's handle of the stream that NULL stands for */
    c->at.stream = stream.stream != NULL ? stream.stream : legacy;
    c->at.gpu = device.device;
    return error;
}

static bf_status find_context(call *c) {
    take_idle(&c->at);
    if (c->at.context != NULL) return BF_OK;
    char device[32] = "cpu";
    if (c->at.gpu != NATIVE_HOST) snprintf(device, sizeof device, "cuda:%d", c->at.gpu);
    const bf_options options = BF_OPTIONS(.device = device, .stream = c->at.stream);
    const bf_status status = library.bf_context_create(&options, &c->at.context);
    if (status != BF_OK) library.bf_context_create_message(&options, c->message);
    return status;
}

static xla_error *answer(const xla_frame *frame, const target *t, bool on_gpu) {
    if (frame->extensions != NULL && frame->extensions->type == XLA_EXTENSION_METADATA)
        return describe(frame);
    if (frame->stage != XLA_STAGE_EXECUTE) return NULL;
    call c = {.frame = frame, .at = {.gpu = NATIVE_HOST}};
    bf_status status = check_frame(&c, t);
    xla_error *error = status == BF_OK && on_gpu ? find_stream(&c) : NULL;
    if (error != NULL) return error;
    if (status == BF_OK) status = find_context(&c);
    if (status == BF_OK) status = t->run(&c);
    if (status != BF_OK) error = error_of(&c, t, status);
    if (c.at.context != NULL) keep_idle(&c.at);
    return error;
}

#define JAX_TARGETS(X)                                                                             \
    X(sum, 1)                                                                                      \
    X(dot, 2)                                                                                      \
    X(index_add, 2)                                                                                \
    X(segment_sum, 2)                                                                              \
    X(sort, 1)

enum {
#define JAX_X(name, arguments) NUMBER_OF_##name,
    JAX_TARGETS(JAX_X)
#undef JAX_X
        TARGETS
};

static const target targets[TARGETS];

#define JAX_X(name, arguments)                                                                     \
    static xla_error *name##_on_cpu(xla_frame *frame) {                                            \
        return answer(frame, &targets[NUMBER_OF_##name], false);                                   \
    }                                                                                              \
    static xla_error *name##_on_gpu(xla_frame *frame) {                                            \
        return answer(frame, &targets[NUMBER_OF_##name], true);                                    \
    }
JAX_TARGETS(JAX_X)
#undef JAX_X

static const target targets[TARGETS] = {
#define JAX_X(name, arguments) {#name, arguments, run_##name, name##_on_cpu, name##_on_gpu},
    JAX_TARGETS(JAX_X)
#undef JAX_X
};

/* ---- in Python ------------------------------------------------------------------------------- */

static PyObject *capsule_of(xla_function *function) {
    void *address;
    memcpy(&address, &function, sizeof address);
    return PyCapsule_New(address, NULL, NULL);
}

PyObject *native_jax_targets(PyObject *self, PyObject *path) {
    (void)self;
    const char *text = PyUnicode_AsUTF8AndSize(path, NULL);
    if (text == NULL) return NULL;
    if (!open_library(text)) return PyErr_Format(PyExc_ImportError, "%s", dlerror());
    if (idle_lock == NULL && (idle_lock = PyThread_allocate_lock()) == NULL)
        return PyErr_NoMemory();
    PyObject *list = PyList_New(0);
    for (int i = 0; i < TARGETS && list != NULL; i++) {
        PyObject *row = Py_BuildValue("sNN", targets[i].name, capsule_of(targets[i].on_cpu),
                                      capsule_of(targets[i].on_gpu));
        if (row == NULL || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}
