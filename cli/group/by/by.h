/* group --by, count --by and unique --by: a table of text, by the values of some of its columns. */
#ifndef BITFOLD_CLI_GROUP_BY_BY_H
#define BITFOLD_CLI_GROUP_BY_BY_H

#include "runtime/options.h"

/* Runs the command; returns its exit code. */
int by_run(const options *o);

/* Reports options that only --by has, where it is not given. ordered: the command knows an order by
 * count or key, and shows the first lines, without it. */
int by_check_absent(const options *o, bool ordered);

#endif
