/* What a histogram has counted is taken out again: what is left saves to the bytes of what remains.
 */
#include "tests/histogram/binning.h"
#include "tests/support/unit.h"

enum { N = 3000 };
static double data[N], weights[N];

static bf_histogram *part(bf_context *context, bf_dtype dtype, bf_histogram_options o,
                          int64_t begin, int64_t end) {
    bf_histogram *h = make_histogram(context, dtype, o);
    size_t at = (size_t)begin * bf_dtype_size(dtype), w_at = 0;
    if (o.weights != BF_NONE) w_at = (size_t)begin * bf_dtype_size(o.weights);
    bf_array a = bf_array_of(dtype, (char *)data + at, end - begin);
    bf_array w = bf_array_of(o.weights, (char *)weights + w_at, end - begin);
    assert_int_equal(bf_histogram_absorb(h, &a, o.weights != BF_NONE ? &w : NULL), BF_OK);
    return h;
}

static void check_retract(bf_context *context, bf_dtype dtype, bf_histogram_options o,
                          int64_t cut) {
    bf_histogram *all = part(context, dtype, o, 0, N), *some = part(context, dtype, o, 0, cut);
    bf_histogram *rest = part(context, dtype, o, cut, N),
                 *empty = make_histogram(context, dtype, o);
    assert_int_equal(bf_histogram_retract(all, empty), BF_OK);
    assert_int_equal(bf_histogram_retract(all, some), BF_OK);
    assert_same_form(all, rest);
    assert_int_equal(bf_histogram_merge(all, some), BF_OK);
    assert_int_equal(bf_histogram_retract(all, rest), BF_OK);
    assert_same_form(all, some);
    assert_int_equal(bf_histogram_retract(all, all), BF_OK);
    assert_same_form(all, empty);
    bf_histogram *const made[] = {all, some, rest, empty};
    for (int i = 0; i < 4; i++) bf_histogram_destroy(made[i]);
}

/* Some weights become -0, and a few NaN or infinite. */
static void spoil(bf_dtype dtype, void *x, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    for (int i = 0; i < N && is_float(dtype); i++) {
        uint64_t r = next_random(&seed);
        uint64_t bits = r % 100 == 1 ? infinity_bits(dtype) | (r & 128) >> 7 : sign_bit(dtype);
        if (r % 4 == 0 || r % 100 == 1) store_bits((char *)x + (size_t)i * bytes, bytes, bits);
    }
}

TEST(what_remains_is_left) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        bf_dtype dtype = all_dtypes[d], w = all_dtypes[(d * 5 + 12) % DTYPE_COUNT];
        fill(dtype, data, N, KIND_NARROW, (uint64_t)d);
        fill(w, weights, N, (data_kind)(d % KIND_COUNT), (uint64_t)d);
        if (d % 2) spoil(dtype, data, 5);
        spoil(w, weights, (uint64_t)d);
        bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = 13, .range = 1, .lo = -2, .hi = 7);
        bf_context *context = contexts[d % context_count];
        check_retract(context, dtype, o, 1000);
        o.weights = w;
        check_retract(context, dtype, o, 2999);
        if (dtype == BF_F16) continue;
        o.bins = 10000; /* too many to sort by */
        check_retract(context, dtype, o, 700);
    }
}

TEST(every_context_counts_zeros_alike) {
    bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 5, .range = 1, .lo = -2, .hi = 7, .weights = BF_F32);
    fill(BF_F32, data, N, KIND_NARROW, 1);
    fill(BF_F32, weights, N, KIND_NARROW, 2);
    spoil(BF_F32, weights, 3);
    OWN(bf_histogram) *expected = part(contexts[0], BF_F32, o, 0, N);
    for (int c = 1; c < context_count; c++) {
        OWN(bf_histogram) *h = part(contexts[c], BF_F32, o, 0, N);
        assert_same_form(h, expected);
    }
}

TEST(what_is_not_there_is_not_taken_out) {
    bf_context *context = contexts[0];
    bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 2, .range = 1, .lo = 0, .hi = 2, .weights = BF_F64);
    bf_histogram_options plain = o, other = o;
    const double x[] = {0.5, 1.5, -1, 9, (double)NAN}, w[] = {1, 2, 3, 4, 5};
    memcpy(data, x, sizeof x);
    memcpy(weights, w, sizeof w);
    bf_histogram *h = part(context, BF_F64, o, 0, 1), *before = part(context, BF_F64, o, 0, 1);
    for (int64_t i = 1; i < 5; i++) {
        OWN(bf_histogram) *absent = part(context, BF_F64, o, i, i + 1);
        assert_int_equal(bf_histogram_retract(h, absent), BF_E_STATE);
        assert_same_form(h, before);
    }
    weights[0] = (double)INFINITY; /* the bin is the same, its sum another */
    bf_histogram *heavy = part(context, BF_F64, o, 0, 1);
    assert_int_equal(bf_histogram_retract(h, heavy), BF_E_STATE);
    assert_same_form(h, before);
    plain.weights = BF_NONE;
    other.hi = 3;
    bf_histogram *without = make_histogram(context, BF_F64, plain);
    bf_histogram *wider = make_histogram(context, BF_F64, other);
    assert_int_equal(bf_histogram_retract(h, without), BF_E_STATE);
    assert_int_equal(bf_histogram_retract(h, wider), BF_E_STATE);
    bf_histogram *const made[] = {h, before, heavy, without, wider};
    for (int i = 0; i < 5; i++) bf_histogram_destroy(made[i]);
}

UNIT_TESTS(histogram_retract, make_contexts, destroy_contexts)
