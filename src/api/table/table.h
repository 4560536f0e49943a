/* The inside of a table. */
#ifndef BF_API_TABLE_TABLE_H
#define BF_API_TABLE_TABLE_H

#include "seam/backend.h"
#include "seam/table.h"
#include <bitfold/table.h>

struct bf_table {
    bf_context *context;
    const bf_backend *on;
    const bf_table_backend *by; /* on's */
    bf_table_kind kind;
    int64_t reserved; /* entries that were asked for */
    void *inside;     /* by's */
};

/* bf_table_create, for callers that have entered the context (enter.h). */
bf_status bf_table_make(bf_context *context, const bf_table_options *options, bf_table **table);

/* One array of a call, as contiguous (flat) elements. */
typedef struct bf_flat {
    bf_context *context;
    const bf_array *array; /* NULL: none, and so is data */
    int64_t count;
    char *data; /* the array's own, or a copy */
    void *copy;
    const bf_backend *by; /* who made the copy */
} bf_flat;

/* Checks an array of dtype, and lets flat->data be its elements, for backend `on`: that of the CPU
 * takes no memory of a GPU. The caller releases it, also after a failure. Errors: BF_E_ARGUMENT,
 * BF_E_DTYPE, BF_E_SHAPE, BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_flat_take(bf_context *context, const bf_backend *on, bf_dtype dtype,
                       const bf_array *array, bf_flat *flat);
/* Writes a copy that was changed back to its array. */
bf_status bf_flat_return(bf_context *context, const bf_flat *flat);
void bf_flat_release(bf_flat *flat);

/* Have two arrays one shape? */
bool bf_flat_same_shape(const bf_flat *a, const bf_flat *b);

#endif
