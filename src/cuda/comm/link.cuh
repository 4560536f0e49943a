/* Links: how the GPUs of several ranks add arrays among themselves. There are two ways: kernels
 * that write to each other's memory (peers.cu), and NCCL (nccl.cu). */
#ifndef BF_CUDA_COMM_LINK_CUH
#define BF_CUDA_COMM_LINK_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/comm.h"
}

/* Pinned memory in which kernels say what went wrong. */
struct bf_cuda_link_report {
    uint32_t overflow[2]; /* for calls that do not wait, and for those that do */
    uint32_t broken;      /* a bf_cuda_link_fault */
};

enum bf_cuda_link_fault { BF_LINK_WHOLE, BF_LINK_LATE, BF_LINK_DIFFERENT, BF_LINK_FAILED };

typedef struct bf_cuda_link_way {
    bool capturable;
    int terms; /* the most that a rank has */
    bf_status (*enqueue)(bf_link *link, const bf_sums *job, bool waits);
    void (*close)(bf_link *link);
} bf_cuda_link_way;

struct bf_link {
    bf_context *context;
    const bf_cuda_link_way *way;
    int rank, ranks;
    bool shares_gpu; /* two ranks share one: then kernels must not wait early, and NCCL refuses */
    double limit;    /* seconds */
    bf_cuda_link_report *report;
    bf_cuda_link_fault fault; /* the host knows of it: no more jobs */
    struct bf_cuda_peers *peers;
    struct bf_cuda_nccl *nccl;
    bf_link *next; /* the context's next link */
};

/* Each makes the link's way, on all ranks or on none: then `way` stays NULL, and why says why.
 * Errors: BF_E_COMM (the carrier failed). The link's context is entered. */
bf_status bf_cuda_peers_open(bf_link *link, const bf_carrier *carrier,
                             const bf_link_options *options, char *why);
bf_status bf_cuda_nccl_open(bf_link *link, const bf_carrier *carrier, char *why);

/* Opens all links of one process. */
void bf_cuda_peers_open_local(bf_link *const links[], int n, const bf_link_options *options,
                              char *why);
void bf_cuda_nccl_open_local(bf_link *const links[], int n, char *why);

/* Gathers `bytes` bytes of every rank. Errors: BF_E_COMM. */
bf_status bf_cuda_link_gather(const bf_link *link, const bf_carrier *carrier, const void *mine,
                              void *all, int64_t bytes);

/* Reports what sums of this context's links have failed since it was asked last. */
bf_status bf_cuda_link_failure(bf_context *context);

extern const struct bf_comm_backend bf_cuda_comm_backend;

#endif
