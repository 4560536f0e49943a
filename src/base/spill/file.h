/* Temporary files. They have no name, so the system removes them whatever happens to the process.
 */
#ifndef BF_BASE_SPILL_FILE_H
#define BF_BASE_SPILL_FILE_H

#include "base/context.h"

/* May calls on this context write what memory does not hold to a file? */
static inline bool bf_may_spill(const bf_context *context) {
    return context->budget.limit > 0 && context->spill != NULL;
}

/* Opens an empty file in the context's directory. Errors of all: BF_E_IO, with a message. */
bf_status bf_spill_open(bf_context *context, int *fd);
bf_status bf_spill_write(bf_context *context, int fd, const void *from, size_t bytes, int64_t at);
/* Reads bytes that were written. */
bf_status bf_spill_read(bf_context *context, int fd, void *to, size_t bytes, int64_t at);

#endif
