/* Two texts in memory: the columns of them that are compared or shown. */
#ifndef BITFOLD_CLI_TABLE_LOADING_H
#define BITFOLD_CLI_TABLE_LOADING_H

#include "table/derived.h"

typedef struct join_tables {
    const options *options;
    spool_limit limit;
    bf_context *context;
    join_choice choice;
    expression_names names; /* the condition's */
    rows sides[SIDES];
    derived_key *derived[SIDES]; /* for each key; those of columns are not used */
    bool settled[SIDES];         /* all was read once: no column becomes another */
    rows_chunk all[SIDES];       /* their rows */
} join_tables;

/* Functions that return an exit code have reported the failure. */

/* Opens both texts, and chooses their columns. Close them in either case. */
int join_tables_open(join_tables *t, const options *o, bf_context *context);
void join_tables_close(join_tables *t);

/* Reads all rows of a side. ROWS_RESETTLED: it is to be called again. */
typedef int join_read(void *arg, int side);

/* Has both texts read, again if need be: of two keys that are compared, both are strings in the
 * end, or both numbers that can be equal. */
int join_tables_read(join_tables *t, join_read *read, void *arg);

/* Whether both are JSON lines, so that strings are those of text/typed.h. */
bool join_tables_typed(const join_tables *t);

/* Reads both into memory. */
int join_tables_load(join_tables *t);

/* The column of a side's rows that holds a field; number: if there are two, that of the numbers
 * that the condition is about. */
int join_tables_column(const join_tables *t, int side, int field, bool number);

/* The keys of a side that are expressions: how many there are; parses them before the first rows;
 * and computes them for a chunk (table/derived.h). */
int join_tables_derived(const join_tables *t, int side);
int join_tables_parse(join_tables *t, int side);
int join_tables_compute(join_tables *t, int side, const rows_chunk *chunk, const int64_t *numbers);

/* What a key is; strings: BF_NONE. */
units_form join_tables_form(const join_tables *t, int side, int key);

/* For tables that have rows: a key, as it is compared; and what a shown column holds of one side.
 */
void join_tables_key(const join_tables *t, int side, int key, rows_view *view);
const rows_column *join_tables_shown(const join_tables *t, int side, const shown_column *shown);

#endif
