/* A table of more rows than 31 bits count, on a GPU. */
#include "tests/support/large.h"

enum { MANY = 300000 };

static int64_t many_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % MANY);
}

/* Inserts rows of few keys, of which the first row's value stays; then finds, counts and erases
 * them. */
static void tables(void **unused) {
    (void)unused;
    need_memory(58);
    large keys = large_of(BF_U32, PAST_31_BITS, many_keys, MANY, MANY, MANY + 1);
    large values = large_of(BF_I32, keys.n, some_float, -3000000, 2500000, 3000000);
    bf_array k = array_of(&keys), v = array_of(&values);
    int64_t *first = malloc((MANY + 2) * sizeof *first), erased;
    uint32_t *found = malloc((MANY + 2) * sizeof *found);
    int32_t *kept = malloc((MANY + 2) * sizeof *kept);
    bf_table *t;
    assert_int_equal(bf_table_create(gpu, &BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_I32), &t),
                     BF_OK);
    assert_int_equal(bf_table_insert(t, &k, &v), BF_OK);
    large_free(&values);
    assert_int_equal(bf_table_size(t), MANY + 2);
    for (int64_t i = PERIOD - 1; i >= 0; i--) first[many_keys(BF_U32, i)] = some_float(BF_I32, i);
    first[MANY] = -3000000;
    first[MANY + 1] = 3000000;
    bf_array key_array = bf_array_of(BF_U32, found, MANY + 2),
             value_array = bf_array_of(BF_I32, kept, MANY + 2);
    assert_int_equal(bf_table_export(t, &key_array, &value_array), BF_OK);
    for (int i = 0; i < MANY + 2; i++) {
        assert_int_equal(found[i], i);
        assert_int_equal(kept[i], first[i]);
    }
    const bf_array seen = bf_array_of(BF_BOOL, allocate(keys.n), keys.n);
    assert_int_equal(bf_table_erase_one(t, &(uint32_t){MANY + 1}, NULL), BF_OK);
    assert_int_equal(bf_table_find(t, &k, NULL, &seen), BF_OK);
    assert_int_equal(integer_of(BF_SUM, &seen), keys.n - 1);
    assert_int_equal(integer_of(BF_ARGMIN, &seen), keys.n - 1);
    bf_memory_free(gpu, seen.data);
    assert_int_equal(bf_table_erase(t, &k, &erased), BF_OK);
    assert_int_equal(erased, MANY + 1);
    bf_table_destroy(t);
    large_free(&keys);
    free(first);
    free(found);
    free(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
    };
    return RUN_ON_GPU(tests);
}
