/* Arrays of any shape as contiguous pieces. */
#ifndef BF_API_RUNTIME_ARRAY_H
#define BF_API_RUNTIME_ARRAY_H

#include "seam/backend.h"
#include <bitfold/array.h>

/* Returns what bf_array_count does, for elements of so many bytes. */
int64_t bf_array_elements(const bf_array *array, int64_t element_bytes);

/* Returns the bytes of so many elements, for choices and allocations. The result is at most 2^60,
 * which no memory has, so that sums of a few do not overflow. */
static inline int64_t bf_bytes_of(int64_t count, int64_t element_bytes) {
    int64_t bytes, most = (int64_t)1 << 60;
    return __builtin_mul_overflow(count, element_bytes, &bytes) || bytes > most ? most : bytes;
}

/* As bf_array_of, but writes only the dimensions that the array has: small calls would spend most
 * of their time on the others. */
static inline void bf_array_set(bf_array *array, bf_dtype dtype, const void *data, int64_t n) {
    array->data = (void *)(uintptr_t)data;
    array->dtype = dtype;
    array->ndim = 1;
    array->shape[0] = n;
    array->strides[0] = 1;
}

/* The array is well formed and not empty. */
bool bf_array_is_contiguous(const bf_array *array);

bool bf_same_shape(const bf_array *a, const bf_array *b);
/* Are these the elements of one array, in the same places? */
bool bf_same_array(const bf_array *a, const bf_array *b);
/* Well-formed arrays of one shape, or BF_E_SHAPE with both shapes. */
bf_status bf_check_same_shape(bf_context *context, const bf_array *a, const bf_array *b);
bool bf_array_has_shape(const bf_array *array, int ndim, const int64_t shape[]);

/* May two well-formed arrays (NULL: none) share memory? They lie between their first and last
 * bytes. The other says whether an array's elements may share memory with each other. */
bool bf_arrays_overlap(const bf_array *a, const bf_array *b);
bool bf_array_overlaps_itself(const bf_array *array);

/* Sets named[d] for the dimensions that axes[0..n) name: -ndim to ndim - 1, none twice. Errors:
 * BF_E_ARGUMENT. */
bf_status bf_array_read_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                             bool named[BF_MAX_DIMS]);

/* Takes a piece of each array: count contiguous elements, where the backend in use can read them.
 */
typedef bf_status (*bf_take_piece)(bf_context *context, void *arg, const void *const data[2],
                                   int64_t count);

/* Returns how many of `count` contiguous elements a call takes at a time: all, unless it is watched
 * (base/watch.h). bytes: of an element, summed over all operands. */
int64_t bf_watched_piece(const bf_context *context, int64_t count, int64_t bytes);

/* Walks `arrays` (1 or 2, of one shape, with `count` > 0 elements) in C order and has take(arg)
 * take contiguous pieces of them: the memory itself where it is contiguous, gathered copies
 * elsewhere. If any_order, pieces may come in another order (pairs stay pairs). Asks the watch
 * after each piece. Stops at the first failure. Errors: those of take, of the backend's gather and
 * scratch, and BF_E_CANCELLED. */
bf_status bf_array_walk(bf_context *context, const bf_array *const arrays[], int arity,
                        int64_t count, bool any_order, bf_take_piece take, void *arg);

#endif
