/* The values of a table's rows, each of which is a column, an expression or, without --by, a file
 * that is read in step; and the keys that are expressions. */
#ifndef BITFOLD_CLI_COLUMNS_VALUES_H
#define BITFOLD_CLI_COLUMNS_VALUES_H

#include "columns/table.h"

/* Functions that return an exit code have reported the failure; ROWS_RESETTLED: as of table_next.
 */

/* Without --by: finds which V are files; t->also becomes the list of the others. */
int values_find(table *t);

/* Whether the name of values is that of a file or, behind a colon if need be, of a column of the
 * first FILE; refuses one that is both. values_column is the column's own name. */
int values_is_file(const options *o, const char *name, bool *file);
const char *values_column(const char *name);

/* KEYS is open: opens the files, and finds the others among its columns. */
int values_open(table *t);

/* Parses all expressions for the columns' present dtypes. */
int values_begin(table *t);

/* Computes key i, an expression, of the rows at hand. */
int values_compute_key(table *t, int i);

/* Computes value i, an expression, of the rows at hand. */
int values_compute(table *t, int i);

#endif
