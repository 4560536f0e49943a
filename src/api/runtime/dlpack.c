/* Arrays of other libraries by DLPack. */
#include <bitfold/dlpack.h>

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/exchange.h"
#include "base/where.h"
#include "rules/number/dtype.h"

#include <stdlib.h>

/* ---- the structures of DLPack 1.x, whose layout its major version fixes ---------------------- */

enum { MAJOR = 1, MINOR = 0 };
enum { READ_ONLY = 1 }; /* a flag */

typedef enum type_code {
    CODE_INT = 0,
    CODE_UINT = 1,
    CODE_FLOAT = 2,
    CODE_BFLOAT = 4,
    CODE_BOOL = 6
} type_code;

typedef struct tensor_view {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
} tensor_view;

struct DLManagedTensor {
    tensor_view view;
    void *manager;
    void (*deleter)(struct DLManagedTensor *);
};

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    tensor_view view;
};

/* ---- dtypes ---------------------------------------------------------------------------------- */

static uint8_t code_of(bf_dtype dtype) {
    switch (bf_dtype_kind(dtype)) {
    case 'b': return CODE_BOOL;
    case 'i': return CODE_INT;
    case 'u': return CODE_UINT;
    default: return dtype == BF_BF16 ? CODE_BFLOAT : CODE_FLOAT;
    }
}

static bf_dtype dtype_of(const tensor_view *view) {
    for (int d = 1; bf_dtype_bytes((bf_dtype)d) > 0; d++)
        if (code_of((bf_dtype)d) == view->code && 8 * bf_dtype_bytes((bf_dtype)d) == view->bits &&
            view->lanes == 1)
            return (bf_dtype)d;
    return BF_NONE;
}

/* ---- from a tensor --------------------------------------------------------------------------- */

static void copy_layout(const tensor_view *view, bf_array *array) {
    int64_t stride = 1;
    for (int d = view->ndim - 1; d >= 0; d--) {
        array->shape[d] = view->shape[d];
        array->strides[d] = view->strides != NULL ? view->strides[d] : stride;
        if (__builtin_mul_overflow(stride, view->shape[d], &stride)) stride = INT64_MAX;
    }
}

static bf_status read_view(bf_context *context, const tensor_view *view, bf_array *array) {
    bf_array found = {.dtype = dtype_of(view), .ndim = view->ndim};
    if (!bf_type_is_reached(view->device_type))
        return bf_fail(context, BF_E_DEVICE, "a DLPack tensor on a device of type %d",
                       (int)view->device_type);
    if (found.dtype == BF_NONE)
        return bf_fail(context, BF_E_DTYPE, "a DLPack tensor of code %d, %d bits and %d lanes",
                       view->code, view->bits, view->lanes);
    if (view->ndim > BF_MAX_DIMS)
        return bf_fail(context, BF_E_SHAPE, "a DLPack tensor of %d dimensions: %d at most",
                       (int)view->ndim, BF_MAX_DIMS);
    if (view->ndim < 0 || (view->ndim > 0 && view->shape == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "a DLPack tensor without a shape");
    copy_layout(view, &found);
    if (view->data != NULL)
        found.data = (void *)((uintptr_t)view->data + (uintptr_t)view->byte_offset);
    if (bf_array_count(&found) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "a DLPack tensor that no memory can hold");
    *array = found;
    return BF_OK;
}

static bf_status read_tensor(bf_context *context, const struct DLManagedTensorVersioned *tensor,
                             bf_array *array, int *readonly) {
    if (tensor == NULL || array == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no DLPack tensor, or no place for the array");
    if (tensor->major != MAJOR)
        return bf_fail(context, BF_E_ARGUMENT, "a tensor of DLPack %u.%u, not of version 1",
                       (unsigned)tensor->major, (unsigned)tensor->minor);
    bf_status status = read_view(context, &tensor->view, array);
    if (status == BF_OK && readonly != NULL) *readonly = (tensor->flags & READ_ONLY) != 0;
    return status;
}

bf_status bf_array_from_dlpack(bf_context *context, const struct DLManagedTensorVersioned *tensor,
                               bf_array *array, int *readonly) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, read_tensor(context, tensor, array, readonly));
}

static bf_status read_unversioned(bf_context *context, const struct DLManagedTensor *tensor,
                                  bf_array *array) {
    if (tensor == NULL || array == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "no DLPack tensor, or no place for the array");
    return read_view(context, &tensor->view, array);
}

