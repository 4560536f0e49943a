/* Expressions: each operation gives what bf_map gives, and those that map lacks what MPFR gives, on
 * every instruction set and number of threads; what is not needed does not fail; a wrong text is
 * refused at its place.
 * Builds: release, asan (full), tsan (full). */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <fenv.h>
#include <stdio.h>

enum { MOST = 3001, LONG = 200003 };

static const char *const names[] = {"a", "b", "c", "unit price", "twice", "twice"};
enum { NAMES = 6 };

static char inputs[3][8 * MOST + 8], results[8 * MOST], expected[8 * MOST];

static bf_expression *parse(bf_context *context, const char *text, const bf_dtype dtypes[],
                            int count, bf_overflow_policy overflow) {
    bf_expression *e = NULL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.overflow = overflow);
    if (bf_expression_parse(context, text, names, dtypes, count, &options, NULL, &e) != BF_OK)
        fail_msg("%s: %s", text, bf_context_message(context));
    return e;
}

/* ---- operations of map ----------------------------------------------------------------------- */

typedef struct operation {
    const char *text;
    bf_map_op op;
} operation;

static const operation operations[] = {
    {"a + b", BF_MAP_ADD},        {"a-b", BF_MAP_SUB},       {"a*b", BF_MAP_MUL},
    {"a / b", BF_MAP_DIV},        {"min(a, b)", BF_MAP_MIN}, {"max( a,b )", BF_MAP_MAX},
    {"fma(a, b, c)", BF_MAP_FMA}, {"-a", BF_MAP_NEG},        {"abs(a)", BF_MAP_ABS},
    {"sqrt(a)", BF_MAP_SQRT},     {"a == b", BF_MAP_EQ},     {"a!=b", BF_MAP_NE},
    {"a < b", BF_MAP_LT},         {"a <= b", BF_MAP_LE},     {"a > b", BF_MAP_GT},
    {"a >= b", BF_MAP_GE},
};

typedef struct problem {
    operation operation;
    bf_dtype dtypes[3];
    bf_overflow_policy overflow;
    int64_t n;
} problem;

/* The index that a message names, as text; "" of a message without one. */
static const char *index_in(const bf_context *context) {
    const char *at = strstr(bf_context_message(context), "at index");
    return at ? at : "";
}

static void check_operation(bf_context *context, void *data) {
    const problem *p = data;
    bf_array arrays[3], out;
    const bf_array *columns[3];
    char index[BF_MESSAGE_TEXT];
    const int arity = bf_map_arity(p->operation.op);
    bf_dtype dtype;
    for (int k = 0; k < 3; k++) {
        arrays[k] = bf_array_of(p->dtypes[k], inputs[k] + k, p->n);
        columns[k] = &arrays[k];
    }
    const bf_status resolved = bf_map_result_dtype(p->operation.op, p->dtypes, arity, 0, &dtype);
    if (resolved != BF_OK) {
        bf_expression *e = NULL;
        assert_int_equal(
            bf_expression_parse(context, p->operation.text, names, p->dtypes, 3, NULL, NULL, &e),
            resolved);
        return;
    }
    const bf_map_options options = BF_MAP_OPTIONS(.overflow = p->overflow);
    out = bf_array_of(dtype, expected, p->n);
    const bf_status status = bf_map(context, p->operation.op, columns, arity, &options, &out);
    snprintf(index, sizeof index, "%s", index_in(context));
    bf_expression *e = parse(context, p->operation.text, p->dtypes, 3, p->overflow);
    assert_int_equal(bf_expression_dtype(e), dtype);
    out = bf_array_of(dtype, results, p->n);
    assert_int_equal(bf_expression_eval(e, columns, &out), status);
    if (status == BF_OK)
        assert_memory_equal(results, expected, (size_t)p->n * bf_dtype_size(dtype));
    else
        assert_string_equal(index_in(context), index);
    bf_expression_destroy(e);
}

static void operations_are_those_of_map(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        for (int pair = 0; pair < DTYPE_COUNT * DTYPE_COUNT; pair += 5 * DATA_SHARE * CASE_STEP) {
            problem p = {.operation = operations[i],
                         .n = 1 + (int64_t)(next_random(&seed) % (MOST / 2))};
            p.dtypes[0] = all_dtypes[pair / DTYPE_COUNT];
            p.dtypes[1] = all_dtypes[pair % DTYPE_COUNT];
            p.dtypes[2] = all_dtypes[next_random(&seed) % DTYPE_COUNT];
            p.overflow = (bf_overflow_policy)(next_random(&seed) % 3);
            for (int k = 0; k < 3; k++)
                fill(p.dtypes[k], inputs[k] + k, p.n, (data_kind)(next_random(&seed) % KIND_COUNT),
                     next_random(&seed));
            on_every_context(check_operation, &p);
        }
    }
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Rounds x, exact, to dtype: halves by way of a double that is exact or rounded to odd. */
static uint64_t round_to(bf_dtype dtype, mpfr_t x) {
    uint64_t bits = 0;
    if (dtype == BF_F64) {
        double d = mpfr_get_d(x, MPFR_RNDN);
        memcpy(&bits, &d, 8);
    } else if (dtype == BF_F32) {
        float f = mpfr_get_flt(x, MPFR_RNDN);
        memcpy(&bits, &f, 4);
    } else {
        mpfr_t odd;
        mpfr_init2(odd, 50);
        make_sticky(odd, mpfr_set(odd, x, MPFR_RNDZ));
        double d = mpfr_get_d(odd, MPFR_RNDZ);
        mpfr_clear(odd);
        const bf_array from = bf_array_of(BF_F64, &d, 1), to = bf_array_of(dtype, &bits, 1),
                       *input = &from;
        bf_context *c = make_context("generic", 1);
        assert_int_equal(bf_map(c, BF_MAP_CAST, &input, 1, NULL, &to), BF_OK);
        bf_context_destroy(c);
    }
    return bits;
}

