/* Reductions that are enqueued one right after another, which a GPU lets overlap: each sees what it
 * would see if the one before had ended, and has the same bits. */
#include "tests/support/both.h"

enum { ROUNDS = 40, LINKS = 20, LARGE = 10000000, PART = 1 << 20 };

/* What lies on both sides already. */
static both part(bf_dtype dtype, int64_t n, int64_t offset) {
    return (both){bf_array_of(dtype, on_host + offset, n),
                  bf_array_of(dtype, on_device + offset, n)};
}

static void fetch(bf_value *values, int n) {
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, values, values_on_device, (size_t)n * sizeof *values),
                     BF_OK);
}

/* The first sum takes long; each of the others is that of the value before it. */
static void values_are_seen_by_what_follows(void **unused) {
    (void)unused;
    const int64_t n = is_small() ? 5000 : LARGE;
    bf_value found[LINKS], expected;
    fill(BF_F64, on_host, n, KIND_FULL, 1);
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, 8 * (size_t)n), BF_OK);
    for (int i = 0; i < (is_small() ? 2 : ROUNDS); i++) {
        both b = part(BF_F64, n - i, 8 * i);
        assert_int_equal(bf_reduce_async(gpu, BF_SUM, &b.device, NULL, values_on_device), BF_OK);
        for (int k = 1; k < LINKS; k++) {
            bf_array value = bf_array_of(BF_F64, &values_on_device[k - 1].as.f64, 1);
            assert_int_equal(bf_reduce_async(gpu, BF_SUM, &value, NULL, &values_on_device[k]),
                             BF_OK);
        }
        assert_int_equal(bf_reduce(cpu, BF_SUM, &b.host, NULL, &expected), BF_OK);
        fetch(found, LINKS);
        for (int k = 0; k < LINKS; k++)
            assert_same_value("in a chain", BF_SUM, &b, &found[k], &expected);
    }
}

/* Between two reductions the array changes. */
static void reductions_and_maps_take_turns(void **unused) {
    (void)unused;
    const int64_t n = is_small() ? 3001 : PART;
    bf_value found[3 * ROUNDS], expected;
    fill(BF_F32, on_host, 2 * n, KIND_SUBNORMAL, 2); /* sums that stay exact */
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, 8 * (size_t)n), BF_OK);
    both x = part(BF_F32, n, 0), y = part(BF_F32, n, 4 * n);
    static const bf_reduction ops[] = {BF_SUM, BF_MAX, BF_SUMSQ};
    for (int i = 0; i < ROUNDS; i++) {
        const bf_array *inputs[] = {&x.device, &y.device};
        assert_int_equal(bf_map_async(gpu, BF_MAP_ADD, inputs, 2, NULL, &x.device), BF_OK);
        for (int k = 0; k < 3; k++)
            assert_int_equal(
                bf_reduce_async(gpu, ops[k], &x.device, NULL, &values_on_device[3 * i + k]), BF_OK);
    }
    fetch(found, 3 * ROUNDS);
    for (int i = 0; i < 3 * ROUNDS; i++) {
        const bf_array *inputs[] = {&x.host, &y.host};
        if (i % 3 == 0) assert_int_equal(bf_map(cpu, BF_MAP_ADD, inputs, 2, NULL, &x.host), BF_OK);
        assert_int_equal(bf_reduce(cpu, ops[i % 3], &x.host, NULL, &expected), BF_OK);
        assert_same_value("between maps", ops[i % 3], &x, &found[i], &expected);
    }
}

/* All that there are in one chain, of sizes far apart, some of them by exponent. */
static void a_chain_of_everything(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_I32, BF_U8, BF_F16, BF_I64, BF_BF16};
    static const int64_t sizes[] = {PART, 1, 3001, 70001, PART / 3, 129};
    static const data_kind kinds[] = {KIND_FULL, KIND_NARROW, KIND_CANCEL};
    bf_value found[VALUES], expected;
    both arrays[VALUES];
    bf_reduction ops[VALUES];
    const int count = is_small() ? 30 : VALUES;
    for (int d = 0; d < 7; d++)
        fill(dtypes[d], on_host + (size_t)d * 8 * PART, PART, kinds[d % 3], (uint64_t)d);
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, 7 * 8 * (size_t)PART), BF_OK);
    for (int i = 0; i < count; i++) {
        const int64_t n = is_small() ? 129 : sizes[i % 6];
        ops[i] = (bf_reduction)(BF_SUM + i % BF_PROD);
        if (ops[i] == BF_DOT) ops[i] = BF_SUM;
        arrays[i] = part(dtypes[i % 7], n, (int64_t)(i % 7) * 8 * PART);
        assert_int_equal(
            bf_reduce_async(gpu, ops[i], &arrays[i].device, NULL, &values_on_device[i]), BF_OK);
    }
    fetch(found, count);
    for (int i = 0; i < count; i++) {
        if (bf_reduce(cpu, ops[i], &arrays[i].host, NULL, &expected) != BF_OK)
            expected.dtype = BF_NONE;
        assert_same_value("in a row", ops[i], &arrays[i], &found[i], &expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_seen_by_what_follows),
        cmocka_unit_test(reductions_and_maps_take_turns),
        cmocka_unit_test(a_chain_of_everything),
    };
    return RUN_ON_GPU(tests);
}
