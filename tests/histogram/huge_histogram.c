/* Histograms of more than 2^32 elements, of which one bin alone holds more than that; with weights,
 * and by any edges, of more than 2^31. */
#include "tests/support/huge.h"

enum { NUMBERS = 256 };

#define PAST_32_BITS_IN_A_BIN (((int64_t)17 << 28) + 12345)

/* Makes 255 of 256 elements sevens. */
static int64_t mostly_sevens(bf_dtype dtype, int64_t i) {
    const uint64_t r = scramble((uint64_t)i);
    (void)dtype;
    return r % 256 ? 7 : (int64_t)(r >> 32) % NUMBERS;
}

static int64_t number_up_to_255(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble((uint64_t)i) % NUMBERS);
}

/* How often each number from 0 to 255 is there. */
static void count_numbers(const periodic *h, int64_t counts[NUMBERS]) {
    memset(counts, 0, NUMBERS * sizeof *counts);
    for (int64_t i = 0; i < PERIOD; i++) counts[h->rule(h->dtype, i)] += times_of(h, i);
    for (int m = 0; m < h->marks; m++) {
        counts[h->rule(h->dtype, h->mark[m].at % PERIOD)]--;
        counts[h->mark[m].number]++;
    }
}

static periodic bytes(int64_t n, number_rule *rule) {
    periodic h = huge_of(BF_U8, n, rule);
    set_mark(&h, far_index(n) + 5, 255);
    set_mark(&h, n - 3, 255);
    set_mark(&h, n - 1, 0);
    return h;
}