static uint64_t quiet_nan(bf_dtype dtype) {
    return infinity_bits(dtype) | 1ull << (fraction_bits(dtype) - 1);
}

/* a - floor(a/b) * b */
static uint64_t mod_of(bf_dtype dtype, uint64_t a, uint64_t b) {
    double x = wide_float(dtype, a), y = wide_float(dtype, b);
    if (isnan(x) || isnan(y) || isinf(x) || y == 0) return quiet_nan(dtype);
    mpfr_t m, n, r;
    mpfr_inits2(64, m, n, (mpfr_ptr)NULL);
    mpfr_init2(r, 2300);
    mpfr_set_d(m, x, MPFR_RNDN);
    mpfr_set_d(n, y, MPFR_RNDN);
    mpfr_fmod(r, m, n, MPFR_RNDN);
    if (mpfr_sgn(r) != 0 && (mpfr_sgn(r) < 0) != (y < 0)) mpfr_add(r, r, n, MPFR_RNDN);
    uint64_t bits = mpfr_zero_p(r)  ? b & sign_bit(dtype)
                    : mpfr_inf_p(r) ? (b & sign_bit(dtype)) | infinity_bits(dtype)
                                    : round_to(dtype, r);
    mpfr_clears(m, n, r, (mpfr_ptr)NULL);
    return bits;
}

static uint64_t whole_of(bf_dtype dtype, uint64_t a, bool up) {
    double x = wide_float(dtype, a);
    if (isnan(x)) return quiet_nan(dtype);
    if (isinf(x) || x == 0) return a;
    mpfr_t m;
    mpfr_init2(m, 64);
    mpfr_set_d(m, x, MPFR_RNDN);
    if (up)
        mpfr_ceil(m, m);
    else
        mpfr_floor(m, m);
    uint64_t bits = mpfr_zero_p(m) ? a & sign_bit(dtype) : round_to(dtype, m);
    mpfr_clear(m);
    return bits;
}

static uint64_t integer_mod(bf_dtype dtype, uint64_t a, uint64_t b) {
    const int unused = 64 - 8 * (int)bf_dtype_size(dtype);
    if (!is_signed(dtype)) return a % b;
    const int64_t x = (int64_t)(a << unused) >> unused, y = (int64_t)(b << unused) >> unused;
    int64_t r = y == -1 ? 0 : x % y;
    if (r != 0 && (r < 0) != (y < 0)) r += y;
    return (uint64_t)r & ~0ull >> unused;
}

typedef struct lacking {
    const char *text;
    bf_dtype dtype, result;
    int64_t n;
} lacking;

