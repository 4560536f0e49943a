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

#endif
