/* Scans that fail or are cancelled write nothing, whatever allocation fails, in place too; and
 * scans on a stream, which on the CPU are done when they return.
 *
 * Builds: release, asan. */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { N = 120000, APART = 2 * N, KEPT = 1000 };

static double values[APART], before[APART], results[APART];

typedef struct call {
    bf_context *context;
    bf_array x, to;
    bf_state *state;
    bf_scan_options options;
} call;

static bf_array line_of(double *data, int64_t step) {
    bf_array x = bf_array_of(BF_F64, data, N);
    x.strides[0] = step;
    return x;
}

static bf_status scan(call *c) {
    return bf_scan(c->context, BF_SUM, &c->x, 0, &c->options, &c->to);
}
static bf_status scan_in_place(call *c) {
    return bf_scan(c->context, BF_SUM, &c->x, 0, &c->options, &c->x);
}
static bf_status scan_after(call *c) { return bf_state_scan(c->state, &c->x, &c->options, &c->to); }
static bf_status scan_segments(call *c) {
    const int32_t cuts[] = {0, 3, 3, N / 2, N};
    const bf_array offsets = bf_array_of(BF_I32, cuts, 5);
    return bf_scan_segments(c->context, BF_SUM, &c->x, &offsets, &c->options, &c->to);
}
static bf_status (*const calls[])(call *) = {scan, scan_in_place, scan_after, scan_segments};
enum { CALLS = 4 };

/* The state has absorbed the first elements. */
static call open_call(int64_t step) {
    call c = {.context = make_context(NULL, 2), .options = {.size = sizeof c.options}};
    uint64_t seed = 1;
    for (int i = 0; i < APART; i++)
        values[i] = before[i] = (double)(int64_t)(next_random(&seed) >> 40) * 0x1p-10;
    for (int i = 0; i < APART; i++) results[i] = 7;
    c.x = line_of(values, step);
    c.to = line_of(results, step);
    const bf_array some = bf_array_of(BF_F64, values, KEPT);
    assert_int_equal(bf_state_create(c.context, BF_SUM, BF_F64, &c.state), BF_OK);
    assert_int_equal(bf_state_absorb(c.state, &some), BF_OK);
    return c;
}

static void close_call(call *c) {
    bf_state_destroy(c->state);
    bf_context_destroy(c->context);
}

static void check_nothing_is_written(const call *c, int number) {
    bf_state_info info = {.size = sizeof info};
    bool same = memcmp(values, before, sizeof values) == 0;
    for (int i = 0; i < APART; i++) same &= results[i] == 7;
    bf_state_describe(c->state, &info);
    if (!same || info.count != KEPT) fail_msg("call %d has failed, and written", number);
}

#ifndef SANITIZED
TEST(nothing_is_written_without_memory) {
    for (int number = 0; number < CALLS; number++)
        for (int way = 0; way < 4; way++) {
            call c = open_call(1 + way % 2);
            c.options.exclusive = way / 2;
            bf_status status = BF_E_MEMORY;
            int failed = 0;
            for (int k = 0; status != BF_OK; k++) {
                atomic_store(&until_failure, k);
                status = calls[number](&c);
                atomic_store(&until_failure, -1);
                if (status == BF_OK) break;
                failed++;
                assert_int_equal(status, BF_E_MEMORY);
                check_nothing_is_written(&c, number);
            }
            assert_true(failed > 0);
            close_call(&c);
        }
}
#endif

static int cancel(void *left, int64_t bytes) {
    (void)bytes;
    return (*(int *)left)-- == 0;
}

TEST(nothing_is_written_when_cancelled) {
    for (int number = 0; number < CALLS; number++)
        for (int64_t step = 1; step <= 2; step++) {
            call c = open_call(step);
            bf_status status = BF_E_CANCELLED;
            for (int ticks = 0; status != BF_OK; ticks++) {
                int left = ticks;
                const bf_watch watch = BF_WATCH(.tick = cancel, .arg = &left);
                assert_int_equal(bf_context_watch(c.context, &watch), BF_OK);
                status = calls[number](&c);
                if (status == BF_OK) break;
                assert_int_equal(status, BF_E_CANCELLED);
                check_nothing_is_written(&c, number);
            }
            close_call(&c);
        }
}

