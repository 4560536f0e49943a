/* Arrays of other libraries by DLPack 1.x (https://dmlc.github.io/dlpack), without a copy. Its
 * structures are named here alone, so that this header needs none of DLPack's: include <dlpack.h>
 * to look inside them.
 *
 * These calls move no data, and wait for none: memory of a GPU must be ready on the context's
 * stream, as the DLPack protocol has the producer see to. */
#ifndef BITFOLD_DLPACK_H
#define BITFOLD_DLPACK_H

#include "array.h"
#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Sets *array to the memory of a tensor, which stays valid until the tensor's deleter is called:
 * that remains the caller's to call. *readonly (NULL: not asked) becomes 1 if the memory must not
 * be written, else 0. Memory: the host's, pinned, managed or an NVIDIA GPU's. Errors:
 * BF_E_ARGUMENT (another major version; not well formed), BF_E_DTYPE (complex numbers, vectors,
 * floats of 8 bits or fewer), BF_E_SHAPE (more than BF_MAX_DIMS dimensions), BF_E_DEVICE (memory of
 * another device). */
BF_API bf_status bf_array_from_dlpack(bf_context *context,
                                      const struct DLManagedTensorVersioned *tensor,
                                      bf_array *array, int *readonly);
/* Takes a tensor of the time before DLPack 1.0, which does not say whether it may be written. */
BF_API bf_status bf_array_from_dlpack_unversioned(bf_context *context,
                                                  const struct DLManagedTensor *tensor,
                                                  bf_array *array);

/* Makes a tensor of an array's memory. Its consumer calls its deleter once, from any thread, which
 * calls release(owner) (NULL: nothing is called) and frees the tensor. The device is the one where
 * the memory is; pinned memory is the host's. On failure release is not called. Errors:
 * BF_E_ARGUMENT, BF_E_DTYPE (BF_PAIR), BF_E_MEMORY. */
BF_API bf_status bf_array_to_dlpack(bf_context *context, const bf_array *array, int readonly,
                                    void (*release)(void *owner), void *owner,
                                    struct DLManagedTensorVersioned **tensor);
/* Makes a tensor for consumers of the time before DLPack 1.0. They may write the memory. */
BF_API bf_status bf_array_to_dlpack_unversioned(bf_context *context, const bf_array *array,
                                                void (*release)(void *owner), void *owner,
                                                struct DLManagedTensor **tensor);

#ifdef __cplusplus
}
#endif
#endif
