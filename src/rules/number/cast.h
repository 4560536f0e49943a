/* Casts of one element: to floats rounded once, to nearest even; to integers toward zero. */
#ifndef BF_RULES_NUMBER_CAST_H
#define BF_RULES_NUMBER_CAST_H

#include "rules/number/float.h"
#include "rules/number/integer.h"

BF_RULE uint64_t bf_cast_integer_to_float(bf_dtype from, bf_dtype to, uint64_t bits) {
    bf_i128 x = bf_integer_decode(from, bits);
    bool negative = x < 0;
    return bf_exact_round(bf_format_of(to),
                          bf_exact_make(negative, (bf_u128)(negative ? -x : x), 0));
}

/* Rounds toward zero. Sets *misfit if the result does not fit; it is then the nearest that does
 * (saturate), or wraps. NaN does not fit and becomes 0. */
BF_RULE uint64_t bf_cast_float_to_integer(bf_dtype from, bf_dtype to, uint64_t bits, bool saturate,
                                          bool *misfit) {
    bf_format f = bf_format_of(from);
    if (to == BF_BOOL) return !bf_float_is_zero(f, bits);
    if (bf_is_nan(f, bits)) {
        *misfit = true;
        return 0;
    }
    bf_finite x = bf_decode(f, bits);
    bool infinite =
        bf_is_inf(f, bits); /* beyond every integer, although f16's exponent does not show it */
    int shift = infinite ? 64 : x.position + bf_format_least(f);
    bf_u128 m = infinite ? 1 : x.magnitude;
    if (shift >= 0)
        m = m << (shift < 64 ? shift : 64); /* 2^64 and more fit no dtype */
    else
        m = shift > -64 ? m >> -shift : 0;
    return bf_integer_encode(to, bf_integer_make(x.negative ? -(bf_i128)m : (bf_i128)m), saturate,
                             misfit);
}

BF_RULE uint64_t bf_cast(bf_dtype from, bf_dtype to, uint64_t bits, bool saturate, bool *misfit) {
    if (bf_dtype_is_float(from)) {
        if (bf_dtype_is_float(to))
            return bf_float_convert(bf_format_of(from), bf_format_of(to), bits);
        return bf_cast_float_to_integer(from, to, bits, saturate, misfit);
    }
    if (bf_dtype_is_float(to)) return bf_cast_integer_to_float(from, to, bits);
    if (to == BF_BOOL) return bits != 0;
    return bf_integer_encode(to, bf_integer_make(bf_integer_decode(from, bits)), saturate, misfit);
}

#endif
