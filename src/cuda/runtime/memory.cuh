/* Stream-ordered device memory: allocating and freeing need no synchronization. It comes from a
 * pool of the context. */
#ifndef BF_CUDA_RUNTIME_MEMORY_CUH
#define BF_CUDA_RUNTIME_MEMORY_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/memory.h"
}

extern const bf_memory_backend bf_cuda_memory_backend;

/* Returns device memory; bytes may be 0. NULL: no memory, with a message. */
void *bf_cuda_alloc(bf_context *context, size_t bytes);
/* Frees it; memory may be NULL. */
void bf_cuda_free(bf_context *context, void *memory);

/* Parts of one allocation, one after another: the bytes that a part takes, and the part at *at,
 * which then is behind it. From NULL on, *at becomes the bytes of all. */
static inline size_t bf_cuda_part_bytes(size_t bytes) { return (bytes + 255) & ~(size_t)255; }
static inline void *bf_cuda_next_part(char **at, size_t bytes) {
    void *part = *at;
    *at += bf_cuda_part_bytes(bytes);
    return part;
}

/* The pool keeps freed memory for later calls while any object holds it. */
void bf_cuda_hold_pool(bf_cuda *cuda);
void bf_cuda_release_pool(bf_cuda *cuda);
void bf_cuda_memory_close(bf_cuda *cuda);

/* --- buffers: memory that is kept and grows --- */

typedef struct bf_cuda_buffer {
    void *memory;
    size_t bytes;
} bf_cuda_buffer;

/* Makes the buffer hold so many bytes; the first `kept` of them stay. Errors: BF_E_MEMORY,
 * BF_E_DEVICE; the buffer is as it was, or, if kept is 0, may be empty. */
bf_status bf_cuda_buffer_grow(bf_context *context, bf_cuda_buffer *buffer, size_t bytes,
                              size_t kept);
void bf_cuda_buffer_free(bf_context *context, bf_cuda_buffer *buffer);

/* --- memory of any strides (strided.cu) --- */

enum { BF_CUDA_COPY_SCRATCH = 1 << 26 };
/* Returns so many bytes, kept for later calls, for copies of strided memory. NULL: no memory, with
 * a message. Not in a capture. */
void *bf_cuda_copy_scratch(bf_context *context, const void *near);

/* Enqueues a copy of elements [first, first + count) of `from`, in C order, to contiguous memory.
 */
bf_status bf_cuda_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                         void *to);
/* Copies them back, and waits. */
bf_status bf_cuda_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                          const void *from);

#endif
