/* Rows of many keys are sorted: the groups have the same keys, counts and results, and save to the
 * same bytes, as those of the same rows in pieces, which a hash table numbers; whatever the keys
 * are, whatever is merged or taken out, when memory is short and when the call is cancelled.
 * Builds: release, asan (full), tsan (full). */
#include "tests/support/data.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"
#include "tests/support/witness.h"

#include "api/group/group.h"
#include "cpu/group/group.h"

#include <string.h>

enum { ROWS = (1 << 19) + 777, KINDS = 4, PIECES = 4 };

/* Fewer rows are not sorted: a sanitizer, which makes all slow, gets fewer cases instead. */
enum {
    THREADS_ALONE = CASE_STEP > 1,
    PATTERN_STEP = THREADS_ALONE    ? 4
                   : DATA_SHARE > 1 ? 2
                                    : 1,
    DTYPE_STEP = THREADS_ALONE    ? 6
                 : DATA_SHARE > 1 ? 4
                                  : 2
};

static const bf_aggregate kinds[KINDS] = {
    {BF_SUM, BF_F64}, {BF_VAR, BF_F32}, {BF_MIN, BF_F64}, {BF_MEAN, BF_I16}};
static const bf_aggregate sums[1] = {{BF_SUM, BF_F64}};
static uint64_t keys[ROWS];
static uint32_t short_keys[ROWS]; /* their low halves */
static double doubles[ROWS];
static float floats[ROWS];
static int16_t integers[ROWS];
static bf_context *context;

/* ---- rows ------------------------------------------------------------------------------------ */

typedef enum pattern {
    ANY_BITS, /* floats are also NaNs; those of 8 bytes are near each other in their high bits */
    PAIRED,   /* some keys twice or more */
    ASCENDING,
    HEAVY,    /* one row in a hundred has the same key */
    OUTLIERS, /* all but a few are near each other */
    PATTERNS
} pattern;

static uint64_t key_of(pattern p, int i, uint64_t random) {
    const uint64_t high = random & ~(uint64_t)0xffffffff;
    switch (p) {
    case ANY_BITS: return i % 16 ? random : (high & ((uint64_t)255 << 56)) | (random & 0xffff);
    case PAIRED: return random % (2 * ROWS) * 0x9e3779b97f4a7c15u;
    case ASCENDING: return (uint64_t)(i - (i % 100 == 1)) * 0x100000003u;
    case HEAVY: return i % 100 ? random : 77;
    default: return i % 50000 ? random % (4 * ROWS) * 0x100000001u : random;
    }
}

static void make_rows(pattern p) {
    uint64_t seed = 5 + (uint64_t)p;
    for (int i = 0; i < ROWS; i++) {
        keys[i] = key_of(p, i, next_random(&seed));
        short_keys[i] = (uint32_t)keys[i];
        doubles[i] = (double)(int64_t)next_random(&seed) * 0x1p-40;
        floats[i] = (float)(int32_t)next_random(&seed);
        integers[i] = (int16_t)next_random(&seed);
        if (i % 1000 == 7) doubles[i] = -0.0;
        if (i % 1000 == 8) floats[i] = NAN;
    }
}

static const bf_dtype key_dtypes[] = {BF_U32, BF_I32, BF_F32, BF_U64, BF_I64, BF_F64};

static bf_groups *new_groups(bf_dtype key, int count, uint64_t seed) {
    bf_groups *g = NULL;
    const bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = key, .count = count, .aggregates = count == 1 ? sums : kinds,
                          .seed = seed);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

static bf_status absorb(bf_groups *g, int64_t first, int64_t n) {
    const bf_array values[KINDS] = {
        bf_array_of(BF_F64, doubles + first, n), bf_array_of(BF_F32, floats + first, n),
        bf_array_of(BF_F64, doubles + first, n), bf_array_of(BF_I16, integers + first, n)};
    const bf_array *const of[KINDS] = {&values[0], &values[1], &values[2], &values[3]};
    const void *from = bf_dtype_size(g->key) == 4 ? (void *)(short_keys + first) : keys + first;
    const bf_array k = bf_array_of(g->key, from, n);
    return bf_groups_absorb(g, &k, g->count > 0 ? of : NULL);
}

/* Absorbs the rows in pieces too short to be sorted; but not where results are not compared. */
static void absorb_pieces(bf_groups *g, int64_t first, int64_t n) {
    for (int i = 0; i < PIECES && !THREADS_ALONE; i++) {
        const int64_t begin = n * i / PIECES, end = n * (i + 1) / PIECES;
        assert_int_equal(absorb(g, first + begin, end - begin), BF_OK);
    }
}

static bool is_ordered(const bf_groups *g) {
    return ((const bf_cpu_groups *)g->inside)->set.ordered;
}

