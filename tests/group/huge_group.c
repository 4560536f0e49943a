/* Groups and joins of more than 2^31 rows, and groups that hold more than 2^32. */
#include "tests/support/forms.h"
#include "tests/support/huge.h"

enum { FEW = 251, MANY = 300000 };

#define PAST_32_BITS_IN_A_GROUP (((int64_t)17 << 28) + 12345)

static int64_t mostly_sevens(bf_dtype dtype, int64_t i) {
    const uint64_t r = scramble((uint64_t)i);
    (void)dtype;
    return r % 256 ? 7 : (int64_t)(r >> 32) % FEW;
}

static int64_t few_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble((uint64_t)i) % FEW);
}

static int64_t many_keys(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble((uint64_t)i) % MANY);
}

/* The mark beyond the first far index has a key of its own, and so has the last row. */
static periodic keys_of(bf_dtype dtype, int64_t n, number_rule *rule, int64_t groups) {
    periodic h = huge_of(dtype, n, rule);
    set_mark(&h, far_index(n) + 5, groups);
    set_mark(&h, n - 1, groups + 1);
    return h;
}

static int64_t *count_keys(const periodic *h, int64_t groups) {
    int64_t *counts = calloc((size_t)groups, sizeof *counts);
    assert_non_null(counts);
    for (int64_t i = 0; i < PERIOD; i++) counts[h->rule(h->dtype, i)] += times_of(h, i);
    for (int m = 0; m < h->marks; m++) {
        counts[h->rule(h->dtype, h->mark[m].at % PERIOD)]--;
        counts[h->mark[m].number]++;
    }
    return counts;
}

/* The keys are 0, 1, 2, ..., each as often as counts says, times `times`. */
static void check_list(bf_groups *g, bf_dtype dtype, const int64_t *counts, int64_t groups,
                       int times) {
    const size_t size = bf_dtype_size(dtype);
    char *keys = malloc((size_t)groups * size);
    int64_t *found = malloc((size_t)groups * sizeof *found);
    assert_int_equal(bf_groups_size(g), groups);
    const bf_array key_array = bf_array_of(dtype, keys, groups),
                   count_array = bf_array_of(BF_I64, found, groups);
    assert_int_equal(bf_groups_list(g, &key_array, &count_array), BF_OK);
    for (int64_t i = 0; i < groups; i++) {
        assert_int_equal(load_bits(keys + (size_t)i * size, size), i);
        assert_int_equal(found[i], times * counts[i]);
    }
    free(keys);
    free(found);
}

static bf_groups *saved_and_loaded(bf_groups *g) {
    bf_groups *loaded = copy_form(context, g);
    assert_non_null(loaded);
    bf_groups_destroy(g);
    return loaded;
}

static void check_counts(bf_dtype dtype, int64_t n, number_rule *rule, int64_t groups) {
    periodic h = keys_of(dtype, n, rule, groups);
    const bf_array keys = array_of(&h);
    int64_t *counts = count_keys(&h, groups + 2);
    bf_groups *g, *more;
    assert_int_equal(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = dtype), &g), BF_OK);
    assert_int_equal(bf_groups_absorb(g, &keys, NULL), BF_OK);
    assert_int_equal(bf_groups_rows(g), n);
    check_list(g, dtype, counts, groups + 2, 1);
    g = saved_and_loaded(g);
    assert_int_equal(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = dtype), &more), BF_OK);
    assert_int_equal(bf_groups_merge(more, g), BF_OK);
    assert_int_equal(bf_groups_merge(g, more), BF_OK);
    assert_int_equal(bf_groups_rows(g), 2 * n);
    check_list(g, dtype, counts, groups + 2, 2);
    bf_groups_destroy(g);
    bf_groups_destroy(more);
    free(counts);
    huge_free(&h);
}

TEST(counts_past_32_bits) {
    check_counts(BF_U8, PAST_32_BITS_IN_A_GROUP, mostly_sevens, FEW);
    check_counts(BF_U64, PAST_31_BITS, few_keys, FEW);
}

