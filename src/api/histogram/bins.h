/* Making bins: the guesses that find them. */
#ifndef BF_API_HISTOGRAM_BINS_H
#define BF_API_HISTOGRAM_BINS_H

#include "rules/histogram/edges.h"
#include "seam/backend.h"

/* Returns the bins between ascending edges, for elements of dtype; with steps (NULL: none), these
 * decide. Both must outlive the bins. */
bf_bins bf_bins_make(bf_dtype dtype, const double *edges, int64_t bins, const int64_t *steps,
                     int64_t step_count);

#endif
