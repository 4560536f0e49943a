/* Columns of other libraries by the Arrow C data interface
 * (https://arrow.apache.org/docs/format/CDataInterface.html), and by the C device data interface
 * (https://arrow.apache.org/docs/format/CDeviceDataInterface.html). Their structures are named here
 * alone; the definitions, which the standard asks programs to copy, are the caller's. Columns are
 * in host memory, but for those of an ArrowDeviceArray.
 *
 * A column is an array of one dimension: of integers of 8 to 64 bits (formats c, C, s, S, i, I, l,
 * L), of 128 bits (d:38,0, which are whole decimals, and Polars' _pli128: BF_I128), floats (e, f,
 * g) or bools (b). A NULL is no value, and not NaN: it never enters a result unseen. Calls neither
 * release nor keep the structures. */
#ifndef BITFOLD_ARROW_H
#define BITFOLD_ARROW_H

#include "array.h"
#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ArrowSchema;
struct ArrowArray;
struct ArrowDeviceArray;

/* Sets *values to the memory of a column, without a copy, and *nulls to how many of its elements
 * are NULL: what is in memory there is no value. nulls NULL: a column with a NULL is BF_E_ARGUMENT.
 * Errors: BF_E_ARGUMENT (released, or not well formed), BF_E_DTYPE (any other format; bools, which
 * Arrow packs in bits: bf_array_copy_arrow has them). */
BF_API bf_status bf_array_from_arrow(bf_context *context, const struct ArrowSchema *schema,
                                     const struct ArrowArray *array, bf_array *values,
                                     int64_t *nulls);

/* Makes an array of a column on a device, which lies in memory of the host, pinned, managed, or of
 * an NVIDIA GPU. If it has a sync_event, the context's stream waits for it; for pinned and managed
 * memory, which the host may read, and if the context has several GPUs, the call does. Errors also:
 * BF_E_DEVICE (memory of another kind; an event that cannot be waited for). */
BF_API bf_status bf_array_from_arrow_device(bf_context *context, const struct ArrowSchema *schema,
                                            const struct ArrowDeviceArray *array, bf_array *values,
                                            int64_t *nulls);

/* Copies the elements of a column that are not NULL, in their order, to values (one
 * dimension, contiguous, of the column's dtype; bools as bytes of 0 or 1), and sets *n to their
 * number. Errors also: BF_E_SHAPE if values has less room, and *n is set even then; BF_E_DEVICE if
 * either is in a GPU's memory. */
BF_API bf_status bf_array_copy_arrow(bf_context *context, const struct ArrowSchema *schema,
                                     const struct ArrowArray *array, const bf_array *values,
                                     int64_t *n);

/* Sets *schema and *array to a column of an array's memory: of one dimension, contiguous, on the
 * host. Its consumer releases them, once each, from any thread; the array's release calls
 * release(owner) (NULL: nothing is called). Bools are packed into memory of their own. On failure
 * release is not called. Errors: BF_E_ARGUMENT, BF_E_DTYPE (BF_BF16 and BF_PAIR, which Arrow has
 * not), BF_E_SHAPE, BF_E_DEVICE, BF_E_MEMORY. */
BF_API bf_status bf_array_to_arrow(bf_context *context, const bf_array *values,
                                   void (*release)(void *owner), void *owner,
                                   struct ArrowSchema *schema, struct ArrowArray *array);

#ifdef __cplusplus
}
#endif
#endif
