/* Memory where a context computes, for programs that have no other way to get it. */
#ifndef BITFOLD_MEMORY_H
#define BITFOLD_MEMORY_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates bytes of memory: on a GPU's context its own memory, otherwise the host's. Aligned to
 * 256 bytes, not cleared; 0 bytes is a valid pointer as well. Errors: BF_E_ARGUMENT, BF_E_MEMORY.
 */
BF_API bf_status bf_memory_allocate(bf_context *context, size_t bytes, void **memory);

/* Frees what bf_memory_allocate gave on a context of the same device. NULL is ignored. */
BF_API void bf_memory_free(bf_context *context, void *memory);

/* Copies bytes between memory of any kind: host, pinned, managed, any GPU's. Follows what was
 * enqueued on the context's stream before, and has happened when the call returns. The two do not
 * overlap. Errors: BF_E_ARGUMENT, BF_E_DEVICE (a GPU's memory, on a context of the CPU). */
BF_API bf_status bf_memory_copy(bf_context *context, void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
