/* How many bins the data ask for: NumPy's rule "auto", of its quartiles. */
#ifndef BITFOLD_CLI_HISTOGRAM_AUTOMATIC_H
#define BITFOLD_CLI_HISTOGRAM_AUTOMATIC_H

#include "memory/buffer.h"

#include <bitfold.h>

#include <stdbool.h>

/* Leaves the elements from lo to hi, which are finite. */
typedef struct selection {
    double lo, hi;
    buffer doubles, places, left;
} selection;

bf_status selection_take(selection *s, bf_context *context, bf_array *elements);
void selection_close(selection *s);

/* The elements on both sides of each quartile, which are found in passes over all elements. */
typedef struct automatic {
    bf_quantiles *below, *above;
} automatic;

/* Close it in either case. */
bf_status automatic_open(automatic *a, bf_context *context, bf_dtype dtype);
void automatic_close(automatic *a);

/* Takes elements in a pass; ends it. */
bf_status automatic_absorb(automatic *a, const bf_array *elements);
bf_status automatic_next(automatic *a, int *done);

/* The number of bins from lo to hi. least, most: of the elements, which are integers or not. */
typedef struct automatic_range {
    double lo, hi, least, most;
    bool integers;
} automatic_range;
bf_status automatic_bins(const automatic *a, const automatic_range *r, int64_t *bins);

#endif
