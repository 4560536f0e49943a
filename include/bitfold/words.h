/* The words of a state, for MPI and NCCL: a state as an array of int64_t.
 *
 * How many words there are, and how they merge, depends on what the state keeps (BF_REDUCTION_LIST)
 * and the dtype alone:
 *
 *   SUM SQUARES MOMENTS DOT                   BF_WORDS_ADD     by adding them, word by word
 *   EXTREME of elements, PRODUCT of integers  BF_WORDS_MERGE   by bf_words_merge, in any order
 *   all others                                BF_WORDS_APPEND  by bf_words_merge, neighbours first
 *
 * So MPI_Allreduce(MPI_IN_PLACE, words, (int)count, MPI_INT64_T, MPI_SUM, comm) merges the sums of
 * all ranks: bf_state_get_words before it, bf_state_set_words with `parts` ranks after it. Other
 * states take an operation of MPI_Op_create, which calls bf_words_merge on each array of `count`
 * words. It commutes unless the rule is BF_WORDS_APPEND: then ranks hold their data in order, each
 * from its own index on (bf_state_seek).
 *
 * Words are those of this version of the library, in the machine's order of bytes: all ranks run
 * one version, and what lasts is saved (bf_state_save). */
#ifndef BITFOLD_WORDS_H
#define BITFOLD_WORDS_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bf_words_rule {
    BF_WORDS_ADD = 0,   /* int64 addition, word by word; the sum is then carried */
    BF_WORDS_MERGE = 1, /* bf_words_merge, in any order */
    BF_WORDS_APPEND = 2 /* bf_words_merge, of states whose indices are neighbours */
} bf_words_rule;

typedef struct bf_words_info {
    size_t size; /* sizeof(bf_words_info): set before the call, see bitfold.h */
    bf_words_rule rule;
    int64_t count; /* how many words there are */
    int64_t parts; /* states whose words may be added before bf_state_set_words carries the sum; 1
                      unless the rule is BF_WORDS_ADD */
} bf_words_info;

/* Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_state_words_info(const bf_state *state, bf_words_info *info);

/* Writes the state's words, as many as info.count. Errors: BF_E_ARGUMENT. */
BF_API bf_status bf_state_get_words(const bf_state *state, int64_t *words);

/* Makes the state what `count` words say that are the sum of those of `parts` states of its op and
 * dtype (1: of one), and trusts nothing. Errors: BF_E_ARGUMENT (count is not info.count, or parts
 * not from 1 to info.parts), BF_E_STATE (no states have these words; also if they hold more than
 * 2^62 elements, or bf_words_merge could not merge them), BF_E_MEMORY. On failure the state is as
 * it was. */
BF_API bf_status bf_state_set_words(bf_state *state, const int64_t *words, int64_t count,
                                    int64_t parts);

/* Merges `from` into `into`, the words of two states of op and dtype, whatever the rule. It needs
 * no context, so that it fits a callback of MPI. Where the words do not go together (ranges of
 * indices that overlap or leave a gap, more than 2^62 elements, words of no state, or no memory for
 * a product), `into` becomes words that bf_state_set_words refuses, as all do that it is merged
 * with. Does nothing if op or dtype is none, or a pointer NULL. */
BF_API void bf_words_merge(bf_reduction op, bf_dtype dtype, int64_t *into, const int64_t *from);

#ifdef __cplusplus
}
#endif
#endif
