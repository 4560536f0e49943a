/* The functions of reductions that other commands use. */
#ifndef BITFOLD_CLI_REDUCE_REDUCE_H
#define BITFOLD_CLI_REDUCE_REDUCE_H

#include <bitfold.h>
#include <stdbool.h>

/* Whether a state of op depends on where its elements stand. */
bool reduce_is_ordered(bf_reduction op);

#endif
