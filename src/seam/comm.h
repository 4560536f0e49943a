/* Communicators: add arrays of several ranks, element by element. */
#ifndef BF_SEAM_COMM_H
#define BF_SEAM_COMM_H

#include "seam/backend.h"
#include <bitfold/comm.h>

/* The terms of n sums: element i of the sum is that of element i of each term. */
typedef struct bf_comm_job {
    bf_dtype dtype;
    int terms;
    const void *const *in; /* each term has n elements */
    void *out;             /* may be one of the terms */
    int64_t n;
} bf_comm_job;

/* ---- between GPUs ----------------------------------------------------------------------------
 *
 * A link is what a rank's GPU needs to add arrays with the GPUs of the other ranks: their memory,
 * or NCCL. Its sums do not pass through the host. */
typedef struct bf_link bf_link;

typedef struct bf_link_options {
    double limit;        /* seconds that a GPU waits for other ranks; 0: 600 */
    int64_t small_bytes; /* most of an array that goes in one exchange; 0: what is fast */
    bool by_nccl;        /* even if the GPUs reach each other's memory: for tests */
    bool shared;         /* ranks may share a GPU, on which all of their kernels fit: for tests */
} bf_link_options;

/* Who gets the sums. */
typedef enum bf_sums_to {
    BF_SUMS_TO_ALL,
    BF_SUMS_TO_OWNERS, /* rank r gets the r-th of `ranks` equal parts */
    BF_SUMS_TO_ROOT
} bf_sums_to;

/* All ranks agree on to, root, dtype and n. */
typedef struct bf_sums {
    bf_sums_to to;
    int root;
    bf_dtype dtype;
    int64_t n;      /* elements of the whole array, at least 1 */
    const void *in; /* terms * n elements */
    int64_t terms;  /* how many this rank has */
    void *out;      /* may be one of the terms; BF_SUMS_TO_ROOT: unused on other ranks */
} bf_sums;

enum { BF_LINK_RANKS = 16, BF_LINK_TERMS = 128 /* most of a rank */ };

typedef struct bf_comm_backend {
    /* Adds the terms, in memory that the backend reaches: each sum is exact and rounded once.
     * Errors: BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE. */
    bf_status (*add)(bf_context *context, const bf_comm_job *job);

    /* As bf_comm_nccl_version; NULL: 0. */
    int (*nccl_version)(void);

    /* The rest is NULL where there is no queue. The contexts have this backend open. */

    /* Makes the link of this rank. The carrier has gather; all ranks call this at the same time and
     * get the same. *link is NULL where the GPUs cannot be linked; why[BF_MESSAGE_TEXT] then says
     * why. Errors: BF_E_MEMORY, BF_E_DEVICE, BF_E_COMM. */
    bf_status (*link)(bf_context *context, const bf_carrier *carrier,
                      const bf_link_options *options, bf_link **link, char *why);
    /* Links contexts of this process, one for each rank. */
    bf_status (*link_local)(bf_context *const contexts[], int n, const bf_link_options *options,
                            bf_link *links[], char *why);
    /* Waits for the sums that other ranks still take from this one, for at most a second. */
    void (*unlink)(bf_link *link);
    /* Sets what bf_link_options.limit is. */
    void (*limit)(bf_link *link, double seconds);
    /* Can sums of a link be captured? Only those over the memory of peers. */
    bool (*is_capturable)(const bf_link *link);
    /* Can the link take this job, with its memory and its terms? A job that one rank's link cannot
     * take must go another way on all. */
    bool (*can_sum)(const bf_link *link, const bf_sums *job);
    /* Enqueues the sums on the context's stream; waits: and waits for them. Otherwise `synchronize`
     * reports BF_E_OVERFLOW and BF_E_COMM. After BF_E_COMM the link takes no more jobs. Errors:
     * BF_E_ARGUMENT (!can_sum), BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE, BF_E_COMM. */
    bf_status (*sum)(bf_link *link, const bf_sums *job, bool waits);
} bf_comm_backend;

#endif
