/* Bins: their edges are NumPy's, and a guess is never trusted where it may be wrong.
 * Builds: release (full), asan (full). */
#include "api/histogram/bins.h"
#include "tests/histogram/binning.h"
#include "tests/support/unit.h"

/* ---- edges ----------------------------------------------------------------------------------- */

/* NumPy's linspace in doubles and in floats, written as it is computed there. */
static void linspace_f64(double first, double last, int64_t bins, double *y) {
    double delta = last - first, step = delta / (double)bins;
    for (int64_t i = 0; i < bins; i++)
        y[i] = (step == 0 ? (double)i / (double)bins * delta : (double)i * step) + first;
    y[bins] = last;
}

static void linspace_f32(float first, float last, int64_t bins, double *y) {
    float delta = last - first, step = delta / (float)bins;
    for (int64_t i = 0; i < bins; i++) {
        float at = step == 0 ? (float)i / (float)bins * delta : (float)i * step;
        y[i] = (double)(at + first);
    }
    y[bins] = (double)last;
}

enum { BINS_MOST = 70000 };
static double found[BINS_MOST + 1], expected[BINS_MOST + 1];

static double any_double(uint64_t *rng, bf_dtype dtype) {
    uint64_t bits = random_float(dtype, (data_kind)(next_random(rng) % KIND_COUNT), rng);
    double x = wide_float(dtype, bits);
    return next_random(rng) & 1 ? -x : x;
}

static bool increases(const double *edges, int64_t bins) {
    for (int64_t i = 0; i < bins; i++)
        if (!(edges[i] < edges[i + 1])) return false;
    return isfinite(edges[0]) && isfinite(edges[bins]);
}

TEST(even_edges_are_linspace) {
    uint64_t rng = 1;
    for (int i = 0; i < 20000; i++) {
        bool f32 = i % 2;
        double a = any_double(&rng, f32 ? BF_F32 : BF_F64);
        double b = i % 3 ? any_double(&rng, f32 ? BF_F32 : BF_F64) : a * (1 + ldexp(1, -i % 23));
        if (f32) b = (double)(float)b;
        if (!(a < b) || !isfinite(b)) continue;
        int64_t bins = 1 + (int64_t)(next_random(&rng) % 60);
        if (f32 && isfinite((float)b - (float)a))
            linspace_f32((float)a, (float)b, bins, expected);
        else
            linspace_f64(a, b, bins, expected);
        for (int64_t k = 0; f32 && k <= bins; k++) expected[k] = (double)(float)expected[k];
        bf_dtype t = f32 ? BF_F32 : BF_F64;
        const char *why = bf_even_edges(a, b, bins, t, t, found);
        if ((why == NULL) != increases(expected, bins)) fail_msg("%a to %a: %s", a, b, why);
        if (why == NULL) assert_memory_equal(found, expected, (size_t)(bins + 1) * sizeof *found);
    }
}

TEST(edges_of_given_ranges_are_rounded_once_more) {
    linspace_f64(0.1, 0.7, 33, expected);
    assert_null(bf_even_edges(0.1, 0.7, 33, BF_F64, BF_F32, found));
    for (int i = 0; i <= 33; i++) assert_same_float(found[i], (double)(float)expected[i]);
    assert_null(bf_even_edges(0.1, 0.7, 33, BF_F64, BF_F16, found));
    assert_same_float(found[0], 0x1.998p-4);
    assert_non_null(bf_even_edges(0, 70000, 2, BF_F64, BF_F16, found)); /* infinite there */
    assert_non_null(bf_even_edges(1, 1.01, 100, BF_F64, BF_F16, found));
}

TEST(one_value_is_in_the_middle) {
    assert_null(bf_even_edges(3, 3, 2, BF_F64, BF_F64, found));
    assert_true(found[0] == 2.5 && found[1] == 3 && found[2] == 3.5);
    assert_non_null(bf_even_edges(1e17, 1e17, 1, BF_F64, BF_F64, found));
    assert_non_null(bf_even_edges(0x1p30, 0x1p30, 1, BF_F32, BF_F32, found));
    assert_null(bf_even_edges(0x1p30, 0x1p30, 1, BF_F64, BF_F64, found));
}

TEST(only_a_width_that_overflows_in_f64_is_refused) {
    assert_non_null(bf_even_edges(-1e308, 1e308, 10, BF_F64, BF_F64, found));
    linspace_f64(-3e38, 3e38, 10, expected); /* in f64, which holds it */
    assert_null(bf_even_edges(-3e38, 3e38, 10, BF_F32, BF_F32, found));
    for (int i = 0; i <= 10; i++) assert_same_float(found[i], (double)(float)expected[i]);
    assert_null(bf_even_edges(-30000, 35520, 4, BF_F16, BF_F16, found));
    assert_true(found[0] == -30000 && found[2] == 2760 && found[4] == 35520);
    assert_true(bf_edges_width(BF_F16, -30000, 35520) == 65520);
}

