/* sort, argsort, unique and top of more numbers than memory holds: they are sorted by runs
 * (work/sorter.h) and shown as these are merged. Functions that return an exit code have reported
 * the failure. */
#ifndef BITFOLD_CLI_ORDER_SORTED_H
#define BITFOLD_CLI_ORDER_SORTED_H

#include "order/answer.h"
#include "order/columns.h"
#include "work/sorter.h"

typedef struct sorted {
    const question *question;
    output *output;
    columns columns; /* the file's that was read: dtypes and names, but no numbers */
    sorter *sorters; /* one for each column; NULL: none */
    columns total;   /* the columns of all files, if that is asked for */
    sorter *totals;
    int64_t n, all; /* numbers of each column: of this file, and of those before it */
} sorted;

/* Whether this is how a question is answered: memory is limited, and numbers are asked for in their
 * order. */
bool sorted_wanted(const question *q);

/* Reads and sorts an input. */
int sorted_read(sorted *x, rows *r);

/* Shows what was read from a file, for which the work began then; or all of it. */
int sorted_put(sorted *x, const char *file, double began);
int sorted_put_total(sorted *x, double began);

void sorted_close(sorted *x);

#endif
