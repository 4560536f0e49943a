/* Quantiles and medians of groups beyond the memory of a context: the bytes of no limit, whatever
 * the dtypes, methods and limits, and medians by a plain sort; what fails writes nothing. */
#include "tests/support/spilling.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 30000, LIMIT = 1 << 18, QUANTILES = 3 };

static const double quantiles[QUANTILES] = {0.25, 0, 0.9};
enum { ODD = 331 /* one element in so many is a NaN, one an infinity, one a zero */ };

static char keys[16 * N], values[16 * N];

/* What a call makes. */
typedef struct answer {
    bf_status status;
    int64_t groups;
    char listed[16 * N], results[QUANTILES * 16 * N];
} answer;
static answer wanted, found;

static bf_dtype dtype_of(int i) { return i < DTYPE_COUNT ? all_dtypes[i] : BF_I128; }
typedef struct question {
    bf_dtype key, value;
    int64_t n;
    bool median;
    bool same; /* results have the values' dtype */
    int64_t room;
    bf_order_options options;
} question;

static bf_dtype result_dtype(const question *q) {
    if (q->same) return q->value;
    return q->median ? bf_median_dtype(q->value) : bf_quantile_dtype(q->value, q->options.method);
}

static void ask(bf_context *context, const question *q, answer *to) {
    const int64_t n = q->n, room = q->room;
    const bf_array x = {values, q->value, 1, {n}, {1}}, k = {keys, q->key, 1, {n}, {1}},
                   listed = {to->listed, q->key, 1, {room}, {1}};
    bf_array results = {to->results, result_dtype(q), 2, {QUANTILES, room}, {room, 1}};
    memset(to, 7, sizeof *to);
    if (q->median) {
        results.ndim = 1;
        results.shape[0] = room;
        results.strides[0] = 1;
        to->status = bf_median_groups(context, &x, &k, &q->options, &listed, &results, &to->groups);
        return;
    }
    to->status = bf_quantile_groups(context, &x, &k, quantiles, QUANTILES, &q->options, &listed,
                                    &results, &to->groups);
}

/* The answer within a limit is that without one, and the call is refused if nothing may spill.
 * Returns whether it is. */
static bool check_answer(const question *q, int64_t limit, int threads) {
    bf_context *free_one = limited(0, NULL, 1), *context = limited(limit, directory, threads),
               *without = limited(limit, NULL, 1);
    ask(free_one, q, &wanted);
    ask(context, q, &found);
    if (memcmp(&wanted, &found, sizeof found) != 0)
        fail_msg("keys of %s, values of %s: %d is not %d, or bytes differ (%s)",
                 bf_dtype_name(q->key), bf_dtype_name(q->value), (int)found.status,
                 (int)wanted.status, bf_context_message(context));
    if (wanted.status != BF_OK)
        assert_string_equal(bf_context_message(context), bf_context_message(free_one));
    ask(without, q, &found);
    bf_context_destroy(without);
    bf_context_destroy(context);
    bf_context_destroy(free_one);
    return found.status == BF_E_MEMORY;
}

static question ask_of(bf_dtype key, bf_dtype value, bool median) {
    return (question){key, value, N, median, false, N, BF_ORDER_OPTIONS(.method = 0)};
}

TEST(the_bytes_of_no_limit) {
    int failed = 0;
    for (int i = 0; i <= DTYPE_COUNT; i++) {
        question q = ask_of(dtype_of(i), dtype_of(DTYPE_COUNT - i), i % 2 == 0);
        for (int many = 0; many < 2; many++) {
            make_elements(q.key, keys, N, many ? N : 5, 1, ODD);
            make_elements(q.value, values, N, N, 2, ODD);
            q.options.method = many ? BF_QUANTILE_LINEAR : BF_QUANTILE_NEAREST;
            q.options.nan = many ? BF_NAN_PROPAGATE : BF_NAN_SKIP;
            q.options.scale = is_float(q.value) || many ? 0 : 2;
            for (int64_t limit = LIMIT; limit <= 4 * LIMIT; limit *= 2)
                failed += check_answer(&q, limit, 1 + (i + many) % 2);
        }
    }
    assert_true(failed > 2 * DTYPE_COUNT); /* so these calls spilled */
    assert_int_equal(count_files(), 0);
}

