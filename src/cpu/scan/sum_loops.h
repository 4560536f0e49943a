/* The exact sums of prefixes, for vectors of doubles: included once by each instruction set, which
 * defines
 *   LANES   doubles in a vector: 2, 4 or 8
 *   LOOPS   the name of the table
 *
 * An element x is split into a multiple of the high unit, q, and the rest, r, a multiple of the low
 * one. All sums of q, and all of r, are then doubles, whatever their order: a vector is summed in
 * log2(LANES) steps, and what came before is added. One addition of the two rounds. */
#include "cpu/scan/loops.h"

#include "cpu/runtime/vector.h"

typedef double scan_f64 __attribute__((vector_size(8 * LANES)));
typedef float scan_f32 __attribute__((vector_size(4 * LANES)));
typedef int64_t scan_i64 __attribute__((vector_size(8 * LANES)));

/* The lanes of a vector of zeros and x that are x moved up; those of x that are its last. */
#if LANES == 8
#define UP_1 7, 8, 9, 10, 11, 12, 13, 14
#define UP_2 6, 7, 8, 9, 10, 11, 12, 13
#define UP_4 4, 5, 6, 7, 8, 9, 10, 11
#define LAST 7, 7, 7, 7, 7, 7, 7, 7
#elif LANES == 4
#define UP_1 3, 4, 5, 6
#define UP_2 2, 3, 4, 5
#define LAST 3, 3, 3, 3
#else
#define UP_1 1, 2
#define LAST 1, 1
#endif
#define MOVED(x, ...) __builtin_shufflevector((scan_f64){0}, x, __VA_ARGS__)

INLINE scan_f64 sum_lanes(scan_f64 x) {
    x += MOVED(x, UP_1);
#if LANES > 2
    x += MOVED(x, UP_2);
#endif
#if LANES > 4
    x += MOVED(x, UP_4);
#endif
    return x;
}

INLINE scan_f64 last_lane(scan_f64 x) { return __builtin_shufflevector(x, x, LAST); }
INLINE scan_f64 each_lane(double x) { return x - (scan_f64){0}; }

INLINE scan_f64 load_lanes(bool wide, const char *p) {
    scan_f64 x;
    scan_f32 narrow;
    if (wide) {
        memcpy(&x, p, sizeof x);
        return x;
    }
    memcpy(&narrow, p, sizeof narrow);
    return __builtin_convertvector(narrow, scan_f64);
}

/* The error of a + b, which is `sum` (Knuth): exact. */
INLINE scan_f64 error_of(scan_f64 a, scan_f64 b, scan_f64 sum) {
    const scan_f64 of_b = sum - a, of_a = sum - of_b;
    return (a - of_a) + (b - of_b);
}

/* a + b, rounded to odd: of the two doubles next to a sum that is none, the one whose last bit is
 * 1. */
INLINE scan_f64 add_odd(scan_f64 a, scan_f64 b) {
    const scan_f64 sum = a + b, error = error_of(a, b, sum);
    const scan_i64 bits = (scan_i64)sum;
    const scan_i64 towards = (bits ^ (scan_i64)error) >> 63 | 1; /* from zero, or to it */
    return (scan_f64)(bits + (towards & ((bits & 1) - 1) & (error != 0)));
}

/* What sums become: rounded to odd, or to nearest; after a rest was added, or without one. */
typedef struct rounding {
    bool odd, rest;
} rounding;

typedef struct summing {
    scan_f64 high_start, low_start; /* 1.5 * 2^52 units */
    scan_f64 high, low, rest;
    scan_i64 largest; /* the bits of the largest |x| */
    scan_i64 left;    /* what no low unit divides; and where a sum is too small for the rest */
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
    s->largest = s->left = (scan_i64){0};
}

INLINE scan_f64 magnitude_of(scan_f64 x) { return (scan_f64)((scan_i64)x & INT64_MAX); }

/* A sum of at least 16 low units is so much larger than the rest that bits beyond the rest's last
 * decide nothing. */
INLINE scan_f64 round_sum(summing *s, scan_f64 high, scan_f64 low, rounding to) {
    if (!to.rest) return to.odd ? add_odd(high, low) : high + low;
    const scan_f64 sum = high + low, more = add_odd(error_of(high, low, sum), s->rest);
    s->left |= magnitude_of(sum) * (0x1.8p52 / 16) < s->low_start;
    return to.odd ? add_odd(sum, more) : sum + more;
}

INLINE scan_f64 sum_vector(summing *s, scan_f64 x, rounding to) {
    const scan_i64 magnitude = (scan_i64)magnitude_of(x);
    const scan_f64 q = (x + s->high_start) - s->high_start, r = x - q;
    const scan_i64 larger = magnitude > s->largest;
    s->largest = (magnitude & larger) | (s->largest & ~larger);
    s->left |= (scan_i64)magnitude_of(r - ((r + s->low_start) - s->low_start));
    const scan_f64 high = sum_lanes(q), low = sum_lanes(r);
    const scan_f64 sum = round_sum(s, s->high + high, s->low + low, to);
    s->high += last_lane(high);
    s->low += last_lane(low);
    return sum;
}

/* |x| <= limit keeps every sum of q below 2^53 units. A NaN and an infinity have larger bits. */
INLINE bool sums_are_exact(const summing *s, const bf_scan_window *window) {
    const double top = scan_unit(window->exponent + BF_SCAN_GAP + 52); /* 2^52 units */
    const double before = window->high < 0 ? -window->high : window->high;
    const double limit = (0x1.fffp0 * top - before) / BF_SCAN_BLOCK - 0x1p-52 * top;
    int64_t largest = 0, left = 0;
    for (int i = 0; i < LANES; i++) {
        largest = s->largest[i] > largest ? s->largest[i] : largest;
        left |= s->left[i];
    }
    return left == 0 && limit > 0 && largest <= (int64_t)bits_f64(limit);
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
        const scan_f64 sums = sum_vector(&s, load_lanes(wide, x), to);
        memcpy(results + i * 8, &sums, sizeof sums);
    }
    if (i < n) {
        char tail[sizeof(scan_f64)] = {0};
        memcpy(tail, x, (size_t)(n - i) * (wide ? 8 : 4));
        const scan_f64 sums = sum_vector(&s, load_lanes(wide, tail), to);
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

const bf_scan_loops LOOPS = {scan_sum_f64, scan_sum_f32};

#undef UP_1
#undef UP_2
#undef UP_4
#undef LAST
#undef MOVED
