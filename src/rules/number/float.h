/* IEEE 754 arithmetic on bits: the exact result, rounded once. */
#ifndef BF_RULES_NUMBER_FLOAT_H
#define BF_RULES_NUMBER_FLOAT_H

#include "rules/number/wide.h"

/* A finite number: sign, and m * 2^exponent (plus less than 2^exponent if sticky). */
typedef struct bf_exact_float {
    bf_u128 m;
    int exponent;
    bool negative, sticky;
} bf_exact_float;

BF_RULE bf_exact_float bf_exact_make(bool negative, bf_u128 m, int exponent) {
    bf_exact_float x;
    x.m = m;
    x.exponent = exponent;
    x.negative = negative;
    x.sticky = false;
    return x;
}

BF_RULE bf_exact_float bf_exact_decode(bf_format f, uint64_t bits) {
    bf_finite x = bf_decode(f, bits);
    return bf_exact_make(x.negative, x.magnitude, x.position + bf_format_least(f));
}

/* Shifts m left until its top bit is bit `top`. m is not 0, and below 2^(top + 1). */
BF_RULE bf_exact_float bf_exact_normalize(bf_exact_float x, int top) {
    int shift = top + 1 - bf_bit_length128(x.m);
    x.m <<= shift;
    x.exponent -= shift;
    return x;
}

/* Rounds x once to format f. */
BF_RULE uint64_t bf_exact_round(bf_format f, bf_exact_float x) {
    if (x.m == 0) return x.negative ? bf_format_sign(f) : 0;
    x = bf_exact_normalize(x, 127);
    bool sticky = x.sticky || (uint64_t)x.m != 0;
    return bf_encode(f, x.negative, (uint64_t)(x.m >> 64), x.exponent + 64, sticky);
}

/* x + y for numbers other than 0, of at most 124 bits. Bits shifted out of the smaller one matter
 * only to the rounding: bits are shifted out only where at most one leading bit cancels. */
BF_RULE bf_exact_float bf_exact_add(bf_exact_float x, bf_exact_float y) {
    x = bf_exact_normalize(x, 125);
    y = bf_exact_normalize(y, 125);
    if (y.exponent > x.exponent || (y.exponent == x.exponent && y.m > x.m)) {
        bf_exact_float larger = y;
        y = x;
        x = larger;
    }
    int shift = x.exponent - y.exponent;
    bf_u128 moved = shift < 128 ? y.m >> shift : 0;
    x.sticky = shift >= 128 || moved << shift != y.m;
    if (x.negative == y.negative)
        x.m += moved;
    else
        x.m -= moved + (x.sticky ? 1 : 0); /* sticky is then what remains to the next m */
    if (x.m == 0) x.negative = false;
    return x;
}

BF_RULE bool bf_float_is_zero(bf_format f, uint64_t bits) {
    return (bits & ~bf_format_sign(f)) == 0;
}

/* a * b + c, rounded once. */
BF_RULE uint64_t bf_float_fma(bf_format f, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t sign = (a ^ b) & bf_format_sign(f);
    if (bf_is_nan(f, a) || bf_is_nan(f, b) || bf_is_nan(f, c)) return bf_format_nan(f);
    if (bf_is_inf(f, a) || bf_is_inf(f, b)) {
        bool undefined = bf_float_is_zero(f, a) || bf_float_is_zero(f, b) ||
                         (bf_is_inf(f, c) && (c & bf_format_sign(f)) != sign);
        return undefined ? bf_format_nan(f) : bf_format_inf(f) | sign;
    }
    if (bf_is_inf(f, c)) return c;
    if (bf_float_is_zero(f, a) || bf_float_is_zero(f, b))
        return bf_float_is_zero(f, c) ? sign & c : c; /* zeros of opposite signs add to +0 */
    bf_exact_float x = bf_exact_decode(f, a), y = bf_exact_decode(f, b);
    x = bf_exact_make(sign != 0, x.m * y.m, x.exponent + y.exponent);
    if (!bf_float_is_zero(f, c)) x = bf_exact_add(x, bf_exact_decode(f, c));
    return bf_exact_round(f, x);
}

BF_RULE uint64_t bf_float_add(bf_format f, uint64_t a, uint64_t b) {
    return bf_float_fma(f, a, (uint64_t)bf_format_bias(f) << f.fraction, b);
}

BF_RULE uint64_t bf_float_mul(bf_format f, uint64_t a, uint64_t b) {
    return bf_float_fma(f, a, b, (a ^ b) & bf_format_sign(f));
}

BF_RULE uint64_t bf_float_div(bf_format f, uint64_t a, uint64_t b) {
    uint64_t sign = (a ^ b) & bf_format_sign(f);
    bool zero = bf_float_is_zero(f, a), infinite = bf_is_inf(f, a);
    if (bf_is_nan(f, a) || bf_is_nan(f, b)) return bf_format_nan(f);
    if ((zero && bf_float_is_zero(f, b)) || (infinite && bf_is_inf(f, b))) return bf_format_nan(f);
    if (infinite || bf_float_is_zero(f, b)) return sign | bf_format_inf(f);
    if (zero || bf_is_inf(f, b)) return sign;
    bf_exact_float x = bf_exact_normalize(bf_exact_decode(f, a), 127);
    bf_exact_float y = bf_exact_normalize(bf_exact_decode(f, b), 63);
    bf_exact_float q = bf_exact_make(sign != 0, x.m / y.m, x.exponent - y.exponent);
    q.sticky = x.m % y.m != 0;
    return bf_exact_round(f, q);
}

BF_RULE uint64_t bf_float_sqrt(bf_format f, uint64_t a) {
    if (bf_float_is_zero(f, a)) return a;
    if (bf_is_nan(f, a) || (a & bf_format_sign(f)) != 0) return bf_format_nan(f);
    if (bf_is_inf(f, a)) return a;
    bf_exact_float x = bf_exact_normalize(bf_exact_decode(f, a), 127);
    bf_leading square;
    square.bits = x.m;
    square.exponent = x.exponent;
    square.sticky = false;
    bf_leading root = bf_leading_root(square);
    x = bf_exact_make(false, root.bits, root.exponent);
    x.sticky = root.sticky;
    return bf_exact_round(f, x);
}

/* Converts a float to another format, rounded once. */
BF_RULE uint64_t bf_float_convert(bf_format from, bf_format to, uint64_t bits) {
    uint64_t sign = (bits & bf_format_sign(from)) != 0 ? bf_format_sign(to) : 0;
    if (bf_is_nan(from, bits)) return bf_format_nan(to);
    if (bf_is_inf(from, bits)) return sign | bf_format_inf(to);
    return bf_exact_round(to, bf_exact_decode(from, bits));
}

#endif
