/* Threads do not show: tables of many entries, which several threads fill, ask and empty, are as
 * one thread alone leaves them.
 * Builds: release, asan, tsan. */
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"
#include "tests/table/tables.h"

#include "rules/key/hash.h"

/* ---- filling --------------------------------------------------------------------------------- */

/* Two batches, which make the table grow on the way; then its saved form. */
static unsigned char *saved_with(int threads, const bf_table_options *o, uint64_t spread,
                                 size_t *size) {
    bf_context *c = context_of(threads);
    bf_table *t = NULL;
    size_t kb = (size_t)bf_key_bytes(o->key), vb = (size_t)bf_key_bytes(o->value);
    unsigned char *keys = malloc(MANY * kb), *values = malloc(MANY * 16);
    assert_int_equal(bf_table_create(c, o, &t), BF_OK);
    for (uint64_t batch = 0; batch < 2; batch++) {
        int64_t n = batch ? MANY : MANY / 3;
        make(o->key, keys, n, spread, batch);
        make(vb ? o->value : BF_U64, values, n, 1 << 20, batch + 7);
        bf_array ka = bf_array_of(o->key, keys, n), va = bf_array_of(o->value, values, n);
        assert_int_equal(bf_table_insert(t, &ka, vb ? &va : NULL), BF_OK);
    }
    unsigned char *saved = save_form(t, size);
    bf_table_destroy(t);
    free(keys);
    free(values);
    bf_context_destroy(c);
    return saved;
}

TEST(threads_and_growth_do_not_show) {
    uint64_t spreads[] = {1, 500, 40000, 1ull << 40};
    for (int i = 0; i < 24; i += CASE_STEP) {
        size_t sizes[2];
        bf_table_options o = BF_TABLE_OPTIONS(.key = kinds[i % KEYS], .value = kinds[i % VALUES],
                                              .duplicates = (bf_duplicates)(i % POLICIES));
        if (!allowed(o.duplicates, o.value)) continue;
        unsigned char *one = COMPARED ? saved_with(1, &o, spreads[i % 4], &sizes[0]) : NULL;
        o.reserve = i % 3 * 50000;
        unsigned char *three = saved_with(3, &o, spreads[i % 4], &sizes[1]);
        if (COMPARED) {
            assert_int_equal(sizes[0], sizes[1]);
            assert_memory_equal(one, three, sizes[0]);
        }
        free(one);
        free(three);
    }
}

/* ---- building -------------------------------------------------------------------------------- */

enum { BUILT = 80000, ROOM = 1 << 20, STEP = 1000, LEADING = 7 };

/* Takes those of the keys 0, 1, 2, ... whose hashes begin with the bits of `lead`: they have one
 * region of a table with ROOM. Each comes `times` times, then others come once. */
static void crowd(uint32_t *keys, int64_t n, int64_t crowded, int64_t times) {
    bf_hash_seed seed = bf_hash_seed_of(0);
    uint32_t key = 0, pattern = (uint32_t)bf_hash_mix(seed.first); /* as tables keep keys */
    const uint64_t lead = 5;
    int64_t i = 0;
    while (i < crowded * times) {
        while (bf_hash_4(seed, key ^ pattern) >> (64 - LEADING) != lead) key++;
        for (int64_t k = 0; k < times; k++) keys[i++] = key;
        key++;
    }
    while (i < n) keys[i++] = key++;
}

static unsigned char *built(const bf_table_options *o, int threads, const uint32_t *keys,
                            int64_t step, size_t *size) {
    static uint32_t values[BUILT];
    bf_context *c = context_of(threads);
    bf_table *t = NULL;
    for (uint32_t i = 0; i < BUILT; i++) values[i] = i;
    assert_int_equal(bf_table_create(c, o, &t), BF_OK);
    for (int64_t at = 0; at < BUILT; at += step) {
        bf_array k = bf_array_of(BF_U32, keys + at, step),
                 v = bf_array_of(BF_U32, values + at, step);
        assert_int_equal(bf_table_insert(t, &k, &v), BF_OK);
    }
    unsigned char *saved = save_form(t, size);
    bf_table_destroy(t);
    bf_context_destroy(c);
    return saved;
}

/* An empty table takes many entries in its own memory, unless they crowd: a region is full (16000
 * keys), or has no room for so many entries (200 keys, 300 times). */
