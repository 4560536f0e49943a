/* Sharing groups out: each rank splits its groups into a part for each rank and sends them saved;
 * then it merges the parts that it gets. */
#include "api/comm/parcels.h"

#include "api/group/group.h"
#include "api/runtime/enter.h"

#include <stdlib.h>

typedef struct sharing {
    bf_comm *comm;
    bf_context *context; /* the groups' context */
    bf_groups *groups, *made;
    bf_groups **parts;
    bf_parcels parcels; /* saved parts */
} sharing;

/* ---- packing --------------------------------------------------------------------------------- */

static bf_status measure_parts(sharing *s, int ranks) {
    bf_status status = BF_OK;
    for (int r = 0; r < ranks && status == BF_OK; r++) {
        size_t size = 0;
        status = bf_groups_find_size(s->parts[r], &size);
        s->parcels.to_bytes[r] = (int64_t)size;
    }
    return status;
}

/* Saves the parts, and frees each. */
static bf_status save_parts(sharing *s, int ranks) {
    bf_status status = measure_parts(s, ranks);
    if (status != BF_OK) return status;
    char *at = s->parcels.to = malloc(bf_parcels_total(s->comm, s->parcels.to_bytes));
    if (at == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory to send groups");
    for (int r = 0; r < ranks && status == BF_OK; r++) {
        status = bf_groups_save_to(s->parts[r], at);
        at += s->parcels.to_bytes[r];
        bf_groups_destroy(s->parts[r]);
        s->parts[r] = NULL;
    }
    return status;
}

static bf_status pack_groups(sharing *s) {
    int ranks = s->comm->carrier.ranks;
    if (s->groups == NULL) return bf_fail(s->comm->context, BF_E_ARGUMENT, "no groups to share");
    if (ranks > BF_PARTS_MAX)
        return bf_fail(s->context, BF_E_ARGUMENT, "groups are shared by at most %d ranks",
                       BF_PARTS_MAX);
    s->parts = calloc((size_t)ranks, sizeof(bf_groups *));
    if (s->parts == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory to share groups");
    bf_status status = bf_parcels_open(s->comm, &s->parcels);
    if (status == BF_OK) status = bf_groups_split_into(s->groups, ranks, s->parts);
    return status == BF_OK ? save_parts(s, ranks) : status;
}

static uint64_t key_of(const bf_groups *g) {
    uint64_t key = bf_comm_key(BF_COMM_EXCHANGE_GROUPS, (uint64_t)g->key);
    for (int i = 0; i < g->count; i++) {
        key = bf_comm_key(key, (uint64_t)g->aggregates[i].op);
        key = bf_comm_key(key, (uint64_t)g->aggregates[i].dtype);
    }
    return key;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static bf_status merge_part(sharing *s, const char *bytes, int64_t size) {
    bf_groups *part = NULL;
    bf_status status = bf_groups_load_from(s->context, bytes, (size_t)size, &part);
    if (status == BF_OK) status = bf_groups_merge_from(s->made, part);
    bf_groups_destroy(part);
    return status;
}

static bf_status unpack_groups(sharing *s) {
    bf_status status;
    const char *at = s->parcels.from;
    s->made = bf_groups_make_alike(s->groups, &status);
    for (int r = 0; r < s->comm->carrier.ranks && status == BF_OK; r++) {
        status = merge_part(s, at, s->parcels.from_bytes[r]);
        at += s->parcels.from_bytes[r];
    }
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void swap_groups(bf_groups *a, bf_groups *b) {
    bf_groups kept = *a;
    *a = *b;
    *b = kept;
}

static bf_status share_groups(sharing *s) {
    bf_status status = pack_groups(s);
    status = bf_comm_agree(s->comm, status, status == BF_OK ? key_of(s->groups) : 0);
    if (status == BF_OK) status = bf_parcels_send(s->comm, &s->parcels);
    if (status == BF_OK) status = bf_comm_agree(s->comm, unpack_groups(s), BF_COMM_AGREE);
    if (status == BF_OK) swap_groups(s->groups, s->made);
    return status;
}

static bf_status exchange_groups(bf_comm *comm, bf_groups *groups) {
    sharing s = {.comm = comm, .context = groups ? groups->context : NULL, .groups = groups};
    bf_status status = share_groups(&s);
    for (int r = 0; r < comm->carrier.ranks && s.parts != NULL; r++) bf_groups_destroy(s.parts[r]);
    bf_groups_destroy(s.made);
    bf_parcels_close(&s.parcels);
    free(s.parts);
    return status;
}

bf_status bf_comm_exchange_groups(bf_comm *comm, bf_groups *groups) {
    if (comm == NULL || !bf_enter(comm->context)) return BF_E_ARGUMENT;
    bf_context *other = groups == NULL ? comm->context : groups->context;
    bool entered = other == comm->context || bf_enter(other);
    bf_status status = exchange_groups(comm, entered ? groups : NULL);
    if (entered && other != comm->context) bf_leave(other, BF_OK);
    return bf_leave(comm->context, status);
}
