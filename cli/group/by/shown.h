/* The groups of a table as a sheet. */
#ifndef BITFOLD_CLI_GROUP_BY_SHOWN_H
#define BITFOLD_CLI_GROUP_BY_SHOWN_H

#include "group/by/numbered.h"

#include <stdio.h>

/* Writes keys and results in the order that the options ask for, the total last. Returns an exit
 * code, having reported the failure. */
int shown_put(FILE *f, const numbered *groups, double began);

#endif
