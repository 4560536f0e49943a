/* Scans after many states: the chunks of lines, or of segments, have the results of the whole, and
 * the states absorb them; whatever the op, the dtype, the shape and the threads.
 *
 * Builds: release, asan, tsan. */
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { MOST = 400000, CUTS = 4 };

static char data[8 * MOST], whole[8 * MOST], found[8 * MOST];

typedef struct shape {
    int64_t outer, length, inner;
} shape;

static const shape shapes[] = {
    {1, 3001, 1}, {300, 17, 1}, {1, 500, 40}, {7, 90, 5}, {2, 100001, 1}};

static const bf_reduction ops[] = {BF_SUM, BF_PROD, BF_MIN, BF_MAX};

/* Rows [first, first + n) along the axis. */
static bf_array part_of(const shape *s, bf_dtype dtype, char *memory, int64_t first, int64_t n) {
    char *at = memory + (size_t)(first * s->inner) * bf_dtype_size(dtype);
    return (bf_array){at, dtype, 3, {s->outer, n, s->inner}, {s->length * s->inner, s->inner, 1}};
}

/* Integers whose sums and products fit. */
static void fill_tamely(const shape *s, bf_reduction op, bf_dtype dtype, uint64_t seed) {
    const int64_t n = s->outer * s->length * s->inner;
    const size_t bytes = bf_dtype_size(dtype);
    fill(dtype, data, n, is_float(dtype) && seed % 2 ? KIND_CANCEL : KIND_NARROW, seed);
    for (int64_t i = 0; i < n && !is_float(dtype); i++) {
        const uint64_t x = next_random(&seed) % 50;
        store_bits(data + (size_t)i * bytes, bytes, op == BF_PROD ? (i % 4099 == 13 ? 2 : 1) : x);
    }
    for (int64_t i = 5; i < n && is_float(dtype); i += 701)
        memset(data + (size_t)i * bytes, 0, bytes);
}

/* The states are those that have absorbed the whole. */
static void check_saved(bf_states *states, bf_states *expected, const char *what) {
    if (!same_form(states, expected)) fail_msg("%s: the states differ", what);
}

static void check_same(const char *what, size_t bytes, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(found + (size_t)i * bytes, whole + (size_t)i * bytes, bytes))
            fail_msg("%s: result %lld is %llx, not %llx", what, (long long)i,
                     (unsigned long long)load_bits(found + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(whole + (size_t)i * bytes, bytes));
}

static void check_lines(bf_context *c, const shape *s, bf_reduction op, bf_dtype dtype,
                        int exclusive, uint64_t seed) {
    const bf_value none = {.dtype = dtype, .as.u64 = 3};
    const bf_scan_options o = BF_SCAN_OPTIONS(.exclusive = exclusive, .empty = &none);
    const bf_dtype to = bf_scan_dtype(op, dtype, &o);
    const int64_t lines = s->outer * s->inner,
                  cut[CUTS + 1] = {0, 1, s->length / 3, s->length / 3, s->length};
    char what[200];
    OWN(bf_states) *states = NULL, *expected = NULL;
    snprintf(what, sizeof what, "%s of %s, (%lld, %lld, %lld)%s", bf_reduction_name(op),
             bf_dtype_name(dtype), (long long)s->outer, (long long)s->length, (long long)s->inner,
             exclusive ? ", exclusive" : "");
    fill_tamely(s, op, dtype, seed);
    const bf_array all = part_of(s, dtype, data, 0, s->length);
    const bf_array out = part_of(s, to, whole, 0, s->length);
    assert_int_equal(bf_scan(c, op, &all, 1, &o, &out), BF_OK);
    assert_int_equal(bf_states_create(c, op, dtype, lines, &states), BF_OK);
    assert_int_equal(bf_states_create(c, op, dtype, lines, &expected), BF_OK);
    assert_int_equal(bf_states_absorb_axes(expected, &all, (int[]){1}, 1), BF_OK);
    for (int i = 0; i < CUTS; i++) {
        const int64_t n = cut[i + 1] - cut[i];
        const bf_array x = part_of(s, dtype, data, cut[i], n);
        const bf_array y = part_of(s, to, found, cut[i], n);
        if (bf_states_scan(states, &x, 1, &o, &y) != BF_OK)
            fail_msg("%s: %s", what, bf_context_message(c));
        if (to == dtype && i == CUTS - 1) { /* in place it is the same */
            OWN(bf_states) *same = NULL;
            assert_int_equal(bf_states_create(c, op, dtype, lines, &same), BF_OK);
            assert_int_equal(bf_states_scan(same, &all, 1, &o, &all), BF_OK);
            assert_memory_equal(data, whole, (size_t)(lines * s->length) * bf_dtype_size(to));
        }
    }
    check_same(what, bf_dtype_size(to), lines * s->length);
    check_saved(states, expected, what);
}

