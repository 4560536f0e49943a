/* --where: the rows of a text that meet a condition on its columns. The reader leaves the others
 * out (input/rows.h), so that a command does not know of it.
 *
 * Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_COLUMNS_CONDITION_H
#define BITFOLD_CLI_COLUMNS_CONDITION_H

#include "input/rows.h"
#include "options/options.h"

/* Has the inputs of these options meet their condition, if they have one. *c is then to be closed,
 * also after a failure. */
typedef struct condition condition;
int condition_open(condition **c, options *o);
void condition_close(condition *c);

#endif
