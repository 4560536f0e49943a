/* Arrays of any shape as contiguous pieces. */
#ifndef BF_API_ARRAY_H
#define BF_API_ARRAY_H

#include "../../include/bitfold/array.h"
#include "../backend.h"

/* Of a well-formed array that is not empty. */
bool bf_array_is_contiguous(const bf_array *array);

/* Walks `arrays` (1 or 2, of one shape and dtype, with `count` > 0 elements) in C order and has the
 * backend in use reduce contiguous pieces of them: the memory itself where it is contiguous,
 * gathered copies elsewhere. If any_order, pieces may come in another order (pairs stay pairs). The
 * piece is described by job->a, job->b, job->count and job->index, which starts at its present
 * value; the rest of *job is not touched. Stops at the first failure. Errors: those of
 * backend->reduce, and of its gather and scratch. */
bf_status bf_array_walk(bf_context *context, const bf_array *const arrays[], int arity,
                        int64_t count, bool any_order, bf_job *job, int64_t *words);

#endif
