/* The columns of two texts that are joined: those that are compared, and those that are shown. */
#ifndef BITFOLD_CLI_TABLE_CHOICE_H
#define BITFOLD_CLI_TABLE_CHOICE_H

#include "input/rows.h"
#include "options/options.h"

enum { SIDE_A, SIDE_B, SIDES };

/* A column that is shown. */
typedef struct shown_column {
    char *name;
    int fields[SIDES]; /* from 0 on; -1: it shows nothing of that side */
    int first;         /* the side that it shows if there are both */
} shown_column;

typedef struct join_choice {
    int keys;
    int key_fields[SIDES][BF_KEY_COLUMNS_MAX];
    shown_column *shown;
    int count;                /* how many columns are shown */
    shown_column *conditions; /* what the names in --where show */
    int condition_count;
    unsigned char condition_kinds[BF_EXPRESSION_NAMES_MAX]; /* bf_expression_name_kind */
} join_choice;

/* The names in --where. */
typedef struct join_names {
    char *text; /* one behind another */
    unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
    int count;
} join_names;

/* Finds them, if there are any. Returns an exit code, having reported the failure. */
int join_names_find(join_names *names, const options *o, bf_context *context);

/* Whether the options name a column, so that the first rows hold names. */
bool join_choice_has_names(const options *o, const join_names *names);

/* Chooses among all columns of two texts that were opened. Returns an exit code, having reported
 * the failure. Close it in either case. */
int join_choice_make(join_choice *choice, const rows sides[SIDES], const options *o,
                     const join_names *names);
void join_choice_close(join_choice *choice);

#endif
