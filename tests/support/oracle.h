/* For the tests in C: what the reductions of an array are, by MPFR with enough bits to be exact and
 * one rounding at the end. */
#ifndef BITFOLD_TESTS_SUPPORT_ORACLE_H
#define BITFOLD_TESTS_SUPPORT_ORACLE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <gmp.h>
#include <mpfr.h>
#include <stdlib.h>

#include "tests/support/data.h"
#include "tests/support/leave_out.h"
#include "tests/support/sanitizer.h"

#define EXACT_BITS 4600 /* products of f64 span 2^-2148 to 2^2048, and 2^62 of them */

/* Not inlined: where no element is of i128, GCC would see 16 bytes read of 8. */
static __attribute__((noinline, unused)) void get_i128(mpfr_t out, const void *at) {
    int64_t high = (int64_t)load_bits((const char *)at + 8, 8);
    mpfr_t low;
    mpfr_init2(low, 64);
    mpfr_set_uj(low, load_bits(at, 8), MPFR_RNDN);
    mpfr_set_sj_2exp(out, high, 64, MPFR_RNDN);
    mpfr_add(out, out, low, MPFR_RNDN);
    mpfr_clear(low);
}

/* Element i, exactly. */
static inline void get_element(mpfr_t out, bf_dtype dtype, const void *data, int64_t i) {
    if (dtype == BF_I128) {
        get_i128(out, (const char *)data + 16 * i);
        return;
    }
    size_t bytes = bf_dtype_size(dtype);
    uint64_t bits = load_bits((const char *)data + (size_t)i * bytes, bytes);
    int unused = 64 - 8 * (int)bytes;
    if (is_float(dtype))
        mpfr_set_d(out, wide_float(dtype, bits), MPFR_RNDN);
    else if (dtype == BF_BOOL)
        mpfr_set_ui(out, bits != 0, MPFR_RNDN);
    else if (is_signed(dtype))
        mpfr_set_sj(out, (int64_t)(bits << unused) >> unused, MPFR_RNDN);
    else
        mpfr_set_uj(out, bits, MPFR_RNDN);
}

/* Exact sums of x, x*x and x*y. */
typedef struct exact_sums {
    mpfr_t x, xx, xy;
    int64_t n;
} exact_sums;

static inline void exact_init(exact_sums *s) {
    mpfr_inits2(EXACT_BITS, s->x, s->xx, s->xy, (mpfr_ptr)NULL);
    mpfr_set_zero(s->x, 1);
    mpfr_set_zero(s->xx, 1);
    mpfr_set_zero(s->xy, 1);
    s->n = 0;
}

static inline void exact_clear(exact_sums *s) {
    mpfr_clears(s->x, s->xx, s->xy, (mpfr_ptr)NULL);
    mpfr_free_cache();
}

/* y may be NULL. Finite elements only. */
static inline void exact_add(exact_sums *s, bf_dtype dtype, const void *x, const void *y,
                             int64_t n) {
    mpfr_t a, b, p;
    mpfr_inits2(128, a, b, (mpfr_ptr)NULL);
    mpfr_init2(p, 256);
    for (int64_t i = 0; i < n; i++) {
        get_element(a, dtype, x, i);
        mpfr_add(s->x, s->x, a, MPFR_RNDN);
        mpfr_sqr(p, a, MPFR_RNDN);
        mpfr_add(s->xx, s->xx, p, MPFR_RNDN);
        if (!y) continue;
        get_element(b, dtype, y, i);
        mpfr_mul(p, a, b, MPFR_RNDN);
        mpfr_add(s->xy, s->xy, p, MPFR_RNDN);
    }
    s->n += n;
    mpfr_clears(a, b, p, (mpfr_ptr)NULL);
}

/* x was rounded towards zero: if that cut anything off, puts x between what it is and what follows,
 * where a later rounding sees no tie. */
static inline void make_sticky(mpfr_t x, int inexact) {
    if (inexact == 0) return;
    mpfr_prec_round(x, mpfr_get_prec(x) + 1, MPFR_RNDZ);
    if (mpfr_sgn(x) > 0)
        mpfr_nextabove(x);
    else
        mpfr_nextbelow(x);
}

static inline double round_once(const mpfr_t x, bf_dtype out) {
    return out == BF_F32 ? (double)mpfr_get_flt(x, MPFR_RNDN) : mpfr_get_d(x, MPFR_RNDN);
}

static inline double quotient_once(const mpfr_t x, const mpfr_t divisor, bool root, bf_dtype out) {
    mpfr_t q;
    mpfr_init2(q, 2 * EXACT_BITS);
    make_sticky(q, mpfr_div(q, x, divisor, MPFR_RNDZ));
    if (root) make_sticky(q, mpfr_sqrt(q, q, MPFR_RNDZ));
    double result = round_once(q, out);
    mpfr_clear(q);
    return result;
}

