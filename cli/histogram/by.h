/* hist --by: a histogram of the values of each key, all with the same bins. */
#ifndef BITFOLD_CLI_HISTOGRAM_BY_H
#define BITFOLD_CLI_HISTOGRAM_BY_H

#include "options/options.h"

/* Runs the command; returns its exit code. */
int hist_by_run(const options *o);

#endif
