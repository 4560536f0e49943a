/* From a state's words to a bf_value: policies and types. */
#ifndef BF_API_RESULT_H
#define BF_API_RESULT_H

#include "../../include/bitfold/reduce.h"
#include "../backend.h"

/* options may be NULL. Errors: BF_E_ARGUMENT, BF_E_NAN, BF_E_EMPTY. */
bf_status bf_result(bf_context *context, bf_reduction op, bf_dtype dtype, const int64_t *words,
                    const bf_reduce_options *options, bf_value *value);

/* Are the options fit for op? Errors: BF_E_ARGUMENT. */
bf_status bf_check_reduce_options(bf_context *context, bf_reduction op,
                                  const bf_reduce_options *options);

#endif
