/* The inside of a state. */
#ifndef BF_API_REDUCE_STATE_H
#define BF_API_REDUCE_STATE_H

#include "seam/backend.h"
#include "seam/reduce.h"
#include <bitfold/state.h>

struct bf_state {
    bf_context *context;
    bf_reduction op;
    bf_dtype dtype;
    bf_kind kind;    /* of both */
    bool lasting;    /* may merge and be saved: every -0 is counted */
    bool uncounted;  /* but for those of parts that version 1 saved, whose count is at least 0 */
    int64_t words[]; /* BF_STATE_WORDS_MAX of BF_KIND_TREE, else BF_STATE_WORDS_SMALL */
};

/* The public calls, for callers that have entered the context (enter.h). A state that is made here
 * is for its result alone. */
bf_status bf_state_make(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state **state);
bf_status bf_state_take(bf_state *state, const bf_array *chunk);
bf_status bf_state_take_pair(bf_state *state, const bf_array *a, const bf_array *b);

/* Bytes of the words in use. */
size_t bf_state_bytes(const bf_state *state);

/* The index of the next element, where the state keeps indices; NULL where it does not. */
int64_t *bf_state_next(bf_state *state);

/* Do both have one op and dtype? Errors: BF_E_ARGUMENT (from is NULL), BF_E_STATE. */
bf_status bf_state_match(const bf_state *into, const bf_state *from);

/* Merges `from` into `into`, words of states of one op and dtype. NULL, or why they do not go
 * together, and then into is as it was. *status: BF_OK, BF_E_STATE, BF_E_OVERFLOW, BF_E_MEMORY. */
const char *bf_merge_words(bf_reduction op, bf_dtype dtype, int64_t *into, const int64_t *from,
                           bf_status *status);

/* For a call that may fail when it has taken some elements in: keeps the words, and afterwards puts
 * them back unless the status is BF_OK, and frees them (NULL: nothing was kept). Errors:
 * BF_E_MEMORY. */
bf_status bf_state_keep(const bf_state *state, int64_t **kept);
void bf_state_settle(bf_state *state, int64_t *kept, bf_status status);

#endif
