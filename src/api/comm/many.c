/* Merging many states: a rank merges its share of the states of all ranks, and sends all of them
 * what these come to. */
#include "api/comm/parcels.h"

#include "api/axis/states.h"
#include "api/runtime/enter.h"

#include <stdlib.h>

typedef struct merging {
    bf_comm *comm;
    bf_states *states;
    bf_states *made; /* this rank's share, merged; then all */
    bf_parcels parcels;
} merging;

/* The first state of a rank's share. */
static int64_t begin_of(const merging *m, int rank) {
    return (int64_t)((bf_i128)m->states->count * rank / m->comm->carrier.ranks);
}

static uint64_t key_of(const bf_states *s) {
    uint64_t key = bf_comm_key(BF_COMM_MERGE_MANY, (uint64_t)s->op);
    return bf_comm_key(bf_comm_key(key, (uint64_t)s->dtype), (uint64_t)s->count);
}

/* Saves the share of each rank. */
static bf_status save_shares(merging *m) {
    bf_parcels *p = &m->parcels;
    size_t size = 0;
    if (m->states == NULL) return bf_fail(m->comm->context, BF_E_ARGUMENT, "no states to merge");
    bf_status status = bf_parcels_open(m->comm, p);
    for (int r = 0; r < m->comm->carrier.ranks && status == BF_OK; r++) {
        const int64_t first = begin_of(m, r), n = begin_of(m, r + 1) - first;
        const size_t before = size;
        status = bf_states_append_saved(m->states, first, n, &p->to, &size);
        p->to_bytes[r] = (int64_t)(size - before);
    }
    return status;
}

/* Makes `count` states of the parcels that came. Apart: each holds the share of its rank; otherwise
 * all hold the same share. */
static bf_status merge_parcels(merging *m, int64_t count, bool apart) {
    const bf_states *s = m->states;
    const char *at = m->parcels.from;
    bf_states_destroy(m->made);
    m->made = NULL;
    bf_status status = bf_states_make(s->context, s->op, s->dtype, count, &m->made);
    for (int r = 0; r < m->comm->carrier.ranks && status == BF_OK; r++) {
        const size_t size = (size_t)m->parcels.from_bytes[r];
        status = bf_states_merge_saved(m->made, apart ? begin_of(m, r) : 0, at, size);
        at += size;
    }
    return status;
}

/* Merges the shares that came, and saves them for each rank. */
static bf_status save_merged(merging *m) {
    const int rank = m->comm->carrier.rank, ranks = m->comm->carrier.ranks;
    const int64_t count = begin_of(m, rank + 1) - begin_of(m, rank);
    bf_parcels *p = &m->parcels;
    size_t size = 0;
    bf_status status = merge_parcels(m, count, false);
    if (status == BF_OK) status = bf_states_append_saved(m->made, 0, count, &p->to, &size);
    if (status != BF_OK) return status;
    char *all = realloc(p->to, (size_t)ranks * size);
    if (all == NULL) return bf_fail(m->states->context, BF_E_MEMORY, "no memory to send states");
    for (int r = 1; r < ranks; r++) memcpy(all + (size_t)r * size, all, size);
    for (int r = 0; r < ranks; r++) p->to_bytes[r] = (int64_t)size;
    p->to = all;
    return BF_OK;
}

static void swap_states(bf_states *a, bf_states *b) {
    const bf_states kept = *a;
    *a = *b;
    *b = kept;
}

static bf_status merge_shares(merging *m) {
    bf_comm *comm = m->comm;
    bf_status status = save_shares(m);
    status = bf_comm_agree(comm, status, status == BF_OK ? key_of(m->states) : 0);
    if (status == BF_OK) status = bf_parcels_send(comm, &m->parcels);
    if (status == BF_OK) status = bf_comm_agree(comm, save_merged(m), BF_COMM_AGREE);
    if (status == BF_OK) status = bf_parcels_send(comm, &m->parcels);
    if (status == BF_OK)
        status = bf_comm_agree(comm, merge_parcels(m, m->states->count, true), BF_COMM_AGREE);
    if (status == BF_OK) swap_states(m->states, m->made);
    return status;
}

static bf_status merge_many(bf_comm *comm, bf_states *states) {
    merging m = {.comm = comm, .states = states};
    bf_status status = merge_shares(&m);
    bf_states_destroy(m.made);
    bf_parcels_close(&m.parcels);
    return status;
}

bf_status bf_comm_merge_many(bf_comm *comm, bf_states *states) {
    if (comm == NULL || !bf_enter(comm->context)) return BF_E_ARGUMENT;
    bf_context *other = states == NULL ? comm->context : states->context;
    const bool entered = other == comm->context || bf_enter(other);
    bf_status status = merge_many(comm, entered ? states : NULL);
    if (entered && other != comm->context) bf_leave(other, BF_OK);
    return bf_leave(comm->context, status);
}