TEST(nothing_is_written_for_a_nan_that_is_refused) {
    for (int number = 0; number < CALLS; number++)
        for (int64_t step = 1; step <= 2; step++) {
            call c = open_call(step);
            c.options.nan = BF_NAN_ERROR;
            values[(N - 1) * step] = before[(N - 1) * step] = (double)NAN;
            assert_int_equal(calls[number](&c), BF_E_NAN);
            check_nothing_is_written(&c, number);
            close_call(&c);
        }
}

/* ---- on a stream ----------------------------------------------------------------------------- */

/* On the CPU a call on a stream is done when it returns. What the data make wrong is no failure
 * there, but where options say that it is one later. */
static void check_queued(bf_reduction op, bf_dtype dtype, bf_scan_options options, const void *data,
                         const void *expected, bf_status later) {
    OWN(bf_context) *c = make_context(NULL, 1);
    char found[4 * 8], memory[4 * 8];
    memcpy(memory, data, sizeof memory);
    const bf_array x = bf_array_of(dtype, memory, 4), to = bf_array_of(dtype, found, 4);
    options.size = sizeof options;
    assert_int_equal(bf_scan_async(c, op, &x, 0, &options, &to), BF_OK);
    assert_memory_equal(found, expected, sizeof found);
    memset(found, 0x5a, sizeof found);
    options.later = 1;
    assert_int_equal(bf_scan_async(c, op, &x, 0, &options, &to), later);
    if (later == BF_OK) assert_memory_equal(found, expected, sizeof found);
    for (size_t i = 0; later != BF_OK && i < sizeof found; i++) assert_int_equal(found[i], 0x5a);
    assert_int_equal(bf_context_synchronize(c), BF_OK);
    assert_int_equal(bf_scan_async(c, op, &x, 0, NULL, &x), BF_OK); /* in place */
}

TEST(a_scan_on_a_stream_goes_on_or_fails_at_once) {
    const int64_t large[] = {INT64_MAX, 1, 2, 3};
    const int64_t wrapped[] = {INT64_MAX, INT64_MIN, INT64_MIN + 2, INT64_MIN + 5};
    const int64_t least[] = {0, INT64_MAX, 1, 1};
    const double some[] = {1e20, 1, -1e20, 2}, sums[] = {1e20, 1e20, 1, 3};
    const double odd[] = {NAN, 1, -1, 2}, minima[] = {NAN, 1, -1, -1};
    const bf_scan_options plain = {.nan = BF_NAN_PROPAGATE};
    check_queued(BF_SUM, BF_F64, plain, some, sums, BF_OK);
    check_queued(BF_SUM, BF_I64, plain, large, wrapped, BF_E_OVERFLOW);
    check_queued(BF_MIN, BF_I64, (bf_scan_options){.exclusive = 1}, large, least, BF_E_EMPTY);
    check_queued(BF_MIN, BF_F64, (bf_scan_options){.nan = BF_NAN_SKIP}, odd, minima, BF_E_EMPTY);
}

