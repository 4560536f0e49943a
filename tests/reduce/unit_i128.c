/* Integers of 128 bits: every reduction but prod, exactly; states that also take those of smaller
 * integers; saved forms. The oracle is MPFR. */
#include "tests/reduce/states.h"
#include "tests/support/unit.h"

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

enum { MOST = 70000 };

static i128 data[MOST], other[MOST];

static const i128 greatest = (i128)(~(u128)0 >> 1), least = -(i128)(~(u128)0 >> 1) - 1;

typedef enum size_of_data { FULL, SMALL, DIGITS_38, ENDS, ROUND, SIZES } size_of_data;

static i128 random_i128(size_of_data size, uint64_t *seed) {
    const i128 x = (i128)((u128)next_random(seed) << 64 | next_random(seed));
    i128 digits = 1;
    for (int i = 0; i < 38; i++) digits *= 10;
    switch (size) {
    case SMALL: return (int64_t)x % 1000;
    case DIGITS_38: return x % digits;
    case ROUND: return (int64_t)x % 100000 * (digits / 1000000000000);
    case ENDS: return x & 1 ? greatest - (x >> 1 & 1) : least + (x >> 1 & 1);
    default: return x;
    }
}

static void make(size_of_data size, int64_t n, uint64_t seed) {
    for (int64_t i = 0; i < n; i++) {
        data[i] = random_i128(size, &seed);
        other[i] = random_i128(size, &seed);
    }
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bf_status reduce(bf_reduction op, const bf_array *a, const bf_array *b,
                        const bf_reduce_options *options, bf_value *v) {
    return op == BF_DOT ? bf_dot(context, a, b, options, v) : bf_reduce(context, op, a, options, v);
}

static void check_integer(bf_reduction op, const exact_sums *s, const bf_array *a,
                          const bf_array *b) {
    char text[BF_VALUE_TEXT], found[BF_VALUE_TEXT];
    mpfr_srcptr exact = op == BF_SUM ? s->x : op == BF_DOT ? s->xy : s->xx;
    bf_value v;
    const bf_status status = reduce(op, a, b, NULL, &v);
    if (mpfr_cmpabs_ui(exact, 0) != 0 && mpfr_get_exp(exact) > 191) {
        assert_int_equal(status, BF_E_OVERFLOW);
        return;
    }
    assert_int_equal(status, BF_OK);
    exact_integer(s, op, text);
    bf_value_format(&v, found);
    assert_string_equal(found, text);
}

static void check_sums(const bf_array *a, const bf_array *b, int64_t n, int scale) {
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_SUMSQ, BF_NORM, BF_DOT};
    exact_sums s;
    exact_init(&s);
    exact_add(&s, BF_I128, data, other, n);
    for (int i = 0; i < 7; i++) {
        const bf_reduction op = ops[i];
        const bf_reduce_options options =
            BF_REDUCE_OPTIONS(.out_dtype = BF_F64, .ddof = n > 1, .scale = scale);
        bf_value v;
        assert_int_equal(reduce(op, a, b, &options, &v), BF_OK);
        assert_true(v.as.f64 == exact_scaled(&s, op, n > 1, scale, BF_F64));
        if (op == BF_SUM || op == BF_SUMSQ || op == BF_DOT) check_integer(op, &s, a, b);
    }
    exact_clear(&s);
}

static void check_extremes(const bf_array *a, int64_t n) {
    int64_t at[2] = {0, 0};
    for (int64_t i = 1; i < n; i++) {
        if (data[i] < data[at[0]]) at[0] = i;
        if (data[i] > data[at[1]]) at[1] = i;
    }
    for (int i = 0; i < 2; i++) {
        bf_value v;
        assert_int_equal(reduce(i ? BF_ARGMAX : BF_ARGMIN, a, NULL, NULL, &v), BF_OK);
        assert_int_equal(v.as.i64, at[i]);
        assert_int_equal(reduce(i ? BF_MAX : BF_MIN, a, NULL, NULL, &v), BF_OK);
        assert_int_equal(v.dtype, BF_I192);
        assert_memory_equal(v.as.i192, &data[at[i]], 16);
        assert_true(v.as.i192[2] == (data[at[i]] < 0 ? UINT64_MAX : 0));
    }
}

TEST(reductions_are_exact) {
    static const int64_t sizes[] = {1, 2, 100, 4097, MOST};
    for (int c = 0; c < SIZES * 5; c++) {
        const int64_t n = sizes[c / SIZES];
        make((size_of_data)(c % SIZES), n, (uint64_t)c);
        const bf_array a = bf_array_of(BF_I128, data, n), b = bf_array_of(BF_I128, other, n);
        check_sums(&a, &b, n, c * 7 % (BF_SCALE_MOST_I128 + 1));
        check_extremes(&a, n);
    }
}

