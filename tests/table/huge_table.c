/* Tables of which a call takes more than 2^31 rows. Their keys are few: there is memory for the
 * rows' block only. */
#include "tests/support/forms.h"
#include "tests/support/huge.h"

enum { KEYS = 1000, TOO = 300 }; /* keys from KEYS to KEYS + TOO are looked for and not there */

static int64_t some_key(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble((uint64_t)i) % KEYS);
}

static int64_t some_query(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble((uint64_t)i) % (KEYS + TOO));
}

/* Two rows past 31 bits have a key of their own, and the last row has too. */
static periodic keys_of(bf_dtype dtype) {
    periodic h = huge_of(dtype, PAST_31_BITS, some_key);
    set_mark(&h, far_index(h.n) + 5, KEYS);
    set_mark(&h, far_index(h.n) + 1000, KEYS);
    set_mark(&h, h.n - 1, KEYS + 1);
    return h;
}

static bf_table *table_of(bf_duplicates policy, const periodic *keys, const periodic *values) {
    const bf_array k = array_of(keys), v = array_of(values);
    const bf_table_options o =
        BF_TABLE_OPTIONS(.key = keys->dtype, .value = values->dtype, .duplicates = policy);
    bf_table *t;
    assert_int_equal(bf_table_create(context, &o, &t), BF_OK);
    assert_int_equal(bf_table_insert(t, &k, &v), BF_OK);
    assert_int_equal(bf_table_size(t), KEYS + 2);
    return t;
}

/* The rows that decide a key's value: all of them in order, for as long as they may. */
static void expect(bf_duplicates policy, const periodic *keys, const periodic *values,
                   uint64_t expected[KEYS + 2]) {
    bool seen[KEYS + 2] = {false};
    int64_t last[KEYS + 2] = {0};
    memset(expected, 0, (KEYS + 2) * sizeof *expected);
    if (policy == BF_DUPLICATES_ADD) {
        for (int64_t i = 0; i < PERIOD; i++)
            expected[some_key(keys->dtype, i)] +=
                (uint64_t)times_of(keys, i) * (uint64_t)number_at(values, i);
        for (int m = 0; m < keys->marks; m++) {
            const int64_t at = keys->mark[m].at;
            expected[some_key(keys->dtype, at % PERIOD)] -=
                (uint64_t)number_at(values, at % PERIOD);
            expected[keys->mark[m].number] += (uint64_t)number_at(values, at);
        }
        return;
    }
    for (int64_t i = 0; i < PERIOD; i++) { /* each key is in every block */
        const int64_t at = policy == BF_DUPLICATES_FIRST ? i : keys->n - PERIOD + i;
        const int64_t key = number_at(keys, at);
        if (policy == BF_DUPLICATES_FIRST && seen[key]) continue;
        seen[key] = true;
        last[key] = at;
    }
    const bool first = policy == BF_DUPLICATES_FIRST;
    last[KEYS] = keys->mark[first ? 0 : 1].at;
    last[KEYS + 1] = keys->mark[2].at;
    for (int k = 0; k < KEYS + 2; k++) expected[k] = (uint64_t)number_at(values, last[k]);
}

static void check_entries(bf_table *t, const periodic *keys, const uint64_t *expected) {
    uint32_t found[KEYS + 2];
    uint64_t values[KEYS + 2];
    const bf_array k = bf_array_of(keys->dtype, found, KEYS + 2),
                   v = bf_array_of(BF_I64, values, KEYS + 2);
    assert_int_equal(bf_table_export(t, &k, &v), BF_OK);
    for (int i = 0; i < KEYS + 2; i++) {
        assert_int_equal(found[i], i);
        assert_true(values[i] == expected[i]);
    }
}

TEST(every_policy) {
    static const bf_duplicates policies[] = {BF_DUPLICATES_FIRST, BF_DUPLICATES_LAST,
                                             BF_DUPLICATES_ADD};
    periodic keys = keys_of(BF_U32), values = huge_of(BF_I64, keys.n, some_number);
    for (int m = 0; m < 3; m++) set_mark(&values, keys.mark[m].at, -7 - m);
    for (int p = 0; p < 3; p++) {
        uint64_t expected[KEYS + 2];
        bf_table *t = table_of(policies[p], &keys, &values), *loaded;
        expect(policies[p], &keys, &values, expected);
        check_entries(t, &keys, expected);
        loaded = copy_form(context, t);
        assert_non_null(loaded);
        check_entries(loaded, &keys, expected);
        bf_table_destroy(t);
        bf_table_destroy(loaded);
    }
    huge_free(&keys);
    huge_free(&values);
}

/* Queries of which some are not there. What is found is written to 2 GiB. */
TEST(finds_counts_and_erases) {
    periodic keys = keys_of(BF_U32), values = huge_of(BF_I64, keys.n, some_number);
    periodic queries = huge_of(BF_U32, keys.n, some_query);
    set_mark(&queries, queries.n - 1, KEYS + TOO);
    bf_table *t = table_of(BF_DUPLICATES_FIRST, &keys, &values);
    uint8_t *found = room_of(queries.n), *expected = malloc(PERIOD);
    const bf_array q = array_of(&queries), f = bf_array_of(BF_BOOL, found, queries.n);
    int64_t erased;
    assert_non_null(expected);
    for (int64_t i = 0; i < PERIOD; i++) expected[i] = number_at(&queries, i) < KEYS + 2;
    assert_int_equal(bf_table_find(t, &q, NULL, &f), BF_OK);
    assert_int_equal(found[queries.n - 1], 0);
    found[queries.n - 1] = expected[(queries.n - 1) % PERIOD];
    for (int64_t at = 0; at < queries.n; at += PERIOD) {
        const int64_t n = queries.n - at < PERIOD ? queries.n - at : PERIOD;
        assert_memory_equal(found + at, expected, (size_t)n);
    }
    munmap(found, (size_t)queries.n);
    free(expected);

    assert_int_equal(bf_table_erase(t, &q, &erased), BF_OK);
    assert_int_equal(erased, KEYS + 2);
    assert_int_equal(bf_table_size(t), 0);
    bf_table_destroy(t);
    huge_free(&keys);
    huge_free(&values);
    huge_free(&queries);
}

HUGE_TESTS