static void check_lacking(bf_context *context, void *data) {
    const lacking *l = data;
    const bf_dtype dtypes[2] = {l->dtype, l->dtype};
    bf_expression *e = parse(context, l->text, dtypes, 2, BF_OVERFLOW_ERROR);
    assert_int_equal(bf_expression_dtype(e), l->result);
    const bf_array a = bf_array_of(l->dtype, inputs[0], l->n),
                   b = bf_array_of(l->dtype, inputs[1] + 1, l->n),
                   out = bf_array_of(l->result, results, l->n), *columns[] = {&a, &b};
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
    const size_t bytes = bf_dtype_size(l->result);
    for (int64_t i = 0; i < l->n; i++) {
        const uint64_t found = load_bits(results + (size_t)i * bytes, bytes),
                       wanted = load_bits(expected + (size_t)i * bytes, bytes);
        if (found != wanted)
            fail_msg("%s of %s: %llx and %llx give %llx, not %llx", l->text,
                     bf_dtype_name(l->dtype),
                     (unsigned long long)load_bits(inputs[0] + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(inputs[1] + 1 + (size_t)i * bytes, bytes),
                     (unsigned long long)found, (unsigned long long)wanted);
    }
    bf_expression_destroy(e);
}

static void check_on_all(const char *text, bf_dtype dtype, bf_dtype result, int64_t n) {
    lacking l = {text, dtype, result, n};
    on_every_context(check_lacking, &l);
}

static void fill_pair(bf_dtype dtype, int64_t n, data_kind kind, uint64_t *seed) {
    static const uint64_t corner[] = {0, 1, 2, 3};
    const size_t bytes = bf_dtype_size(dtype);
    fill(dtype, inputs[0], n, kind, next_random(seed));
    fill(dtype, inputs[1] + 1, n, (data_kind)(next_random(seed) % KIND_COUNT), next_random(seed));
    for (int64_t i = 0; is_float(dtype) && i < n; i += 7) {
        char *at = next_random(seed) & 1 ? inputs[0] : inputs[1] + 1;
        uint64_t bits = corner[next_random(seed) % 4];
        bits = bits == 3 ? quiet_nan(dtype) : bits == 2 ? infinity_bits(dtype) : bits;
        store_bits(at + (size_t)i * bytes, bytes, bits | (next_random(seed) & sign_bit(dtype)));
    }
    for (int64_t i = 0; !is_float(dtype) && i < n; i++)
        if (load_bits(inputs[1] + 1 + (size_t)i * bytes, bytes) == 0)
            store_bits(inputs[1] + 1 + (size_t)i * bytes, bytes, 1);
}

static void operations_that_map_lacks(void **unused) {
    (void)unused;
    uint64_t seed = 2;
    for (int d = 1; d < DTYPE_COUNT; d++) {
        const bf_dtype t = all_dtypes[d];
        const size_t bytes = bf_dtype_size(t);
        for (int kind = d % CASE_STEP; kind < KIND_COUNT; kind += CASE_STEP) {
            const int64_t n = 1 + (int64_t)(next_random(&seed) % (MOST / DATA_SHARE));
            fill_pair(t, n, (data_kind)kind, &seed);
            for (int op = 0; op < 4; op++) {
                for (int64_t i = 0; i < n; i++) {
                    uint64_t a = load_bits(inputs[0] + (size_t)i * bytes, bytes),
                             b = load_bits(inputs[1] + 1 + (size_t)i * bytes, bytes), r;
                    if (op == 0)
                        r = is_float(t) ? mod_of(t, a, b) : integer_mod(t, a, b);
                    else if (op < 3)
                        r = is_float(t) ? whole_of(t, a, op == 2) : a;
                    else
                        r = is_float(t) && isnan(wide_float(t, a)) ? b : a;
                    store_bits(expected + (size_t)i * bytes, bytes, r);
                }
                static const char *const texts[] = {"a % b", "floor(a)", "ceil(a)",
                                                    "isnan(a) ? b : a"};
                check_on_all(texts[op], t, t, n);
            }
        }
    }
}

/* ---- whole expressions ----------------------------------------------------------------------- */

/* Operations one by one, which no compiler contracts. */
typedef volatile double number;

typedef struct sample {
    const char *text;
    double (*value)(double a, double b, double c);
} sample;

#define SAMPLE(name, ...)                                                                          \
    static double name(double a, double b, double c) {                                             \
        number r = 0, s = 0, t = 0;                                                                \
        (void)a, (void)b, (void)c, (void)s, (void)t;                                               \
        __VA_ARGS__;                                                                               \
        return r;                                                                                  \
    }
SAMPLE(sum_of_product, s = b * c; r = a + s)
SAMPLE(left_first, s = a - b; r = s - c)
SAMPLE(quotients, s = a / b; r = s / c)
SAMPLE(brackets, s = b - c; r = a - s)
SAMPLE(square_of_difference, s = a - b; r = s * s)
SAMPLE(negative_square, s = a * a; r = -s)
SAMPLE(fourth_power, s = a * a; s = s * a; r = s * a)
SAMPLE(power_in_product, s = b * b; s = s * b; t = a * s; r = t - c)
SAMPLE(sign_in_product, r = a * -b)
SAMPLE(two_signs, r = a)
SAMPLE(choice, r = a < b ? a : c)
SAMPLE(choice_of_choices, r = a < b ? 1 : b < c ? 2 : 3)
SAMPLE(choice_in_choice, r = a < b ? (b < c ? 1 : 2) : 3)
SAMPLE(or_of_and, r = a < b || (b < c && c < 0))
SAMPLE(not_first, r = (a == 0) == (b > 0))
SAMPLE(one_third, s = 1.0 / 3; r = s * a)
SAMPLE(mixed_numbers, s = 2.5 * 4 - 0x1.8p1; r = a + s)
SAMPLE(zeroth_power, r = 1)
SAMPLE(distance, s = a * a; t = b * b; s = s + t; r = sqrt(s))
SAMPLE(clipped, r = a < -1 ? -1 : a > 1 ? 1 : a)
SAMPLE(fused, r = fma(a, b, c))

static const sample samples[] = {
    {"a + b*c", sum_of_product},
    {"a - b - c", left_first},
    {"a / b / c", quotients},
    {"a - (b - c)", brackets},
    {"(a - b)**2", square_of_difference},
    {"-a**2", negative_square},
    {"a ** 4", fourth_power},
    {"a*b**3 - c", power_in_product},
    {"a * -b", sign_in_product},
    {"- - a", two_signs},
    {"a < b ? a : c", choice},
    {"a < b ? 1.0 : b < c ? 2 : 3", choice_of_choices},
    {"a < b ? b < c ? 1. : 2 : 3", choice_in_choice},
    {"(a < b || b < c && c < 0) * 1.0", or_of_and},
    {"((!a) == (b > 0)) * 1.0", not_first},
    {"1/3*a", one_third},
    {"a + (2.5*4 - 0x1.8p1)", mixed_numbers},
    {"a**0", zeroth_power},
    {"sqrt(a*a + b**2)", distance},
    {"max(-1, min(a, 1))", clipped},
    {"fma(a, `unit price`, c)", fused},
};

static void check_samples(bf_context *context, void *data) {
    const int64_t n = *(int64_t *)data;
    const double *a = (double *)inputs[0], *b = (double *)inputs[1], *c = (double *)inputs[2];
    const bf_dtype dtypes[] = {BF_F64, BF_F64, BF_F64, BF_F64};
    const bf_array of[] = {bf_array_of(BF_F64, a, n), bf_array_of(BF_F64, b, n),
                           bf_array_of(BF_F64, c, n)},
                   out = bf_array_of(BF_F64, results, n),
                   *columns[] = {&of[0], &of[1], &of[2], &of[1]};
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        bf_expression *e = parse(context, samples[s].text, dtypes, 4, BF_OVERFLOW_ERROR);
        assert_int_equal(bf_expression_dtype(e), BF_F64);
        assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
        for (int64_t i = 0; i < n; i++) {
            const double wanted = samples[s].value(a[i], b[i], c[i]);
            if (memcmp(&wanted, results + 8 * i, 8) != 0)
                fail_msg("%s: %a, not %a", samples[s].text, ((double *)results)[i], wanted);
        }
        bf_expression_destroy(e);
    }
}

