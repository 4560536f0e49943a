/* Looks at the first rows of a text: which columns hold times, and what the others cannot be. */
#ifndef BITFOLD_CLI_INPUT_PROBE_H
#define BITFOLD_CLI_INPUT_PROBE_H

#include "input/rows.h"

/* Rules candidates out by the first rows, if these are wanted: then the chunks need not hold them.
 * A row that is refused will be refused again. False: there is no memory. */
bool rows_probe(rows *r);

#endif
