/* Messages over a carrier. What it does not do by itself, exchange does. */
#include "api/comm/comm.h"

#include <stdlib.h>

enum { CHUNK = 1 << 12 /* bytes of each rank, where a function stands in for another */ };

bool bf_comm_make_scratch(bf_comm *comm) {
    const bf_carrier *c = &comm->carrier;
    if (c->ranks == 1 || (c->gather != NULL && c->add != NULL)) return true;
    comm->scratch = malloc(2 * (size_t)c->ranks * (CHUNK + sizeof(int64_t)));
    return comm->scratch != NULL;
}

/* Returns the status of a function of the carrier. */
static bf_status check_carrier(bf_comm *comm, int failed) {
    if (failed == 0) return BF_OK;
    comm->failed = true;
    return bf_fail(comm->context, BF_E_COMM, "the carrier failed with %d on rank %d of %d", failed,
                   comm->carrier.rank, comm->carrier.ranks);
}

/* Is there anything to send, and can it be? */
static bool is_needed(bf_comm *comm, bf_status *status) {
    *status = comm->failed ? bf_fail(comm->context, BF_E_COMM, "the carrier failed before") : BF_OK;
    return !comm->failed && comm->carrier.ranks > 1;
}

bf_status bf_comm_exchange(bf_comm *comm, const void *to, const int64_t to_bytes[], void *from,
                           const int64_t from_bytes[]) {
    bf_status status;
    if (is_needed(comm, &status))
        return check_carrier(
            comm, comm->carrier.exchange(comm->carrier.arg, to, to_bytes, from, from_bytes));
    if (status == BF_OK && to_bytes[0] > 0) memcpy(from, to, (size_t)to_bytes[0]);
    return status;
}

/* Gathers at most CHUNK bytes by an exchange, in which every rank gets the same. */
static int gather_chunk(bf_comm *comm, const void *mine, char *all, int64_t bytes) {
    int ranks = comm->carrier.ranks;
    int64_t *sizes = (int64_t *)(void *)(comm->scratch + 2 * (size_t)ranks * CHUNK);
    for (int r = 0; r < ranks; r++) {
        memcpy(comm->scratch + r * bytes, mine, (size_t)bytes);
        sizes[r] = bytes;
    }
    return comm->carrier.exchange(comm->carrier.arg, comm->scratch, sizes, all, sizes);
}

/* Gathers by chunks, through the second half of the scratch. */
static int gather_by_exchange(bf_comm *comm, const char *mine, char *all, int64_t bytes) {
    int ranks = comm->carrier.ranks, failed = 0;
    char *chunk = comm->scratch + (size_t)ranks * CHUNK;
    for (int64_t at = 0; at < bytes && failed == 0; at += CHUNK) {
        int64_t n = bytes - at < CHUNK ? bytes - at : CHUNK;
        failed = gather_chunk(comm, mine + at, chunk, n);
        for (int r = 0; r < ranks && failed == 0; r++)
            memcpy(all + r * bytes + at, chunk + r * n, (size_t)n);
    }
    return failed;
}

static int gather_bytes(bf_comm *comm, const void *mine, void *all, int64_t bytes) {
    if (comm->carrier.gather == NULL) return gather_by_exchange(comm, mine, all, bytes);
    return comm->carrier.gather(comm->carrier.arg, mine, all, bytes);
}

bf_status bf_comm_gather(bf_comm *comm, const void *mine, void *all, int64_t bytes) {
    bf_status status;
    if (is_needed(comm, &status)) return check_carrier(comm, gather_bytes(comm, mine, all, bytes));
    if (status == BF_OK) memcpy(all, mine, (size_t)bytes);
    return status;
}

/* Adds at most CHUNK bytes of words. */
static int add_chunk(bf_comm *comm, int64_t *words, int64_t count) {
    int ranks = comm->carrier.ranks;
    int64_t *all = (int64_t *)(void *)(comm->scratch + (size_t)ranks * CHUNK);
    int failed = comm->carrier.gather == NULL
                     ? gather_chunk(comm, words, (char *)all, count * 8)
                     : comm->carrier.gather(comm->carrier.arg, words, all, count * 8);
    for (int64_t i = 0; i < count && failed == 0; i++) {
        uint64_t sum = 0;
        for (int r = 0; r < ranks; r++) sum += (uint64_t)all[r * count + i];
        words[i] = (int64_t)sum;
    }
    return failed;
}

static int add_words(bf_comm *comm, int64_t *words, int64_t count) {
    int failed = 0;
    if (comm->carrier.add != NULL) return comm->carrier.add(comm->carrier.arg, words, count);
    for (int64_t at = 0; at < count && failed == 0; at += CHUNK / 8)
        failed = add_chunk(comm, words + at, count - at < CHUNK / 8 ? count - at : CHUNK / 8);
    return failed;
}

bf_status bf_comm_add(bf_comm *comm, int64_t *words, int64_t count) {
    bf_status status;
    if (!is_needed(comm, &status)) return status;
    return check_carrier(comm, add_words(comm, words, count));
}

bf_status bf_comm_merge(bf_comm *comm, int64_t *message, int64_t bytes) {
    bf_status status;
    if (!is_needed(comm, &status)) return status;
    return check_carrier(comm, comm->carrier.merge(comm->carrier.arg, message, bytes));
}
