/* Sorted runs of records in a temporary file, and their merge: the order of more records than
 * memory holds. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_MEMORY_RUNS_H
#define BITFOLD_CLI_MEMORY_RUNS_H

#include <stdbool.h>
#include <stdint.h>

/* Ordered by first, then by second. */
typedef struct run_record {
    uint64_t first, second;
} run_record;

typedef struct run {
    int64_t begin, end; /* records in the file */
    int64_t next;       /* the first that is not in the buffer yet */
    run_record *buffer, *at, *last;
} run;

typedef struct runs {
    int fd;         /* -1: none yet */
    int64_t memory; /* bytes of all buffers */
    int64_t count;  /* records in all runs */
    int64_t end;    /* in the file, also those of runs that were merged to one */
    run *all;
    int n, room;
    int *heap; /* runs that have records, the one with the least first; NULL: not merging */
    int live;
    run_record *buffers;
    int64_t each; /* records of a buffer */
} runs;

void runs_open(runs *r, int64_t memory);
void runs_close(runs *r);

/* Adds n records, which are sorted, as a run. */
int runs_add(runs *r, const run_record *records, int64_t n);

/* Begins to merge all runs, also once more. */
int runs_merge(runs *r);

/* Gives the next records in order, up to `most`; *n is 0 at the end. */
int runs_next(runs *r, run_record *out, int64_t most, int64_t *n);

/* Sorts records by `first`; those with an equal one keep their order. scratch has room for n. */
void runs_sort(run_record *records, int64_t n, run_record *scratch);

#endif
