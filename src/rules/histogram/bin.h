/* Bins: which bin holds a value. The edges alone decide; the guess only finds the bin faster.
 *
 * The guess of x is g(x) = (x - first) * scale, rounded at each step. Subtracting a constant,
 * multiplying by a positive one and rounding keep the order of numbers. So g never decreases as x
 * grows, and its values at the edges bound its values between them. `above` is how far g is above i
 * at edge i, `below` how far it is below; each is the greatest over all edges and never negative:
 *
 *     x < edges[i]  implies  g(x) <= g(edges[i]) <= i + above
 *     x >= edges[i] implies  g(x) >= g(edges[i]) >= i - below
 *
 * Therefore a guess of i + rest with above < rest < 1 - below means bin i. Only guesses closer to a
 * whole number look at edges. This also covers overflow (an infinite guess is beyond all edges),
 * underflow and -0 (a guess of 0, which looks at an edge). `above`, `below`, 1 - below and the rest
 * of a guess are all exact: the difference of less than 1/2 from a near whole number has no more
 * bits than a guess.
 *
 * The elements of a dtype may all be further from an edge than the next double is. Integers below
 * an edge are at most ceil(edge) - 1, all others at least ceil(edge). `above` is then measured at
 * the former and `below` at the latter. For the guess in f32 these are the floats on either side of
 * an edge that lies between two. The last edge needs no margins if g separates the least element
 * above it from the greatest that is not above. Then a guess of up to `most` means the last bin,
 * even if it is count + rest.
 *
 * Doubles do not tell apart all 64-bit integers. Where edges are such integers, elements compare
 * with steps (rules/histogram/step.h) as integers, and there is no guess. */
#ifndef BF_RULES_HISTOGRAM_BIN_H
#define BF_RULES_HISTOGRAM_BIN_H

#include "rules/key/order.h"

/* Counts that follow those of the bins: elements that are in no bin. */
enum { BF_BIN_BELOW, BF_BIN_ABOVE, BF_BIN_NAN, BF_BIN_OTHERS };

typedef struct bf_guess {
    double first, scale; /* in the f32 guess all are exact as floats; scale is finite */
    double most;         /* the greatest guess of the last bin: at more, a value is above it;
                            from 0 to below count + 1 */
    double above, below; /* in [0, 1/2) */
} bf_guess;

typedef struct bf_bins {
    int64_t count;        /* how many bins there are */
    const double *edges;  /* count + 1 of them, finite, increasing; equal where they are integers
                             that doubles do not tell apart */
    bool even;            /* the guesses are used; else a search */
    bf_guess f64;         /* computed in doubles; where even */
    bf_guess f32;         /* computed in floats; scale 0: elements are not exact as floats, or
                             the guess is not close enough */
    uint64_t serial;      /* identifies these bins in this process; never 0 */
    const int64_t *steps; /* NULL: elements compare with edges, as doubles. Else the ranks, which
                             ascend, of the least element from each edge on, and of the least beyond
                             the last edge */
    int64_t step_count;   /* how many steps there are: up to count + 1. There is no element for the
                             others */
} bf_bins;

/* The element as a double, rounded to nearest. (Floats, and integers up to 2^53, are exact.) */
BF_RULE double bf_bin_value(bf_dtype dtype, uint64_t bits) {
    uint32_t single = dtype == BF_BF16  ? (uint32_t)bits << 16
                      : dtype == BF_F16 ? bf_f16_to_f32((uint16_t)bits)
                                        : (uint32_t)bits;
    float f32;
    double f64;
    if (dtype == BF_F64) {
        memcpy(&f64, &bits, sizeof f64);
        return f64;
    }
    if (bf_dtype_is_float(dtype)) {
        memcpy(&f32, &single, sizeof f32);
        return (double)f32;
    }
    if (dtype == BF_BOOL) return bits != 0 ? 1 : 0;
    if (!bf_dtype_is_signed(dtype)) return (double)bits;
    return (double)bf_sign_extend(bits, 8 * bf_dtype_bytes(dtype));
}

