/* Sums of few terms against MPFR: the definition by integers, and the chains in doubles, which must
 * say so where they are not exact. */
#include "tests/support/terms.h"
#include "tests/support/unit.h"

#include "rules/number/float.h"
#include "rules/reduce/terms.h"

#include <float.h>

enum { TERMS_MOST = 40 };

static const bf_dtype floats[] = {BF_F16, BF_BF16, BF_F32, BF_F64};

/* Sums in doubles; false where they do not prove the sum. */
static bool sum_in_doubles(bf_dtype dtype, const uint64_t *term, int n, uint64_t *bits) {
    double s = wide_float(dtype, term[0]), e = 0, g = 0, d;
    bool exact = true, wide = dtype == BF_F64;
    for (int t = 1; t < n; t++) {
        double x = wide_float(dtype, term[t]);
        exact &= wide ? bf_terms_add_f64(&s, &e, &g, x) : bf_terms_add(&s, &e, x);
    }
    d = wide ? bf_terms_f64(s, e, g) : bf_terms_odd(s, e);
    if (wide ? !exact || !isfinite(d) : !exact && isfinite(s)) return false;
    memcpy(bits, &d, 8);
    float narrow = bf_narrow_odd(d), once = (float)d;
    uint32_t narrow_bits, once_bits;
    memcpy(&narrow_bits, &narrow, 4);
    memcpy(&once_bits, &once, 4);
    bf_format f = bf_format_of(dtype);
    if (dtype == BF_F32) *bits = once_bits;
    if (dtype == BF_F16 || dtype == BF_BF16)
        *bits = bf_float_convert(bf_format_f32(), f, narrow_bits);
    if (isnan(d)) *bits = bf_format_nan(f);
    return true;
}

/* Checks one sum. Returns whether it was proven in doubles. */
static bool check_terms(bf_dtype dtype, const uint64_t *term, int n) {
    const void *in[TERMS_MOST];
    uint64_t bits, expected = expected_bits(dtype, term, n);
    bool misfit = false;
    for (int t = 0; t < n; t++) in[t] = &term[t];
    const bf_terms terms = {dtype, n, in, 0};
    assert_int_equal(bf_terms_sum(&terms, &misfit), expected);
    assert_false(misfit);
    if (!sum_in_doubles(dtype, term, n, &bits)) return false;
    assert_int_equal(bits, expected);
    return true;
}

/* A float near `other`, or a part of its last bit, for ties and cancellation. */
static uint64_t hard_float(bf_dtype dtype, uint64_t other, uint64_t *rng) {
    int p = fraction_bits(dtype), r = (int)(next_random(rng) % 12);
    uint64_t sign = sign_bit(dtype), field = (other & ~sign) >> p;
    uint64_t random_sign = next_random(rng) & sign;
    switch (r) {
    case 0: return other ^ sign;
    case 1: return (other ^ sign) + (next_random(rng) & 1);
    case 2: return random_sign;
    case 3:
    case 4: /* half of the last bit, or a quarter of it */
        return field > (uint64_t)p + 3 ? ((field - (uint64_t)(p + r - 2)) << p) | random_sign
                                       : random_sign;
    case 5: return random_sign | 1;                          /* the least of all */
    case 6: return random_sign | (infinity_bits(dtype) - 1); /* the greatest */
    case 7: return random_float(dtype, KIND_SUBNORMAL, rng) | random_sign;
    case 8: return random_float(dtype, KIND_FULL, rng) | random_sign;
    case 9: return random_sign | (field > 0 ? field << p : 1);
    default: return random_float(dtype, KIND_NARROW, rng) | random_sign;
    }
}

TEST(sums_are_rounded_once) {
    uint64_t rng = 7, term[TERMS_MOST];
    int64_t proven[4] = {0}, tried = 40000;
    for (int64_t i = 0; i < 4 * tried; i++) {
        bf_dtype dtype = floats[i % 4];
        int n = 1 + (int)(next_random(&rng) % (i % 100 ? 8 : TERMS_MOST));
        bool wild = next_random(&rng) % 2;
        for (int t = 0; t < n; t++)
            term[t] = t > 0 && wild ? hard_float(dtype, term[next_random(&rng) % (uint64_t)t], &rng)
                                    : random_element(dtype, KIND_NARROW, 0, 0, &rng);
        if (next_random(&rng) % 50 == 0) term[0] = infinity_bits(dtype) | (rng & 1);
        proven[i % 4] += check_terms(dtype, term, n);
    }
    for (int i = 0; i < 4; i++) assert_true(proven[i] > tried / 2 && proven[i] <= tried);
    assert_true(proven[3] < tried); /* so the other way was tried, too */
}