static void expressions_are_rounded_operation_by_operation(void **unused) {
    (void)unused;
    int64_t n = MOST;
    for (int k = 0; k < 3; k++) fill(BF_F64, inputs[k], n, KIND_NARROW, 3 + (uint64_t)k);
    on_every_context(check_samples, &n);
}

static void check_value(const char *text, bf_dtype dtype, bf_dtype wanted, double x, double value) {
    bf_context *context = make_context(NULL, 1);
    bf_expression *e = parse(context, text, &dtype, 1, BF_OVERFLOW_ERROR);
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
    bf_expression_destroy(e);
    bf_context_destroy(context);
}

static void numbers_take_the_dtype_of_columns(void **unused) {
    (void)unused;
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

/* ---- what is not needed ---------------------------------------------------------------------- */

static void check_needs(bf_context *context, void *data) {
    (void)data;
    static const struct {
        const char *text;
        bf_status status;
        int64_t index;  /* where it fails */
        const char *at; /* where the operator is */
    } cases[] = {
        {"b != 0 ? a % b : -1", BF_OK, 0, NULL},
        {"b == 0 ? -1 : a % b", BF_OK, 0, NULL},
        {"b != 0 && a % b == 1", BF_OK, 0, NULL},
        {"b == 0 || a / b > 1", BF_OK, 0, NULL},
        {"b != 0 ? (a > 0 ? a % b : b % a) : 0", BF_OK, 0, NULL},
        {"a < 100 ? a * a : 0", BF_OK, 0, NULL},
        {"a < 100 ? (b != 0 && a*a % b == 0 ? a*a / b : 0.5) : -1.0", BF_OK, 0, NULL},
        {"a == b + 1000 ? 1/0 : 0 && 1%0 && 9223372036854775807*3 + 10**64 > 0", BF_OK, 0, NULL},
        {"b == 0 ? 1 % 0 : 1", BF_E_ARGUMENT, 1500, "character 12: integer division by zero at"},
        {"b && a || 2 > 1 / 0", BF_E_ARGUMENT, 1500, "character 17: integer division by zero at"},
        {"b == 0 ? 10**64 : 1", BF_E_OVERFLOW, 1500, "character 12: the number is beyond 64 bits"},
        {"a % b", BF_E_ARGUMENT, 1500, "character 3: "},
        {"b == 0 ? a % b : 0", BF_E_ARGUMENT, 1500, "character 12: "},
        {"b != 1 && a % b == 1", BF_E_ARGUMENT, 1500, "character 13: "},
        {"a * a", BF_E_OVERFLOW, 2000, "character 3: "},
        {"(a*90000 > 0) * 0 + a % b * 300000000", BF_E_ARGUMENT, 1500, "character 23: "},
        {"a % b + a*a", BF_E_ARGUMENT, 1500, "character 3: "},
        {"a*a + a % b", BF_E_ARGUMENT, 1500, "character 9: "},
        {"b != 0 ? a % b + a*a : 0", BF_E_OVERFLOW, 2000, "character 19: "},
        {"c * c + a % b", BF_E_OVERFLOW, 1499, "character 3: "},
    };
    static int32_t a[MOST], b[MOST], c[MOST];
    for (int i = 0; i < MOST; i++) {
        a[i] = i % 90 + 1;
        b[i] = i % 7 + 1;
        c[i] = 1;
    }
    b[1500] = b[1501] = b[2900] = 0;
    a[2000] = INT32_MAX;
    c[1499] = INT32_MIN;
    const bf_dtype dtypes[] = {BF_I32, BF_I32, BF_I32};
    const bf_array of[] = {bf_array_of(BF_I32, a, MOST), bf_array_of(BF_I32, b, MOST),
                           bf_array_of(BF_I32, c, MOST)},
                   *columns[] = {&of[0], &of[1], &of[2]};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bf_expression *e = parse(context, cases[i].text, dtypes, 3, BF_OVERFLOW_ERROR);
        const bf_array out = bf_array_of(bf_expression_dtype(e), results, MOST);
        char index[40];
        snprintf(index, sizeof index, "at index %lld", (long long)cases[i].index);
        if (bf_expression_eval(e, columns, &out) != cases[i].status) fail_msg("%s", cases[i].text);
        if (cases[i].status != BF_OK) {
            if (!strstr(bf_context_message(context), index) ||
                strstr(bf_context_message(context), cases[i].at) != bf_context_message(context))
                fail_msg("%s: %s", cases[i].text, bf_context_message(context));
        } else if (i == 0) {
            const int32_t *r = (const int32_t *)results;
            for (int k = 0; k < MOST; k++) assert_int_equal(r[k], b[k] ? a[k] % b[k] : -1);
        } else if (i == 5) {
            const int32_t *r = (const int32_t *)results;
            for (int k = 0; k < MOST; k++) assert_int_equal(r[k], a[k] < 100 ? a[k] * a[k] : 0);
        }
        bf_expression_destroy(e);
    }
}

