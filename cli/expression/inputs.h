/* The inputs of an expression (-e), and its results: of several inputs, which are a, b, c in turn,
 * or of the columns of one text.
 *
 *     expressed_open
 *     for each walk:  expressed_parse     for what the columns are now
 *                     expressed_next, expressed_compute; expressed_next, expressed_compute; ...
 *                     if a column turns out to have another dtype: expressed_again
 *     expressed_close
 *
 * Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_EXPRESSION_INPUTS_H
#define BITFOLD_CLI_EXPRESSION_INPUTS_H

#include "expression/formula.h"
#include "input/rows.h"
#include "options/options.h"

#include <bitfold.h>

enum {
    EXPRESSED_INPUTS = 26, /* a to z */
    EXPRESSED_COLUMNS = BF_EXPRESSION_NAMES_MAX
};

/* A column of the expression: of which input, and of which of its columns. */
typedef struct expressed_operand {
    char *name;
    int input, column;
} expressed_operand;

typedef struct expressed {
    const options *options;
    formula formula; /* the caller's to set: overflow */
    bool follows;    /* another one has the inputs, and reads them */
    char **files;
    int file_count;
    rows inputs[EXPRESSED_INPUTS], *input[EXPRESSED_INPUTS]; /* where each of them is */
    expressed_operand operands[EXPRESSED_COLUMNS];
    int operand_count;
    units_form form; /* the results' */
    bool settled;    /* all was read once: no dtype becomes another */
    spool_limit limit;
    char *numbers, *strings, *keys; /* columns of a text, as the options have them */
    rows_chunk chunks[EXPRESSED_INPUTS];
    int64_t n, at; /* rows of the chunks, and before them */
} expressed;

/* Checks how many files there are. */
int expressed_check(int count);

/* Opens the files of the options, or these of them. how: but for `keep` and what depends on the
 * options. Numbers of text are decimals; `decimals` says whether results may be. NULLs of columns
 * are the expression's to judge. */
int expressed_open(expressed *x, const options *o, char **files, int count, bf_context *context,
                   const rows_options *how);
void expressed_close(expressed *x);

/* Opens n expressions of the same inputs, which the first reads: with expressed_follow, another
 * takes the rows that the first has taken. All are closed, also after a failure. */
int expressed_open_list(expressed *all, const char *const texts[], int n, const options *o,
                        char **files, int count, bf_context *context, const rows_options *how);
void expressed_follow(expressed *x, const expressed *first);

/* Once rows are shared out: makes ready to read. */
int expressed_prepare(expressed *x);

/* Reads all once if a text may still turn out to have another dtype, so that it cannot any more.
 * Every rank calls it. */
int expressed_settle(expressed *x);

/* Parses the expression, unless it was parsed for these dtypes and scales; and again, where 64 bits
 * do not hold what is made of text, to go on with 128. ROWS_RESETTLED: as of expressed_next. */
int expressed_parse(expressed *x);
int expressed_widen(expressed *x);
bool expressed_kinds_stay(const expressed *x);

/* Begins again at the first row. */
void expressed_again(expressed *x);

/* The rows that are best taken at once, at most `most`, as expressed_next takes them. */
int64_t expressed_step(const expressed *x, int64_t most);

/* Takes the next rows of all inputs, `most` of them or fewer (0: as many as are at hand); x->n says
 * how many, 0 at the end. ROWS_RESETTLED: what was made so far does not count. */
int expressed_next(expressed *x, int64_t most);

/* Computes the results of the rows that were taken. If NULLs are an error by the options, there are
 * none. Where 64 bits do not hold some, the results, and x->dtype, may be i128 from now on, or f64
 * if they are rounded: those of the rows before are what they were. */
int expressed_compute(expressed *x, formula_results *results);

/* Moves those that are not NULL to the front, and returns them. */
bf_array expressed_present(formula_results results);

/* Absorbs them into a state, each at its index, which becomes one of i128 if they are. Of a
 * product, those behind a NULL follow those before it. ROWS_RESETTLED: the results have another
 * dtype. */
int expressed_absorb(expressed *x, bf_state **state, bf_reduction op);

/* Bytes of all inputs; -1: not known. */
int64_t expressed_bytes(const expressed *x);

#endif
