/* Memory of a context's device, for programs that have no other way to allocate it. */
#ifndef BITFOLD_MEMORY_H
#define BITFOLD_MEMORY_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates memory: a GPU's if the context is for a GPU (the first one's, if it is for all),
 * otherwise the host's. It is aligned to 256 bytes and not cleared; 0 bytes gives a valid pointer
 * too. Errors: BF_E_ARGUMENT, BF_E_MEMORY. */
BF_API bf_status bf_memory_allocate(bf_context *context, size_t bytes, void **memory);

/* Frees memory that bf_memory_allocate returned for a context of the same device. Ignores NULL. */
BF_API void bf_memory_free(bf_context *context, void *memory);

/* Copies bytes between memory of any kind: host, pinned, managed, any GPU's. Starts after all that
 * was enqueued on the context's stream, and returns when the copy is done. The two ranges must not
 * overlap. Errors: BF_E_ARGUMENT, BF_E_DEVICE (a GPU's memory, on a context of the CPU). */
BF_API bf_status bf_memory_copy(bf_context *context, void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
