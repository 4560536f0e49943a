/* Memory of a backend's device, and copies between memory of any kind and any strides. */
#ifndef BF_SEAM_MEMORY_H
#define BF_SEAM_MEMORY_H

#include <bitfold/array.h>
#include <bitfold/context.h>

/* Elements at strides. */
typedef struct bf_strided {
    char *data;
    int bytes; /* how many an element has */
    int ndim;  /* at least 1 */
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAX_DIMS]; /* in elements */
} bf_strided;

typedef struct bf_memory_backend {
    /* Copy elements [first, first + count) of strided memory, in C order, to contiguous memory, and
     * back. */
    bf_status (*gather)(bf_context *context, const bf_strided *from, int64_t first, int64_t count,
                        void *to);
    bf_status (*scatter)(bf_context *context, const bf_strided *to, int64_t first, int64_t count,
                         const void *from);
    /* Returns the context's scratch of scratch_bytes, for copies: on the device of this memory, if
     * there are several. NULL: no memory, with a message. */
    void *(*scratch)(bf_context *context, const void *near);
    size_t scratch_bytes;
    /* Allocates bytes > 0. NULL: no memory, with a message. */
    void *(*allocate)(bf_context *context, size_t bytes);
    void (*release)(bf_context *context, void *memory);
    bf_status (*copy)(bf_context *context, void *to, const void *from, size_t bytes);
} bf_memory_backend;

#endif
