/* Values as text: the shortest decimal that reads back, every digit of an integer, in any locale.
 * BITFOLD_CASES: a hundredth of the random floats of each kind (default 300; 10000 for a release).
 */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static bf_value f64_value(double x) { return (bf_value){.dtype = BF_F64, .as.f64 = x}; }

/* What Python's repr() prints, without a final ".0". */
TEST(floats_look_like_python_s) {
    static const struct {
        double x;
        const char *text;
    } golden[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {0.1, "0.1"},
        {1.0, "1"},
        {100.0, "100"},
        {-1.5e-7, "-1.5e-07"},
        {4.35, "4.35"},
        {0x1p-44, "5.684341886080802e-14"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {0.00012345, "0.00012345"},
        {1e15, "1000000000000000"},
        {9999999999999998.0, "9999999999999998"},
        {1e16, "1e+16"},
        {12345678901234568.0, "1.2345678901234568e+16"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {0x1p53, "9007199254740992"},
        {0x1p-1074, "5e-324"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {0x0.fffffffffffffp-1022, "2.225073858507201e-308"},
        {0x1.fffffffffffffp1023, "1.7976931348623157e+308"},
        {1.0 / 3, "0.3333333333333333"},
        {9.5367431640625e-07, "9.5367431640625e-07"},
        {9007199254740993.0, "9007199254740992"},
        {18014398509482008.0, "1.801439850948201e+16"},  /* 2 below: an end that belongs to it */
        {18014398509481988.0, "1.8014398509481988e+16"}, /* 2 above: one that is its neighbour's */
        {0x1p50 + 0.25, "1125899906842624.2"},           /* as near as .3, and even */
        {0x1p50 + 0.75, "1125899906842624.8"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        char text[BF_VALUE_TEXT];
        bf_value v = f64_value(golden[i].x);
        bf_value_format(&v, text);
        assert_string_equal(text, golden[i].text);
    }
}

TEST(narrow_floats_are_as_short_as_their_format_allows) {
    char text[BF_VALUE_TEXT];
    bf_value single = {.dtype = BF_F32, .as.f32 = 0.1f};
    bf_value half = {.dtype = BF_F16, .as.bits = 0x2e66},
             brain = {.dtype = BF_BF16, .as.bits = 0x3dcd};
    bf_value_format(&single, text);
    assert_string_equal(text, "0.1");
    bf_value_format(&half, text);
    assert_string_equal(text, "0.1");
    bf_value_format(&brain, text);
    assert_string_equal(text, "0.1");
    half.as.bits = 0x7e00;
    bf_value_format(&half, text);
    assert_string_equal(text, "nan");
    half.as.bits = 1;
    bf_value_format(&half, text);
    assert_string_equal(text, "6e-08");
    single.as.f32 = 16777216.0f;
    bf_value_format(&single, text);
    assert_string_equal(text, "16777216");
}

/* The digits of a number as text, without sign, point, exponent and zeros at either end. */
static int significant_digits(const char *text, char digits[BF_VALUE_TEXT]) {
    int n = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0')) digits[n++] = *text;
    while (n > 0 && digits[n - 1] == '0') n--;
    digits[n] = '\0';
    return n;
}

/* The float nearest to the decimal, as a double. */
static double read_float(const char *text, bf_dtype dtype) {
    mpfr_t x;
    if (dtype == BF_F64) return strtod(text, NULL);
    if (dtype == BF_F32) return (double)strtof(text, NULL);
    const int bias = (1 << (exponent_bits(dtype) - 1)) - 1;
    const mpfr_exp_t least = mpfr_get_emin(), most = mpfr_get_emax();
    mpfr_set_emin(2 - bias - fraction_bits(dtype)); /* MPFR's significands are below 1 */
    mpfr_set_emax(bias + 1);
    mpfr_init2(x, fraction_bits(dtype) + 1);
    mpfr_subnormalize(x, mpfr_strtofr(x, text, NULL, 10, MPFR_RNDN), MPFR_RNDN);
    double value = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    mpfr_set_emin(least);
    mpfr_set_emax(most);
    return value;
}

/* The oracle is trial: of the decimals with n digits next to x, the nearer one that reads back as x
 * (of two as near the even one, as printf rounds). False if none does. */
static bool decimal_by_trial(double x, int n, bf_dtype dtype, char text[64]) {
    mpfr_t exact;
    if (n < 1) return false;
    snprintf(text, 64, "%.*e", n - 1, x);
    mpfr_init2(exact, 53);
    mpfr_set_d(exact, x, MPFR_RNDN);
    for (int up = 0; up < 2 && read_float(text, dtype) != x; up++)
        mpfr_snprintf(text, 64, up ? "%.*RUe" : "%.*RDe", n - 1, exact);
    mpfr_clear(exact);
    return read_float(text, dtype) == x;
}

static void check_shortest(bf_dtype dtype, uint64_t bits) {
    char text[BF_VALUE_TEXT], digits[BF_VALUE_TEXT], trial[64], trial_digits[BF_VALUE_TEXT];
    bf_value v = {.dtype = dtype};
    memcpy(&v.as, &bits, bf_dtype_size(dtype));
    double x = wide_float(dtype, bits);
    if (!isfinite(x)) return;
    bf_value_format(&v, text);
    if (read_float(text, dtype) != x) fail_msg("%s is not %a", text, x);
    assert_int_equal(text[0] == '-', signbit(x) != 0);
    if (x == 0) return;
    x = fabs(x);
    int n = significant_digits(text, digits);
    if (decimal_by_trial(x, n - 1, dtype, trial)) fail_msg("%s is longer than %s", text, trial);
    assert_true(decimal_by_trial(x, n, dtype, trial));
    significant_digits(trial, trial_digits);
    if (strcmp(digits, trial_digits)) fail_msg("%s is further off than %s", text, trial);
}

static int random_cases(void) {
    const char *cases = getenv("BITFOLD_CASES");
    return 100 * (cases ? atoi(cases) : 300);
}

TEST(random_floats_are_shortest) {
    uint64_t rng = 1;
    for (int i = random_cases(); i > 0; i--) {
        check_shortest(BF_F64, next_random(&rng));
        check_shortest(BF_F32, next_random(&rng) >> 32);
        double plain = (double)(int64_t)(next_random(&rng) >> 40) / 1000;
        check_shortest(BF_F64, load_bits(&plain, 8));
        double whole = (double)(next_random(&rng) >> next_random(&rng) % 64);
        check_shortest(BF_F64, load_bits(&whole, 8));
    }
}

TEST(all_floats_of_16_bits_are_shortest) {
    for (unsigned bits = 0; bits < 65536; bits++) {
        check_shortest(BF_F16, bits);
        check_shortest(BF_BF16, bits);
    }
}

/* Where the exponent changes, the lower end of a float's interval is nearer than the upper one. */
TEST(floats_next_to_powers_of_two_are_shortest) {
    for (uint64_t field = 0; field < 2048; field++) {
        for (uint64_t off = 0; off < 5; off++) {
            check_shortest(BF_F64, (field << 52) + off - 2);
            check_shortest(BF_F32, (uint32_t)((field << 23) + off - 2));
        }
    }
    for (int bit = 0; bit < 52; bit++) check_shortest(BF_F64, 1ull << bit);
    for (int bit = 0; bit < 23; bit++) check_shortest(BF_F32, 1ull << bit);
}

TEST(floats_next_to_powers_of_ten_are_shortest) {
    for (int exponent = -324; exponent <= 308; exponent++) {
        for (int digit = 1; digit <= 9; digit++) {
            char text[32];
            snprintf(text, sizeof text, "%de%d", digit, exponent);
            double x = strtod(text, NULL);
            float y = strtof(text, NULL);
            for (uint64_t off = 0; off < 5; off++) {
                check_shortest(BF_F64, load_bits(&x, 8) + off - 2);
                check_shortest(BF_F32, (uint32_t)(load_bits(&y, 4) + off - 2));
            }
        }
    }
}

TEST(integers_have_every_digit) {
    uint64_t rng = 2;
    mpz_t z, part;
    mpz_inits(z, part, NULL);
    for (int i = 0; i < 2000; i++) {
        char text[BF_VALUE_TEXT], expected[BF_VALUE_TEXT], hex[BF_VALUE_TEXT];
        bf_value v = {.dtype = BF_I192};
        for (int w = 0; w < 3; w++) v.as.i192[w] = next_random(&rng);
        int64_t top = (int64_t)v.as.i192[2] >> next_random(&rng) % 64;
        v.as.i192[2] = (uint64_t)top;
        if (i % 5 == 0) v.as.i192[1] = v.as.i192[2] = top < 0 ? ~0ull : 0;
        mpz_import(z, 3, -1, 8, 0, 0, v.as.i192);
        mpz_ui_pow_ui(part, 2, 192);
        if (top < 0) mpz_sub(z, z, part);
        bf_value_format(&v, text);
        assert_string_equal(text, mpz_get_str(expected, 10, z));
        gmp_snprintf(hex, sizeof hex, "%s0x%s", mpz_sgn(z) < 0 ? "-" : "",
                     mpz_get_str(expected, 16, z) + (mpz_sgn(z) < 0));
        bf_value_format_hex(&v, text);
        assert_string_equal(text, hex);
        mpfr_t exact;
        mpfr_init2(exact, 192);
        mpfr_set_z(exact, z, MPFR_RNDN);
        assert_same_float(bf_value_f64(&v), mpfr_get_d(exact, MPFR_RNDN));
        mpfr_clear(exact);
        int64_t i64 = 0;
        assert_int_equal(bf_value_i64(&v, &i64) == BF_OK, mpz_fits_slong_p(z));
        if (mpz_fits_slong_p(z)) assert_int_equal(i64, mpz_get_si(z));
    }
    mpz_clears(z, part, NULL);
}

TEST(the_widest_values_fit_the_text) {
    char text[BF_VALUE_TEXT];
    bf_value least = {.dtype = BF_I192, .as.i192 = {0, 0, 1ull << 63}};
    bf_value_format(&least, text);
    assert_string_equal(text, "-3138550867693340381917894711603833208051177722232017256448");
    bf_value_format_hex(&least, text);
    assert_string_equal(text, "-0x800000000000000000000000000000000000000000000000");
    bf_value u = {.dtype = BF_U64, .as.u64 = UINT64_MAX},
             i = {.dtype = BF_I64, .as.i64 = INT64_MIN};
    bf_value_format(&u, text);
    assert_string_equal(text, "18446744073709551615");
    bf_value_format(&i, text);
    assert_string_equal(text, "-9223372036854775808");
    bf_value yes = {.dtype = BF_BOOL, .as.i64 = 1}, small = {.dtype = BF_I8, .as.i64 = -128};
    bf_value_format(&yes, text);
    assert_string_equal(text, "1");
    bf_value_format(&small, text);
    assert_string_equal(text, "-128");
}

TEST(hexadecimal_is_what_printf_prints) {
    uint64_t rng = 3;
    for (int i = 0; i < 20000; i++) {
        char text[BF_VALUE_TEXT], expected[BF_VALUE_TEXT];
        double x = wide_float(BF_F64, next_random(&rng) >> (i % 2 ? next_random(&rng) % 64 : 0));
        if (isnan(x)) continue;
        bf_value v = f64_value(x);
        bf_value_format_hex(&v, text);
        snprintf(expected, sizeof expected, "%a", x);
        assert_string_equal(text, expected);
        bf_value single = {.dtype = BF_F32, .as.f32 = (float)x};
        bf_value_format_hex(&single, text);
        snprintf(expected, sizeof expected, "%a", (double)(float)x);
        assert_string_equal(text, expected);
    }
}

TEST(conversions_say_what_does_not_fit) {
    int64_t i = 7;
    uint64_t u = 7;
    bf_value half = f64_value(0.5), big = f64_value(0x1p63), minus = f64_value(-1),
             whole = f64_value(-0.0);
    bf_value nan = f64_value((double)NAN), most = {.dtype = BF_U64, .as.u64 = UINT64_MAX};
    assert_int_equal(bf_value_i64(&half, &i), BF_E_OVERFLOW);
    assert_int_equal(bf_value_i64(&big, &i), BF_E_OVERFLOW);
    assert_int_equal(bf_value_i64(&nan, &i), BF_E_OVERFLOW);
    assert_int_equal(bf_value_i64(&most, &i), BF_E_OVERFLOW);
    assert_int_equal(i, 7);
    assert_int_equal(bf_value_u64(&minus, &u), BF_E_OVERFLOW);
    assert_int_equal(bf_value_u64(&big, &u), BF_OK);
    assert_true(u == 1ull << 63);
    assert_int_equal(bf_value_i64(&whole, &i), BF_OK);
    assert_int_equal(i, 0);
    assert_int_equal(bf_value_i64(&minus, &i), BF_OK);
    assert_int_equal(i, -1);
    assert_same_float(bf_value_f64(&most), 0x1p64);
}

static void check_text(double x, const char *expected) {
    char text[BF_VALUE_TEXT];
    bf_value v = f64_value(x);
    bf_value_format(&v, text);
    assert_string_equal(text, expected);
}

TEST(the_locale_changes_nothing) {
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    char hex[BF_VALUE_TEXT];
    bool found = false;
    for (int i = 0; i < 4 && !found; i++) found = setlocale(LC_ALL, commas[i]) != NULL;
    if (!found) leave_out("no locale with a decimal comma");
    check_text(0.1, "0.1");
    check_text(-1234567.875, "-1234567.875");
    check_text(1.5e300, "1.5e+300");
    bf_value v = f64_value(1.5);
    bf_value_format_hex(&v, hex);
    setlocale(LC_ALL, "C");
    assert_string_equal(hex, "0x1.8p+0");
}

TEST(the_rounding_mode_changes_nothing) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 3; i++) {
        char a[BF_VALUE_TEXT], b[BF_VALUE_TEXT];
        bf_value v = f64_value(0.3), w = f64_value(5e-324);
        fesetround(modes[i]);
        bf_value_format(&v, a);
        bf_value_format(&w, b);
        fesetround(FE_TONEAREST);
        assert_string_equal(a, "0.3");
        assert_string_equal(b, "5e-324");
    }
}

#ifdef __x86_64__
TEST(flushing_subnormals_changes_nothing) {
    char text[BF_VALUE_TEXT], hex[BF_VALUE_TEXT];
    int64_t i64;
    bf_value least = f64_value(0x1p-1074), single = {.dtype = BF_F32, .as.f32 = 0x1p-149f};
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* FTZ and DAZ */
    bf_value_format(&least, text);
    bf_value_format_hex(&least, hex);
    const bf_status status = bf_value_i64(&least, &i64);
    const double wide = bf_value_f64(&single);
    _mm_setcsr(before);
    assert_string_equal(text, "5e-324");
    assert_string_equal(hex, "0x0.0000000000001p-1022");
    assert_int_equal(status, BF_E_OVERFLOW);
    assert_same_float(wide, 0x1p-149);
}
#endif

UNIT_TESTS(value, NULL, NULL)
