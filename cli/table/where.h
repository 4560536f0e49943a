/* The condition of a join: on the rows that it makes, of columns of A and of B. A row for which it
 * is NULL is left out. */
#ifndef BITFOLD_CLI_TABLE_WHERE_H
#define BITFOLD_CLI_TABLE_WHERE_H

#include "table/loading.h"

/* Functions that return an exit code have reported the failure. */

/* Parses the condition of tables that were read, unless there is none. Close it in either case. */
int join_where_open(join_computed *w, const join_tables *tables);

/* Keeps the pairs of rows that meet the condition, of n: row of[SIDE_A][i] of A beside row
 * of[SIDE_B][i] of B; -1: none; of[SIDE_B] NULL: none of all. */
int join_where_keep(join_computed *w, const computed_from *from, int64_t *const of[SIDES],
                    int64_t *n);

#endif
