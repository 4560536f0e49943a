/* Scans that fail or are cancelled write nothing, whatever allocation fails, in place too.
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
static void nothing_is_written_without_memory(void **unused) {
    (void)unused;
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

static void nothing_is_written_when_cancelled(void **unused) {
    (void)unused;
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

static void nothing_is_written_for_a_nan_that_is_refused(void **unused) {
    (void)unused;
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

UNIT_TESTS(scan_calls) {
    const struct CMUnitTest tests[] = {
#ifndef SANITIZED
        cmocka_unit_test(nothing_is_written_without_memory),
#endif
        cmocka_unit_test(nothing_is_written_when_cancelled),
        cmocka_unit_test(nothing_is_written_for_a_nan_that_is_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
