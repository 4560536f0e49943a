/* Quantiles: where a fraction lies among n elements in order, as NumPy's methods have it, and the
 * value there; and medians (docs/numerics.md). A place is made of floating-point operations, each
 * rounded once and none contracted: the caller has set the usual environment. A value is made of
 * integers: the exact one between two elements, rounded once. Integers may have a scale: what is
 * rounded is divided by its power of ten before, and elements stay what they are. */
#ifndef BF_RULES_ORDER_QUANTILE_H
#define BF_RULES_ORDER_QUANTILE_H

#include "rules/number/dtype.h"
#include "rules/number/float.h"
#include "rules/number/integer.h"
#include "rules/number/scale.h"
#include "rules/number/wide.h"
#include "rules/reduce/result.h"
#include <bitfold/order.h>

/* Between elements number `below` and `above` (0-based) of the order, by `weight` from the first to
 * the second. They are neighbours, or with weight 0 the same one. */
typedef struct bf_between {
    int64_t below, above;
    double weight;
} bf_between;

/* Returns whether the method chooses one of the elements, so that the result has their dtype. */
BF_RULE bool bf_quantile_chooses(bf_quantile_method method) {
    return method == BF_QUANTILE_LOWER || method == BF_QUANTILE_HIGHER ||
           method == BF_QUANTILE_NEAREST || method == BF_QUANTILE_INVERTED_CDF ||
           method == BF_QUANTILE_CLOSEST_OBSERVATION;
}

/* The dtype of quantiles, and of medians, that lie between two elements. */
BF_RULE bf_dtype bf_quantile_to(bf_dtype dtype, bf_quantile_method method) {
    return bf_quantile_chooses(method) ? dtype : BF_F64;
}
BF_RULE bf_dtype bf_median_to(bf_dtype dtype) { return bf_dtype_is_float(dtype) ? dtype : BF_F64; }

/* ---- places ---------------------------------------------------------------------------------- */

/* The two parameters of a continuous method (Hyndman and Fan 1996). */
BF_RULE double bf_quantile_alpha(bf_quantile_method method) {
    switch (method) {
    case BF_QUANTILE_HAZEN: return 0.5;
    case BF_QUANTILE_MEDIAN_UNBIASED: return 1 / 3.0;
    case BF_QUANTILE_NORMAL_UNBIASED: return 0.375;
    default: return 0;
    }
}
BF_RULE double bf_quantile_beta(bf_quantile_method method) {
    return method == BF_QUANTILE_INTERPOLATED_INVERTED_CDF ? 1 : bf_quantile_alpha(method);
}

/* The place of the quantile q, from 0 to 1, among n elements: a number from -1.5 to n. */
BF_RULE double bf_quantile_at(bf_quantile_method method, int64_t n, double q) {
    const double all = (double)n;
    switch (method) {
    case BF_QUANTILE_LINEAR:
    case BF_QUANTILE_LOWER:
    case BF_QUANTILE_HIGHER:
    case BF_QUANTILE_NEAREST:
    case BF_QUANTILE_MIDPOINT: return (double)(n - 1) * q;
    case BF_QUANTILE_INVERTED_CDF:
    case BF_QUANTILE_AVERAGED_INVERTED_CDF: return all * q - 1;
    case BF_QUANTILE_CLOSEST_OBSERVATION: return all * q - 1 - 0.5;
    default: {
        const double alpha = bf_quantile_alpha(method), beta = bf_quantile_beta(method);
        return all * q + (alpha + q * (1 - alpha - beta)) - 1;
    }
    }
}

/* The element that a method chooses, of the two beside a place with this rest above the first. */
BF_RULE int64_t bf_quantile_choose(bf_quantile_method method, int64_t below, double rest) {
    const bool odd = (below & 1) != 0;
    switch (method) {
    case BF_QUANTILE_LOWER: return below;
    case BF_QUANTILE_NEAREST: return below + (rest > 0.5 || (rest == 0.5 && odd) ? 1 : 0);
    case BF_QUANTILE_CLOSEST_OBSERVATION: return below + (rest == 0 && odd ? 0 : 1);
    default: return below + (rest > 0 ? 1 : 0);
    }
}

/* Its weight otherwise: less than 1, but where the second element is chosen. */
BF_RULE double bf_quantile_weight(bf_quantile_method method, double rest) {
    if (method == BF_QUANTILE_AVERAGED_INVERTED_CDF) return rest > 0 ? 1 : 0.5;
    if (method == BF_QUANTILE_MIDPOINT) return rest > 0 ? 0.5 : 0;
    return rest;
}

