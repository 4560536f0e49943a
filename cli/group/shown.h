/* The groups of a table as columns of a sheet. */
#ifndef BITFOLD_CLI_GROUP_SHOWN_H
#define BITFOLD_CLI_GROUP_SHOWN_H

#include "group/numbered.h"
#include "sheet/structured.h"

#include <stdio.h>

/* A column, of each group and, in the row behind them, of all rows. */
typedef struct shown_column {
    units_form form; /* the array's; BF_NONE: it has none */
    char *array;
    bf_value *values;
    int64_t *offsets; /* where strings begin, or NULL */
    char *bytes;      /* the strings' bytes, or NULL */
    bf_strings strings;
    uint8_t *valid; /* NULL: no row is NULL */
} shown_column;

typedef struct shown {
    numbered *groups;
    const asked *asked;
    int64_t n;       /* groups */
    char *keys;      /* the keys of the groups, as the library lists them: ascending */
    int64_t *counts; /* how many rows each group has */
    int64_t *by_key; /* the groups by key */
    int64_t *order;  /* the groups as they are shown, the total last */
    int count;       /* how many columns there are: keys, then results */
    shown_column columns[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    const char *names[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES];
    int64_t longest[BF_KEY_COLUMNS_MAX + OPTIONS_AGGREGATES]; /* the bytes of the longest string of
                                                                 each so far */
} shown;

/* Rows of a column: the groups, and one more. */
static inline size_t shown_rows(const shown *s) { return (size_t)s->n + 1; }

/* Functions that return an exit code have reported the failure. */
int shown_failed(const shown *s, bf_status st);

/* Writes keys and results in the order that the options ask for, the total last. */
int shown_put(FILE *f, numbered *groups, double began);

/* Takes the results of the groups, but no keys. NULL: *code says what was reported. */
shown *shown_open(numbered *groups, int *code);
void shown_close(shown *s);

/* Takes the keys of n groups from `first` on: they are the first rows of the keys' columns, and in
 * the row behind them is none. */
int shown_take_keys(shown *s, int64_t first, int64_t n);

/* The fields of a structured array of all columns. longest: the bytes of the longest string of
 * each. */
void shown_fields(const numbered *groups, const int64_t longest[], structured_field fields[]);

/* The value of a row of a column of numbers; of BF_NONE if it is NULL. */
bf_value shown_value(const shown_column *c, int64_t row);

#endif
