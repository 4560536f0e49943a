/* Joins beyond the memory of a context, against a search in sorted keys: whatever the dtype, the
 * limit and how often keys occur, the same pairs in the same order; and what fails leaves nothing.
 */
#include "tests/support/spilling.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 40000, LIMIT = 1 << 18 };

typedef struct entry {
    uint64_t key[2];
    int64_t row;
} entry;

enum { ODD = 97 /* one key in so many is a NaN, one an infinity, one a zero */ };

static char a[16 * N], b[16 * N];
static entry entries[N];
static int64_t begin_of[N + 1];

static bf_dtype dtype_of(int i) {
    return i < DTYPE_COUNT ? all_dtypes[i] : i == DTYPE_COUNT ? BF_PAIR : BF_I128;
}
static entry entry_of(bf_dtype dtype, const char *keys, int64_t i) {
    const int64_t bytes = bytes_of(dtype);
    entry e = {.row = i};
    memcpy(e.key, keys + i * bytes, (size_t)bytes);
    if (dtype == BF_BOOL) e.key[0] = e.key[0] != 0;
    if (!is_float(dtype)) return e;
    if ((e.key[0] & ~sign_bit(dtype)) > infinity_bits(dtype)) e.key[0] = infinity_bits(dtype) + 1;
    if (e.key[0] == sign_bit(dtype)) e.key[0] = 0;
    return e;
}

static int compare_keys(const entry *x, const entry *y) {
    for (int w = 0; w < 2; w++)
        if (x->key[w] != y->key[w]) return x->key[w] < y->key[w] ? -1 : 1;
    return 0;
}

