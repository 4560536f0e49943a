/* Columns of a call: the checks of bf_column and bf_strings. */
#ifndef BF_API_RUNTIME_COLUMN_H
#define BF_API_RUNTIME_COLUMN_H

#include <bitfold/column.h>
#include <bitfold/context.h>

/* Reads a column that holds numbers of this dtype, or strings (BF_NONE); its array is not checked.
 * Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_column_read(bf_context *context, const bf_column *given, bf_dtype dtype,
                         bf_column *to);

/* Reads strings, with their offsets checked, unless there are none. Their bytes are not NULL.
 * Errors: BF_E_ARGUMENT, BF_E_DTYPE, BF_E_DEVICE. */
bf_status bf_strings_read(bf_context *context, const bf_strings *given, bf_strings *to);

#endif
