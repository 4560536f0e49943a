/* Products: of integers against GMP, of floats within an ulp of MPFR and with the same bits on
 * every instruction set, with any number of threads, and in any parts.
 * Builds: release, asan, tsan. */
#include "rules/reduce/product_tree.h"
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

/* Floats whose product stays in range: mostly near 1, of either sign, now and then a subnormal. */
static void fill_near_one(double *x, int64_t n, uint64_t *seed) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next_random(seed);
        x[i] = ldexp((double)(r >> 11 | 1), -53) * 1.5 + 0.25;
        if (r & 1) x[i] = -x[i];
        if (next_random(seed) % 5000 == 0) x[i] = ldexp(1 + (double)(r % 1000), -1074);
    }
}

/* Fails unless found is less than an ulp from the product of x. */
static void check_within_an_ulp(const double *x, int64_t n, double found) {
    mpfr_t exact;
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_init2(exact, 400);
    mpfr_set_ui(exact, 1, MPFR_RNDN);
    for (int64_t i = 0; i < n; i++) mpfr_mul_d(exact, exact, x[i], MPFR_RNDN);
    double low = mpfr_get_d(exact, MPFR_RNDD), high = mpfr_get_d(exact, MPFR_RNDU);
    if (found != low && found != high) fail_msg("%a, not %a or %a", found, low, high);
    mpfr_clear(exact);
}

typedef struct problem {
    const double *x;
    int64_t n;
    double expected;
    uint64_t seed;
} problem;

static double prod_of(bf_context *context, const double *x, int64_t n) {
    double value;
    assert_int_equal(bf_prod_f64(context, x, n, &value), BF_OK);
    return value;
}

static void check_whole(bf_context *context, void *data) {
    const problem *p = data;
    assert_same_float(prod_of(context, p->x, p->n), p->expected);
}

/* A state of elements [begin, end), absorbed in chunks and passed through its saved form. */
static bf_state *part(bf_context *context, const problem *p, int64_t begin, int64_t end,
                      uint64_t *seed) {
    OWN(bf_state) *made = NULL;
    assert_int_equal(bf_state_create(context, BF_PROD, BF_F64, &made), BF_OK);
    assert_int_equal(bf_state_seek(made, begin), BF_OK);
    for (int64_t n; begin < end; begin += n) {
        n = 1 + (int64_t)(next_random(seed) % (uint64_t)(end - begin));
        bf_array chunk = bf_array_of(BF_F64, p->x + begin, n);
        assert_int_equal(bf_state_absorb(made, &chunk), BF_OK);
    }
    bf_state *loaded = copy_form(context, made);
    assert_non_null(loaded);
    return loaded;
}

static void check_parts(bf_context *context, void *data) {
    problem *p = data;
    uint64_t room = (uint64_t)p->n + 1;
    int64_t a = (int64_t)(next_random(&p->seed) % room),
            b = (int64_t)(next_random(&p->seed) % room);
    int64_t cuts[4] = {0, a < b ? a : b, a < b ? b : a, p->n};
    bf_state *parts[3];
    for (int i = 0; i < 3; i++) parts[i] = part(context, p, cuts[i], cuts[i + 1], &p->seed);
    bool from_the_right = next_random(&p->seed) & 1;
    assert_int_equal(bf_state_merge(parts[1], parts[from_the_right ? 2 : 0]), BF_OK);
    assert_int_equal(bf_state_merge(parts[1], parts[from_the_right ? 0 : 2]), BF_OK);
    bf_value v;
    assert_int_equal(bf_state_result(parts[1], NULL, &v), BF_OK);
    assert_same_float(v.as.f64, p->expected);
    for (int i = 0; i < 3; i++) bf_state_destroy(parts[i]);
}

static void check_size(int64_t n, uint64_t seed) {
    double *x = malloc((size_t)n * sizeof *x + 1);
    fill_near_one(x, n, &seed);
    bf_context *generic = make_context("generic", 1);
    problem p = {.x = x, .n = n, .expected = prod_of(generic, x, n), .seed = seed};
    bf_context_destroy(generic);
    check_within_an_ulp(x, n, p.expected);
    on_every_context(check_whole, &p);
    on_every_context(check_parts, &p);
    free(x);
}