BF_RULE bf_between bf_between_make(int64_t below, double weight) {
    bf_between b;
    b.below = weight < 1 ? below : below + 1;
    b.above = weight > 0 ? below + 1 : below;
    b.weight = weight < 1 ? weight : 0;
    return b;
}

/* Where a fraction q from 0 to 1 lies among n > 0 elements. */
BF_RULE bf_between bf_quantile_between(bf_quantile_method method, int64_t n, double q) {
    const double at = bf_quantile_at(method, n, q);
    if (at < 0) return bf_between_make(0, 0);
    if (at >= (double)(n - 1)) return bf_between_make(n - 1, 0);
    const int64_t below = (int64_t)at;
    const double rest = at - (double)below;
    if (bf_quantile_chooses(method))
        return bf_between_make(bf_quantile_choose(method, below, rest), 0);
    return bf_between_make(below, bf_quantile_weight(method, rest));
}

/* The middle of n > 0 elements. */
BF_RULE bf_between bf_median_between(int64_t n) {
    return bf_between_make((n - 1) / 2, n % 2 == 0 ? 0.5 : 0);
}

/* Returns whether all of m quantiles of n elements, or (m 0) their median, lie on elements. */
BF_RULE bool bf_quantile_whole(bf_quantile_method method, int64_t n, const double *q, int m) {
    bool whole = n > 0;
    if (m == 0) return whole && bf_median_between(n).weight == 0;
    for (int i = 0; i < m && whole; i++) whole = bf_quantile_between(method, n, q[i]).weight == 0;
    return whole;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A bool becomes 0 or 1. */
BF_RULE uint64_t bf_quantile_element(bf_dtype dtype, uint64_t element) {
    return dtype == BF_BOOL ? (uint64_t)(element != 0) : element;
}

/* A finite element. */
BF_RULE bf_exact_float bf_quantile_decode(bf_dtype dtype, uint64_t element) {
    if (bf_dtype_is_float(dtype)) return bf_exact_decode(bf_format_of(dtype), element);
    const bf_i128 x = bf_integer_decode(dtype, element);
    return bf_exact_make(x < 0, (bf_u128)(x < 0 ? -x : x), 0);
}

/* The sum of numbers of at most 124 bits. */
BF_RULE bf_exact_float bf_quantile_add(bf_exact_float x, bf_exact_float y) {
    if (x.m == 0 && y.m == 0) return bf_exact_make(x.negative && y.negative, 0, 0);
    if (x.m == 0) return y;
    return y.m == 0 ? x : bf_exact_add(x, y);
}

/* Limbs in units of 2^-2148, that of a product of two subnormals; the greatest one has 3172 bits.
 */
enum { BF_QUANTILE_LEAST = -2148, BF_QUANTILE_LIMBS = 104 };

/* (x + y * w - x * w) / 10^scale for any weight, rounded once to f. Numbers have at most 64 bits.
 */
BF_RULE uint64_t bf_quantile_sum(bf_format f, bf_exact_float x, bf_exact_float y, bf_exact_float w,
                                 int scale) {
    int64_t limbs[BF_QUANTILE_LIMBS];
    bool negative;
    BF_ROLLED
    for (int i = 0; i < BF_QUANTILE_LIMBS; i++) limbs[i] = 0;
    const int at = x.exponent - BF_QUANTILE_LEAST;
    bf_limbs_add(limbs, at, (uint64_t)x.m, x.negative);
    bf_limbs_add_product(limbs, at + w.exponent, (uint64_t)x.m, (uint64_t)w.m, !x.negative);
    bf_limbs_add_product(limbs, y.exponent + w.exponent - BF_QUANTILE_LEAST, (uint64_t)y.m,
                         (uint64_t)w.m, y.negative);
    const bf_leading sum =
        bf_leading_from_band(limbs, BF_QUANTILE_LIMBS, BF_QUANTILE_LEAST, &negative);
    return bf_leading_round(f, negative, bf_leading_unscale(sum, scale));
}

/* A weight in (0, 1) that is a multiple of 2^-BF_QUANTILE_BITS makes products of at most 124 bits.
 * Finer ones are those of places before the second element. */
enum { BF_QUANTILE_BITS = 60 };

/* (x * (1 - weight) + y * weight) / 10^scale for a weight in (0, 1), rounded once to f. Numbers
 * with a scale are integers: their products have one unit, and their sum is exact. */
BF_RULE uint64_t bf_quantile_mix(bf_format f, bf_exact_float x, bf_exact_float y, double weight,
                                 int scale) {
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    bf_exact_float w = bf_exact_decode(bf_format_f64(), bits);
    const int finer = -w.exponent - BF_QUANTILE_BITS;
    if (finer > 63 || (finer > 0 && ((uint64_t)w.m & (((uint64_t)1 << finer) - 1)) != 0))
        return bf_quantile_sum(f, x, y, w, scale);
    if (finer > 0) {
        w.m >>= finer;
        w.exponent += finer;
    }
    x.m *= ((bf_u128)1 << -w.exponent) - w.m;
    y.m *= w.m;
    x.exponent += w.exponent;
    y.exponent += w.exponent;
    x = bf_quantile_add(x, y);
    return scale == 0 ? bf_exact_round(f, x) : bf_exact_unscale(f, x, scale);
}

/* limbs += x * y * 2^position, with the sign given apart. */
BF_RULE void bf_quantile_add_product(int64_t *limbs, int position, bf_u128 x, uint64_t y,
                                     bool negative) {
    bf_limbs_add_product(limbs, position, (uint64_t)x, y, negative);
    bf_limbs_add_product(limbs, position + 64, (uint64_t)(x >> 64), y, negative);
}

/* (a * (1 - weight) + b * weight) / 10^scale for integers of 128 bits and a weight in [0, 1),
 * rounded once to f. */
BF_RULE uint64_t bf_quantile_mix_i128(bf_format f, bf_i128 a, bf_i128 b, double weight, int scale) {
    int64_t limbs[BF_QUANTILE_LIMBS];
    const bf_u128 x = a < 0 ? 0 - (bf_u128)a : (bf_u128)a, y = b < 0 ? 0 - (bf_u128)b : (bf_u128)b;
    uint64_t bits;
    bf_wide sum;
    memcpy(&bits, &weight, sizeof bits);
    const bf_exact_float w = bf_exact_decode(bf_format_f64(), bits);
    BF_ROLLED
    for (int i = 0; i < BF_QUANTILE_LIMBS; i++) limbs[i] = 0;
    bf_quantile_add_product(limbs, -BF_QUANTILE_LEAST, x, 1, a < 0);
    bf_quantile_add_product(limbs, w.exponent - BF_QUANTILE_LEAST, x, (uint64_t)w.m, a >= 0);
    bf_quantile_add_product(limbs, w.exponent - BF_QUANTILE_LEAST, y, (uint64_t)w.m, b < 0);
    const bool negative = bf_wide_from_band(&sum, limbs, BF_QUANTILE_LIMBS, BF_QUANTILE_LEAST);
    if (sum.length == 0) return 0;
    const bool rest = bf_wide_unscale(&sum, scale);
    bf_leading r = bf_wide_leading(&sum);
    r.sticky |= rest;
    return bf_leading_round(f, negative, r);
}

/* value / 2^shift, rounded to nearest, ties to what makes `odd` even. 2^shift is more than 1 and
 * may be more than any value; more: value has a rest of less than 1, which is not 0. */
BF_RULE bf_u128 bf_quantile_shift(bf_u128 value, int shift, bool more, bool odd) {
    if (shift > 128) return 0;
    const bf_u128 whole = shift == 128 ? 0 : value >> shift, half = (bf_u128)1 << (shift - 1);
    const bf_u128 rest = value & (half | (half - 1));
    const bool tie = rest == half && !more;
    return whole + (tie ? (whole & 1) != (bf_u128)odd : rest >= half);
}

/* gap * weight for a weight in (0, 1), rounded so. */
BF_RULE bf_u128 bf_quantile_part(bf_u128 gap, double weight, bool odd) {
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    const bf_exact_float w = bf_exact_decode(bf_format_f64(), bits);
    const bf_u128 low = (bf_u128)(uint64_t)gap * (uint64_t)w.m;
    const bf_u128 high = (bf_u128)(uint64_t)(gap >> 64) * (uint64_t)w.m + (low >> 64);
    const int shift = -w.exponent; /* at least 53, for w.m has as many bits */
    if (shift > 64) return bf_quantile_shift(high, shift - 64, (uint64_t)low != 0, odd);
    const bf_u128 whole = high << (64 - shift);
    return whole + bf_quantile_shift((uint64_t)low, shift, false, odd != ((whole & 1) != 0));
}

/* What lies between two infinities, or one and a number: neither weight is 0. */
BF_RULE uint64_t bf_quantile_of_infinities(bf_format from, bf_format to, uint64_t a, uint64_t b) {
    const bool opposite = bf_is_inf(from, a) && bf_is_inf(from, b) && a != b;
    if (opposite) return bf_format_nan(to);
    return bf_float_convert(from, to, bf_is_inf(from, a) ? a : b);
}

/* A result: an element, of its dtype, or what lies between two. */
typedef struct bf_quantile_value {
    uint64_t bits;
    bf_dtype dtype;
} bf_quantile_value;

BF_RULE bf_quantile_value bf_quantile_value_make(bf_dtype dtype, uint64_t bits) {
    bf_quantile_value value;
    value.bits = bits;
    value.dtype = dtype;
    return value;
}

/* The bits of a value in `to`, its own dtype or f64, rounded once. */
BF_RULE uint64_t bf_quantile_bits(bf_dtype to, int scale, bf_quantile_value value) {
    if (value.dtype == to) return value.bits;
    if (bf_dtype_is_float(value.dtype))
        return bf_float_convert(bf_format_of(value.dtype), bf_format_of(to), value.bits);
    return bf_exact_unscale(bf_format_of(to), bf_quantile_decode(value.dtype, value.bits), scale);
}

/* The integer that is nearest to what lies between two. */
BF_RULE bf_i128 bf_quantile_nearest(bf_i128 a, bf_i128 b, double weight) {
    const bf_u128 gap = (bf_u128)b - (bf_u128)a;
    return (bf_i128)((bf_u128)a + bf_quantile_part(gap, weight, (a & 1) != 0));
}

/* What lies between elements a and b, which are no NaNs: an element, or of `to`, a float or of
 * integers their dtype. Two equal integers are that integer, for f64 may not hold it. */
BF_RULE bf_quantile_value bf_quantile_make(bf_dtype dtype, bf_dtype to, int scale, uint64_t a,
                                           uint64_t b, double weight) {
    const bf_quantile_value element = bf_quantile_value_make(dtype, bf_quantile_element(dtype, a));
    const bool is_float = bf_dtype_is_float(dtype), equal = a == b;
    if (weight == 0 || (equal && !is_float)) return element;
    if (equal) return bf_quantile_value_make(to, bf_quantile_bits(to, scale, element));
    if (!bf_dtype_is_float(to)) {
        bool misfit = false;
        const bf_i128 x =
            bf_quantile_nearest(bf_integer_decode(dtype, a), bf_integer_decode(dtype, b), weight);
        return bf_quantile_value_make(to,
                                      bf_integer_encode(to, bf_integer_make(x), false, &misfit));
    }
    const bf_format from = bf_format_of(dtype), f = bf_format_of(to);
    if (is_float && (bf_is_inf(from, a) || bf_is_inf(from, b)))
        return bf_quantile_value_make(to, bf_quantile_of_infinities(from, f, a, b));
    return bf_quantile_value_make(to, bf_quantile_mix(f, bf_quantile_decode(dtype, a),
                                                      bf_quantile_decode(dtype, b), weight, scale));
}

/* Makes the quantile of integers of 128 bits: a BF_I192 with the scale; or, unless it is to be
 * whole, a BF_F64. */
BF_RULE bf_value bf_quantile_make_i128(bf_i128 a, bf_i128 b, double weight, int scale, bool whole) {
    const bool element = weight == 0 || a == b;
    bf_value value = bf_value_from_i128(element ? a : bf_quantile_nearest(a, b, weight));
    value.scale = scale;
    if (element || whole) return value;
    return bf_value_from_bits(BF_F64, bf_quantile_mix_i128(bf_format_f64(), a, b, weight, scale));
}

/* ---- results --------------------------------------------------------------------------------- */

/* A result in memory, of dtype `to`; or tagged: a pair of its bits and its dtype. */
BF_RULE int bf_quantile_bytes(bf_dtype to, bool tagged) { return tagged ? 16 : bf_dtype_bytes(to); }

BF_RULE void bf_quantile_store(void *p, bf_dtype to, int scale, bool tagged,
                               bf_quantile_value value) {
    if (!tagged) {
        bf_store_bits(p, bf_dtype_bytes(to), bf_quantile_bits(to, scale, value));
        return;
    }
    bf_store_bits(p, 8, value.bits);
    bf_store_bits((char *)p + 8, 8, (uint64_t)value.dtype);
}

#endif
