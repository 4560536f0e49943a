/* Columns of other libraries by the Arrow C data interface, and by the one for devices. */
#include <bitfold/arrow.h>

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/exchange.h"
#include "api/runtime/place.h"
#include "base/where.h"
#include "rules/number/dtype.h"
#include "seam/device.h"
#include "seam/memory.h"

#include <stdlib.h>

/* ---- the structures of the standard ---------------------------------------------------------- */

enum { NULLABLE = 2 }; /* a flag */

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, children_count;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, buffer_count, children_count;
    const void **buffers; /* a bitmap of what is no NULL, or NULL; the values */
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

enum { BUFFERS = 2 };

struct ArrowDeviceArray {
    struct ArrowArray array; /* its buffers are on the device */
    int64_t device;
    int32_t device_type;
    void *sync_event; /* NULL: the buffers are ready; of CUDA, where the event is */
    int64_t reserved[3];
};

static const struct {
    bf_dtype dtype;
    const char *format;
} formats[] = {
    {BF_BOOL, "b"}, {BF_I8, "c"},  {BF_U8, "C"},        {BF_I16, "s"},        {BF_U16, "S"},
    {BF_I32, "i"},  {BF_U32, "I"}, {BF_I64, "l"},       {BF_U64, "L"},        {BF_F16, "e"},
    {BF_F32, "f"},  {BF_F64, "g"}, {BF_I128, "d:38,0"}, {BF_I128, "_pli128"}, /* Polars writes the
                                                                                 last */
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- bits ------------------------------------------------------------------------------------ */

static bool bit_at(const uint8_t *bits, int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

/* The 64 bits from bit i on: the caller knows that they are there. */
static uint64_t bits_at(const uint8_t *bits, int64_t i) {
    uint64_t low;
    memcpy(&low, bits + (i >> 3), sizeof low);
    const int shift = (int)(i & 7);
    return shift == 0 ? low : low >> shift | (uint64_t)bits[(i >> 3) + 8] << (64 - shift);
}

static int64_t count_bits(const uint8_t *bits, int64_t first, int64_t n) {
    int64_t count = 0, i = 0;
    for (; i + 64 <= n; i += 64) count += __builtin_popcountll(bits_at(bits, first + i));
    for (; i < n; i++) count += bit_at(bits, first + i);
    return count;
}

/* ---- a column -------------------------------------------------------------------------------- */

typedef struct column {
    bf_dtype dtype;
    int64_t n, nulls, offset; /* elements; NULLs, -1: not counted; where the first one lies */
    const uint8_t *valid;     /* a bit for each; NULL: there are no NULLs */
    const char *values;       /* bools are bits */
} column;

static bf_status find_dtype(bf_context *context, const struct ArrowSchema *schema, column *c) {
    if (schema->dictionary != NULL)
        return bf_fail(context, BF_E_DTYPE, "an Arrow column of a dictionary: decode it first");
    for (int i = 0; i < FORMATS; i++)
        if (schema->format != NULL && strcmp(schema->format, formats[i].format) == 0) {
            c->dtype = formats[i].dtype;
            return BF_OK;
        }
    return bf_fail(context, BF_E_DTYPE, "an Arrow column of format '%.40s' holds no numbers",
                   schema->format != NULL ? schema->format : "");
}

/* Are the sizes such as memory can have? */
static bool is_well_formed(const struct ArrowArray *array, bf_dtype dtype) {
    int64_t end;
    if (array->length < 0 || array->offset < 0 || array->buffer_count != BUFFERS ||
        array->buffers == NULL || array->null_count < -1 || array->null_count > array->length)
        return false;
    if (__builtin_add_overflow(array->length, array->offset, &end)) return false;
    const bf_array all = bf_array_of(dtype, array->buffers[1], end);
    return array->length == 0 || bf_array_elements(&all, bf_number_bytes(dtype)) >= 0;
}

static bf_status read_column(bf_context *context, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, column *c) {
    if (schema == NULL || array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no Arrow column");
    if (schema->release == NULL || array->release == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "an Arrow column that has been released");
    bf_status status = find_dtype(context, schema, c);
    if (status != BF_OK) return status;
    if (!is_well_formed(array, c->dtype))
        return bf_fail(context, BF_E_ARGUMENT, "an Arrow column that is not well formed");
    c->n = array->length;
    c->offset = array->offset;
    c->valid = array->buffers[0];
    c->values = array->buffers[1];
    c->nulls = array->null_count;
    if (c->valid == NULL && c->nulls > 0)
        return bf_fail(context, BF_E_ARGUMENT,
                       "an Arrow column with NULLs, but without their bits");
    if (c->valid == NULL || c->n == 0) c->nulls = 0;
    return BF_OK;
}

/* The host counts the bits: they are few, beside the values. */
static bf_status count_nulls_of_gpu(bf_context *context, column *c) {
    const int64_t first = c->offset >> 3, end = (c->offset + c->n + 7) >> 3;
    uint8_t *bits = malloc((size_t)(end - first));
    const bf_backend *by;
    if (bits == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for the bits of NULLs");
    bf_status status = bf_place_copy(context, bits, c->valid, &by);
    if (status == BF_OK)
        status = by->memory->copy(context, bits, c->valid + first, (size_t)(end - first));
    if (status == BF_OK) c->nulls = c->n - count_bits(bits, c->offset & 7, c->n);
    free(bits);
    return status;
}

static bf_status count_nulls(bf_context *context, column *c) {
    if (c->nulls >= 0) return BF_OK;
    if (bf_where_is(c->valid, NULL) == BF_WHERE_DEVICE) return count_nulls_of_gpu(context, c);
    c->nulls = c->n - count_bits(c->valid, c->offset, c->n);
    return BF_OK;
}

/* ---- without a copy -------------------------------------------------------------------------- */

/* Waits for the work that makes a column: the context's stream does, or, for memory that the host
 * may read, this call. */
static bf_status wait_for_column(bf_context *context, const struct ArrowDeviceArray *array) {
    const bf_backend *gpu = bf_backend_gpu();
    const bool on_gpu = array->device_type == BF_TYPE_CUDA;
    if (array->sync_event == NULL) return BF_OK;
    if (array->device_type == BF_TYPE_CPU)
        return bf_fail(context, BF_E_ARGUMENT, "an Arrow column of the CPU, but with an event");
    if (gpu == NULL)
        return bf_fail(context, BF_E_DEVICE,
                       "an Arrow column with an event of CUDA, which this "
                       "build does not have");
    bf_status status = BF_OK;
    if (on_gpu && context->fixed == NULL) status = bf_backend_open_gpu(context, (int)array->device);
    if (status != BF_OK) return status;
    void *event = *(void *const *)array->sync_event;
    return gpu->devices->wait(context, event, !on_gpu || context->cuda == NULL);
}

/* device: the column with where it is; NULL: on the host. */
static bf_status view_column(bf_context *context, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, const struct ArrowDeviceArray *device,
                             bf_array *values, int64_t *nulls) {
    column c;
    if (values == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the array");
    bf_status status = read_column(context, schema, array, &c);
    if (status == BF_OK && device != NULL) status = wait_for_column(context, device);
    if (status == BF_OK) status = count_nulls(context, &c);
    if (status != BF_OK) return status;
    if (c.dtype == BF_BOOL)
        return bf_fail(context, BF_E_DTYPE, "an Arrow column of bools, which are packed in bits");
    if (nulls == NULL && c.nulls > 0)
        return bf_fail(context, BF_E_ARGUMENT, "%lld of %lld elements are NULL", (long long)c.nulls,
                       (long long)c.n);
    const int64_t at = c.n > 0 ? c.offset * bf_number_bytes(c.dtype) : 0;
    *values = bf_array_of(c.dtype, c.n > 0 ? c.values + at : NULL, c.n);
    if (nulls != NULL) *nulls = c.nulls;
    return BF_OK;
}

bf_status bf_array_from_arrow(bf_context *context, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, bf_array *values, int64_t *nulls) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, view_column(context, schema, array, NULL, values, nulls));
}

static bf_status view_device_column(bf_context *context, const struct ArrowSchema *schema,
                                    const struct ArrowDeviceArray *array, bf_array *values,
                                    int64_t *nulls) {
    if (array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no Arrow column");
    if (!bf_type_is_reached(array->device_type))
        return bf_fail(context, BF_E_DEVICE, "an Arrow column on a device of type %d",
                       (int)array->device_type);
    return view_column(context, schema, &array->array, array, values, nulls);
}

bf_status bf_array_from_arrow_device(bf_context *context, const struct ArrowSchema *schema,
                                     const struct ArrowDeviceArray *array, bf_array *values,
                                     int64_t *nulls) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, view_device_column(context, schema, array, values, nulls));
}

/* ---- a copy ---------------------------------------------------------------------------------- */

/* Copies n elements from element i of the buffers on. */
static char *copy_run(const column *c, int64_t i, int64_t n, char *to) {
    const int64_t bytes = bf_number_bytes(c->dtype);
    if (c->dtype == BF_BOOL)
        for (int64_t k = 0; k < n; k++) to[k] = bit_at((const uint8_t *)c->values, i + k);
    else
        memcpy(to, c->values + i * bytes, (size_t)(n * bytes));
    return to + n * bytes;
}

/* Copies those of up to 64 elements whose bits are set, run by run. */
static char *copy_bits(const column *c, int64_t i, uint64_t bits, char *to) {
    while (bits != 0) {
        const int first = __builtin_ctzll(bits);
        const uint64_t rest = ~(bits >> first);
        const int n = rest == 0 ? 64 : __builtin_ctzll(rest);
        to = copy_run(c, i + first, n, to);
        bits &= first + n == 64 ? 0 : ~(uint64_t)0 << (first + n);
    }
    return to;
}

static void copy_values(const column *c, char *to) {
    int64_t i = 0;
    if (c->nulls == 0) {
        copy_run(c, c->offset, c->n, to);
        return;
    }
    for (; i + 64 <= c->n; i += 64)
        to = copy_bits(c, c->offset + i, bits_at(c->valid, c->offset + i), to);
    for (; i < c->n; i++)
        if (bit_at(c->valid, c->offset + i)) to = copy_run(c, c->offset + i, 1, to);
}

static bf_status copy_column(bf_context *context, const struct ArrowSchema *schema,
                             const struct ArrowArray *array, const bf_array *values, int64_t *n) {
    column c;
    if (values == NULL || n == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no place for the values, or for their number");
    bf_status status = read_column(context, schema, array, &c);
    if (status == BF_OK && bf_where_is(c.values, NULL) == BF_WHERE_DEVICE)
        status = bf_fail(context, BF_E_DEVICE, "an Arrow column of a GPU's memory is not copied");
    if (status == BF_OK) status = count_nulls(context, &c);
    if (status != BF_OK) return status;
    const int64_t room = bf_array_elements(values, bf_number_bytes(values->dtype));
    if (room < 0) return bf_fail(context, BF_E_ARGUMENT, "the values are not well formed");
    if (values->dtype != c.dtype)
        return bf_fail(context, BF_E_DTYPE, "the column is %s, the values are %s",
                       bf_dtype_name(c.dtype), bf_dtype_name(values->dtype));
    if (values->ndim != 1 || (room > 1 && values->strides[0] != 1))
        return bf_fail(context, BF_E_SHAPE, "the values are not one contiguous dimension");
    if (bf_where_is(values->data, NULL) == BF_WHERE_DEVICE)
        return bf_fail(context, BF_E_DEVICE, "an Arrow column is copied to host memory only");
    *n = c.n - c.nulls;
    if (*n > room)
        return bf_fail(context, BF_E_SHAPE, "there are %lld values, and room for %lld",
                       (long long)*n, (long long)room);
    if (*n > 0) copy_values(&c, values->data);
    return BF_OK;
}

bf_status bf_array_copy_arrow(bf_context *context, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, const bf_array *values, int64_t *n) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, copy_column(context, schema, array, values, n));
}

/* ---- to a column ----------------------------------------------------------------------------- */

typedef struct owned_column {
    const void *buffers[BUFFERS];
    uint8_t *packed; /* bools; else NULL */
    void (*release)(void *owner);
    void *owner;
} owned_column;

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_array(struct ArrowArray *array) {
    owned_column *owned = array->private_data;
    if (owned->release != NULL) owned->release(owned->owner);
    free(owned->packed);
    free(owned);
    array->release = NULL;
}

static bf_status check_column(bf_context *context, const bf_array *values, const char **format) {
    int i = 0;
    if (values == NULL || bf_array_elements(values, bf_number_bytes(values->dtype)) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "no array, or one that is not well formed");
    while (i < FORMATS && formats[i].dtype != values->dtype) i++;
    if (i == FORMATS)
        return bf_fail(context, BF_E_DTYPE, "Arrow has no %s", bf_dtype_name(values->dtype));
    if (values->ndim != 1 || (values->shape[0] > 1 && values->strides[0] != 1))
        return bf_fail(context, BF_E_SHAPE, "an Arrow column is one contiguous dimension");
    if (bf_where_is(values->data, NULL) == BF_WHERE_DEVICE)
        return bf_fail(context, BF_E_DEVICE, "the array is in a GPU's memory: DLPack takes it");
    *format = formats[i].format;
    return BF_OK;
}

static bool pack_bools(const bf_array *values, owned_column *owned) {
    const uint8_t *from = values->data;
    const int64_t n = values->shape[0];
    owned->packed = calloc((size_t)(n / 8 + 1), 1);
    if (owned->packed == NULL) return false;
    for (int64_t i = 0; i < n; i++) owned->packed[i >> 3] |= (uint8_t)((from[i] != 0) << (i & 7));
    return true;
}

static owned_column *own_column(const bf_array *values) {
    owned_column *owned = calloc(1, sizeof *owned); /* it may outlive the context */
    if (owned == NULL) return NULL;
    if (values->dtype == BF_BOOL && !pack_bools(values, owned)) {
        free(owned);
        return NULL;
    }
    owned->buffers[1] = values->dtype == BF_BOOL ? owned->packed : values->data;
    return owned;
}

static bf_status give_column(bf_context *context, const bf_array *values,
                             void (*release)(void *owner), void *owner, struct ArrowSchema *schema,
                             struct ArrowArray *array) {
    const char *format = NULL;
    if (schema == NULL || array == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no place for the Arrow column");
    bf_status status = check_column(context, values, &format);
    if (status != BF_OK) return status;
    owned_column *owned = own_column(values);
    if (owned == NULL) return BF_E_MEMORY;
    owned->release = release;
    owned->owner = owner;
    *schema = (struct ArrowSchema){
        .format = format, .name = "", .flags = NULLABLE, .release = release_schema};
    *array = (struct ArrowArray){
        .length = values->shape[0],
        .buffer_count = BUFFERS,
        .buffers = owned->buffers,
        .release = release_array,
        .private_data = owned,
    };
    return BF_OK;
}

bf_status bf_array_to_arrow(bf_context *context, const bf_array *values,
                            void (*release)(void *owner), void *owner, struct ArrowSchema *schema,
                            struct ArrowArray *array) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, give_column(context, values, release, owner, schema, array));
}
