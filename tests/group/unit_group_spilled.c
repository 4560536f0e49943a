/* Groups beyond the memory of a context: the same bytes as without a limit, the exact answers, and
 * after a failure the groups as they were. */
#include "tests/support/forms.h"
#include "tests/support/spilling.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = CASE_STEP > 1 ? 12000 : DATA_SHARE > 1 ? 24000 : 60000, KINDS = 6, LIMIT = 35 * N };
enum { EACH = CASE_STEP > 1 ? 2 : 1 /* every second dtype of keys */ };

static char keys[16 * N];
static char columns[KINDS][8 * N];
static const bf_aggregate aggregates[KINDS] = {{BF_SUM, BF_F64}, {BF_VAR, BF_F32},
                                               {BF_MIN, BF_I32}, {BF_MAX, BF_F64},
                                               {BF_SUM, BF_I64}, {BF_MEAN, BF_U8}};
static const bf_dtype key_dtypes[] = {BF_I64, BF_F32, BF_I16, BF_PAIR, BF_I128, BF_F64};

/* Most keys occur once or twice, and in every chunk some are new. */
static void make_rows(bf_dtype dtype) {
    uint64_t seed = 5;
    const size_t bytes = (size_t)bytes_of(dtype);
    for (int i = 0; i < N; i++) {
        const uint64_t word = next_random(&seed) % N * 0x9e3779b97f4a7c15u;
        for (size_t b = 0; b < bytes; b += 8)
            store_bits(keys + (size_t)i * bytes + b, bytes < 8 ? bytes : 8, word);
        for (int c = 0; c < KINDS; c++) {
            const bf_dtype of = aggregates[c].dtype;
            uint64_t value = next_random(&seed);
            if (is_float(of) && value % 100 != 0)
                value &= ~((uint64_t)1 << (of == BF_F64 ? 62 : 30));
            store_bits(columns[c] + (size_t)i * bf_dtype_size(of), bf_dtype_size(of), value);
        }
    }
}

static bf_groups *make_groups(bf_context *context, bf_dtype key) {
    bf_groups *g;
    OK(bf_groups_create(
        context, &BF_GROUPS_OPTIONS(.key = key, .count = KINDS, .aggregates = aggregates), &g));
    return g;
}

static bf_status absorb(bf_groups *g, bf_dtype key, int first, int n) {
    const bf_array k = {keys + (size_t)first * (size_t)bytes_of(key), key, 1, {n}, {1}};
    bf_array values[KINDS];
    const bf_array *all[KINDS];
    for (int c = 0; c < KINDS; c++) {
        const bf_dtype of = aggregates[c].dtype;
        values[c] = bf_array_of(of, columns[c] + (size_t)first * bf_dtype_size(of), n);
        all[c] = &values[c];
    }
    return bf_groups_absorb(g, &k, all);
}

static void absorb_all(bf_groups *g, bf_dtype key, int chunk) {
    for (int at = 0; at < N; at += chunk) OK(absorb(g, key, at, N - at < chunk ? N - at : chunk));
}

/* The lists and results are the same, and so is the saved form. */
static void check_same(bf_context *free_one, bf_groups *g, bf_groups *want, bf_dtype key) {
    const int64_t n = bf_groups_size(want);
    assert_int_equal(bf_groups_size(g), n);
    char *made = malloc((size_t)n * 64), *other = made + n * 32;
    for (int w = 0; w < 2; w++) {
        const bf_array k = {w ? other : made, key, 1, {n}, {1}},
                       counts = bf_array_of(BF_I64, (w ? other : made) + 16 * n, n);
        OK(bf_groups_list(w ? want : g, &k, &counts));
    }
    assert_memory_equal(made, other, (size_t)n * (size_t)bytes_of(key));
    assert_memory_equal(made + 16 * n, other + 16 * n, (size_t)n * 8);
    for (int c = 0; c < KINDS; c++) {
        const bf_reduce_options options = BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
        for (int w = 0; w < 2; w++) {
            const bf_array to = bf_array_of(bf_groups_aggregate_dtype(g, c, &options),
                                            w ? other : made, n),
                           fits = bf_array_of(BF_BOOL, (w ? other : made) + 16 * n, n);
            OK(bf_groups_aggregate(w ? want : g, c, &options, &to, &fits));
        }
        assert_memory_equal(made + 16 * n, other + 16 * n, (size_t)n);
        assert_memory_equal(
            made, other, (size_t)n * (size_t)bytes_of(bf_groups_aggregate_dtype(g, c, &options)));
    }
    free(made);
    OWN(bf_groups) *copy = make_groups(free_one, key); /* for there is no memory to save in */
    OK(bf_groups_merge(copy, g));
    assert_same_form(copy, want);
}

