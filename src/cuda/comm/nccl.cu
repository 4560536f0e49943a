/* Links over NCCL, for GPUs that do not reach each other's memory: on several hosts, for one.
 *
 * NCCL only moves bytes. The array goes in pieces, and a piece in shards, of which each rank gets
 * one from all ranks, adds it exactly, and sends the sums on. So a rank sends and receives as much
 * as with NCCL's own sums. Three pieces are in work at a time: step i exchanges the shards of piece
 * i, sends the sums of piece i - 2, and meanwhile piece i - 1 is added on a stream of its own. */
#include "cuda/comm/nccl.cuh"

#include "cuda/comm/terms.cuh"
#include "rules/number/dtype.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    PIECES = 2, /* an array that is neither small nor large has so many */
    LEAST_SHARD = 1 << 18,
    BUFFERS = 1 << 27 /* bytes of the shards of a piece, at most */
};

struct bf_cuda_nccl {
    bf_nccl_library library;
    bf_nccl_comm *comm;
    cudaStream_t adding;
    cudaEvent_t exchanged[2], added[2], done; /* done: the last call */
    char *buffers;    /* two pieces: `ranks` shards each, of which a rank's own is for sums */
    int64_t shard;    /* bytes, at most */
    uint32_t *misfit; /* in the GPU's memory */
};

/* What ranks tell each other to make links. */
struct nccl_card {
    bf_nccl_id id; /* rank 0 makes it */
    int ready;
};

/* --- a call --- */

/* How a call is shared out. */
struct nccl_call {
    bf_link *link;
    bf_sums job;
    int bytes;      /* the size of an element */
    int64_t part;   /* elements between the shards of a piece: of neighbouring ranks */
    int64_t shard;  /* elements of a shard, at most */
    int64_t stride; /* elements between pieces */
    int64_t pieces;
    cudaStream_t stream;
};

struct shard_range {
    int64_t first, count;
};

static shard_range shard_of(const nccl_call *c, int64_t piece, int rank) {
    shard_range r = {piece * c->stride + rank * c->part, c->shard};
    int64_t end = c->job.to == BF_SUMS_TO_OWNERS ? (rank + 1) * c->part : c->job.n;
    if (r.count > end - r.first) r.count = end - r.first;
    if (r.count < 0) r.count = 0;
    return r;
}

static nccl_call plan_call(bf_link *link, const bf_sums *job) {
    nccl_call c = {link, *job, bf_dtype_bytes(job->dtype), 0, 0, 0, 0, link->context->cuda->stream};
    int64_t line = 128 / c.bytes, each = (job->n + link->ranks - 1) / link->ranks;
    c.shard = each / PIECES;
    if (c.shard < LEAST_SHARD / c.bytes) c.shard = LEAST_SHARD / c.bytes;
    if (c.shard > each) c.shard = each;
    c.shard = (c.shard + line - 1) / line * line;
    if (c.shard > link->nccl->shard / c.bytes) c.shard = link->nccl->shard / c.bytes;
    c.part = job->to == BF_SUMS_TO_OWNERS ? job->n / link->ranks : c.shard;
    c.stride = job->to == BF_SUMS_TO_OWNERS ? c.shard : c.shard * link->ranks;
    c.pieces = job->to == BF_SUMS_TO_OWNERS ? (c.part + c.shard - 1) / c.shard
                                            : (job->n + c.stride - 1) / c.stride;
    return c;
}

static char *buffer_of(const nccl_call *c, int64_t piece, int rank) {
    return c->link->nccl->buffers + (piece % 2 * c->link->ranks + rank) * c->link->nccl->shard;
}

static const char *term_at(const nccl_call *c, int64_t element) {
    return (const char *)c->job.in + element * c->bytes;
}

static bool gets(const nccl_call *c, int rank) {
    return c->job.to != BF_SUMS_TO_ROOT || rank == c->job.root;
}

