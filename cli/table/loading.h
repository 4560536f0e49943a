/* Two texts in memory: the columns of them that are compared or shown. */
#ifndef BITFOLD_CLI_TABLE_LOADING_H
#define BITFOLD_CLI_TABLE_LOADING_H

#include "table/choice.h"

typedef struct join_tables {
    const options *options;
    spool_limit limit;
    join_choice choice;
    rows sides[SIDES];
    rows_chunk all[SIDES]; /* their rows */
} join_tables;

/* Reads both texts; of two key columns that are compared, both hold strings, or both numbers. most:
 * bytes of each; 0: no limit. Returns an exit code, having reported the failure. Close them in
 * either case. */
int join_tables_load(join_tables *t, const options *o, int64_t most);
void join_tables_close(join_tables *t);

/* Of tables that have rows: a key column, as it is compared; and what a shown column holds of one
 * side. */
void join_tables_key(const join_tables *t, int side, int key, rows_view *view);
const rows_column *join_tables_shown(const join_tables *t, int side, const shown_column *shown);

#endif
