/* Merging many states. Those that are arrays in the memory of linked GPUs are added there. Of
 * others a rank merges its share of the states of all ranks, and sends all of them what these come
 * to. */
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

static bf_status check_states(const merging *m) {
    if (m->states != NULL) return BF_OK;
    return bf_fail(m->comm->context, BF_E_ARGUMENT, "no states to merge");
}

static void swap_states(bf_states *a, bf_states *b) {
    const bf_states kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- by the link ----------------------------------------------------------------------------- */

/* What a rank tells the others. */
typedef struct notice {
    int64_t elements, no_link; /* not 0: the link cannot take these states */
    int64_t reach[BF_STATES_REACH];
} notice;

static bf_sums sums_of(const int64_t *in, int64_t *out, int64_t n) {
    return (bf_sums){
        .to = BF_SUMS_TO_ALL, .dtype = BF_I64, .n = n, .in = in, .terms = 1, .out = out};
}

static bool link_can(const merging *m, notice *mine) {
    const bf_states *s = m->states;
    const bf_axis_backend *by = s->on->axis;
    bf_states_arrays arrays;
    if (s->count == 0 || by->reach == NULL || !by->reach(s->inside, mine->reach)) return false;
    by->arrays(s->inside, &arrays);
    const bf_sums counts = sums_of(arrays.data[0], arrays.data[0], arrays.counts[0]);
    return m->comm->by->can_sum(m->comm->link, &counts);
}

/* Makes of this rank's notice that of all states together. */
static bf_status gather_notices(bf_comm *comm, notice *mine) {
    notice all[BF_LINK_RANKS], whole = {0};
    bf_status status = bf_comm_gather(comm, mine, all, sizeof *mine);
    for (int r = 0; r < comm->carrier.ranks && status == BF_OK; r++) {
        whole.no_link |= all[r].no_link;
        if (all[r].elements > BF_COUNT_MAX - whole.elements)
            status = bf_fail(comm->context, BF_E_OVERFLOW, "more than 2^62 elements");
        else
            whole.elements += all[r].elements;
        for (int i = 0; i < BF_STATES_REACH; i++)
            if (all[r].reach[i] > whole.reach[i]) whole.reach[i] = all[r].reach[i];
    }
    *mine = whole;
    return status;
}

/* Makes states for the sums. */
static bf_status open_sums(merging *m, const int64_t *reach) {
    bf_states *s = m->states, *made = malloc(sizeof *made);
    if (made == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for states");
    *made = *s;
    made->inside = NULL;
    m->made = made;
    bf_status status = s->on->axis->create(s->context, s->op, s->dtype, s->count, &made->inside);
    if (status == BF_OK) status = s->on->axis->widen(s->context, made->inside, reach);
    return status == BF_OK ? s->on->axis->widen(s->context, s->inside, reach) : status;
}

static bf_status add_arrays(const merging *m) {
    const bf_comm *comm = m->comm;
    bf_states_arrays from, to;
    bf_status status = BF_OK;
    m->states->on->axis->arrays(m->states->inside, &from);
    m->states->on->axis->arrays(m->made->inside, &to);
    for (int i = 0; i < from.n && status == BF_OK; i++) {
        const bf_sums sums = sums_of(from.data[i], to.data[i], from.counts[i]);
        status = comm->by->sum(comm->link, &sums, true);
    }
    return status;
}

/* Merges the states, if the links of all ranks can: else *taken stays false. */
static bf_status merge_by_link(merging *m, bool *taken) {
    notice all = {.no_link = 1};
    bf_status status = check_states(m);
    if (status == BF_OK) all.no_link = !link_can(m, &all);
    if (status == BF_OK) all.elements = m->states->elements;
    status = bf_comm_agree(m->comm, status, status == BF_OK ? key_of(m->states) : 0);
    if (status == BF_OK) status = gather_notices(m->comm, &all);
    if (status != BF_OK || all.no_link) return status;
    *taken = true;
    status = bf_comm_agree(m->comm, open_sums(m, all.reach), BF_COMM_AGREE);
    if (status == BF_OK) status = add_arrays(m);
    if (status != BF_OK) return status;
    m->made->elements = all.elements;
    swap_states(m->states, m->made);
    return BF_OK;
}

/* ---- by the carrier -------------------------------------------------------------------------- */

/* Saves the share of each rank. */
static bf_status save_shares(merging *m) {
    bf_parcels *p = &m->parcels;
    size_t size = 0;
    bf_status status = check_states(m);
    if (status != BF_OK) return status;
    status = bf_parcels_open(m->comm, p);
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
    bool taken = false;
    bf_status status = comm->link != NULL ? merge_by_link(&m, &taken) : BF_OK;
    if (status == BF_OK && !taken) status = merge_shares(&m);
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
