/* The inside of an expression. */
#ifndef BF_API_EXPRESSION_EXPRESSION_H
#define BF_API_EXPRESSION_EXPRESSION_H

#include "api/expression/build.h"
#include <bitfold/expression.h>

struct bf_expression {
    bf_context *context;
    bf_expression_program *program;
    bf_expression_strings strings; /* the results that were computed last, if they are strings */
    int count;                     /* columns that it was parsed for */
    int number[];                  /* their numbers in the program; -1: not used */
};

/* The columns and the text that are parsed. */
typedef struct bf_expression_source {
    const char *text;
    const char *const *names;
    const bf_dtype *dtypes;
    int count;
    const int *scales;          /* the columns' scales; NULL: there are no decimals */
    const unsigned char *times; /* the columns' kinds of times; NULL: there are none */
    bool rounded;               /* a result that has a scale becomes f64 */
    bool wide;                  /* integers are computed with 128 bits */
} bf_expression_source;

/* Makes the program, or judges the kinds of its columns: then it has columns and strings alone.
 * numbers: of each column. On failure *position is the place in the text. */
bf_status bf_expression_compile(bf_context *context, const bf_expression_source *source,
                                const bf_expression_maker *make, struct bf_expression_kinds *kinds,
                                bf_expression_program *program, int *numbers, int *position);

#endif
