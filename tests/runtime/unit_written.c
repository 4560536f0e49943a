/* What a call was to write, it writes on success only: whatever the data or a lack of memory make
 * it fail.
 * Builds: release, asan, tsan. */
#include "tests/runtime/world.h"

#include "tests/support/failing_malloc.h"
#include "tests/support/unit.h"

/* ---- the data -------------------------------------------------------------------------------- */

/* A call fails with this status, and leaves `size` bytes at `out` as they were. */
#define FAILS(status, call, out, size)                                                             \
    do {                                                                                           \
        memset(out, 0x55, size);                                                                   \
        assert_int_equal(call, status);                                                            \
        for (size_t i_ = 0; i_ < (size); i_++) assert_int_equal(((const char *)(out))[i_], 0x55);  \
    } while (0)

TEST(reductions) {
    double x[] = {1, (double)NAN, 3};
    int64_t large[] = {INT64_MAX, INT64_MAX, INT64_MAX};
    bf_array a = bf_array_of(BF_F64, x, 3), none = bf_array_of(BF_F64, x, 0);
    bf_array b = bf_array_of(BF_I64, large, 3);
    const bf_reduce_options refuse = BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR);
    bf_context *c = w->context;
    bf_state *s = NULL;
    bf_value v;
    int64_t i;
    uint64_t u;
    double d;
    FAILS(BF_E_NAN, bf_reduce(c, BF_SUM, &a, &refuse, &v), &v, sizeof v);
    FAILS(BF_E_NAN, bf_reduce(c, BF_PROD, &a, &refuse, &v), &v, sizeof v);
    FAILS(BF_E_NAN, bf_reduce(c, BF_MIN, &a, &refuse, &v), &v, sizeof v);
    FAILS(BF_E_NAN, bf_dot(c, &a, &a, &refuse, &v), &v, sizeof v);
    FAILS(BF_E_EMPTY, bf_reduce(c, BF_ARGMIN, &none, NULL, &v), &v, sizeof v);
    FAILS(BF_E_OVERFLOW, bf_reduce(c, BF_PROD, &b, NULL, &v), &v, sizeof v);
    FAILS(BF_E_OVERFLOW, bf_sum_i64(c, large, 3, &i), &i, sizeof i);
    FAILS(BF_E_EMPTY, bf_max_f64(c, x, 0, &d), &d, sizeof d);
    assert_int_equal(bf_state_create(c, BF_SUM, BF_F64, &s), BF_OK);
    assert_int_equal(bf_state_absorb(s, &a), BF_OK);
    FAILS(BF_E_NAN, bf_state_result(s, &refuse, &v), &v, sizeof v);
    bf_state_destroy(s);
    bf_description kept, description;
    memset(&kept, 0x55, sizeof kept);
    kept.size = sizeof kept;
    description = kept;
    assert_int_equal(bf_describe(c, &a, &refuse, &description), BF_E_NAN);
    assert_memory_equal(&description, &kept, sizeof kept);
    v = (bf_value){.dtype = BF_F64, .as.f64 = 0.5};
    FAILS(BF_E_OVERFLOW, bf_value_i64(&v, &i), &i, sizeof i);
    FAILS(BF_E_OVERFLOW, bf_value_u64(&v, &u), &u, sizeof u);
    bf_dtype dtype, mixed[] = {BF_I64, BF_U64};
    FAILS(BF_E_DTYPE, bf_map_result_dtype(BF_MAP_ADD, mixed, 2, 0, &dtype), &dtype, sizeof dtype);
}

