/* What bench measures on: as many different keys as it says, and answers that are what it says. */
#include "cli/works/keys.h"
#include "tests/support/data.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { N = 1 << 12 };

static int compare(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts keys, and returns how many are different. */
static int different(uint32_t *keys, int n) {
    int found = 1;
    qsort(keys, (size_t)n, sizeof *keys, compare);
    for (int i = 1; i < n; i++) found += keys[i] != keys[i - 1];
    return found;
}

static void keys_of(const char *work, const char *data, int n, uint32_t *keys) {
    assert_true(bench_keys(work, data, (size_t)n, 0, (size_t)n, keys));
}

TEST(tables_have_different_keys) {
    static uint32_t keys[N];
    for (int n = 2; n <= N; n *= 2) {
        keys_of("table", "insert", n, keys);
        assert_int_equal(different(keys, n), n);
        keys_of("table", "twice-0.5", n, keys);
        assert_int_equal(different(keys, n), n / 2);
        for (int i = 0; i < n; i += 2) assert_int_equal(keys[i], keys[i + 1]);
    }
}

/* How many of the queries are keys. */
static int hits(const char *data, int n) {
    static uint32_t keys[N], queries[N];
    int found = 0;
    keys_of("table", data, n, keys);
    different(keys, n);
    bench_queries(data, (size_t)n, 0, (size_t)n, queries);
    for (int i = 0; i < n; i++)
        found += bsearch(&queries[i], keys, (size_t)n, sizeof *keys, compare) != NULL;
    return found;
}

TEST(queries_are_there_or_not) {
    assert_int_equal(hits("find", N), N);
    assert_int_equal(hits("find-0.8", N / 4), N / 4);
    assert_int_equal(hits("miss", N), 0);
    assert_in_range(hits("half-0.5", N), N * 2 / 5, N * 3 / 5);
}

TEST(groups_are_as_many_as_their_name_says) {
    static uint32_t keys[N];
    keys_of("group", "2^3", N, keys);
    assert_int_equal(different(keys, N), 8);
    keys_of("group", "2^8-list", N, keys);
    assert_int_equal(different(keys, N), 256);
    keys_of("group", "zipf", N, keys);
    /* The first group is a 20th of them: log2(2) / 20. */
    different(keys, N);
    int most = 0;
    for (int i = 0, run = 0; i < N; i++) {
        run = i > 0 && keys[i] == keys[i - 1] ? run + 1 : 1;
        if (run > most) most = run;
    }
    assert_in_range(most, N / 25, N / 16);
    assert_false(bench_keys("group", "2^0", N, 0, N, keys));
    assert_false(bench_keys("group", "uniform", N, 0, N, keys));
}

TEST(pieces_make_the_whole) {
    static const char *const cases[][2] = {
        {"table", "insert"}, {"table", "twice-0.8"}, {"group", "2^5"}, {"group", "zipf"}};
    static uint32_t whole[N], parts[N];
    for (int i = 0; i < 4; i++) {
        keys_of(cases[i][0], cases[i][1], N, whole);
        for (size_t at = 0; at < N; at += N / 4)
            bench_keys(cases[i][0], cases[i][1], N, at, N / 4, parts + at);
        assert_memory_equal(whole, parts, sizeof whole);
    }
    bench_queries("half", N, 0, N, whole);
    bench_queries("half", N, 0, 100, parts);
    bench_queries("half", N, 100, N - 100, parts + 100);
    assert_memory_equal(whole, parts, sizeof whole);
}

TEST(a_side_is_a_whole_root) {
    for (size_t n = 1; n < 5000; n++) {
        const size_t side = bench_side_of(n);
        assert_true(side * side <= n && (side + 1) * (side + 1) > n);
    }
    assert_int_equal(bench_side_of(256000000), 16000);
    assert_int_equal(bench_side_of(0), 0);
}

UNIT_TESTS(bench_keys, NULL, NULL)
