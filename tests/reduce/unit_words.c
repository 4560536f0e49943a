/* The words of states: added as integers they are the merge of sums; others merge by
 * bf_words_merge; bad ones are refused. */
#include "tests/reduce/states.h"
#include "tests/support/unit.h"

enum { N = 300, PARTS = 5, MOST_WORDS = 5000 };

static double a_data[N], b_data[N];

static bf_words_info info_of(const bf_state *s) {
    bf_words_info info = {.size = sizeof info};
    assert_int_equal(bf_state_words_info(s, &info), BF_OK);
    assert_true(info.count > 0 && info.count <= MOST_WORDS);
    return info;
}

/* Calls check for every op and dtype but prod of floats, with kinds of data in turn. */
static void for_each_kind(void (*check)(bf_reduction, const bf_array *, const bf_array *)) {
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            uint64_t seed = (uint64_t)(op * 100 + d);
            bf_dtype dtype = all_dtypes[d];
            fill_with_zeros(dtype, a_data, N, (data_kind)((op + d) % KIND_COUNT), 9, d % 2, seed);
            fill_with_zeros(dtype, b_data, N, KIND_NARROW, 7, d % 3 == 0, seed + 50);
            bf_array a = bf_array_of(dtype, a_data, N), b = bf_array_of(dtype, b_data, N);
            check((bf_reduction)op, &a, &b);
        }
    }
}

/* Parts [bounds[i], bounds[i + 1]), of which some are empty. */
static const int64_t bounds[PARTS + 1] = {0, 97, 97, 98, 230, N};

static void check_words(bf_reduction op, const bf_array *a, const bf_array *b) {
    static const int orders[3][PARTS] = {{0, 1, 2, 3, 4}, {4, 2, 0, 1, 3}, {1, 3, 4, 0, 2}};
    static int64_t words[PARTS][MOST_WORDS];
    OWN(bf_state) *whole = part(context, op, a, b, 0, N), *back = make_state(context, op, a->dtype);
    bf_words_info info = info_of(whole);
    assert_int_equal(info.rule, is_sum(op)                 ? BF_WORDS_ADD
                                : is_ordered(op, a->dtype) ? BF_WORDS_APPEND
                                                           : BF_WORDS_MERGE);
    assert_int_equal(info.parts, is_sum(op) ? 1 << 30 : 1);
    for (int o = 0; o < (info.rule == BF_WORDS_APPEND ? 1 : 3); o++) {
        for (int i = 0; i < PARTS; i++) {
            OWN(bf_state) *p = part(context, op, a, b, bounds[i], bounds[i + 1]);
            assert_int_equal(info_of(p).count, info.count);
            assert_int_equal(bf_state_get_words(p, words[i]), BF_OK);
            assert_int_equal(bf_state_set_words(back, words[i], info.count, 1), BF_OK);
            assert_same_form(back, p);
        }
        int64_t *into = words[orders[o][0]];
        for (int i = 1; i < PARTS; i++) {
            const int64_t *from = words[orders[o][i]];
            if (info.rule == BF_WORDS_ADD && o != 1)
                for (int64_t w = 0; w < info.count; w++) into[w] += from[w];
            else
                bf_words_merge(op, a->dtype, into, from);
        }
        int64_t parts = info.rule == BF_WORDS_ADD && o != 1 ? PARTS : 1;
        assert_int_equal(bf_state_set_words(back, into, info.count, parts), BF_OK);
        assert_same_form(back, whole);
    }
}

TEST(words_of_parts_make_the_whole) { for_each_kind(check_words); }

/* 2^30 times the words are the state merged with itself 30 times. */
static void check_most_parts(bf_reduction op, const bf_array *a, const bf_array *b) {
    int64_t words[MOST_WORDS];
    if (!is_sum(op)) return;
    OWN(bf_state) *s = part(context, op, a, b, 0, N), *back = make_state(context, op, a->dtype);
    bf_words_info info = info_of(s);
    bf_state_get_words(s, words);
    for (int64_t i = 0; i < info.count; i++) words[i] *= info.parts;
    for (int64_t parts = 1; parts < info.parts; parts *= 2)
        assert_int_equal(bf_state_merge(s, s), BF_OK);
    assert_int_equal(bf_state_set_words(back, words, info.count, info.parts), BF_OK);
    assert_same_form(back, s);
}

TEST(as_many_states_add_as_is_promised) { for_each_kind(check_most_parts); }

