/* A line of numbers for each key of a table. */
#ifndef BITFOLD_CLI_SCAN_KEYED_H
#define BITFOLD_CLI_SCAN_KEYED_H

#include "columns/table.h"
#include "scan/line.h"

/* The numbers of a part that are its own are a chain. */
typedef struct keyed_line {
    line line;
    int64_t count, first, last; /* how many there are; places among all */
} keyed_line;

typedef struct keyed {
    running *of;
    const table *table;
    bf_dictionary *keys; /* numbers the lines */
    keyed_line *list;
    int64_t n, room;
    int64_t held;       /* bytes that lines and their keys take */
    buffer numbers;     /* says which line each of the rows at hand has */
    buffer next;        /* has the chains */
    buffer own, own_on; /* have a line's numbers and keys of --on */
    buffer results;
} keyed;

/* Begins with no lines, of what was settled. Close it in either case. */
bf_status keyed_open(keyed *k, running *of, const table *t);
void keyed_close(keyed *k);

/* These return an exit code, having reported the failure. */

/* Finds the lines of the rows at hand, which are new where their keys are. */
int keyed_number(keyed *k);

/* Takes numbers of these lines, with their keys of --on, and gives their results. */
int keyed_take(keyed *k, const bf_array *numbers, const void *on, const int64_t lines[],
               bf_array *results);

#endif
