/* The rows of two tables that go together, by the numbers of their keys. */
#ifndef BITFOLD_CLI_TABLE_PAIRS_H
#define BITFOLD_CLI_TABLE_PAIRS_H

#include "table/numbers.h"

/* The rows to show: row of[SIDE_A][i] of A beside row of[SIDE_B][i] of B; -1: none. */
typedef struct join_pairs {
    int64_t *of[SIDES]; /* B's are NULL if rows of A alone are shown */
    int64_t count;
} join_pairs;

/* Finds the rows to show, by the row of A, then of B; rows of B alone come last. most: bytes that
 * they may take; 0: no limit. Returns an exit code, having reported the failure. Close it in either
 * case. */
int join_pairs_make(join_pairs *pairs, const join_numbers *numbers, enum join_how how,
                    int64_t most);
void join_pairs_close(join_pairs *pairs);

#endif
