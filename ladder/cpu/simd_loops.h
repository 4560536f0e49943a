/* The loops in vectors for one instruction set: a template.
 *
 * Parameters: NAME(f)  the name of f for this instruction set
 *             TARGET   the function attribute that allows it */

#define FOLD NAME(read)
#define JOIN(a, b) ((a) | (b))
#include "ladder/cpu/fold.h"
#define FOLD NAME(sum)
#define JOIN(a, b) ((a) + (b))
#include "ladder/cpu/fold.h"
#define FOLD NAME(product)
#define JOIN(a, b) ((a) * (b))
#include "ladder/cpu/fold.h"
#define FOLD NAME(most)
#define JOIN(a, b) SELECT((ladder_ints)(a) > (ladder_ints)(b), a, b)
#include "ladder/cpu/fold.h"
#define FOLD NAME(least)
#define JOIN(a, b) SELECT((ladder_ints)(a) < (ladder_ints)(b), a, b)
#include "ladder/cpu/fold.h"

/* Each of three steps adds to every lane that which is 1, 2 or 4 before it. */
TARGET static void NAME(scan)(const int32_t *x, int64_t *out, int64_t steps, int64_t *sum) {
    const ladder_eight *v = (const ladder_eight *)x;
    ladder_longs *sums = (ladder_longs *)out;
    const ladder_longs none = {0};
    ladder_longs before = none + *sum;
    for (int64_t i = 0; i < steps; i++) {
        ladder_longs s = __builtin_convertvector(v[i], ladder_longs);
        s += __builtin_shufflevector(s, none, 8, 0, 1, 2, 3, 4, 5, 6);
        s += __builtin_shufflevector(s, none, 8, 8, 0, 1, 2, 3, 4, 5);
        s += __builtin_shufflevector(s, none, 8, 8, 8, 8, 0, 1, 2, 3);
        sums[i] = s += before;
        before = __builtin_shufflevector(s, s, 7, 7, 7, 7, 7, 7, 7, 7);
    }
    *sum = before[0];
}

TARGET static void NAME(add)(const float *a, const float *b, float *out, int64_t steps) {
    const ladder_floats *u = (const ladder_floats *)a, *v = (const ladder_floats *)b;
    ladder_floats *sum = (ladder_floats *)out;
    for (int64_t i = 0; i < steps; i++) {
        __builtin_prefetch((const char *)(u + i) + LADDER_AHEAD);
        __builtin_prefetch((const char *)(v + i) + LADDER_AHEAD);
        sum[i] = u[i] + v[i];
    }
}

TARGET static void NAME(dot)(const float *a, const float *b, int64_t steps,
                             float lanes[LADDER_LANES]) {
    const ladder_floats *u = (const ladder_floats *)a, *v = (const ladder_floats *)b;
    ladder_floats part[LADDER_CHAINS] = {{0}};
    for (int64_t i = 0; i < steps; i++, u += LADDER_CHAINS, v += LADDER_CHAINS)
        for (int k = 0; k < LADDER_CHAINS; k++) {
            __builtin_prefetch((const char *)(u + k) + LADDER_AHEAD);
            __builtin_prefetch((const char *)(v + k) + LADDER_AHEAD);
            part[k] += u[k] * v[k];
        }
    part[0] = (part[0] + part[1]) + (part[2] + part[3]);
    memcpy(lanes, &part[0], sizeof part[0]);
}

TARGET static void NAME(table)(const uint32_t table[LADDER_TABLE_SIZE], uint32_t first,
                               uint32_t *out, int64_t steps) {
    ladder_words index, *sums = (ladder_words *)out;
    for (int lane = 0; lane < LADDER_LANES; lane++) index[lane] = first + (uint32_t)lane;
    for (int64_t i = 0; i < steps; i++, index += LADDER_LANES) {
        ladder_words sum = {0};
        for (int k = 0; k < LADDER_TABLE_SIZE; k++) sum += (table[k] ^ index) * table[k];
        sums[i] = sum;
    }
}

/* Sixteen orbits at a time, until the last of them has escaped. */
TARGET static void NAME(escape)(const ladder_picture *p, const float at[LADDER_LANES], float y,
                                int32_t counts[LADDER_LANES]) {
    ladder_floats re = *(const ladder_floats *)at, im = y - (ladder_floats){0};
    ladder_ints inside = (ladder_ints){0} - 1, count = {0};
    for (int i = 0; i < p->steps; i++) {
        const ladder_floats next = (re * re - im * im) + p->c_re;
        im = (im * re + re * im) + p->c_im;
        re = next;
        inside &= re * re + im * im <= p->escape;
        count -= inside;
        if (i % LADDER_TESTED != LADDER_TESTED - 1) continue;
        int32_t any = 0;
        for (int k = 0; k < LADDER_LANES; k++) any |= inside[k];
        if (any == 0) break;
    }
    memcpy(counts, &count, sizeof count);
}

static const ladder_simd NAME(simd) = {NAME(read),  NAME(sum),   NAME(product), NAME(most),
                                       NAME(least), NAME(scan),  NAME(add),     NAME(dot),
                                       NAME(table), NAME(escape)};

#undef NAME
#undef TARGET
