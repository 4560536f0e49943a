/* The front of a column of pairs or of moments: sums in doubles of the slots that most rows meet.
 * They take a row in a few vectors, and are added to the records now and then.
 *
 * A slot has a vector of eight doubles for each of three levels. Its lanes are the five sums:
 *
 *     a   b   a*a   a*b   b*b   and of the three products what they round off
 *
 * For moments b is a, and only a and a*a are kept.
 *
 * Lane k takes terms below 2^top[k]. The first level takes multiples of 2^(top[k] - 40), each next
 * one what the level before rounded off, in units that are 2^40 times as small; the last one takes
 * all that is left. Elements are 0 or from 2^(top - 33) to 2^top, so the last bit of a product's
 * error is at 2^-170 of the product's top, and that of its rounding at 2^-118: what is left is a
 * multiple of the last unit. No level gets more than 2^40 of its units with a row, nor more than
 * 2^12 rows, so its sums are exact. */
#ifndef BF_CPU_REDUCE_FRONT_H
#define BF_CPU_REDUCE_FRONT_H

#include "cpu/reduce/accumulators.h"

enum {
    BF_FRONT_LANES = 8,
    BF_FRONT_LEVELS = 3,
    BF_FRONT_STEP = 40,      /* bits of a level */
    BF_FRONT_RANGE = 33,     /* how far the exponents of elements may be from each other */
    BF_FRONT_ROWS = 1 << 12, /* rows of a slot until it is added to its record */
    BF_FRONT_STAGE = 128     /* rows that it takes, or leaves, together */
};

struct bf_front {
    double *sums;        /* by slot, level, lane */
    uint16_t *rows;      /* a slot's, since it was added */
    void *memory;        /* what was allocated for the sums */
    int top[2];          /* a's elements are below 2^top[0], b's below 2^top[1] */
    bool counted;        /* rows are counted here, not in the records */
    int64_t taken, left; /* stages */
    double shift[BF_FRONT_LEVELS - 1][BF_FRONT_LANES]; /* 1.5 * 2^52 units */
};

/* The exponent of a unit. */
static inline int bf_front_unit(const bf_front *front, int level, int lane) {
    static const int a[] = {1, 0, 2, 1, 0, 2, 1, 0}, b[] = {0, 1, 0, 1, 2, 0, 1, 2};
    const int top = a[lane] * front->top[0] + b[lane] * front->top[1] - (lane > 4 ? 53 : 0);
    return top - BF_FRONT_STEP * (level + 1);
}

/* The band of a column that has the sums of a lane; -1: none. */
static inline int bf_front_band(const bf_accumulator_column *column, int lane) {
    static const int pairs[] = {0, 1, 2, 3, 4, 2, 3, 4};
    static const int moments[] = {BF_BAND_SUM, -1, BF_BAND_PRODUCTS, -1, -1, BF_BAND_PRODUCTS,
                                  -1,          -1};
    return bf_part_is_joint(column->parts) ? pairs[lane] : moments[lane];
}

/* Adds a slot's sums to its record. */
void bf_front_add(const bf_accumulators *a, const bf_accumulator_column *column, size_t slot);
void bf_front_free(bf_front *front);

#endif
