/* bf_reduce and the simple calls, on every instruction set and with several threads, against MPFR.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

static const bf_reduction sums[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_SUMSQ, BF_NORM};
enum { SUMS = sizeof sums / sizeof *sums };

/* One array, and what all its reductions are. */
typedef struct problem {
    bf_dtype dtype;
    int64_t n;
    void *data;
    bf_array array;
    double expected[SUMS][2][2]; /* op, ddof, f64 or f32 */
    char text[SUMS][BF_VALUE_TEXT];
} problem;

static void problem_make(problem *p, bf_dtype dtype, data_kind k, int64_t n, uint64_t seed) {
    exact_sums s;
    size_t bytes = bf_dtype_size(dtype);
    p->dtype = dtype;
    p->n = n;
    p->data = malloc((size_t)n * bytes + 1);
    char *odd = (char *)p->data + (seed & 1); /* every other one is misaligned */
    fill(dtype, odd, n, k, seed);
    p->array = bf_array_of(dtype, odd, n);
    if (!COMPARED) return;
    exact_init(&s);
    exact_add(&s, dtype, odd, NULL, n);
    for (int i = 0; i < SUMS; i++) {
        for (int j = 0; j < 4; j++)
            p->expected[i][j >> 1][j & 1] =
                exact_float(&s, sums[i], j >> 1, j & 1 ? BF_F32 : BF_F64);
        exact_integer(&s, sums[i], p->text[i]);
    }
    exact_clear(&s);
}

static void check_sums(bf_context *context, void *data) {
    const problem *p = data;
    for (int i = 0; i < SUMS; i++) {
        for (int j = 0; j < 4; j++) {
            bf_value v;
            bf_reduce_options o =
                BF_REDUCE_OPTIONS(.ddof = j >> 1, .out_dtype = j & 1 ? BF_F32 : 0);
            assert_int_equal(bf_reduce(context, sums[i], &p->array, &o, &v), BF_OK);
            if (!COMPARED) continue;
            if (v.dtype == BF_I192) {
                char text[BF_VALUE_TEXT];
                bf_value_format(&v, text);
                assert_string_equal(text, p->text[i]);
                continue;
            }
            double expected = p->expected[i][j >> 1][j & 1];
            assert_int_equal(v.dtype, j & 1 ? BF_F32 : BF_F64);
            if (isnan(expected))
                assert_true(isnan(value_float(&v)));
            else if (expected != 0)
                assert_same_float(value_float(&v), expected);
            else
                assert_true(value_float(&v) == 0);
        }
    }
}

TEST(sums_are_exact_and_rounded_once) {
    needs_no_threads();
    static const int64_t sizes[] = {1, 2, 33, 1000, 4097};
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int k = 0; k < KIND_COUNT; k++) {
            problem p;
            int64_t n = sizes[next_random(&seed) % 5];
            problem_make(&p, all_dtypes[d], (data_kind)k, n, next_random(&seed));
            on_every_context(check_sums, &p);
            free(p.data);
        }
    }
}

TEST(sums_over_several_threads_are_exact) {
    uint64_t seed = 2;
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_U64, BF_I32};
    for (int d = 0; d<5; d += CASE_STEP> 1 ? 2 : 1) {
        problem p;
        problem_make(&p, dtypes[d], d % 2 ? KIND_FULL : KIND_CANCEL,
                     LARGE_BYTES / (int64_t)bf_dtype_size(dtypes[d]), next_random(&seed));
        on_every_context(check_sums, &p);
        free(p.data);
    }
}

static double reduced(bf_reduction op, bf_dtype dtype, const void *x, int64_t n) {
    bf_context *context = make_context(NULL, 1);
    bf_array a = bf_array_of(dtype, x, n);
    bf_value v;
    assert_int_equal(bf_reduce(context, op, &a, NULL, &v), BF_OK);
    bf_context_destroy(context);
    return bf_value_f64(&v);
}

