/* The inside of a state. */
#ifndef BF_API_STATE_H
#define BF_API_STATE_H

#include "../../include/bitfold/state.h"
#include "../backend.h"

struct bf_state {
    bf_context *context;
    bf_reduction op;
    bf_dtype dtype;
    int64_t words[BF_STATE_WORDS_MAX];
};

/* Makes *state (anywhere, also on the stack) the empty state. Errors: BF_E_ARGUMENT, BF_E_DTYPE. */
bf_status bf_state_start(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state *state);

#endif
