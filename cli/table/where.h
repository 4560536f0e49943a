/* The condition of a join: on the rows that it makes, of columns of A and of B. Where there is no
 * row of a side, its columns are NULL; a row for which the condition is NULL is left out. */
#ifndef BITFOLD_CLI_TABLE_WHERE_H
#define BITFOLD_CLI_TABLE_WHERE_H

#include "expression/formula.h"
#include "table/loading.h"

/* A column of the condition, and its values for the rows at hand. */
typedef struct where_column {
    const shown_column *shown;
    bf_dtype dtype; /* BF_NONE: strings */
    int scale;
    bf_time_kind time;  /* they are times */
    int scales[SIDES];  /* the scales of the sides' numbers */
    int columns[SIDES]; /* the columns of the sides' rows */
    buffer numbers, offsets, bytes, valid;
    rows_view view;
} where_column;

typedef struct join_where {
    const join_tables *tables;
    formula formula;
    where_column *columns;
    int count;
} join_where;

/* The columns of a side's rows at hand, and the numbers of those rows; numbers NULL: from 0 on. */
typedef struct where_side {
    const rows_view *(*look)(void *arg, int side, int column);
    void *arg;
    const int64_t *numbers[SIDES];
} where_side;

/* Functions that return an exit code have reported the failure. */

/* Parses the condition of tables that were read, unless there is none. Close it in either case. */
int join_where_open(join_where *w, const join_tables *tables, bf_context *context);
void join_where_close(join_where *w);

/* Keeps the pairs of rows that meet the condition, of n: row of[SIDE_A][i] of A beside row
 * of[SIDE_B][i] of B; -1: none; of[SIDE_B] NULL: none of all. */
int join_where_keep(join_where *w, const where_side *side, int64_t *const of[SIDES], int64_t *n);

#endif