/* One group is all, or most, of what there is: memory does not hold it either. */
TEST(a_group_beyond_memory) {
    static const bf_dtype dtypes[] = {BF_F64, BF_I64, BF_F32, BF_U8, BF_F16, BF_I128};
    int failed = 0;
    for (int i = 0; i < 12; i++) {
        question q = ask_of(i % 2 ? BF_I64 : BF_PAIR, dtypes[i / 2], i % 3 == 0);
        make_elements(q.key, keys, N, 1, 1, ODD);
        if (i % 2) make_elements(q.key, keys, N / 8, N, 1, ODD);
        make_elements(q.value, values, N, i % 4 < 2 ? N : 3, 2, ODD);
        failed += check_answer(&q, LIMIT, 1 + i % 2);
    }
    assert_int_equal(failed, 12);
    assert_int_equal(count_files(), 0);
}

/* Numbers of which the median is found by a sort of all rows. */
typedef struct row {
    int64_t key, value;
} row;

static int compare(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

TEST(medians_by_a_sort) {
    static row rows[N];
    uint64_t seed = 11;
    OWN(bf_context) *context = limited(LIMIT, directory, 2);
    for (int i = 0; i < N; i++) {
        rows[i].key = (int64_t)(next_random(&seed) % (N / 7)) - 500;
        rows[i].value = (int64_t)(next_random(&seed) % 4096);
        memcpy(keys + 8 * i, &rows[i].key, 8);
        memcpy(values + 8 * i, &rows[i].value, 8);
    }
    qsort(rows, N, sizeof *rows, compare);
    const question q = ask_of(BF_I64, BF_I64, true);
    ask(context, &q, &found);
    assert_int_equal(found.status, BF_OK);
    int64_t g = 0;
    for (int64_t begin = 0, end; begin < N; begin = end, g++) {
        for (end = begin; end < N && rows[end].key == rows[begin].key;) end++;
        const int64_t below = rows[(begin + end - 1) / 2].value,
                      above = rows[(begin + end) / 2].value;
        double median;
        int64_t key;
        memcpy(&median, found.results + 8 * g, 8);
        memcpy(&key, found.listed + 8 * g, 8);
        assert_true(median == (double)(below + above) / 2 && key == rows[begin].key);
    }
    assert_int_equal(g, found.groups);
}

/* Arrays in every other place, of which none is copied as a whole; groups whose keys nobody wants.
 */
TEST(arrays_with_strides) {
    OWN(bf_context) *free_one = limited(0, NULL, 1), *context = limited(LIMIT, directory, 1);
    const int64_t n = N / 2;
    make_elements(BF_I128, keys, N, 9000, 1, ODD);
    make_elements(BF_I128, values, N, N, 2, ODD);
    const bf_array x = {values + 16 * (N - 1), BF_I128, 1, {n}, {-2}},
                   k = {keys, BF_I128, 1, {n}, {2}};
    for (int i = 0; i < 2; i++) {
        answer *to = i ? &found : &wanted;
        memset(to, 0, sizeof *to);
        const bf_array results = {to->results, BF_F64, 2, {QUANTILES, n}, {1, QUANTILES}};
        to->status = bf_quantile_groups(i ? context : free_one, &x, &k, quantiles, QUANTILES, NULL,
                                        NULL, &results, &to->groups);
    }
    assert_int_equal(found.status, BF_OK);
    assert_memory_equal(&found, &wanted, sizeof found);
}

/* ---- what is refused ------------------------------------------------------------------------- */

TEST(refusals_are_those_of_no_limit) {
    int failed = 0;
    make_elements(BF_I64, keys, N, N / 3, 1, ODD);
    make_elements(BF_F64, values, N, N, 2, ODD);
    question q = ask_of(BF_I64, BF_F64, true);
    q.room = 2;
    failed += check_answer(&q, LIMIT, 1); /* BF_E_SHAPE */
    q.room = N;
    q.options.nan = BF_NAN_ERROR;
    failed += check_answer(&q, LIMIT, 1);
    assert_int_equal(wanted.status, BF_E_NAN);
    q.options.nan = BF_NAN_SKIP;
    for (int64_t i = 0; i < N; i++) store_bits(values + 8 * i, 8, i == N - 1 ? ~0ull : 0);
    store_bits(keys + 8 * (N - 1), 8, 1ull << 62); /* a group of one NaN, among the last */
    failed += check_answer(&q, LIMIT, 1);
    assert_int_equal(wanted.status, BF_E_EMPTY);
    q.value = BF_I64;
    q.same = true;
    for (int64_t i = 0; i < N; i++) store_bits(values + 8 * i, 8, (uint64_t)i);
    failed += check_answer(&q, LIMIT, 1); /* a number between two */
    assert_int_equal(wanted.status, BF_E_DTYPE);
    assert_int_equal(failed, 4);
    assert_int_equal(count_files(), 0);
}

static void check_untouched(void) {
    for (size_t i = 0; i < sizeof found.results; i++) assert_int_equal(found.results[i], 7);
    for (size_t i = 0; i < sizeof found.listed; i++) assert_int_equal(found.listed[i], 7);
}

TEST(limits_that_are_too_small) {
    question q = ask_of(BF_I64, BF_F64, false);
    bf_context *free_one = limited(0, NULL, 1);
    int failed = 0;
    make_elements(BF_I64, keys, N, N / 3, 1, ODD);
    make_elements(BF_F64, values, N, N, 2, ODD);
    ask(free_one, &q, &wanted);
    for (int64_t limit = 1; limit < LIMIT; limit += limit / 8 + 1) {
        OWN(bf_context) *context = limited(limit, directory, 1);
        ask(context, &q, &found);
        failed += found.status == BF_E_MEMORY;
        if (found.status == BF_E_MEMORY)
            check_untouched();
        else
            assert_memory_equal(&found, &wanted, sizeof found);
    }
    assert_true(failed > 20);
    bf_context_destroy(free_one);
    assert_int_equal(count_files(), 0);
}

TEST(files_that_cannot_be_made_or_grow) {
    bf_context *nowhere = limited(LIMIT, "/nonexistent/bitfold", 1),
               *context = limited(LIMIT, directory, 1);
    const question q = ask_of(BF_I64, BF_F64, true);
    struct rlimit before;
    int full = 0;
    make_elements(BF_I64, keys, N, N / 3, 1, ODD);
    make_elements(BF_F64, values, N, N, 2, ODD);
    ask(nowhere, &q, &found);
    assert_int_equal(found.status, BF_E_IO);
    check_untouched();
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 10; i++) {
        struct rlimit small = before;
        small.rlim_cur = (rlim_t)i << 16;
        setrlimit(RLIMIT_FSIZE, &small);
        ask(context, &q, &found);
        setrlimit(RLIMIT_FSIZE, &before);
        full += found.status == BF_E_IO;
        assert_true(found.status == BF_OK || found.status == BF_E_IO);
        if (found.status != BF_OK) check_untouched();
    }
    assert_true(full > 2 && full < 10);
    bf_context_destroy(nowhere);
    bf_context_destroy(context);
    assert_int_equal(count_files(), 0);
}

static int count_down(void *arg, int64_t bytes) {
    (void)bytes;
    return --*(int *)arg < 0;
}

TEST(cancelled_calls) {
    const question q = ask_of(BF_I64, BF_F64, true);
    int cancelled = 0;
    make_elements(BF_I64, keys, N, N / 3, 1, ODD);
    make_elements(BF_F64, values, N, N, 2, ODD);
    for (int i = 0; i < 400; i += 3 * DATA_SHARE) {
        OWN(bf_context) *context = limited(LIMIT, directory, 2);
        int left = i;
        OK(bf_context_watch(context, &(bf_watch){sizeof(bf_watch), 0, count_down, &left}));
        ask(context, &q, &found);
        assert_true(found.status == BF_OK || found.status == BF_E_CANCELLED);
        cancelled += found.status != BF_OK;
        if (found.status != BF_OK) check_untouched();
        if (found.status == BF_OK) i = 400;
    }
    assert_true(cancelled > 0);
    assert_int_equal(count_files(), 0);
}

UNIT_TESTS(groups_spilled, make_directory, remove_directory)
