/* The first K numbers of any input, in memory for a few times K. Over ranks, each finds those of
 * its own rows, and rank 0 those of all. Functions that return an exit code have reported the
 * failure. */
#ifndef BITFOLD_CLI_ORDER_TOP_H
#define BITFOLD_CLI_ORDER_TOP_H

#include "order/answer.h"
#include "order/columns.h"
#include "work/work.h"

/* The first K numbers of a column, and those behind them that were added since they were found. */
typedef struct top_column {
    units_form form;
    char *values;
    int64_t *index;  /* the indices of the first ones */
    int64_t *behind; /* the indices of those behind them; NULL: they are the last rows that were
                        added */
    int64_t first, held, room;
    int64_t added; /* rows in all */
    int64_t nulls; /* how many of them were left out, for they have no value */
} top_column;

typedef struct top {
    const question *question;
    output *output;
    columns columns; /* the file's that was read: dtypes and names, but no numbers */
    top_column *of;  /* one for each column; NULL: none */
    columns total;   /* the columns of all files, if that is asked for */
    top_column *totals;
    work work;
} top;

/* Whether this is how a question is answered. If memory is limited, K must be small. */
bool top_wanted(const question *q);

int top_open(top *x, const question *q, output *out);

/* Reads an input. */
int top_read(top *x, rows *r);

/* Shows what was found in a file, for which the work began then; or in all. */
int top_put(top *x, const char *file, double began);
int top_put_total(top *x, double began);

/* Closes it after work that ended with this code, even if it was not opened. */
void top_close(top *x, int code);

#endif
