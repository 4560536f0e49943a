/* What histograms refuse: options, arguments, parts that do not match. */
#include "tests/histogram/binning.h"
#include "tests/support/unit.h"

enum { N = 2000 };
static double data[N], weights[N];

static void refuse_options(bf_status status, bf_histogram_options o) {
    bf_histogram *h = NULL;
    fill(BF_F64, data, N, KIND_NARROW, 1);
    bf_array a = bf_array_of(BF_F64, data, N);
    assert_int_equal(bf_histogram_of(contexts[0], &a, NULL, &o, &h), status);
    assert_true(bf_context_message(contexts[0])[0] != '\0');
    assert_int_equal(bf_histogram_create(contexts[0], BF_F64, &o, &h), status);
    assert_null(h);
}

TEST(options_are_checked) {
    const double inf = (double)INFINITY, nan = (double)NAN;
    refuse_options(BF_E_ARGUMENT, (bf_histogram_options){.bins = 3, .range = 1, .hi = 1});
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.bins = -2, .range = 1, .hi = 1));
    refuse_options(BF_E_ARGUMENT,
                   BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_MAX + 1, .range = 1, .hi = 1));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 2, .hi = 1));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 1, .hi = 1, .numbers = -1));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 1, .lo = 2, .hi = 1));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 1, .lo = -inf, .hi = 1));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 1, .hi = nan));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 1, .lo = -1e308, .hi = 1e308));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.range = 1, .lo = 1, .hi = 1 + 0x1p-50));
    refuse_options(BF_E_DTYPE, BF_HISTOGRAM_OPTIONS(.range = 1, .hi = 1, .weights = BF_I192));
    const double bad[4][3] = {{0, 0, 1}, {1, 0, 2}, {0, nan, 1}, {0, 1, inf}};
    for (int i = 0; i < 4; i++)
        refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.bins = 2, .edges = bad[i]));
    const double good[] = {0, 1, 2};
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.bins = 2, .edges = good, .range = 1));
    refuse_options(BF_E_ARGUMENT, BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_AUTO, .edges = good));
}

TEST(arguments_are_checked) {
    bf_context *c = contexts[0];
    bf_histogram *h = NULL;
    bf_array a = bf_array_of(BF_F64, data, N), f32 = bf_array_of(BF_F32, data, N), bad = a;
    bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.range = 1, .hi = 1);
    int64_t counts[4], others;
    bad.ndim = 9;
    assert_int_equal(bf_histogram_of(NULL, &a, NULL, &o, &h), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_of(c, NULL, NULL, &o, &h), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_of(c, &bad, NULL, &o, &h), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_of(c, &a, NULL, &o, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_of(c, &a, &a, &o, &h), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_create(c, BF_F64, NULL, &h), BF_E_ARGUMENT); /* no range */
    assert_int_equal(bf_histogram_create(c, BF_NONE, &o, &h), BF_E_DTYPE);
    assert_int_equal(bf_histogram_create(c, BF_F64, &o, NULL), BF_E_ARGUMENT);
    o.bins = BF_BINS_AUTO;
    assert_int_equal(bf_histogram_create(c, BF_F64, &o, &h), BF_E_ARGUMENT);
    o.bins = 0;
    assert_null(h);
    h = make_histogram(c, BF_F64, o);
    assert_int_equal(bf_histogram_absorb(h, &f32, NULL), BF_E_DTYPE);
    assert_int_equal(bf_histogram_absorb(h, NULL, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_absorb(h, &a, &a), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_weights(h, data), BF_E_ARGUMENT);
    assert_int_equal(bf_bincount(c, &a, counts, 4, &others), BF_E_DTYPE);
    bf_array integers = bf_array_of(BF_I16, data, 3);
    assert_int_equal(bf_bincount(c, &integers, counts, 0, &others), BF_E_ARGUMENT);
    assert_int_equal(bf_bincount(c, &integers, counts, BF_BINS_MAX + 1, &others), BF_E_ARGUMENT);
    assert_int_equal(bf_bincount(c, &integers, NULL, 4, &others), BF_E_ARGUMENT);
    bf_histogram_destroy(h);
    bf_histogram_destroy(NULL);
}

TEST(weights_have_the_array_s_shape) {
    OWN(bf_histogram) *h = make_histogram(
        contexts[0], BF_F64, BF_HISTOGRAM_OPTIONS(.range = 1, .hi = 1, .weights = BF_F32));
    bf_array a = bf_array_of(BF_F64, data, N), w = bf_array_of(BF_F32, weights, N);
    assert_int_equal(bf_histogram_absorb(h, &a, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_absorb(h, &a, &a), BF_E_DTYPE);
    w.shape[0]--;
    assert_int_equal(bf_histogram_absorb(h, &a, &w), BF_E_SHAPE);
}

TEST(what_differs_does_not_merge) {
    const double edges[] = {0, 0.25, 0.5, 0.75, 1};
    bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = 4, .range = 1, .hi = 1), other = o;
    bf_histogram *h = make_histogram(contexts[0], BF_F64, o), *others[5];
    others[0] = make_histogram(contexts[0], BF_F32, o);
    other.bins = 5;
    others[1] = make_histogram(contexts[0], BF_F64, other);
    other.bins = 4;
    other.hi = 1 + 0x1p-52;
    others[2] = make_histogram(contexts[0], BF_F64, other);
    o.weights = BF_F64;
    others[3] = make_histogram(contexts[0], BF_F64, o);
    others[4] =
        make_histogram(contexts[0], BF_F64, BF_HISTOGRAM_OPTIONS(.bins = 4, .edges = edges));
    for (int i = 0; i < 4; i++) assert_int_equal(bf_histogram_merge(h, others[i]), BF_E_STATE);
    assert_int_equal(bf_histogram_merge(h, others[4]), BF_OK); /* it was given these edges */
    for (int i = 0; i < 5; i++) bf_histogram_destroy(others[i]);
    bf_histogram_destroy(h);
}

/* 2^31 bins of weights would take a terabyte: no attempt is made. */
TEST(too_much_memory_is_refused) {
    bf_histogram *h = NULL;
    bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_MAX, .range = 1, .hi = 1);
    o.weights = BF_F64;
    assert_int_equal(bf_histogram_create(contexts[0], BF_F64, &o, &h), BF_E_MEMORY);
    assert_null(h);
    assert_non_null(strstr(bf_context_message(contexts[0]), "2147483648 bins"));
}

UNIT_TESTS(histogram_refused, make_contexts, destroy_contexts)
