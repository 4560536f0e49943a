/* What the commands of order say of an expression (-e), whose results are held in memory. */
#ifndef BITFOLD_CLI_ORDER_EXPRESSION_H
#define BITFOLD_CLI_ORDER_EXPRESSION_H

#include "order/answer.h"
#include "order/columns.h"

/* Whether the options go with an expression. Returns an exit code, having reported the failure; so
 * does expression_answer. */
int expression_check(const options *o);

/* Answers about the results, which take no more memory than this. */
int expression_answer(const question *q, output *out, const columns_limit *limit);

#endif
