/* Medians by group and ranks equal what counting says, on several threads and instruction sets; a
 * call that runs out of memory or room changes nothing.
 * Builds: release, asan, tsan. */
#include "tests/support/data.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"

#include <bitfold.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000, KEYS = 50 };

static double values[MOST], line[MOST], medians[MOST + 1], ranks[MOST];
static float keys[MOST], listed[MOST + 1];
static int64_t whole_ranks[MOST];
static const int sizes[] = {0, 1, 2, 3, 64, 1000, 33333, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Keys -20, ..., -0, 0, ..., and NaN as KEYS - 21; values of few digits. */
static void make_rows(int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < n; i++) {
        const int key = (int)(next_random(&seed) % KEYS) - 20;
        keys[i] = key == KEYS - 21 ? NAN : key == 0 && i % 2 ? -0.0f : (float)key;
        values[i] = (double)((int64_t)(next_random(&seed) % 2001) - 1000) / 8;
    }
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the values of a key (NaN: that one); NaN if there are none. */
static double median_of(int64_t n, float key) {
    size_t m = 0;
    for (int64_t i = 0; i < n; i++)
        if (keys[i] == key || (isnan(keys[i]) && isnan(key))) line[m++] = values[i];
    qsort(line, m, sizeof *line, compare);
    return m == 0 ? NAN
                  : (line[(m - 1) / 2] + line[m / 2]) / 2; /* exact, for they have few digits */
}

static void check_groups(bf_context *c, int64_t n) {
    const bf_array x = bf_array_of(BF_F64, values, n), k = bf_array_of(BF_F32, keys, n),
                   to = bf_array_of(BF_F64, medians, n + 1),
                   list = bf_array_of(BF_F32, listed, n + 1);
    int64_t groups = -1, at = 0;
    medians[n] = 7;
    assert_int_equal(bf_median_groups(c, &x, &k, NULL, &list, &to, &groups), BF_OK);
    for (int key = -20; key < KEYS - 20; key++) {
        const float wanted = key == KEYS - 21 ? NAN : (float)key;
        const double median = median_of(n, wanted);
        if (isnan(median)) continue;
        assert_true(at < groups && medians[at] == median);
        assert_true(isnan(wanted) ? isnan(listed[at]) : listed[at] == wanted);
        assert_true(wanted != 0 || !signbit(listed[at]));
        at++;
    }
    assert_int_equal(at, groups);
    assert_true(medians[n] == 7);
}

static void check_ranks(bf_context *c, int64_t n, bool descending) {
    const bf_array x = bf_array_of(BF_F64, values, n), to = bf_array_of(BF_F64, ranks, n),
                   whole = bf_array_of(BF_I64, whole_ranks, n);
    const bf_order_options options = {.size = sizeof options, .descending = descending};
    static int64_t less[2003];
    memset(less, 0, sizeof less);
    for (int64_t i = 0; i < n; i++) {
        const int at = (int)(values[i] * 8) + 1000;
        less[(descending ? 2000 - at : at) + 1]++;
    }
    for (int i = 0; i < 2002; i++) less[i + 1] += less[i];
    assert_int_equal(bf_rank(c, &x, 0, BF_RANK_AVERAGE, &options, &to), BF_OK);
    assert_int_equal(bf_rank(c, &x, 0, BF_RANK_MAX, &options, &whole), BF_OK);
    for (int64_t i = 0; i < n; i++) {
        const int place = (int)(values[i] * 8) + 1000, at = descending ? 2000 - place : place;
        assert_true(ranks[i] == (double)(less[at] + 1 + less[at + 1]) / 2);
        assert_int_equal(whole_ranks[i], less[at + 1]);
    }
}

TEST(results_are_those_of_counting) {
    static const char *const isas[] = {"auto", "generic"};
    for (int threads = SEVERAL_THREADS ? 3 : 1; threads <= 3; threads += 2) {
        for (int isa = 0; isa < 2; isa++) {
            OWN(bf_context) *c = make_context(isas[isa], threads);
            for (int s = 0; s < SIZES; s++) {
                make_rows(sizes[s], (uint64_t)s + 1);
                check_groups(c, sizes[s]);
                check_ranks(c, sizes[s], s % 2 == 1);
            }
        }
    }
}

/* Lines along the other axis, with strides. */
TEST(ranks_follow_the_axis) {
    static const double x[6] = {3, 1, 2, -0.0, 1, 0.0};
    static const int64_t across[6] = {2, 1, 2, 1, 1, 1}, along[6] = {3, 1, 2, 1, 3, 2};
    int64_t found[6];
    OWN(bf_context) *c = make_context("auto", 1);
    const bf_array array = {(void *)(uintptr_t)x, BF_F64, 2, {2, 3}, {3, 1}},
                   to = {found, BF_I64, 2, {2, 3}, {3, 1}};
    assert_int_equal(bf_rank(c, &array, 0, BF_RANK_DENSE, NULL, &to), BF_OK);
    assert_memory_equal(found, across, sizeof found);
    assert_int_equal(bf_rank(c, &array, -1, BF_RANK_ORDINAL, NULL, &to), BF_OK);
    assert_memory_equal(found, along, sizeof found);
    assert_int_equal(bf_rank(c, &array, 2, BF_RANK_MIN, NULL, &to), BF_E_ARGUMENT);
    assert_int_equal(bf_rank(c, &array, 0, BF_RANK_AVERAGE, NULL, &to), BF_E_DTYPE);
}

TEST(too_little_room_is_told) {
    int64_t groups = 0;
    OWN(bf_context) *c = make_context("auto", 1);
    make_rows(1000, 5);
    const bf_array x = bf_array_of(BF_F64, values, 1000), k = bf_array_of(BF_F32, keys, 1000),
                   to = bf_array_of(BF_F64, medians, KEYS - 1);
    medians[0] = 7;
    assert_int_equal(bf_median_groups(c, &x, &k, NULL, NULL, &to, &groups), BF_E_SHAPE);
    assert_int_equal(groups, KEYS);
    assert_true(medians[0] == 7);
}

TEST(a_call_without_memory_changes_nothing) {
    needs_failing_malloc();
    const int64_t n = 40000;
    OWN(bf_context) *c = make_context("auto", 1);
    int64_t groups;
    make_rows(n, 9);
    const bf_array x = bf_array_of(BF_F64, values, n), k = bf_array_of(BF_F32, keys, n),
                   to = bf_array_of(BF_F64, medians, n), list = bf_array_of(BF_F32, listed, n),
                   whole = bf_array_of(BF_I64, whole_ranks, n);
    for (int which = 0; which < 2; which++) {
        medians[0] = listed[0] = 7;
        whole_ranks[0] = -7;
        FAIL_EACH_ALLOCATION(which == 0 ? bf_median_groups(c, &x, &k, NULL, &list, &to, &groups)
                                        : bf_rank(c, &x, 0, BF_RANK_MIN, NULL, &whole))
        assert_true(medians[0] == 7 && listed[0] == 7 && whole_ranks[0] == -7);
    }
    check_groups(c, n);
}

UNIT_TESTS(order_groups, NULL, NULL)
