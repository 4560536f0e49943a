/* join --on: the rows of two texts that have the same keys. */
#ifndef BITFOLD_CLI_TABLE_KEYED_H
#define BITFOLD_CLI_TABLE_KEYED_H

#include "options/options.h"

/* Joins the two files of the options. Returns an exit code, having reported the failure. */
int keyed_join(const options *o);

#endif
