/* Windows of a span of a key: where they begin and end. */
#ifndef BF_API_SCAN_SPANS_H
#define BF_API_SCAN_SPANS_H

#include "seam/scan.h"

typedef struct bf_spans {
    const bf_array *on;
    const bf_value *span;
    bool center;
} bf_spans;

/* Checks what does not depend on the keys. Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_spans_check(bf_context *context, const bf_spans *spans);

/* Checks the keys, and sets job->first, end and size. The context has its backend, and the job
 * its lines. The caller frees job->first (bf_free). Errors: BF_E_ARGUMENT, BF_E_SHAPE, BF_E_NAN,
 * BF_E_MEMORY. */
bf_status bf_spans_find(bf_context *context, const bf_spans *spans, bf_rolling_job *job);

#endif
