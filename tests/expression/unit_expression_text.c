/* The texts of expressions: what numbers in them are, and which texts are refused, at which place.
 * Builds: release, asan (full). */
#include "tests/expression/parse.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <fenv.h>
#include <stdio.h>

static void check_value(const char *text, bf_dtype dtype, bf_dtype wanted, double x, double value) {
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_expression) *e = parse(context, text, &dtype, 1, BF_OVERFLOW_ERROR);
    uint64_t element = 0, result = 0;
    const bf_array from = bf_array_of(BF_F64, &x, 1), a = bf_array_of(dtype, &element, 1),
                   out = bf_array_of(bf_expression_dtype(e), &result, 1), *input = &from,
                   *column = &a;
    assert_int_equal(bf_map(context, BF_MAP_CAST, &input, 1, NULL, &a), BF_OK);
    assert_int_equal(bf_expression_eval(e, &column, &out), BF_OK);
    if (bf_expression_dtype(e) != wanted)
        fail_msg("%s: %s", text, bf_dtype_name(bf_expression_dtype(e)));
    double found = 0;
    const bf_array to = bf_array_of(BF_F64, &found, 1), *made = &out;
    assert_int_equal(bf_map(context, BF_MAP_CAST, &made, 1, NULL, &to), BF_OK);
    if (found != value) fail_msg("%s: %g", text, found);
}

TEST(numbers_take_the_dtype_of_columns) {
    check_value("a + 1", BF_I8, BF_I8, 5, 6);
    check_value("a + 1.0", BF_I8, BF_F64, 5, 6);
    check_value("a + 1.0", BF_F32, BF_F32, 5, 6);
    check_value("1/3*a", BF_F32, BF_F32, 3, (double)((float)(1.0 / 3) * 3));
    check_value("a / 2", BF_I8, BF_F64, 5, 2.5);
    check_value("(a > 3) * 2", BF_F16, BF_I64, 5, 2);
    check_value("a ** 0", BF_BOOL, BF_I64, 0, 1);
    check_value("a ** 1", BF_BOOL, BF_I64, 1, 1);
    check_value("a ** 2", BF_BOOL, BF_I64, 1, 1);
    check_value("a ? 300 : 1.5", BF_I8, BF_F64, 5, 300);
    check_value("a ? -a : 0", BF_I16, BF_I16, 5, -5);
    check_value("7 % -4", BF_I8, BF_I64, 0, -1);
    check_value("-9223372036854775808 + 9223372036854775807", BF_I8, BF_I64, 0, -1);
    check_value("18446744073709551615", BF_I8, BF_U64, 0, 0x1p64);
    check_value("0xfF + 0x1p-1", BF_I8, BF_F64, 0, 255.5);
    check_value("1 < 2 && !0", BF_I8, BF_BOOL, 0, 1);
    check_value("isnan(a)", BF_I32, BF_BOOL, 5, 0);
    check_value("floor(a)", BF_I32, BF_I32, 5, 5);
    check_value("floor(-2.5) + a", BF_F32, BF_F32, 5, 2);
    check_value("max(2, 3) ** 3", BF_I8, BF_I64, 5, 27);
    check_value("a", BF_U16, BF_U16, 5, 5);
    check_value("1 ? 2 : 3.5", BF_U16, BF_F64, 5, 2);
    check_value(".5 + 5. + 1e1", BF_U16, BF_F64, 5, 15.5);
}

/* ---- wrong texts ----------------------------------------------------------------------------- */