TEST(prod_is_within_an_ulp_and_the_same_in_any_parts) {
    static const int64_t sizes[] = {0,    1,    2,    15,   16,    17,    100,    4095,
                                    4096, 4097, 8192, 9000, 65536, 70001, 131072, 300007};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) check_size(sizes[i], (uint64_t)i);
}

TEST(prod_over_several_threads_is_the_same) { check_size(3 * 131072 + 4096 + 5, 99); }

TEST(prod_neither_overflows_nor_underflows_on_the_way) {
    double x[] = {0x1p1023, 0x1p1023, 0x1p-1074, 0x1p-1074, 0x1p100, 3, -1};
    OWN(bf_context) *c = make_context("auto", 1);
    assert_same_float(prod_of(c, x, 7), -3 * 0x1p-2);
    assert_same_float(prod_of(c, x, 2), (double)INFINITY);
    assert_same_float(prod_of(c, x + 2, 2), 0.0);
}

TEST(specials_are_as_ieee_has_them) {
    double inf = (double)INFINITY, x[] = {2, -inf, 3}, y[] = {-0.0, 5}, z[] = {inf, 0};
    double w[] = {(double)NAN, 7};
    bf_array a = bf_array_of(BF_F64, w, 2);
    OWN(bf_context) *c = make_context("auto", 1);
    bf_value v;
    assert_same_float(prod_of(c, x, 3), -inf);
    assert_same_float(prod_of(c, y, 2), -0.0);
    assert_true(isnan(prod_of(c, z, 2)) && isnan(prod_of(c, w, 2)));
    assert_int_equal(bf_reduce(c, BF_PROD, &a, &BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP), &v), BF_OK);
    assert_same_float(v.as.f64, 7.0);
    assert_int_equal(bf_reduce(c, BF_PROD, &a, &BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR), &v),
                     BF_E_NAN);
}

/* Elements of few bits, so that the product fits 128 now and then. */
static void check_integers(bf_context *context, void *data) {
    uint64_t seed = *(uint64_t *)data;
    for (int d = 0; d < DTYPE_COUNT && !is_float(all_dtypes[d]); d++) {
        uint8_t bytes[64 * 8];
        int64_t n = (int64_t)(next_random(&seed) % 64);
        size_t size = bf_dtype_size(all_dtypes[d]);
        for (int64_t i = 0; i < n; i++) {
            uint64_t x = next_random(&seed) % 7 + 1;
            bool negative = is_signed(all_dtypes[d]) && next_random(&seed) % 2;
            store_bits(bytes + (size_t)i * size, size, negative ? 0 - x : x);
        }
        mpfr_t exact, factor;
        mpfr_init2(exact, 400);
        mpfr_init2(factor, 64);
        mpfr_set_ui(exact, 1, MPFR_RNDN);
        for (int64_t i = 0; i < n; i++) {
            get_element(factor, all_dtypes[d], bytes, i);
            mpfr_mul(exact, exact, factor, MPFR_RNDN);
        }
        char expected[BF_VALUE_TEXT * 4], found[BF_VALUE_TEXT];
        mpfr_snprintf(expected, sizeof expected, "%.0Rf", exact);
        bf_array a = bf_array_of(all_dtypes[d], bytes, n);
        bf_value v;
        bf_status st = bf_reduce(context, BF_PROD, &a, NULL, &v);
        mpfr_abs(exact, exact, MPFR_RNDN);
        if (mpfr_cmp_ui_2exp(exact, 1, is_signed(all_dtypes[d]) ? 127 : 128) < 0) {
            assert_int_equal(st, BF_OK);
            bf_value_format(&v, found);
            assert_string_equal(found, expected);
        } else if (expected[0] != '-') {
            assert_int_equal(st, BF_E_OVERFLOW);
        }
        mpfr_clears(exact, factor, (mpfr_ptr)NULL);
    }
}

TEST(prod_of_integers_is_exact_or_an_overflow) {
    for (uint64_t seed = 1; seed <= 20; seed++) on_every_context(check_integers, &seed);
}

