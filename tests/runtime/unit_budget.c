/* A context with a limit of memory: calls fail within it, change nothing when they do, and give the
 * same bits when they do not.
 * Builds: release, asan (full). */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>

#define OK(call) assert_int_equal(call, BF_OK)

enum { N = 200000 / DATA_SHARE, ROOM = 1 << 25 };

static int64_t keys[N], rows[N];
static double values[N];
static unsigned char before[ROOM], after[ROOM];

static bf_context *limited(int64_t bytes, int threads) {
    bf_context *context;
    OK(bf_context_create(&BF_OPTIONS(.device = "cpu", .threads = threads, .memory = bytes),
                         &context));
    return context;
}

static int make_rows(void **unused) {
    (void)unused;
    for (int i = 0; i < N; i++) {
        keys[i] = (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15 >> 20);
        values[i] = ldexp(i + 1, i % 40);
        rows[i] = i;
    }
    return 0;
}

static size_t save(bf_groups *g, unsigned char *bytes) {
    size_t size;
    OK(bf_groups_save_size(g, &size));
    assert_true(size <= ROOM);
    OK(bf_groups_save(g, bytes));
    return size;
}

/* The message names what was wanted, what is in use and the limit. */
static void check_message(const bf_context *context, int64_t limit) {
    long long wanted = 0, used = 0, of = 0;
    assert_int_equal(sscanf(bf_context_message(context),
                            "%lld bytes wanted, %lld of the limit of %lld are in use", &wanted,
                            &used, &of),
                     3);
    assert_int_equal(of, limit);
    assert_true(wanted > 0 && used >= 0 && used + wanted > limit);
}

TEST(a_limit_is_checked) {
    bf_context *context;
    char why[BF_MESSAGE_TEXT];
    const bf_options bad = BF_OPTIONS(.memory = -1);
    assert_int_equal(bf_context_create(&bad, &context), BF_E_ARGUMENT);
    bf_context_create_message(&bad, why);
    assert_non_null(strstr(why, "-1 bytes"));
}

TEST(memory_comes_back) {
    const int64_t limit = 1 << 20;
    OWN(bf_context) *context = limited(limit, 1);
    void *one, *two;
    for (int i = 0; i < 5; i++) {
        OK(bf_memory_allocate(context, 600000, &one));
        memset(one, 1, 600000);
        assert_int_equal(bf_memory_allocate(context, 600000, &two), BF_E_MEMORY);
        check_message(context, limit);
        bf_memory_free(context, one);
    }
    OK(bf_memory_allocate(context, (size_t)limit, &one));
    bf_memory_free(context, one);
    assert_int_equal(bf_memory_allocate(context, (size_t)limit + 1, &one), BF_E_MEMORY);
}

/* Absorbs chunks until one fails; then the groups are as they were. */
static int64_t absorb_within(bf_context *context, int64_t limit, bf_groups **groups) {
    const bf_aggregate sum = {BF_SUM, BF_F64};
    const int64_t chunk = N / 20;
    OK(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1, .aggregates = &sum),
                        groups));
    for (int64_t at = 0; at < N; at += chunk) {
        const bf_array k = bf_array_of(BF_I64, keys + at, chunk),
                       v = bf_array_of(BF_F64, values + at, chunk);
        const bf_array *const one[] = {&v};
        const bf_status status = bf_groups_absorb(*groups, &k, one);
        assert_int_equal(bf_groups_rows(*groups), status == BF_OK ? at + chunk : at);
        if (status == BF_OK) continue;
        assert_int_equal(status, BF_E_MEMORY);
        check_message(context, limit);
        return at;
    }
    return N;
}

TEST(groups_keep_to_it) {
    int failures = 0, successes = 0;
    for (int threads = 1; threads <= 3; threads += 2)
        for (int64_t limit = 1 << 16; limit <= 1 << 28; limit *= 4) {
            OWN(bf_context) *context = limited(limit, threads), *free_one = limited(0, threads);
            bf_groups *g, *want;
            for (int again = 0; again < 2; again++) { /* all comes back */
                const int64_t n = absorb_within(context, limit, &g);
                OK(bf_groups_create(
                    free_one,
                    &BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1,
                                       .aggregates = &(bf_aggregate){BF_SUM, BF_F64}),
                    &want));
                const bf_array k = bf_array_of(BF_I64, keys, n), v = bf_array_of(BF_F64, values, n);
                const bf_array *const one[] = {&v};
                OK(bf_groups_absorb(want, &k, one));
                size_t size;
                if (bf_groups_save_size(g, &size) == BF_OK && size <= ROOM &&
                    bf_groups_save(g, before) == BF_OK) {
                    assert_int_equal(save(want, after), size);
                    assert_memory_equal(before, after, size);
                }
                failures += n < N;
                successes += n == N;
                bf_groups_destroy(want);
                bf_groups_destroy(g);
            }
        }
    assert_true(failures > 4 && successes > 2);
}

TEST(tables_and_joins_keep_to_it) {
    const bf_array k = bf_array_of(BF_I64, keys, N), v = bf_array_of(BF_I64, rows, N);
    int failures = 0, successes = 0;
    for (int64_t limit = 1 << 16; limit <= 1 << 26; limit *= 2) {
        OWN(bf_context) *context = limited(limit, 2);
        bf_table *table;
        bf_pairs *pairs = NULL;
        for (int again = 0; again < 2; again++) {
            OK(bf_table_create(context, &BF_TABLE_OPTIONS(.key = BF_I64, .value = BF_I64), &table));
            const bf_status status = bf_table_insert(table, &k, &v);
            assert_true(status == BF_OK || status == BF_E_MEMORY);
            assert_int_equal(bf_table_size(table), status == BF_OK ? N : 0);
            if (status != BF_OK) check_message(context, limit);
            bf_table_destroy(table);
            const bf_status joined = bf_join(context, &k, &k, 0, &pairs);
            assert_true(joined == BF_OK || joined == BF_E_MEMORY);
            if (joined == BF_OK) assert_int_equal(bf_pairs_size(pairs), N);
            if (joined == BF_OK) bf_pairs_destroy(pairs);
            failures += (status != BF_OK) + (joined != BF_OK);
            successes += (status == BF_OK) + (joined == BF_OK);
        }
    }
    assert_true(failures > 4 && successes > 4);
}

TEST(histograms_keep_to_it) {
    OWN(bf_context) *context = limited(1 << 20, 2);
    bf_histogram *h = NULL;
    const bf_histogram_options large =
        BF_HISTOGRAM_OPTIONS(.bins = 1 << 20, .range = 1, .lo = 0, .hi = 1);
    const bf_histogram_options small =
        BF_HISTOGRAM_OPTIONS(.bins = 1000, .range = 1, .lo = 0, .hi = 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bf_histogram_create(context, BF_F64, &large, &h), BF_E_MEMORY);
        check_message(context, 1 << 20);
        OK(bf_histogram_create(context, BF_F64, &small, &h));
        bf_histogram_destroy(h);
    }
}

UNIT_TESTS(budget, make_rows, NULL)
