/* Ranks: processes or threads that each hold a part of the data and want one answer.
 *
 * A communicator (bf_comm) lets ranks merge states, histograms, quantiles and groups, and add
 * arrays exactly. The results have the bits of one rank that holds all data, whatever the number of
 * ranks, their order and how the data are split. bitfold/mpi.h makes communicators of an MPI_Comm.
 * A carrier, a table of a few functions, makes them of anything else that moves bytes.
 *
 * Calls that take a communicator are collective: every rank calls the same functions in the same
 * order, with arguments that agree (reductions, dtypes, shapes). They fail on all ranks or on none:
 * a rank whose arguments are wrong or whose memory is short takes part and tells the others. Where
 * ranks disagree, or the carrier fails, all get BF_E_COMM. */
#ifndef BITFOLD_COMM_H
#define BITFOLD_COMM_H

#include "axis.h"
#include "group.h"
#include "histogram.h"
#include "options.h"
#include "order.h"
#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_comm bf_comm;

/* A carrier moves bytes of host memory between ranks. Every rank calls the same function in the
 * same order; a function returns when the memory of this rank may be used again. It returns 0, or
 * any other number if it failed. */
typedef struct bf_carrier {
    size_t size; /* sizeof(bf_carrier): see bitfold.h */
    int rank;    /* the caller's, from 0 */
    int ranks;   /* in all, at least 1 */
    void *arg;
    /* Sends to every rank, itself among them, the next to_bytes[rank] bytes of `to`, and receives
     * from_bytes[rank] bytes from each into `from`, in the order of the ranks. */
    int (*exchange)(void *arg, const void *to, const int64_t to_bytes[], void *from,
                    const int64_t from_bytes[]);
    /* May be NULL: then exchange does its work. Replaces words by their sums over all ranks,
     * modulo 2^64. */
    int (*add)(void *arg, int64_t *words, int64_t count);
    /* May be NULL. Receives `bytes` bytes from every rank into all, in the order of the ranks. */
    int (*gather)(void *arg, const void *mine, void *all, int64_t bytes);
    /* May be NULL. Replaces a message by those of all ranks, merged by bf_comm_merge_message in the
     * order of the ranks. bytes is the same on all ranks. */
    int (*merge)(void *arg, int64_t *message, int64_t bytes);
    /* May be NULL. bf_comm_destroy calls it in the end. */
    void (*destroy)(void *arg);
} bf_carrier;

/* Merges two messages of `merge`. It needs no communicator: it is the operation for MPI_Op_create,
 * which does not commute. */
BF_API void bf_comm_merge_message(int64_t *into, const int64_t *from);

/* BF_CARRIER(.rank = rank, .ranks = ranks, .exchange = exchange). */
#define BF_CARRIER(...) BF_OPTIONS_OF(bf_carrier, __VA_ARGS__)

/* Makes a communicator of a carrier, which is copied; NULL: of one rank. All ranks call this. The
 * calls of the communicator use the context, which must outlive it and belongs to one thread at a
 * time together with it. Ranks may use different devices. Errors: BF_E_ARGUMENT, BF_E_MEMORY (on
 * this rank alone: the carrier cannot be used), BF_E_DEVICE, BF_E_COMM; then `destroy` is not
 * called. */
BF_API bf_status bf_comm_create(bf_context *context, const bf_carrier *carrier, bf_comm **comm);

/* Makes the communicators of n contexts of this process, one for each: rank i uses contexts[i].
 * They need no carrier. Each belongs to one thread at a time; a call that waits for other ranks
 * needs a thread for each rank, but one thread may enqueue the _async calls of all ranks in turn.
 * Errors: BF_E_ARGUMENT, BF_E_MEMORY, BF_E_DEVICE. */
BF_API bf_status bf_comm_create_local(bf_context *const contexts[], int n, bf_comm *comms[]);
BF_API void bf_comm_destroy(bf_comm *comm);

/* Returns the version of NCCL, 10000 * major + 100 * minor + patch, or 0 if libnccl.so.2 is not
 * found, or this build has no CUDA. GPUs that do not reach each other's memory add by it. */
BF_API int bf_comm_nccl_version(void);

/* Return the caller's rank, and the number of ranks. */
BF_API int bf_comm_rank(const bf_comm *comm);
BF_API int bf_comm_ranks(const bf_comm *comm);

/* Returns 1 if all ranks are on GPUs that are linked, directly or by NCCL, so that sums can be
 * enqueued (the _async calls); else 0, on all ranks. */
BF_API int bf_comm_linked(const bf_comm *comm);

