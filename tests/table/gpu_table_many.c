/* Tables on a GPU with many rows, with keys that are chosen against the seed, in contexts of any
 * device, and without memory: they stay what a table of the CPU is. Takes nearly all of the GPU's
 * memory. */
#include "tests/table/gpu_tables.h"

#include <cuda_runtime_api.h>

enum { POLICIES = 6 };

/* --- many rows --- */

enum { PATTERNS = 7 };

/* Keys of 8 bytes, whose low halves are as hard. */
static uint64_t key_of(int pattern, uint64_t i, uint64_t n, uint64_t *rng) {
    switch (pattern) {
    case 0: return 5;
    case 1: return i;
    case 2: return i << 13;
    case 3: return i << 44 | i;
    case 4: return next_random(rng);
    case 5: return next_random(rng) % (n / 2 + 1);
    default: return next_random(rng) % (next_random(rng) % n + 1); /* few are frequent */
    }
}

static void fill_many(int pattern, bf_dtype key, int64_t n, char *keys, char *values) {
    uint64_t rng = (uint64_t)n;
    size_t bytes = bf_dtype_size(key);
    for (int64_t i = 0; i < n; i++) {
        store_bits(keys + (size_t)i * bytes, bytes,
                   key_of(pattern, (uint64_t)i, (uint64_t)n, &rng));
        store_bits(values + (size_t)i * bytes, bytes, (uint64_t)i * 3);
    }
}

static void check_many(bf_dtype key, bf_duplicates policy, int pattern, int64_t n,
                       int64_t reserve) {
    size_t bytes = (size_t)n * bf_dtype_size(key);
    bf_table *both_tables[2];
    bf_table_options o = BF_TABLE_OPTIONS(.key = key, .value = key, .duplicates = policy,
                                          .reserve = reserve, .seed = 3);
    fill_many(pattern, key, n, on_host, on_host + SECOND);
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, bytes), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, on_device + SECOND, on_host + SECOND, bytes), BF_OK);
    for (int k = 0; k < 2; k++) {
        char *at = k ? on_device : on_host;
        int64_t parts[] = {0, n / 3, n / 3 + 1, n}, erased;
        assert_int_equal(bf_table_create(k ? gpu : cpu, &o, &both_tables[k]), BF_OK);
        for (int i = 0; i < 3; i++) {
            int64_t skip = parts[i] * (int64_t)bf_dtype_size(key);
            bf_array keys = bf_array_of(key, at + skip, parts[i + 1] - parts[i]);
            bf_array values = bf_array_of(key, at + SECOND + skip, parts[i + 1] - parts[i]);
            assert_int_equal(bf_table_insert(both_tables[k], &keys, &values), BF_OK);
        }
        bf_array some = bf_array_of(key, at, n / 5);
        assert_int_equal(bf_table_erase(both_tables[k], &some, &erased), BF_OK);
    }
    assert_same_tables(both_tables[0], both_tables[1]);
    for (int k = 0; k < 2; k++) bf_table_destroy(both_tables[k]);
}

static void many_rows(void **unused) {
    (void)unused;
    int64_t n = is_small() ? 20000 : 700000;
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (int p = 0; p < POLICIES; p++) {
            if (is_small() && (pattern + p) % 4 != 0) continue;
            check_many(BF_U32, (bf_duplicates)p, pattern, n, 0);
            check_many(BF_U64, (bf_duplicates)p, pattern, n, p % 2 ? n : 0);
        }
}

/* Enough regions for partitions in two steps, by fixed rooms and, where one is passed, exact. */
static void many_regions(void **unused) {
    (void)unused;
    leave_out_if_small();
    check_many(BF_U32, BF_DUPLICATES_FIRST, 4, 9000000, 9000000);
    check_many(BF_U32, BF_DUPLICATES_LAST, 5, 9000000, 9000000);
    check_many(BF_U32, BF_DUPLICATES_ADD, 6, 9000000, 9000000);
    check_many(BF_U64, BF_DUPLICATES_FIRST, 6, 4000000, 9000000);
    check_many(BF_U32, BF_DUPLICATES_FIRST, 4, 1000, 30000000);
    check_many(BF_U32, BF_DUPLICATES_KEEP, 6, 3000000, 0);
}

/* --- keys that are chosen against the seed --- */

static uint64_t unshift(uint64_t x, int by) {
    uint64_t y = x;
    for (int i = 0; i < 64 / by + 1; i++) y = x ^ y >> by;
    return y;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* The key of 8 bytes with this hash (src/rules/key/hash.h). */
static uint64_t key_with_hash(uint64_t hash, uint64_t seed) {
    uint64_t first = mix(seed + 0x9e3779b97f4a7c15u), second = mix(seed + 0x3c6ef372fe94f82au);
    uint64_t x = unshift(hash, 31) * 0x319642b2d24d8ec3u;
    x = (unshift(x, 27) ^ second) * 0x96de1b173f119089u;
    return unshift(x, 30) ^ first;
}

static void crafted_keys(void **unused) {
    (void)unused;
    int64_t n = is_small() ? 5000 : 100000;
    uint64_t *keys = (uint64_t *)(void *)on_host;
    for (int64_t i = 0; i < n; i++) keys[i] = key_with_hash((uint64_t)i << 25 | 0x1234567, 3);
    for (int batches = 1; batches <= 10; batches += 9) {
        bf_table *made[2];
        bf_table_options o = BF_TABLE_OPTIONS(.key = BF_U64, .value = BF_U64, .seed = 3);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(bf_table_create(k ? gpu : cpu, &o, &made[k]), BF_OK);
            for (int i = 0; i < batches; i++) {
                bf_array some = bf_array_of(BF_U64, keys + n / batches * i, n / batches);
                assert_int_equal(bf_table_insert(made[k], &some, &some), BF_OK);
            }
        }
        assert_same_tables(made[0], made[1]);
        for (int k = 0; k < 2; k++) bf_table_destroy(made[k]);
    }
}

