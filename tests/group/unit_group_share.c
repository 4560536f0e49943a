/* Aggregates of the same values share a column of the accumulators: no result shows it, whatever
 * values the chunks have, whatever is merged, and when memory is short.
 * Builds: release (full), asan. */
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"

#include "api/group/group.h"
#include "cpu/group/group.h"

/* Under a sanitizer, groups that fit one partition. */
#if defined(THREAD_SANITIZER) || defined(ADDRESS_SANITIZER)
enum { ROWS = 40000, STEP = 3 };
#else
enum { ROWS = 400000, STEP = 1 };
#endif
enum { KINDS = 6, PATTERNS = 5 };

static const bf_aggregate kinds[KINDS] = {{BF_SUM, BF_F64}, {BF_MEAN, BF_F64}, {BF_SUM, BF_F64},
                                          {BF_MIN, BF_F64}, {BF_MAX, BF_F64},  {BF_VAR, BF_F64}};

/* The column of values that each aggregate takes. */
static const int patterns[PATTERNS][KINDS] = {{0, 0, 0, 0, 0, 0},
                                              {0, 1, 0, 1, 0, 1},
                                              {0, 0, 1, 0, 0, 1},
                                              {1, 1, 1, 0, 1, 0},
                                              {0, 1, 1, 1, 1, 1}};

static int64_t keys[ROWS];
static double columns[2][ROWS], copies[KINDS][ROWS];
static bf_context *context;

static int make_rows(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < ROWS; i++) {
        keys[i] = (int64_t)(next_random(&seed) % (i < ROWS / 8 ? 50 : 1000000));
        for (int c = 0; c < 2; c++) {
            columns[c][i] = (double)(int64_t)next_random(&seed) * 0x1p-40;
            if (i % 1000 == 7 + c) columns[c][i] = c ? -0.0 : INFINITY;
        }
    }
    return bf_context_create(&BF_OPTIONS(.threads = 2, .device = "cpu"), &context) != BF_OK;
}

static int close_context(void **state) {
    (void)state;
    bf_context_destroy(context);
    return 0;
}

static bf_groups *new_groups(uint64_t seed) {
    bf_groups *g = NULL;
    const bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = BF_I64, .count = KINDS, .aggregates = kinds, .seed = seed);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

/* Absorbs rows [first, first + n). apart: each aggregate has a copy of its values, so that none can
 * be shared. */
static bf_status absorb(bf_groups *g, int pattern, int64_t first, int64_t n, bool apart) {
    bf_array arrays[KINDS];
    const bf_array *values[KINDS], k = bf_array_of(BF_I64, keys + first, n);
    for (int i = 0; i < KINDS; i++) {
        const double *from = columns[patterns[pattern][i]] + first;
        if (apart) memcpy(copies[i], from, (size_t)n * sizeof *from);
        arrays[i] = bf_array_of(BF_F64, apart ? copies[i] : from, n);
        values[i] = &arrays[i];
    }
    return bf_groups_absorb(g, &k, values);
}

static void assert_same(bf_groups *a, bf_groups *b) {
    const size_t n = (size_t)bf_groups_size(a), bytes = n * sizeof(int64_t);
    char *x = test_malloc(bytes + 1), *y = test_malloc(bytes + 1);
    assert_int_equal(bf_groups_size(b), n);
    for (int i = -2; i < KINDS && n > 0; i++) {
        const bf_array of_x = bf_array_of(i < 0 ? BF_I64 : BF_F64, x, (int64_t)n);
        const bf_array of_y = bf_array_of(i < 0 ? BF_I64 : BF_F64, y, (int64_t)n);
        for (int k = 0; k < 2; k++) {
            bf_groups *g = k ? b : a;
            const bf_array *to = k ? &of_y : &of_x;
            bf_status st = i == -2   ? bf_groups_list(g, to, NULL)
                           : i == -1 ? bf_groups_list(g, NULL, to)
                                     : bf_groups_aggregate(g, i, NULL, to, NULL);
            assert_int_equal(st, BF_OK);
        }
        assert_memory_equal(x, y, bytes);
    }
    test_free(x);
    test_free(y);
}

