/* Histograms: every count is what the edges say, whatever the dtype, layout, instruction set and
 * threads.
 * Builds: release, asan (full). */
#include "tests/histogram/binning.h"
#include "tests/support/unit.h"

#include <fenv.h>

enum { N = 3001, SMALL = 300 };
static double data[N + 64];

/* ---- checks ---------------------------------------------------------------------------------- */

/* Counts the problem on every context: by its edges, and as bf_histogram_of makes them. */
static void check_problem(const problem *p, const bf_histogram_options *options) {
    int64_t *expected = expected_counts(p);
    bf_array a = bf_array_of(p->dtype, p->data, p->n);
    for (int i = 0; i < context_count; i++) {
        OWN(bf_histogram) *of = histogram_of(contexts[i], &a, NULL, *options), *made = NULL;
        assert_counts(of, expected, p->bins, p->n);
        bf_histogram_options by_edges =
            BF_HISTOGRAM_OPTIONS(.bins = p->bins, .edges = bf_histogram_edges(of));
        assert_int_equal(bf_histogram_create(contexts[i], p->dtype, &by_edges, &made), BF_OK);
        assert_int_equal(bf_histogram_absorb(made, &a, NULL), BF_OK);
        assert_counts(made, expected, p->bins, p->n);
    }
    free(expected);
}

/* Checks the histogram that options alone make; its edges are those of the first context. */
static void check_options(bf_dtype dtype, const void *x, int64_t n,
                          const bf_histogram_options *options) {
    bf_array a = bf_array_of(dtype, x, n);
    OWN(bf_histogram) *h = histogram_of(contexts[0], &a, NULL, *options);
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram_describe(h, &info);
    problem p = {dtype, x, n, info.bins, bf_histogram_edges(h)};
    check_problem(&p, options);
}

/* Puts elements near the edges of even bins over [lo, hi] among the rest. */
static void add_near_edges(bf_dtype dtype, void *x, int64_t n, double lo, double hi, int64_t bins,
                           uint64_t *rng) {
    size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i += 2) {
        int64_t k = (int64_t)(next_random(rng) % (uint64_t)(bins + 1));
        double e = lo + (hi - lo) * ((double)k / (double)bins);
        float f = (float)e;
        uint64_t bits = 0;
        uint32_t low;
        memcpy(&low, &f, sizeof low);
        memcpy(&bits, &e, sizeof bits);
        if (dtype == BF_F32 || dtype == BF_BF16) bits = dtype == BF_F32 ? low : low >> 16;
        if (dtype == BF_F16) continue;
        if (!is_float(dtype)) bits = (uint64_t)(int64_t)e;
        bits += next_random(rng) % 3 - 1;
        store_bits((char *)x + (size_t)i * bytes, bytes, bits);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(every_dtype_and_kind_of_data) {
    static const int64_t bins[] = {1, 2, 10, 100, 255, 256, 257, 1000};
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int k = 0; k < KIND_COUNT; k++) {
            uint64_t seed = (uint64_t)(d * 100 + k);
            int64_t n = bins[(d + k) % 8];
            fill(all_dtypes[d], data, N, (data_kind)k, seed);
            bf_histogram_options range =
                BF_HISTOGRAM_OPTIONS(.bins = n, .range = 1, .lo = -7.3, .hi = 100);
            add_near_edges(all_dtypes[d], data, N, -7.3, 100, n, &seed);
            check_options(all_dtypes[d], data, N, &range);
            range.lo = range.hi = 2; /* from 1.5 to 2.5, where a dtype has so many numbers */
            if (!is_float(all_dtypes[d]) || n <= 1 << (fraction_bits(all_dtypes[d]) - 1))
                check_options(all_dtypes[d], data, N, &range);
        }
    }
}

TEST(automatic_ranges) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int64_t n = 1; n <= 1000; n *= 10) {
            bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = n);
            fill(all_dtypes[d], data, N, KIND_NARROW, (uint64_t)d);
            if (all_dtypes[d] == BF_F16 || all_dtypes[d] == BF_BF16)
                options.bins = n < 100 ? n : 50;
            check_options(all_dtypes[d], data, N, &options);
            fill(all_dtypes[d], data, 1, KIND_NARROW, (uint64_t)n); /* min == max */
            options.bins = n < 100 ? n : 20;
            check_options(all_dtypes[d], data, 1, &options);
        }
    }
}

