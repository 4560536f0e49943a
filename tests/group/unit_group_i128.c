/* Groups and joins with 128-bit integers as keys and as values: beside an oracle that sorts the
 * rows, and, for what is rounded, bf_reduce of each group's values (tests/reduce/unit_i128.c has
 * the oracle of that).
 * Builds: release, asan, tsan. */
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/saved.h"
#include "tests/support/unit.h"

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

#ifdef SANITIZED
enum { MOST = 20001 };
#else
enum { MOST = 60001 };
#endif
enum { OPS = 8 };

static const bf_reduction ops[OPS] = {BF_SUM,   BF_MEAN, BF_VAR, BF_STD,
                                      BF_SUMSQ, BF_NORM, BF_MIN, BF_MAX};
static bf_aggregate aggregates[OPS];
static i128 keys[MOST], values[MOST];
static const i128 greatest = (i128)(~(u128)0 >> 1);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Keys have different sizes, also near the ends: some differ in the low half alone, or in the high
 * one. */
static i128 random_key(uint64_t *seed, int64_t different) {
    const uint64_t which = next_random(seed) % (uint64_t)different;
    uint64_t hash = which;
    const u128 high = next_random(&hash), low = next_random(&hash);
    switch (which % 5) {
    case 0: return (i128)which - 3;
    case 1: return (i128)(high << 64);
    case 2: return greatest - (i128)which;
    case 3: return -greatest - 1 + (i128)which;
    default: return (i128)(high << 64 | low);
    }
}

static void make_rows(int64_t n, int64_t different, bool small, uint64_t seed) {
    for (int64_t i = 0; i < n; i++) {
        keys[i] = random_key(&seed, different);
        values[i] = (i128)((u128)next_random(&seed) << 64 | next_random(&seed));
        if (small) values[i] >>= 40 + next_random(&seed) % 80;
    }
}

/* Copies rows to odd addresses, one of three, backwards. */
static bf_array spread_rows(char *memory, const i128 *rows, int64_t n) {
    for (int64_t i = 0; i < n; i++) memcpy(memory + 1 + 48 * (n - 1 - i), &rows[i], sizeof *rows);
    return (bf_array){memory + 1 + 48 * (n > 0 ? n - 1 : 0), BF_I128, 1, {n}, {-3}};
}

/* ---- oracle ---------------------------------------------------------------------------------- */

typedef struct row {
    i128 key, value;
} row;

typedef struct answer {
    int64_t groups;
    row *rows;           /* by key */
    int64_t *begin;      /* where each group begins, and where the last one ends */
    i128 *keys, *values; /* the groups' keys; the rows' values */
    int64_t *counts;
} answer;

static int compare_rows(const void *a, const void *b) {
    const i128 x = ((const row *)a)->key, y = ((const row *)b)->key;
    return (x > y) - (x < y);
}

static answer find_answer(int64_t n) {
    const size_t room = (size_t)n + 1;
    answer a = {0,
                malloc(room * sizeof(row)),
                malloc(room * 8),
                malloc(room * 16),
                malloc(room * 16),
                malloc(room * 8)};
    for (int64_t i = 0; i < n; i++) a.rows[i] = (row){keys[i], values[i]};
    qsort(a.rows, (size_t)n, sizeof *a.rows, compare_rows);
    for (int64_t i = 0; i < n; i++) {
        a.values[i] = a.rows[i].value;
        if (i > 0 && a.rows[i].key == a.rows[i - 1].key) continue;
        a.begin[a.groups] = i;
        a.keys[a.groups++] = a.rows[i].key;
    }
    a.begin[a.groups] = n;
    for (int64_t g = 0; g < a.groups; g++) a.counts[g] = a.begin[g + 1] - a.begin[g];
    return a;
}

