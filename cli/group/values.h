/* The values of group without --by: each V is a column of KEYS, or a file that is read in step. */
#ifndef BITFOLD_CLI_GROUP_VALUES_H
#define BITFOLD_CLI_GROUP_VALUES_H

#include "group/table.h"

/* Functions that return an exit code have reported the failure. */

/* Finds which V are files; t->also becomes the list of the others. */
int values_find(table *t);

/* KEYS is open: opens the files, and finds the others among its columns. */
int values_open(table *t);

#endif
