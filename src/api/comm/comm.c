/* Communicators: make them, and free them. */
#include "api/comm/comm.h"
#include "api/comm/sums.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"

#include <stdlib.h>

enum { RANKS_MAX = 1 << 22 };

static bf_status read_carrier(bf_context *context, const bf_carrier *given, bf_carrier *c) {
    *c = BF_CARRIER(.rank = 0, .ranks = 1);
    if (given == NULL) return BF_OK;
    if (!BF_READ(c, given, gather))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_carrier: size is not set, or from a newer version");
    if (c->ranks < 1 || c->ranks > RANKS_MAX || c->rank < 0 || c->rank >= c->ranks)
        return bf_fail(context, BF_E_ARGUMENT, "rank %d of %d", c->rank, c->ranks);
    if (c->exchange == NULL && c->ranks > 1)
        return bf_fail(context, BF_E_ARGUMENT, "a carrier without exchange");
    return BF_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Returns the backend that links the GPU of this context with others; NULL: there is no GPU. */
static const bf_comm_backend *linker_of(const bf_context *context) {
    const bf_backend *fixed = context->fixed;
    return fixed == NULL || fixed->comm == NULL || fixed->comm->link == NULL ? NULL : fixed->comm;
}

static int gather_for_link(void *arg, const void *mine, void *all, int64_t bytes) {
    return bf_comm_gather(arg, mine, all, bytes) == BF_OK ? 0 : 1;
}

static int exchange_for_link(void *arg, const void *to, const int64_t to_bytes[], void *from,
                             const int64_t from_bytes[]) {
    return bf_comm_exchange(arg, to, to_bytes, from, from_bytes) == BF_OK ? 0 : 1;
}

/* Links the GPUs, if every rank has one. */
static bf_status link_ranks(bf_comm *comm) {
    const bf_carrier carrier =
        BF_CARRIER(.rank = comm->carrier.rank, .ranks = comm->carrier.ranks, .arg = comm,
                   .exchange = exchange_for_link, .gather = gather_for_link);
    const bf_link_options options = {.limit = 0};
    int64_t without = linker_of(comm->context) == NULL;
    bf_status status = bf_comm_add(comm, &without, 1);
    if (status != BF_OK || without > 0) return status;
    comm->by = linker_of(comm->context);
    return comm->by->link(comm->context, &carrier, &options, &comm->link, comm->why);
}

/* ---- making ---------------------------------------------------------------------------------- */

static bf_comm *make_comm(bf_context *context, const bf_carrier *carrier) {
    bf_comm *comm = calloc(1, sizeof *comm);
    if (comm == NULL) return NULL;
    comm->context = context;
    comm->carrier = *carrier;
    comm->carrier.destroy = NULL; /* until the communicator owns the carrier */
    memcpy(comm->why, "a rank has no GPU", sizeof "a rank has no GPU");
    size_t block = (size_t)bf_sum_block(carrier->ranks);
    comm->blocks = calloc((size_t)carrier->ranks + 1, block);
    if (comm->blocks != NULL && bf_comm_make_scratch(comm)) return comm;
    free(comm->blocks);
    free(comm);
    return NULL;
}

static void free_comm(bf_comm *comm) {
    if (comm->link != NULL) comm->by->unlink(comm->link);
    if (comm->meeting != NULL) bf_meeting_leave(comm->meeting);
    if (comm->carrier.destroy != NULL) comm->carrier.destroy(comm->carrier.arg);
    free(comm->scratch);
    free(comm->blocks);
    free(comm->buffers);
    free(comm);
}

static bf_status create_comm(bf_context *context, const bf_carrier *given, bf_comm **comm) {
    bf_carrier carrier;
    if (comm == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the communicator");
    bf_status status = read_carrier(context, given, &carrier);
    if (status != BF_OK) return status;
    bf_comm *made = make_comm(context, &carrier);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a communicator");
    status = bf_comm_agree(made, BF_OK, bf_comm_key(BF_COMM_CREATE, (uint64_t)carrier.ranks));
    if (status == BF_OK) status = link_ranks(made);
    if (status == BF_OK) {
        made->carrier.destroy = carrier.destroy;
        *comm = made;
    } else {
        free_comm(made);
    }
    return status;
}

bf_status bf_comm_create(bf_context *context, const bf_carrier *carrier, bf_comm **comm) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, create_comm(context, carrier, comm));
}

