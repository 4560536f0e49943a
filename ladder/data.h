/* The data of the rungs, and the right answers. Element i depends on i alone; lookups depend also
 * on their number. */
#ifndef BITFOLD_LADDER_DATA_H
#define BITFOLD_LADDER_DATA_H

#include "ladder/ladder.h"

enum ladder_data {
    LADDER_INTS,    /* i32, odd, so that their product does not become 0 modulo 2^32 */
    LADDER_FACTORS, /* f32 in [0, 1) */
    LADDER_OTHERS,  /* such numbers, but others */
    LADDER_KEYS,    /* u32: ladder_key */
    LADDER_ROWS,    /* u32: 0, 1, 2, ... */
    LADDER_LOOKUPS, /* u32: the keys of random rows */
    LADDER_UNIFORM, /* u8, each value as often */
    LADDER_SAME,    /* u8, one value */
    LADDER_SKEWED   /* u8, small values far more often */
};

/* Key number i. All keys are different, up to 2^32 of them. */
uint32_t ladder_key(int64_t i);

/* The row, of n, that lookup number i asks for. */
uint32_t ladder_row_of(int64_t i, int64_t n);

/* Writes n elements to the machine's memory. */
const char *ladder_fill(const ladder_machine *machine, enum ladder_data data, void *to, int64_t n);

/* The right answer of a ladder with one result. */
typedef struct ladder_answer {
    enum ladder_data data; /* the counted bytes, to count them down again */
    int64_t integer;       /* products: modulo 2^64 */
    double exact;          /* dot: the exact value, rounded to f64 */
    float rounded;         /* the exact value, rounded once to f32 */
} ladder_answer;

const char *ladder_solve(enum ladder_work work, bf_reduction op, int64_t n, ladder_answer *answer);

/* Judges the result of a rung: sets row->good, ulp and lost. `result` is the single result. */
const char *ladder_check(const ladder_machine *machine, enum ladder_work work,
                         const ladder_rung *rung, const ladder_task *task,
                         const ladder_answer *answer, const void *result, ladder_row *row);

#endif
