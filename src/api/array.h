/* Arrays of any shape as contiguous pieces. */
#ifndef BF_API_ARRAY_H
#define BF_API_ARRAY_H

#include "../../include/bitfold/array.h"
#include "../backend.h"

/* Of a well-formed array that is not empty. */
bool bf_array_is_contiguous(const bf_array *array);

bool bf_same_shape(const bf_array *a, const bf_array *b);

/* Takes a piece of each array: count contiguous elements, where the backend in use can read them.
 */
typedef bf_status (*bf_take_piece)(bf_context *context, void *arg, const void *const data[2],
                                   int64_t count);

/* Walks `arrays` (1 or 2, of one shape, with `count` > 0 elements) in C order and has take(arg)
 * take contiguous pieces of them: the memory itself where it is contiguous, gathered copies
 * elsewhere. If any_order, pieces may come in another order (pairs stay pairs). Stops at the first
 * failure. Errors: those of take, and of the backend's gather and scratch. */
bf_status bf_array_walk(bf_context *context, const bf_array *const arrays[], int arity,
                        int64_t count, bool any_order, bf_take_piece take, void *arg);

#endif
