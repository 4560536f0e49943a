/* min, max, argmin and argmax, against a plain loop over MPFR's comparison.
 * Builds: release, asan (full), tsan (full). */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

typedef struct problem {
    bf_array array;
    int64_t at[2]; /* where the minimum and the maximum are */
} problem;

/* a < b, with -0 < +0 */
static bool before(mpfr_srcptr a, mpfr_srcptr b) {
    if (mpfr_zero_p(a) && mpfr_zero_p(b)) return mpfr_signbit(a) && !mpfr_signbit(b);
    return mpfr_less_p(a, b);
}

static void problem_find(problem *p) {
    mpfr_t x, best[2];
    mpfr_inits2(64, x, best[0], best[1], (mpfr_ptr)NULL);
    for (int64_t i = 0; i < p->array.shape[0]; i++) {
        get_element(x, p->array.dtype, p->array.data, i);
        for (int j = 0; j < 2; j++) {
            if (i > 0 && !(j ? before(best[j], x) : before(x, best[j]))) continue;
            mpfr_set(best[j], x, MPFR_RNDN);
            p->at[j] = i;
        }
    }
    mpfr_clears(x, best[0], best[1], (mpfr_ptr)NULL);
}

static uint64_t element_bits(const bf_array *a, int64_t i) {
    size_t bytes = bf_dtype_size(a->dtype);
    uint64_t bits = load_bits((char *)a->data + (size_t)i * bytes, bytes);
    return a->dtype == BF_BOOL ? bits != 0 : bits;
}

static void check_order(bf_context *context, void *data) {
    const problem *p = data;
    for (int j = 0; j < 2; j++) {
        bf_value v, at;
        assert_int_equal(bf_reduce(context, j ? BF_MAX : BF_MIN, &p->array, NULL, &v), BF_OK);
        assert_int_equal(bf_reduce(context, j ? BF_ARGMAX : BF_ARGMIN, &p->array, NULL, &at),
                         BF_OK);
        assert_int_equal(at.dtype, BF_I64);
        assert_int_equal(at.as.i64, p->at[j]);
        assert_int_equal(v.dtype, p->array.dtype);
        assert_int_equal(load_bits(&v.as, bf_dtype_size(v.dtype)),
                         element_bits(&p->array, p->at[j]));
    }
}

static void check_data(bf_dtype dtype, data_kind k, int64_t n, uint64_t seed) {
    problem p = {.array = bf_array_of(dtype, malloc((size_t)n * bf_dtype_size(dtype)), n)};
    fill(dtype, p.array.data, n, k, seed);
    problem_find(&p);
    on_every_context(check_order, &p);
    free(p.array.data);
}

TEST(extremes_and_their_first_index) {
    static const int64_t sizes[] = {1, 2, 31, 64, 1000, 4097};
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KIND_COUNT; k++)
            for (int r = 0; r < 2; r++)
                check_data(all_dtypes[d], (data_kind)k, sizes[next_random(&seed) % 6],
                           next_random(&seed));
}

TEST(extremes_do_not_depend_on_the_thread_count) {
    for (int d = 0; d < DTYPE_COUNT; d++)
        check_data(all_dtypes[d], d % 2 ? KIND_FULL : KIND_EXTREME,
                   LARGE_BYTES / (int64_t)bf_dtype_size(all_dtypes[d]), (uint64_t)d);
}

/* Zeros, but for one element at `at`. */
static void check_nan_at(bf_context *context, int64_t at) {
    enum { N = 5000 };
    static double x[N];
    bf_array a = bf_array_of(BF_F64, x, N);
    bf_reduce_options skip = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
    bf_value v;
    for (int i = 0; i < N; i++) x[i] = i % 7 - 3;
    x[at] = -(double)NAN;
    x[N - 1] = (double)NAN;
    assert_int_equal(bf_reduce(context, BF_ARGMIN, &a, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, at);
    assert_int_equal(bf_reduce(context, BF_MAX, &a, NULL, &v), BF_OK);
    assert_true(isnan(v.as.f64) && !signbit(v.as.f64));
    assert_int_equal(bf_reduce(context, BF_ARGMAX, &a, &skip, &v), BF_OK);
    assert_int_equal(v.as.i64, at == 6 ? 13 : 6);
}

TEST_ON_EVERY_CONTEXT(the_first_nan_is_found) {
    for (int64_t at = 0; at < 4999; at += 1 + at / 3) check_nan_at(context, at);
    check_nan_at(context, 6);
}

TEST(no_values_no_extreme) {
    OWN(bf_context) *context = make_context(NULL, 1);
    float nan[] = {NAN, NAN};
    bf_array a = bf_array_of(BF_F32, nan, 2), none = bf_array_of(BF_F32, NULL, 0);
    bf_reduce_options skip = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
    bf_value v;
    for (int op = BF_MIN; op <= BF_ARGMAX; op++) {
        assert_int_equal(bf_reduce(context, (bf_reduction)op, &none, NULL, &v), BF_E_EMPTY);
        assert_int_equal(bf_reduce(context, (bf_reduction)op, &a, &skip, &v), BF_E_EMPTY);
    }
}

TEST(indices_count_in_c_order) {
    OWN(bf_context) *context = make_context(NULL, 1);
    uint8_t x[] = {5, 1, 9, 9, 0, 9}; /* as 2 rows of 3, in Fortran order: 5 9 0 / 1 9 9 */
    bf_array a = {x, BF_U8, 2, {2, 3}, {1, 2}};
    bf_value v;
    assert_int_equal(bf_reduce(context, BF_ARGMAX, &a, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, 1);
    assert_int_equal(bf_reduce(context, BF_ARGMIN, &a, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, 2);
}

UNIT_TESTS(order, NULL, NULL)