static void what_is_not_needed_does_not_fail(void **unused) {
    (void)unused;
    on_every_context(check_needs, NULL);
}

/* ---- wrong texts ----------------------------------------------------------------------------- */

static void wrong_texts_are_refused_at_their_place(void **unused) {
    (void)unused;
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
    bf_context *context = make_context(NULL, 1);
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
    bf_context_destroy(context);
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

static void nesting_is_bounded(void **unused) {
    (void)unused;
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
    bf_context *context = make_context(NULL, 1);
    const bf_dtype dtype = BF_F64;
    const double x = 1;
    double result;
    const bf_array a = bf_array_of(BF_F64, &x, 1), out = bf_array_of(BF_F64, &result, 1),
                   *column = &a;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = nested_text(cases[i].n, cases[i].before, "a", cases[i].behind);
        bf_expression *e = NULL;
        const bf_status status =
            bf_expression_parse(context, text, names, &dtype, 1, NULL, NULL, &e);
        if ((status == BF_OK) != (cases[i].why == NULL) ||
            (cases[i].why && !strstr(bf_context_message(context), cases[i].why)))
            fail_msg("%d of %s: %s", cases[i].n, cases[i].before, bf_context_message(context));
        if (status == BF_OK) assert_int_equal(bf_expression_eval(e, &column, &out), BF_OK);
        bf_expression_destroy(e);
        free(text);
    }
    bf_context_destroy(context);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void arrays_of_any_strides(void **unused) {
    (void)unused;
    enum { ROWS = 70, COLUMNS = 41 };
    static double a[ROWS * COLUMNS], b[COLUMNS], out[ROWS * COLUMNS * 2];
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    bf_context *context = make_context(NULL, 2);
    bf_expression *e = parse(context, "a*2 - b", dtypes, 2, BF_OVERFLOW_ERROR);
    for (int i = 0; i < ROWS * COLUMNS; i++) a[i] = i;
    for (int i = 0; i < COLUMNS; i++) b[i] = 1000 * i;
    /* the transpose of a, b along every row, every second element of out, from its end */
    const bf_array x = {a, BF_F64, 2, {COLUMNS, ROWS}, {1, COLUMNS}},
                   y = {b, BF_F64, 2, {COLUMNS, ROWS}, {1, 0}},
                   to = {out + 2 * ROWS * COLUMNS - 1, BF_F64, 2, {COLUMNS, ROWS}, {-2 * ROWS, -2}},
                   *columns[] = {&x, &y};
    assert_int_equal(bf_expression_eval(e, columns, &to), BF_OK);
    for (int c = 0; c < COLUMNS; c++) {
        for (int r = 0; r < ROWS; r++) {
            const int at = 2 * ROWS * COLUMNS - 1 - 2 * ROWS * c - 2 * r;
            assert_true(out[at] == 2.0 * a[r * COLUMNS + c] - 1000 * c && out[at - 1] == 0);
        }
    }
    bf_state *state;
    bf_value sum;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_F64, &state), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, columns), BF_OK);
    assert_int_equal(bf_state_result(state, NULL, &sum), BF_OK);
    const double n = ROWS * COLUMNS;
    assert_true(bf_value_f64(&sum) == n * (n - 1) - ROWS * 1000.0 * COLUMNS * (COLUMNS - 1) / 2);
    bf_state_destroy(state);
    bf_expression_destroy(e);
    bf_context_destroy(context);
}

static void arguments_are_checked(void **unused) {
    (void)unused;
    double a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float f[8];
    uint8_t t[8];
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    bf_context *context = make_context(NULL, 1);
    bf_expression *e = parse(context, "b + 1", dtypes, 2, BF_OVERFLOW_ERROR),
                  *test = parse(context, "b > 1", dtypes, 2, BF_OVERFLOW_ERROR);
    assert_true(!bf_expression_uses(e, 0) && bf_expression_uses(e, 1));
    assert_true(!bf_expression_uses(e, -1) && !bf_expression_uses(e, 2));
    const bf_array x = bf_array_of(BF_F64, a, 6), y = bf_array_of(BF_F64, a, 5),
                   moved = bf_array_of(BF_F64, a + 1, 6), floats = bf_array_of(BF_F32, f, 6),
                   bools = bf_array_of(BF_BOOL, t, 6), here = bf_array_of(BF_BOOL, a, 6),
                   wrong = {a, BF_F64, 1, {-1}, {1}}, all = {a, BF_F64, 1, {6}, {0}};
    const bf_array *of_x[] = {NULL, &x}, *of_y[] = {&x, &y}, *of_floats[] = {&x, &floats},
                   *of_none[] = {&x, NULL}, *of_wrong[] = {NULL, &wrong};
    assert_int_equal(bf_expression_eval(e, of_y, &x), BF_E_SHAPE);
    assert_int_equal(bf_expression_eval(e, of_floats, &x), BF_E_DTYPE);
    assert_int_equal(bf_expression_eval(e, of_x, &floats), BF_E_DTYPE);
    assert_int_equal(bf_expression_eval(e, of_none, &x), BF_E_ARGUMENT);
    assert_int_equal(bf_expression_eval(e, of_wrong, &x), BF_E_ARGUMENT);
    assert_int_equal(bf_expression_eval(e, of_x, &moved), BF_E_ARGUMENT);
    assert_int_equal(bf_expression_eval(e, of_x, &wrong), BF_E_ARGUMENT);
    assert_int_equal(bf_expression_eval(e, of_x, &all), BF_E_ARGUMENT);
    assert_int_equal(bf_expression_eval(test, of_x, &here), BF_E_ARGUMENT);
    assert_int_equal(bf_expression_eval(test, of_x, &bools), BF_OK);
    assert_true(t[0] == 0 && t[5] == 1);
    assert_int_equal(bf_expression_eval(e, of_x, &x), BF_OK); /* in place */
    assert_true(a[0] == 2 && a[5] == 7 && a[6] == 7);
    bf_state *sum, *dot;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_F32, &sum), BF_OK);
    assert_int_equal(bf_state_create(context, BF_DOT, BF_F64, &dot), BF_OK);
    assert_int_equal(bf_state_absorb_expression(sum, e, of_x), BF_E_DTYPE);
    assert_int_equal(bf_state_absorb_expression(dot, e, of_x), BF_E_ARGUMENT);
    bf_expression *none = NULL;
    const bf_dtype unknown[] = {BF_F64, BF_I192};
    assert_int_equal(bf_expression_parse(context, "a", names, unknown, 2, NULL, NULL, &none),
                     BF_E_DTYPE);
    assert_int_equal(bf_expression_parse(context, "a", names, dtypes, -1, NULL, NULL, &none),
                     BF_E_ARGUMENT);
    const bf_expression_options policy = BF_EXPRESSION_OPTIONS(.overflow = (bf_overflow_policy)7),
                                sizeless = {.overflow = BF_OVERFLOW_WRAP};
    assert_int_equal(bf_expression_parse(context, "a", names, dtypes, 2, &policy, NULL, &none),
                     BF_E_ARGUMENT);
    assert_int_equal(bf_expression_parse(context, "a", names, dtypes, 2, &sizeless, NULL, &none),
                     BF_E_ARGUMENT);
    bf_state_destroy(sum);
    bf_state_destroy(dot);
    bf_expression_destroy(e);
    bf_expression_destroy(test);
    bf_context_destroy(context);
}

