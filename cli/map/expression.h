/* map with an expression (-e) in place of an operation. */
#ifndef BITFOLD_CLI_MAP_EXPRESSION_H
#define BITFOLD_CLI_MAP_EXPRESSION_H

#include "options/options.h"

/* Runs map for options that have an expression and an output. Returns an exit code. */
int map_expression(const options *o);

#endif
