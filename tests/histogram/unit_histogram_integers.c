/* Edges and ends of ranges that are integers beyond 2^53: integers compare with them as integers,
 * whatever the instruction set, the threads, the weights and the parts. */
#include "tests/histogram/binning.h"
#include "tests/support/unit.h"

#include <fenv.h>

enum { N = 4001, MOST = 3000 };
static const int64_t two_53 = (int64_t)1 << 53;
static uint64_t data[N], edges[MOST + 1];
static int64_t expected[MOST + OTHERS];

static __int128 integer_of(bf_dtype dtype, const void *at, int64_t i) {
    const size_t bytes = bf_dtype_size(dtype);
    const uint64_t bits = load_bits((const char *)at + (size_t)i * bytes, bytes);
    const int unused = 64 - 8 * (int)bytes;
    if (dtype == BF_BOOL) return bits != 0;
    return is_signed(dtype) ? (__int128)((int64_t)(bits << unused) >> unused) : (__int128)bits;
}

/* What is counted, by comparisons with every edge. */
static void count(bf_dtype dtype, bf_dtype integers, int64_t bins) {
    memset(expected, 0, sizeof expected);
    for (int64_t i = 0; i < N; i++) {
        const __int128 x = integer_of(dtype, data, i);
        int64_t low = 0, high = bins + 1; /* edges before low are not above x */
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (integer_of(integers, edges, middle) <= x)
                low = middle + 1;
            else
                high = middle;
        }
        const bool last = low == bins + 1 && integer_of(integers, edges, bins) == x;
        expected[low == 0 ? bins : last ? bins - 1 : low > bins ? bins + 1 : low - 1]++;
    }
}

static void check_weights(const bf_histogram *h, int64_t bins) {
    double sums[MOST];
    assert_int_equal(bf_histogram_weights(h, sums), BF_OK);
    for (int64_t i = 0; i < bins; i++) assert_true(sums[i] == (double)expected[i]);
}

/* The data in two parts, one of them saved and loaded: counts and sums of weights of 1. */
static void check_counts(bf_context *c, bf_dtype dtype, const bf_histogram_options *options) {
    static unsigned char ones[N];
    const int64_t some = N / 3;
    const size_t bytes = bf_dtype_size(dtype);
    bf_histogram_options o = *options;
    memset(ones, 1, sizeof ones);
    for (int weighted = 0; weighted < 2; weighted++) {
        o.weights = weighted ? BF_U8 : BF_NONE;
        const bf_array a = bf_array_of(dtype, data, some), wa = bf_array_of(BF_U8, ones, some),
                       b = bf_array_of(dtype, (char *)data + (size_t)some * bytes, N - some),
                       wb = bf_array_of(BF_U8, ones, N - some);
        OWN(bf_histogram) *h = make_histogram(c, dtype, o);
        assert_int_equal(bf_histogram_absorb(h, &a, weighted ? &wa : NULL), BF_OK);
        OWN(bf_histogram) *loaded = copy_form(c, h);
        assert_int_equal(bf_histogram_clear(h), BF_OK);
        assert_int_equal(bf_histogram_absorb(h, &b, weighted ? &wb : NULL), BF_OK);
        assert_int_equal(bf_histogram_merge(loaded, h), BF_OK);
        assert_counts(loaded, expected, o.bins, N);
        if (weighted) check_weights(loaded, o.bins);
    }
}

/* Edges from `first` on, mostly `step` apart, and data around all of them. Returns the bins. */
static int64_t fill_edges(bf_dtype dtype, bf_dtype integers, __int128 first, int64_t step,
                          int64_t bins, uint64_t *rng) {
    const __int128 most = integers == BF_U64 ? (__int128)UINT64_MAX : (__int128)INT64_MAX;
    const size_t bytes = bf_dtype_size(dtype);
    int64_t n = 0;
    for (__int128 at = first; at <= most && n <= bins; n++) {
        edges[n] = (uint64_t)at;
        at += 1 + (__int128)(next_random(rng) % (uint64_t)step);
    }
    for (int64_t i = 0; i < N; i++) {
        uint64_t x = edges[next_random(rng) % (uint64_t)n] + next_random(rng) % 5 - 2;
        if (i % 7 == 0) x = (uint64_t)INT64_MAX - 1 + next_random(rng) % 4;
        if (i % 11 == 0) x = next_random(rng) % 2 - 1;
        store_bits((char *)data + (size_t)i * bytes, bytes, x);
    }
    return n - 1;
}

