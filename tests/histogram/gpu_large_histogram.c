/* Histograms of more elements than 31 or 32 bits count, on a GPU. */
#include "tests/support/large.h"

enum { BYTES = 256 };

/* Makes 255 of 256 elements sevens. */
static int64_t mostly_sevens(bf_dtype dtype, int64_t i) {
    const uint64_t r = scramble((uint64_t)i);
    (void)dtype;
    return r % 256 ? 7 : (int64_t)(r >> 32) % BYTES;
}

/* Sums the weights of each number, or counts the numbers if there are no weights. */
static void count_numbers(const periodic *l, const periodic *weights, __int128 counts[BYTES]) {
    memset(counts, 0, BYTES * sizeof *counts);
    for (int64_t i = 0; i < PERIOD; i++)
        counts[l->rule(l->dtype, i)] +=
            (__int128)times_of(l, i) * (weights ? weights->rule(weights->dtype, i) : 1);
    for (int m = 0; m < MARKS; m++) { /* at the same indices in both */
        const int64_t at = l->mark[m].at;
        counts[l->rule(l->dtype, at % PERIOD)] -=
            weights ? weights->rule(weights->dtype, at % PERIOD) : 1;
        counts[l->mark[m].number] += weights ? weights->mark[m].number : 1;
    }
}

static const bf_histogram_options a_bin_for_each = {
    .size = sizeof(bf_histogram_options), .bins = BYTES, .range = 1, .lo = 0, .hi = BYTES};

static void check_bins(int64_t n) {
    periodic l = large_of(BF_U8, n, mostly_sevens, 255, 0, 254);
    const bf_array a = array_of(&l);
    __int128 expected[BYTES];
    int64_t found[BYTES + 3], others, *queued = allocate(sizeof found);
    bf_histogram *h;
    count_numbers(&l, NULL, expected);
    assert_int_equal(bf_bincount(gpu, &a, found, BYTES, &others), BF_OK);
    assert_int_equal(others, 0);
    for (int i = 0; i < BYTES; i++) assert_int_equal(found[i], (int64_t)expected[i]);
    assert_int_equal(bf_histogram_of(gpu, &a, NULL, &a_bin_for_each, &h), BF_OK);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(bf_histogram_counts(h)[i], (int64_t)expected[i]);
    assert_int_equal(bf_histogram_async(h, &a, queued), BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    copy(found, queued, sizeof found);
    for (int i = 0; i < BYTES + 3; i++)
        assert_int_equal(found[i], i < BYTES ? (int64_t)expected[i] : 0);
    bf_histogram_destroy(h);
    bf_memory_free(gpu, queued);
    large_free(&l);
}

static void a_bin_past_32_bits(void **unused) {
    (void)unused;
    need_memory(6);
    check_bins(((int64_t)17 << 28) + 12345);
}

static void forty_billion_bytes_in_bins(void **unused) {
    (void)unused;
    need_memory(39);
    check_bins(40000000000);
}

static void floats_and_weights(void **unused) {
    (void)unused;
    need_memory(28);
    periodic l = large_of(BF_F32, PAST_31_BITS, mostly_sevens, 255, 0, 254);
    periodic w = large_of(BF_F64, l.n, some_float, -3000000, 2500000, 3000000);
    const bf_array a = array_of(&l), weights = array_of(&w);
    __int128 counts[BYTES], expected[BYTES];
    double found[BYTES];
    bf_histogram *h;
    bf_histogram_options o = a_bin_for_each;
    o.weights = BF_F64;
    count_numbers(&l, NULL, counts);
    count_numbers(&l, &w, expected);
    assert_int_equal(bf_histogram_of(gpu, &a, &weights, &o, &h), BF_OK);
    assert_int_equal(bf_histogram_weights(h, found), BF_OK);
    for (int i = 0; i < BYTES; i++) {
        assert_int_equal(bf_histogram_counts(h)[i], (int64_t)counts[i]);
        assert_true(found[i] == (double)expected[i]);
    }
    bf_histogram_destroy(h);
    large_free(&l);
    large_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bin_past_32_bits),
        cmocka_unit_test(floats_and_weights),
        cmocka_unit_test(forty_billion_bytes_in_bins),
    };
    return RUN_ON_GPU(tests);
}
