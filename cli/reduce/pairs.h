/* Reductions of pairs: of numbers of two files, or of columns of one, that stand side by side. */
#ifndef BITFOLD_CLI_REDUCE_PAIRS_H
#define BITFOLD_CLI_REDUCE_PAIRS_H

#include "options/options.h"

/* Runs mean, var or std with --weights. Returns an exit code. */
int pairs_run_weighted(const options *o, bf_reduction op);

#endif
