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
    bf_kind kind;    /* follows from op and dtype */
    bool lasting;    /* the state may be merged and saved, so every -0 is counted */
    int scale;       /* integers are in units of 10^-scale */
    int64_t words[]; /* bf_state_room */
};

/* The words that a state has room for: the most that there can be. */
static inline int bf_state_room(bf_kind kind, bf_dtype dtype) {
    return kind == BF_KIND_PRODUCT_TREE ? BF_STATE_WORDS_MAX : bf_state_words(kind, dtype, NULL);
}

/* Do as the public calls, for callers that have entered the context (enter.h). A state that is made
 * here is never saved or merged. */
bf_status bf_state_make(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state **state);
bf_status bf_state_absorb_array(bf_state *state, const bf_array *chunk);
bf_status bf_state_absorb_arrays(bf_state *state, const bf_array *a, const bf_array *b);
bf_status bf_state_move(bf_state *state, int64_t index); /* bf_state_seek */

/* Returns the bytes of the words in use. */
size_t bf_state_bytes(const bf_state *state);

/* Returns the word with the index of the next element, or NULL if the state is not ordered. */
int64_t *bf_state_next(bf_state *state);

/* Can `from` be merged into `into`, by their ops and dtypes? */
bool bf_state_takes(const bf_state *into, const bf_state *from);

/* Calls apply(into, from) for two states of one op when both have one scale and dtype: `into` gets
 * a greater scale, or a copy of `from` does. Errors, `into` as it was: BF_E_ARGUMENT (from is
 * NULL), BF_E_STATE (another op or dtype), BF_E_OVERFLOW, BF_E_MEMORY; and those of apply. */
bf_status bf_state_align(bf_state *into, const bf_state *from,
                         bf_status apply(bf_state *into, const bf_state *from));

/* Merges words of states of one op and dtype. Returns NULL, or the message of *status (BF_E_STATE,
 * BF_E_OVERFLOW, BF_E_MEMORY) and leaves `into` as it was. */
const char *bf_merge_words(bf_reduction op, bf_dtype dtype, int64_t *into, const int64_t *from,
                           bf_status *status);

/* Carries words that are the sum of those of `parts` states, or are those of one. Returns false if
 * no state has these words. */
bool bf_words_settle(bf_reduction op, bf_dtype dtype, int64_t *words, int64_t parts);
/* Makes the state what settled words of its op and dtype say. */
void bf_words_put(bf_state *state, const int64_t *words);

/* For calls that may fail when some elements are absorbed. bf_state_keep copies the words;
 * bf_state_settle puts them back unless the status is BF_OK, and frees them (NULL: no copy).
 * Errors: BF_E_MEMORY. */
bf_status bf_state_keep(const bf_state *state, int64_t **kept);
void bf_state_settle(bf_state *state, int64_t *kept, bf_status status);

#endif
