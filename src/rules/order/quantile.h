/* Quantiles: where a fraction lies among n elements in order, and the value there, as NumPy's
 * methods have them (docs/numerics.md); and medians. Each floating-point operation is rounded once
 * and none is contracted; the caller has set the usual environment. */
#ifndef BF_RULES_ORDER_QUANTILE_H
#define BF_RULES_ORDER_QUANTILE_H

#include "rules/number/dtype.h"
#include "rules/number/float.h"
#include "rules/number/integer.h"
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

/* The dtype of quantiles, and of medians. */
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

/* Its weight otherwise. */
BF_RULE double bf_quantile_weight(bf_quantile_method method, double rest) {
    if (method == BF_QUANTILE_AVERAGED_INVERTED_CDF) return rest > 0 ? 1 : 0.5;
    if (method == BF_QUANTILE_MIDPOINT) return rest > 0 ? 0.5 : 0;
    return rest;
}

BF_RULE bf_between bf_between_make(int64_t below, double weight) {
    bf_between b;
    b.below = below;
    b.above = weight > 0 ? below + 1 : below;
    b.weight = weight;
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

/* ---- values ---------------------------------------------------------------------------------- */

BF_RULE double bf_number_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

BF_RULE uint64_t bf_bits_of_number(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x == x ? bits : bf_format_nan(bf_format_f64());
}

/* An element as an f64, rounded once. */
BF_RULE double bf_quantile_number(bf_dtype dtype, uint64_t element) {
    if (dtype == BF_F64) return bf_number_of_bits(element);
    if (bf_dtype_is_float(dtype))
        return bf_number_of_bits(bf_float_convert(bf_format_of(dtype), bf_format_f64(), element));
    if (dtype == BF_BOOL) return element != 0 ? 1 : 0;
    if (!bf_dtype_is_signed(dtype)) return (double)element;
    return (double)bf_sign_extend(element, 8 * bf_dtype_bytes(dtype));
}

/* b - a: of floats rounded to their dtype, of integers exact; then to f64. b is not below a. */
BF_RULE double bf_quantile_difference(bf_dtype dtype, uint64_t a, uint64_t b) {
    if (dtype == BF_F64) return bf_number_of_bits(b) - bf_number_of_bits(a);
    if (bf_dtype_is_float(dtype)) {
        const bf_format f = bf_format_of(dtype);
        return bf_quantile_number(dtype, bf_float_add(f, b, a ^ bf_format_sign(f)));
    }
    return (double)(uint64_t)(bf_integer_decode(dtype, b) - bf_integer_decode(dtype, a));
}

/* Returns the bits of the f64 between elements a and b, which are no NaNs. */
BF_RULE uint64_t bf_quantile_mix(bf_dtype dtype, uint64_t a, uint64_t b, double weight) {
    if (weight == 0) return bf_bits_of_number(bf_quantile_number(dtype, a));
    const double step = bf_quantile_difference(dtype, a, b);
    if (weight < 0.5) {
        const double part = step * weight;
        return bf_bits_of_number(bf_quantile_number(dtype, a) + part);
    }
    const double part = step * (1 - weight);
    return bf_bits_of_number(bf_quantile_number(dtype, b) - part);
}

/* A bool becomes 0 or 1. */
BF_RULE uint64_t bf_quantile_element(bf_dtype dtype, uint64_t element) {
    return dtype == BF_BOOL ? (uint64_t)(element != 0) : element;
}

/* The bits, of bf_quantile_to, of a quantile between elements a and b. */
BF_RULE uint64_t bf_quantile_bits(bf_dtype dtype, bf_quantile_method method, uint64_t a, uint64_t b,
                                  double weight) {
    if (bf_quantile_chooses(method)) return bf_quantile_element(dtype, a);
    return bf_quantile_mix(dtype, a, b, weight);
}

/* The mean of two floats, rounded once. */
BF_RULE uint64_t bf_median_of_floats(bf_format f, uint64_t a, uint64_t b) {
    if (a == b) return a;
    if (bf_is_nan(f, a) || bf_is_nan(f, b) || bf_is_inf(f, a) || bf_is_inf(f, b))
        return bf_float_add(f, a, b);
    bf_exact_float x = bf_exact_decode(f, a), y = bf_exact_decode(f, b);
    if (x.m == 0 && y.m == 0) return 0;
    if (x.m != 0 && y.m != 0)
        x = bf_exact_add(x, y);
    else if (x.m == 0)
        x = y;
    x.exponent--;
    return bf_exact_round(f, x);
}

/* The bits, of bf_median_to, of the mean of elements a and b. */
BF_RULE uint64_t bf_median_bits(bf_dtype dtype, uint64_t a, uint64_t b) {
    if (bf_dtype_is_float(dtype)) return bf_median_of_floats(bf_format_of(dtype), a, b);
    const bf_i128 sum = bf_integer_decode(dtype, a) + bf_integer_decode(dtype, b);
    const bool negative = sum < 0;
    return bf_exact_round(bf_format_f64(),
                          bf_exact_make(negative, (bf_u128)(negative ? -sum : sum), -1));
}

#endif
