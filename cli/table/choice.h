/* The columns of two texts that are joined: those that are compared, and those that are shown. */
#ifndef BITFOLD_CLI_TABLE_CHOICE_H
#define BITFOLD_CLI_TABLE_CHOICE_H

#include "expression/names.h"
#include "input/rows.h"
#include "options/options.h"

enum { SIDE_A, SIDE_B, SIDES };

/* A column that is shown. */
typedef struct shown_column {
    char *name;
    int fields[SIDES]; /* from 0 on; -1: it shows nothing of that side */
    int first;         /* the side that it shows if there are both */
} shown_column;

/* A text, and the columns that its names show. */
typedef struct join_expression {
    char *text;
    shown_column *columns;
    int count;
    unsigned char kinds[BF_EXPRESSION_NAMES_MAX]; /* bf_expression_name_kind */
} join_expression;

/* A key of one side. */
typedef struct join_key {
    int field;                  /* from 0 on; -1: it is an expression */
    join_expression expression; /* a column has its text alone */
} join_key;

typedef struct join_choice {
    int keys;
    join_key key[SIDES][BF_KEY_COLUMNS_MAX];
    shown_column *shown;
    int count; /* how many columns are shown */
    join_expression condition;
} join_choice;

/* Whether the options name a column, so that the first rows hold names. */
bool join_choice_has_names(const options *o, const expression_names *names);

/* Chooses among all columns of two texts that were opened; names: those in --where. Returns an exit
 * code, having reported the failure. Close it in either case. */
int join_choice_make(join_choice *choice, const rows sides[SIDES], const options *o,
                     bf_context *context, const expression_names *names);
void join_choice_close(join_choice *choice);

#endif