TEST(chunks_of_lines_go_on) {
    const int step = CASE_STEP > 1 ? 3 * CASE_STEP + 1 : DATA_SHARE > 1 ? 3 : 1;
    for (int threads = SEVERAL_THREADS ? 4 : 1; threads <= 4; threads += 3) {
        OWN(bf_context) *c = make_context(NULL, threads);
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (int i = (int)k % step; i < DTYPE_COUNT * 8; i += step) {
                const bf_dtype dtype = all_dtypes[i / 8];
                const bf_reduction op = ops[i % 4];
                if ((op == BF_PROD && is_float(dtype))) continue;
                check_lines(c, &shapes[k], op, dtype, i / 4 % 2, (uint64_t)i);
            }
    }
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Each segment has what a state of its own gives. */
static void check_segments(bf_context *c, bf_reduction op, int64_t width, int64_t rows) {
    enum { SEGMENTS = 5 };
    const shape s = {1, rows, width};
    const bf_scan_options o = BF_SCAN_OPTIONS(.exclusive = 0);
    const int64_t cuts[2][SEGMENTS + 1] = {{0, 1, 1, rows / 3, rows - 2, rows},
                                           {0, rows / 2, rows / 2 + 1, rows / 2 + 2, rows, rows}};
    OWN(bf_states) *states = NULL;
    bf_state *of[SEGMENTS][8];
    assert_true(width <= 8);
    assert_int_equal(bf_states_create(c, op, BF_F64, SEGMENTS * width, &states), BF_OK);
    for (int64_t k = 0; k < SEGMENTS * width; k++)
        assert_int_equal(bf_state_create(c, op, BF_F64, &of[k / width][k % width]), BF_OK);
    for (int turn = 0; turn < 2; turn++) {
        const bf_array offsets = bf_array_of(BF_I64, cuts[turn], SEGMENTS + 1);
        fill(BF_F64, data, rows * width, KIND_CANCEL, (uint64_t)(rows + turn));
        const bf_array x = {data, BF_F64, 2, {rows, width}, {width, 1}};
        const bf_array y = {found, BF_F64, 2, {rows, width}, {width, 1}};
        assert_int_equal(bf_states_scan_segments(states, &x, &offsets, &o, &y), BF_OK);
        for (int64_t k = 0; k < SEGMENTS * width; k++) {
            const int64_t first = cuts[turn][k / width], n = cuts[turn][k / width + 1] - first;
            bf_array a = part_of(&s, BF_F64, data + 8 * (k % width), first, n), b = a;
            a.ndim = b.ndim = 1;
            a.shape[0] = b.shape[0] = n;
            a.strides[0] = b.strides[0] = width;
            b.data = whole + ((char *)a.data - data);
            assert_int_equal(bf_state_scan(of[k / width][k % width], &a, &o, &b), BF_OK);
        }
        check_same("segments", 8, rows * width);
    }
    for (int64_t k = 0; k < SEGMENTS * width; k++) bf_state_destroy(of[k / width][k % width]);
}

TEST(chunks_of_segments_go_on) {
    for (int threads = SEVERAL_THREADS ? 4 : 1; threads <= 4; threads += 3) {
        OWN(bf_context) *c = make_context(NULL, threads);
        for (int i = 0; i < 4; i++) {
            if (ops[i] == BF_PROD) continue;
            check_segments(c, ops[i], 1, 100);
            check_segments(c, ops[i], 3, 2000);
            check_segments(c, ops[i], 1, 250000);
        }
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

TEST(a_failure_changes_nothing) {
    OWN(bf_context) *c = make_context(NULL, 1);
    const int64_t offsets[] = {0, 3};
    int64_t large[] = {INT64_MAX, 1, 2, 3}, results[] = {7, 7, 7, 7};
    double odd[] = {1, NAN};
    OWN(bf_states) *states = NULL, *before = NULL, *doubles = NULL;
    bf_array x = {large, BF_I64, 2, {2, 2}, {2, 1}}, y = {results, BF_I64, 2, {2, 2}, {2, 1}};
    const bf_array cuts = bf_array_of(BF_I64, offsets, 2), two = bf_array_of(BF_F64, odd, 2);
    const bf_array flat = bf_array_of(BF_I64, large, 4), out = bf_array_of(BF_I64, results, 4);
    const bf_scan_options reverse = BF_SCAN_OPTIONS(.reverse = 1),
                          nan = BF_SCAN_OPTIONS(.nan = BF_NAN_ERROR);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_I64, 2, &states), BF_OK);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_I64, 2, &before), BF_OK);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_F64, 1, &doubles), BF_OK);
    x.data = large + 1, x.shape[0] = y.shape[0] = 1;
    assert_int_equal(bf_states_scan(states, &x, 0, NULL, &y), BF_OK);
    assert_int_equal(bf_states_absorb_axes(before, &x, (int[]){0}, 1), BF_OK);
    results[0] = results[1] = 7;
    x.data = large, x.shape[0] = y.shape[0] = 2;
    assert_int_equal(bf_states_scan(states, &x, 0, NULL, &y), BF_E_OVERFLOW);
    assert_int_equal(bf_states_scan(states, &x, 0, &reverse, &y), BF_E_ARGUMENT);
    assert_int_equal(bf_states_scan(states, &x, 2, NULL, &y), BF_E_ARGUMENT);
    assert_int_equal(bf_states_scan(states, &two, 0, NULL, &two), BF_E_DTYPE);
    assert_int_equal(bf_states_scan(states, &flat, 0, NULL, &out), BF_E_SHAPE);
    assert_int_equal(bf_states_scan(doubles, &two, 0, &nan, &two), BF_E_NAN);
    assert_int_equal(bf_states_scan_segments(states, &flat, &cuts, NULL, &out), BF_E_SHAPE);
    assert_int_equal(bf_states_scan_segments(states, &x, &cuts, NULL, &y), BF_E_ARGUMENT);
    for (int i = 0; i < 4; i++) assert_int_equal(results[i], 7);
    assert_true(odd[0] == 1);
    check_saved(states, before, "after failures");
}

UNIT_TESTS(scan_states, NULL, NULL)