/* ---- guesses --------------------------------------------------------------------------------- */

static void check_guesses(const bf_bins *b, bf_dtype dtype, double x) {
    int64_t place = place_of(x, b->edges, b->count);
    if (bf_bin_of(b, x) != place) fail_msg("bin of %a: %lld", x, (long long)bf_bin_of(b, x));
    if (!is_float(dtype) && x != floor(x)) return; /* no element */
    if (b->even && bf_bin_guessed(b, x) != place)
        fail_msg("guess of %a: %lld, not %lld", x, (long long)bf_bin_guessed(b, x),
                 (long long)place);
    if (!bf_bin_is_single(dtype) || b->f32.scale == 0 || (double)(float)x != x) return;
    if (bf_bin_guessed_f32(b, (float)x) != place)
        fail_msg("f32 guess of %a: %lld, not %lld", x, (long long)bf_bin_guessed_f32(b, (float)x),
                 (long long)place);
}

/* Around every edge: it, its neighbours in the dtype, and between. */
static void check_all_edges(const bf_bins *b, bf_dtype dtype) {
    for (int64_t i = 0; i <= b->count; i++) {
        double e = b->edges[i];
        float f = (float)e;
        check_guesses(b, dtype, e);
        check_guesses(b, dtype, nextafter(e, -INFINITY));
        check_guesses(b, dtype, nextafter(e, INFINITY));
        check_guesses(b, dtype, (double)f);
        check_guesses(b, dtype, (double)nextafterf(f, -INFINITY));
        check_guesses(b, dtype, (double)nextafterf(f, INFINITY));
        if (i < b->count) check_guesses(b, dtype, e / 2 + b->edges[i + 1] / 2);
        for (int k = -2; k <= 2; k++) check_guesses(b, dtype, floor(e) + k);
    }
    static const double others[] = {0.0, -0.0, 1e308, -1e308, 5e-324, -5e-324};
    for (int i = 0; i < 6; i++) check_guesses(b, dtype, others[i]);
    check_guesses(b, dtype, (double)INFINITY);
    check_guesses(b, dtype, -(double)INFINITY);
    check_guesses(b, dtype, (double)NAN);
}

static int even_bins, single_bins; /* so many were seen */

static void check_range(double lo, double hi, int64_t bins, bf_dtype dtype) {
    bf_dtype t = bf_edges_dtype(dtype);
    if (bf_even_edges(lo, hi, bins, BF_F64, t, found) != NULL) return;
    bf_bins b = bf_bins_make(dtype, found, bins, NULL, 0);
    even_bins += b.even;
    single_bins += b.f32.scale != 0;
    assert_true(!b.even || (b.f64.above >= 0 && b.f64.above < 0.5 && b.f64.below < 0.5));
    check_all_edges(&b, dtype);
}

TEST(guesses_agree_with_the_edges) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_I16, BF_U8, BF_I64};
    static const int64_t counts[] = {1, 2, 3, 10, 100, 255, 256, 257, 1000, 4096};
    uint64_t rng = 2;
    for (int i = 0; i < 3000; i++) {
        bf_dtype dtype = dtypes[i % 6];
        double lo = any_double(&rng, i % 4 ? BF_F16 : BF_F64), width = any_double(&rng, BF_F16);
        if (i % 5 == 0) width = lo * ldexp(1, -(int)(next_random(&rng) % 50));
        check_range(lo, lo + fabs(width), counts[i % 10], dtype);
    }
    assert_true(even_bins > 1000 && single_bins > 500);
}

TEST(guesses_of_hard_ranges) {
    static const int64_t counts[] = {1, 3, 100, 65535, 65536, 65537, BINS_MOST};
    for (int i = 0; i < 7; i++) {
        int64_t n = counts[i];
        check_range(0, 1, n, BF_F32);
        check_range(0, 1, n, BF_F64);
        check_range(-1e300, 1e300, n, BF_F64);
        check_range(-8e307, 8e307, n, BF_F64);
        check_range(0, 4.9e-324 * (double)n, n, BF_F64); /* a subnormal a bin */
        check_range(0, 4.9e-324 * 7 * (double)n, n, BF_F64);
        check_range(0, 0x1p-149 * (double)n, n, BF_F32);
        check_range(0, 0x1p-149 * 3 * (double)n, n, BF_F32);
        check_range(1, 1 + 0x1p-52 * (double)n, n, BF_F64); /* a step a bin */
        check_range(1, 1 + 0x1.8p-51 * (double)n, n, BF_F64);
        check_range(1, 1 + 0x1.8p-21 * (double)n, n, BF_F32);
        check_range(-0x1p63, 0x1p63, n, BF_I64);
        check_range(-0.5, (double)n - 0.5, n, BF_I16);
        check_range(0.1, 300.7, n, BF_U8);
        check_range(-3.4e38, 3.4e38, n, BF_F32);
    }
}

