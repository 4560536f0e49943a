/* Expressions: each operation gives what bf_map gives, and those that map lacks what MPFR gives, on
 * every instruction set and number of threads; what is not needed does not fail.
 * Builds: release, asan (full), tsan (full). */
#include "tests/expression/parse.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { MOST = 3001 };

static char inputs[3][8 * MOST + 8], results[8 * MOST], expected[8 * MOST];

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
    OWN(bf_expression) *e = parse(context, p->operation.text, p->dtypes, 3, p->overflow);
    assert_int_equal(bf_expression_dtype(e), dtype);
    out = bf_array_of(dtype, results, p->n);
    assert_int_equal(bf_expression_eval(e, columns, &out), status);
    if (status == BF_OK)
        assert_memory_equal(results, expected, (size_t)p->n * bf_dtype_size(dtype));
    else
        assert_string_equal(index_in(context), index);
}

TEST(operations_are_those_of_map) {
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
        OWN(bf_context) *c = make_context("generic", 1);
        assert_int_equal(bf_map(c, BF_MAP_CAST, &input, 1, NULL, &to), BF_OK);
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
    OWN(bf_expression) *e = parse(context, l->text, dtypes, 2, BF_OVERFLOW_ERROR);
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

TEST(operations_that_map_lacks) {
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
        OWN(bf_expression) *e = parse(context, samples[s].text, dtypes, 4, BF_OVERFLOW_ERROR);
        assert_int_equal(bf_expression_dtype(e), BF_F64);
        assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
        for (int64_t i = 0; i < n; i++) {
            const double wanted = samples[s].value(a[i], b[i], c[i]);
            if (memcmp(&wanted, results + 8 * i, 8) != 0)
                fail_msg("%s: %a, not %a", samples[s].text, ((double *)results)[i], wanted);
        }
    }
}

TEST(expressions_are_rounded_operation_by_operation) {
    int64_t n = MOST;
    for (int k = 0; k < 3; k++) fill(BF_F64, inputs[k], n, KIND_NARROW, 3 + (uint64_t)k);
    on_every_context(check_samples, &n);
}

/* ---- what is not needed ---------------------------------------------------------------------- */

TEST_ON_EVERY_CONTEXT(what_is_not_needed_does_not_fail) {
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
        OWN(bf_expression) *e = parse(context, cases[i].text, dtypes, 3, BF_OVERFLOW_ERROR);
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
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

TEST(arrays_of_any_strides) {
    enum { ROWS = 70, COLUMNS = 41 };
    static double a[ROWS * COLUMNS], b[COLUMNS], out[ROWS * COLUMNS * 2];
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    OWN(bf_context) *context = make_context(NULL, 2);
    OWN(bf_expression) *e = parse(context, "a*2 - b", dtypes, 2, BF_OVERFLOW_ERROR);
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
    OWN(bf_state) *state = NULL;
    bf_value sum;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_F64, &state), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, columns), BF_OK);
    assert_int_equal(bf_state_result(state, NULL, &sum), BF_OK);
    const double n = ROWS * COLUMNS;
    assert_true(bf_value_f64(&sum) == n * (n - 1) - ROWS * 1000.0 * COLUMNS * (COLUMNS - 1) / 2);
}

TEST(arguments_are_checked) {
    double a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float f[8];
    uint8_t t[8];
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_expression) *e = parse(context, "b + 1", dtypes, 2, BF_OVERFLOW_ERROR),
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
    OWN(bf_state) *sum = NULL, *dot = NULL;
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
}

UNIT_TESTS(expression, NULL, NULL)
