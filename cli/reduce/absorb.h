/* From rows to states. */
#ifndef BITFOLD_CLI_REDUCE_ABSORB_H
#define BITFOLD_CLI_REDUCE_ABSORB_H

#include "input/rows.h"
#include "reduce/task.h"

/* Absorbs the rows of `a` (for BF_DOT: with those of `b`, otherwise NULL) into new states of the
 * task's context, one for each column, whose first row has the index `start`. The states begin as
 * NULL and are the caller's even if the call fails. Sets the task's bytes and threads. Returns an
 * exit code, having reported the failure. */
int absorb_rows(task *t, bf_reduction op, rows *a, rows *b, int64_t start, bf_state **states);

#endif