/* Merges the states of all ranks: state i of every rank becomes the merge of the states i of all,
 * in the order of the ranks where order matters. Ordered states hold neighbouring ranges of indices
 * (bf_state_seek). The n states, which may belong to any contexts, travel in one message. On
 * failure they are as they were. Errors: BF_E_ARGUMENT, BF_E_STATE, BF_E_OVERFLOW, BF_E_MEMORY,
 * BF_E_COMM. */
BF_API bf_status bf_comm_merge_states(bf_comm *comm, bf_state *const states[], int n);

/* Merges a histogram: every rank gets the counts and weights of all. */
BF_API bf_status bf_comm_merge_histogram(bf_comm *comm, bf_histogram *histogram);

/* Merges many states, of one op, dtype and count: every rank gets all of them. Each rank merges a
 * share, and so moves about twice the bytes of their saved form, however many ranks there are; GPUs
 * that are linked add what adds, where it is. On failure the states are as they were. Errors:
 * BF_E_ARGUMENT, BF_E_OVERFLOW (more than 2^62 elements), BF_E_DEVICE, BF_E_MEMORY, BF_E_COMM. */
BF_API bf_status bf_comm_merge_many(bf_comm *comm, bf_states *states);

/* Merges quantiles that are in the same pass (order.h): every rank gets what all have absorbed in
 * it, and then ends the pass by itself. A rank sends and receives at most 3.7 MB. On failure the
 * quantiles are as they were. Errors: BF_E_ARGUMENT, BF_E_STATE (all is found; or the ranks have
 * more elements than the first pass), BF_E_OVERFLOW (more than 2^62 elements), BF_E_MEMORY,
 * BF_E_COMM. */
BF_API bf_status bf_comm_merge_quantiles(bf_comm *comm, bf_quantiles *quantiles);

/* Shares the groups of all ranks out by the hash of their keys: each key ends on one rank, as the
 * group of all of its rows. A rank gets about 1 / ranks of the keys: part number `rank` of
 * bf_groups_split. On failure the groups are as they were. Errors of both: BF_E_ARGUMENT,
 * BF_E_OVERFLOW, BF_E_DEVICE, BF_E_MEMORY, BF_E_COMM. */
BF_API bf_status bf_comm_exchange_groups(bf_comm *comm, bf_groups *groups);

/* ---- sums of arrays ---------------------------------------------------------------------------
 *
 * Each element of the result is the exact sum of that element over all ranks, rounded once to the
 * dtype. dtypes: all but bool. An integer that does not fit its dtype is BF_E_OVERFLOW, on all
 * ranks. NaN, infinities and zeros are as in bf_reduce.
 *
 * `in` has the shape of the whole array, or one more dimension in front: k terms of this rank
 * (k > 0 may differ between ranks), all of which are added. Arrays are contiguous, in memory of any
 * kind that the context reaches. in may be out. Errors of all: BF_E_ARGUMENT, BF_E_DTYPE,
 * BF_E_SHAPE, BF_E_OVERFLOW, BF_E_MEMORY, BF_E_DEVICE, BF_E_COMM; then out is undefined. */

/* Every rank gets the sums: out has the shape of the whole array. */
BF_API bf_status bf_comm_allreduce(bf_comm *comm, const bf_array *in, const bf_array *out);

/* Rank r gets the r-th of `ranks` equal parts of the sums, in C order. Errors also: BF_E_SHAPE (the
 * elements cannot be shared out equally). */
BF_API bf_status bf_comm_reduce_scatter(bf_comm *comm, const bf_array *in, const bf_array *out);

/* Rank `root` gets the sums. On other ranks out is not looked at. */
BF_API bf_status bf_comm_reduce(bf_comm *comm, const bf_array *in, const bf_array *out, int root);

/* Enqueue such sums on the context's stream; all ranks are on GPUs that reach each other, directly
 * or by NCCL (BF_E_DEVICE otherwise). Ranks that are not the root of bf_comm_reduce_async give one
 * term; over NCCL, all do. Where GPUs reach each other's memory, the calls can be captured in a
 * graph, and bf_context_synchronize reports BF_E_COMM (a rank did not take part in time, or ranks
 * disagree); NCCL notices neither, and waits. It reports BF_E_OVERFLOW, too. */
BF_API bf_status bf_comm_allreduce_async(bf_comm *comm, const bf_array *in, const bf_array *out);
BF_API bf_status bf_comm_reduce_scatter_async(bf_comm *comm, const bf_array *in,
                                              const bf_array *out);
BF_API bf_status bf_comm_reduce_async(bf_comm *comm, const bf_array *in, const bf_array *out,
                                      int root);

#ifdef __cplusplus
}
#endif
#endif
