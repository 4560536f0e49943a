/* Tables: every width of keys and values, with a plain list as the oracle; every key is legal.
 * tests/table/python_table.py has the long scripts. */
#include "tests/table/tables.h"

#include "rules/key/hash.h"
#include "tests/support/unit.h"

/* ---- tables and what they should hold -------------------------------------------------------- */

enum { FEW = 300 };

/* The oracle: entries in the order of their insertion. */
typedef struct list {
    bf_dtype key, value;
    bf_duplicates policy;
    int64_t count;
    unsigned char keys[FEW * 40][16], values[FEW * 40][16];
} list;

static void canonical(bf_dtype dtype, unsigned char *key) {
    if (bf_dtype_is_float(dtype))
        bf_store_bits(key, bf_key_bytes(dtype),
                      bf_key_canonical(dtype, bf_load_bits(key, bf_key_bytes(dtype))));
}

static void list_insert(list *l, const unsigned char *key, const unsigned char *value) {
    unsigned char k[16] = {0}, v[16] = {0};
    int kb = bf_key_bytes(l->key), vb = bf_key_bytes(l->value);
    memcpy(k, key, (size_t)kb);
    if (vb > 0) memcpy(v, value, (size_t)vb);
    canonical(l->key, k);
    if (vb > 0 && vb <= 8)
        bf_store_bits(v, vb, bf_value_stored(l->policy, l->value, bf_load_bits(v, vb)));
    for (int64_t i = 0; i < l->count && l->policy != BF_DUPLICATES_KEEP; i++) {
        if (memcmp(l->keys[i], k, 16) != 0) continue;
        if (l->policy == BF_DUPLICATES_LAST) memcpy(l->values[i], v, 16);
        if (vb > 0 && vb <= 8)
            bf_store_bits(l->values[i], vb,
                          bf_value_combined(l->policy, l->value, bf_load_bits(l->values[i], vb),
                                            bf_load_bits(v, vb)));
        return;
    }
    memcpy(l->keys[l->count], k, 16);
    memcpy(l->values[l->count++], v, 16);
}

static int64_t list_erase(list *l, const unsigned char *key) {
    unsigned char k[16] = {0};
    int64_t kept = 0, before = l->count;
    memcpy(k, key, (size_t)bf_key_bytes(l->key));
    canonical(l->key, k);
    for (int64_t i = 0; i < before; i++) {
        if (memcmp(l->keys[i], k, 16) == 0) continue;
        memmove(l->keys[kept], l->keys[i], 16);
        memmove(l->values[kept++], l->values[i], 16);
    }
    l->count = kept;
    return before - kept;
}

static bf_u128 rank_of(bf_dtype dtype, const unsigned char *key) {
    if (dtype == BF_PAIR) return (bf_u128)bf_load_bits(key, 8) << 64 | bf_load_bits(key + 8, 8);
    return bf_key_rank(dtype, bf_load_bits(key, bf_key_bytes(dtype)));
}

/* Does the table list what the oracle has? Sorted, and stable: a multimap's values are in order. */
static void assert_equal_list(bf_table *t, const list *l) {
    size_t kb = (size_t)bf_key_bytes(l->key), vb = (size_t)bf_key_bytes(l->value);
    int64_t n = bf_table_size(t);
    unsigned char *keys = malloc((size_t)n * kb + 1), *values = malloc((size_t)n * vb + 1);
    bool *taken = calloc((size_t)n + 1, 1);
    bf_array ka = bf_array_of(l->key, keys, n), va = bf_array_of(l->value, values, n);
    assert_int_equal(n, l->count);
    assert_int_equal(bf_table_export(t, &ka, vb > 0 ? &va : NULL), BF_OK);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        while (at < n && (taken[at] || memcmp(keys + (size_t)i * kb, l->keys[at], kb) != 0)) at++;
        assert_true(at < n);
        taken[at] = true;
        assert_memory_equal(values + (size_t)i * vb, l->values[at], vb);
        if (i > 0)
            assert_true(rank_of(l->key, keys + (size_t)(i - 1) * kb) <=
                        rank_of(l->key, keys + (size_t)i * kb));
    }
    free(keys);
    free(values);
    free(taken);
}

