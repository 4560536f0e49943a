/* min, max, argmin and argmax on a GPU: the bits of the CPU's rules. */
#include "tests/support/both.h"

static const bf_reduction extremes[] = {BF_MIN, BF_MAX, BF_ARGMIN, BF_ARGMAX};

static void check_extremes(const both *b, bf_nan_policy nan) {
    for (int i = 0; i < 4; i++) check_reduce(extremes[i], b, &BF_REDUCE_OPTIONS(.nan = nan));
}

static void every_dtype_kind_and_size(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KIND_COUNT; k++)
            for (int s = 0; s < HARD_SIZES; s++) {
                fill(all_dtypes[d], on_host, hard_sizes[s], (data_kind)k, next_random(&seed));
                both b = both_of(all_dtypes[d], hard_sizes[s], 0);
                check_extremes(&b, BF_NAN_PROPAGATE);
            }
}

static void nans_infinities_and_zeros(void **unused) {
    (void)unused;
    static const int rarities[] = {1, 2, 50, 5000};
    uint64_t seed = 2;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int s = 0; s < HARD_SIZES && is_float(all_dtypes[d]); s++)
            for (int r = 0; r < 4; r++) {
                fill(all_dtypes[d], on_host, hard_sizes[s], KIND_FULL, next_random(&seed));
                sprinkle(all_dtypes[d], on_host, hard_sizes[s], rarities[r], next_random(&seed));
                both b = both_of(all_dtypes[d], hard_sizes[s], 0);
                for (int nan = BF_NAN_PROPAGATE; nan <= BF_NAN_ERROR; nan++)
                    check_extremes(&b, (bf_nan_policy)nan);
            }
}

/* Two values alone, one of them rare: the first of many equals is found, wherever it is. */
static void the_first_of_equals(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int round = 0; round < 40; round++) {
            size_t bytes = bf_dtype_size(all_dtypes[d]);
            int64_t n = 1 + (int64_t)(next_random(&seed) % 300000);
            uint64_t low = round % 2 ? sign_bit(all_dtypes[d]) : 0, rarity = 1u << round % 18;
            for (int64_t i = 0; i < n; i++)
                store_bits(on_host + (size_t)i * bytes, bytes,
                           next_random(&seed) % rarity ? low : low + 1);
            both b = both_of(all_dtypes[d], n, 0);
            check_extremes(&b, BF_NAN_PROPAGATE);
        }
}

/* One element stands out, at each end of the array, and it begins at each byte. */
static void alignment_does_not_show(void **unused) {
    (void)unused;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int offset = 0; offset < 17; offset += is_small() ? 5 : 1) {
            size_t bytes = bf_dtype_size(all_dtypes[d]);
            int64_t n = 40 + 5000 * (offset % 3);
            for (int64_t at = 0; at < 36; at++) {
                int64_t i = at % 2 ? n - 1 - at / 2 : at / 2;
                memset(on_host + offset, at % 3 == 0, (size_t)n * bytes);
                on_host[offset + (i + 1) * (int64_t)bytes - 1] ^= (char)0x81;
                both b = both_of(all_dtypes[d], n, offset);
                check_extremes(&b, BF_NAN_PROPAGATE);
            }
        }
}

static void states_are_the_same_bytes(void **unused) {
    (void)unused;
    static const int64_t chunks[] = {1, 50, 5000, 100000, MOST};
    uint64_t seed = 4;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int c = 0; c < 5; c++)
            for (int i = 0; i < 4; i++) {
                int64_t n = c == 0 ? 60 : 60 * chunks[c] > MOST ? MOST : 60 * chunks[c];
                fill(all_dtypes[d], on_host, n, (data_kind)(c % KIND_COUNT), next_random(&seed));
                if (c % 2) sprinkle(all_dtypes[d], on_host, n, 300, next_random(&seed));
                both b = both_of(all_dtypes[d], n, 0);
                check_states(extremes[i], &b, i < 2 ? 0 : c * 12345, chunks[c], next_random(&seed));
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_kind_and_size), cmocka_unit_test(nans_infinities_and_zeros),
        cmocka_unit_test(the_first_of_equals),       cmocka_unit_test(alignment_does_not_show),
        cmocka_unit_test(states_are_the_same_bytes),
    };
    return RUN_ON_GPU(tests);
}