/* Writes the keys, the counts and the results of each aggregate; returns the next free place. */
static char *write_results(bf_groups *g, char *to) {
    const int64_t n = bf_groups_size(g);
    const bf_array to_keys = bf_array_of(g->key, to, n);
    const bf_array counts = bf_array_of(BF_I64, to += n * (int64_t)sizeof *keys, n);
    assert_int_equal(bf_groups_list(g, &to_keys, &counts), BF_OK);
    for (int i = 0; i < g->count; i++) {
        const bf_array results = bf_array_of(BF_F64, to += n * (int64_t)sizeof *doubles, n);
        assert_int_equal(bf_groups_aggregate(g, i, NULL, &results, NULL), BF_OK);
    }
    return to + n * (int64_t)sizeof *doubles;
}

/* ThreadSanitizer sees the results written, which the other builds compare. */
static void assert_same(bf_groups *a, bf_groups *b) {
    const size_t n = (size_t)bf_groups_size(a), most = 8 * n * (size_t)(2 + a->count);
    char *x = calloc(2, most + 1), *y = x + most;
    assert_ptr_equal(write_results(a, x), y);
    if (!THREADS_ALONE) {
        assert_int_equal(bf_groups_size(b), n);
        write_results(b, y);
        assert_memory_equal(x, y, most);
    }
    free(x);
}