/* Finding, one key at a time, and counting. */
static void assert_finds(bf_table *t, const list *l, const unsigned char *key) {
    unsigned char k[16] = {0}, value[16], expected[16] = {0};
    int found = -1, expect = 0;
    int64_t count = -1, expected_count = 0;
    memcpy(k, key, (size_t)bf_key_bytes(l->key));
    bf_array ka = bf_array_of(l->key, k, 1), ca = bf_array_of(BF_I64, &count, 1);
    assert_int_equal(bf_table_count(t, &ka, &ca), BF_OK);
    memset(value, 0, sizeof value);
    assert_int_equal(bf_table_find_one(t, k, l->value == BF_NONE ? NULL : value, &found), BF_OK);
    canonical(l->key, k);
    for (int64_t i = 0; i < l->count; i++) {
        if (memcmp(l->keys[i], k, 16) != 0) continue;
        if (!expect) memcpy(expected, l->values[i], 16);
        expect = 1;
        expected_count++;
    }
    assert_int_equal(found, expect);
    assert_int_equal(count, expected_count);
    assert_memory_equal(value, expected, 16);
}

static void one_script(bf_context *c, list *l, uint64_t seed) {
    static unsigned char keys[FEW * 16], values[FEW * 16];
    OWN(bf_table) *t = NULL;
    size_t kb = (size_t)bf_key_bytes(l->key), vb = (size_t)bf_key_bytes(l->value);
    l->count = 0;
    bf_table_options o =
        BF_TABLE_OPTIONS(.key = l->key, .value = l->value, .duplicates = l->policy, .seed = seed);
    assert_int_equal(bf_table_create(c, &o, &t), BF_OK);
    for (int step = 0; step < 12; step++) {
        int64_t n = (int64_t)(next_random(&seed) % (step % 3 ? FEW : 8)), erased = 0, expected = 0;
        bf_array ka = bf_array_of(l->key, keys, n), va = bf_array_of(l->value, values, n);
        make(l->key, keys, n, step % 2 ? 40 : 1000, seed);
        make(vb ? l->value : BF_U64, values, n, 1000, seed + 1);
        if (step % 4 == 3) {
            for (int64_t i = 0; i < n; i++) expected += list_erase(l, keys + (size_t)i * kb);
            assert_int_equal(bf_table_erase(t, &ka, &erased), BF_OK);
            assert_int_equal(erased, expected);
        } else {
            for (int64_t i = 0; i < n; i++)
                list_insert(l, keys + (size_t)i * kb, values + (size_t)i * vb);
            assert_int_equal(bf_table_insert(t, &ka, vb ? &va : NULL), BF_OK);
        }
        for (int64_t i = 0; i < n && i < 5; i++) assert_finds(t, l, keys + (size_t)i * kb);
        assert_equal_list(t, l);
    }
}

