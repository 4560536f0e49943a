/* Groups and joins where Python cannot look: allocations that fail leave the groups as they were;
 * threads. tests/group/python_group.py has the oracles.
 * Builds: release, asan, tsan. */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "cpu/group/group.h"

/* ---- helpers ----------------------------------------------------------------------------------
 */

/* A chunk makes a set of groups many, so that threads sort the rows that come after it. */
enum { ROWS = 340000, CHUNK = 270001, FEW = 5000, AGGREGATES = 3, NEAR = 1 << 17 };

static uint32_t keys[ROWS];
static double values[ROWS];
static const bf_aggregate aggregates[AGGREGATES] = {
    {BF_SUM, BF_F64}, {BF_VAR, BF_F64}, {BF_MIN, BF_F64}};

static bf_groups *groups_of(bf_context *context) {
    bf_groups *g = NULL;
    bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = BF_U32, .count = AGGREGATES, .aggregates = aggregates);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

static bf_status absorb(bf_groups *g, int64_t first, int64_t n) {
    bf_array k = bf_array_of(BF_U32, keys + first, n), v = bf_array_of(BF_F64, values + first, n);
    const bf_array *arrays[AGGREGATES] = {&v, &v, &v};
    return bf_groups_absorb(g, &k, arrays);
}

/* All that groups tell, as bytes. */
static unsigned char *contents(bf_groups *g, size_t *size) {
    size_t n = (size_t)bf_groups_size(g), room = n * (4 + 8) + AGGREGATES * n * sizeof(bf_value);
    unsigned char *bytes = test_malloc(room + 1);
    bf_array k = bf_array_of(BF_U32, bytes, (int64_t)n),
             c = bf_array_of(BF_I64, bytes + 4 * n, (int64_t)n);
    assert_int_equal(bf_groups_list(g, &k, &c), BF_OK);
    for (int i = 0; i < AGGREGATES; i++) {
        bf_value *to = (bf_value *)(void *)test_malloc((n + 1) * sizeof *to);
        assert_int_equal(bf_groups_result(g, i, NULL, to), BF_OK);
        memcpy(bytes + 12 * n + (size_t)i * n * sizeof *to, to, n * sizeof *to);
        test_free(to);
    }
    *size = room;
    return bytes;
}

static void assert_same_contents(bf_groups *a, bf_groups *b) {
    size_t size_a, size_b;
    unsigned char *x = contents(a, &size_a), *y = contents(b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(x, y, size_a);
    test_free(x);
    test_free(y);
}

static int compare_keys(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int make_rows(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROWS; i++) {
        keys[i] = (uint32_t)(i < FEW ? next_random(&seed) % 100 : next_random(&seed));
        values[i] = (double)(int64_t)next_random(&seed) * 0x1p-40;
        if (i % 1000 == 7) values[i] = -0.0;
        if (i % 5000 == 8) values[i] = INFINITY;
        if (i % 700 == 9) values[i] *= 0x1p-200;
    }
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

/* Absorbs or merges with ever more allocations before one fails, until none does. */
static void fail_everywhere(int threads, int64_t n, bool merge) {
    OWN(bf_context) *context = make_context(NULL, threads);
    OWN(bf_groups) *g = groups_of(context), *before = groups_of(context),
                   *more = groups_of(context);
    assert_int_equal(absorb(g, 0, FEW / 2), BF_OK);
    assert_int_equal(absorb(before, 0, FEW / 2), BF_OK);
    assert_int_equal(absorb(more, FEW / 2, n), BF_OK);
    for (long allowed = 0;; allowed += n > FEW ? 1 + allowed : 1) {
        atomic_store(&failures, 0);
        atomic_store(&until_failure, allowed);
        bf_status status = merge ? bf_groups_merge(g, more) : absorb(g, FEW / 2, n);
        atomic_store(&until_failure, -1);
        if (status == BF_OK) break;
        assert_int_equal(status, BF_E_MEMORY);
        assert_same_contents(g, before);
    }
    assert_int_equal(bf_groups_merge(before, more), BF_OK);
    assert_same_contents(g, before);
}

TEST_WITH(a_failure_leaves_groups_as_they_were, make_rows, NULL) {
    needs_failing_malloc();
    for (int merge = 0; merge < 2; merge++) {
        fail_everywhere(1, FEW / 2, merge);
        fail_everywhere(2, ROWS - FEW / 2, merge);
    }
}

TEST_WITH(threads_and_chunks_change_no_bit, make_rows, NULL) {
    OWN(bf_context) *one = make_context(NULL, 1);
    OWN(bf_groups) *g = groups_of(one);
    if (!SEVERAL_THREADS) assert_int_equal(absorb(g, 0, ROWS), BF_OK);
    for (int threads = CASE_STEP > 1 ? 8 : 2; threads <= 8; threads *= 4) {
        OWN(bf_context) *context = make_context(NULL, threads);
        OWN(bf_groups) *h = groups_of(context);
        for (int64_t at = 0, n; at < ROWS; at += n) {
            n = CHUNK < ROWS - at ? CHUNK : ROWS - at;
            assert_int_equal(absorb(h, at, n), BF_OK);
        }
        if (SEVERAL_THREADS)
            test_free(contents(h, &(size_t){0}));
        else
            assert_same_contents(g, h);
    }
}

/* The inverse of an odd number modulo 2^64: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t x) {
    uint64_t y = x;
    for (int i = 0; i < 5; i++) y *= 2 - x * y;
    return y;
}

/* Keys of a span, `step` apart, and one outside if `far`, are counted as by a sort. */
static void check_guesses(int threads, bf_dtype dtype, int64_t least, uint64_t step, uint64_t span,
                          bool far) {
    static int64_t wide[NEAR], sorted[NEAR], listed[NEAR], counts[NEAR];
    static int32_t narrow[NEAR];
    OWN(bf_context) *context = make_context(NULL, threads);
    OWN(bf_groups) *g = NULL;
    uint64_t seed = span;
    int64_t n = 0;
    for (uint64_t i = 0; i < NEAR; i++) {
        const uint64_t random = next_random(&seed) % span;
        wide[i] = (int64_t)((uint64_t)least + step * (i < 4 * span ? i / 4 : random));
    }
    if (far) wide[3 * NEAR / 4] = least < 0 ? least + INT32_MAX : least - INT32_MAX;
    for (int i = 0; i < NEAR; i++) narrow[i] = (int32_t)wide[i];
    for (int i = 0; i < NEAR && dtype == BF_I32; i++) wide[i] = narrow[i];
    memcpy(sorted, wide, sizeof sorted);
    qsort(sorted, NEAR, sizeof *sorted, compare_keys);
    const bf_array k = bf_array_of(dtype, dtype == BF_I32 ? (void *)narrow : (void *)wide, NEAR);
    assert_int_equal(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = dtype), &g), BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, NULL), BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, NULL), BF_OK);
    const bf_array keys_of = bf_array_of(dtype, dtype == BF_I32 ? (void *)narrow : (void *)listed,
                                         bf_groups_size(g)),
                   counts_of = bf_array_of(BF_I64, counts, bf_groups_size(g));
    assert_int_equal(bf_groups_list(g, &keys_of, &counts_of), BF_OK);
    for (int i = 0, end; i < NEAR; i = end) {
        for (end = i; end < NEAR && sorted[end] == sorted[i];) end++;
        assert_int_equal(dtype == BF_I32 ? narrow[n] : listed[n], sorted[i]);
        assert_int_equal(counts[n++], 2 * (end - i));
    }
    assert_int_equal(n, bf_groups_size(g));
}

