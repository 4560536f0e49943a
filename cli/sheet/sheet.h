/* A sheet: rows of named columns, as commands on tables show them. */
#ifndef BITFOLD_CLI_SHEET_SHEET_H
#define BITFOLD_CLI_SHEET_SHEET_H

#include "runtime/options.h"

#include <stdio.h>

/* A column has one of: an array, values one by one (numbers of more than 64 bits), strings. */
typedef struct sheet_column {
    const char *name;
    bf_dtype dtype; /* of the array */
    const void *array;
    const bf_value *values;
    const bf_strings *strings;
    const uint8_t *valid; /* a byte for each row, 0 where it is NULL; NULL: no row is */
} sheet_column;

typedef struct sheet {
    const sheet_column *columns;
    int count;            /* of columns */
    int64_t rows;         /* to show */
    const int64_t *order; /* order[i] is the row that is shown as number i; NULL: i itself is */
    bool total;           /* the last row that is shown is that of all rows */
} sheet;

/* What the sheet is of, for JSON. */
typedef struct sheet_subject {
    const char *command, *file, *device;
    double seconds;
} sheet_subject;

/* Writes the sheet in the form that the options ask for. Returns an exit code, having reported the
 * failure. */
int sheet_put(FILE *f, const sheet *s, const sheet_subject *subject, const options *o);

#endif
