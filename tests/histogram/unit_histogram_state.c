/* Histograms as states: weights, chunks, merging, saving; results.
 * Builds: release, asan, tsan. */
#include "tests/histogram/binning.h"
#include "tests/support/saved.h"
#include "tests/support/unit.h"

enum { N = 2000 };
static double data[N], weights[N];

static bf_array slice(bf_dtype dtype, const void *x, int64_t begin, int64_t end) {
    return bf_array_of(dtype, (const char *)x + (size_t)begin * bf_dtype_size(dtype), end - begin);
}

/* Absorbs elements [begin, end) of data, and of weights if there are any. */
static void absorb(bf_histogram *h, int64_t begin, int64_t end) {
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram_describe(h, &info);
    bf_array a = slice(info.dtype, data, begin, end), w = {0};
    if (info.weights != BF_NONE) w = slice(info.weights, weights, begin, end);
    assert_int_equal(bf_histogram_absorb(h, &a, info.weights != BF_NONE ? &w : NULL), BF_OK);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Sums a bin's weights exactly; infinities and NaNs as a sum has them. */
static double exact_weights(const bf_histogram *h, int64_t bin, bf_dtype dtype, int64_t n) {
    bf_histogram_info info = {.size = sizeof info};
    double special = 0;
    int64_t count = 0;
    bool negative_zeros = true;
    exact_sums sums;
    exact_init(&sums);
    bf_histogram_describe(h, &info);
    for (int64_t i = 0; i < n; i++) {
        if (place_of(element(info.dtype, data, i), bf_histogram_edges(h), info.bins) != bin)
            continue;
        const char *w = (const char *)weights + (size_t)i * bf_dtype_size(dtype);
        double x = element(dtype, w, 0);
        count++;
        negative_zeros &= x == 0 && signbit(x) != 0;
        if (isfinite(x))
            exact_add(&sums, dtype, w, NULL, 1);
        else
            special += x;
    }
    double sum = mpfr_get_d(sums.x, MPFR_RNDN);
    exact_clear(&sums);
    if (special != 0) return isnan(special) ? (double)NAN : special;
    return sum == 0 ? (count > 0 && negative_zeros ? -0.0 : 0.0) : sum;
}

static void check_weights(bf_dtype dtype, bf_dtype weight_dtype, data_kind kind, bool special,
                          int64_t bins) {
    enum { COUNT = 400, BINS_MOST = 3000 };
    static double found[BINS_MOST], expected[BINS_MOST];
    uint64_t rng = 3;
    size_t bytes = bf_dtype_size(weight_dtype);
    fill(dtype, data, COUNT, KIND_NARROW, 1);
    fill(weight_dtype, weights, COUNT, kind, 2);
    for (int i = 0; special && i < COUNT; i += 1 + (int)(next_random(&rng) % 60)) {
        uint64_t inf = infinity_bits(weight_dtype), sign = sign_bit(weight_dtype);
        const uint64_t bits[] = {inf, inf | sign, inf + 1, sign, 0};
        store_bits((char *)weights + (size_t)i * bytes, bytes, bits[next_random(&rng) % 5]);
    }
    bf_array a = bf_array_of(dtype, data, COUNT), w = bf_array_of(weight_dtype, weights, COUNT);
    for (int c = 0; c < context_count; c++) {
        OWN(bf_histogram) *h = histogram_of(contexts[c], &a, &w,
                                            BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .lo = -1,
                                                                 .hi = 6, .weights = weight_dtype));
        for (int64_t i = 0; c == 0 && i < bins; i++)
            expected[i] = exact_weights(h, i, weight_dtype, COUNT);
        assert_int_equal(bf_histogram_weights(h, found), BF_OK);
        for (int64_t i = 0; i < bins; i++) assert_same_float(found[i], expected[i]);
    }
}

TEST(sums_of_weights_are_exact) {
    needs_no_threads();
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int w = 0; w < DTYPE_COUNT; w++)
            check_weights(all_dtypes[d], all_dtypes[w], (data_kind)((d + w) % KIND_COUNT), false,
                          7);
        if (is_float(all_dtypes[d])) check_weights(BF_F32, all_dtypes[d], KIND_FULL, true, 7);
        check_weights(BF_F64, all_dtypes[d], KIND_FULL, false, 3000);
    }
}

