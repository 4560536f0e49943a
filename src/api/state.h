/* The inside of a state. */
#ifndef BF_API_STATE_H
#define BF_API_STATE_H

#include "../../include/bitfold/state.h"
#include "../backend.h"

struct bf_state {
    bf_context *context;
    bf_reduction op;
    bf_dtype dtype;
    bf_kind kind;    /* of both */
    int64_t words[]; /* BF_STATE_WORDS_MAX of BF_KIND_TREE, else BF_STATE_WORDS_SMALL */
};

#endif
