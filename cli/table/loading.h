/* Two texts in memory: the columns of them that are compared or shown. */
#ifndef BITFOLD_CLI_TABLE_LOADING_H
#define BITFOLD_CLI_TABLE_LOADING_H

#include "table/choice.h"

typedef struct join_tables {
    const options *options;
    spool_limit limit;
    join_choice choice;
    join_names names; /* the condition's */
    rows sides[SIDES];
    rows_chunk all[SIDES]; /* their rows */
} join_tables;

/* Functions that return an exit code have reported the failure. */

/* Opens both texts, and chooses their columns. Close them in either case. */
int join_tables_open(join_tables *t, const options *o, bf_context *context);
void join_tables_close(join_tables *t);

/* Reads all rows of a side. ROWS_RESETTLED: it is to be called again. */
typedef int join_read(void *arg, int side);

/* Has both texts read, again if need be: of two key columns that are compared, both hold strings in
 * the end, or both numbers. */
int join_tables_read(join_tables *t, join_read *read, void *arg);

/* Whether both are JSON lines, so that strings are those of text/typed.h. */
bool join_tables_typed(const join_tables *t);

/* Reads both into memory. */
int join_tables_load(join_tables *t);

/* The column of a side's rows that holds a field; number: if there are two, that of the numbers
 * that the condition is about. */
int join_tables_column(const join_tables *t, int side, int field, bool number);

/* For tables that have rows: a key column, as it is compared; its scale; and what a shown column
 * holds of one side. */
void join_tables_key(const join_tables *t, int side, int key, rows_view *view);
int join_tables_scale(const join_tables *t, int side, int key);
const rows_column *join_tables_shown(const join_tables *t, int side, const shown_column *shown);

#endif
