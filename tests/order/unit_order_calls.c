/* Calls on the order of values: what fails writes nothing, whatever allocation fails, and no output
 * shares memory with an input. */
#include "tests/support/oracle.h"
#ifndef SANITIZED
#include "tests/support/failing_malloc.h"
#endif

#include <bitfold/order.h>

enum { N = 40000, WIDE = 2 * N, SEGMENTS = 3, KNOWN = 1000 };

static double values[WIDE], payload[WIDE], before[2 * WIDE], to_values[WIDE];
static int64_t to_index[WIDE], offsets[SEGMENTS + 1] = {5, 10, 30000, N}, slots[N];

/* Elements lie behind one another, or (step 2) apart: then they are copied. */
static bf_array line_of(bf_dtype dtype, void *data, int64_t n, int64_t step) {
    bf_array x = bf_array_of(dtype, data, n);
    x.strides[0] = step;
    return x;
}

typedef struct call {
    bf_context *context;
    bf_array x, rows, values, index;
    bf_order_options options;
    bf_quantiles *quantiles;
} call;

/* ---- every call that writes ------------------------------------------------------------------ */

static const int axis = 0;
static const double q[] = {0.1, 0.5};
static const int64_t positions[] = {7, 11};

static bf_array first_of(const bf_array *x, int64_t n) {
    bf_array first = *x;
    first.shape[0] = n;
    return first;
}

static bf_status sort(call *c) {
    return bf_sort(c->context, &c->x, 0, &c->options, &c->values, &c->index);
}
static bf_status sort_in_place(call *c) {
    return bf_sort(c->context, &c->x, 0, &c->options, &c->x, &c->index);
}
static bf_status sort_segments(call *c) {
    const bf_array to = bf_array_of(BF_I64, offsets, SEGMENTS + 1);
    return bf_sort_segments(c->context, &c->x, &to, &c->options, &c->values, &c->index);
}
static bf_status sort_rows(call *c) {
    return bf_sort_rows(c->context, &c->x, &c->rows, 1, &c->options);
}
static bf_status top(call *c) {
    const bf_array to = first_of(&c->values, KNOWN), index = first_of(&c->index, KNOWN);
    return bf_top(c->context, &c->x, 0, KNOWN, &c->options, &to, &index);
}
static bf_status quantile(call *c) {
    const bf_array to = first_of(&c->values, 2);
    return bf_quantile_axes(c->context, &c->x, &axis, 1, q, 2, &c->options, &to);
}
static bf_status nth(call *c) {
    const bf_array to = first_of(&c->values, 2);
    if (c->options.nan == BF_NAN_ERROR) return BF_E_NAN; /* it has no result that is NaN for one */
    return bf_nth_axes(c->context, &c->x, &axis, 1, positions, 2, &c->options, &to);
}
static bf_status median_of_slots(call *c) {
    const bf_array index = bf_array_of(BF_I64, slots, N), to = first_of(&c->values, 9);
    return bf_median_index(c->context, &c->x, &index, &c->options, &to);
}
static bf_status unique(call *c) {
    int64_t n;
    return bf_unique(c->context, &c->x, &c->options, &c->values, &c->index, &n);
}
static bf_status absorb(call *c) {
    if (c->options.nan == BF_NAN_ERROR) return BF_E_NAN; /* that is the result's to say */
    return bf_quantiles_absorb(c->quantiles, &c->x);
}

static bf_status (*const calls[])(call *) = {sort,   sort_in_place, sort_segments, sort_rows,
                                             top,    quantile,      nth,           median_of_slots,
                                             unique, absorb};
enum { CALLS = sizeof calls / sizeof *calls };

/* ---- nothing is written ---------------------------------------------------------------------- */

static void make_arrays(void) {
    uint64_t seed = 1;
    for (int i = 0; i < WIDE; i++) {
        values[i] = (double)(next_random(&seed) % 100000);
        payload[i] = i;
    }
    for (int i = 0; i < N; i++) slots[i] = (int64_t)(next_random(&seed) % 9);
    memset(to_values, 0x5a, sizeof to_values);
    memset(to_index, 0x5a, sizeof to_index);
    memcpy(before, values, sizeof values);
    memcpy(before + WIDE, payload, sizeof payload);
}

static bool is_filled(const void *data, size_t bytes) {
    const unsigned char *x = data;
    return x[0] == 0x5a && memcmp(x, x + 1, bytes - 1) == 0;
}

