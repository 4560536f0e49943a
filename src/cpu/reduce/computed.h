/* Terms that are computed as they are summed or stored: a short program of doubles and floats, by
 * the vectors of the sum's loops, a block at a time. The block is in registers from step to step,
 * and enters the sums, or the output, from there. */
#ifndef BF_CPU_REDUCE_COMPUTED_H
#define BF_CPU_REDUCE_COMPUTED_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BF_COMPUTED_GROUP = 64, /* there are whole groups of terms, and whole blocks in a group */
    BF_COMPUTED_COLUMNS = 4,
    BF_COMPUTED_CONSTANTS = 4,
    BF_COMPUTED_REGISTERS = 8,
    BF_COMPUTED_STEPS = 32,
    /* These numbers say what a step reads or stores. */
    BF_COMPUTED_CONSTANT = BF_COMPUTED_COLUMNS, /* the first constant */
    BF_COMPUTED_REGISTER = BF_COMPUTED_CONSTANT + BF_COMPUTED_CONSTANTS,
    BF_COMPUTED_SLOTS = BF_COMPUTED_REGISTER + BF_COMPUTED_REGISTERS,
    BF_COMPUTED_NOWHERE = BF_COMPUTED_SLOTS
};

/* x: the block, which the result takes the place of; y, z: what the step reads. */
typedef enum bf_computed_op {
    BF_COMPUTED_LOAD, /* y */
    BF_COMPUTED_ADD,
    BF_COMPUTED_SUB,      /* x - y */
    BF_COMPUTED_SUB_FROM, /* y - x */
    BF_COMPUTED_MUL,
    BF_COMPUTED_SQUARE,
    BF_COMPUTED_DIV,      /* x / y */
    BF_COMPUTED_DIV_INTO, /* y / x */
    BF_COMPUTED_MIN,
    BF_COMPUTED_MAX,
    BF_COMPUTED_FMA, /* x * y + z */
    BF_COMPUTED_SQRT,
    BF_COMPUTED_NEG,
    BF_COMPUTED_ABS,
    BF_COMPUTED_WIDEN, /* makes doubles of floats */
    BF_COMPUTED_OPS
} bf_computed_op;

/* The last step makes the terms. */
typedef struct bf_computed_step {
    uint8_t op;
    bool wide;     /* it works on doubles, not on floats */
    uint8_t in[2]; /* y and z */
    uint8_t out;   /* where the result is also stored, for steps to come */
} bf_computed_step;

typedef struct bf_computed {
    int columns, constants, steps;
    bool wide;                               /* the terms are doubles, not floats */
    const char *column[BF_COMPUTED_COLUMNS]; /* where the first term's elements are */
    uint8_t bytes[BF_COMPUTED_COLUMNS];      /* the size of each element */
    struct {
        uint64_t bits;
        bool wide;
    } constant[BF_COMPUTED_CONSTANTS];
    bf_computed_step step[BF_COMPUTED_STEPS];
} bf_computed;

#endif
