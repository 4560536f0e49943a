/* The inside of many states. */
#ifndef BF_API_AXIS_STATES_H
#define BF_API_AXIS_STATES_H

#include "seam/axis.h"

struct bf_states {
    bf_context *context;
    const bf_backend *on; /* the backend of the states' device */
    bf_reduction op;
    bf_dtype dtype;
    int64_t count;
    int64_t elements; /* absorbed by all */
    void *inside;     /* belongs to the backend */
};

/* The public calls, for callers that have entered the context (enter.h). */
bf_status bf_states_make(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                         bf_states **states);
bf_status bf_states_merge_from(bf_states *into, const bf_states *from);
bf_status bf_states_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_states **states);

/* The saved form of states [first, first + n) alone. */
bf_status bf_states_find_size(bf_states *states, int64_t first, int64_t n, size_t *size);
bf_status bf_states_save_to(bf_states *states, int64_t first, int64_t n, void *buffer);

/* Adds the words of `from` to the states from number `first` on of an inside like that of `into`.
 */
bf_status bf_states_add(const bf_states *into, void *inside, int64_t first, const bf_states *from);

/* Are there states of this op? */
bool bf_states_have(bf_reduction op);

/* Places a call where the states are. Errors: as bf_place. */
bf_status bf_states_place(const bf_states *states);

/* The words of states in memory: a batch of at most so many. */
int64_t bf_states_batch(const bf_states *states);

#endif