TEST(many_weighted_elements) {
    enum { COUNT = 700000 };
    float *x = malloc(COUNT * sizeof *x);
    double *w = malloc(COUNT * sizeof *w);
    assert_true(x && w);
    fill(BF_F32, x, COUNT, KIND_NARROW, 5);
    fill(BF_F64, w, COUNT, KIND_CANCEL, 6);
    bf_array a = bf_array_of(BF_F32, x, COUNT), b = bf_array_of(BF_F64, w, COUNT);
    for (int64_t bins = 3, turn = 0; bins < 30000; bins *= 20, turn++) {
        bf_histogram_options options =
            BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .lo = -1, .hi = 1, .weights = BF_F64);
        OWN(bf_histogram) *first = histogram_of(contexts[0], &a, &b, options);
        for (int c = 1 + (int)turn % CONTEXT_STEP; c < context_count; c += CONTEXT_STEP) {
            OWN(bf_histogram) *h = histogram_of(contexts[c], &a, &b, options);
            assert_same_form(first, h);
        }
    }
    free(x);
    free(w);
}

/* ---- chunks, merging, saving ----------------------------------------------------------------- */

static bf_histogram *save_and_load(bf_context *c, const bf_histogram *h) {
    bf_histogram *back = copy_form(c, h);
    assert_non_null(back);
    assert_same_form(h, back);
    return back;
}

static void check_parts(bf_dtype dtype, bf_histogram_options options) {
    static const int64_t cuts[] = {0, 1, 700, 703, 1999, N};
    static const int orders[3][5] = {{0, 1, 2, 3, 4}, {4, 2, 0, 3, 1}, {3, 4, 1, 0, 2}};
    OWN(bf_histogram) *whole = make_histogram(contexts[0], dtype, options);
    absorb(whole, 0, N);
    for (int c = 0; c < context_count; c++) {
        bf_histogram *parts[5], *empty = make_histogram(contexts[c], dtype, options);
        for (int i = 0; i < 5; i++) {
            parts[i] = make_histogram(contexts[c], dtype, options);
            absorb(parts[i], cuts[i], cuts[i + 1]);
            absorb(parts[i], 0, 0);
        }
        const int *order = orders[c % 3];
        OWN(bf_histogram) *into = save_and_load(contexts[c], parts[order[0]]);
        for (int i = 1; i < 5; i++)
            assert_int_equal(bf_histogram_merge(into, parts[order[i]]), BF_OK);
        assert_int_equal(bf_histogram_merge(into, empty), BF_OK);
        assert_same_form(whole, into);
        bf_histogram_clear(into);
        assert_same_form(into, empty);
        for (int i = 0; i < 5; i++) bf_histogram_destroy(parts[i]);
        bf_histogram_destroy(empty);
    }
}

TEST(parts_make_the_whole) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        bf_dtype w = all_dtypes[(d * 5 + 12) % DTYPE_COUNT];
        fill(all_dtypes[d], data, N, KIND_NARROW, (uint64_t)d);
        fill(w, weights, N, KIND_FULL, (uint64_t)d);
        bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = 13, .range = 1, .lo = -2, .hi = 7);
        check_parts(all_dtypes[d], o);
        o.weights = w;
        check_parts(all_dtypes[d], o);
        check_parts(all_dtypes[d], BF_HISTOGRAM_OPTIONS(.bins = 2, .edges = (double[]){0, 0.3, 9}));
    }
}

TEST(a_histogram_merges_with_itself) {
    double sum, twice;
    fill(BF_F64, data, N, KIND_NARROW, 1);
    fill(BF_F64, weights, N, KIND_NARROW, 2);
    OWN(bf_histogram) *h =
        make_histogram(contexts[0], BF_F64,
                       BF_HISTOGRAM_OPTIONS(.bins = 1, .range = 1, .hi = 1, .weights = BF_F64));
    absorb(h, 0, N);
    int64_t count = bf_histogram_counts(h)[0];
    bf_histogram_weights(h, &sum);
    assert_int_equal(bf_histogram_merge(h, h), BF_OK);
    bf_histogram_weights(h, &twice);
    assert_int_equal(bf_histogram_counts(h)[0], 2 * count);
    assert_same_float(twice, 2 * sum);
}

static bf_status load(const void *bytes, size_t size) {
    bf_histogram *h = NULL;
    void *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read past the end */
    memcpy(exact, bytes, size);
    bf_status status = bf_histogram_load(contexts[0], exact, size, &h);
    free(exact);
    if (status != BF_OK) assert_null(h);
    bf_histogram_destroy(h);
    return status;
}

