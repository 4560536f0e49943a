/* From rows to states. */
#ifndef BITFOLD_CLI_REDUCE_ABSORB_H
#define BITFOLD_CLI_REDUCE_ABSORB_H

#include "input/rows.h"
#include "reduce/task.h"

/* Absorbs the rows of inputs into new states of the task's context: of one input, whose first row
 * has the index `start`, one for each column; of pairs as together_absorb does. The states begin as
 * NULL and are the caller's even if the call fails. Sets the task's bytes and threads. Returns an
 * exit code, having reported the failure. */
int absorb_rows(task *t, bf_reduction op, rows *const inputs[], int n, int64_t start,
                bf_state **states);

#endif
