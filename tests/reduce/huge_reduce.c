/* Reductions of more than 2^31 and 2^32 elements. */
#include "tests/support/forms.h"
#include "tests/support/huge.h"

static void check_float(bf_reduction op, const exact_sums *e, int ddof, const bf_value *v) {
    assert_int_equal(v->dtype, BF_F64);
    assert_same_float(v->as.f64, exact_float(e, op, ddof, BF_F64));
}

static void check_integer(bf_reduction op, const exact_sums *e, const bf_value *v) {
    char expected[BF_VALUE_TEXT], found[BF_VALUE_TEXT];
    exact_integer(e, op, expected);
    bf_value_format(v, found);
    assert_string_equal(found, expected);
}

static void check_number(const periodic *h, int64_t at, const bf_value *v) {
    const int64_t number = number_at(h, at);
    assert_int_equal(v->dtype, h->dtype);
    if (h->dtype == BF_F16 || h->dtype == BF_BF16)
        assert_int_equal(v->as.bits, bits_of(h->dtype, number));
    else
        assert_same_float(bf_value_f64(v), double_of(h->dtype, number));
}

/* The value of one reduction, however it was computed. */
static void check_value(const periodic *h, const exact_sums *e, bf_reduction op,
                        const bf_value *v) {
    switch (op) {
    case BF_MIN:
    case BF_MAX: check_number(h, expected_index(h, op == BF_MAX), v); break;
    case BF_ARGMIN:
    case BF_ARGMAX: assert_int_equal(v->as.i64, expected_index(h, op == BF_ARGMAX)); break;
    case BF_SUM:
    case BF_SUMSQ:
        if (!is_float(h->dtype)) {
            check_integer(op, e, v);
            break;
        } /* fall through */
    default: check_float(op, e, 0, v);
    }
}

static void check_description(const periodic *h, const exact_sums *e, const bf_description *d) {
    assert_int_equal(d->n, h->n);
    assert_int_equal(d->nan, 0);
    assert_int_equal(d->inf, 0);
    assert_int_equal(d->argmin, expected_index(h, false));
    assert_int_equal(d->argmax, expected_index(h, true));
    check_value(h, e, BF_MIN, &d->min);
    check_value(h, e, BF_MAX, &d->max);
    check_value(h, e, BF_SUM, &d->sum);
    check_value(h, e, BF_MEAN, &d->mean);
    check_value(h, e, BF_STD, &d->std);
}

/* a[i] * a[i + 1] for all but the last element. */
static void check_dot(bf_context *c, const periodic *h, exact_sums *e) {
    const int64_t n = h->n - 1;
    const periodic shorter = {.dtype = h->dtype, .n = n, .rule = h->rule};
    bf_array a = bf_array_of(h->dtype, h->data, n);
    bf_array b = bf_array_of(h->dtype, h->data + bf_dtype_size(h->dtype), n);
    bf_value v;
    __int128 sum = 0;
    for (int64_t i = 0; i < PERIOD; i++)
        sum += (__int128)times_of(&shorter, i) * h->rule(h->dtype, i) *
               h->rule(h->dtype, (i + 1) % PERIOD);
    for (int m = 0; m < h->marks; m++) /* no two marks are neighbours */
        for (int64_t i = h->mark[m].at - 1; i <= h->mark[m].at && i < n; i++)
            sum += (__int128)number_at(h, i) * number_at(h, i + 1) -
                   (__int128)number_at(&shorter, i) * number_at(&shorter, i + 1);
    set_integer(e->xy, sum, 2 * scale_of(h->dtype));
    assert_int_equal(bf_dot(c, &a, &b, NULL, &v), BF_OK);
    if (is_float(h->dtype))
        check_float(BF_DOT, e, 0, &v);
    else
        check_integer(BF_DOT, e, &v);
}

static void check_ops(bf_context *c, const periodic *h, const exact_sums *e,
                      const bf_reduction *ops, int count) {
    const bf_array a = array_of(h);
    bf_value v;
    for (int i = 0; i < count; i++) {
        assert_int_equal(bf_reduce(c, ops[i], &a, NULL, &v), BF_OK);
        check_value(h, e, ops[i], &v);
    }
}

/* Squares of 64-bit integers are slow: var alone has to do for them. */
TEST(every_dtype) {
    static const bf_reduction ops[] = {BF_SUM, BF_MIN, BF_ARGMAX, BF_VAR, BF_NORM};
    for (int d = 0; d < DTYPE_COUNT; d++) {
        const bf_dtype dtype = all_dtypes[d];
        const bool is_wide = dtype == BF_I64 || dtype == BF_U64;
        const int64_t n = bf_dtype_size(dtype) == 1 ? PAST_32_BITS : PAST_31_BITS;
        periodic h = marked_huge(dtype, n, some_number);
        exact_sums e = expected_sums(&h);
        bf_array a = array_of(&h);
        bf_description description = {.size = sizeof description};
        check_ops(context, &h, &e, ops, is_wide ? 4 : 5);
        if (!is_wide) {
            assert_int_equal(bf_describe(context, &a, NULL, &description), BF_OK);
            check_description(&h, &e, &description);
            check_dot(context, &h, &e);
        }
        exact_clear(&e);
        huge_free(&h);
    }
}

