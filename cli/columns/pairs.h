/* The values of pairs: both have one dtype and unit, and where one of them is NULL, both are. */
#ifndef BITFOLD_CLI_COLUMNS_PAIRS_H
#define BITFOLD_CLI_COLUMNS_PAIRS_H

#include "columns/table.h"

/* Functions that return an exit code have reported the failure. */

/* Finds the form of both values of the pair that begins with value i, whose own forms are known:
 * that of all integers that both have, or f64 beside floats. */
int pairs_settle(table *t, int i);

/* Brings the values of the rows at hand to it. */
int pairs_bring(table *t, int i);

#endif
