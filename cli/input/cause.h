/* Why a column of text has the dtype that it has: the row that ruled others out. */
#ifndef BITFOLD_CLI_INPUT_CAUSE_H
#define BITFOLD_CLI_INPUT_CAUSE_H

#include "input/rows.h"

typedef struct cause {
    int64_t line;   /* where the row begins, from 1; 0: no row is the cause */
    char field[64]; /* in quotes, and not all of it if it is long */
} cause;

/* Finds the row of the chunk that rows_next gave last, whole (`most` 0), after which the column is
 * none of these candidates, as bits; there is one. Counts lines from the start of a file. */
int cause_find(const rows *r, int column, unsigned candidates, cause *found);

#endif
