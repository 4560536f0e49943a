/* Edges of even bins: NumPy 2's linspace, in its types (docs/numerics.md). The caller has set the
 * usual floating-point environment. */
#ifndef BF_RULES_HISTOGRAM_EDGES_H
#define BF_RULES_HISTOGRAM_EDGES_H

#include "rules/histogram/bin.h"
#include "rules/number/cast.h"

/* The dtype in which edges of even bins over elements of dtype are computed: f16 and f32 for
 * themselves, f32 for bf16, else f64. */
BF_RULE bf_dtype bf_edges_dtype(bf_dtype dtype) {
    if (dtype == BF_BF16) return BF_F32;
    return dtype == BF_F16 || dtype == BF_F32 ? dtype : BF_F64;
}

/* x rounded to nearest as a number of BF_F16, BF_F32 or BF_F64. */
BF_RULE double bf_round_to(bf_dtype dtype, double x) {
    bool misfit = false;
    uint64_t bits;
    if (dtype == BF_F64) return x;
    if (dtype == BF_F32) return (double)(float)x;
    memcpy(&bits, &x, sizeof bits);
    return bf_bin_value(dtype, bf_cast(BF_F64, dtype, bits, false, &misfit));
}

/* Operations on f16 and f32 are done in doubles and rounded again. A double has more than twice as
 * many bits plus two, so the result is the same as rounding once. */
BF_RULE void bf_edges_write(double first, double last, int64_t bins, bf_dtype type, double *edges) {
    double delta = bf_round_to(type, last - first), n = bf_round_to(type, (double)bins);
    double step = bf_round_to(type, delta / n);
    for (int64_t i = 0; i < bins; i++) {
        double at = bf_round_to(type, (double)i);
        if (step == 0) at = bf_round_to(type, at / n); /* the step underflows */
        at = bf_round_to(type, at * (step == 0 ? delta : step));
        edges[i] = bf_round_to(type, at + first);
    }
    edges[bins] = last;
}

/* Tested on the bits: a comparison would raise flags. */
BF_RULE bool bf_is_finite(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7ff) != 0x7ff;
}

/* Returns whether all bins + 1 edges are finite and each exceeds the one before. */
BF_RULE bool bf_edges_increase(const double *edges, int64_t bins) {
    bool increase = bf_is_finite(edges[0]) && bf_is_finite(edges[bins]);
    for (int64_t i = 0; i < bins; i++) increase &= edges[i] < edges[i + 1];
    return increase;
}

/* The width from lo to hi, rounded to the dtype of the edges; where that overflows, as a double. */
BF_RULE double bf_edges_width(bf_dtype type, double lo, double hi) {
    double width = bf_round_to(type, hi - lo);
    return bf_is_finite(width) ? width : hi - lo;
}

/* Writes bins + 1 even edges from lo to hi, as NumPy's linspace does in dtype `computed`, rounded
 * to dtype `to`. Where the width overflows in `computed`, doubles, which hold it, take its place.
 * lo and hi are finite, lo <= hi; lo == hi stands for a range of 1 around it. Returns NULL, or the
 * reason why there are no such edges. */
BF_RULE const char *bf_even_edges(double lo, double hi, int64_t bins, bf_dtype computed,
                                  bf_dtype to, double *edges) {
    if (lo == hi) {
        lo = bf_round_to(computed, lo - 0.5);
        hi = bf_round_to(computed, hi + 0.5);
    }
    if (!bf_is_finite(bf_round_to(computed, hi - lo))) computed = BF_F64;
    if (!bf_is_finite(bf_round_to(to, lo)) || !bf_is_finite(bf_round_to(to, hi)) ||
        !bf_is_finite(hi - lo))
        return "the range is too wide";
    bf_edges_write(lo, hi, bins, computed, edges);
    for (int64_t i = 0; i <= bins; i++) edges[i] = bf_round_to(to, edges[i]);
    return bf_edges_increase(edges, bins) ? NULL
                                          : "too many bins for the range: two edges are equal";
}

/* Sturges' rule: the number of bins for n elements. */
BF_RULE int64_t bf_sturges(int64_t n) { return n <= 1 ? 1 : bf_bit_length((uint64_t)n - 1) + 1; }

#endif
