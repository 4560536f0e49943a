/* Arrays of any shape as contiguous pieces. */
#ifndef BF_API_ARRAY_H
#define BF_API_ARRAY_H

#include "../../include/bitfold/array.h"
#include "../backend.h"

enum { BF_SCRATCH_BYTES = 1 << 20 }; /* pieces stay in cache until the backend reads them */

/* The context's scratch; NULL: no memory. */
char *bf_context_scratch(bf_context *context);

/* Walks `arrays` (1 or 2, of one shape and dtype, with `count` > 0 elements) in C order and hands
 * contiguous pieces of them to `take`: the memory itself where it is contiguous, gathered copies
 * elsewhere. If any_order, pieces may come in another order (pairs stay pairs). The piece is
 * described by job->a, job->b, job->count and job->index, which starts at its present value; the
 * rest of *job is not touched. Stops at the first failure. Errors: take's, BF_E_MEMORY. */
typedef bf_status (*bf_take)(bf_context *context, const bf_job *job, int64_t *words);

bf_status bf_array_walk(bf_context *context, const bf_array *const arrays[], int arity,
                        int64_t count, bool any_order, bf_job *job, bf_take take, int64_t *words);

#endif
