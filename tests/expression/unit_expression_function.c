/* Functions of expressions, and NULL: rows of a table as text, rounding against MPFR, and the
 * functions of the C library against themselves. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 3, COLUMNS = 7, MANY = 4099 };

/* a and d have NULLs; d is a decimal of hundredths. */
static const char *const names[COLUMNS] = {"a", "n", "d", "b", "h", "w", "t"};
static const bf_dtype dtypes[COLUMNS] = {BF_F64, BF_I64, BF_I64, BF_BOOL, BF_F32, BF_I128, BF_I64};
static const int scales[COLUMNS] = {0, 0, 2, 0, 0, 3, 0};
static const unsigned char times[COLUMNS] = {0, 0, 0, 0, 0, 0, BF_TIME_DATE};

static const double a[ROWS] = {1.5, 0, -2.5};
static const int64_t n[ROWS] = {4, 0, -155}, d[ROWS] = {105, 1235, -1245};
static const int64_t t[ROWS] = {0, 86400, 1795824000};
static const bool b[ROWS] = {true, false, true};
static const float h[ROWS] = {0.125f, 2.0f, 1e10f};
static const int64_t w[2 * ROWS] = {1500, 0, -2500, -1, 12345, 1}; /* low and high words */
static const uint8_t a_valid = 5, d_valid = 3;