/* ---- states ---------------------------------------------------------------------------------- */

static double long_a[LONG], long_b[LONG], long_out[2 * LONG];

/* An array for results that are computed by tiles: every second element of long_out. */
static bf_array sparse_out(bf_dtype dtype, int64_t n) {
    bf_array out = bf_array_of(dtype, long_out, n);
    out.strides[0] = 2;
    return out;
}
static char saved[2][1 << 16];

/* What a state of the results says, saved. */
static size_t save_state(bf_state *state, char *to) {
    const size_t size = bf_state_save_size(state);
    assert_true(size <= sizeof saved[0]);
    assert_int_equal(bf_state_save(state, to), BF_OK);
    bf_state_destroy(state);
    return size;
}

/* A state that absorbs the expression in two parts is one that absorbs its results. */
static void check_states(bf_context *context, void *data) {
    const char *text = data;
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    bf_expression *e = parse(context, text, dtypes, 2, BF_OVERFLOW_ERROR);
    const bf_dtype dtype = bf_expression_dtype(e);
    const int64_t n = LONG, cut = 70001;
    const bf_array a = bf_array_of(BF_F64, long_a, n), b = bf_array_of(BF_F64, long_b, n),
                   out = sparse_out(dtype, n), *columns[] = {&a, &b};
    const bf_array a1 = bf_array_of(BF_F64, long_a, cut), b1 = bf_array_of(BF_F64, long_b, cut),
                   a2 = bf_array_of(BF_F64, long_a + cut, n - cut),
                   b2 = bf_array_of(BF_F64, long_b + cut, n - cut), *first[] = {&a1, &b1},
                   *second[] = {&a2, &b2};
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        bf_state *of_results, *of_parts;
        if (op == BF_DOT) continue;
        assert_int_equal(bf_state_create(context, (bf_reduction)op, dtype, &of_results), BF_OK);
        assert_int_equal(bf_state_create(context, (bf_reduction)op, dtype, &of_parts), BF_OK);
        assert_int_equal(bf_state_absorb(of_results, &out), BF_OK);
        assert_int_equal(bf_state_absorb_expression(of_parts, e, first), BF_OK);
        assert_int_equal(bf_state_absorb_expression(of_parts, e, second), BF_OK);
        const size_t size = save_state(of_results, saved[0]);
        assert_int_equal(save_state(of_parts, saved[1]), size);
        assert_memory_equal(saved[0], saved[1], size);
    }
    bf_expression_destroy(e);
}

static void states_absorb_what_is_computed(void **unused) {
    (void)unused;
    fill(BF_F64, long_a, LONG, KIND_NARROW, 11);
    fill(BF_F64, long_b, LONG, KIND_FULL, 12);
    on_every_context(check_states, "(a - b)**2");
    on_every_context(check_states, "a > 0");
    on_every_context(check_states, "floor(a*1000) % 7");
}

static float short_a[LONG], short_b[LONG];

