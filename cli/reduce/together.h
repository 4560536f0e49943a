/* From columns that are read in step to states of pairs, and to matrices with weights. */
#ifndef BITFOLD_CLI_REDUCE_TOGETHER_H
#define BITFOLD_CLI_REDUCE_TOGETHER_H

#include "input/rows.h"
#include "reduce/task.h"
#include "work/units.h"

/* How many states there are of so many columns: of two, one; of more, one of each two columns and
 * of each with itself. together_state is that of columns i and j, where j <= i. */
static inline int together_states(int columns) {
    return columns == 2 ? 1 : columns * (columns + 1) / 2;
}
static inline int together_state(int i, int j) { return i * (i + 1) / 2 + j; }

/* Makes these states of so many columns, of such a form, anew, in place of those before; of one
 * column, the first row has the index `start`. Returns an exit code as together_absorb. */
int together_make_states(const task *t, bf_reduction op, units_form form, int64_t start,
                         bf_state **states, int columns);

/* Absorbs all columns of n inputs, of the first input first, into new states, which begin as NULL
 * and are the caller's even if the call fails. Returns an exit code, having reported the failure.
 */
int together_absorb(task *t, bf_reduction op, rows *const inputs[], int n, bf_state **states);

/* Keeps the columns of n inputs, of which the last one has the weights, and sets the results of
 * each two others, in C order, of the rows in which no column is NULL. info: of these rows. values:
 * room for a result of each two columns. Returns an exit code, having reported the failure. */
int weighted_reduce(task *t, bf_reduction op, rows *const inputs[], int n, bf_value *values,
                    bf_state_info *info);

#endif