TEST(many_bins) {
    static const int64_t bins[] = {65535, 65536, 65537, 200000};
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_I32, BF_I64, BF_U16, BF_F16};
    for (int i = 0; i < 24; i++) {
        bf_dtype dtype = dtypes[i % 6];
        uint64_t seed = (uint64_t)i;
        double hi = dtype == BF_F16 ? 0x1p-5 : 3000000;
        bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = bins[i / 6], .range = 1);
        options.hi = hi;
        if (dtype == BF_F16) options.bins /= 400;
        fill(dtype, data, N, i % 2 ? KIND_FULL : KIND_NARROW, seed);
        add_near_edges(dtype, data, N, 0, hi, options.bins, &seed);
        check_options(dtype, data, N, &options);
    }
}

TEST(ten_million_bins) {
    enum { BINS = 10000000 };
    uint64_t seed = 1;
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = BINS, .range = 1, .hi = 1);
    for (int i = 0; i < 2; i++) {
        fill(BF_F64, data, N, KIND_NARROW, seed);
        add_near_edges(BF_F64, data, N, 0, 1, BINS, &seed);
        bf_array a = bf_array_of(BF_F64, data, N);
        OWN(bf_histogram) *h = histogram_of(contexts[i ? context_count - 1 : 0], &a, NULL, options);
        problem p = {BF_F64, data, N, BINS, bf_histogram_edges(h)};
        int64_t *expected = expected_counts(&p);
        assert_counts(h, expected, BINS, N);
        free(expected);
    }
}

/* Ranges whose widths over- or underflow on the way, and bins a step wide. */
TEST(hard_ranges) {
    static const struct {
        bf_dtype dtype;
        double lo, hi;
        int64_t bins;
    } cases[] = {
        {BF_F64, -8e307, 8e307, 100},
        {BF_F64, 0, 5e-324 * 50, 10},
        {BF_F64, 0, 5e-324 * 50, 50},
        {BF_F64, -5e-324, 5e-324, 2},
        {BF_F64, 1, 1 + 0x1p-48, 16},
        {BF_F64, 1e300, 1.0000001e300, 1000},
        {BF_F32, -3e38, 3e38, 100},
        {BF_F32, 0, 0x1p-149 * 100, 100},
        {BF_F32, 0, 0x1p-149 * 100, 33},
        {BF_F32, 1, 1 + 0x1p-18, 32},
        {BF_F32, 1e-30, 1e-29, 256},
        {BF_BF16, 1, 2, 128},
        {BF_F16, 0, 0x1p-24 * 900, 300},
        {BF_F16, -65504, 65504, 500},
        {BF_I64, -0x1p63, 0x1p63, 1000},
        {BF_U64, 0, 0x1p64, 777},
        {BF_I64, 0x1p53, 0x1p53 + 64, 8},
        {BF_I32, -0x1p31, 0x1p31, 256},
        {BF_U8, 0, 255, 255},
        {BF_U8, 0, 256, 256},
        {BF_I8, -128, 127, 100},
        {BF_BOOL, 0, 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < KIND_COUNT; k++) {
            uint64_t seed = i;
            bf_histogram_options options =
                BF_HISTOGRAM_OPTIONS(.bins = cases[i].bins, .range = 1, .lo = cases[i].lo,
                                     .hi = cases[i].hi);
            fill(cases[i].dtype, data, N, (data_kind)k, seed);
            add_near_edges(cases[i].dtype, data, N, options.lo, options.hi, options.bins, &seed);
            check_options(cases[i].dtype, data, N, &options);
        }
    }
}

TEST(given_edges) {
    static double edges[SMALL + 1];
    uint64_t rng = 5;
    for (int i = 0; i < 4 * DTYPE_COUNT; i++) {
        bf_dtype dtype = all_dtypes[i % DTYPE_COUNT];
        int64_t bins = i < DTYPE_COUNT ? 1 + i % 3 : 1 + (int64_t)(next_random(&rng) % SMALL);
        edges[0] = -20.5;
        for (int64_t k = 1; k <= bins; k++)
            edges[k] = edges[k - 1] + ldexp((double)(1 + next_random(&rng) % 7), i % 5 - 6);
        bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = bins, .edges = edges);
        problem p = {dtype, data, N, bins, edges};
        fill(dtype, data, N, KIND_NARROW, (uint64_t)i);
        add_near_edges(dtype, data, N, edges[0], edges[bins], bins, &rng);
        check_problem(&p, &options);
    }
}

