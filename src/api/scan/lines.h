/* The lines of an array along an axis. */
#ifndef BF_API_SCAN_LINES_H
#define BF_API_SCAN_LINES_H

#include "base/context.h"
#include <bitfold/array.h>

/* Why a call on a stream that goes on whatever the data are refuses a policy. */
#define BF_LINES_NAN_LATER "a call on a stream fails for a NaN later, or never"

/* Elements in C order: number i of line (o, c) is element (o * length + i) * inner + c. */
typedef struct bf_lines {
    int axis; /* 0 to ndim - 1 */
    int64_t outer, length, inner;
} bf_lines;

/* Checks an array that is read. Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_lines_check(bf_context *context, const bf_array *array);

/* Finds the lines of a checked array. Errors: BF_E_ARGUMENT. */
bf_status bf_lines_find(bf_context *context, const bf_array *array, int axis, bf_lines *lines);

#endif
