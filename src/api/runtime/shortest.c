/* The method is Schubfach: R. Giulietti, "The Schubfach way to render doubles" (2021). A float
 * stands for an interval: the reals that round to it. Let 10^k be the greatest power of ten that is
 * no wider than the interval. Some multiple of 10^k lies inside. At most one multiple of 10^(k+1)
 * does, and that one has fewer digits than all others inside. */
#include "api/runtime/shortest.h"

#include "api/runtime/powers_of_ten.h"

/* Return the floors of log10(2^q), log10(3/4 * 2^q) and log2(10^k), for the exponents of every
 * format. */
static int log10_pow2(int q) { return (q * 1262611) >> 22; }
static int log10_three_quarters_pow2(int q) { return (q * 1262611 - 524031) >> 22; }
static int log2_pow10(int k) { return (k * 1741647) >> 19; }

/* Returns the floor of n * 10^-k * 2^q, made odd if the value is not an integer, so that it
 * compares with even numbers as the value does. n is from 4c - 2 to 4c + 2, where c * 2^q is a
 * float, and 10^k <= 2^q.
 *
 * The power of ten is rounded up, by less than one unit, so the product here is at most 2^60 units
 * of 2^-128 above the value. Values that are not integers are 2^-66 or more above an integer, as
 * tests/runtime/arrays/python_shortest.py proves. So the bits from 2^-68 up tell which are
 * integers. */
static uint64_t scale(uint64_t n, int q, int k) {
    const bf_power_of_ten g = bf_powers_of_ten[-k - BF_LEAST_POWER];
    n <<= q + log2_pow10(-k) + 1;
    const bf_u128 low = (bf_u128)g.low * n, high = (bf_u128)g.high * n + (uint64_t)(low >> 64);
    const bool whole = (uint64_t)high == 0 && (uint64_t)low >> 60 == 0;
    return (uint64_t)(high >> 64) | !whole;
}

/* A float's interval and the float itself, in quarters of 10^k, as scale() returns them. The ends
 * belong to the interval if the float is even; those of an odd float round to its neighbours. */
typedef struct interval {
    uint64_t from, value, to;
} interval;

static bool inside(const interval *i, uint64_t x) { return i->from <= 4 * x && 4 * x <= i->to; }

/* Returns x or x + 1: the nearer to the value of those inside the interval. */
static uint64_t nearer(const interval *i, uint64_t x) {
    const bool below = inside(i, x), above = inside(i, x + 1);
    const uint64_t middle = 4 * x + 2;
    if (below != above) return x + above;
    return x + (i->value > middle || (i->value == middle && x % 2 != 0));
}

static bf_decimal without_zeros(uint64_t digits, int exponent) {
    if (digits % 100000000 == 0) { /* numbers of few digits have many zeros here */
        digits /= 100000000;
        exponent += 8;
    }
    while (digits % 10 == 0) {
        digits /= 10;
        exponent++;
    }
    return (bf_decimal){digits, exponent};
}

bf_decimal bf_shortest(bf_format f, uint64_t bits) {
    const bf_finite x = bf_decode(f, bits);
    const int q = x.position + bf_format_least(f);
    const uint64_t n = 4 * x.magnitude, odd = x.magnitude & 1;
    /* Floats below a power of two lie half as far apart as those above it. */
    const bool uneven = x.magnitude == (uint64_t)1 << f.fraction && x.position > 0;
    const int k = uneven ? log10_three_quarters_pow2(q) : log10_pow2(q);
    const interval i = {.from = scale(n - (uneven ? 1 : 2), q, k) + odd,
                        .value = scale(n, q, k),
                        .to = scale(n + 2, q, k) - odd};
    const uint64_t below = i.value / 4, tens = i.value / 40 * 10;
    if (below >= 10 && inside(&i, tens)) return without_zeros(tens / 10, k + 1);
    if (below >= 10 && inside(&i, tens + 10)) return without_zeros(tens / 10 + 1, k + 1);
    return without_zeros(nearer(&i, below), k);
}
