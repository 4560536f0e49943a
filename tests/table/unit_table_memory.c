/* An allocation may fail at any point of an insertion: the table then is as it was.
 * Builds: release, asan, tsan. */
#include "tests/support/failing_malloc.h"
#include "tests/support/unit.h"
#include "tests/table/tables.h"

/* Half of the words come twice. */
static void fill_random(unsigned char *out, size_t bytes, uint64_t seed) {
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint64_t bits = next_random(&seed);
        store_bits(out + i, 4, bits);
        if (i % 8 == 4 && bits >> 63) memcpy(out + i - 4, out + i / 2 / 8 * 8, 8);
    }
}

/* Two batches; the second may fail at its k-th allocation, and then nothing shows. */
static bool second_batch_survives(const bf_table_options *o, int threads, int64_t n,
                                  int64_t before_it, long k) {
    static unsigned char keys[MANY * 8], values[MANY * 4];
    bf_context *c = context_of(threads);
    bf_table *t = NULL;
    size_t sizes[2];
    fill_random(keys, (size_t)n * 8, 3);
    fill_random(values, (size_t)n * 4, 4);
    bf_array first = bf_array_of(o->key, keys, before_it), rest = bf_array_of(o->key, keys, n);
    bf_array first_values = bf_array_of(o->value, values, before_it);
    bf_array rest_values = bf_array_of(o->value, values, n);
    assert_int_equal(bf_table_create(c, o, &t), BF_OK);
    assert_int_equal(bf_table_insert(t, &first, &first_values), BF_OK);
    unsigned char *before = save_form(t, &sizes[0]);
    atomic_store(&failures, 0);
    atomic_store(&until_failure, k);
    bf_status status = bf_table_insert(t, &rest, &rest_values);
    atomic_store(&until_failure, -1);
    if (status != BF_OK) {
        assert_int_equal(status, BF_E_MEMORY);
        assert_true(atomic_load(&failures) > 0);
        unsigned char *after = save_form(t, &sizes[1]);
        assert_int_equal(sizes[0], sizes[1]);
        assert_memory_equal(before, after, sizes[0]);
        free(after);
        assert_int_equal(bf_table_insert(t, &rest, &rest_values), BF_OK);
    }
    free(before);
    bf_table_destroy(t);
    bf_context_destroy(c);
    return status == BF_OK && atomic_load(&failures) == 0;
}

TEST(without_memory_the_table_stays) {
    needs_failing_malloc();
    int64_t sizes[] = {3, 300, 20000, MANY};
    for (int i = 0; i < 24; i++) {
        bf_table_options o =
            BF_TABLE_OPTIONS(.key = BF_U64, .value = BF_U32,
                             .duplicates = i % 2 ? BF_DUPLICATES_KEEP : BF_DUPLICATES_LAST,
                             .reserve = i / 8 % 2 * 1000);
        int64_t n = sizes[i / 2 % 4];
        if (DATA_SHARE > 1 && n == MANY && i >= 8) continue;
        const int step = DATA_SHARE > 1 ? 2 : 1; /* every allocation fails, or every other */
        for (long k = i % step;
             !second_batch_survives(&o, i % 4 < 2 ? 1 : 3, n, i % 3 ? n / 3 : 0, k); k += step)
            assert_true(k < 200);
    }
}

UNIT_TESTS(table_memory, NULL, NULL)