TEST(a_table_built_at_once_is_as_one_built_step_by_step) {
    static uint32_t keys[BUILT];
    static const int64_t crowds[][2] = {{0, 0}, {16000, 1}, {16000, 4}, {200, 300}, {1, BUILT}};
    for (int i = 0; i<5; i += CASE_STEP> 1 ? 2 : 1) {
        crowd(keys, BUILT, crowds[i][0], crowds[i][1]);
        for (int policy = BF_DUPLICATES_FIRST; policy <= BF_DUPLICATES_KEEP; policy++) {
            size_t sizes[2];
            if (CASE_STEP > 1 && (policy % 3 == 0 || (policy + i / 2) % 2))
                continue; /* one thread; every other */
            bf_table_options o = BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32,
                                                  .duplicates = (bf_duplicates)policy);
            unsigned char *slow = COMPARED ? built(&o, 1, keys, STEP, &sizes[0]) : NULL;
            o.reserve = policy % 2 ? ROOM : 0;
            unsigned char *fast = built(&o, 1 + policy % 3, keys, BUILT, &sizes[1]);
            if (COMPARED) {
                assert_int_equal(sizes[0], sizes[1]);
                assert_memory_equal(slow, fast, sizes[0]);
            }
            free(slow);
            free(fast);
        }
    }
}

/* ---- asking and emptying --------------------------------------------------------------------- */

/* What a table says of many keys, and what is left when other keys are erased. */
typedef struct answers {
    int64_t counts[MANY], values, erased;
    unsigned char *all, *saved;
    size_t size;
} answers;

/* Keys of which a third are in no entry; one of them marks free places. */
static void make_queries(const bf_table_options *o, unsigned char *keys, uint64_t spread,
                         uint64_t seed) {
    size_t bytes = (size_t)bf_key_bytes(o->key);
    bf_hash_seed of = bf_hash_seed_of(o->seed);
    uint64_t pattern[2] = {bf_hash_mix(of.first), bf_hash_mix(of.second)};
    make(o->key, keys, MANY, spread * 3 / 2, seed);
    for (size_t i = 0; i < MANY; i += MANY / 5) memcpy(keys + i * bytes, pattern, bytes);
}

static void ask(bf_table *t, const bf_table_options *o, const unsigned char *keys, answers *a) {
    bf_array queries = bf_array_of(o->key, keys, MANY);
    bf_array counts = bf_array_of(BF_I64, a->counts, MANY);
    assert_int_equal(bf_table_count(t, &queries, &counts), BF_OK);
    for (int i = 0; i < MANY; i++) a->values += a->counts[i];
    a->all = calloc((size_t)a->values + 1, 16);
    bf_array all = bf_array_of(o->value, a->all, a->values);
    if (o->value != BF_NONE) assert_int_equal(bf_table_find_all(t, &queries, &all), BF_OK);
}

static answers *answers_of(int threads, const bf_table_options *o, uint64_t spread) {
    bf_context *c = context_of(threads);
    bf_table *t = NULL;
    answers *a = calloc(1, sizeof *a);
    unsigned char *keys = malloc(MANY * 16), *values = malloc(MANY * 16);
    assert_int_equal(bf_table_create(c, o, &t), BF_OK);
    make_queries(o, keys, spread, 1);
    make(BF_PAIR, values, MANY, 1 << 20, 2);
    bf_array entries = bf_array_of(o->key, keys, MANY), v = bf_array_of(o->value, values, MANY);
    assert_int_equal(bf_table_insert(t, &entries, o->value == BF_NONE ? NULL : &v), BF_OK);
    make_queries(o, keys, spread, 3);
    ask(t, o, keys, a);
    make_queries(o, keys, spread, 4);
    assert_int_equal(bf_table_erase(t, &entries, &a->erased), BF_OK);
    a->saved = save_form(t, &a->size);
    bf_table_destroy(t);
    free(keys);
    free(values);
    bf_context_destroy(c);
    return a;
}

static void free_answers(answers *a) {
    free(a->all);
    free(a->saved);
    free(a);
}

static void assert_same_answers(const answers *a, const answers *b) {
    assert_memory_equal(a->counts, b->counts, sizeof a->counts);
    assert_int_equal(a->values, b->values);
    assert_memory_equal(a->all, b->all, (size_t)a->values * 16);
    assert_int_equal(a->erased, b->erased);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->saved, b->saved, a->size);
}

TEST(answers_do_not_depend_on_threads) {
    uint64_t spreads[] = {20000, 60000, 1ull << 40};
    for (int i = 0; i < 24; i += CASE_STEP) {
        bf_table_options o =
            BF_TABLE_OPTIONS(.key = kinds[i % KEYS], .value = kinds[i % VALUES], .seed = 5,
                             .duplicates = (bf_duplicates)(i % 2 ? BF_DUPLICATES_KEEP : i % 3));
        if (!allowed(o.duplicates, o.value)) continue;
        answers *one = answers_of(1, &o, spreads[i % 3]);
        assert_true(one->erased > 0 || spreads[i % 3] > MANY);
        for (int threads = CASE_STEP > 1 ? 8 : 2; threads <= 8; threads *= 4) {
            answers *more = answers_of(threads, &o, spreads[i % 3]);
            assert_same_answers(one, more);
            free_answers(more);
        }
        free_answers(one);
    }
}

UNIT_TESTS(table_threads, NULL, NULL)
