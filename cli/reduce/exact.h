/* Reductions of many at once of numbers of text that are decimals, or that 64 bits do not hold, or
 * not their sums: each fibre, segment or slot has a state (state.h), which has the scale, and its
 * value has every digit. */
#ifndef BITFOLD_CLI_REDUCE_EXACT_H
#define BITFOLD_CLI_REDUCE_EXACT_H

#include "reduce/many_work.h"

/* The digits of numbers of text that the work takes (rows_options). */
int exact_digits(bf_reduction op);

/* Whether the inputs, whose dtype is settled, are such numbers. */
bool exact_wanted(const many *x);

/* Takes the inputs as f64, as saved states and checkpoints have them. Returns an exit code. */
int exact_leave(many *x);

/* Makes the results, which are of bf_value. Returns an exit code, or ROWS_RESETTLED. */
int exact_work(many *x);

#endif
