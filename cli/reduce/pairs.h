/* Reductions of pairs: of numbers of two files, or of columns of one, that stand side by side. */
#ifndef BITFOLD_CLI_REDUCE_PAIRS_H
#define BITFOLD_CLI_REDUCE_PAIRS_H

#include "options/options.h"

/* Runs a command whose operands are the FILEs of the options, or the columns of one; op: BF_SLOPE
 * tells of a line. Returns an exit code. */
int pairs_run(const options *o, bf_reduction op);

/* Runs mean, var or std with --weights. Returns an exit code. */
int pairs_run_weighted(const options *o, bf_reduction op);

#endif