TEST(every_width_and_policy_agrees_with_a_list) {
    list *l = malloc(sizeof *l);
    OWN(bf_context) *c = context_of(2);
    for (int k = 0; k < KEYS; k++) {
        for (int v = 0; v < VALUES; v++) {
            for (int p = 0; p < POLICIES; p++) {
                l->key = kinds[k];
                l->value = kinds[v];
                l->policy = (bf_duplicates)p;
                if (allowed(l->policy, l->value))
                    one_script(c, l, (uint64_t)(k * 100 + v * 10 + p));
            }
        }
    }
    free(l);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* The key that marks free places, and its neighbours, for each width. */
TEST(no_key_is_reserved) {
    OWN(bf_context) *c = context_of(1);
    bf_hash_seed seed = bf_hash_seed_of(5);
    uint64_t pattern[2] = {bf_hash_mix(seed.first), bf_hash_mix(seed.second)};
    for (int k = 0; k < KEYS; k++) {
        OWN(bf_table) *t = NULL;
        int found = 0, value = 7;
        bf_table_options o = BF_TABLE_OPTIONS(.key = kinds[k], .value = BF_I32, .seed = 5,
                                              .duplicates = BF_DUPLICATES_ADD);
        assert_int_equal(bf_table_create(c, &o, &t), BF_OK);
        assert_int_equal(bf_table_find_one(t, pattern, &value, &found), BF_OK);
        assert_true(!found && value == 7);
        for (int i = 0; i < 2; i++)
            assert_int_equal(bf_table_insert_one(t, pattern, &(int){20}), BF_OK);
        assert_int_equal(bf_table_find_one(t, pattern, &value, &found), BF_OK);
        assert_true(found && value == 40);
        assert_int_equal(bf_table_size(t), 1);
        assert_int_equal(bf_table_erase_one(t, pattern, &found), BF_OK);
        assert_true(found && bf_table_size(t) == 0);
        assert_int_equal(bf_table_erase_one(t, pattern, &found), BF_OK);
        assert_true(!found);
    }
}

/* No place out of n gets more of n regular keys than random keys would give one. */
static void assert_spreads(uint64_t step, int width) {
    enum { N = 1 << 16 };
    static uint8_t count[N];
    for (uint64_t s = 0; s < 4; s++) {
        bf_hash_seed seed = bf_hash_seed_of(s);
        int most = 0;
        memset(count, 0, sizeof count);
        for (uint64_t i = 0; i < N; i++) {
            uint64_t key = i * step, hash = bf_hash_8(seed, key);
            if (width == 4) hash = bf_hash_4(seed, (uint32_t)key);
            if (width == 16) hash = bf_hash_16(seed, i % 2 ? key : 0, i % 2 ? 0 : key);
            uint64_t at = bf_hash_place(hash, N);
            if (++count[at] > most) most = count[at];
        }
        assert_true(most <= 12); /* random: 8 or 9 */
    }
}

TEST(regular_keys_spread) {
    for (int shift = 0; shift < 64 - 16; shift++) {
        if (shift <= 16) assert_spreads((uint64_t)1 << shift, 4);
        assert_spreads((uint64_t)1 << shift, 8);
        assert_spreads(((uint64_t)1 << shift) + 1, 8);
        assert_spreads((uint64_t)1 << shift, 16);
    }
    assert_spreads(0x10001, 4);
}

/* ---- arguments ------------------------------------------------------------------------------- */

TEST(what_is_refused) {
    OWN(bf_context) *c = context_of(1);
    OWN(bf_table) *t = NULL;
    uint32_t x[4] = {1, 2, 3, 4};
    bf_table_options o = BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32), bad = o;
    bad.size = 3;
    assert_int_equal(bf_table_create(c, &bad, &t), BF_E_ARGUMENT);
    assert_int_equal(bf_table_create(c, NULL, &t), BF_E_ARGUMENT);
    assert_int_equal(bf_table_create(NULL, &o, &t), BF_E_ARGUMENT);
    bad = o;
    bad.duplicates = (bf_duplicates)6;
    assert_int_equal(bf_table_create(c, &bad, &t), BF_E_ARGUMENT);
    bad.duplicates = (bf_duplicates)-1;
    assert_int_equal(bf_table_create(c, &bad, &t), BF_E_ARGUMENT);
    bad = o;
    bad.key = BF_NONE;
    assert_int_equal(bf_table_create(c, &bad, &t), BF_E_DTYPE);
    bad.key = BF_I192;
    assert_int_equal(bf_table_create(c, &bad, &t), BF_E_DTYPE);
    bad = o;
    bad.reserve = INT64_MAX;
    assert_int_equal(bf_table_create(c, &bad, &t), BF_E_MEMORY);
    assert_null(t);

    assert_int_equal(bf_table_create(c, &o, &t), BF_OK);
    bf_array a = bf_array_of(BF_U32, x, 4), none = a, no_data = bf_array_of(BF_U32, NULL, 4);
    bf_array empty = bf_array_of(BF_U32, NULL, 0), pairs = bf_array_of(BF_PAIR, x, 1);
    none.ndim = -1;
    assert_int_equal(bf_table_insert(t, NULL, &a), BF_E_ARGUMENT);
    assert_int_equal(bf_table_insert(t, &none, &a), BF_E_ARGUMENT);
    assert_int_equal(bf_table_insert(t, &a, &no_data), BF_E_ARGUMENT);
    assert_int_equal(bf_table_insert(t, &pairs, &a), BF_E_DTYPE);
    assert_int_equal(bf_table_insert(t, &empty, &empty), BF_OK);
    assert_int_equal(bf_table_find(t, &a, NULL, &a), BF_E_DTYPE);
    assert_int_equal(bf_table_find(t, &a, NULL, NULL), BF_OK);
    assert_int_equal(bf_table_find_all(t, &a, &a), BF_E_SHAPE);
    assert_int_equal(bf_table_export(t, &a, NULL), BF_E_SHAPE);
    assert_int_equal(bf_table_export(t, &empty, &empty), BF_OK);
    assert_int_equal(bf_table_insert_one(t, x, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_table_reserve(t, -1), BF_E_ARGUMENT);
    assert_int_equal(bf_table_size(t), 0);
    assert_string_equal(bf_duplicates_name(BF_DUPLICATES_KEEP), "keep");
    assert_int_equal(bf_duplicates_from_name("add"), BF_DUPLICATES_ADD);
    assert_int_equal(bf_duplicates_from_name(""), -1);
    bf_table_destroy(NULL);
}

UNIT_TESTS(table, NULL, NULL)
