/* What the sum of few floats is, by MPFR. */
#ifndef BITFOLD_TESTS_SUPPORT_TERMS_H
#define BITFOLD_TESTS_SUPPORT_TERMS_H

#include "tests/support/oracle.h"

/* x rounded to a multiple of the last bit that dtype has there; infinite if that is too large. */
static inline double rounded_sum(bf_dtype dtype, const mpfr_t x) {
    mpfr_t y;
    int bias = (1 << (exponent_bits(dtype) - 1)) - 1;
    if (mpfr_zero_p(x)) return 0;
    long last = (long)mpfr_get_exp(x) - 1 - fraction_bits(dtype);
    if (last < 1 - bias - fraction_bits(dtype)) last = 1 - bias - fraction_bits(dtype);
    mpfr_init2(y, EXACT_BITS);
    mpfr_mul_2si(y, x, -last, MPFR_RNDN);
    mpfr_rint(y, y, MPFR_RNDN);
    mpfr_mul_2si(y, y, last, MPFR_RNDN);
    bool over = !mpfr_zero_p(y) && mpfr_get_exp(y) > bias + 1;
    double result = over ? mpfr_sgn(x) * (double)INFINITY : mpfr_get_d(y, MPFR_RNDN);
    mpfr_clear(y);
    return result;
}

/* The bits of a sum of terms that may be anything. */
static inline uint64_t expected_bits(bf_dtype dtype, const uint64_t *term, int n) {
    mpfr_t sum, x;
    double special = 0, value;
    bool negative_zeros = true;
    uint64_t sign = sign_bit(dtype), infinity = infinity_bits(dtype);
    mpfr_inits2(EXACT_BITS, sum, x, (mpfr_ptr)NULL);
    mpfr_set_zero(sum, 1);
    for (int t = 0; t < n; t++) {
        double d = wide_float(dtype, term[t]);
        negative_zeros = negative_zeros && term[t] == sign;
        if (!isfinite(d)) {
            special += d;
            continue;
        }
        mpfr_set_d(x, d, MPFR_RNDN);
        mpfr_add(sum, sum, x, MPFR_RNDN);
    }
    value = special != 0 ? special : rounded_sum(dtype, sum);
    mpfr_clears(sum, x, (mpfr_ptr)NULL);
    if (isnan(value)) return infinity | 1ull << (fraction_bits(dtype) - 1);
    uint64_t bits = value < 0 || negative_zeros ? sign : 0;
    if (isinf(value)) return bits | infinity;
    if (value == 0) return bits;
    int exponent;
    int bias = (1 << (exponent_bits(dtype) - 1)) - 1, p = fraction_bits(dtype);
    (void)frexp(value, &exponent);
    int field = exponent - 1 + bias > 0 ? exponent - 1 + bias : 0;
    uint64_t whole = (uint64_t)ldexp(fabs(value), p - ((field > 0 ? field : 1) - bias));
    return bits | ((uint64_t)field << p) | (whole & ((1ull << p) - 1));
}

#endif
