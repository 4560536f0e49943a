/* Element-wise operations: compute elements from elements. */
#ifndef BF_SEAM_MAP_H
#define BF_SEAM_MAP_H

#include "seam/backend.h"

/* Elements to compute: out[i] = op(in[0][i], ...). */
typedef struct bf_map_job {
    bf_map_op op;
    bf_overflow_policy overflow;
    int arity;
    bool refuse_zero; /* BF_MAP_DIV of integers: a divisor of 0 is an error */
    bf_dtype work;    /* inputs are cast to this (rounded once), and op computes in it */
    bf_dtype to;      /* out's: work, but BF_BOOL for comparisons */
    bf_dtype from[3];
    const void *in[3];
    bool single[3]; /* one element stands for all */
    void *out;      /* may be an input whose elements are as wide; overlaps none otherwise */
    int64_t count;
    int64_t index; /* where out[0] is, for messages */
} bf_map_job;

typedef struct bf_map_backend {
    /* Computes job->count elements. Errors: BF_E_OVERFLOW, BF_E_ARGUMENT (division by zero), both
     * by bf_map_fail with the first index; out may then have been written to. */
    bf_status (*run)(bf_context *context, const bf_map_job *job);
    /* Enqueues the job. synchronize reports errors of the data. NULL: there is no queue. */
    bf_status (*enqueue)(bf_context *context, const bf_map_job *job);
} bf_map_backend;

/* Fails with the message for the first element that fails. index: in the caller's array. */
static inline bf_status bf_map_fail(bf_context *context, const bf_map_job *job, int64_t index) {
    if (job->refuse_zero)
        return bf_fail(context, BF_E_ARGUMENT, "integer division by zero at index %lld",
                       (long long)index);
    return bf_fail(context, BF_E_OVERFLOW, "%s at index %lld does not fit %s",
                   job->op == BF_MAP_CAST ? "the value" : "the result", (long long)index,
                   bf_dtype_name(job->to));
}

#endif
