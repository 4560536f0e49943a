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
bf_status bf_states_load_from(bf_context *context, const void *buffer, size_t size,
                              bf_states **states);

/* Appends the saved form of states [first, first + n) alone to *size bytes of malloc's. */
bf_status bf_states_append_saved(bf_states *states, int64_t first, int64_t n, char **bytes,
                                 size_t *size);

/* Merges saved states of this op and dtype into those from number `first` on. Errors: as
 * bf_states_load, and BF_E_OVERFLOW; some may be merged then. */
bf_status bf_states_merge_saved(bf_states *states, int64_t first, const void *buffer, size_t size);

/* Are there states of this op? */
bool bf_states_have(bf_reduction op);

/* Checks an output: it has an element for each state, in memory that these can write. Errors:
 * BF_E_SHAPE, BF_E_DEVICE. */
bf_status bf_states_check_output(const bf_states *states, const bf_array *array);

/* Makes states that are these when they have absorbed the array: along an axis, or, if offsets are
 * not NULL, the rows of segments. */
bf_status bf_states_follow(const bf_states *states, const bf_array *array, int axis,
                           const bf_array *offsets, bf_states **next);
/* The states become those, which are destroyed. */
void bf_states_replace(bf_states *states, bf_states *next);

/* Places a call where the states are. Errors: as bf_place. */
bf_status bf_states_place(const bf_states *states);

/* The words of states in memory: a batch of at most so many. */
int64_t bf_states_batch(const bf_states *states);

#endif