/* Multiplies by the power of ten that results of elements in units of 10^-scale are divided by. */
static inline void scale_divisor(mpfr_t divisor, bf_reduction op, int scale) {
    mpfr_t power;
    mpfr_init2(power, 256);
    mpfr_ui_pow_ui(power, 10, (unsigned long)(op == BF_SUM || op == BF_MEAN ? scale : 2 * scale),
                   MPFR_RNDN);
    mpfr_mul(divisor, divisor, power, MPFR_RNDN);
    mpfr_clear(power);
}

static inline double exact_variance(const exact_sums *s, bf_reduction op, int ddof, int scale,
                                    bf_dtype out) {
    mpfr_t spread, square, divisor;
    if (s->n <= ddof) return (double)NAN;
    mpfr_inits2(2 * EXACT_BITS, spread, square, divisor, (mpfr_ptr)NULL);
    mpfr_mul_si(spread, s->xx, (long)s->n, MPFR_RNDN);
    mpfr_sqr(square, s->x, MPFR_RNDN);
    mpfr_sub(spread, spread, square, MPFR_RNDN);
    mpfr_set_si(divisor, (long)s->n, MPFR_RNDN);
    mpfr_mul_si(divisor, divisor, (long)(s->n - ddof), MPFR_RNDN);
    scale_divisor(divisor, op, scale);
    double result = quotient_once(spread, divisor, op == BF_STD, out);
    mpfr_clears(spread, square, divisor, (mpfr_ptr)NULL);
    return result;
}

/* The answer as a float: of sum, mean, var, std, sumsq, norm and dot, of elements in units of
 * 10^-scale. */
static inline double exact_scaled(const exact_sums *s, bf_reduction op, int ddof, int scale,
                                  bf_dtype out) {
    mpfr_t n;
    double result;
    mpfr_init2(n, 512);
    mpfr_set_sj(n, op == BF_MEAN ? s->n : 1, MPFR_RNDN);
    scale_divisor(n, op, scale);
    switch (op) {
    case BF_SUM: result = quotient_once(s->x, n, false, out); break;
    case BF_MEAN: result = s->n ? quotient_once(s->x, n, false, out) : (double)NAN; break;
    case BF_SUMSQ: result = quotient_once(s->xx, n, false, out); break;
    case BF_NORM: result = quotient_once(s->xx, n, true, out); break;
    case BF_DOT: result = quotient_once(s->xy, n, false, out); break;
    default: result = exact_variance(s, op, ddof, scale, out);
    }
    mpfr_clear(n);
    return result == 0 ? copysign(0, mpfr_sgn(op == BF_DOT ? s->xy : s->x) < 0 ? -1 : 1) : result;
}

static inline double exact_float(const exact_sums *s, bf_reduction op, int ddof, bf_dtype out) {
    return exact_scaled(s, op, ddof, 0, out);
}

/* The answer as text: an integer sum, sum of squares or dot product. */
static inline void exact_integer(const exact_sums *s, bf_reduction op, char text[BF_VALUE_TEXT]) {
    mpfr_srcptr x = op == BF_SUM ? s->x : op == BF_SUMSQ ? s->xx : s->xy;
    mpfr_snprintf(text, BF_VALUE_TEXT, "%.0Rf", x);
}

#define assert_same_float(found, expected)                                                         \
    do {                                                                                           \
        double found_ = (found), expected_ = (expected);                                           \
        if (memcmp(&found_, &expected_, sizeof found_)) fail_msg("%a, not %a", found_, expected_); \
    } while (0)

static inline bf_context *make_context(const char *isa, int threads) {
    bf_context *context = NULL;
    const bf_options how = BF_OPTIONS(.device = "cpu", .isa = isa, .threads = threads);
    assert_int_equal(bf_context_create(&how, &context), BF_OK);
    try_context(context);
    return context;
}

/* Calls check(context, data) for every instruction set of this machine with 1, 2 and 3 threads:
 * under ThreadSanitizer, which makes all slow and sees threads alone, once, with two. */
static inline void on_every_context(void (*check)(bf_context *, void *), void *data) {
#ifdef THREAD_SANITIZER
    bf_context *context = make_context(NULL, 2);
    check(context, data);
    bf_context_destroy(context);
#else
    for (int i = 0; bf_isa_name(i); i++) {
        const int first = CONTEXT_STEP == 3 && i % 2 == 1 ? 3 : 1;
        for (int threads = first; threads <= 3 && bf_isa_available(i); threads += CONTEXT_STEP) {
            bf_context *context = make_context(bf_isa_name(i), threads);
            check(context, data);
            bf_context_destroy(context);
        }
    }
#endif
}

/* Begins a case that is tried on each of them. */
#define TEST_ON_EVERY_CONTEXT(name)                                                                \
    static void name##_on(bf_context *context, void *unused);                                      \
    TEST(name) { on_every_context(name##_on, NULL); }                                              \
    static void name##_on(bf_context *context, __attribute__((unused)) void *unused)

/* The value of a float result as a double. */
static inline double value_float(const bf_value *v) {
    return v->dtype == BF_F32 ? (double)v->as.f32 : v->as.f64;
}

#endif
