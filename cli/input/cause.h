/* Why a column of text has the dtype that it has: the row that ruled others out. */
#ifndef BITFOLD_CLI_INPUT_CAUSE_H
#define BITFOLD_CLI_INPUT_CAUSE_H

#include "input/rows.h"

typedef struct cause {
    int64_t line;    /* where the row begins, from 1; 0: no row is the cause */
    char field[64];  /* in quotes, and not all of it if it is long */
    const char *why; /* it is no decimal; NULL: it is one, or no number */
} cause;

/* A candidate that fractions rule out. */
enum { CAUSE_WHOLE = TEXT_CAN_STRINGS << 1 };

/* Candidates of a column, as bits, all of which some row of the chunk rules out. */
typedef struct cause_wanted {
    int column;
    unsigned candidates;
    cause *found;
} cause_wanted;

/* The newlines before a place in the text, so that they are not counted again. */
typedef struct cause_lines {
    int64_t offset, lines; /* offset -1: not known */
} cause_lines;

/* Finds the causes, which are n, in the chunk that rows_next gave last, whole (`most` 0): reads it
 * once more, or some of it twice, however many columns there are; and again if a number is ruled
 * out by the scale of the others alone. To be called for each chunk, also if n is 0. Counts lines
 * from the start of a file. */
int cause_find(const rows *r, cause_wanted wanted[], int n, cause_lines *known);

#endif