/* What is numbered by a guess, what is not, and what is no more: these multiples share few guesses.
 */
TEST(keys_that_are_guessed_are_counted) {
    static const uint64_t spans[] = {5, BF_GUESSES / 4, 3 * BF_GUESSES};
    const uint64_t shared_4 = inverse(0x9e3779b9), shared_8 = inverse(0x9e3779b97f4a7c15);
    for (int s = 0; s < 3; s++)
        for (int far = 0; far < 2; far += 1 + SEVERAL_THREADS)
            for (int threads = 1 + SEVERAL_THREADS; threads <= 2; threads++) {
                check_guesses(threads, BF_I32, INT32_MIN, 1, spans[s], far);
                if (SEVERAL_THREADS) continue; /* the keys before have all of its threads */
                check_guesses(threads, BF_I32, 0, shared_4, spans[s], far);
                check_guesses(threads, BF_I64, -3, 1, spans[s], far);
                check_guesses(threads, BF_I64, INT64_MIN, shared_8, spans[s], far);
            }
}

/* Every rank is a key's, in the order of the keys. */
TEST(ranks_are_in_the_order_of_keys) {
    needs_no_threads();
    static const bf_dtype narrow[] = {BF_BOOL, BF_I8, BF_U8, BF_I16, BF_U16, BF_F16, BF_BF16};
    for (int d = 0; d < 7; d++) {
        int bits = narrow[d] == BF_BOOL ? 1 : 8 * bf_dtype_bytes(narrow[d]);
        for (uint64_t x = 0; x < (uint64_t)1 << bits; x++) {
            uint64_t key = bf_group_key(narrow[d], x), rank = bf_group_rank(narrow[d], x);
            assert_int_equal(bf_group_of_rank(narrow[d], rank), key);
            assert_int_equal(bf_group_rank(narrow[d], key), rank);
            uint64_t other = bf_group_rank(narrow[d], x / 3);
            bool less = bf_order_rank(narrow[d], key) <
                        bf_order_rank(narrow[d], bf_group_key(narrow[d], x / 3));
            assert_int_equal(less, rank < other);
        }
    }
}

TEST(wrong_arguments_are_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    bf_groups *g = NULL;
    bf_pairs *pairs = NULL;
    bf_array a = bf_array_of(BF_U32, keys, 10), bad = a;
    bad.dtype = (bf_dtype)99;
    assert_int_equal(bf_groups_create(context, NULL, &g), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = BF_I192), &g), BF_E_DTYPE);
    assert_int_equal(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = BF_U32, .count = 65), &g),
                     BF_E_ARGUMENT);
    assert_int_equal(bf_join(context, &a, &bad, 0, &pairs), BF_E_ARGUMENT);
    assert_int_equal(bf_join(context, NULL, &a, 0, &pairs), BF_E_ARGUMENT);
}

UNIT_TESTS(group, NULL, NULL)
