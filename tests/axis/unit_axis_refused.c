/* Reductions of many at once refuse what is wrong with one line, and then write nothing. */
#include "tests/support/oracle.h"

#include "tests/support/failing_malloc.h"
#include "tests/support/unit.h"

enum { ROWS = 6, COLUMNS = 4, SOIL = 0x5a };

static bf_context *c;
static double x[ROWS * COLUMNS], values[ROWS * COLUMNS + 1];
static uint8_t fits[ROWS * COLUMNS];
static bf_array matrix;

static int set_up(void **unused) {
    (void)unused;
    c = make_context(NULL, 2);
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = i;
    matrix = (bf_array){x, BF_F64, 2, {ROWS, COLUMNS}, {COLUMNS, 1}};
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    bf_context_destroy(c);
    return 0;
}

static void soil(void) {
    memset(values, SOIL, sizeof values);
    memset(fits, SOIL, sizeof fits);
}

static void assert_clean(void) {
    for (size_t i = 0; i < sizeof values; i++) assert_int_equal(((uint8_t *)values)[i], SOIL);
    for (size_t i = 0; i < sizeof fits; i++) assert_int_equal(fits[i], SOIL);
}

/* The call fails so, writes nothing, and says this. */
#define REFUSED(call, status, text)                                                                \
    do {                                                                                           \
        soil();                                                                                    \
        assert_int_equal(call, status);                                                            \
        assert_clean();                                                                            \
        if (strstr(bf_context_message(c), text) == NULL)                                           \
            fail_msg("\"%s\" does not say \"%s\"", bf_context_message(c), text);                   \
    } while (0)

static bf_status reduce_axes(const bf_array *array, const int *axes, int n, const bf_array *out) {
    return bf_reduce_axes(c, BF_SUM, array, axes, n, NULL, out, NULL);
}

TEST(axes_that_are_none) {
    bf_array out = bf_array_of(BF_F64, values, COLUMNS);
    REFUSED(reduce_axes(&matrix, (int[]){2}, 1, &out), BF_E_ARGUMENT, "axis 2 of an array of 2");
    REFUSED(reduce_axes(&matrix, (int[]){-3}, 1, &out), BF_E_ARGUMENT, "axis -3 of");
    REFUSED(reduce_axes(&matrix, (int[]){0, -2}, 2, &out), BF_E_ARGUMENT, "axis 0 is given twice");
    REFUSED(reduce_axes(&matrix, (int[]){0, 1, 0}, 3, &out), BF_E_ARGUMENT, "3 axes of");
    REFUSED(reduce_axes(&matrix, NULL, -1, &out), BF_E_ARGUMENT, "-1 axes of");
}

TEST(operations_that_are_none) {
    int axis = 0;
    bf_array out = bf_array_of(BF_F64, values, COLUMNS), bad = matrix;
    bf_value empty = {.dtype = BF_F32};
    REFUSED(bf_reduce_axes(c, BF_DESCRIBE, &matrix, &axis, 1, NULL, &out, NULL), BF_E_ARGUMENT,
            "no reduction to a value has number 13");
    REFUSED(bf_reduce_axes(c, BF_DOT, &matrix, &axis, 1, NULL, &out, NULL), BF_E_ARGUMENT,
            "dot takes two arrays");
    REFUSED(bf_reduce_axes(c, BF_MIN, &matrix, &axis, 1, &BF_REDUCE_OPTIONS(.empty = &empty), &out,
                           NULL),
            BF_E_ARGUMENT, "results of nothing is f32: f64");
    bad.dtype = (bf_dtype)77;
    REFUSED(reduce_axes(&bad, &axis, 1, &out), BF_E_DTYPE, "dtype number 77");
    bad = matrix;
    bad.shape[0] = ROWS - 1;
    REFUSED(bf_dot_axes(c, &matrix, &bad, &axis, 1, NULL, &out, NULL), BF_E_SHAPE,
            "the shapes [6, 4] and [5, 4] differ");
    assert_int_equal(bf_reduce_dtype(BF_DESCRIBE, BF_F64, NULL), BF_NONE);
    assert_int_equal(bf_reduce_dtype(BF_SUM, BF_NONE, NULL), BF_NONE);
    assert_int_equal(bf_reduce_dtype(BF_MIN, BF_F64, &BF_REDUCE_OPTIONS(.out_dtype = BF_F32)),
                     BF_NONE);
}

