/* Sorting ranks with their values: the order of qsort, and of equal ranks the order in which they
 * came, whatever the width, the threads and the instruction set. And estimates of different keys.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"

#include "cpu/runtime/estimate.h"
#include "cpu/runtime/sort.h"

enum { MOST = 300000, /* enough for eight threads */ THREADS_STEP = CONTEXT_STEP };

/* A rank as two words, the first of which counts most; and where it was. */
typedef struct entry {
    uint64_t rank[2];
    uint64_t index;
} entry;

static entry entries[MOST];
static char ranks[MOST * 16], values[MOST * 16];

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    for (int w = 0; w < 2; w++)
        if (x->rank[w] != y->rank[w]) return x->rank[w] < y->rank[w] ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

typedef enum pattern { RANDOM, FEW, EQUAL, ASCENDING, DESCENDING, HIGH_BITS, PATTERNS } pattern;

static uint64_t word_of(pattern p, int64_t i, uint64_t *seed) {
    uint64_t random = next_random(seed);
    switch (p) {
    case RANDOM: return random;
    case FEW: return random % 7 * 0x1234567;
    case EQUAL: return 42;
    case ASCENDING: return (uint64_t)i;
    case DESCENDING: return (uint64_t)(MOST - i);
    default: return random & (uint64_t)0xf00000ff << 32;
    }
}

/* Ranks of the pattern, and a value of each: where it was, over and over. */
static void make_entries(pattern p, int rank_bytes, int value_bytes, int64_t n) {
    uint64_t seed = (uint64_t)p + 1;
    for (int64_t i = 0; i < n; i++) {
        entry *e = &entries[i];
        *e = (entry){.rank = {word_of(p, i, &seed), 0}, .index = (uint64_t)i};
        if (rank_bytes == 4) e->rank[0] = p == HIGH_BITS ? e->rank[0] >> 32 : (uint32_t)e->rank[0];
        if (rank_bytes == 16) e->rank[1] = word_of(i % 2 == 0 ? RANDOM : p, i, &seed) % 5;
        memcpy(ranks + i * rank_bytes, e->rank, (size_t)rank_bytes);
        for (int at = 0; at < value_bytes; at += 4)
            memcpy(values + i * value_bytes + at, &e->index, 4);
    }
}

static void sort_entries(int64_t n) { qsort(entries, (size_t)n, sizeof *entries, compare); }

/* Sorts them; `entries` are sorted already. */
static void check_sort(bf_context *c, int rank_bytes, int value_bytes, int64_t n) {
    bf_status status =
        bf_sort_ranks(c, rank_bytes, value_bytes, n, ranks, value_bytes > 0 ? values : NULL);
    assert_int_equal(status, BF_OK);
    for (int64_t i = 0; i < n; i++) {
        if (memcmp(ranks + i * rank_bytes, entries[i].rank, (size_t)rank_bytes) != 0)
            fail_msg("rank %lld of %lld is wrong", (long long)i, (long long)n);
        for (int at = 0; at < value_bytes; at += 4)
            if (memcmp(values + i * value_bytes + at, &entries[i].index, 4) != 0)
                fail_msg("value %lld of %lld is wrong", (long long)i, (long long)n);
    }
}

static const int rank_widths[] = {4, 8, 16}, value_widths[] = {0, 4, 8, 16};

TEST(ranks_of_every_width_are_sorted_and_equal_ones_keep_their_order) {
    needs_no_threads();
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 1023, 1024, 1025, 5001};
    for (int i = 0; bf_isa_name(i) != NULL; i++) {
        if (!bf_isa_available(i)) continue;
        OWN(bf_context) *c = make_context(bf_isa_name(i), 1);
        for (int r = 0; r < 3; r++)
            for (int v = 0; v < 4; v++)
                for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                    for (pattern p = RANDOM; p < PATTERNS; p++) {
                        make_entries(p, rank_widths[r], value_widths[v], sizes[s]);
                        sort_entries(sizes[s]);
                        check_sort(c, rank_widths[r], value_widths[v], sizes[s]);
                    }
    }
}

TEST(nothing_depends_on_the_threads) {
    static char before[sizeof ranks], values_before[sizeof values];
    bf_context *c[8];
    for (int i = 0; i < 8; i++) c[i] = make_context(NULL, i + 1);
    for (int r = 0; r < 3; r++) {
        for (pattern p = RANDOM; p < PATTERNS; p += CASE_STEP) {
            int bytes = rank_widths[r], value_bytes = value_widths[(r + (int)p) % 4];
            make_entries(p, bytes, value_bytes, MOST);
            sort_entries(MOST);
            memcpy(before, ranks, sizeof ranks);
            memcpy(values_before, values, sizeof values);
            const int first = SEVERAL_THREADS ? 1 : (r + (int)p) % THREADS_STEP;
            for (int i = first; i < 8; i += THREADS_STEP) {
                memcpy(ranks, before, sizeof ranks);
                memcpy(values, values_before, sizeof values);
                check_sort(c[i], bytes, value_bytes, MOST);
            }
        }
    }
    for (int i = 0; i < 8; i++) bf_context_destroy(c[i]);
}

/* ---- estimates ------------------------------------------------------------------------------- */

static int64_t estimate(bf_context *c, bf_dtype key, const void *keys, size_t step, int64_t n) {
    int64_t different = -1;
    bf_status status = bf_estimate_keys(c, bf_hash_seed_of(1), key, keys, step, n, &different);
    assert_int_equal(status, BF_OK);
    return different;
}

TEST(few_keys_are_counted_exactly) {
    static const double zeros[] = {0.0, -0.0, 1, NAN, -NAN, 1};
    static const float floats[] = {0.0f, -0.0f, NAN, -NAN};
    static const uint64_t pairs[] = {1, 2, 2, 1, 1, 2};
    static const uint32_t rows[] = {7, 1, 7, 2, 8, 3};
    OWN(bf_context) *c = make_context(NULL, 1);
    assert_int_equal(estimate(c, BF_F64, zeros, 8, 6), 3);
    assert_int_equal(estimate(c, BF_F32, floats, 4, 4), 2);
    assert_int_equal(estimate(c, BF_PAIR, pairs, 16, 3), 2);
    assert_int_equal(estimate(c, BF_U32, rows, 8, 3), 2); /* every other word */
    assert_int_equal(estimate(c, BF_I32, rows, 4, 1), 1);
}

TEST(many_keys_are_counted_to_a_tenth) {
    static const int64_t different[] = {1, 1000, 60000, MOST};
    uint64_t *keys = (uint64_t *)(void *)ranks;
    for (int threads = 1; threads <= 8; threads += 7) {
        OWN(bf_context) *c = make_context(NULL, threads);
        for (int k = 0; k < 4; k++) {
            for (int64_t i = 0; i < MOST; i++) keys[i] = (uint64_t)(i % different[k]) * 977;
            int64_t found = estimate(c, BF_U64, keys, 8, MOST);
            if (different[k] > 10000) /* thousands of samples */
                assert_in_range(found, different[k] * 9 / 10, different[k] * 11 / 10);
            else
                assert_in_range(found, 0, 2 * different[k] + 32);
        }
    }
}

UNIT_TESTS(sort, NULL, NULL)
