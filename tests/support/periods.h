/* For tests of arrays of more elements than 31 or 32 bits count. A block of PERIOD elements
 * repeats, except for a few marks. So exact answers follow from the block by multiplication. The
 * period divides no power of two, so an index that wraps around finds other elements. Put the
 * farthest mark beyond 2^31 or 2^32. */
#ifndef BITFOLD_TESTS_SUPPORT_PERIODS_H
#define BITFOLD_TESTS_SUPPORT_PERIODS_H

#include "tests/support/data.h"

enum { PERIOD = 4096 * 2047, MARKS_MOST = 4 };

#define PAST_31_BITS (((int64_t)1 << 31) + 12345)
#define PAST_32_BITS (((int64_t)1 << 32) + 12345)

/* Returns element i of the block as an integer. */
typedef int64_t number_rule(bf_dtype dtype, int64_t i);

typedef struct periodic {
    bf_dtype dtype;
    int64_t n;
    char *data;
    number_rule *rule;
    int marks;
    struct {
        int64_t at, number;
    } mark[MARKS_MOST];
} periodic;

static inline bf_array array_of(const periodic *p) { return bf_array_of(p->dtype, p->data, p->n); }

static inline uint64_t scramble(uint64_t i) { return next_random(&i); }

static inline int64_t number_at(const periodic *p, int64_t i) {
    for (int m = 0; m < p->marks; m++)
        if (p->mark[m].at == i) return p->mark[m].number;
    return p->rule(p->dtype, i % PERIOD);
}

/* Returns how often element i of the block is in the array, without regard to marks. */
static inline int64_t times_of(const periodic *p, int64_t i) {
    return p->n / PERIOD + (i < p->n % PERIOD);
}

/* Returns the number that mark m replaces. */
static inline int64_t number_below(const periodic *p, int m) {
    return p->rule(p->dtype, p->mark[m].at % PERIOD);
}

/* Returns the first index that needs more than 31 bits or, in longer arrays, more than 32. */
static inline int64_t far_index(int64_t n) {
    const int64_t past_32_bits = (int64_t)1 << 32;
    return n > past_32_bits ? past_32_bits : past_32_bits / 2;
}

/* ---- sums and products ----------------------------------------------------------------------- */

typedef struct integer_sums {
    __int128 x, xx;
} integer_sums;

static inline integer_sums add_numbers(const periodic *p) {
    integer_sums s = {0, 0};
    for (int64_t i = 0; i < PERIOD; i++) {
        const __int128 x = p->rule(p->dtype, i), times = times_of(p, i);
        s.x += times * x;
        s.xx += times * x * x;
    }
    for (int m = 0; m < p->marks; m++) {
        const __int128 x = p->mark[m].number, old = number_below(p, m);
        s.x += x - old;
        s.xx += x * x - old * old;
    }
    return s;
}

static inline uint64_t power(uint64_t x, int64_t exponent) {
    uint64_t y = 1;
    for (; exponent > 0; exponent >>= 1, x *= x)
        if (exponent & 1) y *= x;
    return y;
}

/* Returns 1 / x modulo 2^64, for odd x. Each step doubles the number of right bits. */
static inline uint64_t inverse(uint64_t x) {
    uint64_t y = x;
    for (int i = 0; i < 6; i++) y *= 2 - x * y;
    return y;
}

/* Returns the product of odd numbers modulo 2^64. */
static inline uint64_t product_modulo(const periodic *p) {
    uint64_t block = 1, rest = 1;
    for (int64_t i = 0; i < PERIOD; i++) {
        block *= (uint64_t)p->rule(p->dtype, i);
        if (i < p->n % PERIOD) rest *= (uint64_t)p->rule(p->dtype, i);
    }
    uint64_t product = power(block, p->n / PERIOD) * rest;
    for (int m = 0; m < p->marks; m++)
        product *= (uint64_t)p->mark[m].number * inverse((uint64_t)number_below(p, m));
    return product;
}

#endif
