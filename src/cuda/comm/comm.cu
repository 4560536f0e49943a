/* Communicators on GPUs: the backend's functions. */
#include "cuda/comm/link.cuh"
#include "cuda/comm/nccl.cuh"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 600 /* seconds */ };

/* --- failures --- */

static bf_status describe_fault(bf_context *context, bf_cuda_link_fault fault) {
    return bf_fail(context, BF_E_COMM, "%s",
                   fault == BF_LINK_LATE ? "a rank did not take part in time"
                   : fault == BF_LINK_DIFFERENT
                       ? "ranks disagree on the call, the dtype or the shape"
                       : "an earlier sum over NCCL has failed");
}

/* Reports what kernels wrote. */
static bf_status fetch_failure(bf_link *link, bool waited) {
    volatile bf_cuda_link_report *report = link->report;
    if (report->broken != BF_LINK_WHOLE) {
        link->fault = (bf_cuda_link_fault)report->broken;
        report->broken = BF_LINK_WHOLE;
        return describe_fault(link->context, link->fault);
    }
    if (!report->overflow[waited]) return BF_OK;
    report->overflow[waited] = 0;
    return bf_fail(link->context, BF_E_OVERFLOW, "a sum does not fit the dtype");
}

bf_status bf_cuda_link_failure(bf_context *context) {
    bf_status status = BF_OK;
    for (bf_link *link = context->cuda->links; link != NULL && status == BF_OK; link = link->next)
        status = fetch_failure(link, false);
    return status;
}

/* --- links --- */

bf_status bf_cuda_link_gather(const bf_link *link, const bf_carrier *carrier, const void *mine,
                              void *all, int64_t bytes) {
    if (carrier->gather(carrier->arg, mine, all, bytes) == 0) return BF_OK;
    return bf_fail(link->context, BF_E_COMM, "the carrier failed");
}

static void set_limit(bf_link *link, double seconds) {
    link->limit = seconds > 0 ? seconds : LIMIT;
}

/* Makes what all links have. NULL: no memory, with a message. */
static bf_link *new_link(bf_context *context, int rank, int ranks, const bf_link_options *options) {
    bf_link *link = (bf_link *)calloc(1, sizeof *link);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (link != NULL)
        error = cudaHostAlloc((void **)&link->report, sizeof *link->report,
                              cudaHostAllocMapped | cudaHostAllocPortable);
    if (error != cudaSuccess) {
        free(link);
        bf_cuda_fail(context, error, "a link");
        return NULL;
    }
    memset(link->report, 0, sizeof *link->report);
    link->context = context;
    link->rank = rank;
    link->ranks = ranks;
    set_limit(link, options->limit);
    link->next = context->cuda->links;
    context->cuda->links = link;
    return link;
}

static void close_link(bf_link *link) {
    if (link == NULL) return;
    bf_cuda *cuda = link->context->cuda;
    int previous = bf_cuda_use_device(cuda);
    if (link->way != NULL) link->way->close(link);
    bf_link **at = &cuda->links;
    while (*at != link) at = &(*at)->next;
    *at = link->next;
    cudaFreeHost(link->report);
    free(link);
    bf_cuda_leave(previous);
}

/* Over the memory of peers where that can be, else over NCCL. */
static bf_status open_way(bf_link *link, const bf_carrier *carrier, const bf_link_options *options,
                          char *why) {
    bf_status status = BF_OK;
    *why = '\0';
    if (!options->by_nccl) status = bf_cuda_peers_open(link, carrier, options, why);
    if (status != BF_OK || link->way != NULL || link->ranks == 1 || link->shares_gpu) return status;
    return bf_cuda_nccl_open(link, carrier, why);
}

