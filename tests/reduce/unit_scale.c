/* Scales: integers that stand for themselves times 10^-scale. Results are divided before the one
 * rounding, states merge whatever their scales, and no integer is lost in silence. */
#include "tests/reduce/states.h"
#include "tests/support/unit.h"

enum { N = 200 };

static const bf_dtype integers[] = {BF_I8, BF_I16, BF_I32, BF_I64, BF_U8, BF_U16, BF_U32, BF_U64};
enum { INTEGERS = sizeof integers / sizeof *integers };

static int64_t data[N];

/* Reduces the data in all ways that round. */
static void check_rounded(bf_dtype dtype, int ddof, int scale) {
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_SUMSQ, BF_NORM};
    const bf_array a = bf_array_of(dtype, data, N);
    exact_sums s;
    exact_init(&s);
    exact_add(&s, dtype, data, NULL, N);
    for (int i = 0; i < 6; i++) {
        bf_value v;
        const bf_reduce_options options =
            BF_REDUCE_OPTIONS(.out_dtype = BF_F64, .ddof = ddof, .scale = scale);
        assert_int_equal(bf_reduce(context, ops[i], &a, &options, &v), BF_OK);
        const double e = exact_scaled(&s, ops[i], ddof, scale, BF_F64);
        if (memcmp(&v.as.f64, &e, sizeof e) != 0)
            fail_msg("%s of %s, scale %d: %a, not %a", bf_reduction_name(ops[i]),
                     bf_dtype_name(dtype), scale, v.as.f64, e);
    }
    exact_clear(&s);
}

TEST(results_are_divided_before_they_are_rounded) {
    for (int c = 0; c < 40 * INTEGERS; c++) {
        const int scale = c % (BF_SCALE_MOST_I128 + 1), ddof = c % 2;
        const bf_dtype dtype = integers[c % INTEGERS];
        fill(dtype, data, N, (data_kind)(c / INTEGERS % KIND_COUNT), (uint64_t)c);
        check_rounded(dtype, ddof, scale);
    }
}

/* Some steps of the division by the power of ten have no rest, and the next ones have. */
TEST(units_may_end_with_many_zeros) {
    uint64_t seed = 2;
    int64_t unit = 1;
    for (int zeros = 0; zeros < 17; zeros++, unit *= 10) {
        for (int i = 0; i < N; i++) data[i] = (int64_t)(next_random(&seed) % 90) * unit;
        for (int scale = zeros; scale <= BF_SCALE_MOST_I128; scale += 3)
            check_rounded(BF_I64, scale % 2, scale);
    }
}

static void check_text(bf_value v, const char *text, double number) {
    char found[BF_VALUE_TEXT];
    bf_value_format(&v, found);
    assert_string_equal(found, text);
    assert_true(bf_value_f64(&v) == number);
}

static bf_value value_of(int64_t units, int scale) {
    return (bf_value){.dtype = BF_I64, .scale = scale, .as.i64 = units};
}

TEST(values_are_written_as_decimals) {
    int64_t whole;
    check_text(value_of(0, 5), "0", 0);
    check_text(value_of(1, 1), "0.1", 0.1);
    check_text(value_of(-1, 18), "-0.000000000000000001", -1e-18);
    check_text(value_of(1250, 2), "12.5", 12.5);
    check_text(value_of(-1200, 2), "-12", -12);
    check_text(value_of(INT64_MIN, 18), "-9.223372036854775808", -9.223372036854775808);
    check_text(value_of(INT64_MAX, 1), "922337203685477580.7", 922337203685477580.7);
    bf_value v = {.dtype = BF_I192, .scale = 36, .as.i192 = {0, 0, 1}}; /* 2^128 */
    check_text(v, "340.282366920938463463374607431768211456", 0x1p128 / 1e36);
    v = value_of(-1200, 2);
    assert_int_equal(bf_value_i64(&v, &whole), BF_OK);
    assert_int_equal(whole, -12);
    v = value_of(125, 1);
    assert_int_equal(bf_value_i64(&v, &whole), BF_E_OVERFLOW);
}