/* Where the sums of this rank's shard go. */
static char *sums_at(const nccl_call *c, int64_t piece) {
    shard_range own = shard_of(c, piece, c->link->rank);
    int64_t before = c->job.to == BF_SUMS_TO_OWNERS ? c->link->rank * c->part : 0;
    if (!gets(c, c->link->rank)) return buffer_of(c, piece, c->link->rank);
    return (char *)c->job.out + (own.first - before) * c->bytes;
}

/* Sends each rank its shard of this rank's term. */
static bf_nccl_result exchange_shards(const nccl_call *c, int64_t piece) {
    const bf_cuda_nccl *nccl = c->link->nccl;
    const shard_range own = shard_of(c, piece, c->link->rank);
    bf_nccl_result result = BF_NCCL_SUCCESS;
    for (int k = 1; k < c->link->ranks && result == BF_NCCL_SUCCESS; k++) {
        int to = (c->link->rank + k) % c->link->ranks;
        int from = (c->link->rank + c->link->ranks - k) % c->link->ranks;
        shard_range theirs = shard_of(c, piece, to);
        if (theirs.count > 0)
            result = nccl->library.send(term_at(c, theirs.first), (size_t)(theirs.count * c->bytes),
                                        BF_NCCL_BYTES, to, nccl->comm, c->stream);
        if (own.count > 0 && result == BF_NCCL_SUCCESS)
            result =
                nccl->library.receive(buffer_of(c, piece, from), (size_t)(own.count * c->bytes),
                                      BF_NCCL_BYTES, from, nccl->comm, c->stream);
    }
    return result;
}

/* Sends this rank's sums to those that get them. */
static bf_nccl_result gather_sums(const nccl_call *c, int64_t piece) {
    const bf_cuda_nccl *nccl = c->link->nccl;
    const shard_range own = shard_of(c, piece, c->link->rank);
    bf_nccl_result result = BF_NCCL_SUCCESS;
    for (int k = 1; k < c->link->ranks && result == BF_NCCL_SUCCESS; k++) {
        int to = (c->link->rank + k) % c->link->ranks;
        int from = (c->link->rank + c->link->ranks - k) % c->link->ranks;
        shard_range theirs = shard_of(c, piece, from);
        if (own.count > 0 && gets(c, to))
            result = nccl->library.send(sums_at(c, piece), (size_t)(own.count * c->bytes),
                                        BF_NCCL_BYTES, to, nccl->comm, c->stream);
        if (theirs.count > 0 && gets(c, c->link->rank) && result == BF_NCCL_SUCCESS)
            result = nccl->library.receive((char *)c->job.out + theirs.first * c->bytes,
                                           (size_t)(theirs.count * c->bytes), BF_NCCL_BYTES, from,
                                           nccl->comm, c->stream);
    }
    return result;
}

/* The messages of step i, at once. */
static bf_nccl_result send_step(const nccl_call *c, int64_t i) {
    const bf_nccl_library *library = &c->link->nccl->library;
    bf_nccl_result result = library->begin(), ended;
    if (result != BF_NCCL_SUCCESS) return result;
    if (i < c->pieces) result = exchange_shards(c, i);
    if (i >= 2 && c->job.to != BF_SUMS_TO_OWNERS && result == BF_NCCL_SUCCESS)
        result = gather_sums(c, i - 2);
    ended = library->end();
    return result == BF_NCCL_SUCCESS ? ended : result;
}