static void check_sum(bf_context *context, const char *text, const bf_dtype dtypes[2], int kind) {
    const bf_array a = bf_array_of(dtypes[0], dtypes[0] == BF_F64 ? (void *)long_a : short_a, LONG),
                   b = bf_array_of(dtypes[1], dtypes[1] == BF_F64 ? (void *)long_b : short_b, LONG),
                   *columns[] = {&a, &b};
    bf_expression *e = parse(context, text, dtypes, 2, BF_OVERFLOW_ERROR);
    const bf_dtype dtype = bf_expression_dtype(e);
    const bf_array out = sparse_out(dtype, LONG);
    bf_state *of_results, *of_terms;
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
    assert_int_equal(bf_state_create(context, BF_SUM, dtype, &of_results), BF_OK);
    assert_int_equal(bf_state_create(context, BF_SUM, dtype, &of_terms), BF_OK);
    assert_int_equal(bf_state_absorb(of_results, &out), BF_OK);
    assert_int_equal(bf_state_absorb_expression(of_terms, e, columns), BF_OK);
    const size_t size = save_state(of_results, saved[0]);
    assert_int_equal(save_state(of_terms, saved[1]), size);
    if (memcmp(saved[0], saved[1], size) != 0)
        fail_msg("%s of %s and %s, kind %d", text, bf_dtype_name(dtypes[0]),
                 bf_dtype_name(dtypes[1]), kind);
    bf_expression_destroy(e);
}

/* A sum computes its terms as it goes, where it can: with the words of a sum of results of tiles.
 * `generic`, which never does and is slow, gets some of the data. */
static void check_sums(bf_context *context, void *data) {
    static const char *const texts[] = {"a*b",     "(a-b)**2",         "a*b - 2.5*a + b",
                                        "a + b*0", "a*a*a*a*a*a*a*a",  "0.0*a - 0.0",
                                        "a*0",     "(a+b)*(a-b) - a*a"};
    static const char *const others[] = {"a/(b*b + 2)", "min(a, b) - 1.5", "max(-a, b)",
                                         "sqrt(abs(a)) + abs(b)", "fma(a, b, -a) - b",
                                         /* operands that are the step before, on either side */
                                         "b/(a/(b*b + 1)) - (a - (b - 1.5))",
                                         "fma(b, a - b, (a + a)*(b - a))"};
    static const bf_dtype dtypes[][2] = {{BF_F64, BF_F64}, {BF_F32, BF_F32}, {BF_F32, BF_F64}};
    const int kind = *(const int *)data;
    if (strcmp(bf_context_isa(context), "generic") == 0 && kind % 4 != 0) return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_sum(context, texts[i], dtypes[i % 3 == 0 ? 0 : (size_t)kind % 3], kind);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_sum(context, others[i], dtypes[((size_t)kind + i) % 3], kind);
}

static void check_sums_of_kind(int kind) {
    for (int i = 0; i < LONG; i++) short_a[i] = (float)long_a[i], short_b[i] = (float)long_b[i];
    on_every_context(check_sums, &kind);
}

static void sums_of_terms_are_those_of_results(void **unused) {
    (void)unused;
    static const double rare[] = {NAN, INFINITY, -INFINITY, -0.0, 0x1p-1074, 0x1p1023, 0x1p-600};
    const int step = DATA_SHARE > 1 ? 5 : 1; /* another kind in each half */
    for (int kind = 0; kind < 2 * KIND_COUNT; kind += step) {
        fill(BF_F64, long_a, LONG, (data_kind)(kind % KIND_COUNT), 21 + (uint64_t)kind);
        fill(BF_F64, long_b, LONG, KIND_NARROW, 22);
        for (int i = 0; i < 7 && kind >= KIND_COUNT; i++) {
            long_a[(i + 1) * 25000 + i] = rare[i];
            long_b[i * 20000 + 77] = rare[i];
        }
        check_sums_of_kind(kind);
    }
    for (int i = 0; i < LONG; i++) long_a[i] = -0.0, long_b[i] = i % 2 ? 0.0 : -0.0;
    check_sums_of_kind(2 * KIND_COUNT);
    for (int i = 0; i < LONG; i++) long_a[i] = i % 1000 * 0x1p-1074, long_b[i] = i % 7 * 0x1p-1074;
    check_sums_of_kind(2 * KIND_COUNT + 1);
}

static void *large[3]; /* two columns, and room for the results of each context */

enum { LARGE = (1 << 24) / sizeof(float) + 77, LARGE_PART = 99999 };

static void check_parts(bf_expression *e, const char *a, const char *b, const char *out,
                        int64_t n) {
    const bf_dtype dtype = bf_expression_dtype(e);
    const int64_t size = dtype == BF_F64 ? 8 : 4;
    for (int64_t at = 0; at < n; at += LARGE_PART) {
        const int64_t m = n - at < LARGE_PART ? n - at : LARGE_PART;
        const bf_array x = bf_array_of(dtype, (char *)(uintptr_t)a + at * size, m),
                       y = bf_array_of(dtype, (char *)(uintptr_t)b + at * size, m),
                       part = sparse_out(dtype, m), *parts[] = {&x, &y};
        assert_int_equal(bf_expression_eval(e, parts, &part), BF_OK);
        for (int64_t i = 0; i < m; i++)
            if (memcmp(out + (at + i) * size, (char *)long_out + 2 * i * size, (size_t)size) != 0)
                fail_msg("element %lld differs", (long long)(at + i));
    }
}

/* Results that are stored as terms, past the caches if they are many, are those of tiles. The
 * output does not begin at a line; then it is a column, too. Nothing is written beside it. */
