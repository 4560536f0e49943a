/* What XLA calls a function of its FFI with, and what that function asks of it: the part of
 * OpenXLA's C ABI (https://github.com/openxla/xla/tree/main/xla/ffi/api) that bitfold.jax needs. A
 * struct begins with its size, and a later version adds members behind those that are here. */
#ifndef BITFOLD_PYTHON_NATIVE_XLA_H
#define BITFOLD_PYTHON_NATIVE_XLA_H

#include <stddef.h>
#include <stdint.h>

/* The versions with this layout: 0.1 up to 0.5. */
enum { XLA_MAJOR = 0, XLA_MINOR_LEAST = 1, XLA_MINOR_MOST = 5 };

typedef struct xla_error xla_error;
typedef struct xla_context xla_context;

enum { XLA_EXTENSION_METADATA = 1 };

typedef struct xla_extension {
    size_t size;
    int32_t type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

/* What a function is asked for when it is registered. */
typedef struct xla_metadata_extension {
    xla_extension base;
    struct {
        size_t size;
        xla_version version;
        uint32_t traits;
    } * metadata;
} xla_metadata_extension;

/* ---- calls of XLA ---------------------------------------------------------------------------- */

enum {
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_OUT_OF_RANGE = 11,
    XLA_INTERNAL = 13,
    XLA_UNAVAILABLE = 14
};

typedef struct xla_error_create {
    size_t size;
    xla_extension *extensions;
    const char *message;
    int32_t code;
} xla_error_create;

typedef struct xla_stream_get {
    size_t size;
    xla_extension *extensions;
    xla_context *context;
    void *stream; /* set by the call */
} xla_stream_get;

typedef struct xla_device_get {
    size_t size;
    xla_extension *extensions;
    xla_context *context;
    int32_t device; /* set by the call */
} xla_device_get;

typedef struct xla_api {
    size_t size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*error_create)(xla_error_create *);
    void (*unused[3])(void);
    xla_error *(*stream_get)(xla_stream_get *);
    void (*unused_too[12])(void);
    xla_error *(*device_get)(xla_device_get *);
} xla_api;

/* ---- a call ---------------------------------------------------------------------------------- */

enum { XLA_STAGE_EXECUTE = 3 };
enum { XLA_BUFFER = 1 };                /* the type of an argument, and of a result */
enum { XLA_ARRAY = 1, XLA_SCALAR = 3 }; /* types of attributes */
enum { XLA_S64 = 5, XLA_F32 = 11, XLA_F64 = 12, XLA_BF16 = 16 }; /* dtypes */

/* Elements lie in C order. */
typedef struct xla_buffer {
    size_t size;
    xla_extension *extensions;
    int32_t dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer;

typedef struct xla_array {
    int32_t dtype;
    size_t count;
    void *data;
} xla_array;

typedef struct xla_scalar {
    int32_t dtype;
    void *value;
} xla_scalar;

typedef struct xla_span {
    const char *text;
    size_t length;
} xla_span;

typedef struct xla_list {
    size_t size;
    xla_extension *extensions;
    int64_t count;
    int32_t *types;
    void **items;
} xla_list;

typedef struct xla_attributes {
    size_t size;
    xla_extension *extensions;
    int64_t count;
    int32_t *types;
    xla_span **names;
    void **values;
} xla_attributes;

typedef struct xla_frame {
    size_t size;
    xla_extension *extensions;
    const xla_api *api;
    xla_context *context;
    int32_t stage;
    xla_list arguments, results;
    xla_attributes attributes;
} xla_frame;

typedef xla_error *xla_function(xla_frame *frame);

#endif