static bf_status open_link(bf_context *context, const bf_carrier *carrier,
                           const bf_link_options *options, bf_link **made, char *why) {
    *made = NULL;
    if (carrier->ranks > BF_LINK_RANKS) {
        snprintf(why, BF_MESSAGE_TEXT, "more than %d ranks", BF_LINK_RANKS);
        return BF_OK;
    }
    int previous = bf_cuda_enter(context);
    bf_link *link = new_link(context, carrier->rank, carrier->ranks, options);
    bf_link none = {}; /* takes part, so that the others learn of it */
    none.context = context;
    none.rank = carrier->rank;
    none.ranks = carrier->ranks;
    bf_status status = open_way(link != NULL ? link : &none, carrier, options, why);
    if (status == BF_OK && link != NULL && link->way != NULL)
        *made = link;
    else
        close_link(link);
    bf_cuda_leave(previous);
    return status;
}

static bf_status open_local_links(bf_context *const contexts[], int n,
                                  const bf_link_options *options, bf_link *links[], char *why) {
    bf_status status = BF_OK;
    *why = '\0';
    for (int r = 0; r < n; r++) links[r] = NULL;
    if (n > BF_LINK_RANKS) {
        snprintf(why, BF_MESSAGE_TEXT, "more than %d ranks", BF_LINK_RANKS);
        return BF_OK;
    }
    for (int r = 0; r < n && status == BF_OK; r++) {
        int previous = bf_cuda_enter(contexts[r]);
        links[r] = new_link(contexts[r], r, n, options);
        if (links[r] == NULL) status = BF_E_MEMORY;
        bf_cuda_leave(previous);
    }
    if (status == BF_OK && !options->by_nccl) bf_cuda_peers_open_local(links, n, options, why);
    if (status == BF_OK && n > 1 && !links[0]->shares_gpu && (options->by_nccl || *why != '\0'))
        bf_cuda_nccl_open_local(links, n, why);
    for (int r = 0; r < n && (status != BF_OK || *why != '\0'); r++) {
        close_link(links[r]);
        links[r] = NULL;
    }
    return status;
}

static bool is_capturable(const bf_link *link) { return link->way->capturable; }

/* --- sums --- */

static bool can_sum(const bf_link *link, const bf_sums *job) {
    bool writes = job->to != BF_SUMS_TO_ROOT || job->root == link->rank;
    return job->terms <= link->way->terms && bf_cuda_in_place(link->context, job->in, 1) &&
           (!writes || bf_cuda_in_place(link->context, job->out, 1));
}

static bf_status enqueue_sum(bf_link *link, const bf_sums *job, bool waits) {
    bf_context *context = link->context;
    const volatile bf_cuda_link_report *report = link->report;
    if (report->broken != BF_LINK_WHOLE) return fetch_failure(link, waits);
    if (link->fault != BF_LINK_WHOLE) return describe_fault(context, link->fault);
    if (job->terms > link->way->terms)
        return bf_fail(context, BF_E_ARGUMENT, "more than %d terms of a rank", link->way->terms);
    if (!can_sum(link, job))
        return bf_fail(context, BF_E_ARGUMENT, "the GPU cannot reach the memory where it is");
    if (context->cuda->capture != 0 && !link->way->capturable)
        return bf_fail(context, BF_E_ARGUMENT, "sums over NCCL cannot be captured");
    if (waits && context->cuda->capture != 0) return bf_cuda_refuse_captured(context);
    bf_status status = link->way->enqueue(link, job, waits);
    if (status == BF_OK && waits) status = bf_cuda_wait(context, cudaSuccess, "adding over ranks");
    return status == BF_OK && waits ? fetch_failure(link, true) : status;
}

static bf_status sum_ranks(bf_link *link, const bf_sums *job, bool waits) {
    int previous = bf_cuda_enter(link->context);
    bf_status status = enqueue_sum(link, job, waits);
    bf_cuda_leave(previous);
    return status;
}

extern const bf_comm_backend bf_cuda_comm_backend = {
    .nccl_version = bf_nccl_version,
    .link = open_link,
    .link_local = open_local_links,
    .unlink = close_link,
    .limit = set_limit,
    .is_capturable = is_capturable,
    .can_sum = can_sum,
    .sum = sum_ranks,
};