/* Checks one addition in doubles, and of f16 and bf16 in f32, rounded to the dtype. */
static void check_pair(bf_dtype dtype, uint64_t a, uint64_t b) {
    const void *in[] = {&a, &b};
    const bf_terms terms = {dtype, 2, in, 0};
    bf_format f = bf_format_of(dtype);
    bool misfit = false;
    uint64_t expected = bf_terms_sum(&terms, &misfit), bits;
    double x = wide_float(dtype, a), y = wide_float(dtype, b), d = x + y;
    float s = (float)x + (float)y;
    uint32_t narrow;
    memcpy(&bits, &d, 8);
    memcpy(&narrow, &s, 4);
    assert_int_equal(isnan(d) ? bf_format_nan(f) : bf_float_convert(bf_format_of(BF_F64), f, bits),
                     expected);
    if (dtype == BF_F64) return;
    assert_int_equal(isnan(s) ? bf_format_nan(f) : bf_float_convert(bf_format_f32(), f, narrow),
                     expected);
}

TEST(two_terms_are_one_addition) {
    uint64_t rng = 5, special[256];
    for (int d = 0; d < 4; d++) {
        bf_dtype dtype = floats[d];
        uint64_t infinity = infinity_bits(dtype), sign = sign_bit(dtype);
        uint64_t normal = 1ull << fraction_bits(dtype), one = infinity / 2 / normal * normal;
        int n = 0;
        for (int k = 0; k < 16; k++) { /* on either side of each border, and ties */
            special[n++] = (uint64_t)k;
            special[n++] = normal + (uint64_t)k - 8;
            special[n++] = one + (uint64_t)k - 8;
            special[n++] = infinity + (uint64_t)k - 12;
            special[n++] = one - normal * (uint64_t)(fraction_bits(dtype) / 2 + k % 4) + (k & 1);
            special[n++] = infinity - normal * (uint64_t)(fraction_bits(dtype) + k % 4) + (k & 1);
        }
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
                check_pair(dtype, special[i], special[k]);
                check_pair(dtype, special[i], special[k] ^ sign);
                check_pair(dtype, special[i] ^ sign, special[k] ^ sign);
            }
        }
        for (int i = 0; i < 300000; i++) {
            uint64_t a = random_float(dtype, i % 2 ? KIND_FULL : KIND_NARROW, &rng);
            check_pair(dtype, a, hard_float(dtype, a, &rng));
        }
    }
}

TEST(every_exponent_adds) {
    uint64_t rng = 3, term[8];
    for (int i = 0; i < 40000; i++) {
        bf_dtype dtype = floats[i % 4];
        for (int t = 0; t < 8; t++) term[t] = random_element(dtype, KIND_FULL, 0, 0, &rng);
        (void)check_terms(dtype, term, 1 + i % 8);
    }
}

/* Sums that lie between two f64, or pass the greatest one on their way. */
TEST(known_sums) {
    const double cases[][4] = {
        {1, 0x1p-53, 0x1p-106, 0},
        {1, 0x1p-53, -0x1p-106, 0},
        {1, 0x1p-53, 0x1p-1074, 0},
        {1 + 0x1p-52, 0x1p-53, -0x1p-1074, 0},
        {DBL_MAX, DBL_MAX, -DBL_MAX, 0},
        {DBL_MAX, DBL_MAX, -DBL_MAX, -DBL_MAX},
        {DBL_MAX, 0x1p970, -0x1p-1074, 0},
        {DBL_MAX, 0x1p969, 0x1p969, -0x1p-1074},
        {-0.0, -0.0, -0.0, -0.0},
        {-0.0, 0.0, -0.0, -0.0},
        {1, -1, -0.0, -0.0},
        {1, 0x1p-600, -1, 0x1p-1074},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 1; n <= 4; n++) {
            uint64_t term[4];
            memcpy(term, cases[i], sizeof term);
            (void)check_terms(BF_F64, term, n);
        }
}

TEST(integers_that_do_not_fit_are_told) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        bf_dtype dtype = all_dtypes[d];
        if (is_float(dtype) || dtype == BF_BOOL) continue;
        uint64_t sign = sign_bit(dtype), mask = sign | (sign - 1);
        uint64_t most = is_signed(dtype) ? sign - 1 : mask, one = 1, least = ~most & mask;
        const void *in[] = {&most, &one, &least};
        bool misfit = false;
        const bf_terms alone = {dtype, 1, in, 0}, pair = {dtype, 2, in, 0}, all = {dtype, 3, in, 0};
        assert_int_equal(bf_terms_sum(&alone, &misfit), most);
        assert_false(misfit);
        if (is_signed(dtype)) {
            assert_int_equal(bf_terms_sum(&all, &misfit), 0);
            assert_false(misfit);
        }
        (void)bf_terms_sum(&pair, &misfit);
        assert_true(misfit);
    }
}

UNIT_TESTS(terms, NULL, NULL)
