/* The rows of two tables that go together, by the numbers of their keys. */
#ifndef BITFOLD_CLI_TABLE_PAIRS_H
#define BITFOLD_CLI_TABLE_PAIRS_H

#include "table/numbers.h"

/* The rows of B by their number: those of number n are rows[starts[n]] to rows[starts[n + 1]].
 * starts NULL: row n alone. */
typedef struct row_lists {
    int64_t *starts, *rows;
} row_lists;

/* False: there is no memory. */
bool row_lists_make(row_lists *lists, const join_numbers *numbers);
void row_lists_close(row_lists *lists);

/* The rows to show: row of[SIDE_A][i] of A beside row of[SIDE_B][i] of B; -1: none. */
typedef struct join_pairs {
    int64_t *of[SIDES]; /* B's are NULL if rows of A alone are shown */
    int64_t count;
} join_pairs;

/* Finds the rows to show, by the row of A, then of B; rows of B alone come last. Returns an exit
 * code, having reported the failure. Close it in either case. */
int join_pairs_make(join_pairs *pairs, const join_numbers *numbers, enum join_how how);
void join_pairs_close(join_pairs *pairs);

#endif
