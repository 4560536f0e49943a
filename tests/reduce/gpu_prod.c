/* Products on a GPU: of integers and of floats, the bits of the CPU's rules. */
#include "tests/support/both.h"

/* Floats near 1, of either sign; one in `rarity` is a subnormal. */
static void fill_near_one(bf_dtype dtype, void *data, int64_t n, uint64_t rarity, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t below_one = ((uint64_t)1 << (exponent_bits(dtype) - 1)) - 2;
    uint64_t fractions = ((uint64_t)1 << fraction_bits(dtype)) - 1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next_random(&seed);
        uint64_t bits = (below_one + (r & 1)) << fraction_bits(dtype) | (r >> 8 & fractions);
        if (next_random(&seed) % rarity == 0) bits = 1 + r % 100;
        if (r & 2) bits |= sign_bit(dtype);
        store_bits((char *)data + (size_t)i * bytes, bytes, bits);
    }
}

/* Integers whose product is past 128 bits late or never: 1 and -1, and one in `rarity` another. */
static void fill_small(bf_dtype dtype, void *data, int64_t n, uint64_t rarity, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next_random(&seed), x = next_random(&seed) % rarity ? 1 : 1 + (r >> 8) % 5;
        if (dtype != BF_BOOL && is_signed(dtype) && r % 3 == 0) x = 0 - x;
        store_bits((char *)data + (size_t)i * bytes, bytes, x);
    }
}

static void check_integers(bf_dtype dtype, int64_t n, int offset) {
    both b = both_of(dtype, n, offset);
    check_reduce(BF_PROD, &b, NULL);
    check_reduce(BF_PROD, &b, &BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP));
    check_reduce(BF_PROD, &b, &BF_REDUCE_OPTIONS(.out_dtype = BF_F64));
    check_states(BF_PROD, &b, 0, n, 7);
}

static void integers_of_every_kind_and_size(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT && !is_float(all_dtypes[d]); d++)
        for (int s = 0; s < HARD_SIZES; s++)
            for (int k = 0; k < KIND_COUNT; k++) {
                fill(all_dtypes[d], on_host, hard_sizes[s], (data_kind)k, next_random(&seed));
                check_integers(all_dtypes[d], hard_sizes[s], 0);
            }
}

static void integers_that_fit_128_bits(void **unused) {
    (void)unused;
    uint64_t seed = 2;
    for (int d = 0; d < DTYPE_COUNT && !is_float(all_dtypes[d]); d++)
        for (int s = 0; s < HARD_SIZES; s++)
            for (uint64_t rarity = 1; rarity < 100000; rarity *= 7) {
                fill_small(all_dtypes[d], on_host, hard_sizes[s], rarity, next_random(&seed));
                check_integers(all_dtypes[d], hard_sizes[s], 0);
                size_t bytes = bf_dtype_size(all_dtypes[d]); /* one zero among them */
                memset(on_host + (size_t)(hard_sizes[s] / 2) * bytes, 0, bytes);
                check_integers(all_dtypes[d], hard_sizes[s], 0);
            }
}

static void alignment_of_integers_does_not_show(void **unused) {
    (void)unused;
    for (int d = 0; d < DTYPE_COUNT && !is_float(all_dtypes[d]); d++)
        for (int offset = 0; offset < 17; offset++)
            for (int64_t n = 1; n < 100; n += 7) {
                fill_small(all_dtypes[d], on_host + offset, n, 3, (uint64_t)(n * 17 + offset));
                check_integers(all_dtypes[d], n, offset);
            }
}

static void check_floats(const both *b) {
    for (int nan = BF_NAN_PROPAGATE; nan <= BF_NAN_ERROR; nan++)
        check_reduce(BF_PROD, b, &BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)nan));
    check_reduce(BF_PROD, b, &BF_REDUCE_OPTIONS(.out_dtype = BF_F32));
    check_states(BF_PROD, b, 0, b->host.shape[0], 7);
}

static void floats_near_one(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int s = 0; s < HARD_SIZES && is_float(all_dtypes[d]); s++)
            for (uint64_t rarity = 10; rarity < 10000000; rarity *= 1000) {
                fill_near_one(all_dtypes[d], on_host, hard_sizes[s], rarity, next_random(&seed));
                both b = both_of(all_dtypes[d], hard_sizes[s], 0);
                check_floats(&b);
            }
}

