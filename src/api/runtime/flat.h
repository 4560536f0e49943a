/* An array of a call as contiguous (flat) elements. A strided array is copied. */
#ifndef BF_API_RUNTIME_FLAT_H
#define BF_API_RUNTIME_FLAT_H

#include "api/runtime/place.h"
#include <bitfold/array.h>

typedef struct bf_flat {
    bf_context *context;
    const bf_array *array; /* NULL: no array, and data is NULL */
    int64_t count;
    char *data; /* the array's memory, or a copy */
    void *copy;
    const bf_backend *by; /* the backend that made the copy */
} bf_flat;

/* Returns the memory of an array that is not checked yet: 0 bytes for NULL or an array that is not
 * well formed. */
bf_memory bf_flat_memory(const bf_array *array);

/* Checks an array of dtype (NULL: none), and sets flat->data to its elements for backend `on`. The
 * CPU's backend refuses memory of a GPU. The caller releases flat, also after a failure. Errors:
 * BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE, BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED. */
bf_status bf_flat_take(bf_context *context, const bf_backend *on, bf_dtype dtype,
                       const bf_array *array, bf_flat *flat);
/* Checks an output: it is well formed, of dtype, and no two elements share memory. name: of its
 * elements. Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_flat_check(bf_context *context, const bf_array *array, bf_dtype dtype,
                        const char *name);
/* Checks an array of a call on a stream, whose place is chosen: what is copied is waited for. NULL:
 * none. name: of its elements. Errors: BF_E_ARGUMENT. */
bf_status bf_flat_check_queued(bf_context *context, const bf_array *array, const char *name);
/* Sets flat->data to memory for the elements of a checked output (NULL: none) that backend `on`
 * writes: the array's own if the backend can write there, else a copy, of no defined values. apart:
 * always a copy. The caller releases flat, also after a failure. Errors: BF_E_MEMORY. */
bf_status bf_flat_prepare(bf_context *context, const bf_backend *on, const bf_array *array,
                          bool apart, bf_flat *flat);
/* Writes a copy to its array. */
bf_status bf_flat_return(bf_context *context, const bf_flat *flat);
void bf_flat_release(bf_flat *flat);

/* These calls are for elements that are ordered or compared: those of BF_I128 become the BF_PAIR
 * that orders as they do (rules/key/rank.h), in a copy, on their way in, and BF_I128 again on their
 * way out. Others are as they are. bf_flat_dtype: what a backend sees. */
static inline bf_dtype bf_flat_dtype(bf_dtype dtype) { return dtype == BF_I128 ? BF_PAIR : dtype; }
bf_status bf_flat_take_ordered(bf_context *context, const bf_backend *on, const bf_array *array,
                               bf_flat *flat);
bf_status bf_flat_prepare_ordered(bf_context *context, const bf_backend *on, const bf_array *array,
                                  bool apart, bf_flat *flat);
bf_status bf_flat_return_ordered(bf_context *context, const bf_flat *flat);

#endif
