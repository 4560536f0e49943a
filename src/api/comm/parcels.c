#include "api/comm/parcels.h"

#include <stdlib.h>

bf_status bf_parcels_open(bf_comm *comm, bf_parcels *p) {
    const int ranks = comm->carrier.ranks;
    *p = (bf_parcels){.to_bytes = calloc(3 * (size_t)ranks, sizeof *p->to_bytes)};
    if (p->to_bytes == NULL) return bf_fail(comm->context, BF_E_MEMORY, "no memory to send parts");
    p->from_bytes = p->to_bytes + ranks;
    p->size_bytes = p->from_bytes + ranks;
    for (int r = 0; r < ranks; r++) p->size_bytes[r] = sizeof(int64_t);
    return BF_OK;
}

void bf_parcels_close(bf_parcels *p) {
    free(p->to);
    free(p->from);
    free(p->to_bytes);
}

size_t bf_parcels_total(const bf_comm *comm, const int64_t bytes[]) {
    int64_t total = 0;
    for (int r = 0; r < comm->carrier.ranks; r++) total += bytes[r];
    return (size_t)total;
}

/* Tells each rank the size of its parcel, and makes room for the parcels that come. */
static bf_status exchange_sizes(bf_comm *comm, bf_parcels *p) {
    bf_status status =
        bf_comm_exchange(comm, p->to_bytes, p->size_bytes, p->from_bytes, p->size_bytes);
    if (status != BF_OK) return status;
    free(p->from);
    p->from = malloc(bf_parcels_total(comm, p->from_bytes));
    if (p->from == NULL)
        status = bf_fail(comm->context, BF_E_MEMORY, "no memory for the parts of all ranks");
    return bf_comm_agree(comm, status, BF_COMM_AGREE);
}

bf_status bf_parcels_send(bf_comm *comm, bf_parcels *p) {
    bf_status status = exchange_sizes(comm, p);
    if (status == BF_OK)
        status = bf_comm_exchange(comm, p->to, p->to_bytes, p->from, p->from_bytes);
    free(p->to);
    p->to = NULL;
    return status;
}
