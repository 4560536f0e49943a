/* Sums of few terms, such as one element of an array on each of some ranks: exact, rounded once.
 *
 * bf_terms_sum is the definition. It uses integers alone, needs no memory, and takes any terms.
 *
 * Most sums are proven exact in doubles, a few operations a term. Every float dtype but f64 becomes
 * a double without a change. A chain of two-sums keeps the sum of all terms in two doubles (f64: in
 * three) and says where one more addition was inexact:
 *
 *     double s = x[0], e = 0;                                  f64: also g = 0
 *     bool exact = true;
 *     for (t = 1; t < n; t++) exact &= bf_terms_add(&s, &e, x[t]);     f64: bf_terms_add_f64
 *
 *     f32, f16, bf16    d = bf_terms_odd(s, e); round d to the dtype, once, to nearest
 *                       valid if exact, or if s is an infinity or a NaN
 *     f64               d = bf_terms_f64(s, e, g)
 *                       valid if exact, and d is finite
 *
 * Two terms need no chain: a + b in doubles, rounded to the dtype, is their sum, always. f16 and
 * bf16 may be added in f32 as well.
 *
 * Where a chain is not valid, bf_terms_sum decides. The doubles are rounded to nearest and have
 * subnormals: on a CPU callers enter the environment (base/environment.h). A NaN is made the
 * canonical one by the caller. docs/numerics.md has the proofs. */
#ifndef BF_RULES_REDUCE_TERMS_H
#define BF_RULES_REDUCE_TERMS_H

#include "rules/number/integer.h"
#include "rules/number/wide.h"

/* ---- proven in doubles ----------------------------------------------------------------------- */

/* Returns a + b rounded; *error becomes what that lacks of the sum (Knuth's two-sum). If the sum
 * overflows, or a or b is not finite, *error is NaN or an infinity. */
BF_RULE_INLINE double bf_two_sum(double a, double b, double *error) {
    double s = a + b, a1 = s - b, b1 = s - a1;
    *error = (a - a1) + (b - b1);
    return s;
}

/* Adds b to *a. Returns whether the sum is exact: the difference to the larger of both always is,
 * and tells. */
BF_RULE_INLINE bool bf_add_exactly(double *a, double b) {
    double s = *a + b;
    bool exact = (s - *a == b) & (s - b == *a);
    *a = s;
    return exact;
}

/* Adds x to s + e. */
BF_RULE_INLINE bool bf_terms_add(double *s, double *e, double x) {
    double r;
    *s = bf_two_sum(*s, x, &r);
    return bf_add_exactly(e, r);
}

/* Adds x to s + e + g. */
BF_RULE_INLINE bool bf_terms_add_f64(double *s, double *e, double *g, double x) {
    double r;
    *s = bf_two_sum(*s, x, &r);
    *e = bf_two_sum(*e, r, &r);
    return bf_add_exactly(g, r);
}

/* c ? a : b, without a branch: so that compilers make vectors of it. */
BF_RULE_INLINE double bf_choose_double(bool c, double a, double b) {
    int64_t x, y, mask = -(int64_t)c;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    x = (x & mask) | (y & ~mask);
    memcpy(&a, &x, 8);
    return a;
}

/* h + l rounded to odd, for the h and l of a two-sum: where l is not 0, the neighbour of the sum
 * whose last bit is 1. Rounding that to a format of at most 51 bits rounds h + l. */
BF_RULE_INLINE double bf_round_odd(double h, double l) {
    int64_t bits, low;
    memcpy(&bits, &h, 8);
    memcpy(&low, &l, 8);
    int64_t step = (bits ^ low) >> 63 | 1, even = (bits & 1) - 1; /* even: all ones if it is */
    bits += step & even & -(int64_t)(l != 0);
    memcpy(&h, &bits, 8);
    return h;
}

/* s + e rounded to odd; s if e is 0, so that -0 stays, and if s is not finite. */
BF_RULE_INLINE double bf_terms_odd(double s, double e) {
    double l, h = bf_two_sum(s, e, &l);
    bool alone = (e == 0) | !(s - s == 0);
    return bf_round_odd(bf_choose_double(alone, s, h), bf_choose_double(alone, 0, l));
}

/* s + e + g rounded to nearest. */
BF_RULE_INLINE double bf_terms_f64(double s, double e, double g) {
    double h, l;
    double rest = bf_two_sum(e, g, &g); /* 0 only if e and g are 0 or cancel; then g is 0 */
    h = bf_two_sum(s, rest, &e);
    e = bf_two_sum(e, g, &l);
    return bf_choose_double(rest == 0, s, h + bf_round_odd(e, l));
}

/* d rounded to an f32 to odd, on the way to f16 or bf16. d is 0 or no less than the least f32. */
BF_RULE_INLINE float bf_narrow_odd(double d) {
    float h = (float)d;
    double rest = d - (double)h;
    int32_t bits;
    memcpy(&bits, &h, 4);
    int32_t step = (h > 0) == (rest > 0) ? 1 : -1;
    bool moves = (rest != 0) & (h - h == 0) & ((bits & 1) == 0);
    bits += moves ? step : 0;
    memcpy(&h, &bits, 4);
    return h;
}

/* ---- always ---------------------------------------------------------------------------------- */

