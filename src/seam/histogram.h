/* Histograms: count the elements of each bin, or sum their weights. */
#ifndef BF_SEAM_HISTOGRAM_H
#define BF_SEAM_HISTOGRAM_H

#include "rules/histogram/bin.h"
#include <bitfold/context.h>

/* Elements to count in bins. */
typedef struct bf_bin_job {
    const bf_bins *bins;
    bf_dtype dtype;
    const void *data;
    bf_dtype weights_dtype;
    const void *weights; /* NULL: none */
    int64_t count;
} bf_bin_job;

typedef struct bf_histogram_backend {
    /* Adds the elements of each bin to counts, which has bins->count + BF_BIN_OTHERS of them, and
     * their weights to sums: for each bin the words of a BF_KIND_SUM state (NULL: no weights).
     * Errors: BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*count)(bf_context *context, const bf_bin_job *job, int64_t *counts, int64_t *sums);
    /* Counts n > 0 jobs with the same bins and dtypes, at the same time. NULL: they are counted in
     * turn. */
    bf_status (*count_shards)(bf_context *context, const bf_bin_job jobs[], int n, int64_t *counts,
                              int64_t *sums);
    /* Enqueues the count, without weights, and sets counts, which lie in memory that the device can
     * write. The bins may go when the call returns. NULL: there is no queue. */
    bf_status (*enqueue)(bf_context *context, const bf_bin_job *job, int64_t *counts);
    /* Enqueues a copy of the bins' edges to such memory. */
    bf_status (*enqueue_edges)(bf_context *context, const bf_bins *bins, double *edges);
} bf_histogram_backend;

#endif