static void free_answer(answer *a) {
    free(a->rows);
    free(a->begin);
    free(a->keys);
    free(a->values);
    free(a->counts);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bf_groups *groups_of(bf_context *context, bf_dtype key, bf_dtype value, int count) {
    bf_groups *g = NULL;
    for (int i = 0; i < count; i++) aggregates[i] = (bf_aggregate){ops[i], value};
    const bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = key, .count = count, .aggregates = aggregates, .seed = 3);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

static void absorb(bf_groups *g, const bf_array *k, const bf_array *v) {
    const bf_array *list[OPS];
    for (int i = 0; i < OPS; i++) list[i] = v;
    assert_int_equal(bf_groups_absorb(g, k, list), BF_OK);
}

static void absorb_rows(bf_groups *g, int64_t first, int64_t n) {
    const bf_array k = bf_array_of(BF_I128, keys + first, n);
    const bf_array v = bf_array_of(BF_I128, values + first, n);
    absorb(g, &k, &v);
}

static void check_keys(bf_groups *g, const answer *a) {
    const size_t n = (size_t)a->groups;
    i128 *found = malloc((n + 1) * sizeof *found);
    int64_t *counts = malloc((n + 1) * sizeof *counts);
    const bf_array k = bf_array_of(BF_I128, found, a->groups),
                   c = bf_array_of(BF_I64, counts, a->groups);
    assert_int_equal(bf_groups_size(g), a->groups);
    assert_int_equal(bf_groups_list(g, &k, &c), BF_OK);
    assert_memory_equal(found, a->keys, n * sizeof *found);
    assert_memory_equal(counts, a->counts, n * sizeof *counts);
    free(found);
    free(counts);
}

/* What bf_reduce gives for the values of a group. */
static bf_status reduce_group(bf_context *context, const answer *a, int64_t group, bf_reduction op,
                              const bf_reduce_options *o, bf_value *v) {
    const bf_array x = bf_array_of(BF_I128, a->values + a->begin[group], a->counts[group]);
    return bf_reduce(context, op, &x, o, v);
}

static bf_reduce_options options_of(bf_reduction op, bool rounded, int scale) {
    bf_reduce_options o = BF_REDUCE_OPTIONS(.scale = scale);
    if (rounded && op != BF_MIN && op != BF_MAX) o.out_dtype = BF_F64;
    return o;
}

/* Compares result i, as values, with bf_reduce of some groups: of all if there are few. */
static void check_values(bf_context *context, bf_groups *g, const answer *a, int i, bool rounded) {
    const bf_reduce_options o = options_of(ops[i], rounded, i * 3);
    bf_value *found = calloc((size_t)a->groups + 1, sizeof *found), v;
    const int64_t step = a->groups / 100 + 1;
    const bf_status status = bf_groups_result(g, i, &o, found);
    for (int64_t k = 0; k < a->groups && status == BF_E_OVERFLOW; k++)
        if (reduce_group(context, a, k, ops[i], &o, &v) == BF_E_OVERFLOW) {
            free(found);
            return; /* one group tells */
        }
    assert_int_equal(status, BF_OK);
    for (int64_t k = 0; k < a->groups; k += step) {
        assert_int_equal(reduce_group(context, a, k, ops[i], &o, &v), BF_OK);
        assert_int_equal(found[k].dtype, v.dtype);
        assert_int_equal(found[k].scale, v.scale);
        assert_memory_equal(&found[k].as, &v.as, sizeof v.as);
    }
    free(found);
}

/* Checks arrays: their integers have 128 bits, or say that they have more. */
static void check_array(bf_context *context, bf_groups *g, const answer *a, int i) {
    i128 *found = calloc((size_t)a->groups + 1, sizeof *found);
    char *fits = calloc((size_t)a->groups + 1, 1);
    const bf_array to = bf_array_of(BF_I128, found, a->groups),
                   there = bf_array_of(BF_BOOL, fits, a->groups);
    assert_int_equal(bf_groups_aggregate_dtype(g, i, NULL), BF_I128);
    assert_int_equal(bf_groups_aggregate(g, i, NULL, &to, &there), BF_OK);
    for (int64_t k = 0; k < a->groups; k += a->groups / 100 + 1) {
        bf_value v;
        if (reduce_group(context, a, k, ops[i], NULL, &v) == BF_OK) {
            assert_memory_equal(&found[k], v.as.i192, sizeof *found);
            assert_int_equal(fits[k], v.as.i192[2] == (uint64_t)((int64_t)v.as.i192[1] >> 63));
        } else {
            assert_int_equal(fits[k], 0);
        }
    }
    if (memchr(fits, 0, (size_t)a->groups))
        assert_int_equal(bf_groups_aggregate(g, i, NULL, &to, NULL), BF_E_OVERFLOW);
    free(found);
    free(fits);
}

static void check_groups(bf_context *context, bf_groups *g, const answer *a) {
    check_keys(g, a);
    for (int i = 0; i < OPS; i++) {
        check_values(context, g, a, i, false);
        check_values(context, g, a, i, true);
        if (ops[i] == BF_SUM || ops[i] == BF_SUMSQ || ops[i] >= BF_MIN)
            check_array(context, g, a, i);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

typedef struct the_case {
    int64_t n, different;
    bool small;
} the_case;

static void check_case(bf_context *context, void *data) {
    const the_case *c = data;
    answer a = find_answer(c->n);
    bf_groups *g = groups_of(context, BF_I128, BF_I128, OPS), *half;
    absorb_rows(g, 0, c->n);
    check_groups(context, g, &a);
    bf_groups_destroy(g);
    char *memory[2] = {malloc(48 * (size_t)c->n + 48), malloc(48 * (size_t)c->n + 48)};
    g = groups_of(context, BF_I128, BF_I128, OPS);
    half = groups_of(context, BF_I128, BF_I128, OPS);
    const int64_t n = c->n / 3;
    const bf_array k = spread_rows(memory[0], keys, n), v = spread_rows(memory[1], values, n);
    absorb(half, &k, &v);
    absorb_rows(g, n, c->n - n);
    assert_int_equal(bf_groups_merge(c->small ? g : half, c->small ? half : g), BF_OK);
    check_groups(context, c->small ? g : half, &a);
    bf_groups_destroy(g);
    bf_groups_destroy(half);
    free(memory[0]);
    free(memory[1]);
    free_answer(&a);
}

TEST(groups_are_those_of_a_sort) {
    the_case cases[] = {{0, 1, 0},       {1, 1, 0},    {2, 2, 1},       {777, 10, 0},
                        {4097, 5000, 1}, {MOST, 9, 1}, {MOST, 2000, 0}, {MOST, MOST, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_rows(cases[i].n, cases[i].different, cases[i].small, i);
        on_every_context(check_case, &cases[i]);
    }
}

static bool are_in_order(const i128 *found, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (found[i] != ((i128)i << 70) - i) return false;
    return true;
}

/* Many threads, and groups beyond those that one partition holds. */
TEST(many_groups_are_partitioned) {
    enum { N = DATA_SHARE > 1 ? 300001 : 700001 };
    i128 *k = malloc(N * sizeof *k), *found = malloc(N * sizeof *found);
    for (int64_t i = 0; i < N; i++) k[i] = ((i128)(i * 7919 % N) << 70) - i * 7919 % N;
    for (int threads = SEVERAL_THREADS ? 8 : 1; threads <= 8; threads += 7) {
        OWN(bf_context) *context = make_context(NULL, threads);
        OWN(bf_groups) *g = groups_of(context, BF_I128, BF_I128, 1);
        const bf_array a = bf_array_of(BF_I128, k, N), to = bf_array_of(BF_I128, found, N);
        const bf_array *list[] = {&a};
        assert_int_equal(bf_groups_absorb(g, &a, list), BF_OK);
        assert_int_equal(bf_groups_size(g), N);
        assert_int_equal(bf_groups_list(g, &to, NULL), BF_OK);
        assert_true(are_in_order(found, N));
        assert_int_equal(bf_groups_aggregate(g, 0, NULL, &to, NULL), BF_OK);
        assert_true(are_in_order(found, N));
    }
    free(k);
    free(found);
}

TEST(saved_groups_come_back) {
    OWN(bf_context) *context = make_context(NULL, 2);
    for (int64_t n = 0; n <= 4000; n += 1000) {
        size_t size;
        make_rows(n, 700, false, (uint64_t)n);
        answer a = find_answer(n);
        bf_groups *g = groups_of(context, BF_I128, BF_I128, OPS), *back = NULL;
        absorb_rows(g, 0, n);
        unsigned char *saved = save_form(g, &size);
        assert_int_equal(bf_groups_load(context, saved, size, &back), BF_OK);
        check_groups(context, back, &a);
        assert_same_form(g, back);
        bf_groups_destroy(back);
        for (size_t at = 0; at < size; at += size / 50 + 1) {
            saved[at] ^= 1;
            assert_int_equal(bf_groups_load(context, saved, size, &back), BF_E_STATE);
            saved[at] ^= 1;
        }
        /* keys in the order of their bytes, not of numbers */
        unsigned char *first = saved + saved_offset(saved, size, "keys"), swapped[16];
        for (int64_t i = 0; i + 1 < a.groups && a.keys[i] < 0; i++) {
            if (a.keys[i + 1] < 0) continue;
            memcpy(swapped, first + 16 * i, 16);
            memcpy(first + 16 * i, first + 16 * i + 16, 16);
            memcpy(first + 16 * i + 16, swapped, 16);
            sign_saved(saved, size);
            assert_int_equal(bf_groups_load(context, saved, size, &back), BF_E_STATE);
        }
        free(saved);
        bf_groups_destroy(g);
        free_answer(&a);
    }
}

TEST(parts_and_what_is_left_make_the_whole) {
    enum { N = 6000, PARTS = 5 };
    OWN(bf_context) *context = make_context(NULL, 2);
    make_rows(N, 900, true, 5);
    bf_groups *whole = groups_of(context, BF_I128, BF_I128, 6), *parts[PARTS];
    OWN(bf_groups) *again = groups_of(context, BF_I128, BF_I128, 6);
    bf_groups *rest = groups_of(context, BF_I128, BF_I128, 6);
    absorb_rows(whole, 0, N);
    assert_int_equal(bf_groups_split(whole, PARTS, parts), BF_OK);
    for (int p = PARTS - 1; p >= 0; p--) {
        assert_true(bf_groups_size(parts[p]) > 0);
        assert_int_equal(bf_groups_merge(again, parts[p]), BF_OK);
        bf_groups_destroy(parts[p]);
    }
    assert_same_form(whole, again);
    absorb_rows(rest, N / 2, N - N / 2);
    assert_int_equal(bf_groups_retract(again, rest), BF_OK);
    bf_groups_destroy(rest);
    rest = groups_of(context, BF_I128, BF_I128, 6);
    absorb_rows(rest, 0, N / 2);
    assert_same_form(again, rest);
    bf_groups_destroy(whole);
    bf_groups_destroy(rest);
}

static i128 power_of_ten(int n) { return n > 0 ? 10 * power_of_ten(n - 1) : 1; }

TEST(a_finer_unit_multiplies) {
    enum { N = 2000 };
    OWN(bf_context) *context = make_context(NULL, 1);
    static const int digits[OPS] = {3, 3, 3, 3, 3, 3, 3, 3};
    uint64_t seed = 8;
    for (int64_t i = 0; i < N; i++) {
        keys[i] = (i128)(next_random(&seed) % 600) - 300;
        values[i] = (i128)(int64_t)next_random(&seed);
    }
    OWN(bf_groups) *g = groups_of(context, BF_I128, BF_I128, OPS);
    OWN(bf_groups) *fine = groups_of(context, BF_I128, BF_I128, OPS);
    absorb_rows(g, 0, N);
    assert_int_equal(bf_groups_rescale(g, 35, digits), BF_OK);
    for (int64_t i = 0; i < N; i++) {
        keys[i] *= power_of_ten(35);
        values[i] *= 1000;
    }
    absorb_rows(fine, 0, N);
    assert_same_form(g, fine);
    static const int many[OPS] = {38}, too_many[OPS] = {39};
    assert_int_equal(bf_groups_rescale(g, 2, NULL), BF_E_OVERFLOW);
    assert_int_equal(bf_groups_rescale(g, 39, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_rescale(g, 0, many), BF_E_OVERFLOW);
    assert_int_equal(bf_groups_rescale(g, 0, too_many), BF_E_ARGUMENT);
    assert_same_form(g, fine);
}

/* Groups of these dtypes, of rows of small numbers that they hold. */
static bf_groups *narrow_groups(bf_context *context, bf_dtype key, bf_dtype value, int64_t first,
                                int64_t n) {
    const size_t k = bf_dtype_size(key), v = bf_dtype_size(value);
    char *memory = malloc((k + v) * (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        memcpy(memory + k * (size_t)i, &keys[first + i], k);
        memcpy(memory + k * (size_t)n + v * (size_t)i, &values[first + i], v);
    }
    bf_groups *g = groups_of(context, key, value, OPS);
    const bf_array a = bf_array_of(key, memory, n),
                   b = bf_array_of(value, memory + k * (size_t)n, n);
    absorb(g, &a, &b);
    free(memory);
    return g;
}

TEST(groups_of_all_integers_are_taken) {
    enum { N = 500, PARTS = 6 };
    static const bf_dtype dtypes[PARTS][2] = {{BF_I64, BF_I128}, {BF_U64, BF_I64},
                                              {BF_I128, BF_U64}, {BF_I8, BF_I32},
                                              {BF_U16, BF_U8},   {BF_I128, BF_I128}};
    OWN(bf_context) *context = make_context(NULL, 2);
    uint64_t seed = 6;
    for (int64_t i = 0; i < N * PARTS; i++) {
        const int part = (int)(i / N);
        const bool natural = part == 1 || part == 4;
        keys[i] = (int64_t)(next_random(&seed) % 50) - (natural ? 0 : 30);
        values[i] = (int64_t)(next_random(&seed) % 200) - (part < 2 || part == 3 ? 90 : 0);
    }
    for (int backwards = 0; backwards < 2; backwards++) {
        OWN(bf_groups) *into = groups_of(context, BF_I128, BF_I128, OPS);
        OWN(bf_groups) *whole = groups_of(context, BF_I128, BF_I128, OPS);
        absorb_rows(whole, 0, N * PARTS);
        for (int k = 0; k < PARTS; k++) {
            const int p = backwards ? PARTS - 1 - k : k;
            OWN(bf_groups) *from = narrow_groups(context, dtypes[p][0], dtypes[p][1], p * N, N);
            assert_int_equal(bf_groups_merge(into, from), BF_OK);
            if (p < PARTS - 1) assert_int_equal(bf_groups_merge(from, into), BF_E_STATE);
            if (p < PARTS - 1) assert_int_equal(bf_groups_retract(into, from), BF_E_STATE);
        }
        assert_same_form(into, whole);
    }
    static const bf_dtype others[] = {BF_BOOL, BF_F64, BF_PAIR};
    bf_groups *into = groups_of(context, BF_I128, BF_I128, 0);
    for (int i = 0; i < 3; i++) {
        OWN(bf_groups) *from = groups_of(context, others[i], BF_I128, 0);
        assert_int_equal(bf_groups_merge(into, from), BF_E_STATE);
    }
    bf_groups_destroy(into);
}

static void check_join(bf_context *context, void *unused) {
    (void)unused;
    enum { N = 3000, M = 2000 };
    char *memory = malloc(48 * N + 48);
    const bf_array a = spread_rows(memory, keys, N), b = bf_array_of(BF_I128, keys + N, M);
    OWN(bf_pairs) *pairs = NULL;
    assert_int_equal(bf_join(context, &a, &b, 1, &pairs), BF_OK);
    int64_t at = 0;
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < M; k++) {
            if (keys[i] != keys[N + k]) continue;
            assert_true(at < bf_pairs_size(pairs));
            assert_int_equal(bf_pairs_a(pairs)[at], i);
            assert_int_equal(bf_pairs_b(pairs)[at++], k);
        }
    assert_int_equal(bf_pairs_size(pairs), at);
    assert_true(at > 0);
    free(memory);
}

TEST(equal_keys_are_joined) {
    make_rows(5000, 800, false, 4);
    on_every_context(check_join, NULL);
}

UNIT_TESTS(group_i128, NULL, NULL)
