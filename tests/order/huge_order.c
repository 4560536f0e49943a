/* Order of more than 2^31 elements: a sort, medians, quantiles, elements by position and the first.
 */
#include "tests/support/huge.h"

#include <bitfold/order.h>

enum { VALUES = 256 };

/* The mark beyond the first far index is the greatest of all, and the last element the least. */
static periodic data_of(bf_dtype dtype, int64_t n) {
    periodic h = huge_of(dtype, n, some_number);
    set_mark(&h, far_index(n) + 2, high_number(dtype));
    set_mark(&h, n - 1, 0);
    return h;
}

/* Counts how often each u8 is there. */
static void count_values(const periodic *h, int64_t counts[VALUES]) {
    memset(counts, 0, VALUES * sizeof *counts);
    for (int64_t i = 0; i < PERIOD; i++) counts[h->rule(h->dtype, i)] += times_of(h, i);
    for (int m = 0; m < h->marks; m++) {
        counts[number_below(h, m)]--;
        counts[h->mark[m].number]++;
    }
}

static uint64_t value_at(const int64_t counts[VALUES], int64_t rank) {
    uint64_t value = 0;
    while (rank >= counts[value]) rank -= counts[value++];
    return value;
}

TEST(a_sort_of_bytes) {
    const int64_t n = ((int64_t)1 << 31) + 5;
    int64_t counts[VALUES], at = 0;
    periodic h = data_of(BF_U8, n);
    count_values(&h, counts);
    uint8_t *sorted = room_of(n);
    const bf_array x = array_of(&h), values = bf_array_of(BF_U8, sorted, n);
    assert_int_equal(bf_sort(context, &x, 0, NULL, &values, NULL), BF_OK);
    for (int v = 0; v < VALUES; v++)
        for (int64_t end = at + counts[v]; at < end; at++)
            if (sorted[at] != v) fail_msg("element %lld is wrong", (long long)at);
    int is = 0;
    assert_int_equal(bf_is_sorted(context, &values, NULL, &is), BF_OK);
    assert_true(is);
    sorted[n - 2] = 0;
    assert_int_equal(bf_is_sorted(context, &values, NULL, &is), BF_OK);
    assert_false(is);
    munmap(sorted, (size_t)n);
    huge_free(&h);
}

TEST(selections) {
    const int64_t n = PAST_31_BITS;
    static const double q[] = {0.001, 0.25, 0.5, 0.999, 1};
    const int64_t positions[] = {0, far_index(n) + 100, n - 1};
    const bf_order_options lower = BF_ORDER_OPTIONS(.method = BF_QUANTILE_LOWER);
    int64_t counts[VALUES], first[2] = {-1, -1};
    uint8_t found[5];
    double middle;
    const int axis = 0;
    periodic h = data_of(BF_U8, n);
    count_values(&h, counts);
    const bf_array x = array_of(&h), nth = bf_array_of(BF_U8, found, 3),
                   quantiles = bf_array_of(BF_U8, found, 5), median = {.data = &middle, BF_F64};
    assert_int_equal(bf_nth_axes(context, &x, &axis, 1, positions, 3, NULL, &nth), BF_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(found[i], value_at(counts, positions[i]));
    assert_int_equal(bf_quantile_axes(context, &x, &axis, 1, q, 5, &lower, &quantiles), BF_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(found[i], value_at(counts, (int64_t)((double)(n - 1) * q[i])));
    assert_int_equal(bf_median_axes(context, &x, &axis, 1, NULL, &median), BF_OK);
    assert_true(middle == (double)(value_at(counts, (n - 1) / 2) + value_at(counts, n / 2)) / 2);
    const bf_array index = bf_array_of(BF_I64, first, 2);
    const bf_order_options greatest = BF_ORDER_OPTIONS(.descending = 1);
    assert_int_equal(bf_top(context, &x, 0, 2, &greatest, NULL, &index), BF_OK);
    assert_int_equal(first[0], far_index(n) + 2);
    assert_int_equal(bf_top(context, &x, 0, 2, NULL, NULL, &index), BF_OK);
    assert_int_equal(first[0], n - 1);
    huge_free(&h);
}

TEST(passes) {
    const int64_t n = PAST_31_BITS;
    int64_t counts[VALUES];
    int done = 0;
    bf_quantiles *q;
    bf_value middle;
    periodic h = data_of(BF_U8, n);
    count_values(&h, counts);
    const bf_array x = array_of(&h);
    assert_int_equal(bf_quantiles_create(context, BF_U8, NULL, 0, NULL, &q), BF_OK);
    while (!done) {
        assert_int_equal(bf_quantiles_absorb(q, &x), BF_OK);
        assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    }
    assert_int_equal(bf_quantiles_result(q, &middle), BF_OK);
    assert_int_equal(n % 2, 1); /* the median is an element */
    assert_int_equal(middle.dtype, BF_U8);
    assert_int_equal(middle.as.u64, value_at(counts, n / 2));
    bf_quantiles_destroy(q);
    huge_free(&h);
}

HUGE_TESTS