/* Adds this rank's shard of a piece, when it has come. */
static cudaError_t add_shard(const nccl_call *c, int64_t piece) {
    const bf_cuda_nccl *nccl = c->link->nccl;
    const shard_range own = shard_of(c, piece, c->link->rank);
    bf_cuda_terms terms = {c->job.dtype, c->link->ranks, {}, NULL, own.count, nccl->misfit};
    cudaError_t error = cudaEventRecord(nccl->exchanged[piece % 2], c->stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(nccl->adding, nccl->exchanged[piece % 2], 0);
    for (int r = 0; r < c->link->ranks; r++)
        terms.in[r] = r == c->link->rank ? term_at(c, own.first) : buffer_of(c, piece, r);
    terms.out = sums_at(c, piece);
    if (error == cudaSuccess && own.count > 0)
        error = bf_cuda_add_terms(c->link->context->cuda, nccl->adding, &terms);
    if (error == cudaSuccess) error = cudaEventRecord(nccl->added[piece % 2], nccl->adding);
    return error;
}

/* Reports an integer that does not fit, of any rank. */
static __global__ void report_misfit(const uint32_t *misfit, volatile uint32_t *overflow) {
    if (*misfit != 0) *overflow = 1;
}

/* Loads all kernels: loading one may wait for the GPU, on which NCCL may wait for another rank that
 * this thread has yet to enqueue. */
static cudaError_t load_additions(void) {
    cudaFuncAttributes unused;
    cudaError_t error = cudaFuncGetAttributes(&unused, (const void *)report_misfit);
    return error == cudaSuccess ? bf_cuda_load_terms() : error;
}

static bf_nccl_result tell_misfit(const nccl_call *c, bool waits, cudaError_t *error) {
    const bf_cuda_nccl *nccl = c->link->nccl;
    bf_nccl_result result = nccl->library.allreduce(nccl->misfit, nccl->misfit, 1, BF_NCCL_UINT32,
                                                    BF_NCCL_MAX, nccl->comm, c->stream);
    if (result != BF_NCCL_SUCCESS) return result;
    report_misfit<<<1, 1, 0, c->stream>>>(nccl->misfit, &c->link->report->overflow[waits]);
    *error = cudaGetLastError();
    return result;
}

static bf_nccl_result enqueue_steps(const nccl_call *c, bool waits, cudaError_t *error) {
    const bf_cuda_nccl *nccl = c->link->nccl;
    const bool floats = bf_dtype_is_float(c->job.dtype);
    bf_nccl_result result = BF_NCCL_SUCCESS;
    *error = floats ? cudaSuccess : cudaMemsetAsync(nccl->misfit, 0, 4, c->stream);
    for (int64_t i = 0; i < c->pieces + 2 && result == BF_NCCL_SUCCESS && *error == cudaSuccess;
         i++) {
        if (i >= 2) *error = cudaStreamWaitEvent(c->stream, nccl->added[i % 2], 0);
        if (*error == cudaSuccess) result = send_step(c, i);
        if (i < c->pieces && result == BF_NCCL_SUCCESS && *error == cudaSuccess)
            *error = add_shard(c, i);
    }
    if (!floats && result == BF_NCCL_SUCCESS && *error == cudaSuccess)
        result = tell_misfit(c, waits, error);
    return result;
}

/* --- failures --- */

/* Ends NCCL's work on this rank: it cannot go on. */
static bf_status fail_link(bf_link *link, bf_cuda_link_fault fault, const char *why) {
    bf_cuda_nccl *nccl = link->nccl;
    link->fault = fault;
    if (nccl->comm != NULL) nccl->library.abort(nccl->comm);
    nccl->comm = NULL;
    return bf_fail(link->context, BF_E_COMM, "NCCL: %s", why);
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for the last call, for no longer than the limit and only while NCCL works. */
static bf_status wait_for_ranks(bf_link *link) {
    const bf_cuda_nccl *nccl = link->nccl;
    const double begun = seconds_now();
    cudaError_t error;
    while ((error = cudaEventQuery(nccl->done)) == cudaErrorNotReady) {
        bf_nccl_result failure = BF_NCCL_SUCCESS;
        nccl->library.failure(nccl->comm, &failure);
        if (failure != BF_NCCL_SUCCESS && failure != BF_NCCL_IN_PROGRESS)
            return fail_link(link, BF_LINK_FAILED, nccl->library.describe(failure));
        if (seconds_now() - begun > link->limit)
            return fail_link(link, BF_LINK_LATE, "a rank did not take part in time");
        sched_yield();
    }
    return bf_cuda_check(link->context, error, "adding over ranks");
}

static bf_status enqueue_messages(bf_link *link, const bf_sums *job, bool waits) {
    const nccl_call call = plan_call(link, job);
    cudaError_t error;
    bf_nccl_result result = enqueue_steps(&call, waits, &error);
    if (result != BF_NCCL_SUCCESS)
        return fail_link(link, BF_LINK_FAILED, link->nccl->library.describe(result));
    if (error == cudaSuccess) error = cudaEventRecord(link->nccl->done, call.stream);
    if (error != cudaSuccess) { /* other ranks wait for messages that do not come */
        fail_link(link, BF_LINK_FAILED, "");
        return bf_cuda_fail(link->context, error, "adding over ranks");
    }
    return waits ? wait_for_ranks(link) : BF_OK;
}

/* --- opening and closing --- */

static void close_nccl(bf_link *link) {
    bf_cuda_nccl *nccl = link->nccl;
    if (nccl == NULL) return;
    link->limit = 1;
    if (nccl->comm != NULL) wait_for_ranks(link);
    if (nccl->comm != NULL) nccl->library.destroy(nccl->comm);
    if (nccl->done != NULL) cudaEventDestroy(nccl->done);
    for (int i = 0; i < 2; i++) {
        if (nccl->exchanged[i] != NULL) cudaEventDestroy(nccl->exchanged[i]);
        if (nccl->added[i] != NULL) cudaEventDestroy(nccl->added[i]);
    }
    if (nccl->adding != NULL) cudaStreamDestroy(nccl->adding);
    cudaFree(nccl->misfit);
    cudaFree(nccl->buffers);
    cudaGetLastError();
    free(nccl);
    link->nccl = NULL;
}

static const bf_cuda_link_way over_nccl = {
    .capturable = false,
    .terms = 1,
    .enqueue = enqueue_messages,
    .close = close_nccl,
};

/* Makes what a rank needs for itself. Returns why it cannot; NULL: it can. */
static const char *begin_nccl(bf_link *link) {
    bf_cuda_nccl *nccl = (bf_cuda_nccl *)calloc(1, sizeof *nccl);
    link->nccl = nccl;
    if (nccl == NULL) return "no memory for a link";
    if (!bf_nccl_load(&nccl->library)) return "there is no libnccl.so.2";
    nccl->shard = BUFFERS / link->ranks / 128 * 128;
    cudaError_t error = load_additions();
    if (error == cudaSuccess) error = cudaEventCreateWithFlags(&nccl->done, cudaEventDisableTiming);
    for (int i = 0; i < 2 && error == cudaSuccess; i++) {
        error = cudaEventCreateWithFlags(&nccl->exchanged[i], cudaEventDisableTiming);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&nccl->added[i], cudaEventDisableTiming);
    }
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&nccl->adding, cudaStreamNonBlocking);
    if (error == cudaSuccess) error = cudaMalloc((void **)&nccl->misfit, sizeof *nccl->misfit);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&nccl->buffers, (size_t)(2 * link->ranks * nccl->shard));
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