/* Returns whether all elements of dtype are exact as f32. */
BF_RULE bool bf_bin_is_single(bf_dtype dtype) {
    return dtype != BF_F64 && (bf_dtype_is_float(dtype) || bf_dtype_bytes(dtype) <= 2);
}

/* The bin of x, or count + BF_BIN_...: the definition, by bisection. */
BF_RULE int64_t bf_bin_of(const bf_bins *bins, double x) {
    const double *edges = bins->edges;
    int64_t n = bins->count, low = 0, high = n;
    if (x != x) return n + BF_BIN_NAN;
    if (x < edges[0]) return n + BF_BIN_BELOW;
    if (x > edges[n]) return n + BF_BIN_ABOVE;
    while (high - low > 1) { /* edges[low] <= x, and x < edges[high] or high is n */
        int64_t middle = low + (high - low) / 2;
        if (x < edges[middle])
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The bin of a 64-bit integer, by its rank: as many steps are not above it. */
BF_RULE int64_t bf_bin_of_rank(const bf_bins *bins, int64_t rank) {
    int64_t low = 0, high = bins->step_count;
    while (low < high) { /* steps before low are not above the rank; those from high on are */
        int64_t middle = low + (high - low) / 2;
        if (rank < bins->steps[middle])
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0) return bins->count + BF_BIN_BELOW;
    return low > bins->count ? bins->count + BF_BIN_ABOVE : low - 1;
}

/* The bin of x, which is no NaN, searched from bin i. */
BF_RULE int64_t bf_bin_near(const bf_bins *bins, double x, int64_t i) {
    const double *edges = bins->edges;
    int64_t n = bins->count;
    if (x < edges[0]) return n + BF_BIN_BELOW;
    if (x > edges[n]) return n + BF_BIN_ABOVE;
    if (i > n - 1) i = n - 1;
    while (x < edges[i]) i--;
    while (i + 1 < n && x >= edges[i + 1]) i++;
    return i;
}

/* The bin of x, by the guess in doubles; for even bins. */
BF_RULE int64_t bf_bin_guessed(const bf_bins *bins, double x) {
    const bf_guess *g = &bins->f64;
    double t = (x - g->first) * g->scale;
    if (!(t >= 0)) return bins->count + (t < 0 ? BF_BIN_BELOW : BF_BIN_NAN);
    if (t > g->most) return bins->count + BF_BIN_ABOVE;
    int64_t i = (int64_t)t;
    double rest = t - (double)i;
    if (rest <= g->above || rest >= 1 - g->below) return bf_bin_near(bins, x, i);
    return i < bins->count ? i : bins->count - 1;
}

/* The bin of an element with these bits. */
BF_RULE int64_t bf_bin_of_bits(const bf_bins *bins, bf_dtype dtype, uint64_t bits) {
    if (bins->steps) return bf_bin_of_rank(bins, bf_order_rank(dtype, bits));
    double x = bf_bin_value(dtype, bits);
    return bins->even ? bf_bin_guessed(bins, x) : bf_bin_of(bins, x);
}

/* The bin of x, by the guess in floats; if its scale is not 0. */
BF_RULE int64_t bf_bin_guessed_f32(const bf_bins *bins, float x) {
    const bf_guess *g = &bins->f32;
    float t = (x - (float)g->first) * (float)g->scale;
    if (!(t >= 0)) return bins->count + (t < 0 ? BF_BIN_BELOW : BF_BIN_NAN);
    if (t > (float)g->most) return bins->count + BF_BIN_ABOVE;
    int32_t i = (int32_t)t;
    float rest = t - (float)i;
    if (rest <= (float)g->above || rest >= 1 - (float)g->below)
        return bf_bin_near(bins, (double)x, i);
    return i < bins->count ? i : bins->count - 1;
}

#endif
