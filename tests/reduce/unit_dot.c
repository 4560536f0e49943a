/* bf_dot on every instruction set and with several threads, against MPFR.
 * Builds: release, asan, tsan (full). */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

typedef struct problem {
    bf_dtype dtype;
    bf_array a, b;
    double expected[2]; /* f64, f32 */
    char text[BF_VALUE_TEXT];
} problem;

static void problem_make(problem *p, bf_dtype dtype, data_kind k, int64_t n, uint64_t seed) {
    exact_sums s;
    size_t bytes = bf_dtype_size(dtype) * (size_t)n;
    char *x = malloc(bytes), *y = malloc(bytes);
    fill(dtype, x, n, k, seed);
    if (k == KIND_CANCEL)
        memset(y, dtype == BF_BOOL ? 1 : 0x3c, bytes); /* some constant */
    else
        fill(dtype, y, n, k, seed + 1);
    exact_init(&s);
    exact_add(&s, dtype, x, y, n);
    p->dtype = dtype;
    p->a = bf_array_of(dtype, x, n);
    p->b = bf_array_of(dtype, y, n);
    p->expected[0] = exact_float(&s, BF_DOT, 0, BF_F64);
    p->expected[1] = exact_float(&s, BF_DOT, 0, BF_F32);
    exact_integer(&s, BF_DOT, p->text);
    exact_clear(&s);
}

static void problem_free(problem *p) {
    free(p->a.data);
    free(p->b.data);
}

static void check_dot(bf_context *context, void *data) {
    const problem *p = data;
    char text[BF_VALUE_TEXT];
    bf_value v;
    bf_reduce_options single = BF_REDUCE_OPTIONS(.out_dtype = BF_F32);
    assert_int_equal(bf_dot(context, &p->a, &p->b, NULL, &v), BF_OK);
    if (!is_float(p->dtype)) {
        bf_value_format(&v, text);
        assert_string_equal(text, p->text);
        return;
    }
    if (p->expected[0] != 0)
        assert_same_float(v.as.f64, p->expected[0]);
    else
        assert_true(v.as.f64 == 0);
    assert_int_equal(bf_dot(context, &p->a, &p->b, &single, &v), BF_OK);
    if (p->expected[1] != 0)
        assert_same_float((double)v.as.f32, p->expected[1]);
    else
        assert_true(v.as.f32 == 0);
}

TEST(products_are_exact_and_their_sum_rounded_once) {
    static const int64_t sizes[] = {1, 3, 65, 1000, 4097};
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int k = 0; k < KIND_COUNT; k++) {
            problem p;
            int64_t n = sizes[next_random(&seed) % 5];
            problem_make(&p, all_dtypes[d], (data_kind)k, n, next_random(&seed));
            on_every_context(check_dot, &p);
            problem_free(&p);
        }
    }
}

/* What cancels but for the last pair: so each bit of all others has to count. */
typedef struct cancelled {
    bf_array a, b;
} cancelled;

/* Element k: a number of so many bits, between 2^-spread and 1. Those behind the sample that
 * chooses a window are larger. */
static double spread_number(int64_t k, int bits, int spread, int larger, uint64_t *seed) {
    const uint64_t whole = next_random(seed) >> (64 - bits) | (uint64_t)1 << (bits - 1) | 1;
    const int below = spread > 0 ? (int)(next_random(seed) % (uint64_t)(spread + 1)) : 0;
    return ldexp((double)whole, (k < 300 ? 0 : larger) - bits - below);
}

static void check_cancelled(bf_context *context, void *data) {
    const cancelled *c = data;
    const int64_t last = c->a.shape[0] - 1;
    const double x = ((double *)c->a.data)[last], y = ((double *)c->b.data)[last];
    bf_value v;
    assert_int_equal(bf_dot(context, &c->a, &c->b, NULL, &v), BF_OK);
    assert_same_float(v.as.f64, x * y);
    assert_int_equal(bf_reduce(context, BF_SUM, &c->a, NULL, &v), BF_OK);
    assert_same_float(v.as.f64, x);
}

TEST(every_bit_counts_whatever_the_spread) {
    static const int bits[] = {1, 11, 24, 40, 53};
    static const int spreads[] = {0, 5, 10, 16, 19, 24, 32, 45, 60, 90, 130};
    enum { MOST = 9001 };
    static const int64_t sizes[] = {67, 1025, MOST};
    static double x[MOST], y[MOST];
    uint64_t seed = 7;
    for (int i = 0; i < 5 * 11 * 3; i++) {
        const int64_t n = sizes[i % 3];
        const int b = bits[i / 33], spread = spreads[i / 3 % 11], larger = i / 3 % 7;
        cancelled c = {bf_array_of(BF_F64, x, n), bf_array_of(BF_F64, y, n)};
        for (int64_t k = 0; k < n; k++) {
            const bool again = k >= n / 2 && k < n - 1;
            x[k] = again ? -x[k - n / 2] : spread_number(k, b, spread, larger, &seed);
            y[k] = again ? y[k - n / 2] : spread_number(k, b, spread, 0, &seed);
        }
        on_every_context(check_cancelled, &c);
    }
}

