/* What element-wise operations say of the first element that fails, whichever backend found it. */
#ifndef BF_SEAM_MAP_FAILURE_H
#define BF_SEAM_MAP_FAILURE_H

#include "seam/backend.h"

/* index: of the element, in the caller's array. */
static inline bf_status bf_map_fail(bf_context *context, const bf_map_job *job, int64_t index) {
    if (job->refuse_zero)
        return bf_fail(context, BF_E_ARGUMENT, "integer division by zero at index %lld",
                       (long long)index);
    return bf_fail(context, BF_E_OVERFLOW, "%s at index %lld does not fit %s",
                   job->op == BF_MAP_CAST ? "the value" : "the result", (long long)index,
                   bf_dtype_name(job->to));
}

#endif
