/* A join of more rows than memory holds. Sorters of the library put the rows of both sides in the
 * order of their keys, in which they meet, and then the pairs in the order of the rows. Over ranks,
 * each sorts its own rows, and all of them meet on rank 0. Functions that return an exit code have
 * reported the failure. */
#ifndef BITFOLD_CLI_TABLE_SIDES_H
#define BITFOLD_CLI_TABLE_SIDES_H

#include "input/rows.h"
#include "options/options.h"
#include "table/numbers.h"

typedef struct side {
    bf_context *context; /* it spills */
    const options *options;
    bf_sorter *sorter; /* the keys, with the rows */
    units_form form;   /* the keys' */
    int64_t first;     /* the number of the first row */
} side;

/* Takes the rows of a settled column, in place of those before. ROWS_RESETTLED: their dtype is
 * another. */
int side_load(side *s, rows *r);
void side_close(side *s);

/* Pairs (row of a, row of b) in their order: more than memory holds. */
typedef struct side_pairs {
    bf_context *context; /* it spills */
    bf_sorter *sorter;   /* sorts BF_PAIR */
    const char *file;    /* errors name it */
} side_pairs;

/* Pairs that take so much memory of the context. The caller closes them, also after a failure, and
 * destroys the context. */
int side_pairs_open(side_pairs *p, bf_context *context, int64_t memory, const char *file);
void side_pairs_close(side_pairs *p);
/* Gives the next pairs in order, up to `most`; *n is 0 at the end. */
int side_pairs_next(side_pairs *p, uint64_t pairs[], int64_t most, int64_t *n);

/* Adds the pairs of two sides whose keys are compared in this form, over ranks on rank 0. Every
 * rank calls it; returns an exit code that all agree on. */
int sides_join(const side *a, const side *b, units_form form, side_pairs *pairs);

#endif
