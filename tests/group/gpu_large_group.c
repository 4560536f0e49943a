/* Groups of more rows than 31 or 32 bits count, on a GPU. */
#include "tests/support/large.h"

enum { FEW = 250, MANY = 300000 };

static int64_t few_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % FEW);
}

static int64_t many_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % MANY);
}

/* Checks groups. Keys are 0, 1, 2, ...; the marks have three more. Sums of x are the aggregate,
 * unless x is NULL. */
static void check_groups(const large *keys, const large *x, int64_t groups) {
    const bf_aggregate sum = {BF_SUM, x ? x->dtype : BF_NONE};
    const bf_array k = array_of(keys), v = x ? array_of(x) : k, *columns[] = {&v};
    int64_t *counts = calloc((size_t)groups, sizeof *counts),
            *totals = calloc((size_t)groups, sizeof *totals);
    uint64_t *found = malloc((size_t)groups * sizeof *found);
    int64_t *rows = malloc((size_t)groups * sizeof *rows);
    bf_value *sums_found = malloc((size_t)groups * sizeof *sums_found);
    bf_groups *g;
    for (int64_t i = 0; i < PERIOD; i++) {
        const int64_t key = keys->rule(keys->dtype, i);
        counts[key] += times_of(keys, i);
        if (x) totals[key] += times_of(keys, i) * x->rule(x->dtype, i);
    }
    for (int m = 0; m < MARKS; m++) {
        const int64_t at = keys->at[m] % PERIOD, key = keys->rule(keys->dtype, at);
        counts[key]--;
        counts[keys->mark[m]]++;
        if (x) totals[key] -= x->rule(x->dtype, at);
        if (x) totals[keys->mark[m]] += x->mark[m];
    }
    assert_int_equal(bf_groups_create(gpu,
                                      &BF_GROUPS_OPTIONS(.key = keys->dtype, .count = x != NULL,
                                                         .aggregates = &sum),
                                      &g),
                     BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, x ? columns : NULL), BF_OK);
    assert_int_equal(bf_groups_rows(g), keys->n);
    assert_int_equal(bf_groups_size(g), groups);
    const bf_array key_array = bf_array_of(keys->dtype, found, groups),
                   row_array = bf_array_of(BF_I64, rows, groups);
    assert_int_equal(bf_groups_list(g, &key_array, &row_array), BF_OK);
    if (x) assert_int_equal(bf_groups_result(g, 0, NULL, sums_found), BF_OK);
    for (int64_t i = 0; i < groups; i++) {
        const size_t size = bf_dtype_size(keys->dtype);
        assert_int_equal(load_bits((char *)found + (size_t)i * size, size), i);
        assert_int_equal(rows[i], counts[i]);
        if (x) assert_true(sums_found[i].as.f64 == (double)totals[i]);
    }
    bf_groups_destroy(g);
    free(counts);
    free(totals);
    free(found);
    free(rows);
    free(sums_found);
}

static void groups_past_32_bits(void **unused) {
    (void)unused;
    need_memory(12);
    large keys = large_of(BF_U8, PAST_32_BITS, few_keys, FEW, FEW + 1, FEW + 2);
    check_groups(&keys, NULL, FEW + 3);
    large_free(&keys);
}

static void groups_with_sums(void **unused) {
    (void)unused;
    need_memory(48);
    large x = large_of(BF_F32, PAST_31_BITS, some_float, -3000000, 2500000, 3000000);
    large keys = large_of(BF_U8, x.n, few_keys, FEW, FEW + 1, FEW + 2);
    check_groups(&keys, &x, FEW + 3);
    large_free(&keys);
    keys = large_of(BF_U32, x.n, many_keys, MANY, MANY + 1, MANY + 2);
    check_groups(&keys, &x, MANY + 3);
    large_free(&keys);
    large_free(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_past_32_bits),
        cmocka_unit_test(groups_with_sums),
    };
    return RUN_ON_GPU(tests);
}