TEST(wrong_texts_are_refused_at_their_place) {
    static const struct {
        const char *text;
        int position;
        const char *why;
        bf_status status;
    } cases[] = {
        {"", 0, "a column, a number or '(' expected", BF_E_ARGUMENT},
        {"  ", 2, "a column, a number or '(' expected", BF_E_ARGUMENT},
        {"a +", 3, "a column, a number or '(' expected", BF_E_ARGUMENT},
        {"(a + b", 6, "')' expected", BF_E_ARGUMENT},
        {"a + b)", 5, "there is no '(' for this ')'", BF_E_ARGUMENT},
        {"a b", 2, "an operator expected", BF_E_ARGUMENT},
        {"a 2", 2, "an operator expected", BF_E_ARGUMENT},
        {"a ! b", 2, "an operator expected", BF_E_ARGUMENT},
        {"2 + x", 4, "no column has the name 'x'", BF_E_ARGUMENT},
        {"a + twice", 4, "two columns have the name 'twice'", BF_E_ARGUMENT},
        {"a + sin(b)", 4, "no function has the name 'sin'", BF_E_ARGUMENT},
        {"a + abs", 4, "no column has the name 'abs'", BF_E_ARGUMENT},
        {"abs(a, b)", 5, "the function takes 1 argument", BF_E_ARGUMENT},
        {"fma(a, b)", 8, "the function takes 3 arguments", BF_E_ARGUMENT},
        {"abs()", 4, "a column, a number or '(' expected", BF_E_ARGUMENT},
        {"(a, b)", 2, "')' expected", BF_E_ARGUMENT},
        {"a, b", 1, "',' is only between arguments", BF_E_ARGUMENT},
        {"a ? b", 5, "':' expected", BF_E_ARGUMENT},
        {"(a ? b)", 6, "':' expected", BF_E_ARGUMENT},
        {"a : b", 2, "there is no '?' for this ':'", BF_E_ARGUMENT},
        {"a ? b : a : b", 10, "there is no '?' for this ':'", BF_E_ARGUMENT},
        {"a < b < 2", 6, "comparisons do not follow each other: join them by &&", BF_E_ARGUMENT},
        {"a = b", 2, "'=' is no operator: '==' is", BF_E_ARGUMENT},
        {"a & b", 2, "'&' is no operator: '&&' is", BF_E_ARGUMENT},
        {"a ^ 2", 2, "'^' is no operator: '**' is", BF_E_ARGUMENT},
        {"a $ b", 2, "'$' is no operator", BF_E_ARGUMENT},
        {"a \001 b", 2, "byte 1 is no operator", BF_E_ARGUMENT},
        {"a + 1x", 4, "this is not a number", BF_E_ARGUMENT},
        {"a + 1.2.3", 4, "this is not a number", BF_E_ARGUMENT},
        {"a + 1e", 4, "this is not a number", BF_E_ARGUMENT},
        {"a + 0x", 4, "this is not a number", BF_E_ARGUMENT},
        {"a + .", 4, "'.' is no operator: it stands between two parts of a name", BF_E_ARGUMENT},
        {"18446744073709551616", 0, "the number is beyond 64 bits", BF_E_ARGUMENT},
        {"a + `unit", 4, "the name has no closing `", BF_E_ARGUMENT},
        {"a ** b", 5, "an exponent is a whole number from 0 to 64", BF_E_ARGUMENT},
        {"a ** 65", 5, "an exponent is a whole number from 0 to 64", BF_E_ARGUMENT},
        {"a ** -1", 5, "an exponent is a whole number from 0 to 64", BF_E_ARGUMENT},
        {"a ** 2.0", 5, "an exponent is a whole number from 0 to 64", BF_E_ARGUMENT},
        {"b + 300", 2, "the number 300 does not fit i8", BF_E_OVERFLOW},
        {"b + -129", 2, "the number -129 does not fit i8", BF_E_OVERFLOW},
        {"9223372036854775807 * 3", 20, "the number is beyond 64 bits", BF_E_OVERFLOW},
        {"(1 < 2) + 9223372036854775807", 8, "the number is beyond 64 bits", BF_E_OVERFLOW},
        {"1 % 0", 2, "integer division by zero", BF_E_ARGUMENT},
        {"1 / 0", 2, "integer division by zero", BF_E_ARGUMENT},
        {"1 % (2 < 1)", 2, "integer division by zero", BF_E_ARGUMENT},
        {"(1 < 2) / (2 < 1)", 8, "integer division by zero", BF_E_ARGUMENT},
        {"(b > 1) - (b > 2)", 8, "bools have no such operation: cast them first", BF_E_DTYPE},
        {"(b > 1) % (b > 2)", 8, "bools have no such operation: cast them first", BF_E_DTYPE},
        {"c + `unit price`", 2, "i64 and u64 have no common dtype: cast one of them", BF_E_DTYPE},
    };
    const bf_dtype dtypes[NAMES] = {BF_F64, BF_I8, BF_I64, BF_U64, BF_F64, BF_F64};
    OWN(bf_context) *context = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[BF_MESSAGE_TEXT];
        bf_expression *e = NULL;
        int position = -1;
        snprintf(message, sizeof message, "character %d: %s", cases[i].position + 1, cases[i].why);
        const bf_status status =
            bf_expression_parse(context, cases[i].text, names, dtypes, NAMES, NULL, &position, &e);
        if (status != cases[i].status || strcmp(message, bf_context_message(context)) != 0 || e)
            fail_msg("%s: %d, %s", cases[i].text, (int)status, bf_context_message(context));
        assert_int_equal(position, cases[i].position);
    }
}