TEST(products_of_floats_append_on_either_side) {
    enum { LARGE = 40000 };
    static double x[LARGE];
    static int64_t words[3][MOST_WORDS], again[MOST_WORDS];
    static const int64_t ends[4] = {0, 10001, 30011, LARGE};
    fill(BF_F64, x, LARGE, KIND_NARROW, 5);
    bf_array a = bf_array_of(BF_F64, x, LARGE);
    OWN(bf_state) *whole = part(context, BF_PROD, &a, &a, 0, LARGE);
    OWN(bf_state) *back = make_state(context, BF_PROD, BF_F64);
    bf_words_info info = info_of(whole);
    for (int i = 0; i < 3; i++) {
        OWN(bf_state) *p = part(context, BF_PROD, &a, &a, ends[i], ends[i + 1]);
        bf_state_get_words(p, words[i]);
    }
    memcpy(again, words[1], sizeof again);
    bf_words_merge(BF_PROD, BF_F64, words[1], words[2]);
    bf_words_merge(BF_PROD, BF_F64, words[1], words[0]);
    assert_int_equal(bf_state_set_words(back, words[1], info.count, 1), BF_OK);
    assert_same_form(back, whole);
    bf_words_merge(BF_PROD, BF_F64, words[0], words[2]); /* there is a gap */
    assert_int_equal(bf_state_set_words(back, words[0], info.count, 1), BF_E_STATE);
    bf_words_merge(BF_PROD, BF_F64, again, words[0]); /* it does not heal, either */
    assert_int_equal(bf_state_set_words(back, again, info.count, 1), BF_E_STATE);
    assert_same_form(back, whole);
}

static void check_damaged(bf_reduction op, const bf_array *a, const bf_array *b) {
    static int64_t words[MOST_WORDS], bad[MOST_WORDS];
    static const int64_t odd[] = {INT64_MIN, -1, (int64_t)1 << 62 | 1, INT64_MAX};
    OWN(bf_state) *s = part(context, op, a, b, 0, N), *before = part(context, op, a, b, 0, N);
    bf_words_info info = info_of(s);
    bf_state_get_words(s, words);
    for (int64_t i = 0; i < 8; i++) {
        for (int k = 0; k < 4; k++) {
            memcpy(bad, words, sizeof words);
            if (bad[i] == odd[k]) continue;
            bad[i] = odd[k];
            bf_status status = bf_state_set_words(s, bad, info.count, 1);
            assert_true(status == BF_E_STATE || (!is_sum(op) && i > 0 && status == BF_OK));
            if (status == BF_OK) bf_state_set_words(s, words, info.count, 1);
            if (i == 0) {
                bf_words_merge(op, a->dtype, bad, words);
                assert_int_equal(bf_state_set_words(s, bad, info.count, 1), BF_E_STATE);
            }
        }
    }
    assert_int_equal(bf_state_set_words(s, words, info.count - 1, 1), BF_E_ARGUMENT);
    assert_int_equal(bf_state_set_words(s, words, info.count + 1, 1), BF_E_ARGUMENT);
    assert_int_equal(bf_state_set_words(s, words, info.count, 0), BF_E_ARGUMENT);
    assert_int_equal(bf_state_set_words(s, words, info.count, info.parts + 1), BF_E_ARGUMENT);
    assert_int_equal(bf_state_set_words(s, NULL, info.count, 1), BF_E_ARGUMENT);
    assert_same_form(s, before);
}

TEST(bad_words_are_refused) { for_each_kind(check_damaged); }

/* Random words, in a sum and merged, never do more than be refused. */
TEST(random_words_do_no_harm) {
    static int64_t words[MOST_WORDS], other[MOST_WORDS];
    uint64_t rng = 4;
    for (int round = 0; round < 20; round++) {
        for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
            bf_dtype dtype = all_dtypes[next_random(&rng) % DTYPE_COUNT];
            OWN(bf_state) *s = make_state(context, (bf_reduction)op, dtype);
            bf_words_info info = info_of(s);
            bf_state_get_words(s, other);
            for (int64_t i = 0; i < info.count; i++)
                words[i] = (int64_t)(next_random(&rng) >> next_random(&rng) % 64);
            bf_words_merge((bf_reduction)op, dtype, other, words);
            bf_state_set_words(s, other, info.count, 1);
            bf_state_set_words(s, words, info.count, info.parts);
        }
    }
}

TEST(overlapping_ranges_do_not_merge) {
    int64_t words[MOST_WORDS], other[MOST_WORDS];
    bf_array a = bf_array_of(BF_F64, a_data, N);
    OWN(bf_state) *s = part(context, BF_ARGMIN, &a, &a, 0, 6),
                  *t = part(context, BF_ARGMIN, &a, &a, 5, 9);
    bf_state_get_words(s, words);
    bf_state_get_words(t, other);
    bf_words_merge(BF_ARGMIN, BF_F64, words, other);
    assert_int_equal(bf_state_set_words(s, words, info_of(s).count, 1), BF_E_STATE);
    bf_words_merge((bf_reduction)77, BF_F64, words, other);
    bf_words_merge(BF_ARGMIN, (bf_dtype)77, words, other);
    bf_words_merge(BF_ARGMIN, BF_F64, NULL, other);
    bf_words_merge(BF_ARGMIN, BF_F64, words, NULL);
}

UNIT_TESTS(words, set_up, tear_down)