TEST(prod_of_integers_wraps_if_asked_and_zero_wins) {
    int64_t x[] = {INT64_MAX, INT64_MAX, INT64_MIN, 3}, y[] = {INT64_MAX, INT64_MAX, INT64_MAX, 0};
    bf_array a = bf_array_of(BF_I64, x, 4), b = bf_array_of(BF_I64, y, 4);
    OWN(bf_context) *c = make_context("auto", 1);
    bf_value v;
    bf_reduce_options wrap = BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    assert_int_equal(bf_reduce(c, BF_PROD, &a, NULL, &v), BF_E_OVERFLOW);
    assert_int_equal(bf_reduce(c, BF_PROD, &a, &wrap, &v), BF_OK);
    assert_true(v.dtype == BF_I64 && v.as.i64 == INT64_MIN);
    assert_int_equal(bf_reduce(c, BF_PROD, &b, NULL, &v), BF_OK);
    char text[BF_VALUE_TEXT];
    bf_value_format(&v, text);
    assert_string_equal(text, "0");
}

TEST(parts_that_do_not_touch_are_refused) {
    double x[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    problem p = {.x = x, .n = 10};
    uint64_t seed = 1;
    OWN(bf_context) *c = make_context("auto", 1);
    OWN(bf_state) *a = part(c, &p, 0, 3, &seed), *b = part(c, &p, 4, 10, &seed);
    assert_int_equal(bf_state_merge(a, b), BF_E_STATE);
    assert_int_equal(bf_state_seek(a, 5), BF_E_ARGUMENT);
}

/* A GPU's one thread finds the root without a stack for the nodes. */
TEST(both_ways_to_the_root_agree) {
    int64_t words[BF_PRODUCT_TREE_WORDS_MAX];
    bf_node folds[BF_FOLDS];
    uint64_t seed = 9;
    bf_product_tree_init(words);
    for (int n = 1; n <= 7 * BF_LEAF + 5; n++) {
        bf_product_tree_place(words, (next_random(&seed) >> 12) | (uint64_t)1023 << 52);
        if (n % 1361 != 0 && n % BF_LEAF > 1) continue;
        bf_node a = bf_product_tree_root(words), b = bf_product_tree_root_from_start(words, folds);
        assert_true(a.hi == b.hi && a.lo == b.lo && a.exponent == b.exponent);
    }
}

typedef struct nans {
    bf_dtype dtype;
    char bytes[8192]; /* what the first context answered */
    size_t size;      /* 0: none was asked yet */
} nans;

/* Elements that wait for a whole leaf: NaNs of different signs and payloads. */
static void check_saved_nans(bf_context *c, void *data) {
    enum { N = 6 };
    nans *p = data;
    char x[N * 8], found[sizeof p->bytes];
    size_t bytes = bf_dtype_size(p->dtype);
    uint64_t inf = infinity_bits(p->dtype), quiet = inf | inf >> 1, sign = sign_bit(p->dtype);
    const uint64_t all[N] = {inf | 1, quiet, quiet | 2, sign | inf | 3, sign | quiet, inf};
    for (int same = 0; same < 2; same++) {
        OWN(bf_state) *state = NULL;
        for (size_t i = 0; i < N; i++)
            store_bits(x + i * bytes, bytes, same && i < N - 1 ? quiet : all[i]);
        bf_array a = bf_array_of(p->dtype, x, N);
        assert_int_equal(bf_state_create(c, BF_PROD, p->dtype, &state), BF_OK);
        assert_int_equal(bf_state_seek(state, 7), BF_OK);
        assert_int_equal(bf_state_absorb(state, &a), BF_OK);
        size_t size = bf_state_save_size(state);
        assert_true(size <= sizeof found);
        bf_state_save(state, found);
        if (p->size == 0) memcpy(p->bytes, found, p->size = size);
        assert_int_equal(size, p->size);
        assert_memory_equal(found, p->bytes, size);
    }
}

/* Instruction sets and GPUs convert the payload of a NaN differently. */
TEST(nans_are_saved_alike) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        nans p = {.dtype = all_dtypes[d]};
        if (is_float(p.dtype)) on_every_context(check_saved_nans, &p);
    }
}

UNIT_TESTS(prod, NULL, NULL)