/* Element number i of n arrays of one dtype. */
typedef struct bf_terms {
    bf_dtype dtype;
    int n; /* at least 1 */
    const void *const *in;
    int64_t i;
} bf_terms;

BF_RULE uint64_t bf_terms_bits(const bf_terms *terms, int t) {
    int bytes = bf_dtype_bytes(terms->dtype);
    return bf_load_bits((const char *)terms->in[t] + terms->i * bytes, bytes);
}

BF_RULE uint64_t bf_terms_sum_integers(const bf_terms *terms, bool *misfit) {
    bf_i128 sum = 0;
    for (int t = 0; t < terms->n; t++)
        sum += bf_integer_decode(terms->dtype, bf_terms_bits(terms, t));
    return bf_integer_encode(terms->dtype, bf_integer_make(sum), false, misfit);
}

/* The bits of the terms that are not 0: from the lowest to below the highest, by position. */
typedef struct bf_terms_extent {
    int lowest, highest;
    bool every_negative_zero;
} bf_terms_extent;

/* Sets *extent, or returns false and sets *bits to the NaN or infinity that the terms add to. */
BF_RULE bool bf_terms_measure(const bf_terms *terms, bf_format f, bf_terms_extent *extent,
                              uint64_t *bits) {
    bool nan = false, positive = false, negative = false;
    extent->lowest = 1 << 12;
    extent->highest = 0;
    extent->every_negative_zero = true;
    for (int t = 0; t < terms->n; t++) {
        uint64_t term = bf_terms_bits(terms, t);
        bf_finite x = bf_decode(f, term);
        int end = x.position + bf_bit_length(x.magnitude);
        nan |= bf_is_nan(f, term);
        positive |= term == bf_format_inf(f);
        negative |= bf_is_inf(f, term) && x.negative;
        extent->every_negative_zero &= term == bf_format_sign(f);
        if (x.magnitude == 0) continue;
        if (x.position < extent->lowest) extent->lowest = x.position;
        if (end > extent->highest) extent->highest = end;
    }
    *bits = nan || (positive && negative) ? bf_format_nan(f)
                                          : bf_format_inf(f) | (negative ? bf_format_sign(f) : 0);
    return !nan && !positive && !negative;
}

/* The next 64 bits, from position `at` on, of the sum in two's complement. *carry is what lower
 * bits brought, and becomes what these bring. */
BF_RULE uint64_t bf_terms_word(const bf_terms *terms, bf_format f, int at, bf_i128 *carry) {
    bf_i128 sum = *carry;
    for (int t = 0; t < terms->n; t++) {
        bf_finite x = bf_decode(f, bf_terms_bits(terms, t));
        int shift = x.position - at;
        uint64_t digit = shift >= 64 || shift <= -64 ? 0
                         : shift >= 0                ? x.magnitude << shift
                                                     : x.magnitude >> -shift;
        sum += x.negative ? -(bf_i128)digit : (bf_i128)digit;
    }
    *carry = sum >> 64;
    return (uint64_t)sum;
}

/* The leading bits of the magnitude of the sum. Words are computed from the lowest on, twice: the
 * last carry of the first pass is the sign. */
BF_RULE bf_leading bf_terms_leading(const bf_terms *terms, bf_format f, bf_terms_extent extent,
                                    bool *negative) {
    bf_leading r;
    int words = (extent.highest - extent.lowest) / 64 + 2;
    bf_i128 carry = 0;
    for (int w = 0; w < words; w++) (void)bf_terms_word(terms, f, extent.lowest + 64 * w, &carry);
    *negative = carry < 0;
    uint64_t flip = carry < 0 ? ~(uint64_t)0 : 0, one = carry < 0 ? 1 : 0;
    uint64_t high = 0, low = 0, rest = 0, below = 0;
    int top = 0;
    carry = 0;
    for (int w = 0, kept = 0; w < words; w++) {
        uint64_t word = (bf_terms_word(terms, f, extent.lowest + 64 * w, &carry) ^ flip) + one;
        one = one != 0 && word == 0;
        if (word == 0) continue;
        for (; kept <= w; kept++) {
            below |= rest;
            rest = low;
            low = high;
            high = 0;
        }
        high = word;
        top = w;
    }
    int shift = high != 0 ? 64 - bf_bit_length(high) : 0;
    r.bits = ((bf_u128)high << 64 | low) << shift | rest >> 1 >> (63 - shift);
    r.exponent = extent.lowest + bf_format_least(f) + 64 * (top - 1) - shift;
    r.sticky = below != 0 || rest << shift != 0;
    return r;
}

/* The bits of the sum, rounded once to the dtype. An integer that does not fit sets *misfit. A sum
 * of nothing but -0 is -0; any other zero is +0. */
BF_RULE uint64_t bf_terms_sum(const bf_terms *terms, bool *misfit) {
    bf_format f = bf_format_of(terms->dtype);
    bf_terms_extent extent;
    uint64_t bits;
    bool negative;
    if (!bf_dtype_is_float(terms->dtype)) return bf_terms_sum_integers(terms, misfit);
    if (!bf_terms_measure(terms, f, &extent, &bits)) return bits;
    if (extent.highest == 0) return extent.every_negative_zero ? bf_format_sign(f) : 0;
    bf_leading sum = bf_terms_leading(terms, f, extent, &negative);
    return bf_leading_round(f, negative, sum);
}

#endif
