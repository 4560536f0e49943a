/* Scales: integers that stand for themselves times a power of ten. */
#ifndef BF_RULES_NUMBER_SCALE_H
#define BF_RULES_NUMBER_SCALE_H

#include "rules/number/dtype.h"
#include "rules/number/float.h"
#include <bitfold/value.h>

/* Whether elements of a dtype may have a scale. */
BF_RULE bool bf_scale_valid(bf_dtype dtype, int scale) {
    const bool integers = dtype >= BF_I8 && dtype <= BF_U64;
    if (dtype == BF_I128) return scale >= 0 && scale <= BF_SCALE_MOST_I128;
    return scale == 0 || (integers && scale > 0 && scale <= BF_SCALE_MOST);
}

/* 10^n, for n from 0 to 38 */
BF_RULE bf_i128 bf_power_of_ten(int n) {
    bf_i128 power = 1;
    for (; n > 0; n--) power *= 10;
    return power;
}

/* x / 10^scale, for a scale from 0 to 19: more than 64 bits are left. */
BF_RULE bf_leading bf_leading_unscale(bf_leading x, int scale) {
    if (scale == 0 || x.bits == 0) return x;
    bf_leading r = bf_leading_divide(x, (uint64_t)(bf_power_of_ten(scale) >> scale));
    r.exponent -= scale;
    return r;
}

/* x / 10^scale, for a scale from 20 to 38 and an exact x whose top bit is set: the quotient by
 * 5^scale, and 38 bits more of what remains. */
BF_RULE bf_leading bf_leading_unscale_far(bf_leading x, int scale) {
    const bf_u128 divisor = (bf_u128)bf_power_of_ten(scale) >> scale;
    const bf_u128 rest = x.bits % divisor << 38;
    bf_leading r;
    r.bits = x.bits / divisor << 38 | rest / divisor;
    r.sticky = rest % divisor != 0;
    const int shift = 128 - bf_bit_length128(r.bits);
    r.bits <<= shift;
    r.exponent = x.exponent - scale - 38 - shift;
    return r;
}

/* x / 10^scale, for a scale from 0 to 38, rounded once to format f; x is exact. */
BF_RULE uint64_t bf_exact_unscale(bf_format f, bf_exact_float x, int scale) {
    if (scale == 0 || x.m == 0) return bf_exact_round(f, x);
    x = bf_exact_normalize(x, 127);
    bf_leading leading;
    leading.bits = x.m;
    leading.exponent = x.exponent;
    leading.sticky = false;
    leading = scale > BF_SCALE_MOST + 1 ? bf_leading_unscale_far(leading, scale)
                                        : bf_leading_unscale(leading, scale);
    return bf_leading_round(f, x.negative, leading);
}

#endif
