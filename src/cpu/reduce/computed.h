/* Terms that are computed as they are summed: a short program of doubles, by the vectors of the
 * sum's loops. Intermediate results stay in the nearest cache, and reading the inputs overlaps with
 * all of it. */
#ifndef BF_CPU_REDUCE_COMPUTED_H
#define BF_CPU_REDUCE_COMPUTED_H

#include <stdint.h>

enum {
    BF_COMPUTED_GROUP = 64, /* terms at a time */
    BF_COMPUTED_COLUMNS = 4,
    BF_COMPUTED_CONSTANTS = 4,
    BF_COMPUTED_REGISTERS = 4,
    BF_COMPUTED_STEPS = 8,
    /* What a step takes or makes, by number: */
    BF_COMPUTED_CONSTANT = BF_COMPUTED_COLUMNS, /* the first constant */
    BF_COMPUTED_REGISTER = BF_COMPUTED_CONSTANT + BF_COMPUTED_CONSTANTS,
    BF_COMPUTED_SLOTS = BF_COMPUTED_REGISTER + BF_COMPUTED_REGISTERS
};

typedef enum bf_computed_op { BF_COMPUTED_ADD, BF_COMPUTED_SUB, BF_COMPUTED_MUL } bf_computed_op;

/* out = op(a, b). The last step makes the terms. */
typedef struct bf_computed_step {
    uint8_t op, a, b, out;
} bf_computed_step;

typedef struct bf_computed {
    int columns, constants, steps;
    const char *column[BF_COMPUTED_COLUMNS]; /* the first term's elements */
    double constant[BF_COMPUTED_CONSTANTS];
    bf_computed_step step[BF_COMPUTED_STEPS];
} bf_computed;

#endif