static int64_t sum_of(const int64_t *counts, int first, int last) {
    int64_t sum = 0;
    for (int i = first; i <= last; i++) sum += counts[i];
    return sum;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

TEST(a_bin_past_32_bits) {
    periodic h = bytes(PAST_32_BITS_IN_A_BIN, mostly_sevens);
    const bf_array a = array_of(&h);
    int64_t expected[NUMBERS], found[NUMBERS], others;
    count_numbers(&h, expected);
    assert_true(expected[7] > (int64_t)1 << 32);
    assert_int_equal(bf_bincount(context, &a, found, NUMBERS, &others), BF_OK);
    assert_memory_equal(found, expected, sizeof expected);
    assert_int_equal(others, 0);
    assert_int_equal(bf_bincount(context, &a, found, 3, &others), BF_OK);
    assert_memory_equal(found, expected, 3 * sizeof *expected);
    assert_int_equal(others, sum_of(expected, 3, NUMBERS - 1));

    bf_histogram *g, *loaded;
    bf_histogram_info info = {.size = sizeof info};
    const bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = NUMBERS - 1);
    assert_int_equal(bf_histogram_of(context, &a, NULL, &o, &g), BF_OK); /* from 0 to 255 */
    expected[NUMBERS - 2] += expected[NUMBERS - 1];
    assert_memory_equal(bf_histogram_counts(g), expected, (NUMBERS - 1) * sizeof *expected);
    const size_t size = bf_histogram_save_size(g);
    void *saved = malloc(size);
    bf_histogram_save(g, saved);
    assert_int_equal(bf_histogram_load(context, saved, size, &loaded), BF_OK);
    assert_int_equal(bf_histogram_absorb(loaded, &a, NULL), BF_OK);
    assert_int_equal(bf_histogram_merge(loaded, g), BF_OK);
    for (int i = 0; i < NUMBERS - 1; i++)
        assert_int_equal(bf_histogram_counts(loaded)[i], 3 * expected[i]);
    bf_histogram_describe(loaded, &info);
    assert_int_equal(info.count, 3 * h.n);
    free(saved);
    bf_histogram_destroy(g);
    bf_histogram_destroy(loaded);
    huge_free(&h);
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* Numbers are sixteenths here: from 0 to 15 + 15/16. */
static periodic floats(bf_dtype dtype) {
    periodic h = huge_of(dtype, PAST_31_BITS, number_up_to_255);
    set_mark(&h, far_index(h.n) + 5, 255);
    set_mark(&h, h.n - 1, 0);
    return h;
}

/* The first bin begins at number `first`; each has `width` numbers or, if that is 0, the options'
 * edges. Numbers less than `below` and from `above` on are in no bin. */
static void check_counts(const periodic *h, const bf_histogram_options *o, const int64_t *counts,
                         int first, int width, int below, int above) {
    const bf_array a = array_of(h);
    bf_histogram *g;
    bf_histogram_info info = {.size = sizeof info};
    assert_int_equal(bf_histogram_of(context, &a, NULL, o, &g), BF_OK);
    for (int i = 0; i < o->bins; i++) {
        const int end = width > 0 ? first + width : (int)(o->edges[i + 1] * 16);
        const int last = i < o->bins - 1 || end == NUMBERS ? end - 1 : end;
        assert_int_equal(bf_histogram_counts(g)[i], sum_of(counts, first, last));
        first = end;
    }
    bf_histogram_describe(g, &info);
    assert_int_equal(info.below, below ? sum_of(counts, 0, below - 1) : 0);
    assert_int_equal(info.above, above ? sum_of(counts, above, NUMBERS - 1) : 0);
    assert_int_equal(info.count, h->n);
    bf_histogram_destroy(g);
}

TEST(even_bins_and_any_edges) {
    static const double edges[] = {1, 2, 4, 4.5, 9};
    static const bf_dtype dtypes[] = {BF_F16, BF_F32, BF_F64};
    int64_t counts[NUMBERS];
    for (int d = 0; d < 3; d++) {
        periodic h = floats(dtypes[d]);
        count_numbers(&h, counts);
        check_counts(&h, &BF_HISTOGRAM_OPTIONS(.bins = 16, .range = 1, .lo = 0, .hi = 16), counts,
                     0, 16, 0, 0);
        check_counts(&h, &BF_HISTOGRAM_OPTIONS(.bins = 4, .range = 1, .lo = 2, .hi = 6), counts, 32,
                     16, 32, 97);
        check_counts(&h, &BF_HISTOGRAM_OPTIONS(.bins = 4, .edges = edges), counts, 16, 0, 16, 145);
        huge_free(&h);
    }
}

/* ---- weights --------------------------------------------------------------------------------- */

TEST(sums_of_weights) {
    periodic h = bytes(PAST_31_BITS, number_up_to_255), w = marked_huge(BF_F64, h.n, some_number);
    const bf_array a = array_of(&h), weights = array_of(&w);
    __int128 expected[NUMBERS] = {0};
    double found[NUMBERS];
    bf_histogram *g;
    for (int64_t i = 0; i < PERIOD; i++)
        expected[h.rule(BF_U8, i)] += (__int128)times_of(&h, i) * w.rule(BF_F64, i);
    for (int m = 0; m < h.marks + w.marks; m++) {
        const int64_t at = m < h.marks ? h.mark[m].at : w.mark[m - h.marks].at;
        bool seen = false;
        for (int k = 0; k < h.marks && m >= h.marks; k++) seen |= h.mark[k].at == at;
        if (seen) continue;
        expected[h.rule(BF_U8, at % PERIOD)] -= w.rule(BF_F64, at % PERIOD);
        expected[number_at(&h, at)] += number_at(&w, at);
    }
    const bf_histogram_options o = BF_HISTOGRAM_OPTIONS(.bins = NUMBERS, .range = 1, .lo = 0,
                                                        .hi = NUMBERS, .weights = BF_F64);
    assert_int_equal(bf_histogram_of(context, &a, &weights, &o, &g), BF_OK);
    assert_int_equal(bf_histogram_weights(g, found), BF_OK);
    for (int i = 0; i < NUMBERS; i++)
        assert_same_float(found[i], ldexp((double)expected[i], -FRACTION));
    bf_histogram_destroy(g);
    huge_free(&h);
    huge_free(&w);
}

HUGE_TESTS
