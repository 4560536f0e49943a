/* The sums of a block of windows in doubles, the units that they are multiples of, and the loops
 * for them: one table for each instruction set. */
#ifndef BF_CPU_SCAN_ROLLING_BLOCK_H
#define BF_CPU_SCAN_ROLLING_BLOCK_H

#include "cpu/runtime/isa.h"

#include <bitfold/reduce.h>
#include <stdint.h>

enum {
    BF_ROLLING_BLOCK = 128,
    BF_ROLLING_REACH = 192 /* the most elements that enter, or leave, while a block is taken whose
                              windows are a span */
};

/* An element is a multiple of the high unit, and a rest that is a multiple of the low one. The sum
 * of the first, of all elements of a window, is a double; that of the rests is, too, because after
 * so many of them what the high unit divides is carried to the other sum. So it is with its square,
 * in three doubles, and their units. Rests of the lowest unit are rounded. */
typedef struct bf_rolling_units {
    double shift; /* what is taken from each element, exactly, so that spreads lose less */
    double high, low, square, cross, rest; /* 1.5 * 2^52 units each */
} bf_rolling_units;

enum { BF_ROLLING_GAP = 43 }; /* each unit of a sum is so many bits below that above it */

/* The sums of a window, or what an element adds to them. */
typedef struct bf_rolling_sums {
    double high, low, squares, cross, rest;
    int64_t rounded; /* elements whose rests were rounded */
    bool lost;       /* so was some square's */
} bf_rolling_sums;

/* The sums of so many elements of windows, and bounds of the results, which are rounded once where
 * they are equal. */
typedef struct bf_rolling_block {
    double count[BF_ROLLING_BLOCK];
    double high[BF_ROLLING_BLOCK], low[BF_ROLLING_BLOCK];
    double squares[BF_ROLLING_BLOCK], cross[BF_ROLLING_BLOCK], rest[BF_ROLLING_BLOCK];
    double least[BF_ROLLING_BLOCK], most[BF_ROLLING_BLOCK];
} bf_rolling_block;

/* Elements that enter windows, or leave them, in their order: at most BF_ROLLING_REACH. */
typedef struct bf_rolling_queue {
    double numbers[BF_ROLLING_REACH];
    int count;
    int taken[BF_ROLLING_BLOCK]; /* how many of them entered, or left, until each window */
} bf_rolling_queue;

/* What is made of sums. */
typedef struct bf_rolling_making {
    bf_reduction op; /* BF_SUM, BF_MEAN, BF_VAR or BF_STD */
    bool narrow;     /* bounds are rounded once more, to less than doubles */
    double ddof;
    int64_t rounded; /* at most so many elements of a window are */
    double element;  /* the most that a sum loses by one of them; but of spreads, what the count
                        times the squares, less the square of the sum, loses, for each of these
                        and each of all elements */
    double spread;   /* what that loses anyhow, for each square of the count */
} bf_rolling_making;

typedef struct bf_rolling_loops {
    /* Adds to the sums, n times, an element that enters, and takes one away that leaves: none is
     * NaN or infinite. Puts the sums into the block each time. */
    void (*slide)(bool squares, const bf_rolling_units *u, const double *entering,
                  const double *leaving, int n, bf_rolling_sums *sums, bf_rolling_block *b);
    /* As slide does, for windows that elements enter and leave as the queues say. */
    void (*jump)(bool squares, const bf_rolling_units *u, const bf_rolling_queue *entering,
                 const bf_rolling_queue *leaving, int n, bf_rolling_sums *sums,
                 bf_rolling_block *b);
    /* Finds the bounds of n results. */
    void (*bound)(const bf_rolling_making *making, bf_rolling_block *b, int n);
} bf_rolling_loops;

static inline double bf_rolling_multiple(double x, double start) { return (x + start) - start; }

/* x * y is high + low: exactly. Where there are no fused multiply-adds, by halves of their bits
 * (Dekker). */
typedef struct bf_rolling_two {
    double high, low;
} bf_rolling_two;

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
static inline bf_rolling_two bf_rolling_multiply(double x, double y) {
    const double product = x * y;
    return (bf_rolling_two){product, __builtin_fma(x, y, -product)};
}
#else
static inline bf_rolling_two bf_rolling_split(double x) {
    const double scaled = x * 0x8000001p0, high = scaled - (scaled - x);
    return (bf_rolling_two){high, x - high};
}
static inline bf_rolling_two bf_rolling_multiply(double x, double y) {
    const bf_rolling_two a = bf_rolling_split(x), b = bf_rolling_split(y);
    const double product = x * y, most = a.high * b.high - product;
    return (bf_rolling_two){product, ((most + a.high * b.low) + a.low * b.high) + a.low * b.low};
}
#endif

static inline bf_rolling_sums bf_rolling_parts(bool squares, const bf_rolling_units *u,
                                               double element) {
    const double x = element - u->shift, high = bf_rolling_multiple(x, u->high);
    bf_rolling_sums parts = {.high = high, .low = bf_rolling_multiple(x - high, u->low)};
    parts.rounded = parts.low != x - high;
    if (!squares) return parts;
    const bf_rolling_two square = bf_rolling_multiply(x, x);
    parts.squares = bf_rolling_multiple(square.high, u->square);
    const double behind = square.high - parts.squares;
    const double cross = bf_rolling_multiple(behind, u->cross);
    const double of_low = bf_rolling_multiple(square.low, u->cross);
    parts.cross = cross + of_low;
    const double rest = behind - cross, low = square.low - of_low, left = rest + low;
    parts.rest = bf_rolling_multiple(left, u->rest);
    parts.lost = parts.rest != left || left - rest != low;
    return parts;
}

/* Carries what the units above divide. */
static inline void bf_rolling_carry(bool squares, const bf_rolling_units *u, bf_rolling_sums *s) {
    const double low = bf_rolling_multiple(s->low, u->high);
    s->high += low;
    s->low -= low;
    if (!squares) return;
    const double rest = bf_rolling_multiple(s->rest, u->cross);
    s->cross += rest;
    s->rest -= rest;
    const double cross = bf_rolling_multiple(s->cross, u->square);
    s->squares += cross;
    s->cross -= cross;
}

static inline void bf_rolling_put(bool squares, bf_rolling_block *b, int i,
                                  const bf_rolling_sums *s) {
    b->high[i] = s->high;
    b->low[i] = s->low;
    if (!squares) return;
    b->squares[i] = s->squares;
    b->cross[i] = s->cross;
    b->rest[i] = s->rest;
}

#endif
