/* Results of many at once: kept until all are there, so that nothing is shown of work that fails,
 * then written as lines, as a .npy file or as JSON. */
#ifndef BITFOLD_CLI_REDUCE_RESULTS_H
#define BITFOLD_CLI_REDUCE_RESULTS_H

#include "memory/spool.h"
#include "sheet/output.h"

/* One result of each fibre, segment or slot, in C order. */
typedef struct results_column {
    bf_dtype dtype;
    spool_limit limit;
    spool values;
} results_column;

/* The columns of describe, of which the first three are counts. */
enum { RESULTS_N, RESULTS_NAN, RESULTS_INF, RESULTS_MIN, RESULTS_COLUMNS = 10 };

typedef struct results {
    const char *file, *other; /* where the data are; other may be NULL */
    bf_dtype dtype;
    int scale;      /* the scale of its integers */
    int units;      /* the scale of results that are integers */
    bool exact;     /* results are kept as bf_value */
    bf_dtype array; /* the dtype of an array of the results of one column */
    int64_t n;      /* elements that were read */
    int ndim;       /* the dimensions of the array of results */
    int64_t shape[BF_MAX_DIMS];
    int64_t count; /* its elements */
    bool skip;     /* describe does not count NaNs */
    int columns;   /* 1, or those of describe, or of a line (reduce/paired.h) */
    results_column column[RESULTS_COLUMNS];
    double seconds;
} results;

/* Begins with columns of these dtypes, for which there are so many bytes of memory (0: no limit);
 * what is beyond goes to temporary files. */
void results_open(results *r, const bf_dtype dtypes[], int columns, int64_t memory);
void results_close(results *r);

/* Appends n results of a column. False: it failed, and errno says why. */
bool results_add(results *r, int column, const void *values, int64_t n);

/* Rank 0 takes the results of the other ranks, in their order. Returns an exit code of this rank
 * alone. */
int results_collect(results *r);

/* Writes all. Returns an exit code, having reported the failure. */
int results_put(const results *r, output *out, const char *device);

#endif
