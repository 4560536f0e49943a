/* sort, argsort, unique and top of more numbers than memory holds: the library sorts them
 * as they come, and gives them in order by parts. Over ranks, each sorts its own rows, and rank 0
 * shows all. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_ORDER_SORTED_H
#define BITFOLD_CLI_ORDER_SORTED_H

#include "options/context.h"
#include "order/answer.h"
#include "order/columns.h"

/* The numbers of a column. */
typedef struct sorted_column {
    bf_sorter *sorter;
    units_form form;
    int64_t count; /* when all are added: those that the sorters of all ranks give */
} sorted_column;

typedef struct sorted {
    const question *question;
    output *output;
    columns columns;   /* the file's that was read: dtypes and names, but no numbers */
    sorted_column *of; /* one for each column; NULL: none */
    columns total;     /* the columns of all files, if that is asked for */
    sorted_column *totals;
    int64_t first;  /* the index of this rank's first row */
    int64_t n, all; /* rows: of this file, and of those before it */
} sorted;

/* Whether this is how a question is answered: memory is limited or there are ranks, and numbers are
 * asked for in their order. */
bool sorted_wanted(const question *q);

/* Opens a context for it. */
int sorted_open(bf_context **context, const options *o);

/* Reads and sorts an input. */
int sorted_read(sorted *x, rows *r);

/* Shows what was read from a file, for which the work began then; or, on rank 0 alone, all of it.
 */
int sorted_put(sorted *x, const char *file, double began);
int sorted_put_total(sorted *x, double began);

void sorted_close(sorted *x);

#endif