static int compare(const void *p, const void *q) {
    const entry *x = p, *y = q;
    const int order = compare_keys(x, y);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* The first of n entries whose key is not before this one. */
static int64_t first_of(const entry *key, int64_t n) {
    int64_t low = 0;
    for (int64_t high = n; low < high;) {
        const int64_t middle = (low + high) / 2;
        if (compare_keys(&entries[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sorts the rows of b, and finds where those of each row of a begin. */
static void want_pairs(bf_dtype dtype, int64_t na, int64_t nb) {
    for (int64_t i = 0; i < nb; i++) entries[i] = entry_of(dtype, b, i);
    qsort(entries, (size_t)nb, sizeof *entries, compare);
    for (int64_t i = 0; i < na; i++) {
        const entry key = entry_of(dtype, a, i);
        begin_of[i] = first_of(&key, nb);
    }
}

static void check_pairs(bf_dtype dtype, int64_t na, int64_t nb, const bf_pairs *pairs) {
    const int64_t *found_a = bf_pairs_a(pairs), *found_b = bf_pairs_b(pairs);
    int64_t n = 0, size = bf_pairs_size(pairs);
    for (int64_t i = 0; i < na; i++) {
        const entry key = entry_of(dtype, a, i);
        for (int64_t k = begin_of[i]; k < nb && compare_keys(&entries[k], &key) == 0; k++, n++)
            if (n >= size || found_a[n] != i || found_b[n] != entries[k].row)
                fail_msg("%s: pair %lld of %lld is wrong", bf_dtype_name(dtype), (long long)n,
                         (long long)size);
    }
    assert_int_equal(n, size);
}

static bf_status join(bf_context *context, bf_dtype dtype, int64_t na, int64_t nb,
                      bf_pairs **pairs) {
    const bf_array x = {a, dtype, 1, {na}, {1}}, y = {b, dtype, 1, {nb}, {1}};
    return bf_join(context, &x, &y, 3, pairs);
}

/* Returns whether the join fails without a directory. */
static bool check_join(bf_dtype dtype, int64_t limit, int threads, int64_t na, int64_t nb) {
    bf_context *context = limited(limit, directory, threads), *without = limited(limit, NULL, 1);
    bf_pairs *pairs = NULL;
    want_pairs(dtype, na, nb);
    OK(join(context, dtype, na, nb, &pairs));
    check_pairs(dtype, na, nb, pairs);
    bf_pairs_destroy(pairs);
    bf_context_destroy(context);
    const bf_status status = join(without, dtype, na, nb, &pairs);
    if (status == BF_OK) bf_pairs_destroy(pairs);
    bf_context_destroy(without);
    return status == BF_E_MEMORY;
}

TEST(pairs_of_every_dtype) {
    int failed = 0, tried = 0;
    for (int i = 0; i<DTYPE_COUNT + 2; i += DATA_SHARE> 1 ? 3 : 1, tried++) {
        const bf_dtype dtype = dtype_of(i);
        const int64_t n = dtype == BF_BOOL ? N / 64 : bytes_of(dtype) < 4 ? N / 8 : N;
        make_elements(dtype, a, n, N, 1, ODD);
        make_elements(dtype, b, n, N, 2, ODD);
        for (int64_t limit = LIMIT; limit <= 16 * LIMIT; limit *= 4)
            failed += check_join(dtype, limit, 1 + i % 2, n, n - 1);
    }
    assert_true(failed > tried); /* so these joins spilled */
    assert_int_equal(count_files(), 0);
}

/* None match, and all do: there are more pairs of one key than the table has rows, or memory. */
TEST(keys_that_occur_often) {
    static const int64_t sizes[][2] = {{1, N}, {N, 1}, {2, N}, {N, 3}, {700, 901}, {3000, 501}};
    int failed = 0;
    make_elements(BF_I64, a, N, 1, 1, ODD);
    make_elements(BF_I64, b, N, 1, 2, ODD);
    for (int i = 0; i < 6; i++)
        failed += check_join(BF_I64, LIMIT, 1 + i % 2, sizes[i][0], sizes[i][1]);
    make_elements(BF_I64, b, N, 9, 2, ODD);
    failed += check_join(BF_I64, LIMIT, 2, 900, 3000);
    for (int64_t i = 0; i < N; i++) store_bits(b + 8 * i, 8, (uint64_t)(2 * i + 1));
    failed += check_join(BF_I64, LIMIT, 2, N, N);
    make_elements(BF_I64, a, N / 2, N, 5, ODD);
    failed += check_join(BF_I64, LIMIT, 2, N, N); /* half of a has one key that b has not */
    assert_true(failed > 7);
    assert_int_equal(count_files(), 0);
}

/* The narrow elements of every other place, which are copied. */
TEST(keys_with_strides) {
    OWN(bf_context) *context = limited(LIMIT, directory, 1);
    OWN(bf_pairs) *pairs = NULL;
    make_elements(BF_I16, a, N, 1 << 14, 1, ODD);
    make_elements(BF_I16, b, N, 1 << 14, 2, ODD);
    const bf_array x = {a, BF_I16, 2, {N / 4, 2}, {4, 2}}, y = {b, BF_I16, 1, {N / 2}, {2}};
    OK(bf_join(context, &x, &y, 3, &pairs));
    for (int i = 0; i < N / 2; i++) {
        memcpy(a + 2 * i, a + 4 * i, 2);
        memcpy(b + 2 * i, b + 4 * i, 2);
    }
    want_pairs(BF_I16, N / 2, N / 2);
    check_pairs(BF_I16, N / 2, N / 2, pairs);
}

/* ---- failures -------------------------------------------------------------------------------- */

TEST(limits_that_are_too_small) {
    int failed = 0;
    make_elements(BF_I64, a, N, N, 1, ODD);
    make_elements(BF_I64, b, N, N, 2, ODD);
    want_pairs(BF_I64, N, N);
    for (int64_t limit = 1; limit < LIMIT; limit += limit / 8 + 1) {
        OWN(bf_context) *context = limited(limit, directory, 1);
        OWN(bf_pairs) *pairs = NULL;
        const bf_status status = join(context, BF_I64, N, N, &pairs);
        failed += status == BF_E_MEMORY;
        assert_true(status == BF_OK || status == BF_E_MEMORY);
        if (status == BF_OK) check_pairs(BF_I64, N, N, pairs);
    }
    assert_true(failed > 20);
    assert_int_equal(count_files(), 0);
}

TEST(files_that_cannot_be_made) {
    OWN(bf_context) *context = limited(LIMIT, "/nonexistent/bitfold", 1);
    bf_pairs *pairs = NULL;
    make_elements(BF_I64, a, N, N, 1, ODD);
    assert_int_equal(join(context, BF_I64, N, N, &pairs), BF_E_IO);
    assert_null(pairs);
    assert_string_equal(bf_context_message(context),
                        "cannot make a temporary file in /nonexistent/bitfold: No such file or "
                        "directory");
}

TEST(files_that_cannot_grow) {
    bf_context *context = limited(LIMIT, directory, 1);
    struct rlimit before;
    int full = 0;
    make_elements(BF_I64, a, N, N, 1, ODD);
    make_elements(BF_I64, b, N, N, 2, ODD);
    want_pairs(BF_I64, N, N);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 1; i < 12; i++) {
        struct rlimit small = before;
        bf_pairs *pairs = NULL;
        small.rlim_cur = (rlim_t)i << 16;
        setrlimit(RLIMIT_FSIZE, &small);
        const bf_status status = join(context, BF_I64, N, N, &pairs);
        setrlimit(RLIMIT_FSIZE, &before);
        full += status == BF_E_IO;
        if (status == BF_OK)
            check_pairs(BF_I64, N, N, pairs);
        else
            assert_non_null(strstr(bf_context_message(context), "cannot write a temporary file"));
        if (status == BF_OK) bf_pairs_destroy(pairs);
    }
    assert_true(full > 2 && full < 11);
    bf_context_destroy(context);
    assert_int_equal(count_files(), 0);
}

static int count_down(void *arg, int64_t bytes) {
    (void)bytes;
    return --*(int *)arg < 0;
}

TEST(cancelled_joins) {
    int cancelled = 0;
    make_elements(BF_I64, a, N, N, 1, ODD);
    make_elements(BF_I64, b, N, N, 2, ODD);
    want_pairs(BF_I64, N, N);
    for (int i = 0; i < 400; i += 7 * DATA_SHARE) {
        OWN(bf_context) *context = limited(LIMIT, directory, 2);
        bf_pairs *pairs = NULL;
        int left = i;
        OK(bf_context_watch(context, &(bf_watch){sizeof(bf_watch), 0, count_down, &left}));
        const bf_status status = join(context, BF_I64, N, N, &pairs);
        assert_true(status == BF_OK || status == BF_E_CANCELLED);
        cancelled += status != BF_OK;
        if (status == BF_OK) {
            check_pairs(BF_I64, N, N, pairs);
            bf_pairs_destroy(pairs);
            i = 400;
        }
    }
    assert_true(cancelled > 1);
    assert_int_equal(count_files(), 0);
}

UNIT_TESTS(join_spilled, make_directory, remove_directory)