static void check_edges(bf_dtype dtype, bf_dtype integers, int64_t bins) {
    const bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = bins, .integers = edges, .integers_dtype = integers);
    count(dtype, integers, bins);
    for (int c = 0; c < context_count; c++) check_counts(contexts[c], dtype, &o);
}

TEST(integers_compare_as_integers) {
    static const bf_dtype dtypes[] = {BF_I64, BF_U64, BF_I64, BF_U64, BF_I32, BF_U8, BF_BOOL};
    static const int64_t starts[] = {
        INT64_MIN, INT64_MIN + 9,          -((int64_t)1 << 53) - 3, -5,
        0,         ((int64_t)1 << 53) - 2, 1700000000000000000,     INT64_MAX - 700};
    uint64_t rng = 1;
    for (int i = 0; i < 112; i++) {
        const bf_dtype dtype = dtypes[i % 7], integers = i % 2 ? BF_U64 : BF_I64;
        __int128 first = starts[i / 7 % 8];
        if (integers == BF_U64 && first < 0) first = UINT64_MAX - 3000;
        const int64_t step = i % 3 ? 1 + (int64_t)(next_random(&rng) % 100) : INT64_MAX / 50;
        const int64_t bins = fill_edges(dtype, integers, first, step, i % 4 ? 1 + i : MOST, &rng);
        if (bins > 0) check_edges(dtype, integers, bins);
    }
}

TEST(the_edges_are_told_as_integers) {
    const int64_t given[] = {two_53 + 1, two_53 + 3}, small[] = {-7, 0, two_53 - 1};
    const double doubles[] = {-7, 0, 0x1p53 - 1};
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram *h = make_histogram(
        contexts[0], BF_I64,
        BF_HISTOGRAM_OPTIONS(.bins = 1, .integers = given, .integers_dtype = BF_U64));
    bf_histogram_describe(h, &info);
    assert_int_equal(info.edges, BF_I64); /* it holds them */
    assert_memory_equal(bf_histogram_integers(h), given, sizeof given);
    assert_true(bf_histogram_edges(h)[1] == 0x1p53 + 4);
    const int64_t four[] = {two_53, two_53 + 1, two_53 + 2, two_53 + 3};
    const bf_array array = bf_array_of(BF_I64, four, 4);
    double density;
    assert_int_equal(bf_histogram_absorb(h, &array, NULL), BF_OK);
    assert_int_equal(bf_histogram_counts(h)[0], 3);
    assert_int_equal(bf_histogram_density(h, &density), BF_OK);
    assert_true(density == 0.5);
    bf_histogram_destroy(h);
    OWN(bf_histogram) *a =
        make_histogram(contexts[0], BF_I64, BF_HISTOGRAM_OPTIONS(.bins = 2, .edges = doubles)),
                      *b = make_histogram(contexts[0], BF_I64,
                                          BF_HISTOGRAM_OPTIONS(.bins = 2, .integers = small,
                                                               .integers_dtype = BF_I64));
    assert_same_form(a, b); /* doubles hold these */
    assert_null(bf_histogram_integers(b));
}

/* NumPy's: what the ends, as integers, leave is compared with even edges, as doubles. */
static void count_in_range(const int64_t ends[2], int64_t bins) {
    const double lo = (double)ends[0], hi = (double)ends[1], step = (hi - lo) / (double)bins;
    memset(expected, 0, sizeof expected);
    for (int64_t i = 0; i < N; i++) {
        const int64_t x = (int64_t)data[i];
        int64_t at = 0;
        while (at + 1 < bins && (double)x >= (double)(at + 1) * step + lo) at++;
        expected[x < ends[0] ? bins : x > ends[1] ? bins + 1 : at]++;
    }
}