TEST(what_is_in_no_bin_is_counted_apart) {
    static const bf_dtype dtypes[] = {BF_F16, BF_BF16, BF_F32, BF_F64};
    for (int d = 0; d < 4; d++) {
        bf_dtype dtype = dtypes[d];
        size_t bytes = bf_dtype_size(dtype);
        uint64_t rng = 9, inf = infinity_bits(dtype), sign = sign_bit(dtype);
        fill(dtype, data, N, KIND_NARROW, 3);
        for (int i = 0; i < N; i += 3) {
            const uint64_t special[] = {inf, inf | sign, inf + 1, inf | sign | 77, 0, sign};
            store_bits((char *)data + (size_t)i * bytes, bytes, special[next_random(&rng) % 6]);
        }
        check_options(dtype, data, N, &BF_HISTOGRAM_OPTIONS(.bins = 20, .range = 1, .hi = 0.5));
        check_options(dtype, data, N, &BF_HISTOGRAM_OPTIONS(.bins = 20)); /* from the finite ones */
        check_options(dtype, data, N, &BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_AUTO));
        for (int i = 0; i < N; i++) store_bits((char *)data + (size_t)i * bytes, bytes, inf + 1);
        check_options(dtype, data, N, &BF_HISTOGRAM_OPTIONS(.bins = 0));
    }
}

TEST(a_number_of_bins_by_sturges_rule) {
    static const struct {
        int64_t n, bins;
    } cases[] = {{0, 1}, {1, 1}, {2, 2}, {3, 3}, {4, 3}, {5, 4}, {8, 4}, {9, 5}, {3000, 13}};
    for (int i = 0; i < 9; i++) {
        bf_histogram_info info = {.size = sizeof info};
        fill(BF_F32, data, N, KIND_NARROW, 1);
        bf_array a = bf_array_of(BF_F32, data, cases[i].n);
        OWN(bf_histogram) *h =
            histogram_of(contexts[0], &a, NULL, BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_AUTO));
        bf_histogram_describe(h, &info);
        assert_int_equal(info.bins, cases[i].bins);
    }
}

/* The bins of an array, from its least and greatest elements and how many there are. */
TEST(two_elements_stand_for_many) {
    for (int64_t n = 1; n <= N; n = 3 * n + 1) {
        double ends[2] = {INFINITY, -INFINITY};
        bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_AUTO, .numbers = n);
        fill(BF_F64, data, n, KIND_NARROW, (uint64_t)n);
        for (int64_t i = 0; i < n; i++) {
            ends[0] = fmin(ends[0], element(BF_F64, data, i));
            ends[1] = fmax(ends[1], element(BF_F64, data, i));
        }
        bf_array a = bf_array_of(BF_F64, data, n), two = bf_array_of(BF_F64, ends, 2);
        OWN(bf_histogram) *h = histogram_of(contexts[0], &two, NULL, o);
        bf_histogram_clear(h);
        assert_int_equal(bf_histogram_absorb(h, &a, NULL), BF_OK);
        o.numbers = 0;
        OWN(bf_histogram) *expected = histogram_of(contexts[0], &a, NULL, o);
        assert_same_form(h, expected);
    }
}

TEST(sizes_and_alignments) {
    static char shifted[sizeof data + 8];
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = 64, .range = 1, .lo = -1, .hi = 9);
    for (int d = 0; d < DTYPE_COUNT; d++) {
        fill(all_dtypes[d], data, 150, KIND_NARROW, (uint64_t)d);
        for (int64_t n = 0; n < 140; n += n < 20 ? 1 : 17) {
            memcpy(shifted + n % 9, data, 150 * bf_dtype_size(all_dtypes[d]));
            check_options(all_dtypes[d], shifted + n % 9, n, &options);
        }
    }
}