/* A text of n times `before`, `middle`, and n times `behind`. */
static char *nested_text(int n, const char *before, const char *middle, const char *behind) {
    const size_t size[] = {strlen(before), strlen(behind)};
    char *text = malloc((size_t)n * (size[0] + size[1]) + strlen(middle) + 1), *at = text;
    assert_non_null(text);
    for (int i = 0; i < n; i++, at += size[0]) memcpy(at, before, size[0]);
    at += sprintf(at, "%s", middle);
    for (int i = 0; i < n; i++, at += size[1]) memcpy(at, behind, size[1]);
    *at = '\0';
    return text;
}

TEST(nesting_is_bounded) {
    static const struct {
        int n;
        const char *before, *behind, *why;
    } cases[] = {
        {900, "(", ")", NULL},
        {100000, "(", ")", "character 1001: the expression is nested too deeply"},
        {100000, "(", "", "character 1001: the expression is nested too deeply"},
        {100000, "abs(", ")", "character 4001: the expression is nested too deeply"},
        {100000, "-", "", "character 1001: the expression is nested too deeply"},
        {100000, "a?", ":a", "character 2002: the expression is nested too deeply"},
        {1000, "a?", ":a", NULL},
        {999, "a > 2 ? a + 1 : ", "", NULL},
        {400, "a > 2 ? a + 1 : 1 % (a < 9) + ", "", NULL},
        {100000, "a ", "", "character 3: an operator expected"},
        {200, "1+a*(", ")", NULL},
        {500, "a*a+(", ")", NULL},
        {501, "a*a+(", ")", "nested too deeply"},
        {4000, "a+", "", NULL},
        {5000, "a+", "", "the expression has more than 4096 operations"},
        {200, "a ? a : ", "", NULL},
        {1 << 20, "a+", "", "character 1048577: the expression is too long"},
    };
    OWN(bf_context) *context = make_context(NULL, 1);
    const bf_dtype dtype = BF_F64;
    const double x = 1;
    double result;
    const bf_array a = bf_array_of(BF_F64, &x, 1), out = bf_array_of(BF_F64, &result, 1),
                   *column = &a;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = nested_text(cases[i].n, cases[i].before, "a", cases[i].behind);
        OWN(bf_expression) *e = NULL;
        const bf_status status =
            bf_expression_parse(context, text, names, &dtype, 1, NULL, NULL, &e);
        if ((status == BF_OK) != (cases[i].why == NULL) ||
            (cases[i].why && !strstr(bf_context_message(context), cases[i].why)))
            fail_msg("%d of %s: %s", cases[i].n, cases[i].before, bf_context_message(context));
        if (status == BF_OK) assert_int_equal(bf_expression_eval(e, &column, &out), BF_OK);
        free(text);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Numbers are those that C reads, whose library rounds them once. */
TEST(numbers_are_rounded_once) {
    static const char *const texts[] = {
        "0.1",
        "1e23",
        "8.5e22",
        "9007199254740993.0",
        "9007199254740992.99999999999999999999999",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e400",
        "1e-400",
        "0.0e99999999999999999999",
        "1e99999999999999",
        "1e-99999999999999999999",
        "0x1.8p3",
        "0x.8p-1073",
        "0x1.00000000000008p0",
        "0x1.000000000000080000000000000000000000001p0",
        "0x1p-1075",
        "0x1.1p-1075",
        "0x1p99999",
        "0X1P-99999",
        "123456789012345678901234567890.",
        ".00000000000000000000000000000000123",
        "1.5E+3",
        "0x1fp-4",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_value(texts[i], BF_F64, BF_F64, 1, strtod(texts[i], NULL));
    /* the tie between 1 and what follows, with 2000 digits more, and with one that tips it */
    char *text =
        nested_text(2000, "", "1.00000000000000011102230246251565404236316680908203125", "0");
    check_value(text, BF_F64, BF_F64, 1, 1);
    strcpy(text + strlen(text) - 1, "1");
    check_value(text, BF_F64, BF_F64, 1, 1 + 0x1p-52);
    free(text);
    uint64_t seed = 5;
    for (int i = 0; i < 20000 / DATA_SHARE; i++) {
        char decimal[64];
        snprintf(decimal, sizeof decimal, "%llu.%llue%d", (unsigned long long)next_random(&seed),
                 (unsigned long long)(next_random(&seed) >> next_random(&seed) % 64),
                 (int)(next_random(&seed) % 700) - 350);
        check_value(decimal, BF_F64, BF_F64, 1, strtod(decimal, NULL));
    }
}

/* The caller's rounding mode changes neither numbers nor results. */
TEST(the_environment_does_not_show) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const double wanted = 0.1;
    for (int i = 0; i < 3; i++) {
        fesetround(modes[i]);
        check_value("0.1", BF_F64, BF_F64, 1, wanted);
        assert_int_equal(fegetround(), modes[i]);
    }
    fesetround(FE_TONEAREST);
}

UNIT_TESTS(expression_text, NULL, NULL)
