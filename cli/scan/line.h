/* A line of numbers that comes part by part, and what is made of it. Of windows, the elements that
 * those to come have are held: two windows at most, and what came since. */
#ifndef BITFOLD_CLI_SCAN_LINE_H
#define BITFOLD_CLI_SCAN_LINE_H

#include "scan/running.h"

typedef struct line {
    running *of;
    bf_state *state;   /* has what came so far; NULL: windows have the fields below */
    buffer held, keys; /* keys: those of --on */
    int64_t n,
        first;    /* how many elements are held; the number of the first, a multiple of the step */
    int64_t next; /* the number of the next one that has a result */
    int64_t came; /* how many came, with those that were left out between windows */
} line;

/* Begins a line of what was settled. Close it in either case. */
bf_status line_open(line *l, running *of);
void line_close(line *l);

/* Takes the numbers that follow, in memory, and gives the results that are known by then, which
 * lie in of->results. on: their keys, of which none to come is one, nor is less than of->reached;
 * NULL: windows are no spans.
 * last: the line ends. */
bf_status line_take(line *l, const void *numbers, const void *on, int64_t n, bool last,
                    bf_array *results);

#endif
