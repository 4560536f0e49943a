/* Sums of arrays whose ranks have agreed. */
#ifndef BF_API_COMM_SUMS_H
#define BF_API_COMM_SUMS_H

#include "api/comm/comm.h"

/* What a rank tells the others before a sum; the elements of a small array follow in the same
 * block. */
typedef struct bf_sum_notice {
    int64_t status;
    uint64_t key;     /* tells the call and the dtype */
    int64_t elements; /* how many `in` has */
    int64_t whole;    /* how many the whole array has; -1: this rank does not know */
    int64_t no_link;  /* not 0: the link cannot take this job */
} bf_sum_notice;

enum { BF_SUM_ROOM = 2048 };

/* The bytes of elements that travel with a notice, and the bytes of both. */
static inline int64_t bf_sum_room(int ranks) { return ranks <= 32 ? BF_SUM_ROOM : 0; }
static inline int64_t bf_sum_block(int ranks) {
    return (int64_t)sizeof(bf_sum_notice) + bf_sum_room(ranks);
}

/* The notice of a rank; comm->blocks holds those of all. */
static inline bf_sum_notice *bf_sum_notice_of(const bf_comm *comm, int rank) {
    return (bf_sum_notice *)(void *)(comm->blocks + rank * bf_sum_block(comm->carrier.ranks));
}

/* The terms that a rank has, where the whole array is known. */
static inline int64_t bf_sum_terms_of(const bf_comm *comm, const bf_sums *sums, int rank) {
    return bf_sum_notice_of(comm, rank)->elements / sums->n;
}

/* Copies bytes between memory of any kind that the context reaches. */
bf_status bf_sum_copy(bf_comm *comm, void *to, const void *from, int64_t bytes);

/* Adds the arrays of all ranks: elements go to the rank that adds them, and sums back. All ranks
 * get the same status. Errors: BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE, BF_E_COMM. */
bf_status bf_sum_by_exchange(bf_comm *comm, const bf_sums *sums);

#endif