/* Integers on edges would otherwise all be looked up. */
TEST(integers_on_edges_are_beyond_doubt) {
    static const struct {
        double lo, hi;
        int64_t bins;
        bf_dtype dtype;
    } cases[] = {{0, 1000, 1000, BF_I32},       {0, 256, 256, BF_I16}, {-5.25, 60.75, 22, BF_I64},
                 {0, 300, 200, BF_U16},         {0, 10, 100, BF_U8},   {-0.5, 99.5, 100, BF_U32},
                 {-32768, 32768, 32768, BF_I16}};
    for (int i = 0; i < 7; i++) {
        assert_null(bf_even_edges(cases[i].lo, cases[i].hi, cases[i].bins, BF_F64, BF_F64, found));
        bf_bins b = bf_bins_make(cases[i].dtype, found, cases[i].bins, NULL, 0);
        assert_true(b.even && b.f64.above == 0 && b.f64.below == 0);
        check_all_edges(&b, cases[i].dtype);
    }
}

/* Bins far narrower than the distance of two elements. */
TEST(no_guess_is_far_beyond_the_last_bin) {
    static const double ends[][2] = {{1, 1 + 0x1p-41},
                                     {0.5, 0.5 + 0x1p-40},
                                     {0.75, 1.25},
                                     {1 - 0x1p-50, 1 + 0x1p-50},
                                     {0x1.fffffffp-1, 1},
                                     {1 - 0x1p-26, 1 + 0x1p-45},
                                     {-1e-300, 1e-300},
                                     {-3.4e38, 3.4e38},
                                     {0x1.fffffep127, 0x1.8p128},
                                     {-1.978, -1.193}};
    static const bf_dtype dtypes[] = {BF_BOOL, BF_U8, BF_I32, BF_I64, BF_F16, BF_F32, BF_F64};
    for (int i = 0; i < 10 * 7 * 3; i++) {
        const double *e = ends[i % 10];
        int64_t bins = 1 + i / 70;
        if (bf_even_edges(e[0], e[1], bins, BF_F64, BF_F64, found) != NULL) continue;
        bf_bins b = bf_bins_make(dtypes[i / 10 % 7], found, bins, NULL, 0);
        assert_true(!b.even || (b.f64.most >= 0 && b.f64.most < (double)bins + 1));
        assert_true(b.f32.scale == 0 || b.f32.most < (double)bins + 1);
        check_all_edges(&b, dtypes[i / 10 % 7]);
    }
}

TEST(given_edges_are_searched_or_guessed) {
    uint64_t rng = 3;
    for (int i = 0; i < 300; i++) {
        int64_t bins = 1 + (int64_t)(next_random(&rng) % 300);
        found[0] = any_double(&rng, BF_F16);
        double width = fabs(found[0]) + 1;
        for (int64_t k = 1; k <= bins; k++) {
            double step = width / 64 * (double)(i % 3 == 0 ? 1 : 1 + next_random(&rng) % 3);
            found[k] = found[k - 1] + (i % 3 == 2 ? width * ldexp(1, (int)k - 200) : step);
        }
        if (!bf_edges_increase(found, bins)) continue;
        bf_bins b = bf_bins_make(BF_F64, found, bins, NULL, 0);
        check_all_edges(&b, BF_F64);
    }
    bf_bins narrow = bf_bins_make(BF_F32, (double[]){1, 1 + 0x1p-52, 2}, 2, NULL, 0);
    check_all_edges(&narrow, BF_F32);
    bf_bins wide = bf_bins_make(BF_F32, (double[]){-1.7e308, 0, 1.7e308}, 2, NULL, 0);
    assert_false(wide.even); /* the width overflows */
    check_all_edges(&wide, BF_F32);
}

TEST(every_bins_have_a_serial_of_their_own) {
    static const double edges[] = {0, 1};
    bf_bins a = bf_bins_make(BF_F64, edges, 1, NULL, 0),
            b = bf_bins_make(BF_F64, edges, 1, NULL, 0);
    assert_true(a.serial != 0 && a.serial != b.serial);
}

TEST(elements_are_the_doubles_nearest_to_them) {
    uint64_t data[64];
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int k = 0; k < KIND_COUNT; k++) {
            size_t bytes = bf_dtype_size(all_dtypes[d]);
            fill(all_dtypes[d], data, 64, (data_kind)k, (uint64_t)k);
            for (int i = 0; i < 64; i++) {
                uint64_t bits = load_bits((char *)data + (size_t)i * bytes, bytes);
                assert_same_float(bf_bin_value(all_dtypes[d], bits),
                                  element(all_dtypes[d], data, i));
            }
        }
    }
}

UNIT_TESTS(bins, NULL, NULL)
