/* Making bins: the guesses that find them. */
#ifndef BF_API_BINS_H
#define BF_API_BINS_H

#include "../backend.h"
#include "../rules/edges.h"

/* The bins between edges that increase, of elements of dtype. */
bf_bins bf_bins_make(bf_dtype dtype, const double *edges, int64_t bins);

#endif