TEST(outputs_that_do_not_fit) {
    int axis = 0;
    bf_array out = bf_array_of(BF_F64, values, COLUMNS + 1), truth = bf_array_of(BF_BOOL, fits, 3);
    REFUSED(reduce_axes(&matrix, &axis, 1, &out), BF_E_SHAPE, "have not the shape");
    out = bf_array_of(BF_F32, values, COLUMNS);
    REFUSED(reduce_axes(&matrix, &axis, 1, &out), BF_E_DTYPE, "the values are f64");
    out = bf_array_of(BF_F64, values, COLUMNS);
    REFUSED(bf_reduce_axes(c, BF_SUM, &matrix, &axis, 1, NULL, &out, &truth), BF_E_SHAPE,
            "the shapes of values and fits differ");
    truth = bf_array_of(BF_U8, fits, COLUMNS);
    REFUSED(bf_reduce_axes(c, BF_SUM, &matrix, &axis, 1, NULL, &out, &truth), BF_E_DTYPE,
            "the fits are bool");
    truth = bf_array_of(BF_BOOL, values, COLUMNS);
    REFUSED(bf_reduce_axes(c, BF_SUM, &matrix, &axis, 1, NULL, &out, &truth), BF_E_ARGUMENT,
            "values and fits share memory");
    out.strides[0] = 0;
    REFUSED(reduce_axes(&matrix, &axis, 1, &out), BF_E_ARGUMENT, "share memory with each other");
    out = bf_array_of(BF_F64, x + ROWS * COLUMNS - 1, COLUMNS);
    REFUSED(reduce_axes(&matrix, &axis, 1, &out), BF_E_ARGUMENT, "in the memory of an input");
}

TEST(memory_that_repeats_without_end) {
    bf_array out = {values, BF_F64, 0, {0}, {0}}, many = {x, BF_F64, 1, {BF_REPEATS_MAX + 1}, {0}};
    REFUSED(reduce_axes(&many, (int[]){0}, 1, &out), BF_E_ARGUMENT, "2^40");
}

TEST(data_that_are_refused) {
    int axis = 0;
    int64_t big[3][2] = {{1, INT64_MAX}, {2, 1}, {3, 0}};
    double nans[2][2] = {{1, 2}, {3, (double)NAN}};
    bf_array whole = {big, BF_I64, 2, {3, 2}, {2, 1}}, real = {nans, BF_F64, 2, {2, 2}, {2, 1}};
    bf_array none = {x, BF_F64, 2, {0, 2}, {2, 1}};
    bf_array out = bf_array_of(BF_I64, values, 2), reals = bf_array_of(BF_F64, values, 2);
    REFUSED(bf_reduce_axes(c, BF_SUM, &whole, &axis, 1, NULL, &out, NULL), BF_E_OVERFLOW,
            "the sum of result 1 does not fit i64");
    REFUSED(bf_reduce_axes(c, BF_SUM, &real, &axis, 1, &BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR),
                           &reals, NULL),
            BF_E_NAN, "NaN");
    REFUSED(bf_reduce_axes(c, BF_MAX, &none, &axis, 1, NULL, &reals, NULL), BF_E_EMPTY,
            "the max of no elements (result 0)");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bf_status reduce_segments(const int64_t *offsets, int64_t n) {
    bf_array places = bf_array_of(BF_I64, offsets, n);
    bf_array out = {values, BF_F64, 2, {n - 1, COLUMNS}, {COLUMNS, 1}};
    return bf_reduce_segments(c, BF_SUM, &matrix, &places, NULL, &out, NULL);
}

TEST(offsets_that_are_wrong) {
    bf_array out = {values, BF_F64, 2, {2, COLUMNS}, {COLUMNS, 1}};
    bf_array few = bf_array_of(BF_I64, (int64_t[]){0, 1}, 2), real = bf_array_of(BF_F64, x, 3);
    REFUSED(reduce_segments((int64_t[]){0, 4, 3}, 3), BF_E_ARGUMENT, "offset 2 is 3");
    REFUSED(reduce_segments((int64_t[]){-1, 4, 5}, 3), BF_E_ARGUMENT, "offset 0 is -1");
    REFUSED(reduce_segments((int64_t[]){0, 7, 6}, 3), BF_E_ARGUMENT, "offset 1 is 7");
    REFUSED(bf_reduce_segments(c, BF_SUM, &matrix, &few, NULL, &out, NULL), BF_E_SHAPE,
            "there are 2 offsets, not 3");
    REFUSED(bf_reduce_segments(c, BF_SUM, &matrix, &real, NULL, &out, NULL), BF_E_DTYPE,
            "whole numbers of 32 or 64 bits, not f64");
    out.shape[1]--;
    REFUSED(bf_reduce_segments(c, BF_SUM, &matrix, &few, NULL, &out, NULL), BF_E_SHAPE,
            "have not the shape");
}

static bf_status reduce_index(bf_dtype dtype, const void *index, int64_t slots) {
    bf_array places = bf_array_of(dtype, index, ROWS);
    bf_array out = {values, BF_F64, 2, {slots, COLUMNS}, {COLUMNS, 1}};
    return bf_reduce_index(c, BF_SUM, &matrix, &places, NULL, &out, NULL);
}

TEST(indices_that_are_wrong) {
    REFUSED(reduce_index(BF_I32, (int32_t[]){0, 1, 2, 5, 3, -1}, 5), BF_E_ARGUMENT,
            "index 3 is 5, outside 0 to 4");
    REFUSED(reduce_index(BF_I64, (int64_t[]){0, 1, 2, 4, 3, -1}, 5), BF_E_ARGUMENT,
            "index 5 is -1, outside 0 to 4");
    REFUSED(reduce_index(BF_U64, (uint64_t[]){0, UINT64_MAX, 2, 4, 3, 1}, 5), BF_E_ARGUMENT,
            "index 1 is");
    REFUSED(reduce_index(BF_I32, (int32_t[ROWS]){0}, 0), BF_E_ARGUMENT, "no slots");
    REFUSED(reduce_index(BF_I32, (int32_t[ROWS]){0}, BF_SLOTS_MAX + 1), BF_E_ARGUMENT, "2^31");
}