TEST(a_damaged_save_is_refused) {
    uint64_t rng = 1;
    size_t size;
    fill(BF_F32, data, N, KIND_NARROW, 1);
    fill(BF_F16, weights, N, KIND_NARROW, 2);
    OWN(bf_histogram) *h =
        make_histogram(contexts[0], BF_F32,
                       BF_HISTOGRAM_OPTIONS(.bins = 3, .range = 1, .hi = 1, .weights = BF_F16));
    absorb(h, 0, N);
    unsigned char *bytes = save_form(h, &size);
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(load(bytes, i), BF_E_STATE);
        unsigned char flip = (unsigned char)(next_random(&rng) % 255 + 1);
        bytes[i] ^= flip;
        assert_int_equal(load(bytes, size), BF_E_STATE);
        bytes[i] ^= flip;
    }
    assert_int_equal(load(bytes, size), BF_OK);
    free(bytes);
}

/* Saves whose checksum is right and whose contents no histogram has. */
TEST(impossible_contents_are_refused) {
    size_t size;
    OWN(bf_histogram) *h =
        make_histogram(contexts[0], BF_I32,
                       BF_HISTOGRAM_OPTIONS(.bins = 2, .range = 1, .hi = 1, .weights = BF_I8));
    unsigned char *bytes = save_form(h, &size), *copy = malloc(size);
    const struct {
        const char *section;
        int at;
        uint64_t word;
    } forged[] = {
        {"histogram", 0, 0}, /* dtypes of elements and weights */
        {"histogram", 0, 14},
        {"histogram", 0, BF_F32 | (uint64_t)77 << 32},
        {"histogram", 8, BF_F32}, /* edges' dtype */
        {"histogram", 8, 99},
        {"edges", -8, 0}, /* their number */
        {"edges", -8, 2},
        {"edges", -8, (uint64_t)1 << 61},
        {"edges", -8, UINT64_MAX},
        {"edges", 0, 0x3fe0000000000000u}, /* edges: 0.5 twice, infinity, NaN */
        {"edges", 16, 0x7ff0000000000000u},
        {"edges", 16, 0x7ff8000000000000u},
        {"counts", 0, UINT64_MAX}, /* a negative count, and more than the sum of weights has */
        {"counts", 0, 1},
        {"counts", 16, ((uint64_t)1 << 62) + 1}, /* too many, a NaN among integers */
        {"counts", 32, 1},
        {"sums", -8, 0}, /* words of a sum */
        {"sums", 0, 1},
        {"sums", 6 * 8, 1},
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        memcpy(copy, bytes, size);
        const size_t offset = saved_offset(copy, size, forged[i].section);
        store_bits((char *)copy + offset + forged[i].at, 8, forged[i].word);
        sign_saved(copy, size);
        if (load(copy, size) != BF_E_STATE) fail_msg("forged save %zu", i);
    }
    sign_saved(bytes, size);
    assert_int_equal(load(bytes, size), BF_OK);
    /* Five elements above: that is possible. */
    store_bits(bytes + saved_offset(bytes, size, "counts") + 24, 8, 5);
    sign_saved(bytes, size);
    assert_int_equal(load(bytes, size), BF_OK);
    free(bytes);
    free(copy);
}

/* ---- results --------------------------------------------------------------------------------- */

TEST(density_is_value_by_width_by_total) {
    static const double edges[] = {0, 0.1, 0.5, 3};
    static const double x[] = {0.05, 0.2, 0.3, 1, 2, 3, 3.5, -1}, w[] = {1, 2, 3, 4, 5, 6, 7, 8};
    double density[3];
    bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = 3, .edges = edges);
    bf_array a = bf_array_of(BF_F64, x, 8), b = bf_array_of(BF_F64, w, 8);
    bf_histogram *h = histogram_of(contexts[0], &a, NULL, o);
    assert_int_equal(bf_histogram_density(h, density), BF_OK);
    assert_same_float(density[0], 1 / (edges[1] - edges[0]) / 6);
    assert_same_float(density[1], 2 / (edges[2] - edges[1]) / 6);
    bf_histogram_destroy(h);
    o.weights = BF_F64;
    h = histogram_of(contexts[0], &a, &b, o);
    assert_int_equal(bf_histogram_density(h, density), BF_OK);
    assert_same_float(density[1], 5 / (edges[2] - edges[1]) / 21);
    bf_histogram_clear(h);
    assert_int_equal(bf_histogram_density(h, density), BF_OK);
    for (int i = 0; i < 3; i++) assert_same_float(density[i], (double)NAN);
    bf_histogram_destroy(h);
}

