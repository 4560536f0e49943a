/* The exact sums of prefixes, for vectors of 64-bit lanes: included once by each instruction set,
 * which defines
 *   LANES             doubles in a vector: 2, 4 or 8
 *   vf64, vi64, vu64  vectors of LANES doubles, int64 and uint64
 *   load_f32(p)       LANES floats at p, as doubles
 *   add_fused(a, b), sub_fused(a, b)   the sum and the difference, maybe by fused multiply-adds
 *   max_f64(a, b)     the greater one, or b where one is NaN
 *   moved_up(x, n)    x moved up by n lanes: 1, 2 or 4, with zeros below
 *   last_lane(x)      the last lane of x in each
 *   ADD_ODD           if it has an add_odd of its own
 *   LOOPS             the name of the table
 *
 * An element x is split into a multiple of the high unit, q, and the rest, r, a multiple of the low
 * one. All sums of q, and all of r, are then doubles, whatever their order: a vector is summed in
 * log2(LANES) steps, and what came before is added. One addition of the two rounds. Half of the
 * others are fused: AMD's Zen adds on two pipes and multiplies on two more. */
#include "cpu/scan/loops.h"

#include "cpu/runtime/vector.h"

INLINE vf64 sum_lanes(vf64 x) {
    for (int n = 1; n < LANES; n *= 2) x += moved_up(x, n);
    return x;
}
INLINE vf64 sum_lanes_fused(vf64 x) {
    for (int n = 1; n < LANES; n *= 2) x = add_fused(x, moved_up(x, n));
    return x;
}

INLINE vf64 each_lane(double x) { return x - (vf64){0}; }

INLINE vf64 load_lanes(bool wide, const char *p) {
    vf64 x;
    if (!wide) return load_f32(p);
    memcpy(&x, p, sizeof x);
    return x;
}

/* The error of a + b, which is `sum` (Knuth): exact. */
INLINE vf64 error_of(vf64 a, vf64 b, vf64 sum) {
    const vf64 of_b = sum - a, of_a = sum - of_b;
    return (a - of_a) + (b - of_b);
}

#ifndef ADD_ODD
/* a + b, rounded to odd: of the two doubles next to a sum that is none, the one whose last bit is
 * 1. */
INLINE vf64 add_odd(vf64 a, vf64 b) {
    const vf64 sum = a + b, error = error_of(a, b, sum);
    const vi64 bits = (vi64)sum;
    const vi64 towards = (bits ^ (vi64)error) >> 63 | 1; /* from zero, or to it */
    return (vf64)(bits + (towards & ((bits & 1) - 1) & (error != 0)));
}
#endif

/* What sums become: rounded to odd, or to nearest; after a rest was added, or without one. */
typedef struct rounding {
    bool odd, rest;
} rounding;

typedef struct summing {
    vf64 high_start, low_start; /* 1.5 * 2^52 units */
    vf64 high, low, rest;
    vf64 largest; /* |x|, but for NaNs, which leave something, as infinities do */
    vi64 left;    /* what no low unit divides; and where a sum is too small for the rest */
} summing;

/* 2^exponent, which is a normal double. */
INLINE double scan_unit(int exponent) { return of_bits_f64((uint64_t)(exponent + 1023) << 52); }

INLINE void begin_summing(summing *s, const bf_scan_window *window) {
    const double low = 1.5 * scan_unit(window->exponent + 52);
    s->high_start = each_lane(1.5 * scan_unit(window->exponent + BF_SCAN_GAP + 52));
    s->low_start = each_lane(low);
    s->high = each_lane(window->high);
    s->low = each_lane(window->low);
    s->rest = each_lane(window->rest);
    s->largest = (vf64){0};
    s->left = (vi64){0};
}

INLINE vf64 magnitude_of(vf64 x) { return (vf64)((vi64)x & INT64_MAX); }

/* A sum of at least 16 low units is so much larger than the rest that bits beyond the rest's last
 * decide nothing. */
INLINE vf64 round_sum(summing *s, vf64 high, vf64 low, rounding to) {
    if (!to.rest && to.odd) return add_odd(high, low);
    if (!to.rest) return high + low;
    const vf64 sum = high + low, more = add_odd(error_of(high, low, sum), s->rest);
    s->left |= magnitude_of(sum) * (0x1.8p52 / 16) < s->low_start;
    if (to.odd) return add_odd(sum, more);
    return sum + more;
}