/* Odd addresses, strides, and the last element first. */
TEST(any_memory_will_do) {
    enum { N = 5000 };
    make(FULL, N, 1);
    char *memory = malloc(3 * sizeof data[0] * N + 1);
    for (int i = 0; i < N; i++) memcpy(memory + 1 + 48 * (N - 1 - i), &data[i], 16);
    const bf_array a = {memory + 1 + 48 * (N - 1), BF_I128, 1, {N}, {-3}};
    const bf_array b = bf_array_of(BF_I128, other, N);
    check_sums(&a, &b, N, 3);
    check_extremes(&a, N);
    free(memory);
}

TEST(descriptions_have_all_of_it) {
    make(DIGITS_38, 1000, 3);
    const bf_array a = bf_array_of(BF_I128, data, 1000);
    bf_description d = {.size = sizeof d};
    assert_int_equal(bf_describe(context, &a, NULL, &d), BF_OK);
    bf_value v;
    const bf_value *found[] = {&d.min, &d.max, &d.sum, &d.mean, &d.std};
    static const bf_reduction ops[] = {BF_MIN, BF_MAX, BF_SUM, BF_MEAN, BF_STD};
    for (int i = 0; i < 5; i++) {
        char text[BF_VALUE_TEXT], expected[BF_VALUE_TEXT];
        assert_int_equal(bf_reduce(context, ops[i], &a, NULL, &v), BF_OK);
        bf_value_format(&v, expected);
        bf_value_format(found[i], text);
        assert_string_equal(text, expected);
    }
    assert_int_equal(bf_reduce(context, BF_ARGMIN, &a, NULL, &v), BF_OK);
    assert_int_equal(d.argmin, v.as.i64);
    assert_int_equal(bf_reduce(context, BF_ARGMAX, &a, NULL, &v), BF_OK);
    assert_int_equal(d.argmax, v.as.i64);
}

TEST(values_have_up_to_38_digits_and_76_places) {
    char text[BF_VALUE_TEXT];
    const i128 one = 1;
    bf_value v;
    const bf_array a = bf_array_of(BF_I128, &one, 1);
    const bf_reduce_options options = BF_REDUCE_OPTIONS(.scale = 38);
    assert_int_equal(bf_reduce(context, BF_SUMSQ, &a, &options, &v), BF_OK);
    bf_value_format(&v, text);
    assert_int_equal(strlen(text), 78);
    assert_true(strtod(text, NULL) == 1e-76 && bf_value_f64(&v) == 1e-76);
    v.as.i192[0] = v.as.i192[1] = v.as.i192[2] = UINT64_MAX;
    bf_value_format(&v, text);
    assert_int_equal(strlen(text), 79);
}

/* ---- states ---------------------------------------------------------------------------------- */

/* A state of `data` in [first, first + n) in units of 10^-scale, as elements of dtype. */
static bf_state *state_of(bf_reduction op, bf_dtype dtype, int64_t first, int64_t n, int scale) {
    static char x[16 * 1000];
    const size_t bytes = bf_dtype_size(dtype);
    i128 unit = 1;
    for (int i = scale; i < 4; i++) unit *= 10;
    for (int64_t i = 0; i < n; i++) {
        const i128 units = data[first + i] / unit;
        memcpy(x + bytes * (size_t)i, &units, bytes);
    }
    bf_state *s = make_state(context, op, dtype);
    const bf_array a = bf_array_of(dtype, x, n);
    assert_int_equal(bf_state_rescale(s, scale), BF_OK);
    if (is_ordered(op, dtype)) assert_int_equal(bf_state_seek(s, first), BF_OK);
    assert_int_equal(absorb(s, op, &a, &a), BF_OK);
    return s;
}

TEST(states_of_all_integers_merge) {
    enum { N = 250 };
    static const bf_dtype dtypes[] = {BF_I64, BF_I32, BF_U64, BF_I128};
    uint64_t seed = 5;
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        if (op == BF_PROD) continue;
        for (int i = 0; i < 4 * N; i++) {
            const int64_t x = (int64_t)(next_random(&seed) % 200001) * 10000;
            data[i] = i / N == 2 ? x : x - 1000000000; /* without a sign */
        }
        for (int backwards = 0; backwards < 2; backwards++) {
            OWN(bf_state) *whole = state_of((bf_reduction)op, BF_I128, 0, 4 * N, 4);
            OWN(bf_state) *into = make_state(context, (bf_reduction)op, BF_I128);
            for (int k = 0; k < 4; k++) {
                const int i = backwards ? 3 - k : k;
                OWN(bf_state) *from = state_of((bf_reduction)op, dtypes[i], i * N, N, i);
                saved_state before = save(from);
                assert_int_equal(bf_state_merge(into, from), BF_OK);
                assert_saves_as(from, &before);
            }
            assert_int_equal(bf_state_rescale(into, 4), BF_OK);
            assert_same_form(into, whole);
        }
    }
}

