/* Copies of the host's memory, on the threads of the context. */
#ifndef BF_SEAM_COPY_H
#define BF_SEAM_COPY_H

#include <bitfold/context.h>

#include <stddef.h>

/* As memcpy. */
void bf_host_copy(bf_context *context, void *to, const void *from, size_t bytes);

#endif
