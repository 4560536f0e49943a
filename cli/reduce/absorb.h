/* From inputs to states. */
#ifndef BITFOLD_CLI_REDUCE_ABSORB_H
#define BITFOLD_CLI_REDUCE_ABSORB_H

#include "reduce/task.h"

/* One input, or two in step. */
typedef struct pair {
    source *a, *b; /* b: NULL for a reduction of one input */
} pair;

/* Absorb prepared inputs into new states of the task's context, which begin as NULL and are the
 * caller's even if the call fails. Set the task's bytes and threads. Return exit codes, having
 * reported the failure. */

/* Arrays, into one state, as a feed of the library. */
int absorb_arrays(task *t, bf_reduction op, const pair *in, int64_t start, bf_state **state);

/* Text, into a state for each of its columns. */
int absorb_text(task *t, bf_reduction op, const source *s, int64_t start, bf_state **states);

#endif
