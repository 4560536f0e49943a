/* The numbers of an input in memory of their own: a line of them for each column. */
#ifndef BITFOLD_CLI_ORDER_COLUMNS_H
#define BITFOLD_CLI_ORDER_COLUMNS_H

#include "input/rows.h"
#include "work/units.h"

typedef struct column {
    units_form form;
    char *numbers;
    int64_t n, nulls; /* numbers; rows that were left out, for they have no value */
    char *name;       /* a column of text has one; NULL: of an array */
} column;

typedef struct columns {
    int count;
    int64_t room; /* each has memory for so many numbers */
    column *of;
} columns;

/* How much memory numbers may take; the hint for more. */
typedef struct columns_limit {
    int64_t bytes;  /* 0: no limit */
    int64_t beside; /* bytes that each number costs besides */
} columns_limit;

/* Begins with so many empty columns, whose dtypes are the caller's to set. file: of messages. */
int columns_open(columns *c, int count, const char *file);

/* Takes the dtypes and scales that the columns of an input have by now. ROWS_STRINGS: some is none
 * of numbers. */
int columns_settle(columns *c, const rows *r);

/* Appends numbers to a single column. */
int columns_add(columns *c, const bf_array *numbers, const columns_limit *limit, const char *file);

/* Begins with empty columns: those of an input, by name. */
int columns_begin(columns *c, const rows *r);

/* Reads all rows, and begins anew as long as a number shows that its column has another dtype.
 * Close it in either case. Returns an exit code, having reported the failure; so does append. */
int columns_load(columns *c, rows *r, const columns_limit *limit);
void columns_close(columns *c);

/* Appends the numbers of `from`, which a file of this name has, to c, which may be empty: its
 * columns are those of the file `first`. They have the form that holds both then. */
int columns_append(columns *c, const columns *from, const char *name, const char *first);

bf_array columns_array(const columns *c, int k);

#endif