TEST(many_groups) { check_counts(BF_U32, PAST_31_BITS, many_keys, MANY); }

/* ---- aggregates ------------------------------------------------------------------------------ */

enum { AGGREGATES = 4 };

TEST(aggregates) {
    static const bf_aggregate kinds[AGGREGATES] = {
        {BF_SUM, BF_F32}, {BF_VAR, BF_F32}, {BF_MIN, BF_F32}, {BF_MAX, BF_F32}};
    static integer_sums sums[FEW];
    static int64_t least[FEW], greatest[FEW];
    static bf_value values[AGGREGATES][FEW];
    periodic keys = huge_of(BF_U8, PAST_31_BITS, few_keys);
    periodic x = marked_huge(BF_F32, keys.n, some_number);
    int64_t *counts = count_keys(&keys, FEW);
    for (int k = 0; k < FEW; k++) least[k] = INT64_MAX, greatest[k] = INT64_MIN;
    for (int64_t i = 0; i < PERIOD + x.marks; i++) {
        const int64_t at = i < PERIOD ? i : x.mark[i - PERIOD].at;
        const int64_t key = number_at(&keys, at), number = number_at(&x, at);
        const __int128 old = i < PERIOD ? 0 : x.rule(x.dtype, at % PERIOD),
                       times = i < PERIOD ? times_of(&x, i) : 1;
        sums[key].x += times * (number - old);
        sums[key].xx += times * ((__int128)number * number - old * old);
        if (number < least[key]) least[key] = number;
        if (number > greatest[key]) greatest[key] = number;
    }

    bf_groups *g;
    const bf_array k = array_of(&keys), v = array_of(&x), *columns[] = {&v, &v, &v, &v};
    assert_int_equal(
        bf_groups_create(context,
                         &BF_GROUPS_OPTIONS(.key = BF_U8, .count = AGGREGATES, .aggregates = kinds),
                         &g),
        BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, columns), BF_OK);
    g = saved_and_loaded(g);
    check_list(g, BF_U8, counts, FEW, 1);
    for (int i = 0; i < AGGREGATES; i++)
        assert_int_equal(bf_groups_result(g, i, NULL, values[i]), BF_OK);
    for (int i = 0; i < FEW; i++) {
        exact_sums e;
        exact_init(&e);
        e.n = counts[i];
        set_integer(e.x, sums[i].x, -FRACTION);
        set_integer(e.xx, sums[i].xx, -2 * FRACTION);
        assert_same_float(values[0][i].as.f64, exact_float(&e, BF_SUM, 0, BF_F64));
        assert_same_float(values[1][i].as.f64, exact_float(&e, BF_VAR, 0, BF_F64));
        assert_same_float(bf_value_f64(&values[2][i]), double_of(BF_F32, least[i]));
        assert_same_float(bf_value_f64(&values[3][i]), double_of(BF_F32, greatest[i]));
        exact_clear(&e);
    }
    bf_groups_destroy(g);
    free(counts);
    huge_free(&keys);
    huge_free(&x);
}

/* ---- joins ----------------------------------------------------------------------------------- */

/* Two rows beyond 31 bits have a key that the other side has, one of them in two rows. */
TEST(pairs_past_31_bits) {
    static const uint32_t others[] = {FEW + 1, FEW, 4000000, FEW};
    need_memory(20);
    periodic h = keys_of(BF_U32, PAST_31_BITS, few_keys, FEW);
    const bf_array a = array_of(&h), b = bf_array_of(BF_U32, others, 4);
    const int64_t rows[3][2] = {{h.mark[0].at, 1}, {h.mark[0].at, 3}, {h.mark[1].at, 0}};
    bf_pairs *pairs;
    assert_int_equal(bf_join(context, &a, &b, 0, &pairs), BF_OK);
    assert_int_equal(bf_pairs_size(pairs), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bf_pairs_a(pairs)[i], rows[i][0]);
        assert_int_equal(bf_pairs_b(pairs)[i], rows[i][1]);
    }
    bf_pairs_destroy(pairs);
    huge_free(&h);
}

HUGE_TESTS
