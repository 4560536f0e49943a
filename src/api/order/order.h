/* Calls on the order of values: what they share. */
#ifndef BF_API_ORDER_ORDER_H
#define BF_API_ORDER_ORDER_H

#include "api/runtime/flat.h"
#include "base/memory.h"
#include "seam/order.h"

enum { BF_ORDER_ARRAYS = 2 };

typedef struct bf_order_call {
    bf_context *context;
    bf_order_options options;
    bf_order order;
    const bf_array *inputs[BF_ORDER_ARRAYS];  /* NULL: none */
    const bf_array *outputs[BF_ORDER_ARRAYS]; /* NULL: none */
    bool on_cpu;                              /* no GPU does it */
} bf_order_call;

/* Reads the options of a call on elements of a dtype. Errors: BF_E_ARGUMENT. */
bf_status bf_order_read_options(bf_context *context, bf_dtype dtype,
                                const bf_order_options *options, bf_order_options *o);

/* The order that read options ask for. */
bf_order bf_order_of(const bf_order_options *o);

/* Takes the value that stands for results of nothing, of dtype `to`; of BF_I128 it is a BF_I192.
 * Errors: BF_E_ARGUMENT. */
bf_status bf_order_take_empty(bf_context *context, bf_dtype to, const bf_value *given,
                              bf_value *empty);

/* Opens a call: checks the array (and other, unless it is NULL, of the same dtype) and reads the
 * options (NULL: the defaults). Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_order_open(bf_order_call *call, bf_context *context, const bf_array *array,
                        const bf_array *other, const bf_order_options *options);
/* Refuses an array that has not one dimension. */
bf_status bf_order_check_line(bf_context *context, const bf_array *array, const char *name);
/* Checks an output and adds it to the call's: its dtype, and that it shares no memory with inputs
 * and other outputs. Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_order_add_output(bf_order_call *call, const bf_array *array, bf_dtype dtype,
                              const char *name);

/* The work of a call, as a share (api/runtime/place.h). */
enum { BF_ORDER_SORTS = 8, BF_ORDER_SELECTS = 50 };

/* Chooses the backend by the call's arrays. Errors: as bf_place. */
bf_status bf_order_choose(const bf_order_call *call, int share);
/* Returns BF_E_NAN, with a message, if there is a NaN in n > 0 contiguous elements. The other does
 * so if the options refuse NaNs. */
bf_status bf_order_find_nan(bf_context *context, bf_dtype dtype, const void *values, int64_t n);
bf_status bf_order_refuse_nan(const bf_order_call *call, bf_dtype dtype, const void *values,
                              int64_t n);

/* Sets *view to the array with the dimensions that are named last. */
void bf_order_move_axes(const bf_array *array, const bool named[BF_MAX_DIMS], bf_array *view);

/* Returns the first n elements along the last dimension of an array (NULL: none), as *cut. */
static inline const bf_array *bf_order_cut(const bf_array *array, int64_t n, bf_array *cut) {
    if (array == NULL) return NULL;
    *cut = *array;
    cut->shape[cut->ndim - 1] = n;
    return cut;
}

/* Two checked outputs (NULL: not wanted), of which only the first elements are written. */
typedef struct bf_order_outputs {
    bf_array cut[2];
    bf_flat flat[2];
} bf_order_outputs;

/* Makes memory for n elements of each in *o, which is zero before; apart: always a copy. The other
 * writes n elements to the arrays if status, which it returns, is BF_OK, and releases the memory.
 */
bf_status bf_order_prepare(bf_context *context, const bf_array *const outputs[2], int64_t n,
                           bool apart, bf_order_outputs *o);
bf_status bf_order_return(bf_context *context, const bf_array *const outputs[2], int64_t n,
                          bf_order_outputs *o, bf_status status);

#endif
