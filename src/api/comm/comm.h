/* The inside of communicators: how ranks agree, and move words and bytes.
 *
 * Every collective call begins with a message that all ranks send whatever has happened to them: a
 * rank that has failed sends its status in it. So all ranks go on, or all return the same status.
 * What can fail on one rank alone, such as allocating, is done before such a message. */
#ifndef BF_API_COMM_COMM_H
#define BF_API_COMM_COMM_H

#include "api/comm/meeting.h"
#include "seam/backend.h"
#include "seam/comm.h"

struct bf_comm {
    bf_context *context;
    bf_carrier carrier;
    bool failed;   /* the carrier has: nothing is sent any more */
    char *blocks;  /* the notices before a sum (sums.h): of all ranks, and its own */
    char *buffers; /* memory of the last large sum; NULL: none yet */
    size_t buffer_bytes;
    char *scratch;             /* for what the carrier does not do by itself */
    bf_meeting *meeting;       /* bf_comm_create_local has one, else NULL */
    const bf_comm_backend *by; /* the link's backend */
    bf_link *link;             /* between the GPUs of all ranks; NULL: there is none */
    char why[BF_MESSAGE_TEXT]; /* why there is no link */
};

/* The calls, as ranks compare them. */
typedef enum bf_comm_call {
    BF_COMM_CREATE = 1,
    BF_COMM_MERGE_STATES,
    BF_COMM_MERGE_HISTOGRAM,
    BF_COMM_MERGE_MANY,
    BF_COMM_MERGE_QUANTILES,
    BF_COMM_EXCHANGE_GROUPS,
    BF_COMM_SUM,
    BF_COMM_AGREE
} bf_comm_call;

/* A number that is the same on all ranks if their calls and arguments are. */
static inline uint64_t bf_comm_key(uint64_t key, uint64_t argument) {
    key = (key ^ argument) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

/* ---- carrier.c: one message each. Errors: BF_E_COMM, with a message. ------------------------- */

bf_status bf_comm_exchange(bf_comm *comm, const void *to, const int64_t to_bytes[], void *from,
                           const int64_t from_bytes[]);
bf_status bf_comm_add(bf_comm *comm, int64_t *words, int64_t count);
bf_status bf_comm_gather(bf_comm *comm, const void *mine, void *all, int64_t bytes);

/* Needs a carrier that has this function. */
bf_status bf_comm_merge(bf_comm *comm, int64_t *message, int64_t bytes);

/* Makes comm->scratch, if the carrier needs it. false: no memory. */
bool bf_comm_make_scratch(bf_comm *comm);

/* ---- agree.c --------------------------------------------------------------------------------- */

/* Returns BF_OK on all ranks if `mine` is BF_OK and `key` equal on all of them. Else all ranks get
 * the same status: of a rank that has failed, or BF_E_COMM if the keys differ. */
bf_status bf_comm_agree(bf_comm *comm, bf_status mine, uint64_t key);

/* Agrees, and adds: on success words have become their sums over all ranks. Few words travel in the
 * same message. If mine is not BF_OK, words may be NULL. */
bf_status bf_comm_add_agreed(bf_comm *comm, bf_status mine, uint64_t key, int64_t *words,
                             int64_t count);

/* The status of all ranks from how many have each: BF_OK if all have. Explains it in the context's
 * message, unless this rank itself has failed. */
bf_status bf_comm_settle(bf_comm *comm, bf_status mine, const int64_t having[], bool same);

enum { BF_COMM_STATUSES = 16 };

#endif
