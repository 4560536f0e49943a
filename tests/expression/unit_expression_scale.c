/* Expressions of decimals: integers with a scale, and numbers in the text. What is exact is exact,
 * everything else takes each value rounded once, and what does not fit is refused. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>

static const char *const names[] = {"a", "b", "n", "u", "f"};
static const bf_dtype dtypes[] = {BF_I64, BF_I64, BF_I64, BF_U64, BF_F64};
enum { COLUMNS = sizeof dtypes / sizeof *dtypes, MANY = 4099 };

static const int64_t a_units[] = {105}, b_units[] = {-3}, n_whole[] = {4};
static const uint64_t u_whole[] = {UINT64_MAX};
static const double f_number[] = {0.5};
static const int scales[] = {2, 1, 0, 0, 0}; /* a is 1.05, b is -0.3 */

static bf_expression *parse(bf_context *context, const char *text, const int *given, int rounded) {
    bf_expression *e = NULL;
    const bf_expression_options options =
        BF_EXPRESSION_OPTIONS(.scales = given, .rounded = rounded);
    if (bf_expression_parse(context, text, names, dtypes, COLUMNS, &options, NULL, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

/* The value of a text, as it is written. */
static void evaluate(bf_context *context, const char *text, const int *given, int rounded,
                     char found[BF_VALUE_TEXT]) {
    const void *const data[] = {a_units, b_units, n_whole, u_whole, f_number};
    bf_array arrays[COLUMNS];
    const bf_array *columns[COLUMNS];
    int64_t room[2] = {0};
    for (int i = 0; i < COLUMNS; i++) {
        arrays[i] = bf_array_of(dtypes[i], data[i], 1);
        columns[i] = &arrays[i];
    }
    OWN(bf_expression) *e = parse(context, text, given, rounded);
    const bf_array out = bf_array_of(bf_expression_dtype(e), room, 1);
    if (bf_expression_eval(e, columns, &out) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    const bool wide = out.dtype == BF_I128;
    bf_value value = {.dtype = wide ? BF_I192 : out.dtype, .scale = bf_expression_scale(e)};
    memcpy(&value.as, room, sizeof room);
    if (wide) value.as.i192[2] = room[1] < 0 ? ~UINT64_C(0) : 0;
    bf_value_format(&value, found);
}

static void check(bf_context *context, const char *text, const int *given, int rounded,
                  const char *expected) {
    char found[BF_VALUE_TEXT];
    evaluate(context, text, given, rounded, found);
    if (strcmp(found, expected) != 0) fail_msg("%s: %s, not %s", text, found, expected);
}

static const char *const exact[][2] = {
    {"a", "1.05"},
    {"a + b", "0.75"},
    {"b - a", "-1.35"},
    {"a * b", "-0.315"},
    {"a * n", "4.2"},
    {"-a", "-1.05"},
    {"abs(b)", "0.3"},
    {"min(a, b)", "-0.3"},
    {"max(b, n)", "4"},
    {"fma(a, b, n)", "3.685"},
    {"fma(b, n, a)", "-0.15"},
    {"fma(n, b, a)", "-0.15"},
    {"fma(n, n, 0.001)", "16.001"},
    {"a % b", "-0.15"},
    {"a % 0.1", "0.05"},
    {"b % 0.1", "0"},
    {"a**3", "1.157625"},
    {"a**1", "1.05"},
    {"a**0", "1"},
    {"a**0 * 1.5", "1.5"},
    {"n > 3 ? a : b", "1.05"},
    {"n < 3 ? a : b", "-0.3"},
    {"n < 3 ? 0.25 : n", "4"},
    {"n > 3 ? 0.1 : 0", "0.1"},
    {"(n > 3) * 0.1", "0.1"},
    {"n * 0.1", "0.4"},
    {"n * 1.5e2", "600"},
    {"1.1 * 3", "3.3"},
    {"0.1 + 0.2 - 0.3", "0"},
    {"(0.1 + 0.2) * n", "1.2"},
    {"1.1**2 * n", "4.84"},
    {"1.5**0 * a", "1.05"},
    {"max(0.1, 0.25) * n", "1"},
    {"7.5 % -2 * n", "-2"},
    {"-0.25 - n", "-4.25"},
    {"0.1 + 0.2 == 0.3", "1"},
    {"1e23 > 1e23 - 1e-15", "1"},
    {"9e37 > 1e-15 && -9e37 < 1e-15", "1"},
    {"b * 3 == -0.9", "1"},
    {"a == 1.05", "1"},
    {"a != 1.050", "0"},
    {"a == 1.0500000001", "0"},
    {"a != 1.0500000001", "1"},
    {"a < 1.0500000001", "1"},
    {"1.0500000001 <= a", "0"},
    {"a > 1.0499999999", "1"},
    {"1.0499999999 > a", "0"},
    {"a >= -1.0499999999", "1"},
    {"n < 0.5", "0"},
    {"n >= 3.5", "1"},
    {"a < 1e18", "1"},
    {"a > 1e18", "0"},
    {"a == 1e18", "0"},
    {"a != -1e18", "1"},
    {"-1e18 < a", "1"},
    {"a < b", "0"},
    {"a >= b", "1"},
    {"isnan(a)", "0"},
    {"!a", "0"},
    {"a && b", "1"},
    {"a + u", "18446744073709551616.05"}, /* i128 */
    {"u * 0.5", "9223372036854775807.5"},
    {"u > n", "1"},
    {"u - n == 18446744073709551611", "1"},
};

static const char *const rounded_once[][2] = {
    {"a / b", "-3.5000000000000004"}, /* 1.05 / -0.3, both doubles */
    {"a / n", "0.2625"},
    {"floor(a)", "1"},
    {"ceil(b)", "-0"},
    {"sqrt(a)", "1.02469507659596"},
    {"a + f", "1.55"},
    {"a * f", "0.525"},
    {"f * 0.1", "0.05"},
    {"a == f", "0"},
    {"a * (1 / 3)", "0.35"},
    {"n * 0.1234567890123456", "0.4938271560493824"}, /* 16 digits: a double */
    {"n * 1e-39", "4e-39"},
    {"n * 1e39", "4e+39"},
    {"n * 0x1p-1", "2"},
};

TEST_ON_EVERY_CONTEXT(decimals_are_exact_or_rounded_once) {
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        check(context, exact[i][0], scales, 0, exact[i][1]);
    for (size_t i = 0; i < sizeof rounded_once / sizeof *rounded_once; i++)
        check(context, rounded_once[i][0], scales, 0, rounded_once[i][1]);
}

TEST(without_scales_numbers_are_doubles) {
    OWN(bf_context) *context = make_context(NULL, 1);
    check(context, "0.1 + 0.2", NULL, 0, "0.30000000000000004");
    check(context, "n * 0.1 + n * 0.2", NULL, 0, "1.2000000000000002");
    check(context, "0.1 + 0.2 == 0.3", NULL, 0, "0");
    check(context, "a * 1e3", NULL, 0, "105000");
}

static double divided(int64_t units, int scale) {
    mpfr_t x;
    mpfr_init2(x, 4000);
    mpfr_set_sj(x, units, MPFR_RNDN);
    for (int i = 0; i < scale; i++) mpfr_div_si(x, x, 10, MPFR_RNDN);
    const double found = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    return found;
}

/* Numbers of any size, and some next to those that f64 stops to hold. */
static int64_t some_units(uint64_t *seed) {
    const uint64_t x = next_random(seed), y = next_random(seed);
    const int64_t size = (int64_t)(y >> 1 >> x % 63);
    const int64_t edge = (INT64_C(1) << 53) - 8 + (int64_t)(y % 17);
    const int64_t units = x % 7 == 0 ? edge : size;
    return x / 64 % 2 ? -units : units;
}

TEST_ON_EVERY_CONTEXT(every_number_is_rounded_once) {
    static int64_t units[MANY];
    static double found[MANY];
    uint64_t seed = 3;
    for (int scale = 0; scale <= BF_SCALE_MOST; scale++) {
        const int given[COLUMNS] = {scale};
        const bool small = scale % 3 == 0;
        for (int i = 0; i < MANY; i++) units[i] = some_units(&seed) / (small ? 1 << 12 : 1);
        units[7] = INT64_MIN / (small ? 1 << 12 : 1);
        const bf_array a = bf_array_of(BF_I64, units, MANY), out = bf_array_of(BF_F64, found, MANY);
        const bf_array *const columns[COLUMNS] = {&a};
        OWN(bf_expression) *e = parse(context, scale == 0 ? "a / 1" : "a", given, 1);
        assert_int_equal(bf_expression_scale(e), 0);
        assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
        for (int i = 0; i < MANY; i++)
            if (found[i] != divided(units[i], scale))
                fail_msg("%lld, scale %d: %a, not %a", (long long)units[i], scale, found[i],
                         divided(units[i], scale));
    }
}

TEST(reductions_have_the_scale) {
    static const int64_t x[] = {1, 25, -7}, y[] = {2, 40, 8};
    OWN(bf_context) *context = make_context(NULL, 2);
    const bf_array a = bf_array_of(BF_I64, x, 3), b = bf_array_of(BF_I64, y, 3);
    const bf_array *const columns[COLUMNS] = {&a, &b};
    OWN(bf_expression) *e = parse(context, "a * b", scales, 0);
    char text[BF_VALUE_TEXT];
    OWN(bf_state) *s = NULL;
    bf_value v;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I64, &s), BF_OK);
    assert_int_equal(bf_state_absorb_expression(s, e, columns), BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(context),
                        "results of scale 3 in a reduction of scale 0");
    assert_int_equal(bf_state_rescale(s, 3), BF_OK);
    assert_int_equal(bf_state_absorb_expression(s, e, columns), BF_OK);
    assert_int_equal(bf_state_result(s, NULL, &v), BF_OK);
    bf_value_format(&v, text);
    assert_string_equal(text, "0.946");
}

static void check_refused(bf_context *context, const char *text, bf_status status,
                          const char *why) {
    bf_expression *e = NULL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.scales = scales);
    const bf_status found =
        bf_expression_parse(context, text, names, dtypes, COLUMNS, &options, NULL, &e);
    if (found != status || strcmp(bf_context_message(context), why) != 0)
        fail_msg("%s: %s", text, bf_context_message(context));
}

static void check_failure(bf_context *context, const char *text, const char *why) {
    static const int64_t x[] = {1, INT64_MAX, 3}, y[] = {2, 2, 2};
    const bf_array a = bf_array_of(BF_I64, x, 3), b = bf_array_of(BF_I64, y, 3);
    const bf_array *const columns[COLUMNS] = {&a, &b, &a};
    int64_t room[3];
    OWN(bf_expression) *e = parse(context, text, scales, 0);
    const bf_array out = bf_array_of(bf_expression_dtype(e), room, 3);
    const bf_status status = bf_expression_eval(e, columns, &out);
    if ((status == BF_OK) != (why == NULL) ||
        (why != NULL && strcmp(bf_context_message(context), why) != 0))
        fail_msg("%s: %s", text, bf_context_message(context));
}

/* INT64_MAX has no 64-bit value in tenths. */
TEST(comparisons_do_not_wrap_around) {
    static const int64_t n_units[] = {9, INT64_MAX, INT64_MIN}, b_tenths[] = {91, 1, INT64_MAX};
    static const bf_overflow_policy policies[] = {BF_OVERFLOW_WRAP, BF_OVERFLOW_SATURATE};
    static const char *const less[] = {"n < b", "b > n"};
    const bf_array n = bf_array_of(BF_I64, n_units, 3), b = bf_array_of(BF_I64, b_tenths, 3);
    const bf_array *const columns[COLUMNS] = {NULL, &b, &n};
    OWN(bf_context) *context = make_context(NULL, 1);
    for (int i = 0; i < 4; i++) {
        OWN(bf_expression) *e = NULL;
        bool found[3];
        const bf_array out = bf_array_of(BF_BOOL, found, 3);
        const bf_expression_options options =
            BF_EXPRESSION_OPTIONS(.scales = scales, .overflow = policies[i / 2]);
        assert_int_equal(
            bf_expression_parse(context, less[i % 2], names, dtypes, COLUMNS, &options, NULL, &e),
            BF_OK);
        assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
        assert_true(found[0] && !found[1] && found[2]);
    }
}

TEST(what_does_not_fit_is_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    check_refused(context, "n + a**10", BF_E_OVERFLOW,
                  "character 6: the result has 20 digits behind the point, more than 18");
    check_refused(context, "a + 1e17", BF_E_OVERFLOW,
                  "character 3: a number does not fit i64 with 2 digits behind the point");
    check_refused(context, "n * 1e-19", BF_E_OVERFLOW,
                  "character 3: the result has 19 digits behind the point, more than 18");
    check_refused(context, "n * 1e19", BF_E_OVERFLOW,
                  "character 3: the number 10000000000000000000 does not fit i64");
    check_failure(context, "n + b", "character 3: the result at index 1 does not fit i64");
    check_failure(context, "n < b", "character 3: the result at index 1 does not fit i64");
    check_failure(context, "n > 9 ? n : b", "character 7: the result at index 1 does not fit i64");
    check_failure(context, "n < 9 ? n : b", NULL);
    check_failure(context, "n < 9 ? n : 0.5", NULL);
    check_failure(context, "n < 9 ? n + 0.5 : b", NULL);
    check_failure(context, "n < 9 && n > b", NULL);
    check_failure(context, "n < 0.5 || n == 1e15", NULL);
    check_failure(context, "a % (b - 0.2)", "character 3: integer division by zero at index 0");
    bf_expression *e = NULL;
    const int wrong[][COLUMNS] = {{-1}, {19}, {0, 0, 0, 1}, {0, 0, 0, 0, 1}};
    for (int i = 0; i < 4; i++) {
        const bf_expression_options options = BF_EXPRESSION_OPTIONS(.scales = wrong[i]);
        assert_int_equal(
            bf_expression_parse(context, "a", names, dtypes, COLUMNS, &options, NULL, &e),
            BF_E_ARGUMENT);
    }
}

UNIT_TESTS(expression_scale, NULL, NULL)
