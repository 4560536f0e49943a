/* Merging many states: a rank merges its share of the states of all ranks, and sends all of them
 * what these come to. */
#include "api/comm/parcels.h"

#include "api/axis/states.h"
#include "api/runtime/enter.h"

#include <stdlib.h>

typedef struct merging {
    bf_comm *comm;
    bf_states *states;
    bf_states *mine; /* this rank's share, merged */
    bf_states *made; /* all, merged */
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

/* Makes room for parcels whose sizes are set. */
static bf_status make_parcels(merging *m) {
    m->parcels.to = malloc(bf_parcels_total(m->comm, m->parcels.to_bytes));
    return m->parcels.to != NULL
               ? BF_OK
               : bf_fail(m->states->context, BF_E_MEMORY, "no memory to send states");
}

/* Saves the share of each rank. */
static bf_status save_shares(merging *m) {
    const int ranks = m->comm->carrier.ranks;
    if (m->states == NULL) return bf_fail(m->comm->context, BF_E_ARGUMENT, "no states to merge");
    bf_status status = bf_parcels_open(m->comm, &m->parcels);
    for (int r = 0; r < ranks && status == BF_OK; r++) {
        const int64_t first = begin_of(m, r), n = begin_of(m, r + 1) - first;
        size_t size = 0;
        status = bf_states_find_size(m->states, first, n, &size);
        m->parcels.to_bytes[r] = (int64_t)size;
    }
    if (status == BF_OK) status = make_parcels(m);
    char *at = m->parcels.to;
    for (int r = 0; r < ranks && status == BF_OK; r++) {
        const int64_t first = begin_of(m, r), n = begin_of(m, r + 1) - first;
        status = bf_states_save_to(m->states, first, n, at);
        at += m->parcels.to_bytes[r];
    }
    return status;
}

/* Calls take(m, part, rank) with the states of each parcel. It may keep them: then it sets *part to
 * NULL. */
static bf_status each_part(merging *m, bf_status (*take)(merging *m, bf_states **part, int rank)) {
    const char *at = m->parcels.from;
    bf_status status = BF_OK;
    for (int r = 0; r < m->comm->carrier.ranks && status == BF_OK; r++) {
        const int64_t bytes = m->parcels.from_bytes[r];
        bf_states *part = NULL;
        status = bf_states_load_from(m->states->context, at, (size_t)bytes, &part);
        if (status == BF_OK) status = take(m, &part, r);
        bf_states_destroy(part);
        at += bytes;
    }
    return status;
}

static bf_status merge_part(merging *m, bf_states **part, int rank) {
    if (rank > 0) return bf_states_merge_from(m->mine, *part);
    m->mine = *part;
    *part = NULL;
    return BF_OK;
}

/* Merges the shares that have come, and saves them for each rank. */
static bf_status save_merged(merging *m) {
    size_t size = 0;
    bf_status status = each_part(m, merge_part);
    if (status == BF_OK) status = bf_states_find_size(m->mine, 0, m->mine->count, &size);
    for (int r = 0; r < m->comm->carrier.ranks; r++) m->parcels.to_bytes[r] = (int64_t)size;
    if (status == BF_OK) status = make_parcels(m);
    if (status == BF_OK) status = bf_states_save_to(m->mine, 0, m->mine->count, m->parcels.to);
    for (int r = 1; r < m->comm->carrier.ranks && status == BF_OK; r++)
        memcpy(m->parcels.to + (size_t)r * size, m->parcels.to, size);
    bf_states_destroy(m->mine);
    m->mine = NULL;
    return status;
}

static bf_status put_part(merging *m, bf_states **part, int rank) {
    if ((*part)->elements > BF_COUNT_MAX - m->made->elements)
        return bf_fail(m->states->context, BF_E_OVERFLOW, "more than 2^62 elements");
    m->made->elements += (*part)->elements;
    return bf_states_add(m->made, m->made->inside, begin_of(m, rank), *part);
}

static bf_status join_shares(merging *m) {
    const bf_states *s = m->states;
    bf_status status = bf_states_make(s->context, s->op, s->dtype, s->count, &m->made);
    return status == BF_OK ? each_part(m, put_part) : status;
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
    if (status == BF_OK) status = bf_comm_agree(comm, join_shares(m), BF_COMM_AGREE);
    if (status == BF_OK) swap_states(m->states, m->made);
    return status;
}

static bf_status merge_many(bf_comm *comm, bf_states *states) {
    merging m = {.comm = comm, .states = states};
    bf_status status = merge_shares(&m);
    bf_states_destroy(m.mine);
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