static bf_expression *parse(bf_context *context, const char *text, int wide) {
    bf_expression *e = NULL;
    const bf_expression_options options =
        BF_EXPRESSION_OPTIONS(.scales = scales, .times = times, .wide = wide);
    if (bf_expression_parse(context, text, names, dtypes, COLUMNS, &options, NULL, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

static const bf_column *const *table_columns(void) {
    static const void *const data[COLUMNS] = {a, n, d, b, h, w, t};
    static bf_array arrays[COLUMNS];
    static bf_column columns[COLUMNS];
    static const bf_column *all[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        arrays[i] = bf_array_of(dtypes[i], data[i], ROWS);
        columns[i] = (bf_column){.size = sizeof *columns, .numbers = &arrays[i]};
        all[i] = &columns[i];
    }
    columns[0].valid = &a_valid;
    columns[2].valid = &d_valid;
    return all;
}

static void format_number(const bf_expression *e, const char *at, char *text) {
    const bf_dtype dtype = bf_expression_dtype(e);
    bf_value value = {.dtype = dtype == BF_I128 ? BF_I192 : dtype, .scale = bf_expression_scale(e)};
    memcpy(&value.as, at, bf_dtype_size(dtype));
    if (dtype == BF_I128) value.as.i192[2] = value.as.i192[1] >> 63 ? ~UINT64_C(0) : 0;
    const bf_time time = {value.as.i64, value.scale, bf_expression_time(e)};
    if (time.kind != BF_TIME_NONE)
        bf_time_format(&time, text);
    else
        bf_value_format(&value, text);
}

/* The rows' results, with commas between. */
static void evaluate(bf_context *context, const char *text, int wide, char *found) {
    char room[16 * ROWS];
    uint8_t valid[ROWS];
    OWN(bf_expression) *e = parse(context, text, wide);
    const bf_dtype dtype = bf_expression_dtype(e);
    const bf_array out = bf_array_of(dtype, room, ROWS);
    if (bf_expression_eval_columns(e, table_columns(), &out, valid) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    *found = '\0';
    for (int i = 0; i < ROWS; i++) {
        found = strcpy(found, i > 0 ? ", " : "") + (i > 0 ? 2 : 0);
        if (valid[i])
            format_number(e, room + (size_t)i * bf_dtype_size(dtype), found);
        else
            strcpy(found, "NULL");
        found += strlen(found);
    }
}

static const char *const results[][2] = {
    {"coalesce(a, 7)", "1.5, 7, -2.5"},
    {"coalesce(a, d)", "1.5, 12.35, -2.5"},
    {"coalesce(d, n)", "1.05, 12.35, -155"},
    {"coalesce(null, d, 0.5)", "1.05, 12.35, 0.5"},
    {"coalesce(a, null, 100)", "1.5, 100, -2.5"},
    {"coalesce(a, 1 % (n - 4))", "1.5, -3, -2.5"},
    {"coalesce(n, 1 % 0)", "4, 0, -155"},
    {"coalesce(b && null, 4)", "4, 0, 4"},
    {"coalesce(t, \"2000-01-01\")", "1970-01-01, 1970-01-02, 2026-11-28"},
    {"is_null(a)", "0, 1, 0"},
    {"isnull(null)", "1, 1, 1"},
    {"is_null(coalesce(a, d))", "0, 0, 0"},
    {"if(b, n, 9)", "4, 9, -155"},
    {"if(n > 0, d, null)", "1.05, NULL, NULL"},
    {"n > 0 ? null : d", "NULL, 12.35, NULL"},
    {"if(n != 0, 100 % n, -1)", "0, -1, -55"},
    {"b ? 0.25 : null", "0.25, NULL, 0.25"},
    {"(b ? null : 0.25) + d", "NULL, 12.6, NULL"},
    {"1 ? null : d", "NULL, NULL, NULL"},
    {"coalesce(1 ? null : 3, n)", "4, 0, -155"},
    {"if(null, n, 3)", "3, 3, 3"},
    {"if(a > 0, 1, if(isnull(a), 2, 3))", "1, 2, 3"},
    {"b ? t : null", "1970-01-01, NULL, 2026-11-28"},
    {"b || null", "1, NULL, 1"},
    {"null && b", "NULL, 0, NULL"},
    {"coalesce(n + null, 1)", "1, 1, 1"},
    {"coalesce(!null, b)", "1, 0, 1"},
    {"coalesce(null ** 2, -null, n)", "4, 0, -155"},
    {"min(n, 3, d)", "1.05, 0, NULL"},
    {"max(n, 3, 2, 10)", "10, 10, 10"},
    {"round(d, 1)", "1, 12.4, NULL"},
    {"round(d, 0)", "1, 12, NULL"},
    {"round(d, 2)", "1.05, 12.35, NULL"},
    {"round(d, 5)", "1.05, 12.35, NULL"},
    {"round(d, -1)", "0, 10, NULL"},
    {"round(d, -18)", "0, 0, NULL"},
    {"round(n, -1)", "0, 0, -160"},
    {"round(n, 2)", "4, 0, -155"},
    {"round(b, -1)", "0, 0, 0"},
    {"round(w, 0)", "2, -2, 18446744073709564"},
    {"round(a, 0)", "2, NULL, -2"},
    {"round(h, 2)", "0.12, 2, 10000000000"},
    {"round(2.675, 2) + n", "6.68, 2.68, -152.32"},
    {"round(25, -1) * n", "80, 0, -3100"},
    {"exp(n) > 54 && log(n) < 1.4", "1, 0, 0"},
    {"log2(8) + log10(1000) + n", "10, 6, -149"},
    {"pow(d, 2)", "1.1025, 152.52249999999998, NULL"},
    {"pow(2, n - n)", "1, 1, 1"},
};

TEST_ON_EVERY_CONTEXT(functions_of_rows) {
    char found[ROWS * BF_VALUE_TEXT];
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        for (int wide = 0; wide < 2; wide++) {
            evaluate(context, results[i][0], wide, found);
            if (strcmp(found, results[i][1]) != 0)
                fail_msg("%s: %s, not %s", results[i][0], found, results[i][1]);
        }
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* The exact rounding, rounded to so many bits. */
static double rounded(double x, int digits, int bits) {
    mpfr_t at, power, result;
    mpfr_inits2(4000, at, power, (mpfr_ptr)0);
    mpfr_init2(result, bits);
    mpfr_set_d(at, x, MPFR_RNDN);
    mpfr_ui_pow_ui(power, 10, (unsigned long)abs(digits), MPFR_RNDN);
    if (digits < 0)
        mpfr_div(at, at, power, MPFR_RNDN);
    else
        mpfr_mul(at, at, power, MPFR_RNDN);
    mpfr_roundeven(at, at);
    if (digits < 0)
        mpfr_mul(result, at, power, MPFR_RNDN);
    else
        mpfr_div(result, at, power, MPFR_RNDN);
    const double found = copysign(mpfr_get_d(result, MPFR_RNDN), x);
    mpfr_clears(at, power, result, (mpfr_ptr)0);
    return found;
}

/* Doubles of many sizes, and decimals with a 5 behind their last digit. */
static double some_number(uint64_t *seed, int i) {
    const uint64_t x = next_random(seed), y = next_random(seed);
    const double size = (double)(int64_t)x * ldexp(1, (int)(y % 160) - 130);
    const double tie = ((double)(x % 100000) + 0.5) / pow(10, (double)(y % 8));
    return i % 3 == 0 ? size : i % 3 == 1 ? tie : -tie * 1e7;
}

static void look_at_rounding(bf_context *context, int digits) {
    static double x[MANY], found[MANY];
    static float y[MANY], found_f32[MANY];
    static const char *const name = "x";
    const void *const data[] = {x, y};
    void *const to[] = {found, found_f32};
    const bf_dtype of[] = {BF_F64, BF_F32};
    char text[40];
    uint64_t seed = (uint64_t)(digits + 99);
    for (int i = 0; i < MANY; i++) y[i] = (float)(x[i] = some_number(&seed, i));
    x[0] = -0.0, x[1] = INFINITY, x[2] = -0.25, x[3] = 1.7e308, x[4] = 5e-324;
    snprintf(text, sizeof text, "round(x, %d)", digits);
    for (int k = 0; k < 2; k++) {
        OWN(bf_expression) *e = NULL;
        const bf_array in = bf_array_of(of[k], data[k], MANY),
                       out = bf_array_of(of[k], to[k], MANY);
        const bf_array *const column = &in;
        assert_int_equal(bf_expression_parse(context, text, &name, &of[k], 1, NULL, NULL, &e),
                         BF_OK);
        assert_int_equal(bf_expression_eval(e, &column, &out), BF_OK);
    }
    for (int i = 0; i < MANY; i++) {
        const double wanted = isinf(x[i]) ? x[i] : rounded(x[i], digits, 53);
        const float wanted_f32 = isinf(y[i]) ? y[i] : (float)rounded((double)y[i], digits, 24);
        if (memcmp(&found[i], &wanted, sizeof wanted) != 0)
            fail_msg("%s of %a: %a, not %a", text, x[i], found[i], wanted);
        if (memcmp(&found_f32[i], &wanted_f32, sizeof wanted_f32) != 0)
            fail_msg("%s of %a: %a, not %a", text, (double)y[i], (double)found_f32[i],
                     (double)wanted_f32);
    }
}

TEST(floats_are_rounded_exactly) {
    OWN(bf_context) *context = make_context(NULL, 1);
    for (int digits = -18; digits <= 18; digits++) look_at_rounding(context, digits);
}

TEST(integers_that_do_not_fit) {
    static const char *const name = "x";
    static const int8_t x[] = {125, -128, 4};
    static const bf_dtype dtype = BF_I8;
    static const int8_t saturated[] = {120, -128, 0}, wrapped[] = {120, 126, 0};
    const int8_t *const wanted[] = {NULL, wrapped, saturated};
    int8_t found[3];
    const bf_array in = bf_array_of(BF_I8, x, 3), out = bf_array_of(BF_I8, found, 3);
    const bf_array *const column = &in;
    OWN(bf_context) *context = make_context(NULL, 1);
    for (int policy = 0; policy < 3; policy++) {
        const bf_expression_options how =
            BF_EXPRESSION_OPTIONS(.overflow = (bf_overflow_policy)policy);
        OWN(bf_expression) *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, "round(x, -1)", &name, &dtype, 1, &how, NULL, &e), BF_OK);
        assert_int_equal(bf_expression_eval(e, &column, &out), policy == 0 ? BF_E_OVERFLOW : BF_OK);
        if (policy == 0)
            assert_string_equal(bf_context_message(context),
                                "character 1: the result at index 1 does not fit i8");
        else
            assert_memory_equal(found, wanted[policy], 3);
    }
}

/* ---- the C library --------------------------------------------------------------------------- */

static double (*const library[])(double) = {log, log2, log10, exp};

TEST_ON_EVERY_CONTEXT(functions_of_the_c_library) {
    static const char *const texts[] = {"log(x)", "log2(x)", "log10(x)", "exp(x)", "pow(x, x)"};
    static const char *const name = "x";
    static const bf_dtype of[] = {BF_F64, BF_F32, BF_I32};
    static double x[MANY], found[MANY];
    static float y[MANY];
    static int32_t z[MANY];
    const void *const data[] = {x, y, z};
    uint64_t seed = 8;
    for (int i = 0; i < MANY; i++) {
        x[i] = ldexp((double)(next_random(&seed) >> 40), -16) - 20;
        y[i] = (float)x[i];
        z[i] = (int32_t)x[i];
    }
    for (int k = 0; k < 15; k++) {
        bf_expression *e = NULL;
        const int dtype = k / 5;
        const bf_array in = bf_array_of(of[dtype], data[dtype], MANY);
        const bf_array out = bf_array_of(dtype == 1 ? BF_F32 : BF_F64, found, MANY);
        const bf_array *const column = &in;
        assert_int_equal(
            bf_expression_parse(context, texts[k % 5], &name, &of[dtype], 1, NULL, NULL, &e),
            BF_OK);
        assert_int_equal(bf_expression_eval(e, &column, &out), BF_OK);
        bf_expression_destroy(e);
        for (int i = 0; i < MANY; i++) {
            const double at = dtype == 0 ? x[i] : dtype == 1 ? (double)y[i] : z[i];
            double wanted = k % 5 < 4 ? library[k % 5](at) : pow(at, at);
            if (dtype == 1) wanted = (double)(float)wanted;
            const double got = dtype == 1 ? (double)((const float *)found)[i] : found[i];
            const uint64_t nan = UINT64_C(0x7ff8) << 48;
            if (isnan(wanted) ? isnan(got) && (dtype == 1 || memcmp(&got, &nan, 8) == 0)
                              : got == wanted)
                continue;
            fail_msg("%s of %a: %a, not %a", texts[k % 5], at, got, wanted);
        }
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static const char *const refused[][2] = {
    {"null", "character 1: the result is nothing but NULL"},
    {"null + 1", "character 1: the result is nothing but NULL"},
    {"coalesce(n)", "character 11: the function takes at least 2 arguments"},
    {"if(b, n)", "character 8: the function takes 3 arguments"},
    {"if(b, n, 1, 2)", "character 11: the function takes 3 arguments"},
    {"round(n)", "character 8: the function takes 2 arguments"},
    {"round(n, 0.5)", "character 1: the digits are a whole number from -18 to 18"},
    {"round(n, 19)", "character 1: the digits are a whole number from -18 to 18"},
    {"round(a, n)", "character 1: the digits are a whole number from -18 to 18"},
    {"coalesce(n, t)", "character 1: times are compared, chosen, subtracted and taken apart, and "
                       "seconds are added to them; there is nothing else"},
    {"round(t, 1)", "character 1: times are compared, chosen, subtracted and taken apart, and "
                    "seconds are added to them; there is nothing else"},
    {"log(b, 2)", "character 6: the function takes 1 argument"},
};

TEST(what_is_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        bf_expression *e = NULL;
        const bf_expression_options options =
            BF_EXPRESSION_OPTIONS(.scales = scales, .times = times);
        if (bf_expression_parse(context, refused[i][0], names, dtypes, COLUMNS, &options, NULL,
                                &e) == BF_OK)
            fail_msg("%s is not refused", refused[i][0]);
        if (strcmp(bf_context_message(context), refused[i][1]) != 0)
            fail_msg("%s: %s", refused[i][0], bf_context_message(context));
    }
}

/* Arrays cannot tell of a NULL. */
TEST(a_null_of_arrays_is_an_error) {
    static const char *const name = "x";
    static const bf_dtype dtype = BF_F64;
    static const double x[] = {1, 2, 3};
    double found[3];
    const bf_array in = bf_array_of(BF_F64, x, 3), out = bf_array_of(BF_F64, found, 3);
    const bf_array *const column = &in;
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_expression) *e = NULL;
    assert_int_equal(
        bf_expression_parse(context, "x == 2 ? null : x", &name, &dtype, 1, NULL, NULL, &e), BF_OK);
    assert_int_equal(bf_expression_eval(e, &column, &out), BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(context), "the result at index 1 is NULL");
}

UNIT_TESTS(expression_function, NULL, NULL)
