/* The columns of two texts that are joined: those that are compared, and those that are shown. */
#ifndef BITFOLD_CLI_TABLE_CHOICE_H
#define BITFOLD_CLI_TABLE_CHOICE_H

#include "input/rows.h"
#include "runtime/options.h"

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
    int count; /* of columns shown */
} join_choice;

/* Whether the options name a column, so that the first rows hold names. */
bool join_choice_has_names(const options *o);

/* Chooses among all columns of two texts that were opened. Returns an exit code, having reported
 * the failure. Close it in either case. */
int join_choice_make(join_choice *choice, const rows sides[SIDES], const options *o);
void join_choice_close(join_choice *choice);

#endif
