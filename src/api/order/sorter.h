/* The inside of bf_sorter: elements are gathered until memory is full, and sorted; what memory does
 * not hold becomes runs. bf_sort and bf_unique use it where they spill. */
#ifndef BF_API_ORDER_SORTER_H
#define BF_API_ORDER_SORTER_H

#include "api/order/runs.h"

struct bf_sorter {
    bf_order_plan plan;
    bf_dtype dtype; /* the caller's */
    bf_nan_policy nan;
    int64_t memory;     /* bytes that it may take; 0: it has a share of the context's */
    bool ended, failed; /* nothing is added any more; nothing can be done any more */
    int64_t added;      /* elements, in all */
    int64_t count;      /* elements that are given in all, if it is ended */
    bf_order_part held; /* elements that were added last; if there are no runs, what is given */
    int64_t room, most; /* elements for which there is memory, and may be; 0: none yet */
    bool numbered;      /* what is beside the held elements is there already */
    bf_order_runs runs;
    bf_order_part part; /* what is to be given next */
};

/* Begins with no elements. The caller closes the sorter, also after a failure. */
void bf_sorter_open(bf_sorter *s, const bf_order_plan *plan, bf_nan_policy nan, int64_t memory);
void bf_sorter_close(bf_sorter *s);

/* Adds n elements, contiguous, of host memory, and what is beside them (NULL: their positions, or
 * if they are different 1). Errors of all: BF_E_MEMORY, BF_E_IO, BF_E_OVERFLOW, BF_E_CANCELLED,
 * with a message. */
bf_status bf_sorter_take(bf_sorter *s, const void *values, const void *beside, int64_t n);
/* Ends adding, and sets s->count. */
bf_status bf_sorter_finish(bf_sorter *s);
/* Writes the next elements (NULL: none), at most `most`, and sets *n to their number. */
bf_status bf_sorter_give(bf_sorter *s, char *values, char *beside, int64_t most, int64_t *n);

/* --- spilled.c --- */

/* May the present call spill? */
bool bf_order_spills(const bf_context *context);
/* As `sort` of the backend in use, but lines that memory does not hold are spilled where the call
 * may do so. */
bf_status bf_order_sort_lines(bf_context *context, const bf_order_lines *lines, char *sorted,
                              char *index);

#endif
