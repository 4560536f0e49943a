/* The work of many.h: how the values of a file, or of a pair of files, are made. */
#ifndef BITFOLD_CLI_REDUCE_MANY_WORK_H
#define BITFOLD_CLI_REDUCE_MANY_WORK_H

#include "input/matrix.h"
#include "reduce/results.h"
#include "reduce/task.h"
#include "work/places.h"

typedef struct many {
    task *task;
    bf_reduction op;
    places places, flat;
    places *by;      /* one of them */
    matrix input[2]; /* pairs have both, else there is one */
    int inputs;
    bool line;         /* all is told that fit tells: op is BF_SLOPE */
    bool overflows;    /* integers of text have results of more than 64 bits */
    bool away;         /* rank 0 does the rest alone, and this is another one */
    spool_limit limit; /* for inputs that may be read again */
    bf_reduce_options rules;
    bf_value empty;
    results results;
} many;

/* Whether op has no value of no elements, but that of --empty. */
bool many_has_empty(bf_reduction op);

/* The rules for op: what is picked out is not rounded. */
bf_reduce_options many_rules(const options *o, bf_reduction op);

/* Begins with results of elements of this dtype, and takes --empty, if it is given, into the rules.
 * Returns an exit code. */
int many_open_results(many *x, bf_dtype dtype);

/* Takes the results of states; values: an array of their shape, without memory and dtype. Returns
 * an exit code. */
int many_take(many *x, bf_states *states, bf_array *values);

/* How a call that failed ends: data that changed meanwhile may be refused for that. Returns an exit
 * code. */
int many_call_failed(many *x, bf_status st);

/* Whether ranks can share the inputs, which are open and fit the places. */
bool many_shares(const many *x);

/* *n: the indices of the first axis in a slab; of one text, 0: those at hand. Returns an exit code.
 */
int many_slab(const many *x, int64_t *n);

/* The next slab of each input, whose places are there and checked; *more: there is one. Shapes that
 * differ are refused by the library. Returns an exit code. */
int many_next(many *x, int64_t n, bf_array of[2], bool *more);

/* Makes the results. Returns an exit code that all ranks agree on. */
int many_work(many *x);

#endif
