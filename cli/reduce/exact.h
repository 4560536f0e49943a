/* Reductions of many at once of text, where the library's calls for many have no scale, or too few
 * bits: each fibre, segment or slot has a state (state.h), and its value is exact. */
#ifndef BITFOLD_CLI_REDUCE_EXACT_H
#define BITFOLD_CLI_REDUCE_EXACT_H

#include "reduce/many_work.h"

/* The digits of numbers of text that the work takes (rows_options). */
int exact_digits(bf_reduction op);

/* Whether the results of the inputs, whose dtype is settled, are made so. Sums, extremes and their
 * indices are those of units, until one takes more than 64 bits. */
bool exact_wanted(const many *x);

/* Takes decimals, and integers beyond 64 bits, as f64, as --save and --checkpoint have them.
 * Returns an exit code. */
int exact_leave(many *x);

/* Makes the results, which are of bf_value. Returns an exit code, or ROWS_RESETTLED. */
int exact_work(many *x);

#endif