/* Any strides give what the gathered elements give. */
TEST(strided_arrays) {
    static const struct {
        int32_t ndim;
        int64_t shape[3], strides[3], start;
    } cases[] = {
        {1, {900}, {3}, 0},           {1, {900}, {-2}, 2000},
        {1, {900}, {0}, 5},           {2, {30, 40}, {1, 30}, 0},
        {2, {30, 40}, {50, -1}, 40},  {3, {5, 6, 7}, {100, 0, 3}, 1},
        {2, {1, 700}, {9999, 4}, 10}, {0, {0}, {0}, 3},
        {3, {4, 0, 2}, {1, 1, 1}, 0},
    };
    for (int i = 0; i < 9 * DTYPE_COUNT; i++) {
        bf_dtype dtype = all_dtypes[i / 9];
        size_t bytes = bf_dtype_size(dtype);
        bf_array a = {.dtype = dtype, .ndim = cases[i % 9].ndim};
        memcpy(a.shape, cases[i % 9].shape, sizeof cases[0].shape);
        memcpy(a.strides, cases[i % 9].strides, sizeof cases[0].strides);
        a.data = (char *)data + (size_t)cases[i % 9].start * bytes;
        fill(dtype, data, N, KIND_NARROW, (uint64_t)i);
        static double flat[N];
        int64_t n = bf_array_count(&a), at = 0;
        for (int64_t x = 0; x < (a.ndim > 0 ? a.shape[0] : 1); x++)
            for (int64_t y = 0; y < (a.ndim > 1 ? a.shape[1] : 1); y++)
                for (int64_t z = 0; z < (a.ndim > 2 ? a.shape[2] : 1); z++, at++)
                    memcpy((char *)flat + (size_t)at * bytes,
                           (char *)a.data +
                               (x * a.strides[0] + y * a.strides[1] + z * a.strides[2]) *
                                   (int64_t)bytes,
                           bytes);
        bf_array copied = bf_array_of(dtype, flat, n);
        for (int c = 0; c < context_count; c++) {
            OWN(bf_histogram) *x =
                histogram_of(contexts[c], &a, NULL, BF_HISTOGRAM_OPTIONS(.bins = 9));
            OWN(bf_histogram) *y =
                histogram_of(contexts[c], &copied, NULL, BF_HISTOGRAM_OPTIONS(.bins = 9));
            assert_same_form(x, y);
        }
    }
}

/* Enough for several threads and pieces, and for every way to count: constant, skewed and even
 * data, and bins that fit bytes, words, private counts or none of these. */
TEST(large_arrays) {
    static const int64_t bins[] = {1, 253, 254, 5000, 65533, 65534, 1100000};
    const int step = DATA_SHARE > 1 ? 3 : 1;
    char *large = malloc(4 * LARGE_BYTES);
    assert_non_null(large);
    for (int i = 0; i < 2 * DTYPE_COUNT; i += step) {
        bf_dtype dtype = all_dtypes[i / 2];
        size_t bytes = bf_dtype_size(dtype);
        int64_t n = (int64_t)(4 * LARGE_BYTES / bytes);
        fill(dtype, large, n, i % 2 ? KIND_NARROW : KIND_FULL, (uint64_t)i);
        for (int64_t k = n / 2; k < n; k++) /* the second half constant, or nearly */
            memcpy(large + (size_t)k * bytes, large + (size_t)(k % 777 == 0 ? k % 50 : 3) * bytes,
                   bytes);
        bf_histogram_options options =
            BF_HISTOGRAM_OPTIONS(.bins = bins[i % 7], .range = 1, .lo = -3,
                                 .hi = is_float(dtype) ? 3 : 120);
        if (dtype == BF_F16 || dtype == BF_BF16) options.bins = i % 2 ? 100 : 7;
        check_options(dtype, large + i % 3, n - 2, &options);
    }
    free(large);
}

TEST(the_caller_s_rounding_does_not_matter) {
    fill(BF_F32, data, N, KIND_NARROW, 1);
    bf_array a = bf_array_of(BF_F32, data, N);
    OWN(bf_histogram) *h = histogram_of(contexts[0], &a, NULL, BF_HISTOGRAM_OPTIONS(.bins = 97));
    for (int i = 0; i < context_count; i++) {
        fesetround(i % 2 ? FE_UPWARD : FE_TOWARDZERO);
        OWN(bf_histogram) *other =
            histogram_of(contexts[i], &a, NULL, BF_HISTOGRAM_OPTIONS(.bins = 97));
        assert_int_equal(fegetround(), i % 2 ? FE_UPWARD : FE_TOWARDZERO);
        fesetround(FE_TONEAREST);
        assert_same_form(h, other);
    }
}

UNIT_TESTS(histogram, make_contexts, destroy_contexts)