TEST(the_bytes_of_no_limit) {
    bf_context *free_one = limited(0, NULL, 2), *without = limited(LIMIT, NULL, 2);
    for (size_t d = 0; d < sizeof key_dtypes / sizeof *key_dtypes; d += EACH) {
        const bf_dtype key = key_dtypes[d];
        make_rows(key);
        OWN(bf_groups) *want = make_groups(free_one, key), *fails = make_groups(without, key);
        absorb_all(want, key, N);
        if (key != BF_I16) assert_int_equal(absorb(fails, key, 0, N), BF_E_MEMORY);
        {
            const int chunk = d / EACH % 2 == 0 ? N / 30 : N;
            OWN(bf_context) *context = limited(LIMIT, directory, 1 + (int)(d / EACH % 2));
            OWN(bf_groups) *g = make_groups(context, key);
            absorb_all(g, key, chunk);
            check_same(free_one, g, want, key);
            OK(absorb(g, key, 0, N / 2)); /* it goes on behind results */
            OK(bf_groups_clear(g));
            assert_int_equal(bf_groups_size(g), 0);
            absorb_all(g, key, chunk);
            check_same(free_one, g, want, key);
        }
    }
    bf_context_destroy(without);
    bf_context_destroy(free_one);
    assert_int_equal(count_files(), 0);
}

/* Both sides of a merge may have spilled, or neither. */
TEST(merges) {
    const bf_dtype key = BF_I64;
    make_rows(key);
    OWN(bf_context) *free_one = limited(0, NULL, 2), *context = limited(LIMIT, directory, 2);
    OWN(bf_context) *other =
        limited(LIMIT, directory, 2); /* a sum leaves parts no memory of its own */
    OWN(bf_groups) *want = make_groups(free_one, key);
    absorb_all(want, key, N);
    for (int parts = 2; parts <= 50; parts *= 5) {
        OWN(bf_groups) *sum = make_groups(other, key);
        const int each = (N + parts - 1) / parts;
        for (int at = 0; at < N; at += each) {
            OWN(bf_groups) *part = make_groups(context, key);
            OK(absorb(part, key, at, N - at < each ? N - at : each));
            OK(bf_groups_merge(sum, part));
        }
        check_same(free_one, sum, want, key);
    }
}

/* ---- exact answers --------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

TEST(exact_counts_and_sums) {
    static int64_t rows[2 * N], found[N], sums[N], counts[N];
    OWN(bf_context) *context = limited(LIMIT, directory, 2);
    make_rows(BF_I64);
    OWN(bf_groups) *g = make_groups(context, BF_I64);
    absorb_all(g, BF_I64, N / 7);
    for (int i = 0; i < N; i++) {
        memcpy(&rows[2 * i], keys + 8 * i, 8);
        memcpy(&rows[2 * i + 1], columns[4] + 8 * i, 8);
    }
    qsort(rows, N, 2 * sizeof *rows, compare);
    const int64_t n = bf_groups_size(g);
    const bf_array k = bf_array_of(BF_I64, found, n), c = bf_array_of(BF_I64, counts, n),
                   s = bf_array_of(BF_I64, sums, n);
    OK(bf_groups_list(g, &k, &c));
    OK(bf_groups_aggregate(g, 4, &BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP), &s, NULL));
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        assert_int_equal(found[i], rows[2 * at]);
        const int64_t begin = at;
        for (; at < N && rows[2 * at] == found[i]; at++) sum += (uint64_t)rows[2 * at + 1];
        assert_int_equal(counts[i], at - begin);
        assert_int_equal((uint64_t)sums[i], sum);
    }
    assert_int_equal(at, N);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* A sum that does not fit is told by its number among all groups, and nothing is written. */