static void floats_of_every_kind(void **unused) {
    (void)unused;
    uint64_t seed = 4;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KIND_COUNT && is_float(all_dtypes[d]); k++)
            for (int s = 0; s < HARD_SIZES; s += 2) {
                fill(all_dtypes[d], on_host, hard_sizes[s], (data_kind)k, next_random(&seed));
                both b = both_of(all_dtypes[d], hard_sizes[s], 0);
                check_floats(&b);
            }
}

static void nans_infinities_and_zeros(void **unused) {
    (void)unused;
    static const int rarities[] = {1, 3, 700, 100000};
    uint64_t seed = 5;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int s = 0; s < HARD_SIZES && is_float(all_dtypes[d]); s++)
            for (int r = 0; r < 4; r++) {
                fill_near_one(all_dtypes[d], on_host, hard_sizes[s], 100, next_random(&seed));
                sprinkle(all_dtypes[d], on_host, hard_sizes[s], rarities[r], next_random(&seed));
                both b = both_of(all_dtypes[d], hard_sizes[s], 0);
                check_floats(&b);
            }
}

static void alignment_of_floats_does_not_show(void **unused) {
    (void)unused;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int offset = 0; offset < 17 && is_float(all_dtypes[d]); offset++) {
            fill_near_one(all_dtypes[d], on_host + offset, 70001, 1000, (uint64_t)offset);
            both b = both_of(all_dtypes[d], 70001, offset);
            check_floats(&b);
        }
}

/* Leaves and pieces of the tree are cut anywhere, and the array starts anywhere in it. */
static void states_are_the_same_bytes(void **unused) {
    (void)unused;
    static const int64_t chunks[] = {3, 1000, 4096, 9999, 70000, 300000, MOST};
    static const int64_t begins[] = {0, 1, 4095, 4096, 12288, 32767, 5 * 32768 + 17, 7 * 32768};
    uint64_t seed = 6;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int c = 0; c < 7 && is_float(all_dtypes[d]); c++)
            for (int i = 0; i < 8; i++) {
                int64_t n = 30 * chunks[c] < MOST ? 30 * chunks[c] : MOST;
                fill_near_one(all_dtypes[d], on_host, n, 3000, next_random(&seed));
                if (i % 2) sprinkle(all_dtypes[d], on_host, n, 300, next_random(&seed));
                both b = both_of(all_dtypes[d], n, 0);
                check_states(BF_PROD, &b, begins[i], chunks[c], next_random(&seed));
            }
}

/* More than the GPU joins at a time (2^29 elements): the state of a pattern that repeats. */
static void a_large_array(void **unused) {
    (void)unused;
    const int64_t n = ((int64_t)1 << 29) + 70001, pattern = 1 << 20;
    leave_out_if_small();
    void *large;
    size_t size[2];
    both b = both_of(BF_F16, 0, 0);
    char *host = malloc((size_t)n * 2);
    if (!host || bf_memory_allocate(gpu, (size_t)n * 2, &large) != BF_OK) {
        free(host);
        leave_out("too little memory");
    }
    fill_near_one(BF_F16, host, pattern, 100000, 8);
    for (int64_t i = pattern; i < n; i += pattern)
        memcpy(host + 2 * i, host, 2 * (size_t)(n - i < pattern ? n - i : pattern));
    assert_int_equal(bf_memory_copy(gpu, large, host, (size_t)n * 2), BF_OK);
    b.host = bf_array_of(BF_F16, host, n);
    b.device = bf_array_of(BF_F16, large, n);
    bf_context *threads;
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu"), &threads), BF_OK);
    void *expected = save_in_chunks(threads, BF_PROD, &b.host, 4096 * 3, 2 * n, 1, &size[0]);
    void *found = save_in_chunks(gpu, BF_PROD, &b.device, 4096 * 3, 2 * n, 1, &size[1]);
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(found, expected, size[0]);
    free(expected);
    free(found);
    free(host);
    bf_memory_free(gpu, large);
    bf_context_destroy(threads);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_kind_and_size),
        cmocka_unit_test(integers_that_fit_128_bits),
        cmocka_unit_test(alignment_of_integers_does_not_show),
        cmocka_unit_test(floats_near_one),
        cmocka_unit_test(floats_of_every_kind),
        cmocka_unit_test(nans_infinities_and_zeros),
        cmocka_unit_test(alignment_of_floats_does_not_show),
        cmocka_unit_test(states_are_the_same_bytes),
        cmocka_unit_test(a_large_array),
    };
    return RUN_ON_GPU(tests);
}
