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

/* An element is a multiple of the high unit, and a rest that is a multiple of the low one. All sums
 * of either, of the elements of a window, are doubles.
 *
 * For its square, it is a multiple of another unit and a rest. The squares of the one, twice their
 * product, and the square of the other with what is left of the product, are summed in three
 * doubles: the first two exactly; and so is the third, if the element is whole. Else it has an
 * error that is known. */
typedef struct bf_rolling_units {
    double shift; /* what is taken from each element, exactly, so that spreads lose less */
    double high, low, square, cross, rest, whole; /* 1.5 * 2^52 units each */
} bf_rolling_units;

/* The sums of a window, or what an element adds to them. */
typedef struct bf_rolling_sums {
    double high, low, squares, cross, rest;
    bool left; /* they are not exact */
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
    double error; /* what rests lose: a sum has an error of at most this for each element, and the
                     count times the squares, less the square of the sum, for each square of it */
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

static inline bf_rolling_sums bf_rolling_parts(bool squares, const bf_rolling_units *u,
                                               double element) {
    const double x = element - u->shift, high = bf_rolling_multiple(x, u->high);
    bf_rolling_sums parts = {.high = high, .low = bf_rolling_multiple(x - high, u->low)};
    parts.left = parts.low != x - high;
    if (!squares) return parts;
    const double most = bf_rolling_multiple(x, u->square), rest = x - most,
                 product = 2 * most * rest;
    parts.squares = most * most;
    parts.cross = bf_rolling_multiple(product, u->cross);
    parts.left = bf_rolling_multiple(x, u->whole) != x;
    parts.rest = bf_rolling_multiple((product - parts.cross) + rest * rest, u->rest);
    return parts;
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