TEST(zeros_have_a_sign) {
    double x[] = {-0.0, -0.0, 0.0, 1, -1};
    assert_same_float(reduced(BF_SUM, BF_F64, x, 2), -0.0);
    assert_same_float(reduced(BF_MEAN, BF_F64, x, 2), -0.0);
    assert_same_float(reduced(BF_SUMSQ, BF_F64, x, 2), 0.0);
    assert_same_float(reduced(BF_NORM, BF_F64, x, 2), 0.0);
    assert_same_float(reduced(BF_SUM, BF_F64, x, 3), 0.0);
    assert_same_float(reduced(BF_SUM, BF_F64, x + 3, 2), 0.0);
    double tiny[] = {-4.9406564584124654e-324, 0};
    assert_same_float(reduced(BF_MEAN, BF_F64, tiny, 2), -0.0);
}

TEST(empty_input_has_a_sum_but_no_mean) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        bf_dtype dtype = all_dtypes[d];
        assert_same_float(reduced(BF_SUM, dtype, NULL, 0), 0.0);
        assert_same_float(reduced(BF_SUMSQ, dtype, NULL, 0), 0.0);
        assert_same_float(reduced(BF_NORM, dtype, NULL, 0), 0.0);
        assert_true(isnan(reduced(BF_MEAN, dtype, NULL, 0)));
        assert_true(isnan(reduced(BF_VAR, dtype, NULL, 0)));
        assert_true(isnan(reduced(BF_STD, dtype, NULL, 0)));
    }
}

TEST(any_nan_gives_the_one_nan) {
    static const uint64_t canonical = 0x7ff8000000000000u;
    uint64_t x[] = {0xfff0000000000001u, 0x3ff0000000000000u, 0x7ff123456789abcdu};
    for (int i = 0; i < SUMS; i++) {
        double r = reduced(sums[i], BF_F64, x, 3);
        assert_memory_equal(&r, &canonical, 8);
    }
    double inf[] = {HUGE_VAL, 1, -HUGE_VAL};
    double r = reduced(BF_SUM, BF_F64, inf, 3);
    assert_memory_equal(&r, &canonical, 8);
    assert_same_float(reduced(BF_SUM, BF_F64, inf, 2), HUGE_VAL);
    assert_same_float(reduced(BF_NORM, BF_F64, inf, 3), HUGE_VAL);
    assert_true(isnan(reduced(BF_VAR, BF_F64, inf, 2)));
}

TEST(nan_policies) {
    OWN(bf_context) *context = make_context(NULL, 1);
    float x[] = {1, NAN, 5};
    bf_array a = bf_array_of(BF_F32, x, 3);
    bf_value v = {.dtype = BF_NONE};
    bf_reduce_options skip = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
    bf_reduce_options error = BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR);
    assert_int_equal(bf_reduce(context, BF_MEAN, &a, &skip, &v), BF_OK);
    assert_same_float(v.as.f64, 3.0);
    v.dtype = BF_NONE;
    assert_int_equal(bf_reduce(context, BF_MEAN, &a, &error, &v), BF_E_NAN);
    assert_true(v.dtype == BF_NONE); /* written only on success */
    assert_string_not_equal(bf_context_message(context), "");
}

