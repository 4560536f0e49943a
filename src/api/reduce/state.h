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
    int64_t words[]; /* BF_STATE_WORDS_MAX of BF_KIND_TREE, else BF_STATE_WORDS_SMALL */
};

/* The public calls, for callers that have entered the context (enter.h). */
bf_status bf_state_make(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state **state);
bf_status bf_state_take(bf_state *state, const bf_array *chunk);
bf_status bf_state_take_pair(bf_state *state, const bf_array *a, const bf_array *b);

/* For a call that may fail when it has taken some elements in: keeps the words, and afterwards puts
 * them back unless the status is BF_OK, and frees them (NULL: nothing was kept). Errors:
 * BF_E_MEMORY. */
bf_status bf_state_keep(const bf_state *state, int64_t **kept);
void bf_state_settle(bf_state *state, int64_t *kept, bf_status status);

#endif
