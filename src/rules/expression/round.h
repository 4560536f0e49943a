/* Rounding to a number of digits in expressions: to the nearest, ties to even. */
#ifndef BF_RULES_EXPRESSION_ROUND_H
#define BF_RULES_EXPRESSION_ROUND_H

#include "rules/expression/operation.h"

/* m / by, rounded. */
BF_RULE bf_u128 bf_expression_divide_even(bf_u128 m, bf_u128 by) {
    const bf_u128 q = m / by, rest = m % by, other = by - rest;
    return q + (rest > other || (rest == other && q % 2 != 0));
}

/* x without its last digits, of which there are more than 0. */
BF_RULE bf_i128 bf_expression_drop_digits(bf_i128 x, int digits) {
    const bf_u128 size = x < 0 ? -(bf_u128)x : (bf_u128)x;
    if (digits > 38) return 0; /* 128 bits hold less than half of 10^39 */
    const bf_i128 q = (bf_i128)bf_expression_divide_even(size, (bf_u128)bf_power_of_ten(digits));
    return x < 0 ? -q : q;
}

/* The multiple of 10^-digits that is nearest to a float, rounded once. From -18 to 18 digits. */
BF_RULE uint64_t bf_expression_round_float(bf_format f, uint64_t bits, int digits) {
    const bf_finite x = bf_decode(f, bits);
    const int exponent = x.position + bf_format_least(f), size = digits < 0 ? -digits : digits;
    const bf_u128 power = (bf_u128)bf_power_of_ten(size), m = x.magnitude;
    const uint64_t sign = bits & bf_format_sign(f);
    bf_u128 q;
    if (bf_is_nan(f, bits)) return bf_format_nan(f);
    if (bf_is_inf(f, bits) || m == 0 || (digits >= 0 && exponent >= 0)) return bits;
    if (digits >= 0)
        q = exponent < -126 ? 0 : bf_expression_divide_even(m * power, (bf_u128)1 << -exponent);
    else if (exponent > 60)
        return bits; /* its last place is more than 10^18 */
    else if (exponent >= 0)
        q = bf_expression_divide_even(m << exponent, power) * power;
    else
        q = exponent < -60 ? 0 : bf_expression_divide_even(m, power << -exponent) * power;
    if (q == 0) return sign;
    return bf_exact_unscale(f, bf_exact_make(sign != 0, q, 0), digits > 0 ? digits : 0);
}

#endif