TEST(every_instruction_set) {
    static const bf_reduction ops[] = {BF_SUM, BF_ARGMIN, BF_VAR};
    static const bf_dtype dtypes[] = {BF_U8, BF_F32};
    for (int i = 0; bf_isa_name(i); i++) {
        if (!bf_isa_available(i)) continue;
        bf_context *c = make_context(bf_isa_name(i), 0);
        for (int d = 0; d < 2; d++) {
            periodic h = marked_huge(dtypes[d], PAST_31_BITS, some_number);
            exact_sums e = expected_sums(&h);
            check_ops(c, &h, &e, ops, 3);
            check_dot(c, &h, &e);
            exact_clear(&e);
            huge_free(&h);
        }
        bf_context_destroy(c);
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_state *saved_and_loaded(bf_state *s) {
    bf_state *loaded = copy_form(context, s);
    assert_non_null(loaded);
    bf_state_destroy(s);
    return loaded;
}

static void absorb(bf_state *s, const periodic *h, int64_t begin, int64_t end) {
    const bf_array a =
        bf_array_of(h->dtype, h->data + begin * (int64_t)bf_dtype_size(h->dtype), end - begin);
    assert_int_equal(bf_state_absorb(s, &a), BF_OK);
}

/* The head is past 31 bits and saved; one half of the tail follows it, the other is merged. */
static bf_state *state_in_parts(const periodic *h, bf_reduction op) {
    const int64_t head = far_index(h->n) + 3, middle = head + (h->n - head) / 2;
    bf_state *s, *tail;
    bf_state_info info = {.size = sizeof info};
    assert_int_equal(bf_state_create(context, op, h->dtype, &s), BF_OK);
    absorb(s, h, 0, head);
    s = saved_and_loaded(s);
    absorb(s, h, head, middle);
    assert_int_equal(bf_state_create(context, op, h->dtype, &tail), BF_OK);
    bf_state_describe(tail, &info);
    if (op == BF_ARGMIN || op == BF_ARGMAX || op == BF_DESCRIBE)
        assert_int_equal(bf_state_seek(tail, middle), BF_OK);
    absorb(tail, h, middle, h->n);
    tail = saved_and_loaded(tail);
    assert_int_equal(bf_state_merge(s, tail), BF_OK);
    bf_state_destroy(tail);
    s = saved_and_loaded(s);
    bf_state_describe(s, &info);
    assert_int_equal(info.count, h->n);
    assert_int_equal(info.next, h->n);
    return s;
}

TEST(states) {
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_MIN, BF_ARGMIN, BF_ARGMAX};
    static const bf_dtype dtypes[] = {BF_U8, BF_F32};
    for (int d = 0; d < 2; d++) {
        periodic h = marked_huge(dtypes[d], d ? PAST_31_BITS : PAST_32_BITS, some_number);
        exact_sums e = expected_sums(&h);
        bf_value v;
        bf_description description = {.size = sizeof description};
        bf_state *s;
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            s = state_in_parts(&h, ops[i]);
            assert_int_equal(bf_state_result(s, NULL, &v), BF_OK);
            check_value(&h, &e, ops[i], &v);
            bf_state_destroy(s);
        }
        s = state_in_parts(&h, BF_DESCRIBE);
        assert_int_equal(bf_state_description(s, NULL, &description), BF_OK);
        check_description(&h, &e, &description);
        bf_state_destroy(s);
        exact_clear(&e);
        huge_free(&h);
    }
}

/* ---- strides --------------------------------------------------------------------------------- */

static int64_t third_number(bf_dtype dtype, int64_t i) {
    return some_number(dtype, 3 * i % PERIOD);
}

/* Every third element: as if of an array whose block is every third of this one's, in turn. */
TEST(every_third) {
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_MAX, BF_ARGMIN, BF_ARGMAX};
    periodic h = huge_of(BF_U8, 3 * PAST_31_BITS, some_number);
    periodic thirds = {.dtype = BF_U8, .n = PAST_31_BITS, .rule = third_number, .marks = 2};
    thirds.mark[0].at = far_index(thirds.n) + 5;
    thirds.mark[1].at = thirds.n - 1;
    thirds.mark[1].number = UINT8_MAX;
    for (int m = 0; m < 2; m++) set_mark(&h, 3 * thirds.mark[m].at, thirds.mark[m].number);
    exact_sums e = expected_sums(&thirds);
    bf_array a = bf_array_of(BF_U8, h.data, thirds.n);
    a.strides[0] = 3;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        bf_value v;
        assert_int_equal(bf_reduce(context, ops[i], &a, NULL, &v), BF_OK);
        check_value(&thirds, &e, ops[i], &v);
    }
    exact_clear(&e);
    huge_free(&h);
}

/* Rows from the last to the first, so that the marks, which are far, come first. */
TEST(rows_backwards) {
    enum { COLUMNS = 65537 };
    const int64_t rows = 32769, n = rows * COLUMNS;
    periodic h = huge_of(BF_F32, n, some_number);
    const int64_t low = far_index(n) + 5, high = 7;
    int64_t found;
    set_mark(&h, low, low_number(BF_F32));
    set_mark(&h, high, high_number(BF_F32));
    bf_array a = {h.data + (n - COLUMNS) * 4, BF_F32, 2, {rows, COLUMNS}, {-COLUMNS, 1}};
    exact_sums e = expected_sums(&h);
    bf_value v;
    assert_int_equal(bf_reduce(context, BF_SUM, &a, NULL, &v), BF_OK);
    check_float(BF_SUM, &e, 0, &v);
    assert_int_equal(bf_reduce(context, BF_ARGMIN, &a, NULL, &v), BF_OK);
    found = (rows - 1 - v.as.i64 / COLUMNS) * COLUMNS + v.as.i64 % COLUMNS;
    assert_int_equal(found, low);
    assert_int_equal(bf_reduce(context, BF_ARGMAX, &a, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, (rows - 1) * COLUMNS + high);
    exact_clear(&e);
    huge_free(&h);
}

HUGE_TESTS
