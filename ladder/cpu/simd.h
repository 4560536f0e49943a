/* Loops in vectors of sixteen lanes, by GCC's vector extensions, for the widest registers that this
 * machine has. */
#ifndef BITFOLD_LADDER_CPU_SIMD_H
#define BITFOLD_LADDER_CPU_SIMD_H

#include "ladder/julia.h"

#include <stdint.h>

/* A step of folds and dots is LADDER_CHAINS vectors; of the others, one. */
enum {
    LADDER_LANES = 16,
    LADDER_CHAINS = 4,
    LADDER_STEP = LADDER_LANES * LADDER_CHAINS,
    LADDER_SUMS = 8 /* a step of a scan */
};

/* At least one step; what is left are sixteen values, to be joined further. */
typedef void ladder_fold(const uint32_t *x, int64_t steps, uint32_t lanes[LADDER_LANES]);

typedef struct ladder_simd {
    ladder_fold *read, *sum, *product, *most, *least; /* read: only that every element is used */
    void (*scan)(const int32_t *x, int64_t *out, int64_t steps, int64_t *sum); /* sum: so far */
    void (*add)(const float *a, const float *b, float *out, int64_t steps);
    void (*dot)(const float *a, const float *b, int64_t steps, float lanes[LADDER_LANES]);
    void (*table)(const uint32_t *table, uint32_t first, uint32_t *out, int64_t steps);
    void (*escape)(const ladder_picture *picture, const float re[LADDER_LANES], float im,
                   int32_t counts[LADDER_LANES]); /* ladder_escape of sixteen pixels of a row */
} ladder_simd;

const ladder_simd *ladder_simd_widest(void);

#endif
