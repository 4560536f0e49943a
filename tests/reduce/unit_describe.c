/* A description is what its reductions are one by one, in one pass, in any parts.
 * Builds: release, asan (full). */
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

static void assert_same_value(bf_context *c, bf_reduction op, const bf_array *a,
                              const bf_reduce_options *o, const bf_value *found) {
    bf_value expected;
    bf_status st = bf_reduce(c, op, a, o, &expected);
    if (st == BF_E_EMPTY) {
        assert_int_equal(found->dtype, BF_NONE);
        return;
    }
    char x[BF_VALUE_TEXT], y[BF_VALUE_TEXT];
    assert_int_equal(st, BF_OK);
    assert_int_equal(found->dtype, expected.dtype);
    bf_value_format_hex(found, x);
    bf_value_format_hex(&expected, y);
    assert_string_equal(x, y);
}

static void assert_same_index(bf_context *c, bf_reduction op, const bf_array *a,
                              const bf_reduce_options *o, int64_t found) {
    bf_value expected = {.as.i64 = -1};
    bf_reduce(c, op, a, o, &expected);
    assert_int_equal(found, expected.as.i64);
}

static void assert_agrees(bf_context *c, const bf_array *a, const bf_reduce_options *o,
                          const bf_description *d) {
    bf_reduce_options extremes = *o;
    extremes.out_dtype = BF_NONE;
    assert_int_equal(d->n, bf_array_count(a));
    assert_same_value(c, BF_MIN, a, &extremes, &d->min);
    assert_same_value(c, BF_MAX, a, &extremes, &d->max);
    assert_same_index(c, BF_ARGMIN, a, &extremes, d->argmin);
    assert_same_index(c, BF_ARGMAX, a, &extremes, d->argmax);
    assert_same_value(c, BF_SUM, a, o, &d->sum);
    assert_same_value(c, BF_MEAN, a, o, &d->mean);
    assert_same_value(c, BF_STD, a, o, &d->std);
}

/* Describes the array in two parts, the second first, through the saved form. */
static void describe_parts(bf_context *c, const bf_array *a, const bf_reduce_options *o,
                           bf_description *d) {
    int64_t n = a->shape[0], cut = n / 3;
    size_t bytes = bf_dtype_size(a->dtype);
    bf_array first = bf_array_of(a->dtype, a->data, cut);
    bf_array second = bf_array_of(a->dtype, (char *)a->data + (size_t)cut * bytes, n - cut);
    OWN(bf_state) *s = NULL, *t = NULL;
    assert_int_equal(bf_state_create(c, BF_DESCRIBE, a->dtype, &s), BF_OK);
    assert_int_equal(bf_state_create(c, BF_DESCRIBE, a->dtype, &t), BF_OK);
    assert_int_equal(bf_state_seek(t, cut), BF_OK);
    assert_int_equal(bf_state_absorb(t, &second), BF_OK);
    assert_int_equal(bf_state_absorb(s, &first), BF_OK);
    OWN(bf_state) *loaded = copy_form(c, s);
    assert_int_equal(bf_state_merge(t, loaded), BF_OK);
    assert_int_equal(bf_state_description(t, o, d), BF_OK);
}

static void check_array(bf_context *c, void *data) {
    const bf_array *a = data;
    for (int i = 0; i < 4; i++) {
        bf_reduce_options o =
            BF_REDUCE_OPTIONS(.nan = i & 1 ? BF_NAN_SKIP : BF_NAN_PROPAGATE, .ddof = i >> 1,
                              .out_dtype = i >> 1 ? BF_F32 : BF_NONE);
        bf_description d = {.size = sizeof d};
        assert_int_equal(bf_describe(c, a, &o, &d), BF_OK);
        assert_agrees(c, a, &o, &d);
        describe_parts(c, a, &o, &d);
        assert_agrees(c, a, &o, &d);
    }
}

TEST(a_description_is_its_reductions) {
    static const int64_t sizes[] = {0, 1, 5, 1000, 40000};
    uint64_t seed = 7;
    for (int i = 0; i < DTYPE_COUNT * 5; i++) {
        bf_dtype dtype = all_dtypes[i / 5];
        int64_t n = sizes[i % 5];
        char *data = malloc((size_t)n * bf_dtype_size(dtype) + 1);
        fill(dtype, data, n, (data_kind)(next_random(&seed) % KIND_COUNT), next_random(&seed));
        if (is_float(dtype) && n > 2 && i % 2)
            store_bits(data + bf_dtype_size(dtype), bf_dtype_size(dtype), infinity_bits(dtype) + 1);
        bf_array a = bf_array_of(dtype, data, n);
        on_every_context(check_array, &a);
        free(data);
    }
}

TEST(counts_tell_nans_and_infinities) {
    float inf = (float)INFINITY, nan = (float)NAN, x[] = {1, nan, inf, -inf, nan, 2};
    bf_array a = bf_array_of(BF_F32, x, 6);
    OWN(bf_context) *c = make_context("auto", 1);
    bf_description d = {.size = sizeof d};
    assert_int_equal(bf_describe(c, &a, NULL, &d), BF_OK);
    assert_true(d.n == 6 && d.nan == 2 && d.inf == 2 && d.argmin == 1);
    assert_int_equal(bf_describe(c, &a, &BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR), &d), BF_E_NAN);
    OWN(bf_state) *s = NULL;
    bf_value v;
    assert_int_equal(bf_state_create(c, BF_DESCRIBE, BF_F32, &s), BF_OK);
    assert_int_equal(bf_state_result(s, NULL, &v), BF_E_ARGUMENT);
}

UNIT_TESTS(describe, NULL, NULL)