TEST(runs_without_room) {
    int64_t runs = 0, first[2] = {9, 9};
    bf_array keys = bf_array_of(BF_I32, (int32_t[]){1, 1, 2, 3, 3, 3}, 6);
    bf_array out = {values, BF_F64, 2, {3, COLUMNS}, {COLUMNS, 1}};
    bf_array firsts = bf_array_of(BF_I64, first, 2);
    REFUSED(bf_reduce_runs(c, BF_SUM, &keys, &matrix, NULL, &firsts, &out, NULL, &runs), BF_E_SHAPE,
            "there are 3 runs, and room for 2");
    assert_int_equal(runs, 3);
    assert_int_equal(first[0], 9);
    keys.shape[0] = 5;
    REFUSED(bf_reduce_runs(c, BF_SUM, &keys, &matrix, NULL, &firsts, &out, NULL, &runs), BF_E_SHAPE,
            "not one key for each row");
}

/* ---- on a stream ----------------------------------------------------------------------------- */

TEST(calls_on_a_stream_tell_what_is_wrong) {
    int64_t wrong = 7;
    double nan = (double)NAN, few[2];
    bf_array offsets = bf_array_of(BF_I64, (int64_t[]){0, 9, 6}, 3);
    bf_array index = bf_array_of(BF_I32, (int32_t[]){0, 1, 0, 1, 2, 3}, ROWS);
    bf_array out = {values, BF_F64, 2, {2, COLUMNS}, {COLUMNS, 1}};
    assert_int_equal(
        bf_reduce_segments_async(c, BF_SUM, &matrix, &offsets, NULL, &out, NULL, &wrong), BF_OK);
    assert_int_equal(wrong, 1);
    assert_int_equal(bf_reduce_index_async(c, BF_SUM, &matrix, &index, NULL, &out, NULL, &wrong),
                     BF_OK);
    assert_int_equal(wrong, 4);
    out.shape[0] = 4;
    assert_int_equal(bf_reduce_index_async(c, BF_SUM, &matrix, &index, NULL, &out, NULL, &wrong),
                     BF_OK);
    assert_int_equal(wrong, -1);
    assert_true(values[0] == 0 + 8 && values[3 * COLUMNS] == 20);
    bf_array none = {x, BF_F64, 2, {0, 2}, {2, 1}}, results = bf_array_of(BF_F64, few, 2);
    assert_int_equal(bf_reduce_axes_async(c, BF_MIN, &none, (int[]){0}, 1, NULL, &results, NULL),
                     BF_OK);
    assert_memory_equal(&few[1], &nan, sizeof nan);
    REFUSED(bf_reduce_axes_async(c, BF_SUM, &matrix, (int[]){1}, 1,
                                 &BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR), &out, NULL),
            BF_E_ARGUMENT, "fails for a NaN later, or never");
    const bf_reduce_options later = BF_REDUCE_OPTIONS(.later = 1);
    REFUSED(bf_reduce_index_async(c, BF_SUM, &matrix, &index, &later, &out, NULL, &wrong),
            BF_E_ARGUMENT, "no place for what is wrong");
    REFUSED(bf_reduce_axes_async(c, BF_MIN, &none, (int[]){0}, 1, &later, &results, NULL),
            BF_E_EMPTY, "result 0");
    REFUSED(bf_reduce_axes_async(c, BF_SUM, &matrix, (int[]){1}, 1, &BF_REDUCE_OPTIONS(.later = 2),
                                 &out, NULL),
            BF_E_ARGUMENT, "later is 2");
    assert_int_equal(bf_context_failure(c), BF_OK);
    out = (bf_array){values, BF_F64, 2, {4, COLUMNS}, {1, 4}};
    REFUSED(bf_reduce_index_async(c, BF_SUM, &matrix, &index, NULL, &out, NULL, &wrong),
            BF_E_ARGUMENT, "the values are contiguous");
}

/* ---- memory ---------------------------------------------------------------------------------- */

TEST(memory_that_is_missing) {
    bf_array index = bf_array_of(BF_I32, (int32_t[]){0, 1, 0, 1, 2, 3}, ROWS);
    bf_array out = {values, BF_F64, 2, {4, COLUMNS}, {1, 4}};
    bf_status status = BF_E_MEMORY;
    int failed = 0;
    needs_failing_malloc();
    for (; status == BF_E_MEMORY; failed++) {
        OWN(bf_context) *fresh = make_context(NULL, 1);
        soil();
        atomic_store(&until_failure, failed);
        status = bf_reduce_index(fresh, BF_PROD, &matrix, &index, NULL, &out, NULL);
        atomic_store(&until_failure, -1);
        if (status != BF_OK) assert_clean();
    }
    assert_int_equal(status, BF_OK);
    assert_true(failed > 5);
}

UNIT_TESTS(axis_refused, set_up, tear_down)
