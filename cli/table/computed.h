/* An expression of the columns of a join: the condition on the rows that it makes, or a key of one
 * side. Where there is no row of a side, its columns are NULL. */
#ifndef BITFOLD_CLI_TABLE_COMPUTED_H
#define BITFOLD_CLI_TABLE_COMPUTED_H

#include "expression/formula.h"
#include "runtime/value.h"
#include "table/choice.h"

struct join_tables; /* table/loading.h */

/* A column of the expression, and its values for the rows at hand. */
typedef struct computed_column {
    const shown_column *shown;
    units_form form;    /* BF_NONE: strings */
    int scales[SIDES];  /* the scales of the sides' numbers */
    int columns[SIDES]; /* the columns of the sides' rows */
    column_memory memory;
    rows_view view;
} computed_column;

/* All is 0 before it is opened, but for what is the caller's to set of the formula. */
typedef struct join_computed {
    const struct join_tables *tables;
    formula formula;
    computed_column *columns;
    int count;
} join_computed;

/* The columns of a side's rows at hand, and the numbers of those rows; numbers NULL: from 0 on. */
typedef struct computed_from {
    const rows_view *(*look)(void *arg, int side, int column);
    void *arg;
    const int64_t *numbers[SIDES];
} computed_from;

/* Functions that return an exit code have reported the failure. */

/* Parses an option's expression for what the columns of the tables are now. Close it in either
 * case. */
int join_computed_open(join_computed *x, const struct join_tables *tables, const char *option,
                       const join_expression *e);
void join_computed_close(join_computed *x);

/* Computes it for n pairs: row of[SIDE_A][i] of A beside row of[SIDE_B][i] of B; -1: none; NULL:
 * none of all. The results are valid until the next ones. */
int join_computed_results(join_computed *x, const computed_from *from, int64_t *const of[SIDES],
                          int64_t n, formula_results *out);

#endif