/* Adds to what `why` says already. */
static void add_reason(char *why, const char *reason) {
    size_t used = strlen(why);
    snprintf(why + used, BF_MESSAGE_TEXT - used, "%sNCCL: %s", used > 0 ? "; " : "", reason);
}

/* Exchanges a byte with every rank, and adds a number: connections are made at the first use, which
 * waits for the other ranks. */
static bf_nccl_result greet_ranks(bf_link *const links[], int n) {
    const bf_nccl_library *library = &links[0]->nccl->library;
    bf_nccl_result result = library->begin(), ended;
    for (int i = 0; i < n && result == BF_NCCL_SUCCESS; i++) {
        const bf_cuda_nccl *nccl = links[i]->nccl;
        for (int r = 0; r < links[i]->ranks && result == BF_NCCL_SUCCESS; r++) {
            if (r == links[i]->rank) continue;
            char *at = nccl->buffers + r * nccl->shard;
            result = library->send(nccl->misfit, 1, BF_NCCL_BYTES, r, nccl->comm, nccl->adding);
            if (result == BF_NCCL_SUCCESS)
                result = library->receive(at, 1, BF_NCCL_BYTES, r, nccl->comm, nccl->adding);
        }
    }
    ended = library->end();
    if (result == BF_NCCL_SUCCESS) result = ended;
    if (result == BF_NCCL_SUCCESS) result = library->begin();
    for (int i = 0; i < n && result == BF_NCCL_SUCCESS; i++)
        result =
            library->allreduce(links[i]->nccl->misfit, links[i]->nccl->misfit, 1, BF_NCCL_UINT32,
                               BF_NCCL_MAX, links[i]->nccl->comm, links[i]->nccl->adding);
    ended = library->end();
    for (int i = 0; i < n; i++)
        if (cudaStreamSynchronize(links[i]->nccl->adding) != cudaSuccess)
            ended = BF_NCCL_CUDA_FAILED;
    return result == BF_NCCL_SUCCESS ? ended : result;
}

