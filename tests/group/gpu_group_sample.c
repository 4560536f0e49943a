/* Exact sums of groups on a GPU are prepared by a sample of the values: one among millions that the
 * sample misses, and that is far from all others or not finite, changes nothing but the time. */
#include "tests/support/both.h"
#include "tests/support/groups.h"

enum { ROWS = (1 << 22) + 777, COLUMNS = 3, KEYS_AT = 0, VALUES_AT = SECOND };

static const bf_reduction plain[COLUMNS] = {BF_SUM, BF_SUMSQ, BF_VAR};
static const bf_reduction joint[COLUMNS] = {BF_KURTOSIS, BF_CORR, BF_WVAR}; /* pairs: of equals */
static const bf_reduction *ops = plain;

/* Makes keys of so many groups; each is met by the last rows as well as by the first. */
static void put_keys(uint32_t groups) {
    uint32_t *keys = (uint32_t *)(on_host + KEYS_AT);
    for (uint32_t i = 0; i < ROWS; i++) keys[i] = i % groups * 0x9e3779b9u;
    assert_int_equal(bf_memory_copy(gpu, on_device + KEYS_AT, keys, ROWS * sizeof *keys), BF_OK);
}

/* The bits of 1, and of a step of the exponent. */
static uint64_t one(bf_dtype dtype) { return infinity_bits(dtype) >> 1 & infinity_bits(dtype); }
static uint64_t step(bf_dtype dtype) { return 1ull << fraction_bits(dtype); }

static void put_value(bf_dtype dtype, int64_t row, uint64_t bits) {
    size_t bytes = bf_dtype_size(dtype);
    store_bits(on_host + VALUES_AT + (size_t)row * bytes, bytes, bits);
}

/* All between 1 and 2, of either sign. */
static void put_values(bf_dtype dtype) {
    uint64_t seed = 1;
    for (int64_t i = 0; i < ROWS; i++) {
        uint64_t r = next_random(&seed), sign = r >> 63 ? sign_bit(dtype) : 0;
        put_value(dtype, i, one(dtype) | (r & (step(dtype) - 1)) | sign);
    }
}

static bf_groups *groups_of(bf_context *context, char *memory, bf_dtype dtype) {
    bf_aggregate aggregates[COLUMNS];
    bf_array keys = bf_array_of(BF_U32, memory + KEYS_AT, ROWS),
             values = bf_array_of(dtype, memory + VALUES_AT, ROWS);
    const bf_array *pointers[2 * COLUMNS] = {&values, &values, &values, &values, &values, &values};
    bf_groups *g = NULL;
    for (int c = 0; c < COLUMNS; c++) aggregates[c] = (bf_aggregate){ops[c], dtype};
    bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = BF_U32, .count = COLUMNS, .aggregates = aggregates);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    assert_int_equal(bf_groups_absorb(g, &keys, pointers), BF_OK);
    return g;
}

static void check(bf_dtype dtype, const char *what) {
    const size_t bytes = ROWS * bf_dtype_size(dtype);
    assert_int_equal(bf_memory_copy(gpu, on_device + VALUES_AT, on_host + VALUES_AT, bytes), BF_OK);
    bf_groups *found = groups_of(gpu, on_device, dtype), *expected = groups_of(cpu, on_host, dtype);
    assert_same_groups(what, BF_U32, dtype, ROWS, found, expected);
    bf_groups_destroy(found);
    bf_groups_destroy(expected);
}

/* Rows before the second of the sample, or behind its last. */
static void check_outliers(bf_dtype dtype) {
    uint64_t inf = infinity_bits(dtype), sign = sign_bit(dtype);
    const struct {
        const char *name;
        uint64_t bits;
    } outliers[] = {{"the greatest", inf - 1},
                    {"the least", sign | 1},
                    {"2^40", one(dtype) + 40 * step(dtype)},
                    {"2^-60", one(dtype) - 60 * step(dtype)},
                    {"-0", sign},
                    {"NaN", inf + 1},
                    {"infinity", sign | inf}};
    put_values(dtype);
    for (size_t i = 0; i < sizeof outliers / sizeof *outliers; i++) {
        int64_t row = i % 2 ? 7 : ROWS - 3;
        put_value(dtype, row, outliers[i].bits);
        check(dtype, outliers[i].name);
        put_value(dtype, row, one(dtype));
    }
    for (size_t i = 0; i < sizeof outliers / sizeof *outliers; i++)
        put_value(dtype, 7 + (int64_t)i, outliers[i].bits);
    check(dtype, "all of these");
}

static void outliers_of_few_groups(void **unused) {
    (void)unused;
    leave_out_if_small();
    put_keys(200);
    check_outliers(BF_F64);
    check_outliers(BF_BF16);
}

static void outliers_of_many_groups(void **unused) {
    (void)unused;
    leave_out_if_small();
    put_keys(50000);
    check_outliers(BF_F32);
    check_outliers(BF_F64);
}

/* The rows of one outlier, and of all. */
static void outliers_of_pairs_and_powers(void **unused) {
    (void)unused;
    leave_out_if_small();
    static const bf_dtype dtypes[] = {BF_F64, BF_F16};
    ops = joint;
    put_keys(3000);
    for (int d = 0; d < 2; d++) {
        const uint64_t inf = infinity_bits(dtypes[d]), sign = sign_bit(dtypes[d]);
        const uint64_t outliers[] = {one(dtypes[d]) - 6 * step(dtypes[d]), sign, inf, inf + 1,
                                     sign | 1};
        put_values(dtypes[d]);
        put_value(dtypes[d], 7, inf - 1);
        check(dtypes[d], "the greatest (pairs and powers)");
        for (int i = 0; i < 5; i++) put_value(dtypes[d], ROWS - 1 - 5 * i, outliers[i]);
        check(dtypes[d], "all (pairs and powers)");
    }
    ops = plain;
}

static void zeros_but_for_one(void **unused) {
    (void)unused;
    leave_out_if_small();
    put_keys(3000);
    memset(on_host + VALUES_AT, 0, ROWS * sizeof(double));
    check(BF_F64, "none");
    put_value(BF_F64, 7, one(BF_F64) | 1);
    check(BF_F64, "1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outliers_of_few_groups),
        cmocka_unit_test(outliers_of_many_groups),
        cmocka_unit_test(outliers_of_pairs_and_powers),
        cmocka_unit_test(zeros_but_for_one),
    };
    return RUN_ON_GPU(tests);
}