static void check_large(bf_context *context, const char *text, bf_dtype dtype, int64_t n) {
    const bf_dtype dtypes[] = {dtype, dtype};
    const int64_t size = dtype == BF_F64 ? 8 : 4;
    char *to = (char *)large[2] + size;
    bf_expression *e = parse(context, text, dtypes, 2, BF_OVERFLOW_ERROR);
    const bf_array a = bf_array_of(dtype, large[0], n), b = bf_array_of(dtype, large[1], n),
                   out = bf_array_of(dtype, to, n), *columns[] = {&a, &b}, *same[] = {&out, &b};
    memset(large[2], 0x55, (size_t)((n + 2) * size));
    for (int in_place = 0; in_place < 2; in_place++) {
        if (in_place) memcpy(to, large[0], (size_t)(n * size));
        assert_int_equal(bf_expression_eval(e, in_place ? same : columns, &out), BF_OK);
        check_parts(e, large[0], large[1], to, n);
        for (int64_t i = 0; i < size; i++) {
            assert_int_equal(((char *)large[2])[i], 0x55);
            assert_int_equal(to[n * size + i], 0x55);
        }
    }
    bf_expression_destroy(e);
}

static void check_large_results(bf_context *context, void *data) {
    const bf_dtype dtype = *(const bf_dtype *)data;
    const int64_t all = LARGE * 4 / (dtype == BF_F64 ? 8 : 4);
    if (strcmp(bf_context_isa(context), "generic") == 0) return; /* has no such stores */
    check_large(context, "a + b", dtype, all);
    check_large(context, "-(a - b)**2", dtype, all);
    check_large(context, "(a - b)*a", dtype, 70001);
}

static void large_results_are_those_of_parts(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_F32, BF_F64};
    for (int i = 0; i < 3; i++) large[i] = malloc(sizeof(float) * (LARGE + 4));
    for (int i = 0; i < 2; i++) {
        const int64_t n = LARGE * 4 / (dtypes[i] == BF_F64 ? 8 : 4);
        fill(dtypes[i], large[0], n, KIND_FULL, 31);
        fill(dtypes[i], large[1], n, KIND_NARROW, 32);
        for (int64_t k = 0; k < n; k += 1000) /* NaNs */
            if (dtypes[i] == BF_F64)
                ((uint64_t *)large[0])[k] = 0xfff8123400000000;
            else
                ((uint32_t *)large[0])[k] = 0xfff81234;
        on_every_context(check_large_results, (void *)(uintptr_t)&dtypes[i]);
    }
    for (int i = 0; i < 3; i++) free(large[i]);
}

static void a_failure_leaves_the_state_as_it_was(void **unused) {
    (void)unused;
    static int32_t x[LONG];
    bf_context *context = make_context(NULL, 2);
    const bf_dtype dtype = BF_I32;
    const bf_array a = bf_array_of(BF_I32, x, LONG), *column = &a;
    bf_expression *e = parse(context, "a + 1", &dtype, 1, BF_OVERFLOW_ERROR);
    bf_state *state;
    bf_value value;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I32, &state), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, &column), BF_OK);
    x[150000] = x[170000] = INT32_MAX;
    assert_int_equal(bf_state_absorb_expression(state, e, &column), BF_E_OVERFLOW);
    assert_string_equal(bf_context_message(context),
                        "character 3: the result at index 350003 does not fit i32");
    assert_int_equal(bf_state_result(state, NULL, &value), BF_OK);
    assert_true(bf_value_f64(&value) == LONG);
    bf_state_destroy(state);
    bf_expression_destroy(e);
    bf_context_destroy(context);
}

/* Numbers alone: as many results as the columns given have elements, or one. */
static void expressions_without_columns(void **unused) {
    (void)unused;
    bf_context *context = make_context(NULL, 1);
    const bf_dtype dtype = BF_F64;
    const bf_array a = bf_array_of(BF_F64, long_a, 5), *given = &a, *missing = NULL;
    bf_expression *e = parse(context, "2 + 3", &dtype, 1, BF_OVERFLOW_ERROR);
    bf_state *state;
    bf_value value;
    int64_t sum;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I64, &state), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, &given), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, &missing), BF_OK);
    assert_int_equal(bf_state_result(state, NULL, &value), BF_OK);
    assert_int_equal(bf_value_i64(&value, &sum), BF_OK);
    assert_int_equal(sum, 30);
    bf_state_destroy(state);
    bf_expression_destroy(e);
    bf_context_destroy(context);
}

/* Numbers are those that C reads, whose library rounds them once. */
static void numbers_are_rounded_once(void **unused) {
    (void)unused;
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
static void the_environment_does_not_show(void **unused) {
    (void)unused;
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const double wanted = 0.1;
    for (int i = 0; i < 3; i++) {
        fesetround(modes[i]);
        check_value("0.1", BF_F64, BF_F64, 1, wanted);
        assert_int_equal(fegetround(), modes[i]);
    }
    fesetround(FE_TONEAREST);
}

UNIT_TESTS(expression) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_those_of_map),
        cmocka_unit_test(operations_that_map_lacks),
        cmocka_unit_test(expressions_are_rounded_operation_by_operation),
        cmocka_unit_test(numbers_take_the_dtype_of_columns),
        cmocka_unit_test(what_is_not_needed_does_not_fail),
        cmocka_unit_test(wrong_texts_are_refused_at_their_place),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(arrays_of_any_strides),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(states_absorb_what_is_computed),
        cmocka_unit_test(sums_of_terms_are_those_of_results),
        cmocka_unit_test(large_results_are_those_of_parts),
        cmocka_unit_test(a_failure_leaves_the_state_as_it_was),
        cmocka_unit_test(expressions_without_columns),
        cmocka_unit_test(numbers_are_rounded_once),
        cmocka_unit_test(the_environment_does_not_show),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
