/* Parcels: bytes of any number from every rank to every rank. */
#ifndef BF_API_COMM_PARCELS_H
#define BF_API_COMM_PARCELS_H

#include "api/comm/comm.h"

typedef struct bf_parcels {
    char *to, *from;                /* the parcels for all ranks, one after another; those of all
                                       ranks */
    int64_t *to_bytes, *from_bytes; /* the size of each */
    int64_t *size_bytes;            /* how many bytes the size of each takes */
} bf_parcels;

/* Makes room for the sizes; the caller sets to_bytes, and `to` by malloc. Whatever it returns,
 * bf_parcels_close frees all. Errors: BF_E_MEMORY. */
bf_status bf_parcels_open(bf_comm *comm, bf_parcels *p);
void bf_parcels_close(bf_parcels *p);

/* Sends the parcels and frees them; from becomes those of all ranks. All ranks get the same status.
 * Errors: BF_E_MEMORY, BF_E_COMM. */
bf_status bf_parcels_send(bf_comm *comm, bf_parcels *p);

/* The bytes of parcels of these sizes. */
size_t bf_parcels_total(const bf_comm *comm, const int64_t bytes[]);

#endif