/* --- placement, and memory that runs out --- */

static void an_open_context_follows_the_first_keys(void **unused) {
    (void)unused;
    bf_context *any;
    bf_table *made;
    assert_int_equal(bf_context_create(NULL, &any), BF_OK);
    fill_many(4, BF_U64, 1000, on_host, on_host + SECOND);
    both keys = both_of(BF_U64, 1000, 0);
    bf_table_options o = BF_TABLE_OPTIONS(.key = BF_U64, .reserve = 10);
    assert_int_equal(bf_table_create(any, &o, &made), BF_OK);
    assert_int_equal(bf_table_insert(made, &keys.device, NULL), BF_OK);
    assert_string_equal(bf_context_device(any), bf_context_device(gpu));
    assert_int_equal(bf_table_insert(made, &keys.host, NULL), BF_OK);
    assert_int_equal(bf_table_size(made), 1000);
    bf_table_destroy(made);
    assert_int_equal(bf_table_create(any, &o, &made), BF_OK);
    assert_int_equal(bf_table_insert(made, &keys.host, NULL), BF_OK);
    assert_string_equal(bf_context_device(any), "cpu");
    assert_int_equal(bf_table_insert(made, &keys.device, NULL), BF_E_DEVICE);
    bf_table_destroy(made);
    bf_context_destroy(any);
    assert_int_equal(bf_table_create(cpu, &o, &made), BF_OK);
    assert_int_equal(bf_table_insert(made, &keys.device, NULL), BF_E_DEVICE);
    bf_table_destroy(made);
}

enum { CHUNKS = 4096 };

static int take_memory(void **chunks, size_t leave) {
    const size_t sizes[] = {(size_t)1 << 32, (size_t)1 << 28, (size_t)1 << 24, (size_t)1 << 21};
    void *rest = NULL;
    int n = 0;
    assert_int_equal(cudaMalloc(&rest, leave), cudaSuccess);
    for (int i = 0; i < 12; i++)
        while (n < CHUNKS && cudaMalloc(&chunks[n], sizes[i % 4]) == cudaSuccess) n++;
    cudaFree(rest);
    cudaGetLastError();
    return n;
}

static void without_memory_the_table_stays(void **unused) {
    (void)unused;
    static void *chunks[CHUNKS];
    leave_out_if_small();
    int64_t n = 9000000;
    fill_many(4, BF_U32, n, on_host, on_host + SECOND);
    both keys = both_of(BF_U32, n, 0), few = both_of(BF_U32, 1000, 0);
    for (int keep = 0; keep < 2; keep++)
        for (size_t leave = (size_t)1 << 23; leave <= (size_t)1 << 27; leave *= 2) {
            bf_table *made[2];
            bf_table_options o =
                BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32,
                                 .duplicates = keep ? BF_DUPLICATES_KEEP : BF_DUPLICATES_LAST,
                                 .seed = 3);
            for (int k = 0; k < 2; k++) {
                assert_int_equal(bf_table_create(k ? gpu : cpu, &o, &made[k]), BF_OK);
                assert_int_equal(bf_table_insert(made[k], &few.host, &few.host), BF_OK);
            }
            int taken = take_memory(chunks, leave);
            bf_status status = bf_table_insert(made[1], &keys.device, &keys.device);
            assert_true(status == BF_OK || status == BF_E_MEMORY);
            if (leave <= (size_t)1 << 24) assert_int_equal(status, BF_E_MEMORY);
            while (taken > 0) assert_int_equal(cudaFree(chunks[--taken]), cudaSuccess);
            if (status == BF_OK)
                assert_int_equal(bf_table_insert(made[0], &keys.host, &keys.host), BF_OK);
            assert_same_tables(made[0], made[1]);
            for (int k = 0; k < 2; k++) bf_table_destroy(made[k]);
        }
}

static void what_is_too_large(void **unused) {
    (void)unused;
    bf_table *made;
    bf_table_options o = BF_TABLE_OPTIONS(.key = BF_U64, .reserve = (int64_t)1 << 62);
    assert_int_equal(bf_table_create(gpu, &o, &made), BF_E_MEMORY);
    o.reserve = 0;
    assert_int_equal(bf_table_create(gpu, &o, &made), BF_OK);
    assert_int_equal(bf_table_reserve(made, (int64_t)1 << 40), BF_E_MEMORY);
    assert_string_not_equal(bf_context_message(gpu), "");
    assert_int_equal(bf_table_size(made), 0);
    bf_table_destroy(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_rows),
        cmocka_unit_test(many_regions),
        cmocka_unit_test(crafted_keys),
        cmocka_unit_test(an_open_context_follows_the_first_keys),
        cmocka_unit_test(what_is_too_large),
        cmocka_unit_test(without_memory_the_table_stays),
    };
    return RUN_ON_GPU(tests);
}