void bf_comm_destroy(bf_comm *comm) {
    if (comm != NULL) free_comm(comm);
}

int bf_comm_rank(const bf_comm *comm) { return comm == NULL ? 0 : comm->carrier.rank; }
int bf_comm_ranks(const bf_comm *comm) { return comm == NULL ? 1 : comm->carrier.ranks; }
int bf_comm_linked(const bf_comm *comm) { return comm != NULL && comm->link != NULL; }

int bf_comm_nccl_version(void) {
    const bf_backend *gpu = bf_backend_gpu();
    const bf_comm_backend *by = gpu != NULL ? gpu->comm : NULL;
    return by != NULL && by->nccl_version != NULL ? by->nccl_version() : 0;
}

/* ---- the ranks of one process ---------------------------------------------------------------- */

static bool are_contexts(bf_context *const contexts[], int n) {
    for (int i = 0; i < n; i++) {
        if (contexts[i] == NULL) return false;
        for (int k = 0; k < i; k++)
            if (contexts[k] == contexts[i]) return false;
    }
    return true;
}

/* Links the GPUs of n communicators, if each has one. */
static bf_status link_local(bf_context *const contexts[], int n, bf_comm *comms[]) {
    const bf_link_options options = {.limit = 0};
    const bf_comm_backend *by = linker_of(contexts[0]);
    bf_link *links[BF_LINK_RANKS] = {NULL};
    char why[BF_MESSAGE_TEXT] = "more GPUs than can be linked";
    for (int i = 0; i < n; i++)
        if (linker_of(contexts[i]) == NULL) return BF_OK;
    bf_status status =
        n > BF_LINK_RANKS ? BF_OK : by->link_local(contexts, n, &options, links, why);
    for (int i = 0; i < n && status == BF_OK; i++) {
        comms[i]->by = by;
        comms[i]->link = i < BF_LINK_RANKS ? links[i] : NULL;
        memcpy(comms[i]->why, why, sizeof why);
    }
    return status;
}

static bf_status make_ranks(bf_context *const contexts[], int n, bf_meeting *meeting,
                            bf_comm *comms[]) {
    for (int i = 0; i < n; i++) {
        bf_carrier carrier = bf_meeting_carrier(meeting, i);
        comms[i] = make_comm(contexts[i], &carrier);
        if (comms[i] == NULL) return bf_fail(contexts[0], BF_E_MEMORY, "no memory for ranks");
    }
    return link_local(contexts, n, comms);
}

/* Every communicator leaves the meeting when it is freed; those that were not made leave here. */
static bf_status create_local(bf_context *const contexts[], int n, bf_comm *comms[]) {
    bf_meeting *meeting = bf_meeting_make(n);
    if (meeting == NULL) return bf_fail(contexts[0], BF_E_MEMORY, "no memory for ranks");
    for (int i = 0; i < n; i++) comms[i] = NULL;
    bf_status status = make_ranks(contexts, n, meeting, comms);
    for (int i = 0; i < n; i++) {
        if (comms[i] != NULL) comms[i]->meeting = meeting;
        if (status == BF_OK) continue;
        if (comms[i] == NULL)
            bf_meeting_leave(meeting);
        else
            free_comm(comms[i]);
        comms[i] = NULL;
    }
    return status;
}

bf_status bf_comm_create_local(bf_context *const contexts[], int n, bf_comm *comms[]) {
    int entered = 0;
    if (contexts == NULL || comms == NULL || n < 1 || !are_contexts(contexts, n))
        return BF_E_ARGUMENT;
    while (entered < n && bf_enter(contexts[entered])) entered++;
    bf_status status = entered < n ? BF_E_ARGUMENT : create_local(contexts, n, comms);
    while (entered > 0) bf_leave(contexts[--entered], BF_OK);
    return status;
}