/* Returns why a call has failed; NULL: it has not. */
static const char *refusal_of(const bf_link *link, bf_nccl_result result) {
    return result == BF_NCCL_SUCCESS ? NULL : link->nccl->library.describe(result);
}

/* Sends this rank's card and gets all. Returns whether all are ready. */
static bool gather_cards(const bf_link *link, const bf_carrier *carrier, const char *refused,
                         nccl_card *mine, nccl_card *cards, bf_status *status) {
    mine->ready = refused == NULL;
    *status = bf_cuda_link_gather(link, carrier, mine, cards, sizeof *mine);
    for (int r = 0; r < link->ranks; r++)
        if (*status != BF_OK || !cards[r].ready) return false;
    return true;
}

bf_status bf_cuda_nccl_open(bf_link *link, const bf_carrier *carrier, char *why) {
    bf_status status;
    nccl_card mine = {}, cards[BF_LINK_RANKS] = {};
    const char *refused = link->report != NULL ? begin_nccl(link) : "no memory for a link";
    if (refused == NULL && link->rank == 0)
        refused = refusal_of(link, link->nccl->library.make_id(&mine.id));
    bool ready = gather_cards(link, carrier, refused, &mine, cards, &status);
    if (ready) {
        bf_cuda_nccl *nccl = link->nccl;
        refused =
            refusal_of(link, nccl->library.join(&nccl->comm, link->ranks, cards[0].id, link->rank));
        ready = gather_cards(link, carrier, refused, &mine, cards, &status);
    }
    if (ready) {
        refused = refusal_of(link, greet_ranks(&link, 1));
        ready = gather_cards(link, carrier, refused, &mine, cards, &status);
    }
    if (ready) {
        link->way = &over_nccl;
        return BF_OK;
    }
    add_reason(why, refused != NULL ? refused : "another rank cannot use it");
    close_nccl(link);
    return status;
}

/* Joins the links of one process. */
static bf_nccl_result join_links(bf_link *const links[], int n) {
    const bf_nccl_library *library = &links[0]->nccl->library;
    bf_nccl_id id;
    bf_nccl_result result = library->make_id(&id), ended;
    if (result == BF_NCCL_SUCCESS) result = library->begin();
    if (result != BF_NCCL_SUCCESS) return result;
    for (int r = 0; r < n && result == BF_NCCL_SUCCESS; r++) {
        int previous = bf_cuda_use_device(links[r]->context->cuda);
        result = library->join(&links[r]->nccl->comm, n, id, r);
        bf_cuda_leave(previous);
    }
    ended = library->end();
    if (result == BF_NCCL_SUCCESS) result = ended;
    return result == BF_NCCL_SUCCESS ? greet_ranks(links, n) : result;
}

void bf_cuda_nccl_open_local(bf_link *const links[], int n, char *why) {
    const char *refused = NULL;
    for (int r = 0; r < n && refused == NULL; r++) {
        int previous = bf_cuda_use_device(links[r]->context->cuda);
        refused = begin_nccl(links[r]);
        bf_cuda_leave(previous);
    }
    if (refused == NULL) refused = refusal_of(links[0], join_links(links, n));
    for (int r = 0; r < n && refused == NULL; r++) links[r]->way = &over_nccl;
    if (refused == NULL) {
        *why = '\0';
        return;
    }
    add_reason(why, refused);
    for (int r = 0; r < n; r++) {
        int previous = bf_cuda_use_device(links[r]->context->cuda);
        close_nccl(links[r]);
        bf_cuda_leave(previous);
    }
}