/* The last group alone has a NaN: those before it are not written. */
TEST(results_of_groups) {
    enum { N = 50000 };
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_MAX};
    const bf_reduce_options refuse = BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR);
    int64_t *keys = malloc(N * sizeof *keys);
    double *x = malloc(N * sizeof *x);
    bf_value *values = malloc(N * sizeof *values);
    for (int i = 0; i < N; i++) keys[i] = i, x[i] = i;
    x[N - 1] = (double)NAN;
    bf_array key = bf_array_of(BF_I64, keys, N), value = bf_array_of(BF_F64, x, N);
    const bf_array *of[] = {&value};
    for (int i = 0; i < 3; i++) {
        const bf_aggregate aggregate = {ops[i], BF_F64};
        bf_groups_options how =
            BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1, .aggregates = &aggregate);
        OWN(bf_groups) *g = NULL;
        assert_int_equal(bf_groups_create(w->context, &how, &g), BF_OK);
        assert_int_equal(bf_groups_absorb(g, &key, of), BF_OK);
        FAILS(BF_E_NAN, bf_groups_result(g, 0, &refuse, values), values, N * sizeof *values);
        bf_array out = bf_array_of(BF_F64, values, N);
        FAILS(BF_E_NAN, bf_groups_aggregate(g, 0, &refuse, &out, NULL), values, N * 8);
        assert_int_equal(bf_groups_result(g, 0, NULL, values), BF_OK);
        assert_true(isnan(values[N - 1].as.f64));
    }
    free(keys);
    free(x);
    free(values);
}

TEST(tables_and_counts) {
    int64_t keys[] = {1, 1, 2}, counts[9], others;
    double values[] = {1, 2, 3}, found[9], wide[9];
    bf_array key = bf_array_of(BF_I64, keys, 3), value = bf_array_of(BF_F64, values, 3);
    bf_array out = bf_array_of(BF_F64, found, 9), out_keys = bf_array_of(BF_I64, counts, 9);
    bf_array some = bf_array_of(BF_I64, keys, 3), other = bf_array_of(BF_F64, wide, 9);
    OWN(bf_histogram) *plain = NULL;
    bf_histogram_options bins = BF_HISTOGRAM_OPTIONS(.bins = 5, .range = 1, .hi = 1);
    assert_int_equal(bf_table_insert(w->multimap, &key, &value), BF_OK);
    FAILS(BF_E_SHAPE, bf_table_find_all(w->multimap, &key, &out), found, sizeof found);
    FAILS(BF_E_SHAPE, bf_table_export(w->multimap, &out_keys, &out), counts, sizeof counts);
    FAILS(BF_E_SHAPE, bf_table_find(w->table, &some, &out, NULL), found, sizeof found);
    FAILS(BF_E_DTYPE, bf_table_find(w->table, &some, &value, &other), wide, sizeof wide);
    FAILS(BF_E_SHAPE, bf_table_count(w->table, &some, &out_keys), counts, sizeof counts);
    FAILS(BF_E_DTYPE, bf_table_erase(w->table, &value, &others), &others, sizeof others);
    FAILS(BF_E_SHAPE, bf_groups_list(w->groups, &out_keys, NULL), counts, sizeof counts);
    FAILS(BF_E_DTYPE, bf_bincount(w->context, &value, counts, 9, &others), counts, sizeof counts);
    assert_int_equal(bf_histogram_create(w->context, BF_F64, &bins, &plain), BF_OK);
    FAILS(BF_E_ARGUMENT, bf_histogram_weights(plain, found), found, sizeof found);
    FAILS(BF_E_DTYPE, bf_histogram_async(plain, &key, counts), counts, sizeof counts);
}

/* ---- no memory ------------------------------------------------------------------------------- */

/* Every allocation of the call fails once, or every other: everything in the world is then as it
 * was before. */
static void fail_each_allocation(const context_call *call, world *before) {
    memcpy(before, w, sizeof *w);
    for (int allocations = 0;; allocations += DATA_SHARE > 1 ? 2 : 1) {
        atomic_store(&until_failure, allocations);
        bf_status status = call->call(w);
        atomic_store(&until_failure, -1);
        if (status == BF_OK) return;
        if (status != BF_E_MEMORY || memcmp(before, w, sizeof *w) != 0)
            fail_msg("%s, allocation %d: %d", call->name, allocations, (int)status);
    }
}

TEST(without_memory_nothing_is_written) {
    needs_failing_malloc();
    world *before = malloc(sizeof *before);
    for (int i = 0; i < CONTEXT_CALLS - SIMPLE_CALLS; i++)
        fail_each_allocation(&context_calls[i], before);
    free(before);
}

UNIT_TESTS(written, make_world, destroy_world)
