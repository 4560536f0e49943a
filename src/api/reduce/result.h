/* From a state's words to a bf_value: policies and types. */
#ifndef BF_API_REDUCE_RESULT_H
#define BF_API_REDUCE_RESULT_H

#include "seam/backend.h"
#include <bitfold/reduce.h>

/* options have been read. Errors: BF_E_ARGUMENT, BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW. */
bf_status bf_result(bf_context *context, bf_reduction op, bf_dtype dtype, const int64_t *words,
                    const bf_reduce_options *options, bf_value *value);

/* The caller's options (NULL: the defaults) for op. Errors: BF_E_ARGUMENT. */
bf_status bf_read_reduce_options(bf_context *context, bf_reduction op,
                                 const bf_reduce_options *given, bf_reduce_options *options);

#endif
