#include "api/scan/lines.h"

#include "api/runtime/array.h"
#include "rules/number/dtype.h"
#include <bitfold/axis.h>

bf_status bf_lines_check(bf_context *context, const bf_array *a) {
    if (a == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    if (bf_number_bytes(a->dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)a->dtype);
    const int64_t count = bf_array_elements(a, bf_number_bytes(a->dtype));
    if (count < 0) return bf_fail(context, BF_E_ARGUMENT, "an array is not well formed");
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1 && a->strides[d] == 0 && count > BF_REPEATS_MAX)
            return bf_fail(context, BF_E_ARGUMENT,
                           "an array that repeats memory has 2^40 elements");
    return BF_OK;
}

bf_status bf_lines_find(bf_context *context, const bf_array *array, int axis, bf_lines *lines) {
    bool named[BF_MAX_DIMS];
    int at = 0;
    bf_status status = bf_array_read_axes(context, array, &axis, 1, named);
    if (status != BF_OK) return status;
    while (!named[at]) at++;
    *lines = (bf_lines){.axis = at, .outer = 1, .length = array->shape[at], .inner = 1};
    for (int d = 0; d < at; d++) lines->outer *= array->shape[d];
    for (int d = at + 1; d < array->ndim; d++) lines->inner *= array->shape[d];
    return BF_OK;
}
