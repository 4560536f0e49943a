/* The table of functions by which tensors of a library are read and made without a call of Python:
 * __dlpack_c_exchange_api__ of DLPack 1.2 (https://dmlc.github.io/dlpack), whose major version
 * fixes the layout. Its functions return 0; or -1, with an exception. */
#ifndef BITFOLD_PYTHON_NATIVE_EXCHANGE_H
#define BITFOLD_PYTHON_NATIVE_EXCHANGE_H

#include <stdint.h>

enum { NATIVE_EXCHANGE_MAJOR = 1, NATIVE_ON_CPU = 1, NATIVE_ON_CUDA = 2 };

typedef struct native_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} native_tensor;

typedef struct native_managed {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct native_managed *);
    uint64_t flags;
    native_tensor tensor;
} native_managed;

typedef void native_set_error(void *to, const char *kind, const char *message);

typedef struct native_exchange {
    uint32_t major, minor;
    const struct native_exchange *earlier;
    int (*allocate)(native_tensor *like, native_managed **made, void *to, native_set_error *set);
    int (*managed_of)(void *object, native_managed **found);
    int (*object_of)(native_managed *tensor, void **object); /* takes the tensor */
    int (*tensor_of)(void *object, native_tensor *found);
    int (*stream_of)(int32_t device_type, int32_t device_id, void **stream);
} native_exchange;

#endif
