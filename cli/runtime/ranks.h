/* Ranks: the processes that run one command together, each over its part of the rows.
 *
 * Every rank calls the same functions here in the same order. Each goes its own way only between
 * two of them; what fails there is kept back until ranks_agree. A command that runs without ranks
 * is rank 0 of 1, and these functions do nothing. */
#ifndef BITFOLD_CLI_RUNTIME_RANKS_H
#define BITFOLD_CLI_RUNTIME_RANKS_H

#include <bitfold.h>
#include <bitfold/comm.h>
#include <stdbool.h>

/* Sets what carries bytes between the ranks; it is copied. */
void ranks_set(const bf_carrier *carrier);

/* From now on, rank 0 works as if it were alone. Returns whether the caller is it; the others go to
 * ranks_end. */
bool ranks_alone(void);

/* All ranks return the exit code of the first one that failed, whose messages are shown. ranks_end
 * does so once more, of all ranks. */
int ranks_agree(int code);
int ranks_end(int code);

int ranks_rank(void);
int ranks_count(void);

/* Receives `bytes` bytes from every rank, in their order. */
void ranks_gather(const void *mine, void *all, int64_t bytes);

/* Returns, on rank 0, the bytes of all ranks in their order, to be freed, and how many each sent;
 * on others NULL. */
char *ranks_collect(const void *mine, int64_t bytes, int64_t sizes[]);

/* Returns zeros of so many bytes, to be freed; a rank that has no memory for them ends the job. */
void *ranks_allocate(size_t bytes);

/* Every rank receives what all ranks have, n words in all: the caller has those in [first, end),
 * the next rank those from there on, and so on. */
void ranks_share_words(int64_t *words, int64_t first, int64_t end);

/* Whether it is true on rank 0, or on any rank. */
bool ranks_first_says(bool mine);
bool ranks_any(bool mine);

/* The sum of a number over all ranks, and the least one. */
int64_t ranks_sum(int64_t mine);
int64_t ranks_least(int64_t mine);

/* The bits that are set on all ranks, of n words. */
void ranks_and(unsigned *words, int n);

/* Counts the ranks of this machine that may run on the same cores as this one, and those of all on
 * this machine that come before this one. */
void ranks_neighbours(int *sharing, int *before);

/* Makes a communicator of the ranks for this context. */
int ranks_open(bf_context *context, bf_comm **comm, const char *file);

/* Merge what the ranks hold, on every rank: states, of which the same may be NULL on all ranks, a
 * histogram, and quantiles. Return an exit code that all agree on. */
int ranks_merge_states(bf_context *context, bf_state *const states[], int n, const char *file);
int ranks_merge_histogram(bf_context *context, bf_histogram *histogram, const char *file);
int ranks_merge_many(bf_context *context, bf_states *states, const char *file);
int ranks_merge_quantiles(bf_context *context, bf_quantiles *quantiles, const char *file);

#endif
