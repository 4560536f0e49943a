/* Windows whose sums are two doubles. */
#include "cpu/scan/rolling.h"

#include "base/double.h"

/* An element is a multiple of the high unit and a rest, a multiple of the low one. All sums of
 * either, of the elements of a window, are doubles, so that elements enter and leave exactly, and
 * one addition of the two rounds. */
typedef struct pair {
    double high_start, low_start; /* 1.5 * 2^52 units */
    double high, low;
    int low_exponent, gap; /* the low unit is 2^low_exponent, the high one 2^gap of them */
    bool left;             /* some rest is no multiple of the low unit */
} pair;

static inline double load_double(bf_dtype dtype, const char *p) {
    float narrow;
    if (dtype == BF_F64) return bf_double_of_bits(bf_load_bits(p, 8));
    memcpy(&narrow, p, sizeof narrow);
    return (double)narrow;
}

static double power_of_two(int exponent) {
    return bf_double_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* Finds units for windows of the elements [first, end) of the line, each below 2^top: windows of
 * fewer than 2^bits of them stay below 2^52 high units, and their rests below 2^52 low ones. False:
 * there are none, or an element is NaN, infinite or -0. */
static inline bool find_units(bf_dtype dtype, const bf_rolling_tile *t, int64_t first, int64_t end,
                              pair *sums) {
    const int bits = bf_bit_length((uint64_t)bf_rolling_largest(t->job));
    uint64_t largest = 0;
    bool negative_zero = false;
    for (int64_t i = first; i < end; i++) {
        const uint64_t held = bf_bits_of_double(load_double(dtype, bf_rolling_element(t, i)));
        const uint64_t magnitude = held & INT64_MAX;
        negative_zero |= held != magnitude && magnitude == 0;
        largest = magnitude > largest ? magnitude : largest;
    }
    const int top = (int)(largest >> 52) - 1022, high = top + bits - 51;
    if (negative_zero || top < -700 || top + bits > 1000 || bits > 40) return false;
    sums->gap = 53 - bits;
    sums->low_exponent = high - sums->gap;
    sums->high_start = 1.5 * power_of_two(high + 52);
    sums->low_start = 1.5 * power_of_two(sums->low_exponent + 52);
    sums->high = sums->low = 0;
    sums->left = false;
    return true;
}

static inline void add_to_pair(pair *sums, double x, double sign) {
    const double high = (x + sums->high_start) - sums->high_start, low = x - high;
    sums->left |= (low + sums->low_start) - sums->low_start != low;
    sums->high += sign * high;
    sums->low += sign * low;
}

/* The result of n > 0 elements. */
static uint64_t pair_result(const bf_window *w, const pair *sums, int64_t n) {
    bool negative;
    if (w->op == BF_SUM && w->to == BF_F64) return bf_bits_of_double(sums->high + sums->low);
    const double high = sums->high * power_of_two(-sums->low_exponent - sums->gap);
    const double low = sums->low * power_of_two(-sums->low_exponent);
    const bf_i128 sum = (bf_i128)(int64_t)high * ((bf_i128)1 << sums->gap) + (int64_t)low;
    bf_leading x = bf_leading_of_i128(sum, sums->low_exponent, &negative);
    if (sum == 0) return 0;
    if (w->op == BF_MEAN) x = bf_leading_divide(x, (uint64_t)n);
    return bf_leading_round(bf_format_of(w->to), negative, x);
}

static inline __attribute__((always_inline)) bool roll(bf_dtype dtype, const bf_rolling_tile *t) {
    const bf_rolling_job *job = t->job;
    const bf_window *w = &job->window;
    pair sums;
    int64_t first = bf_rolling_first(job, t->from), end = first;
    if (!find_units(dtype, t, first, bf_rolling_end(job, t->to - 1), &sums)) return false;
    for (int64_t k = t->from; k < t->to; k++) {
        for (; first < bf_rolling_first(job, k); first++)
            add_to_pair(&sums, load_double(dtype, bf_rolling_element(t, first)), -1);
        for (; end < bf_rolling_end(job, k); end++)
            add_to_pair(&sums, load_double(dtype, bf_rolling_element(t, end)), 1);
        const bool enough = end - first >= w->least;
        bf_rolling_store(
            t, k, enough ? pair_result(w, &sums, end - first) : bf_format_nan(bf_format_of(w->to)));
    }
    return !sums.left;
}

bool bf_roll_pairs(const bf_rolling_tile *t) {
    const bf_window *w = &t->job->window;
    if (w->kind != BF_KIND_SUM || t->job->step != 1) return false;
    return (w->dtype == BF_F64 && roll(BF_F64, t)) || (w->dtype == BF_F32 && roll(BF_F32, t));
}
