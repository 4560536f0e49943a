/* Calls on the order of values: what fails writes nothing, whatever allocation fails, and no output
 * shares memory with an input. */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <bitfold/order.h>

enum {
    N = 40000,
    APART = 2 * N,
    WIDE = 2 * APART /* room for 128 bits */,
    SEGMENTS = 3,
    KNOWN = 1000
};

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
    bf_array to = first_of(&c->values, 2);
    to.dtype = BF_F64;
    return bf_quantile_axes(c->context, &c->x, &axis, 1, q, 2, &c->options, &to);
}
static bf_status nth(call *c) {
    const bf_array to = first_of(&c->values, 2);
    if (c->options.nan == BF_NAN_ERROR) return BF_E_NAN; /* it has no result that is NaN for one */
    return bf_nth_axes(c->context, &c->x, &axis, 1, positions, 2, &c->options, &to);
}
static bf_status median_of_slots(call *c) {
    const bf_array index = bf_array_of(BF_I64, slots, N);
    bf_array to = first_of(&c->values, 9);
    to.dtype = BF_F64;
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

static call open_call(bf_dtype dtype, int64_t step, bf_nan_policy nan) {
    call c = {.context = make_context(NULL, 2), .options = {.size = sizeof c.options, .nan = nan}};
    make_arrays();
    c.x = line_of(dtype, values, N, step);
    c.rows = line_of(BF_F64, payload, N, step);
    c.values = line_of(dtype, to_values, N, step);
    c.index = line_of(BF_I64, to_index, N, step);
    assert_int_equal(bf_quantiles_create(c.context, dtype, NULL, 0, NULL, &c.quantiles), BF_OK);
    return c;
}

static void close_call(call *c) {
    bf_quantiles_destroy(c->quantiles);
    bf_context_destroy(c->context);
}

TEST(nothing_is_written_without_memory) {
    needs_failing_malloc();
    for (int number = 0; number < CALLS; number++)
        for (int way = 0; way < 4; way++) {
            call c = open_call(way < 2 ? BF_F64 : BF_I128, 1 + way % 2, BF_NAN_PROPAGATE);
            FAIL_EACH_ALLOCATION(calls[number](&c)) check_nothing_is_written(&c, number);
            close_call(&c);
        }
}

TEST(nothing_is_written_for_a_nan_that_is_refused) {
    for (int number = 0; number < CALLS; number++)
        for (int64_t step = 1; step <= 2; step++) {
            call c = open_call(BF_F64, step, BF_NAN_ERROR);
            values[(N - 1) * step] = before[(N - 1) * step] = (double)NAN;
            assert_int_equal(calls[number](&c), BF_E_NAN);
            check_nothing_is_written(&c, number);
            close_call(&c);
        }
}

/* ---- memory that is shared ------------------------------------------------------------------- */

TEST(outputs_that_share_memory_are_refused) {
    call c = open_call(BF_F64, 1, BF_NAN_PROPAGATE);
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
TEST(strides_are_sorted_in_place) {
    call c = open_call(BF_F64, 2, BF_NAN_PROPAGATE);
    const bf_array back = line_of(BF_F64, values + APART - 2, N, -2);
    assert_int_equal(bf_sort(c.context, &back, 0, NULL, &back, NULL), BF_OK);
    for (int i = 2; i < APART; i += 2) assert_true(values[i] <= values[i - 2]);
    for (int i = 1; i < APART; i += 2) assert_true(values[i] == before[i]);
    close_call(&c);
}

/* On the CPU a sort on a stream is done when the call returns. It refuses what a GPU would wait
 * for, of arrays of two dimensions the lines that are not the last. */
TEST(a_sort_on_a_stream_is_that_sort) {
    for (int i128 = 0; i128 < 2; i128++) {
        call c = open_call(i128 ? BF_I128 : BF_F64, 1, BF_NAN_PROPAGATE);
        static char expected[sizeof to_values];
        assert_int_equal(sort(&c), BF_OK);
        memcpy(expected, to_values, sizeof expected);
        memset(to_values, 0x5a, sizeof to_values);
        const bf_array index = c.index;
        assert_int_equal(bf_sort_async(c.context, &c.x, 0, NULL, &c.values, &index), BF_OK);
        assert_memory_equal(to_values, expected, sizeof expected);
        assert_int_equal(bf_sort_async(c.context, &c.x, 0, NULL, &c.x, NULL), BF_OK);
        assert_memory_equal(values, expected, (size_t)N * (i128 ? 16 : 8));
        close_call(&c);
    }
    call c = open_call(BF_F64, 2, BF_NAN_PROPAGATE);
    assert_int_equal(bf_sort_async(c.context, &c.x, 0, NULL, &c.values, NULL), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c.context), "lines of a sort are contiguous"));
    const bf_array table = {values, BF_F64, 2, {3, 4}, {4, 1}},
                   to = {to_values, BF_F64, 2, {3, 4}, {4, 1}};
    assert_int_equal(bf_sort_async(c.context, &table, 0, NULL, &to, NULL), BF_E_ARGUMENT);
    c.options.nan = BF_NAN_ERROR;
    assert_int_equal(bf_sort_async(c.context, &table, 1, &c.options, &to, NULL), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c.context), "does not fail for a NaN"));
    check_nothing_is_written(&c, -2);
    assert_int_equal(bf_sort_async(c.context, &table, 1, NULL, &to, NULL), BF_OK);
    close_call(&c);
}