static void open_context(int threads, const char *isa) {
    assert_int_equal(
        bf_context_create(&BF_OPTIONS(.threads = threads, .device = "cpu", .isa = isa), &context),
        BF_OK);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Compares the groups of all rows, sorted and in pieces. */
static void compare(bf_dtype dtype, int count, bool saved) {
    OWN(bf_groups) *g = new_groups(dtype, count, 1), *want = new_groups(dtype, count, 1);
    assert_int_equal(absorb(g, 0, ROWS), BF_OK);
    assert_true(is_ordered(g));
    absorb_pieces(want, 0, ROWS);
    assert_false(is_ordered(want));
    assert_same(g, want);
    if (saved) assert_same_form(g, want);
}

TEST(any_keys_give_the_same) {
    static const char *const isas[] = {"generic", "auto"};
    for (int p = 0; p < PATTERNS; p += PATTERN_STEP) {
        make_rows((pattern)p);
        for (int i = 0; i < 6; i++) {
            if ((i + p / PATTERN_STEP) % DTYPE_STEP != 0) continue;
            const int count = i + p == 0 ? KINDS : (i + p) % 3 > 0;
            open_context(THREADS_ALONE ? 2 : 1 + i % 2, isas[(i / 2 + p) % 2]);
            compare(key_dtypes[i], count, i == p && p < 2 && !THREADS_ALONE);
            bf_context_destroy(context);
        }
    }
}

/* Rows near each other, in one range, are left to the hash table. */
TEST(clustered_keys_are_not_sorted_with_values) {
    needs_no_threads();
    make_rows(ANY_BITS);
    for (int i = 0; i < ROWS; i++)
        if (i % 3) keys[i] = keys[i] % ROWS;
    open_context(2, "auto");
    bf_groups *g = new_groups(BF_U64, 1, 0), *want = new_groups(BF_U64, 1, 0);
    assert_int_equal(absorb(g, 0, ROWS), BF_OK);
    assert_false(is_ordered(g));
    absorb_pieces(want, 0, ROWS);
    assert_same(g, want);
    bf_groups_destroy(g);
    bf_groups_destroy(want);
    bf_context_destroy(context);
}

/* Groups of few rows each are not worth a sort: so the tests above see one where it is. */
TEST(few_groups_are_not_sorted) {
    make_rows(ANY_BITS);
    for (int i = 0; i < ROWS; i++) keys[i] = keys[i] % 3000 * 0x9e3779b97f4a7c15u;
    open_context(2, "auto");
    bf_groups *g = new_groups(BF_U64, 1, 0);
    assert_int_equal(absorb(g, 0, ROWS), BF_OK);
    assert_int_equal(bf_groups_size(g), 3000);
    assert_false(is_ordered(g));
    bf_groups_destroy(g);
    bf_context_destroy(context);
}

/* How the rest of the rows comes to groups that were sorted, or sorted ones come to others. */
static void add_rest(bf_groups *g, int how) {
    OWN(bf_groups) *other = new_groups(g->key, g->count, how % 2 ? 1 : 2);
    switch (how / 2) {
    case 0: /* sorted ones into sorted ones */
        assert_int_equal(absorb(g, 0, ROWS), BF_OK);
        assert_int_equal(absorb(other, 0, ROWS), BF_OK);
        assert_true(is_ordered(g) && is_ordered(other));
        break;
    case 1: /* few, or many, into sorted ones */
        assert_int_equal(absorb(g, 0, ROWS), BF_OK);
        assert_int_equal(absorb(other, 0, how % 2 ? 1000 : ROWS / 2), BF_OK);
        break;
    default: /* sorted ones into few, or many */
        assert_int_equal(absorb(g, 0, how % 2 ? 1000 : ROWS / 2), BF_OK);
        assert_int_equal(absorb(other, 0, ROWS), BF_OK);
    }
    assert_int_equal(bf_groups_merge(g, other), BF_OK);
}

TEST(merges_give_the_same) {
    make_rows(PAIRED);
    open_context(2, "auto");
    for (int how = 0; how < 6; how += THREADS_ALONE ? 5 : DATA_SHARE) {
        const int64_t some = how % 2 ? 1000 : ROWS / 2;
        OWN(bf_groups) *g = new_groups(BF_I64, 1, 1), *want = new_groups(BF_I64, 1, 1);
        add_rest(g, how);
        absorb_pieces(want, 0, ROWS);
        absorb_pieces(want, 0, how < 2 ? ROWS : some);
        assert_same(g, want);
        if (how == 2) assert_same_form(g, want);
    }
    bf_context_destroy(context);
}

TEST(more_rows_give_the_same) {
    make_rows(PAIRED);
    open_context(2, "auto");
    for (int k = 0; k < 3; k += PATTERN_STEP) {
        const int64_t n = k == 0 ? 10 : k == 1 ? ROWS / 3 : ROWS;
        OWN(bf_groups) *g = new_groups(BF_U32, 1, 1), *want = new_groups(BF_U32, 1, 1);
        assert_int_equal(absorb(g, 0, ROWS), BF_OK);
        assert_true(is_ordered(g));
        assert_int_equal(absorb(g, 0, n), BF_OK);
        absorb_pieces(want, 0, n);
        absorb_pieces(want, 0, ROWS);
        assert_same(g, want);
        if (k == 1) assert_same_form(g, want);
        assert_int_equal(bf_groups_clear(g), BF_OK);
        assert_int_equal(absorb(g, 0, ROWS), BF_OK);
        assert_true(is_ordered(g));
    }
    bf_context_destroy(context);
}

TEST(rows_are_taken_out) {
    make_rows(PAIRED);
    open_context(2, "auto");
    bf_groups *g = new_groups(BF_F64, 1, 1), *some = new_groups(BF_F64, 1, 1),
              *want = new_groups(BF_F64, 1, 1);
    assert_int_equal(absorb(g, 0, ROWS), BF_OK);
    assert_int_equal(absorb(some, 0, 1000), BF_OK);
    absorb_pieces(want, 1000, ROWS - 1000);
    assert_int_equal(bf_groups_retract(g, some), BF_OK);
    assert_same(g, want);
    bf_groups_destroy(g);
    bf_groups_destroy(some);
    bf_groups_destroy(want);
    bf_context_destroy(context);
}

/* An absorb that fails, or is cancelled, changes nothing. */
TEST(short_memory_does_no_harm) {
    needs_failing_malloc();
    make_rows(PAIRED);
    open_context(2, "auto");
    bf_groups *want = new_groups(BF_I64, 1, 1), *g = new_groups(BF_I64, 1, 1);
    absorb_pieces(want, 0, ROWS);
    for (long allowed = 0;; allowed += 1 + allowed / 2) {
        const long before = atomic_load(&live);
        atomic_store(&failures, 0);
        atomic_store(&until_failure, allowed);
        const bf_status st = absorb(g, 0, ROWS);
        atomic_store(&until_failure, -1);
        if (st == BF_OK) break;
        assert_int_equal(st, BF_E_MEMORY);
        assert_int_equal(bf_groups_size(g), 0);
        assert_true(atomic_load(&live) <= before + 2); /* threads may have started */
    }
    assert_same(g, want);
    bf_groups_destroy(g);
    bf_groups_destroy(want);
    bf_context_destroy(context);
}

TEST(a_cancelled_sort_does_no_harm) {
    make_rows(PAIRED);
    open_context(2, "auto");
    for (int count = THREADS_ALONE; count < 2; count++) {
        OWN(bf_groups) *want = new_groups(BF_I64, count, 1), *g = new_groups(BF_I64, count, 1);
        witness w;
        absorb_pieces(want, 0, ROWS);
        begin_watch(&w, context, 0, 0);
        assert_int_equal(absorb(g, 0, ROWS), BF_OK);
        end_watch(&w);
        assert_in_range(w.bytes, ROWS * (7 + 7 * count), ROWS * (8 + 8 * count));
        const int ticks = w.ticks;
        assert_true(is_ordered(g) && ticks > 8);
        assert_same(g, want);
        for (int k = 1 + THREADS_ALONE; k <= ticks; k += ticks / (THREADS_ALONE ? 1 : 4)) {
            assert_int_equal(bf_groups_clear(g), BF_OK);
            begin_watch(&w, context, 0, k);
            const bf_status st = absorb(g, 0, ROWS);
            end_watch(&w);
            if (w.ticks < k) continue; /* threads share the work out anew each time */
            assert_int_equal(st, BF_E_CANCELLED);
            assert_int_equal(bf_groups_size(g), 0);
        }
    }
    bf_context_destroy(context);
}

UNIT_TESTS(group_sorted, NULL, NULL)
