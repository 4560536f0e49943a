/* An expression of the columns of a table, for commands that take several: --where, and values of
 * groups. Numbers of text are what is written: where 64 bits do not hold what is computed of them,
 * it goes on with 128.
 *
 * Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_EXPRESSION_FORMULA_H
#define BITFOLD_CLI_EXPRESSION_FORMULA_H

#include "input/rows.h"
#include "memory/buffer.h"
#include "options/options.h"
#include "runtime/value.h"

#include <bitfold.h>

typedef struct formula {
    bf_context *context;
    const options *options;
    const char *file, *option, *text; /* file NULL: of several; option: which has the text */
    int count;                        /* columns, which the caller sets */
    const char **names;
    bf_dtype *dtypes;     /* BF_NONE: strings */
    int *scales;          /* a column of i64 or i128 is in units of 10^-scale */
    unsigned char *times; /* times of this kind are integers */
    const bf_array **plain;
    bf_expression *parsed;
    bool strings; /* the caller's to set: it takes results that are strings, too */
    bool wide;    /* with 128 bits */
    bool arrays;  /* the caller's to set: no column is of text, and all is computed as in NumPy */
    bool rounded; /* the caller's to set: results that have a scale or are i128 become f64 */
    bf_overflow_policy overflow; /* the caller's to set, for integers */
    bool patient; /* the caller's to set: it is not refused if it does not fit the columns' dtypes,
                     which may become others: ROWS_RESETTLED */
    buffer results, valid;
} formula;

/* Makes room for columns. Close it in either case. */
int formula_open(formula *x, int columns);
void formula_close(formula *x);

/* Parses the text for the columns. Its dtype may become i128 later. */
int formula_parse(formula *x);

/* What the results of an expression are. */
units_form formula_form(const bf_expression *e);

/* Refuses an expression whose results are no bools. */
int formula_check_condition(const formula *x);

bool formula_uses(const formula *x, int column);

/* Numbers, or strings if the expression has these, which it keeps until it is used again. */
typedef struct formula_results {
    bf_array numbers;
    bf_strings strings;
    const uint8_t *valid; /* where it is 0, a result is NULL; NULL: none is */
} formula_results;

/* The columns of n rows as arrays, which they are if all are numbers and none is NULL; NULL: they
 * are not. */
const bf_array *const *formula_plain(formula *x, const bf_column *const columns[], int64_t n);

/* Computes n results; columns that it does not use may be NULL. *status: why it has none, which is
 * not reported, if the exit code is EXIT_DONE. */
int formula_compute(formula *x, const bf_column *const columns[], int64_t n, formula_results *out,
                    bf_status *status);

/* Shows results as a column. bits: room for those that say which are NULL. False: there is no
 * memory. */
bool formula_show(const formula_results *results, int64_t n, buffer *bits, rows_view *view);

#endif
