/* Rows are taken out of groups again: what is left saves to the bytes of the rows that remain.
 * Builds: release, asan (full). */
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { ROWS = 20000, AGGREGATES = 6 };
static const bf_aggregate aggregates[AGGREGATES] = {{BF_SUM, BF_F64}, {BF_MEAN, BF_F16},
                                                    {BF_VAR, BF_F32}, {BF_NORM, BF_F64},
                                                    {BF_SUM, BF_I32}, {BF_SUMSQ, BF_U8}};
static uint64_t keys[2 * ROWS];
static double values[ROWS];

/* Rows [begin, end), with the first `count` aggregates. */
static bf_groups *part(bf_context *context, bf_dtype key, int count, int64_t begin, int64_t end) {
    bf_groups *g = NULL;
    bf_groups_options o = BF_GROUPS_OPTIONS(.key = key, .count = count, .aggregates = aggregates);
    bf_array arrays[AGGREGATES], k;
    const bf_array *inputs[AGGREGATES];
    size_t bytes = key == BF_PAIR ? 16 : bf_dtype_size(key);
    k = bf_array_of(key, (char *)keys + (size_t)begin * bytes, end - begin);
    for (int i = 0; i < AGGREGATES; i++) {
        size_t at = (size_t)begin * bf_dtype_size(aggregates[i].dtype);
        arrays[i] = bf_array_of(aggregates[i].dtype, (char *)values + at, end - begin);
        inputs[i] = &arrays[i];
    }
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, count > 0 ? inputs : NULL), BF_OK);
    return g;
}

static void fill_keys(bf_dtype key, unsigned different) {
    uint64_t seed = key;
    size_t bytes = key == BF_PAIR ? 16 : bf_dtype_size(key);
    memset(keys, 0, sizeof keys);
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t x = next_random(&seed) % different;
        if (key == BF_F64) {
            double d = x % 50 == 0 ? (x % 100 ? -0.0 : (double)NAN) : (double)x;
            memcpy((char *)keys + 8 * i, &d, 8);
        } else {
            store_bits((char *)keys + bytes * i, bytes < 8 ? bytes : 8, x);
        }
    }
}

static void fill_values(void) {
    fill(BF_F64, values, ROWS, KIND_NARROW, 1);
    for (int i = 0; i < ROWS; i++) {
        if (i % 3 == 0) values[i] = -0.0;
        if (i % 701 == 0) values[i] = (double)NAN;
        if (i % 1777 == 0) values[i] = -(double)INFINITY;
    }
}

TEST(what_remains_is_left) {
    static const bf_dtype dtypes[] = {BF_BOOL, BF_I16, BF_U64, BF_F64, BF_PAIR};
    static const int64_t cuts[] = {0, 1, 9000, 19990, ROWS};
    fill_values();
    for (int d = 0; d < 5; d++) {
        fill_keys(dtypes[d], d == 0 ? 2 : 12000);
        for (int i = 0; i < 5; i++) {
            OWN(bf_context) *context = make_context(NULL, 1 + i % 3);
            int count = i % 2 ? AGGREGATES : 0;
            bf_groups *all = part(context, dtypes[d], count, 0, ROWS);
            bf_groups *some = part(context, dtypes[d], count, 0, cuts[i]);
            bf_groups *rest = part(context, dtypes[d], count, cuts[i], ROWS);
            bf_groups *empty = part(context, dtypes[d], count, 0, 0);
            assert_int_equal(bf_groups_retract(all, some), BF_OK);
            assert_same_form(all, rest);
            assert_int_equal(bf_groups_rows(all), ROWS - cuts[i]);
            assert_int_equal(bf_groups_merge(all, some), BF_OK);
            assert_int_equal(bf_groups_retract(all, rest), BF_OK);
            assert_same_form(all, some);
            assert_int_equal(bf_groups_retract(all, all), BF_OK);
            assert_same_form(all, empty);
            bf_groups *const made[] = {all, some, rest, empty};
            for (int k = 0; k < 4; k++) bf_groups_destroy(made[k]);
        }
    }
}

TEST(what_is_not_there_is_not_taken_out) {
    static const bf_aggregate least = {BF_MIN, BF_F64};
    OWN(bf_context) *context = make_context(NULL, 1);
    bf_groups_options o = BF_GROUPS_OPTIONS(.key = BF_U64, .count = 1, .aggregates = &least);
    bf_groups *extremes[2];
    fill_values();
    fill_keys(BF_U64, 3000);
    bf_groups *g = part(context, BF_U64, 1, 0, 5000), *before = part(context, BF_U64, 1, 0, 5000);
    bf_groups *more = part(context, BF_U64, 1, 0, 5001), *counts = part(context, BF_U64, 0, 0, 10);
    assert_int_equal(bf_groups_retract(g, more), BF_E_STATE);
    assert_int_equal(bf_groups_retract(g, counts), BF_E_STATE);
    keys[0] = 5000; /* a group that there is not */
    bf_groups *strange = part(context, BF_U64, 1, 0, 10);
    assert_int_equal(bf_groups_retract(g, strange), BF_E_STATE);
    assert_same_form(g, before);
    for (int i = 0; i < 2; i++)
        assert_int_equal(bf_groups_create(context, &o, &extremes[i]), BF_OK);
    assert_int_equal(bf_groups_retract(extremes[0], extremes[1]), BF_E_ARGUMENT);
    bf_groups *const made[] = {g, before, more, counts, strange, extremes[0], extremes[1]};
    for (int k = 0; k < 7; k++) bf_groups_destroy(made[k]);
}

TEST(without_memory_nothing_changes) {
    needs_failing_malloc();
    OWN(bf_context) *context = make_context(NULL, 1);
    fill_values();
    fill_keys(BF_U64, 3000);
    bf_groups *g = part(context, BF_U64, 2, 0, 5000), *before = part(context, BF_U64, 2, 0, 5000);
    bf_groups *some = part(context, BF_U64, 2, 0, 2000),
              *rest = part(context, BF_U64, 2, 2000, 5000);
    FAIL_EACH_ALLOCATION(bf_groups_retract(g, some)) assert_same_form(g, before);
    assert_same_form(g, rest);
    bf_groups *const made[] = {g, before, some, rest};
    for (int k = 0; k < 4; k++) bf_groups_destroy(made[k]);
}

UNIT_TESTS(group_retract, NULL, NULL)