TEST(states_of_all_integers_append_and_are_taken_out) {
    static const int64_t x[] = {5, INT64_MIN, 7};
    static const uint64_t y[] = {UINT64_MAX, 1};
    const bf_array a = bf_array_of(BF_I64, x, 3), b = bf_array_of(BF_U64, y, 2);
    bf_value v;
    bf_state *into = make_state(context, BF_ARGMAX, BF_I128);
    bf_state *first = make_state(context, BF_ARGMAX, BF_I64);
    bf_state *second = make_state(context, BF_ARGMAX, BF_U64);
    assert_int_equal(bf_state_absorb(first, &a), BF_OK);
    assert_int_equal(bf_state_absorb(second, &b), BF_OK);
    assert_int_equal(bf_state_append(into, first), BF_OK);
    assert_int_equal(bf_state_append(into, second), BF_OK);
    assert_int_equal(bf_state_result(into, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, 3);
    assert_int_equal(bf_state_append(first, into), BF_E_STATE); /* the other way around neither */
    bf_state_destroy(into);
    bf_state_destroy(first);
    bf_state_destroy(second);

    into = make_state(context, BF_SUM, BF_I128);
    first = make_state(context, BF_SUM, BF_I64);
    OWN(bf_state) *before = make_state(context, BF_SUM, BF_I128);
    const bf_array large = bf_array_of(BF_I128, &least, 1);
    assert_int_equal(bf_state_absorb(first, &a), BF_OK);
    assert_int_equal(bf_state_absorb(into, &large), BF_OK);
    assert_int_equal(bf_state_merge(before, into), BF_OK);
    assert_int_equal(bf_state_merge(into, first), BF_OK);
    assert_int_equal(bf_state_retract(first, into), BF_E_STATE);
    assert_int_equal(bf_state_retract(into, first), BF_OK);
    assert_same_form(into, before);
    bf_state_destroy(into);
    bf_state_destroy(first);
}

TEST(states_of_other_dtypes_do_not_merge) {
    static const bf_dtype others[] = {BF_BOOL, BF_F16, BF_BF16, BF_F32, BF_F64};
    OWN(bf_state) *into = make_state(context, BF_SUM, BF_I128);
    for (int i = 0; i < 5; i++) {
        OWN(bf_state) *from = make_state(context, BF_SUM, others[i]);
        assert_int_equal(bf_state_merge(into, from), BF_E_STATE);
    }
}

TEST(saved_states_come_back) {
    make(FULL, 500, 9);
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        if (op == BF_PROD) continue;
        for (int64_t n = 0; n <= 500; n += 250) {
            OWN(bf_state) *s = make_state(context, (bf_reduction)op, BF_I128);
            const bf_array a = bf_array_of(BF_I128, data, n);
            assert_int_equal(absorb(s, (bf_reduction)op, &a, &a), BF_OK);
            OWN(bf_state) *back = copy_form(context, s);
            assert_non_null(back);
            assert_same_form(s, back);
            assert_int_equal(bf_state_merge(back, s),
                             is_ordered((bf_reduction)op, BF_I128) && n > 0 ? BF_E_STATE : BF_OK);
        }
    }
}

/* Sums beyond what so many elements can give. */
TEST(impossible_states_are_refused) {
    const bf_array a = bf_array_of(BF_I128, &greatest, 1);
    for (int op = BF_SUM; op <= BF_DOT; op++) {
        bf_state *s = make_state(context, (bf_reduction)op, BF_I128), *none = NULL;
        assert_int_equal(absorb(s, (bf_reduction)op, &a, &a), BF_OK);
        saved_state saved = save(s);
        saved.bytes[saved.size - 16] = 1; /* the last limb */
        sign(&saved);
        assert_int_equal(bf_state_load(context, saved.bytes, saved.size, &none), BF_E_STATE);
        bf_state_destroy(s);
    }
}

TEST(rescaling_beyond_128_bits_changes_nothing) {
    const i128 x = greatest / 100;
    const bf_array a = bf_array_of(BF_I128, &x, 1);
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        if (op == BF_PROD) continue;
        OWN(bf_state) *s = make_state(context, (bf_reduction)op, BF_I128);
        assert_int_equal(absorb(s, (bf_reduction)op, &a, &a), BF_OK);
        assert_int_equal(bf_state_rescale(s, 2), BF_OK);
        saved_state before = save(s);
        assert_int_equal(bf_state_rescale(s, 3), BF_E_OVERFLOW);
        assert_int_equal(bf_state_rescale(s, 38), BF_E_OVERFLOW);
        assert_saves_as(s, &before);
    }
}

UNIT_TESTS(i128, set_up, tear_down)
