/* Copies of the host's memory, on the threads of the context. */
#ifndef BF_SEAM_COPY_H
#define BF_SEAM_COPY_H

#include "seam/memory.h"

#include <stddef.h>

/* As memcpy. */
void bf_host_copy(bf_context *context, void *to, const void *from, size_t bytes);

/* As bf_memory_backend's gather and scatter. */
void bf_host_gather(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                    void *to);
void bf_host_scatter(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                     const void *from);

#endif
