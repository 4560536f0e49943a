/* The parts of reductions that other primitives use, too. Callers have entered the context
 * (enter.h). */
#ifndef BF_API_REDUCE_REDUCE_H
#define BF_API_REDUCE_REDUCE_H

#include "api/reduce/saved_words.h"
#include "api/runtime/place.h"
#include "rules/reduce/retract.h"
#include "seam/backend.h"
#include "seam/reduce.h"

/* Reads the caller's options (NULL: the defaults) for op, and elements of dtype (BF_NONE: they take
 * no scale). Errors: BF_E_ARGUMENT. */
bf_status bf_read_reduce_options(bf_context *context, bf_reduction op, bf_dtype dtype,
                                 const bf_reduce_options *given, bf_reduce_options *options);

/* Can results of op have this scale, of elements of dtype? Errors: BF_E_ARGUMENT. */
bf_status bf_check_scale(bf_context *context, bf_reduction op, bf_dtype dtype, int scale);

/* Check that the array is (both are) well formed, of this dtype and of one shape, and set *count to
 * the number of elements. Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE. */
bf_status bf_check_array(bf_context *context, bf_dtype dtype, const bf_array *array,
                         int64_t *count);
bf_status bf_check_pair(bf_context *context, bf_dtype dtype, const bf_array *a, const bf_array *b,
                        int64_t *count);

/* Is op a reduction of pairs? Errors: BF_E_ARGUMENT. */
bf_status bf_check_takes_pairs(bf_context *context, bf_reduction op);

/* Returns what a reduction demands of a device, without its memory. */
bf_demand bf_reduce_demand(bf_kind kind, bf_dtype dtype);

/* Places a call that reads `arity` checked arrays of `count` > 0 elements. Errors: as bf_place. */
bf_status bf_reduce_place(bf_context *context, bf_kind kind, const bf_array *const arrays[],
                          int arity, int64_t count);

/* Sets *job to the reduction of an array (of two for BF_DOT) and places the call, if the backend
 * may do it at once (seam/reduce.h). False, with no message: a state takes it, or refuses it. */
bool bf_reduce_at_once(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                       bf_job *job);

/* Sets *value to the result of a state's words, by options that have been read. Errors:
 * BF_E_ARGUMENT, BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW. */
bf_status bf_result(bf_context *context, bf_reduction op, bf_dtype dtype, const int64_t *words,
                    const bf_reduce_options *options, bf_value *value);

/* Does so for BF_COV or BF_CORR with weights, whose states are those of seam/reduce.h. Errors:
 * BF_E_NAN, BF_E_MEMORY. */
bf_status bf_result_weighted(bf_context *context, bf_reduction op, bf_dtype dtype,
                             const int64_t *const words[3], const bf_reduce_options *options,
                             bf_value *value);

/* Returns BF_OK if something was taken out, else BF_E_STATE, with a message. */
bf_status bf_explain_retraction(bf_context *context, bool retracted);

#endif