TEST(enqueued_counts_are_there_on_the_cpu) {
    int64_t counts[20 + OTHERS];
    double edges[21];
    fill(BF_F32, data, N, KIND_NARROW, 1);
    bf_array a = bf_array_of(BF_F32, data, N), none = bf_array_of(BF_F32, NULL, 0), strided = a;
    for (int c = 0; c < context_count; c++) {
        OWN(bf_histogram) *h = make_histogram(
            contexts[c], BF_F32, BF_HISTOGRAM_OPTIONS(.bins = 20, .range = 1, .lo = -1, .hi = 1));
        problem p = {BF_F32, data, N, 20, bf_histogram_edges(h)};
        int64_t *expected = expected_counts(&p);
        for (int i = 0; i < 2; i++) {
            memset(counts, 77, sizeof counts);
            assert_int_equal(bf_histogram_async(h, &a, counts), BF_OK);
            assert_memory_equal(counts, expected, sizeof counts);
        }
        assert_int_equal(bf_histogram_counts(h)[3], 0);
        assert_int_equal(bf_histogram_async(h, &none, counts), BF_OK);
        for (int i = 0; i < 20 + OTHERS; i++) assert_int_equal(counts[i], 0);
        strided.shape[0] = N / 2;
        strided.strides[0] = 2;
        assert_int_equal(bf_histogram_async(h, &strided, counts), BF_E_ARGUMENT);
        assert_int_equal(bf_histogram_async(h, &a, NULL), BF_E_ARGUMENT);
        assert_int_equal(bf_histogram_async(h, &a, (int64_t *)((char *)counts + 4)), BF_E_ARGUMENT);
        memset(edges, 77, sizeof edges);
        assert_int_equal(bf_histogram_edges_async(h, edges), BF_OK);
        assert_memory_equal(edges, bf_histogram_edges(h), sizeof edges);
        assert_int_equal(bf_histogram_edges_async(h, NULL), BF_E_ARGUMENT);
        assert_int_equal(bf_histogram_edges_async(h, (double *)((char *)edges + 4)), BF_E_ARGUMENT);
        free(expected);
    }
}

TEST(bincount_counts_every_value) {
    static const int64_t sizes[] = {1, 2, 100, 256, 65536, 70000};
    for (int i = 0; i < 9 * 6; i++) {
        bf_dtype dtype = all_dtypes[i / 6];
        int64_t n = sizes[i % 6], others = -1, expected_others = 0;
        int64_t *counts = malloc((size_t)n * sizeof *counts);
        int64_t *expected = calloc((size_t)n, sizeof *expected);
        fill(dtype, data, N, i % 2 ? KIND_NARROW : KIND_EXTREME, (uint64_t)i);
        if (i % 3 == 0) fill(dtype, data, N, KIND_FULL, (uint64_t)i);
        for (int64_t k = 0; k < N; k++) {
            double x = element(dtype, data, k);
            if (x >= 0 && x < (double)n)
                expected[(int64_t)x]++;
            else
                expected_others++;
        }
        bf_array a = bf_array_of(dtype, data, N);
        for (int c = 0; c < context_count; c++) {
            assert_int_equal(bf_bincount(contexts[c], &a, counts, n, &others), BF_OK);
            assert_memory_equal(counts, expected, (size_t)n * sizeof *counts);
            assert_int_equal(others, expected_others);
        }
        free(counts);
        free(expected);
    }
}

/* Doubling counts 2^62 elements in a few steps. */
TEST(more_than_2_62_elements_are_refused) {
    bf_histogram_info before = {.size = sizeof before}, after = {.size = sizeof after};
    OWN(bf_histogram) *h =
        make_histogram(contexts[0], BF_F64, BF_HISTOGRAM_OPTIONS(.range = 1, .hi = 1));
    bf_array one = bf_array_of(BF_F64, data, 1);
    assert_int_equal(bf_histogram_absorb(h, &one, NULL), BF_OK);
    for (int i = 0; i < 62; i++) assert_int_equal(bf_histogram_merge(h, h), BF_OK);
    bf_histogram_describe(h, &before);
    assert_true(before.count == (int64_t)1 << 62);
    assert_int_equal(bf_histogram_merge(h, h), BF_E_OVERFLOW);
    assert_int_equal(bf_histogram_absorb(h, &one, NULL), BF_E_OVERFLOW);
    bf_histogram_describe(h, &after);
    assert_true(after.count == before.count && after.below == before.below);
    bf_histogram_destroy(save_and_load(contexts[0], h));
}

UNIT_TESTS(histogram_state, make_contexts, destroy_contexts)