static bool are_same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Quantiles on a stream, too, and NaNs that are all skipped give a NaN there. */
TEST(quantiles_on_a_stream_are_those_quantiles) {
    OWN(bf_context) *c = make_context(NULL, 1);
    double x[] = {3, NAN, 1, 2, NAN, NAN, NAN, NAN}, found[4], at[] = {0, 0.75};
    const double medians[] = {2, (double)NAN}, quantiles[] = {1, (double)NAN, 2.5, (double)NAN};
    const bf_order_options skip = BF_ORDER_OPTIONS(.nan = BF_NAN_SKIP);
    const bf_order_options refuse = BF_ORDER_OPTIONS(.nan = BF_NAN_ERROR);
    const bf_array table = {x, BF_F64, 2, {2, 4}, {4, 1}}, turned = {x, BF_F64, 2, {4, 2}, {1, 4}};
    const bf_array two = bf_array_of(BF_F64, found, 2), four = {found, BF_F64, 2, {2, 2}, {2, 1}};
    assert_int_equal(bf_median_axes_async(c, &table, (int[]){1}, 1, &skip, &two), BF_OK);
    for (int i = 0; i < 2; i++) assert_true(are_same(found[i], medians[i]));
    assert_int_equal(bf_quantile_axes_async(c, &table, (int[]){-1}, 1, at, 2, &skip, &four), BF_OK);
    for (int i = 0; i < 4; i++) assert_true(are_same(found[i], quantiles[i]));
    assert_int_equal(bf_median_axes_async(c, &turned, (int[]){0}, 1, &skip, &two), BF_OK);
    assert_true(found[0] == 2);
    found[0] = 7;
    assert_int_equal(bf_median_axes_async(c, &turned, (int[]){1}, 1, &skip, &four), BF_E_SHAPE);
    assert_int_equal(bf_median_axes_async(c, &table, (int[]){1}, 1, &refuse, &two), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c), "does not fail for a NaN"));
    const bf_array columns = {x, BF_F64, 2, {4, 2}, {2, 1}};
    assert_int_equal(bf_median_axes_async(c, &columns, (int[]){0}, 1, &skip, &two), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c), "lines of a quantile are contiguous"));
    assert_true(found[0] == 7);
}

/* ---- dtypes of results ----------------------------------------------------------------------- */

static const int64_t large[] = {5, INT64_C(1000000000000000003), INT64_C(1000000000000000001)};

static bf_status select_large(bf_context *c, int64_t n, const double *of, int m, bf_dtype dtype,
                              void *to) {
    const bf_array x = bf_array_of(BF_I64, large, n);
    bf_array results = bf_array_of(dtype, to, m);
    results.ndim = m > 0;
    if (m == 0) return bf_median_axes(c, &x, &axis, 1, NULL, &results);
    return bf_quantile_axes(c, &x, &axis, 1, of, m, NULL, &results);
}

TEST(results_have_the_dtype_of_their_array) {
    static const double ends[] = {0, 1, 0.5}, quarter[] = {0.25, 1};
    int64_t found[3];
    uint64_t pairs[4];
    double rounded = 0;
    OWN(bf_context) *c = make_context(NULL, 1);
    assert_int_equal(select_large(c, 3, ends, 3, BF_I64, found), BF_OK);
    assert_true(found[0] == 5 && found[1] == large[1] && found[2] == large[2]);
    assert_int_equal(select_large(c, 3, NULL, 0, BF_I64, found), BF_OK);
    assert_true(found[0] == large[2]);
    assert_int_equal(select_large(c, 3, NULL, 0, BF_F64, &rounded), BF_OK);
    assert_true(rounded == 1e18);
    assert_int_equal(select_large(c, 2, NULL, 0, BF_I64, found), BF_E_DTYPE);
    assert_non_null(strstr(bf_context_message(c), "between two elements"));
    assert_true(found[0] == large[2]);
    assert_int_equal(select_large(c, 2, quarter, 2, BF_I64, found), BF_E_DTYPE);
    assert_int_equal(select_large(c, 2, quarter, 2, BF_F32, found), BF_E_DTYPE);
    assert_int_equal(select_large(c, 2, quarter, 2, BF_PAIR, pairs), BF_OK);
    memcpy(&rounded, pairs, sizeof rounded);
    assert_true(rounded == 2.5e17 && pairs[1] == BF_F64);
    assert_true(pairs[2] == (uint64_t)large[1] && pairs[3] == BF_I64);
}

TEST(whole_places_are_known_beforehand) {
    static const double of[] = {0, 0.5, 1, 0.25, 2, (double)NAN};
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 7, NULL, 0), 1);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 8, NULL, 0), 0);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 0, NULL, 0), 0);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 7, of, 3), 1);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 7, of, 4), 0);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 9, of, 4), 1);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LOWER, 7, of, 4), 1);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_AVERAGED_INVERTED_CDF, 7, of, 4), 1);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_AVERAGED_INVERTED_CDF, 8, of, 4), 0);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 9, of, 5), 0);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 9, of + 5, 1), 0);
    assert_int_equal(bf_quantile_is_whole(BF_QUANTILE_LINEAR, 9, NULL, 1), 0);
    assert_int_equal(bf_quantile_is_whole((bf_quantile_method)13, 9, of, 1), 0);
}

UNIT_TESTS(order_calls, NULL, NULL)