TEST(chunks_of_any_values_give_the_same) {
    for (int first = 0; first < PATTERNS; first++) {
        OWN(bf_groups) *g = new_groups(0), *want = new_groups(0);
        int64_t at = 0, n = 3000;
        for (int step = 0; step < PATTERNS && at + n <= ROWS; step++, at += n, n *= 3) {
            const int p = (first + (step > 1 ? step : 0)) % PATTERNS; /* the first one twice */
            assert_int_equal(absorb(g, p, at, n, false), BF_OK);
            assert_int_equal(absorb(want, p, at, n, true), BF_OK);
            assert_same(g, want);
        }
    }
}

TEST(merges_give_the_same) {
    for (int i = 0; i < PATTERNS * PATTERNS * 4; i += STEP) {
        const int p = i % PATTERNS, q = i / PATTERNS % PATTERNS, how = i / PATTERNS / PATTERNS;
        const int64_t n = how % 2 ? 2000 : 0, more = i % 24 == 0 ? ROWS - 2000 : 3000;
        OWN(bf_groups) *g = new_groups(0), *from = new_groups(how > 1), *want = new_groups(0);
        if (n > 0) assert_int_equal(absorb(g, p, 0, n, false), BF_OK);
        if (n > 0) assert_int_equal(absorb(want, p, 0, n, true), BF_OK);
        assert_int_equal(absorb(from, q, n, more, false), BF_OK);
        assert_int_equal(absorb(want, q, n, more, true), BF_OK);
        assert_int_equal(bf_groups_merge(g, from), BF_OK);
        assert_same(g, want);
        assert_int_equal(absorb(g, p, 0, 1000, false), BF_OK);
        assert_int_equal(absorb(want, p, 0, 1000, true), BF_OK);
        assert_same(g, want);
    }
}

TEST(saved_and_cleared_groups_go_on) {
    OWN(bf_groups) *g = new_groups(0), *want = new_groups(0);
    assert_int_equal(absorb(g, 0, 0, 5000, false), BF_OK);
    assert_int_equal(absorb(want, 0, 0, 5000, true), BF_OK);
    OWN(bf_groups) *loaded = copy_form(context, g);
    assert_same(loaded, want);
    for (int k = 0; k < 2; k++) {
        bf_groups *of = k ? g : loaded;
        assert_int_equal(absorb(of, 2, 5000, 3000, false), BF_OK);
        if (k == 0) assert_int_equal(absorb(want, 2, 5000, 3000, true), BF_OK);
        assert_same(of, want);
    }
    bf_groups_clear(g);
    bf_groups_clear(want);
    assert_int_equal(absorb(g, 1, 0, 3000, false), BF_OK);
    assert_int_equal(absorb(want, 1, 0, 3000, true), BF_OK);
    assert_same(g, want);
}

TEST(a_failure_leaves_groups_as_they_were) {
    needs_failing_malloc();
    OWN(bf_groups) *g = new_groups(0), *want = new_groups(0);
    assert_int_equal(absorb(g, 0, 0, 3000, false), BF_OK);
    assert_int_equal(absorb(want, 0, 0, 3000, true), BF_OK);
    FAIL_EACH_ALLOCATION(absorb(g, 1, 3000, 3000, false)) assert_same(g, want);
    assert_int_equal(absorb(want, 1, 3000, 3000, true), BF_OK);
    assert_same(g, want);
}

/* The tests above would pass if nothing were shared, or nothing more after the first difference. */
TEST(aggregates_of_a_column_do_share) {
    OWN(bf_groups) *groups = new_groups(0);
    const bf_cpu_groups *inside = groups->inside;
    assert_int_equal(absorb(groups, 0, 0, 1000, false), BF_OK);
    assert_int_equal(inside->count, 1);
    assert_int_equal(absorb(groups, 1, 0, 1000, false), BF_OK);
    assert_int_equal(inside->count, 2);
    assert_int_equal(absorb(groups, 0, 0, 1000, false), BF_OK);
    assert_int_equal(inside->count, 2);
    assert_int_equal(absorb(groups, 2, 0, 1000, false), BF_OK);
    assert_int_equal(inside->count, 4);
}

UNIT_TESTS(group_share, make_rows, close_context)