TEST(a_sum_that_does_not_fit) {
    const bf_aggregate sum = {BF_SUM, BF_I64};
    static int64_t k[N], v[N], made[N];
    OWN(bf_context) *context = limited(LIMIT, directory, 1);
    OWN(bf_groups) *g = NULL;
    OK(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1, .aggregates = &sum),
                        &g));
    for (int i = 0; i < N; i++) {
        k[i] = i;
        v[i] = i == N - 10 ? INT64_MAX : 1;
    }
    const bf_array ka = bf_array_of(BF_I64, k, N), va = bf_array_of(BF_I64, v, N);
    const bf_array *const values[] = {&va};
    for (int twice = 0; twice < 2; twice++) OK(bf_groups_absorb(g, &ka, values));
    assert_int_equal(bf_groups_size(g), N);
    const bf_array to = bf_array_of(BF_I64, made, N);
    char text[64];
    snprintf(text, sizeof text, "the sum of group %d does not fit i64", N - 10);
    assert_int_equal(bf_groups_aggregate(g, 0, NULL, &to, NULL), BF_E_OVERFLOW);
    assert_string_equal(bf_context_message(context), text);
    for (int i = 0; i < N; i++) assert_int_equal(made[i], 0);
}

typedef struct ticking {
    int left;
} ticking;

static int tick(void *arg, int64_t bytes) {
    ticking *t = arg;
    (void)bytes;
    return t->left-- == 0;
}

/* A call that is cancelled changes nothing. */
TEST(cancelled_calls) {
    const bf_dtype key = BF_I64;
    int cancelled = 0;
    make_rows(key);
    OWN(bf_context) *free_one = limited(0, NULL, 1);
    OWN(bf_groups) *want = make_groups(free_one, key);
    OK(absorb(want, key, 0, N / 2));
    for (int i = 0; i < 100; i += 5) {
        OWN(bf_context) *context = limited(LIMIT, directory, 2);
        OWN(bf_groups) *g = make_groups(context, key);
        ticking t = {i};
        OK(absorb(g, key, 0, N / 2));
        OK(bf_context_watch(context, &(bf_watch){sizeof(bf_watch), 0, tick, &t}));
        const bf_status status = absorb(g, key, 0, N);
        assert_true(status == BF_OK || status == BF_E_CANCELLED);
        OK(bf_context_watch(context, NULL));
        if (status == BF_OK) i = 100;
        cancelled += status != BF_OK;
        if (status != BF_OK) assert_int_equal(bf_groups_rows(g), N / 2);
        if (status != BF_OK && i % 4 == 0) check_same(free_one, g, want, key);
    }
    assert_true(cancelled > 3);
}

/* So does one whose file cannot grow. */
TEST(full_files) {
    const bf_dtype key = BF_I64;
    struct rlimit before;
    int full = 0;
    make_rows(key);
    bf_context *free_one = limited(0, NULL, 1), *context = limited(LIMIT, directory, 1);
    bf_groups *want = make_groups(free_one, key);
    OK(absorb(want, key, 0, N / 2));
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 24; i += 3) {
        struct rlimit small = before;
        OWN(bf_groups) *g = make_groups(context, key);
        OK(absorb(g, key, 0, N / 2));
        small.rlim_cur = (rlim_t)(1 + i) << 19;
        setrlimit(RLIMIT_FSIZE, &small);
        const bf_status status = absorb(g, key, N / 2, N / 2);
        setrlimit(RLIMIT_FSIZE, &before);
        full += status == BF_E_IO;
        assert_true(status == BF_OK || status == BF_E_IO);
        if (status != BF_OK)
            assert_non_null(strstr(bf_context_message(context), "cannot write a temporary file"));
        if (status != BF_OK) check_same(free_one, g, want, key);
    }
    assert_true(full > 1);
    bf_groups_destroy(want);
    bf_context_destroy(context);
    bf_context_destroy(free_one);
    assert_int_equal(count_files(), 0);
}

UNIT_TESTS(group_spilled, make_directory, remove_directory)