TEST(ends_of_ranges_compare_as_integers) {
    uint64_t rng = 2;
    for (int i = 0; i < 200; i++) {
        int64_t ends[2] = {two_53 + 1, two_53 + 3}, bins = 1 + i % 50;
        if (i > 0) {
            const int64_t width = (int64_t)(next_random(&rng) >> (2 + i % 40));
            ends[0] = (int64_t)(next_random(&rng) >> 2) * (i % 2 ? 1 : -1);
            ends[1] = ends[0] + width;
        }
        for (int64_t k = 0; k < N; k++) { /* around the edges */
            const double edge = (double)ends[0] + (double)((__int128)ends[1] - ends[0]) *
                                                      (double)(k % (bins + 1)) / (double)bins;
            data[k] = k % 3 ? (uint64_t)(int64_t)edge + next_random(&rng) % 4001 - 2000
                            : (uint64_t)ends[k % 2] + next_random(&rng) % 5 - 2;
        }
        const bf_histogram_options o =
            BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .integers = ends,
                                 .integers_dtype = BF_I64);
        bf_histogram *h = NULL;
        const bf_status status = bf_histogram_create(contexts[0], BF_I64, &o, &h);
        bf_histogram_destroy(h);
        if (status == BF_E_ARGUMENT) continue; /* two edges are equal */
        count_in_range(ends, bins);
        check_counts(contexts[i % context_count], BF_I64, &o);
    }
}

TEST(the_caller_s_rounding_does_not_matter) {
    const int64_t ends[] = {two_53 + 1, two_53 + 1235};
    const bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 7, .range = 1, .integers = ends, .integers_dtype = BF_I64);
    OWN(bf_histogram) *h = make_histogram(contexts[0], BF_I64, o);
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 3; i++) {
        fesetround(modes[i]);
        OWN(bf_histogram) *other = make_histogram(contexts[0], BF_I64, o);
        fesetround(FE_TONEAREST);
        assert_same_form(h, other);
    }
}

static void refuse(bf_status status, bf_dtype dtype, bf_histogram_options o) {
    bf_histogram *h = NULL;
    assert_int_equal(bf_histogram_create(contexts[0], dtype, &o, &h), status);
    assert_null(h);
}

TEST(what_does_not_increase_is_refused) {
    const int64_t up[] = {two_53, two_53 + 1}, same[] = {5, 5}, down[] = {two_53 + 1, two_53};
    const double given[] = {1, 2};
    const bf_dtype i64 = BF_I64;
#define GIVEN(...) BF_HISTOGRAM_OPTIONS(.bins = 1, .integers_dtype = i64, __VA_ARGS__)
    refuse(BF_E_ARGUMENT, BF_I64, GIVEN(.integers = same));
    refuse(BF_E_ARGUMENT, BF_I64, GIVEN(.integers = down));
    refuse(BF_E_ARGUMENT, BF_I64, GIVEN(.integers = down, .range = 1));
    refuse(BF_E_ARGUMENT, BF_F64, GIVEN(.integers = up)); /* one double */
    refuse(BF_E_ARGUMENT, BF_I64, GIVEN(.integers = up, .edges = given));
    refuse(BF_E_DTYPE, BF_I64, BF_HISTOGRAM_OPTIONS(.bins = 1, .integers = up));
    refuse(BF_E_ARGUMENT, BF_I64,
           BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_AUTO, .integers = up, .integers_dtype = BF_I64));
    bf_histogram *a = make_histogram(contexts[0], BF_I64, GIVEN(.integers = up)),
                 *b = make_histogram(contexts[0], BF_I64,
                                     GIVEN(.integers = ((int64_t[]){two_53, two_53 + 2})));
    assert_int_equal(bf_histogram_merge(a, b), BF_E_STATE);
    bf_histogram_destroy(a);
    bf_histogram_destroy(b);
#undef GIVEN
}

UNIT_TESTS(histogram_integers, make_contexts, destroy_contexts)
