/* Scans: the results of all prefixes of lines of elements. */
#ifndef BF_SEAM_SCAN_H
#define BF_SEAM_SCAN_H

#include "rules/scan/prefix.h"
#include "rules/scan/quantile.h"
#include "rules/scan/window.h"
#include "seam/backend.h"
#include <bitfold/scan.h>

/* Lines of elements: number i of line (o, c) is element (o * length + i) * inner + c, and so are
 * results. */
typedef struct bf_scan_job {
    bf_prefix prefix; /* what is made of each prefix: options are checked */
    bool exclusive, reverse;
    bool queued; /* the call may return when the work is enqueued. What fails then, also for NaNs
                    that are refused, the backend's failure or synchronize tells */
    bool kept;   /* a GPU's, of one that may fail and is not queued: values stay as they are if the
                    data make it fail */
    int64_t outer, length, inner; /* > 0 */
    const void *elements;
    void *values; /* where results go; or the elements, if both have one dtype and, on the CPU,
                     prefixes are not exclusive; NULL, on the CPU: nowhere, it is asked whether the
                     job fails */
    /* The CPU's: the carried words of what came before the one line (outer and inner are 1), which
     * become those of all that has come. NULL: nothing did, and nobody asks. */
    int64_t *words;
    /* The carried words of what came before each line, or segment: those of (o, c) are number
     * o * inner + c. NULL: nothing did. */
    const int64_t *starts;
    /* The one line is made of segments [offsets[s], offsets[s + 1]) along its rows, from 0 to
     * length, and prefixes begin again with each. NULL: of one segment. On the CPU BF_I64 in host
     * memory; else BF_I32 or BF_I64 anywhere, which the backend checks before it writes. */
    const void *offsets;
    bf_dtype offsets_dtype;
    int64_t segments;
    int64_t *wrong; /* queued: becomes the place of the first wrong offset, or -1; NULL: the job
                       fails later if there is one */
} bf_scan_job;

/* Windows of such lines: result number k of a line is that of the window of its element k * step.
 */
typedef struct bf_rolling_job {
    bf_window window; /* what is made of each window: options are checked */
    bool queued;      /* as of a scan; not of windows of a span */
    /* NULL: there are none. Else op, a minimum, says nothing, and each window has so many results,
     * which lie so many results apart. */
    const bf_window_quantiles *quantiles;
    int64_t apart;
    int64_t size, after; /* elements of a window, and how many of them follow its own: fewer at the
                            ends of a line */
    /* Windows of a span: that of result k of each line is [first[k], end[k]), which has an element
     * and at most `size`; neither decreases. NULL: they are not. In host memory. */
    const int64_t *first, *end;
    int64_t step;
    int64_t outer, length, inner, results; /* > 0 */
    const void *elements;
    const void *others; /* pairs' others, which lie as the elements do; else NULL */
    void *values;
} bf_rolling_job;

/* Windows of quantiles on a GPU have so many elements at most, and are of no span. */
enum { BF_ROLLING_QUANTILES_MOST = 2048 };

/* The window of result k has elements [first, end). */
BF_RULE int64_t bf_rolling_first(const bf_rolling_job *job, int64_t k) {
    if (job->first != NULL) return job->first[k];
    int64_t at = k * job->step, before = job->size - job->after - 1;
    return at > before ? at - before : 0;
}

BF_RULE int64_t bf_rolling_end(const bf_rolling_job *job, int64_t k) {
    if (job->end != NULL) return job->end[k];
    int64_t at = k * job->step;
    return job->after < job->length - at ? at + job->after + 1 : job->length;
}

/* Errors: BF_E_EMPTY and BF_E_OVERFLOW (bf_scan_refuse), BF_E_ARGUMENT (offsets), BF_E_MEMORY,
 * BF_E_DEVICE, BF_E_CANCELLED.
 * After a failure values hold anything, unless they are kept: the caller gives a copy where that
 * matters. NaNs that the options refuse have been looked for, unless a job is queued. Memory has
 * any alignment. */
typedef struct bf_scan_backend {
    /* dtype BF_I128, and jobs with words, are the CPU's alone. */
    bf_status (*run)(bf_context *context, const bf_scan_job *job);
    /* Windows; those of BF_I128, and of long ones quantiles, are the CPU's alone. Errors: BF_E_NAN,
     * BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED; then values hold anything. */
    bf_status (*roll)(bf_context *context, const bf_rolling_job *job);
} bf_scan_backend;

/* Bits of the largest magnitude of integers that fit in any sum of a line. */
static inline int bf_scan_spare_bits(const bf_scan_job *job) {
    return 63 - bf_bit_length((uint64_t)job->length);
}

/* May the data make the job fail when some results are written? */
static inline bool bf_scan_may_fail(const bf_scan_job *job) {
    const bf_prefix *p = &job->prefix;
    const bool is_float = bf_dtype_is_float(p->dtype);
    if (job->queued && is_float && p->options.nan == BF_NAN_ERROR) return true;
    if (p->kind == BF_KIND_EXTREME)
        return p->options.empty == NULL &&
               (job->exclusive || (is_float && p->options.nan == BF_NAN_SKIP));
    if (is_float || p->options.overflow != BF_OVERFLOW_ERROR) return false;
    return p->kind != BF_KIND_SUM || job->words != NULL || job->starts != NULL ||
           8 * bf_number_bytes(p->dtype) > bf_scan_spare_bits(job);
}

/* Does each row belong to a segment? Errors: BF_E_ARGUMENT, with a message. */
static inline bf_status bf_scan_check_ends(bf_context *context, int64_t first, int64_t end,
                                           int64_t rows) {
    if (first == 0 && end == rows) return BF_OK;
    return bf_fail(context, BF_E_ARGUMENT, "the offsets are from %lld to %lld, of %lld rows",
                   (long long)first, (long long)end, (long long)rows);
}

/* Tells that the result of some prefix is none, or does not fit, or that there is a NaN. */
static inline bf_status bf_scan_refuse(bf_context *context, bf_status status,
                                       const bf_prefix *prefix) {
    const char *name = bf_reduction_name(prefix->op);
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    if (status == BF_E_EMPTY)
        return bf_fail(context, status, "no value: the %s of no elements", name);
    return bf_fail(context, status, "the %s of a prefix does not fit %s", name,
                   bf_dtype_name(prefix->to));
}

#endif
