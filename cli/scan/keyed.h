/* A line of numbers for each key of a table. */
#ifndef BITFOLD_CLI_SCAN_KEYED_H
#define BITFOLD_CLI_SCAN_KEYED_H

#include "columns/table.h"
#include "scan/line.h"

/* The rows at hand that have its key are a chain. */
typedef struct keyed_line {
    line line;
    int64_t rows, first, last; /* how many there are; places among the numbers at hand */
} keyed_line;

typedef struct keyed {
    running *of;
    const table *table;
    bf_dictionary *keys; /* numbers the lines */
    keyed_line *list;
    int64_t n, room;
    int64_t held;    /* bytes that lines and their keys take */
    buffer numbers;  /* says which line each of the rows at hand has */
    buffer next;     /* has the chains */
    buffer gathered; /* has a line's numbers */
    buffer results;
} keyed;

/* Begins with no lines, of what was settled. Close it in either case. */
bf_status keyed_open(keyed *k, running *of, const table *t);
void keyed_close(keyed *k);

/* Takes numbers, of which number i is that of row at[i] (NULL: i) of those at hand, and gives their
 * results. Returns an exit code, having reported the failure. */
int keyed_take(keyed *k, const bf_array *numbers, const int64_t at[], bf_array *results);

#endif
