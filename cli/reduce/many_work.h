/* The work of many.h: how the values of a file, or of a pair of files, are made. */
#ifndef BITFOLD_CLI_REDUCE_MANY_WORK_H
#define BITFOLD_CLI_REDUCE_MANY_WORK_H

#include "reduce/matrix.h"
#include "reduce/places.h"
#include "reduce/results.h"
#include "reduce/task.h"

typedef struct many {
    task task;
    bf_reduction op;
    places places, flat;
    places *by;      /* one of them */
    matrix input[2]; /* of dot both, else one */
    int inputs;
    bool away;         /* rank 0 does the rest alone, and this is another one */
    spool_limit limit; /* of inputs that may be read again */
    bf_reduce_options rules;
    bf_value empty;
    results results;
} many;

/* Whether op has no value of no elements, but that of --empty. */
bool many_has_empty(bf_reduction op);

/* Whether the inputs, which are open and fit the places, can be taken by slabs. */
bool many_has_slabs(const many *x);

/* Makes the results. Returns an exit code that all ranks agree on. */
int many_work(many *x);

#endif