/* Offsets of 4 rows, the first wrong one of which has this place; -1: all are right. */
static void check_offsets(const int32_t *cuts, int64_t n, int64_t place, const double *expected) {
    OWN(bf_context) *c = make_context(NULL, 1);
    double found[4] = {7, 7, 7, 7}, ones[4] = {1, 1, 1, 1};
    int64_t wrong = 99;
    const bf_array x = bf_array_of(BF_F64, ones, 4), to = bf_array_of(BF_F64, found, 4);
    const bf_array offsets = bf_array_of(BF_I32, (void *)(uintptr_t)cuts, n);
    const bf_scan_options later = BF_SCAN_OPTIONS(.later = 1);
    assert_int_equal(bf_scan_segments_async(c, BF_SUM, &x, &offsets, NULL, &to, &wrong), BF_OK);
    assert_int_equal(wrong, place);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(bf_scan_segments_async(c, BF_SUM, &x, &offsets, &later, &to, NULL),
                     place < 0 ? BF_OK : BF_E_ARGUMENT);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(bf_scan_segments_async(c, BF_SUM, &x, &offsets, &later, &to, &wrong),
                     BF_E_ARGUMENT);
    assert_int_equal(bf_scan_segments_async(c, BF_SUM, &x, &offsets, NULL, &to, NULL),
                     BF_E_ARGUMENT);
}

TEST(segments_on_a_stream_tell_where_offsets_are_wrong) {
    const double sums[] = {1, 2, 1, 2}, untouched[] = {7, 7, 7, 7};
    check_offsets((const int32_t[]){0, 2, 2, 4}, 4, -1, sums);
    check_offsets((const int32_t[]){0, 3, 2, 4}, 4, 2, untouched);
    check_offsets((const int32_t[]){0, 3, 5, 4}, 4, 2, untouched);
    check_offsets((const int32_t[]){-1, 3, 4}, 3, 0, untouched);
    check_offsets((const int32_t[]){1, 3, 4}, 3, 0, untouched);
    check_offsets((const int32_t[]){0, 3, 3}, 3, 2, untouched);
    check_offsets((const int32_t[]){0}, 1, 0, untouched);
}

TEST(what_a_gpu_would_wait_for_is_refused) {
    call c = open_call(2);
    const bf_rolling_options rolling = BF_ROLLING_OPTIONS(.window = 2, .nan = BF_NAN_ERROR);
    assert_int_equal(bf_scan_async(c.context, BF_SUM, &c.x, 0, &c.options, &c.to), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c.context), "the elements are contiguous"));
    c.x.strides[0] = 1;
    assert_int_equal(bf_scan_async(c.context, BF_SUM, &c.x, 0, &c.options, &c.to), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c.context), "the values are contiguous"));
    c.to.strides[0] = 1;
    c.options.nan = BF_NAN_ERROR;
    assert_int_equal(bf_scan_async(c.context, BF_SUM, &c.x, 0, &c.options, &c.to), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c.context), "fails for a NaN later, or never"));
    assert_int_equal(bf_rolling_async(c.context, BF_SUM, &c.x, 0, &rolling, &c.to), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c.context), "fails for a NaN later, or never"));
    check_nothing_is_written(&c, 0);
    close_call(&c);
}

/* Windows on a stream are those windows, and a NaN that is refused fails at once on the CPU. */
TEST(windows_on_a_stream_are_those_windows) {
    OWN(bf_context) *c = make_context(NULL, 1);
    double data[] = {1, 2, NAN, 4, 5}, found[5];
    const double sums[] = {1, 3, 2, 4, 9}, counts[] = {1, 2, 1, 1, 2};
    const bf_array x = bf_array_of(BF_F64, data, 5), to = bf_array_of(BF_F64, found, 5);
    bf_rolling_options o =
        BF_ROLLING_OPTIONS(.window = 2, .min_count = -1, .nan = BF_NAN_SKIP, .later = 1);
    assert_int_equal(bf_rolling_async(c, BF_SUM, &x, 0, &o, &to), BF_OK);
    assert_memory_equal(found, sums, sizeof found);
    assert_int_equal(bf_rolling_count_async(c, &x, 0, &o, &to), BF_OK);
    assert_memory_equal(found, counts, sizeof found);
    o.nan = BF_NAN_ERROR;
    assert_int_equal(bf_rolling_async(c, BF_SUM, &x, 0, &o, &to), BF_E_NAN);
    assert_memory_equal(found, counts, sizeof found);
}

UNIT_TESTS(scan_calls, NULL, NULL)
