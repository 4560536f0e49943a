/* A line of numbers for each key of a table. */
#ifndef BITFOLD_CLI_SCAN_KEYED_H
#define BITFOLD_CLI_SCAN_KEYED_H

#include "columns/table.h"
#include "scan/line.h"

/* Its rows that wait for their results are a chain, of which those of the part at hand are the end.
 */
typedef struct keyed_line {
    line line;
    int64_t waits, first, last; /* how many wait; the numbers of the first and the last */
    int64_t count, fresh;       /* how many of them the part has; the number of the first */
} keyed_line;

typedef struct keyed {
    running *of;
    const table *table;
    bf_dictionary *keys; /* numbers the lines */
    keyed_line *list;
    int64_t n, room;
    int64_t held;       /* bytes that lines and their keys take */
    buffer numbers;     /* says which line each of the rows at hand has */
    buffer own, own_on; /* have a line's numbers and keys of --on */
    /* Results are shown in the order of the rows, which wait for that of the first of them. */
    int64_t shown, rows, known; /* counts rows that were shown, that wait, and the first of these
                                   that have results */
    buffer owners, next;        /* say which line a row that waits has, and what follows it there */
    buffer results;
} keyed;

/* Begins with no lines, of what was settled. Close it in either case. */
bf_status keyed_open(keyed *k, running *of, const table *t);
void keyed_close(keyed *k);

/* These return an exit code, having reported the failure. */

/* Finds the lines of the rows at hand, which are new where their keys are. */
int keyed_number(keyed *k);

/* Takes numbers of these lines, with their keys of --on, and gives the results of the rows that
 * follow those shown before. last: all lines end. */
int keyed_take(keyed *k, const bf_array *numbers, const void *on, const int64_t lines[], bool last,
               bf_array *results);

#endif