TEST(integers_have_the_scale_of_their_operation) {
    static const int32_t x[] = {150, -25, 3};
    const bf_array a = bf_array_of(BF_I32, x, 3);
    const bf_reduce_options options = BF_REDUCE_OPTIONS(.scale = 2);
    static const struct {
        bf_reduction op;
        const char *text;
    } cases[] = {{BF_SUM, "1.28"},
                 {BF_SUMSQ, "2.3134"},
                 {BF_MIN, "-0.25"},
                 {BF_MAX, "1.5"},
                 {BF_ARGMIN, "1"},
                 {BF_ARGMAX, "0"},
                 {BF_MEAN, "0.4266666666666667"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bf_value v;
        char text[BF_VALUE_TEXT];
        assert_int_equal(bf_reduce(context, cases[i].op, &a, &options, &v), BF_OK);
        bf_value_format(&v, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* The state of a third of the data, in units of its own scale. */
static bf_state *third(bf_reduction op, int i, const int scales[3]) {
    static int64_t x[N];
    const int64_t first = i * (N / 3), n = N / 3;
    int64_t unit = 1;
    for (int s = scales[i]; s < 4; s++) unit *= 10;
    for (int64_t k = 0; k < n; k++) x[k] = data[first + k] / unit;
    bf_state *s = make_state(context, op, BF_I64);
    const bf_array a = bf_array_of(BF_I64, x, n);
    assert_int_equal(bf_state_rescale(s, scales[i]), BF_OK);
    if (is_ordered(op, BF_I64)) assert_int_equal(bf_state_seek(s, first), BF_OK);
    assert_int_equal(absorb(s, op, &a, &a), BF_OK);
    return s;
}

TEST(states_merge_whatever_their_scales) {
    static const int orders[3][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
    static const int scales[3] = {1, 4, 2}, all[3] = {4, 4, 4};
    uint64_t seed = 1;
    for (int i = 0; i < N; i++) data[i] = (int64_t)(next_random(&seed) % 2000001 - 1000000) * 1000;
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        if (op == BF_PROD) continue;
        for (int o = 0; o < 3; o++) {
            OWN(bf_state) *whole = third((bf_reduction)op, 0, all);
            OWN(bf_state) *into = third((bf_reduction)op, orders[o][0], scales);
            for (int i = 1; i < 3; i++) {
                OWN(bf_state) *same = third((bf_reduction)op, i, all);
                OWN(bf_state) *part = third((bf_reduction)op, orders[o][i], scales);
                saved_state before = save(part);
                assert_int_equal(bf_state_merge(whole, same), BF_OK);
                assert_int_equal(bf_state_merge(into, part), BF_OK);
                assert_saves_as(part, &before);
            }
            assert_same_form(into, whole);
        }
    }
}

TEST(saved_states_keep_their_scale) {
    static const int64_t x[] = {123, -7};
    const bf_array a = bf_array_of(BF_I64, x, 2);
    OWN(bf_state) *s = make_state(context, BF_SUM, BF_I64), *back = NULL;
    bf_state_info info = {.size = sizeof info};
    bf_value v;
    assert_int_equal(bf_state_rescale(s, 3), BF_OK);
    assert_int_equal(bf_state_absorb(s, &a), BF_OK);
    saved_state saved = save(s);
    assert_int_equal(bf_state_load(context, saved.bytes, saved.size, &back), BF_OK);
    assert_same_form(s, back);
    assert_int_equal(bf_state_describe(back, &info), BF_OK);
    assert_int_equal(info.scale, 3);
    assert_int_equal(bf_state_result(back, NULL, &v), BF_OK);
    check_text(v, "0.116", 0.116);
    for (int scale = -1; scale < 256;
         scale += scale < 0 ? BF_SCALE_MOST_I128 + 2 : 60) { /* one that was never saved */
        memcpy(saved.bytes + saved_offset(saved.bytes, saved.size, "state") + 8, &scale, 4);
        sign(&saved);
        bf_state *none = NULL;
        assert_int_equal(bf_state_load(context, saved.bytes, saved.size, &none), BF_E_STATE);
    }
}

TEST(what_does_not_fit_is_refused_and_changes_nothing) {
    static const int64_t x[] = {INT64_MAX / 5};
    const bf_array a = bf_array_of(BF_I64, x, 1);
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        OWN(bf_state) *s = make_state(context, (bf_reduction)op, BF_I64);
        assert_int_equal(absorb(s, (bf_reduction)op, &a, &a), BF_OK);
        if (op == BF_PROD) {
            assert_int_equal(bf_state_rescale(s, 1), BF_E_ARGUMENT);
        } else {
            bf_state_info info = {.size = sizeof info};
            saved_state before = save(s);
            assert_int_equal(bf_state_rescale(s, 18), BF_E_OVERFLOW);
            assert_saves_as(s, &before);
            bf_state_describe(s, &info);
            assert_int_equal(info.scale, 0);
        }
    }
}

TEST(scales_that_there_are_not_are_refused) {
    static const double x[] = {1};
    const bf_array floats = bf_array_of(BF_F64, x, 1), whole = bf_array_of(BF_I64, x, 1);
    bf_reduce_options options = BF_REDUCE_OPTIONS(.scale = 1);
    bf_value v;
    assert_int_equal(bf_reduce(context, BF_SUM, &floats, &options, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(context, BF_PROD, &whole, &options, &v), BF_E_ARGUMENT);
    options.scale = BF_SCALE_MOST_I128 + 1;
    assert_int_equal(bf_reduce(context, BF_SUM, &whole, &options, &v), BF_E_ARGUMENT);
    options.scale = -1;
    assert_int_equal(bf_reduce(context, BF_SUM, &whole, &options, &v), BF_E_ARGUMENT);
    OWN(bf_state) *s = make_state(context, BF_SUM, BF_I64);
    assert_int_equal(bf_state_rescale(s, 4), BF_OK);
    assert_int_equal(bf_state_rescale(s, 3), BF_E_ARGUMENT);
    assert_int_equal(bf_state_rescale(s, BF_SCALE_MOST_I128 + 1), BF_E_ARGUMENT);
    options.scale = 1;
    assert_int_equal(bf_state_result(s, &options, &v), BF_E_ARGUMENT);
}

/* Groups of 1.5 and of 2.25 by keys of one digit and of two: as groups of two digits all along. */
TEST(groups_merge_in_a_finer_unit) {
    static const bf_aggregate aggregates[] = {{BF_SUM, BF_I64}, {BF_VAR, BF_I64}, {BF_MAX, BF_I64}};
    static const int64_t keys[] = {5, -3, 5, 20}, values[] = {15, -7, 2, INT64_MAX / 100};
    static const int digits[] = {2, 2, 2}, none[] = {0, 0, 0}, many[] = {3, 0, 3};
    int64_t fine_keys[4], fine_values[4];
    for (int i = 0; i < 4; i++) {
        fine_keys[i] = keys[i] * 10;
        fine_values[i] = values[i] * 100;
    }
    bf_groups *g[2];
    for (int k = 0; k < 2; k++) {
        const bf_groups_options o =
            BF_GROUPS_OPTIONS(.key = BF_I64, .count = 3, .aggregates = aggregates);
        const bf_array of = bf_array_of(BF_I64, k ? fine_keys : keys, 4),
                       v = bf_array_of(BF_I64, k ? fine_values : values, 4);
        const bf_array *arrays[] = {&v, &v, &v};
        assert_int_equal(bf_groups_create(context, &o, &g[k]), BF_OK);
        assert_int_equal(bf_groups_absorb(g[k], &of, arrays), BF_OK);
    }
    assert_int_equal(bf_groups_rescale(g[0], 19, none), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_rescale(g[0], -1, none), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_rescale(g[0], 18, none), BF_E_OVERFLOW);
    assert_int_equal(bf_groups_rescale(g[0], 1, many), BF_E_OVERFLOW);
    assert_int_equal(bf_groups_rescale(g[0], 1, digits), BF_OK);
    assert_same_form(g[0], g[1]);
    for (int k = 0; k < 2; k++) bf_groups_destroy(g[k]);
}

UNIT_TESTS(scale, set_up, tear_down)
