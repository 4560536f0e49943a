/* The groups of a table as a sheet, under --memory: turn by turn, each row as a record, and then in
 * the order that is asked for. */
#ifndef BITFOLD_CLI_GROUP_MERGED_H
#define BITFOLD_CLI_GROUP_MERGED_H

#include "group/numbered.h"

#include <stdio.h>

/* Writes keys and results of the present turn and of all that follow, as shown_put does. Returns an
 * exit code, having reported the failure. */
int merged_put(FILE *f, numbered *groups, double began);

#endif