bf_status bf_array_from_dlpack_unversioned(bf_context *context,
                                           const struct DLManagedTensor *tensor, bf_array *array) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, read_unversioned(context, tensor, array));
}

/* ---- to a tensor ----------------------------------------------------------------------------- */

/* A tensor, of either version, with its shape, its strides and its owner. */
typedef struct owned_tensor {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    } tensor; /* first: its deleter gets this */
    int64_t shape[BF_MAX_DIMS], strides[BF_MAX_DIMS];
    void (*release)(void *owner);
    void *owner;
} owned_tensor;

static void delete_owned(owned_tensor *owned) {
    if (owned == NULL) return;
    if (owned->release != NULL) owned->release(owned->owner);
    free(owned);
}

static void delete_versioned(struct DLManagedTensorVersioned *tensor) {
    delete_owned((owned_tensor *)tensor);
}

static void delete_unversioned(struct DLManagedTensor *tensor) {
    delete_owned((owned_tensor *)tensor);
}

static void set_device(const void *data, tensor_view *view) {
    int device;
    bf_where where = bf_where_is(data, &device);
    bool on_gpu = where == BF_WHERE_DEVICE;
    view->device_type = on_gpu                      ? BF_TYPE_CUDA
                        : where == BF_WHERE_MANAGED ? BF_TYPE_CUDA_MANAGED
                                                    : BF_TYPE_CPU;
    view->device_id = on_gpu ? device : 0;
}

/* Makes the memory of a tensor, and the view that belongs into it. */
static bf_status make_tensor(bf_context *context, const bf_array *array,
                             void (*release)(void *owner), void *owner, owned_tensor **tensor,
                             tensor_view *view) {
    if (array == NULL || bf_array_count(array) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "no array, or one that is not well formed");
    if (bf_dtype_bytes(array->dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "DLPack has no %s", bf_dtype_name(array->dtype));
    owned_tensor *made = malloc(sizeof *made); /* it may outlive the context */
    if (made == NULL) return BF_E_MEMORY;
    memcpy(made->shape, array->shape, sizeof made->shape);
    memcpy(made->strides, array->strides, sizeof made->strides);
    made->release = release;
    made->owner = owner;
    *view = (tensor_view){
        .data = array->data,
        .ndim = array->ndim,
        .code = code_of(array->dtype),
        .bits = (uint8_t)(8 * bf_dtype_bytes(array->dtype)),
        .lanes = 1,
        .shape = made->shape,
        .strides = made->strides,
    };
    set_device(array->data, view);
    *tensor = made;
    return BF_OK;
}

static bf_status give_tensor(bf_context *context, const bf_array *array, int readonly,
                             void (*release)(void *owner), void *owner,
                             struct DLManagedTensorVersioned **tensor) {
    owned_tensor *made = NULL;
    tensor_view view;
    if (tensor == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the tensor");
    bf_status status = make_tensor(context, array, release, owner, &made, &view);
    if (status != BF_OK) return status;
    made->tensor.versioned = (struct DLManagedTensorVersioned){
        .major = MAJOR,
        .minor = MINOR,
        .deleter = delete_versioned,
        .flags = readonly ? READ_ONLY : 0,
        .view = view,
    };
    *tensor = &made->tensor.versioned;
    return BF_OK;
}

bf_status bf_array_to_dlpack(bf_context *context, const bf_array *array, int readonly,
                             void (*release)(void *owner), void *owner,
                             struct DLManagedTensorVersioned **tensor) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, give_tensor(context, array, readonly, release, owner, tensor));
}

static bf_status give_unversioned(bf_context *context, const bf_array *array,
                                  void (*release)(void *owner), void *owner,
                                  struct DLManagedTensor **tensor) {
    owned_tensor *made = NULL;
    tensor_view view;
    if (tensor == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the tensor");
    bf_status status = make_tensor(context, array, release, owner, &made, &view);
    if (status != BF_OK) return status;
    made->tensor.unversioned =
        (struct DLManagedTensor){.view = view, .deleter = delete_unversioned};
    *tensor = &made->tensor.unversioned;
    return BF_OK;
}

bf_status bf_array_to_dlpack_unversioned(bf_context *context, const bf_array *array,
                                         void (*release)(void *owner), void *owner,
                                         struct DLManagedTensor **tensor) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, give_unversioned(context, array, release, owner, tensor));
}