static void check_nothing_is_written(const call *c, int number) {
    bf_quantiles_info info = {.size = sizeof info};
    assert_int_equal(bf_quantiles_describe(c->quantiles, &info), BF_OK);
    if (memcmp(values, before, sizeof values) != 0 ||
        memcmp(payload, before + WIDE, sizeof payload) != 0 ||
        !is_filled(to_values, sizeof to_values) || !is_filled(to_index, sizeof to_index) ||
        info.count != 0)
        fail_msg("call %d has failed, and written", number);
}

static call open_call(int64_t step, bf_nan_policy nan) {
    call c = {.context = make_context(NULL, 2), .options = {.size = sizeof c.options, .nan = nan}};
    make_arrays();
    c.x = line_of(BF_F64, values, N, step);
    c.rows = line_of(BF_F64, payload, N, step);
    c.values = line_of(BF_F64, to_values, N, step);
    c.index = line_of(BF_I64, to_index, N, step);
    assert_int_equal(bf_quantiles_create(c.context, BF_F64, NULL, 0, NULL, &c.quantiles), BF_OK);
    return c;
}

static void close_call(call *c) {
    bf_quantiles_destroy(c->quantiles);
    bf_context_destroy(c->context);
}

#ifndef SANITIZED
static void nothing_is_written_without_memory(void **unused) {
    (void)unused;
    for (int number = 0; number < CALLS; number++)
        for (int64_t step = 1; step <= 2; step++) {
            call c = open_call(step, BF_NAN_PROPAGATE);
            bf_status status = BF_E_MEMORY;
            for (int k = 0; status != BF_OK; k++) {
                atomic_store(&until_failure, k);
                status = calls[number](&c);
                atomic_store(&until_failure, -1);
                if (status == BF_OK) break;
                assert_int_equal(status, BF_E_MEMORY);
                check_nothing_is_written(&c, number);
            }
            close_call(&c);
        }
}
#endif

static void nothing_is_written_for_a_nan_that_is_refused(void **unused) {
    (void)unused;
    for (int number = 0; number < CALLS; number++)
        for (int64_t step = 1; step <= 2; step++) {
            call c = open_call(step, BF_NAN_ERROR);
            values[(N - 1) * step] = before[(N - 1) * step] = (double)NAN;
            assert_int_equal(calls[number](&c), BF_E_NAN);
            check_nothing_is_written(&c, number);
            close_call(&c);
        }
}

/* ---- memory that is shared ------------------------------------------------------------------- */

static void outputs_that_share_memory_are_refused(void **unused) {
    (void)unused;
    call c = open_call(1, BF_NAN_PROPAGATE);
    bf_array next = line_of(BF_F64, values + 1, N, 1),
             back = line_of(BF_F64, values + N - 1, N, -1), words = line_of(BF_I64, values, N, 1),
             same = line_of(BF_I64, to_values, N, 1), once = line_of(BF_F64, to_values, N, 0);
    bf_context *context = c.context;
    assert_int_equal(bf_sort(context, &c.x, 0, NULL, &next, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_sort(context, &c.x, 0, NULL, &back, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_sort(context, &c.x, 0, NULL, &c.x, &words), BF_E_ARGUMENT);
    assert_int_equal(bf_sort(context, &c.x, 0, NULL, NULL, &words), BF_E_ARGUMENT);
    assert_int_equal(bf_sort(context, &c.x, 0, NULL, &c.values, &same), BF_E_ARGUMENT);
    assert_int_equal(bf_sort(context, &c.x, 0, NULL, &once, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_top(context, &c.x, 0, N, NULL, &c.x, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_sort_rows(context, &c.x, &next, 1, NULL), BF_E_ARGUMENT);
    const bf_array two[] = {c.rows, c.rows};
    assert_int_equal(bf_sort_rows(context, &c.x, two, 2, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_unique(context, &c.x, NULL, &back, NULL, &(int64_t){0}), BF_E_ARGUMENT);
    check_nothing_is_written(&c, -1);
    close_call(&c);
}

/* What lies backwards and apart is sorted where it is. */
static void strides_are_sorted_in_place(void **unused) {
    (void)unused;
    call c = open_call(2, BF_NAN_PROPAGATE);
    const bf_array back = line_of(BF_F64, values + WIDE - 2, N, -2);
    assert_int_equal(bf_sort(c.context, &back, 0, NULL, &back, NULL), BF_OK);
    for (int i = 2; i < WIDE; i += 2) assert_true(values[i] <= values[i - 2]);
    for (int i = 1; i < WIDE; i += 2) assert_true(values[i] == before[i]);
    close_call(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifndef SANITIZED
        cmocka_unit_test(nothing_is_written_without_memory),
#endif
        cmocka_unit_test(nothing_is_written_for_a_nan_that_is_refused),
        cmocka_unit_test(outputs_that_share_memory_are_refused),
        cmocka_unit_test(strides_are_sorted_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
