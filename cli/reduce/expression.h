/* Values of an expression (-e) of several inputs, or of several columns of one. */
#ifndef BITFOLD_CLI_REDUCE_EXPRESSION_H
#define BITFOLD_CLI_REDUCE_EXPRESSION_H

#include "options/options.h"

/* Runs a command of values whose options ask for one. Returns an exit code. */
int expression_run(const options *o, bf_reduction op);

#endif
