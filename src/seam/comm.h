/* Communicators: add arrays of several ranks, element by element. */
#ifndef BF_SEAM_COMM_H
#define BF_SEAM_COMM_H

#include "seam/backend.h"
#include <bitfold/comm.h>

/* The terms of n sums: element i of the sum is that of element i of each term. */
typedef struct bf_comm_job {
    bf_dtype dtype;
    int terms;
    const void *const *in; /* of each term: n elements */
    void *out;             /* may be one of the terms */
    int64_t n;
} bf_comm_job;

typedef struct bf_comm_backend {
    /* Adds the terms, in memory that the backend reaches: each sum is exact and rounded once.
     * Errors: BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*add)(bf_context *context, const bf_comm_job *job);
} bf_comm_backend;

#endif
