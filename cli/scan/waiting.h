/* The rows of a table that wait for their results, whole: those of a window come when the rows do
 * that follow, or when enough of them have come. */
#ifndef BITFOLD_CLI_SCAN_WAITING_H
#define BITFOLD_CLI_SCAN_WAITING_H

#include "memory/buffer.h"
#include "rows/written.h"

typedef struct waiting {
    written *to;
    int64_t limit;        /* bytes that they may take; 0: no limit */
    buffer text, rows;    /* the rows, one behind another, and what they are */
    size_t used;          /* bytes of text */
    int64_t first, count; /* the rows that wait, of those that there are */
    size_t at;            /* where the first of them stands */
} waiting;

/* Functions that return an exit code have reported the failure. */

/* Adds a row. valid: it has a value, and so will have a result. */
int waiting_add(waiting *w, const char *row, size_t bytes, bool valid);

/* Writes the rows up to the last of these results, of integers in units of 10^-scale, and those
 * behind that have none. */
int waiting_release(waiting *w, const bf_array *results, int scale);

void waiting_close(waiting *w);

#endif
