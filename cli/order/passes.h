/* median and quantile of inputs that are read several times instead of held in memory. Functions
 * that return an exit code have reported the failure, and all ranks get the same. */
#ifndef BITFOLD_CLI_ORDER_PASSES_H
#define BITFOLD_CLI_ORDER_PASSES_H

#include "order/answer.h"
#include "order/columns.h"
#include "work/quantiles.h"

typedef struct passes {
    const question *question;
    output *output;
    quantiles_search search;
    work work;
    spool_limit limit;       /* for pipes that are read again */
    quantiles_input *inputs; /* one for each FILE */
    int count;               /* so many were opened */
    columns total;           /* for --total: the columns of all, without numbers */
} passes;

int passes_open(passes *x, const question *q, output *out);

/* Opens the next FILE. *in is valid until passes_close. */
int passes_open_file(passes *x, const char *name, quantiles_input **in);

/* Whether its numbers had better be held in memory. */
bool passes_would_load(const passes *x, const quantiles_input *in);

/* Answers about it. began: when the work did. */
int passes_answer(passes *x, quantiles_input *in, double began);

/* Answers about all FILEs together. */
int passes_answer_total(passes *x, double began);

/* Ends the work, which ended with `code`. */
void passes_close(passes *x, int code);

#endif
