/* Exact aggregates of many groups or states on a GPU: their memory, and what adds to it.
 *
 * An aggregate is a reduction of many sets of values at once. Sums have as many limbs as their
 * values have needed so far. */
#ifndef BF_CUDA_REDUCE_AGGREGATE_CUH
#define BF_CUDA_REDUCE_AGGREGATE_CUH

#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/memory.cuh"

#include "rules/reduce/sum.h"

extern "C" {
#include <bitfold/group.h>
}

enum {
    BF_CUDA_AGGREGATE_THREADS = 256,
    BF_CUDA_BAND_DEPOSITS = 1 << 30 /* additions to a limb between carries (limbs.h) */
};

/* The elements or pairs of a group that are counted apart: the counters of a state from BF_SUM_NAN
 * on; integers have none. */
enum { BF_CUDA_SPECIALS = BF_SUM_LIMBS - BF_SUM_NAN };

/* Limbs [first, first + limbs) of each group's exact sum of one part, one group after another. The
 * limb above the highest that a term reaches is always one of them; it takes the carries of 2^62
 * terms. */
struct bf_cuda_band {
    bf_part part;
    int first, limbs;
    int from, to;     /* limbs [from, to) are all that the values prepared last need */
    int64_t deposits; /* additions to any one limb since the last carry */
    bf_cuda_buffer words;
};

struct bf_cuda_aggregate {
    bf_kind kind;
    bf_dtype dtype;
    bool greatest; /* BF_KIND_EXTREME: keys are complemented */
    int bands;     /* parts of the kind */
    bf_cuda_band band[BF_PARTS_MOST];
    bf_cuda_buffer keys;     /* BF_KIND_EXTREME: the least, int64_t */
    bf_cuda_buffer specials; /* int64_t[BF_CUDA_SPECIALS] of each group, once has_specials */
    bool has_specials;
};

void bf_cuda_aggregate_init(bf_cuda_aggregate *aggregate, bf_aggregate kind);
void bf_cuda_aggregate_destroy(bf_context *context, bf_cuda_aggregate *aggregate);
void bf_cuda_aggregate_empty(bf_cuda_aggregate *aggregate);

/* Makes room for `room` groups, of which there are `size`. */
bf_status bf_cuda_aggregate_reserve(bf_context *context, bf_cuda_aggregate *aggregate, int64_t size,
                                    int64_t room);
/* Makes the aggregates of groups [size, size + fresh) empty. */
cudaError_t bf_cuda_aggregate_extend(bf_context *context, bf_cuda_aggregate *aggregate,
                                     int64_t size, int64_t fresh);
/* Widens a band to hold limbs [first, end) too. */
bf_status bf_cuda_band_widen(bf_context *context, bf_cuda_band *band, int64_t size, int64_t room,
                             int first, int end);
/* Makes memory for specials, if there is none yet. */
bf_status bf_cuda_aggregate_hold_specials(bf_context *context, bf_cuda_aggregate *aggregate,
                                          int64_t size, int64_t room);

/* Counts so many additions to any one limb, and carries first if they might overflow. */
cudaError_t bf_cuda_aggregate_deposit(bf_context *context, bf_cuda_aggregate *aggregate,
                                      int64_t size, int64_t deposits);
/* Absorbs values, of pairs those of two arrays, into the groups of these numbers, of `size` groups.
 * They have been prepared for. */
cudaError_t bf_cuda_aggregate_absorb(bf_context *context, bf_cuda_aggregate *aggregate,
                                     const void *const values[], const unsigned *numbers, int64_t n,
                                     int64_t size);

/* Widens `into` for a merge of `from`; merges group i of `from` into group numbers[i], all
 * different, of `size` groups. numbers NULL: into group first + i. */
bf_status bf_cuda_aggregate_widen(bf_context *context, bf_cuda_aggregate *into,
                                  const bf_cuda_aggregate *from, int64_t size, int64_t room);
cudaError_t bf_cuda_aggregate_merge(bf_context *context, bf_cuda_aggregate *into,
                                    const bf_cuda_aggregate *from, const unsigned *numbers,
                                    int64_t first, int64_t n, int64_t size);

/* Writes the words (rules/reduce/state.h) of groups order[0, n). order NULL: of groups first to
 * first + n - 1. */
cudaError_t bf_cuda_aggregate_words(bf_context *context, const bf_cuda_aggregate *aggregate,
                                    const unsigned *order, int64_t first, const int64_t *counts,
                                    int64_t n, int64_t *words);

/* --- aggregate_band.cu --- */

/* Finds the limbs, and whether there are specials, that n values of an array, or of two, need, and
 * makes room for them in the aggregate's `room` groups. */
bf_status bf_cuda_aggregate_prepare(bf_context *context, bf_cuda_aggregate *aggregate,
                                    const void *const values[], int64_t n, int64_t size,
                                    int64_t room);
/* Prepares by a sample of the values, if there are many. Some values may then need more. */
bf_status bf_cuda_aggregate_guess(bf_context *context, bf_cuda_aggregate *aggregate,
                                  const void *const values[], int64_t n, int64_t size,
                                  int64_t room);

/* --- aggregate_words.cu --- */

/* Sets an empty aggregate of n groups, with room for `room`, from the words (rules/reduce/state.h)
 * of each, in host memory. Waits. */
bf_status bf_cuda_aggregate_insert(bf_context *context, bf_cuda_aggregate *aggregate,
                                   const int64_t *words, int64_t n, int64_t room);

#endif