/* The simple calls give what bf_reduce gives, or say that it does not fit. */
#define BF_X(id, number, name, bytes, T, kind, S, R)                                               \
    static void simple_##name(bf_context *context) {                                               \
        T x[50];                                                                                   \
        S s = 0;                                                                                   \
        R r = 0;                                                                                   \
        double d = 0;                                                                              \
        int64_t at = -1;                                                                           \
        fill(BF_##id, x, 50, KIND_NARROW, 7);                                                      \
        assert_int_equal(bf_sum_##name(context, x, 50, &s), BF_OK);                                \
        assert_true((double)s == reduced(BF_SUM, BF_##id, x, 50));                                 \
        assert_int_equal(bf_sumsq_##name(context, x, 50, &s), BF_OK);                              \
        assert_true((double)s == reduced(BF_SUMSQ, BF_##id, x, 50));                               \
        assert_int_equal(bf_dot_##name(context, x, x, 50, &s), BF_OK);                             \
        assert_true((double)s == reduced(BF_SUMSQ, BF_##id, x, 50));                               \
        assert_int_equal(bf_norm_##name(context, x, 50, &d), BF_OK);                               \
        assert_same_float(d, reduced(BF_NORM, BF_##id, x, 50));                                    \
        assert_int_equal(bf_mean_##name(context, x, 50, &d), BF_OK);                               \
        assert_same_float(d, reduced(BF_MEAN, BF_##id, x, 50));                                    \
        assert_int_equal(bf_var_##name(context, x, 50, 0, &d), BF_OK);                             \
        assert_same_float(d, reduced(BF_VAR, BF_##id, x, 50));                                     \
        assert_int_equal(bf_std_##name(context, x, 50, 0, &d), BF_OK);                             \
        assert_same_float(d, reduced(BF_STD, BF_##id, x, 50));                                     \
        assert_int_equal(bf_min_##name(context, x, 50, &r), BF_OK);                                \
        assert_true((double)r == reduced(BF_MIN, BF_##id, x, 50));                                 \
        assert_int_equal(bf_max_##name(context, x, 50, &r), BF_OK);                                \
        assert_true((double)r == reduced(BF_MAX, BF_##id, x, 50));                                 \
        assert_int_equal(bf_argmin_##name(context, x, 50, &at), BF_OK);                            \
        assert_true((double)at == reduced(BF_ARGMIN, BF_##id, x, 50));                             \
        assert_int_equal(bf_argmax_##name(context, x, 50, &at), BF_OK);                            \
        assert_true((double)at == reduced(BF_ARGMAX, BF_##id, x, 50));                             \
        assert_int_equal(bf_min_##name(context, x, 0, &r), BF_E_EMPTY);                            \
        assert_int_equal(bf_argmax_##name(context, x, 0, &at), BF_E_EMPTY);                        \
        assert_int_equal(bf_sum_##name(context, x, -1, &s), BF_E_ARGUMENT);                        \
        assert_int_equal(bf_sum_##name(context, NULL, 1, &s), BF_E_ARGUMENT);                      \
        assert_int_equal(bf_sum_##name(context, x, 1, NULL), BF_E_ARGUMENT);                       \
        assert_int_equal(bf_var_##name(context, x, 50, 2, &d), BF_E_ARGUMENT);                     \
        assert_int_equal(bf_sum_##name(NULL, x, 1, &s), BF_E_ARGUMENT);                            \
    }
BF_DTYPE_LIST(BF_X)
#undef BF_X

TEST(simple_calls_agree_with_the_general_one) {
    OWN(bf_context) *context = make_context(NULL, 1);
#define BF_X(id, number, name, bytes, T, kind, S, R) simple_##name(context);
    BF_DTYPE_LIST(BF_X)
#undef BF_X
}

TEST(simple_integer_sums_report_overflow) {
    OWN(bf_context) *context = make_context(NULL, 1);
    int64_t x[] = {INT64_MAX, 1, -1, INT64_MIN, -1}, s = 42;
    uint64_t y[] = {UINT64_MAX, 1}, u = 42;
    int32_t z[] = {INT32_MIN, INT32_MIN, INT32_MIN};
    assert_int_equal(bf_sum_i64(context, x, 2, &s), BF_E_OVERFLOW);
    assert_int_equal(bf_sum_i64(context, x + 3, 2, &s), BF_E_OVERFLOW);
    assert_int_equal(s, 42);
    assert_int_equal(bf_sum_i64(context, x, 3, &s), BF_OK);
    assert_int_equal(s, INT64_MAX);
    assert_int_equal(bf_sum_u64(context, y, 2, &u), BF_E_OVERFLOW);
    assert_int_equal(bf_sumsq_u64(context, y, 1, &u), BF_E_OVERFLOW);
    assert_int_equal(bf_sum_u64(context, y, 1, &u), BF_OK);
    assert_true(u == UINT64_MAX);
    assert_int_equal(bf_dot_i32(context, z, z, 3, &s), BF_E_OVERFLOW);
    assert_int_equal(bf_dot_i32(context, z, z, 1, &s), BF_OK);
    assert_int_equal(s, 1ll << 62);
}

TEST(strides_and_shapes_are_followed) {
    OWN(bf_context) *context = make_context(NULL, 2);
    int32_t x[6 * 100];
    for (int i = 0; i < 600; i++) x[i] = i;
    bf_array a = {x + 599, BF_I32, 3, {2, 100, 2}, {-1, -6, -2}};
    bf_value v;
    int64_t sum = 0, expected = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 100; j++)
            for (int k = 0; k < 2; k++) expected += 599 - i - 6 * j - 2 * k;
    assert_int_equal(bf_reduce(context, BF_SUM, &a, NULL, &v), BF_OK);
    assert_int_equal(bf_value_i64(&v, &sum), BF_OK);
    assert_int_equal(sum, expected);
    bf_array repeated = {x + 7, BF_I32, 2, {1000, 3}, {0, 0}};
    assert_int_equal(bf_reduce(context, BF_SUM, &repeated, NULL, &v), BF_OK);
    assert_int_equal(bf_value_i64(&v, &sum), BF_OK);
    assert_int_equal(sum, 21000);
    bf_array scalar = {x + 5, BF_I32, 0, {0}, {0}};
    assert_int_equal(bf_reduce(context, BF_SUM, &scalar, NULL, &v), BF_OK);
    assert_int_equal(bf_value_i64(&v, &sum), BF_OK);
    assert_int_equal(sum, 5);
}

TEST(bad_arguments_are_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    double x[4] = {0};
    bf_array good = bf_array_of(BF_F64, x, 4), bad = good;
    bf_value v;
    bf_reduce_options o = BF_REDUCE_OPTIONS(.ddof = 2);
    assert_int_equal(bf_reduce(NULL, BF_SUM, &good, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, BF_SUM, NULL, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, BF_SUM, &good, NULL, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, (bf_reduction)0, &good, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, (bf_reduction)99, &good, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, BF_DOT, &good, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, BF_VAR, &good, &o, &v), BF_E_ARGUMENT);
    o = BF_REDUCE_OPTIONS(.out_dtype = BF_I32);
    assert_int_equal(bf_reduce(context, BF_SUM, &good, &o, &v), BF_E_ARGUMENT);
    o = BF_REDUCE_OPTIONS(.out_dtype = BF_F32);
    assert_int_equal(bf_reduce(context, BF_MIN, &good, &o, &v), BF_E_ARGUMENT);
    o = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)3);
    assert_int_equal(bf_reduce(context, BF_SUM, &good, &o, &v), BF_E_ARGUMENT);
    o.size = 0;
    assert_int_equal(bf_reduce(context, BF_SUM, &good, &o, &v), BF_E_ARGUMENT);
    bad.ndim = 9;
    assert_int_equal(bf_reduce(context, BF_SUM, &bad, NULL, &v), BF_E_ARGUMENT);
    bad.ndim = -1;
    assert_int_equal(bf_reduce(context, BF_SUM, &bad, NULL, &v), BF_E_ARGUMENT);
    bad = bf_array_of(BF_F64, x, -1);
    assert_int_equal(bf_reduce(context, BF_SUM, &bad, NULL, &v), BF_E_ARGUMENT);
    bad = bf_array_of(BF_F64, NULL, 1);
    assert_int_equal(bf_reduce(context, BF_SUM, &bad, NULL, &v), BF_E_ARGUMENT);
    bad = (bf_array){x, BF_F64, 2, {1ll << 40, 1ll << 40}, {0, 0}};
    assert_int_equal(bf_reduce(context, BF_SUM, &bad, NULL, &v), BF_E_ARGUMENT);
    assert_string_not_equal(bf_context_message(context), "");
    bad = bf_array_of(BF_I192, x, 1);
    assert_int_not_equal(bf_reduce(context, BF_SUM, &bad, NULL, &v), BF_OK);
}

UNIT_TESTS(reduce, NULL, NULL)