/* Terms that have as many bits as a bin has room for, half of them before they cancel. */
TEST(bins_hold_all_terms_of_a_call) {
    enum { HALF = 1 << 14 };
    static double x[2 * HALF], y[2 * HALF];
    const cancelled c = {bf_array_of(BF_F64, x, 2 * HALF), bf_array_of(BF_F64, y, 2 * HALF)};
    uint64_t seed = 9;
    for (int k = 0; k < HALF; k++) {
        x[k] = ldexp(1, 33) - ldexp((double)(next_random(&seed) >> 48 | 1), -20);
        if (k % 256 == 0) x[k] = k % 512 == 0 ? 1e290 : 1e-290; /* no window holds these, too */
        x[HALF + k] = -x[k];
        y[k] = y[HALF + k] = k % 256 == 0 ? 1e-10 : x[k];
    }
    x[2 * HALF - 1] = 3; /* without the element that it cancelled */
    x[HALF - 1] = 0;
    on_every_context(check_cancelled, (void *)&c);
}

TEST(dot_does_not_depend_on_the_thread_count) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_BF16, BF_I64};
    for (int d = 0; d < 4; d++) {
        problem p;
        problem_make(&p, dtypes[d], d ? KIND_NARROW : KIND_FULL,
                     LARGE_BYTES / (int64_t)bf_dtype_size(dtypes[d]), (uint64_t)d);
        on_every_context(check_dot, &p);
        problem_free(&p);
    }
}

static double dot_of(double a0, double b0, double a1, double b1, bf_nan_policy nan) {
    bf_context *context = make_context(NULL, 1);
    double x[] = {a0, a1}, y[] = {b0, b1};
    bf_array a = bf_array_of(BF_F64, x, 2), b = bf_array_of(BF_F64, y, 2);
    bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = nan);
    bf_value v;
    assert_int_equal(bf_dot(context, &a, &b, &o, &v), BF_OK);
    bf_context_destroy(context);
    return v.as.f64;
}

TEST(products_do_not_over_or_underflow_on_the_way) {
    assert_same_float(dot_of(0x1p1000, 0x1p1000, -0x1p1000, 0x1p1000, BF_NAN_PROPAGATE), 0.0);
    assert_same_float(dot_of(0x1p1000, 0x1p23, 0x1p1000, 0x1p22, BF_NAN_PROPAGATE), 0x1.8p1023);
    assert_same_float(dot_of(0x1p1000, 0x1p24, 0, 0, BF_NAN_PROPAGATE), (double)INFINITY);
    assert_same_float(dot_of(0x1p-1074, 0x1p-1, 0x1p-1074, 0x1p-1, BF_NAN_PROPAGATE), 0x1p-1074);
    assert_same_float(dot_of(0x1p-1074, 0x1p-1, 0x1p-1074, 0x1p-1074, BF_NAN_PROPAGATE), 0x1p-1074);
}

TEST(infinity_times_zero_is_nan) {
    assert_true(isnan(dot_of((double)INFINITY, 0, 1, 1, BF_NAN_PROPAGATE)));
    assert_true(isnan(dot_of(0, -(double)INFINITY, 1, 1, BF_NAN_SKIP)));
    assert_same_float(dot_of((double)NAN, 0, 2, 3, BF_NAN_SKIP), 6.0);
    assert_same_float(dot_of((double)INFINITY, -1, 2, 3, BF_NAN_SKIP), -(double)INFINITY);
    assert_true(isnan(dot_of((double)INFINITY, 1, -(double)INFINITY, 1, BF_NAN_SKIP)));
}

TEST(pairs_must_match) {
    OWN(bf_context) *context = make_context(NULL, 1);
    double x[6] = {0};
    float f[6] = {0};
    bf_array a = bf_array_of(BF_F64, x, 6), shorter = bf_array_of(BF_F64, x, 5);
    bf_array single = bf_array_of(BF_F32, f, 6);
    bf_array square = {x, BF_F64, 2, {2, 3}, {3, 1}};
    bf_value v;
    assert_int_equal(bf_dot(context, &a, &shorter, NULL, &v), BF_E_SHAPE);
    assert_int_equal(bf_dot(context, &a, &square, NULL, &v), BF_E_SHAPE);
    assert_int_equal(bf_dot(context, &a, &single, NULL, &v), BF_E_DTYPE);
    assert_int_equal(bf_dot(context, &a, NULL, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_dot(NULL, &a, &a, NULL, &v), BF_E_ARGUMENT);
}

TEST(differing_strides_pair_elements_by_index) {
    OWN(bf_context) *context = make_context(NULL, 1);
    int16_t x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 10, 100, 1000, 10000, 30000};
    bf_array a = {x, BF_I16, 2, {2, 3}, {3, 1}}, b = {y, BF_I16, 2, {2, 3}, {1, 2}};
    bf_value v;
    int64_t found;
    assert_int_equal(bf_dot(context, &a, &b, NULL, &v), BF_OK);
    assert_int_equal(bf_value_i64(&v, &found), BF_OK);
    assert_int_equal(found, 1 * 1 + 2 * 100 + 3 * 10000 + 4 * 10 + 5 * 1000 + 6 * 30000);
}

UNIT_TESTS(dot, NULL, NULL)
