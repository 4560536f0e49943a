/* Windows: how vectors of doubles add exactly (docs/numerics.md derives the bounds).
 *
 * A window has up to BF_LEVELS_MAX levels. Level l is a double S that starts at 1.5 * 2^52 * u_l:
 * its last bit weighs u_l = 2^bottom_l, and adding x to it rounds x to a multiple of u_l. What is
 * left, at most u_l / 2, goes to the next level, whose u is 2^-(BF_WINDOW_BITS+1) as large. As long
 * as S stays in its binade, its bits minus the bits of its start are the exact sum in units of u_l.
 *
 * Bins by exponent and the biased start are those of Demmel, Ahrens and Nguyen, "Efficient
 * reproducible floating point summation and BLAS" (2016), which keep the leading bins only; here
 * nothing may be left over, so the sum is exact. */
#ifndef BF_RULES_REDUCE_SUM_WINDOW_H
#define BF_RULES_REDUCE_SUM_WINDOW_H

#include "rules/reduce/sum.h"

enum {
    BF_WINDOW_BITS = 43,  /* a level takes |x| <= 2^43 u */
    BF_WINDOW_ROWS = 128, /* deposits of |x| <= 2^43 u (or pairs of them) while S stays put */
    BF_SPLITS = 7,
    BF_SPLIT_BITS = 45, /* from the fourth split on */
    BF_SPLIT_ROWS = 32,
    BF_SPLIT_STEP = BF_SPLIT_BITS + 2, /* from one level's u to the next */
    BF_ERROR_BELOW = 53,
    BF_LEVELS_MAX = 6,      /* 263 bits: data spread over 2^+-100 */
    BF_WINDOW_TOP = 970,    /* greatest bottom of a level: 2^970 * 2^53 is finite with room */
    BF_WINDOW_LEAST = -1074 /* least bottom of a level */
};

/* The exponent of u of level l, under a top level at `bottom`. */
BF_RULE int bf_window_bottom(int bottom, int level) {
    return bottom - level * (BF_WINDOW_BITS + 1);
}

/* The bits of the double 1.5 * 2^52 * 2^bottom. They are of no use where that is not normal. */
BF_RULE int64_t bf_window_start(int bottom) {
    return (int64_t)((uint64_t)(bottom + 52 + 1023) << 52 | (uint64_t)1 << 51);
}

/* What a window must hold: |x| < 2^top, multiples of 2^least; top < least: nothing yet. */
typedef struct bf_extent {
    int top, least;
} bf_extent;

/* The bits that `levels` levels span. */
BF_RULE int bf_window_span(int levels) {
    return BF_WINDOW_BITS + (levels - 1) * (BF_WINDOW_BITS + 1);
}

/* In a window for products of doubles these, rounded, go down levels of their own, and their
 * rounding errors, 2^-53 as large at most, down others that begin `below` bits under the first.
 * Both take |x| <= 2^bits u, and lie `step` bits apart. The sums at all of these are totals of
 * `levels` levels of other windows. Such splits are numbered from 1 to BF_SPLITS, in place of
 * levels. */
typedef struct bf_window_split {
    int products, errors, below, bits, step, levels;
} bf_window_split;

BF_RULE bf_window_split bf_window_split_of(int number) {
    const bool far = number > 3;
    bf_window_split s;
    s.products = number == 1 ? 1 : far ? (number + 1) / 2 : 2;
    s.errors = number < 3 ? 1 : number < 5 ? 2 : number - 3;
    s.below = number == 1 ? 0 : far ? BF_ERROR_BELOW : BF_WINDOW_BITS + 1;
    s.bits = far ? BF_SPLIT_BITS : BF_WINDOW_BITS;
    s.step = far ? BF_SPLIT_STEP : BF_WINDOW_BITS + 1;
    s.levels = far ? s.errors + 2 : number;
    return s;
}

/* What a window of so many levels, or with this split, takes at its top, and spans. */
BF_RULE bf_extent bf_window_reach(bool split, int levels) {
    const bf_window_split s = bf_window_split_of(levels);
    bf_extent e;
    e.top = split ? s.bits : BF_WINDOW_BITS;
    e.least = split ? -s.below - s.step * (s.errors - 1) : bf_window_bottom(0, levels - 1);
    return e;
}

/* Moves a window so that its levels are doubles, and lie within the limbs. */
BF_RULE int bf_window_clamp(int bottom, int levels, bf_layout layout) {
    int last = bf_window_bottom(bottom, levels - 1);
    int least = layout.exponent, most = layout.exponent + 32 * (layout.limbs - 3);
    if (least < BF_WINDOW_LEAST) least = BF_WINDOW_LEAST;
    if (most > BF_WINDOW_TOP) most = BF_WINDOW_TOP;
    if (last < least) bottom += least - last;
    return bottom > most ? most : bottom;
}

/* Where the top level of a window with this reach stands that holds e, within a layout; false: it
 * does not. What is to spare goes below, mostly: the more numbers, the closer to zero the least
 * of them. */
BF_RULE bool bf_window_place(bf_extent e, int levels, bf_extent reach, bf_layout layout,
                             int *bottom) {
    int spare = reach.top - reach.least - (e.top - e.least);
    *bottom = bf_window_clamp(e.top - reach.top + (spare < 16 ? spare / 4 : 4), levels, layout);
    return e.top <= *bottom + reach.top && e.least >= *bottom + reach.least;
}

#endif