INLINE vf64 sum_vector(summing *s, vf64 x, rounding to) {
    const vf64 q = (x + s->high_start) - s->high_start, r = sub_fused(x, q);
    s->largest = max_f64(magnitude_of(x), s->largest);
    s->left |= (vi64)magnitude_of(r - sub_fused(add_fused(r, s->low_start), s->low_start));
    const vf64 high = sum_lanes(q), low = sum_lanes_fused(r);
    const vf64 sum = round_sum(s, s->high + high, add_fused(s->low, low), to);
    s->high += last_lane(high);
    s->low = add_fused(s->low, last_lane(low));
    return sum;
}

/* |x| <= limit keeps every sum of q below 2^53 units. */
INLINE bool sums_are_exact(const summing *s, const bf_scan_window *window) {
    const double top = scan_unit(window->exponent + BF_SCAN_GAP + 52); /* 2^52 units */
    const double before = window->high < 0 ? -window->high : window->high;
    const double limit = (0x1.fffp0 * top - before) / BF_SCAN_BLOCK - 0x1p-52 * top;
    double largest = 0;
    int64_t left = 0;
    for (int i = 0; i < LANES; i++) {
        largest = s->largest[i] > largest ? s->largest[i] : largest;
        left |= s->left[i];
    }
    return left == 0 && largest <= limit;
}

/* Moves from low to high what a high unit divides. */
INLINE void end_summing(const summing *s, bf_scan_window *window) {
    const double moved = (s->low[0] + s->high_start[0]) - s->high_start[0];
    window->high = s->high[0] + moved;
    window->low = s->low[0] - moved;
}

INLINE bool sum_block(bool wide, rounding to, const char *x, int64_t n, bf_scan_window *window,
                      char *results) {
    const size_t step = (wide ? 8 : 4) * LANES;
    summing s;
    begin_summing(&s, window);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES, x += step) {
        const vf64 sums = sum_vector(&s, load_lanes(wide, x), to);
        memcpy(results + i * 8, &sums, sizeof sums);
    }
    if (i < n) {
        char tail[sizeof(vf64)] = {0};
        memcpy(tail, x, (size_t)(n - i) * (wide ? 8 : 4));
        const vf64 sums = sum_vector(&s, load_lanes(wide, tail), to);
        memcpy(results + i * 8, &sums, (size_t)(n - i) * 8);
    }
    if (!sums_are_exact(&s, window)) return false;
    end_summing(&s, window);
    return true;
}

/* Inlined for each way of rounding. */
INLINE bool sum_elements(bool wide, const void *x, int64_t n, bf_scan_window *window, bool odd,
                         void *results) {
    if (window->rest != 0)
        return odd ? sum_block(wide, (rounding){true, true}, x, n, window, results)
                   : sum_block(wide, (rounding){false, true}, x, n, window, results);
    return odd ? sum_block(wide, (rounding){true, false}, x, n, window, results)
               : sum_block(wide, (rounding){false, false}, x, n, window, results);
}

static bool scan_sum_f64(const void *elements, int64_t n, bf_scan_window *window, bool odd,
                         void *results) {
    return sum_elements(true, elements, n, window, odd, results);
}

static bool scan_sum_f32(const void *elements, int64_t n, bf_scan_window *window, bool odd,
                         void *results) {
    return sum_elements(false, elements, n, window, odd, results);
}

/* ---- integers -------------------------------------------------------------------------------- */

INLINE uint64_t first_lane(vu64 x) {
    uint64_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    return lanes[0];
}

INLINE bool any_negative(vu64 x) {
    uint64_t lanes[LANES], all = 0;
    memcpy(lanes, &x, sizeof x);
    for (int i = 0; i < LANES; i++) all |= lanes[i];
    return all >> 63 != 0;
}

static bool scan_sum_i32(const void *elements, int64_t n, bool wraps, uint64_t *total,
                         void *results);
static bool scan_sum_u32(const void *elements, int64_t n, bool wraps, uint64_t *total,
                         void *results);

#define TEMPLATE "cpu/scan/integer_loops.h"
#include "cpu/runtime/each_integer.h"

const bf_scan_loops LOOPS = {scan_sum_f64, scan_sum_f32, {INTEGER_ENTRIES(scan_sum_)}};
