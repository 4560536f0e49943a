/* Making bins: their edges, and the guesses that find them. */
#ifndef BF_API_BINS_H
#define BF_API_BINS_H

#include "../backend.h"

/* What the edges of even bins over elements of dtype are computed to: that dtype if it is f16 or
 * f32, BF_F32 for bf16, else BF_F64. */
bf_dtype bf_edges_dtype(bf_dtype dtype);

/* x rounded to nearest as a number of BF_F16, BF_F32 or BF_F64. */
double bf_round_to(bf_dtype dtype, double x);

/* Writes bins + 1 even edges from lo to hi, finite, lo <= hi, as NumPy's linspace does in dtype
 * `computed`, rounded to dtype `to`. lo == hi stands for a range of 1 around it. NULL, or why there
 * are no such edges. */
const char *bf_even_edges(double lo, double hi, int64_t bins, bf_dtype computed, bf_dtype to,
                          double *edges);

/* Are they finite, and does each exceed the one before? */
bool bf_edges_increase(const double *edges, int64_t bins);

/* The bins between such edges, of elements of dtype. */
bf_bins bf_bins_make(bf_dtype dtype, const double *edges, int64_t bins);

#endif
