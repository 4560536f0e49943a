/* Quantiles of data that are read again: whatever the division of the data, the order of merging
 * and the threads, they are those of the whole array, and what is saved has the same bytes. */
#include "tests/support/oracle.h"
#include "tests/support/saved.h"
#include "tests/support/unit.h"

#include <bitfold/order.h>

enum { MOST = 1 << 20, PARTS = 4, SAVED_MOST = 4 << 20, PASSES_MOST = 6 };

static char data[MOST * 8 + 8];
static char saved[SAVED_MOST], other_saved[SAVED_MOST];

typedef enum pattern {
    RANDOM_BITS,
    NUMBERS,
    EQUAL,
    TWO_VALUES,
    CLOSE,    /* they agree in many bits */
    HEAVY,    /* one value among close ones */
    LOW_BITS, /* a few values apart, close ones about each */
    ALL_NAN,
    PATTERNS
} pattern;

static uint64_t element_of(bf_dtype dtype, pattern p, int64_t i, uint64_t *seed) {
    const uint64_t random = next_random(seed),
                   middle = is_float(dtype) ? infinity_bits(dtype) / 2 : 0;
    switch (p) {
    case RANDOM_BITS: return random;
    case NUMBERS: return random_element(dtype, KIND_NARROW, i, 0, seed);
    case EQUAL: return middle + 7;
    case TWO_VALUES: return middle + (random & 1);
    case CLOSE: return middle + (random & 0xfffff);
    case HEAVY: return random & 1 ? middle : middle + 1 + (random >> 40);
    case LOW_BITS: return (random >> 60 << (8 * bf_dtype_size(dtype) - 6)) + (random & 0xffff);
    default: return is_float(dtype) ? infinity_bits(dtype) | 1 : random;
    }
}

static void make_data(bf_dtype dtype, pattern p, int64_t n, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = element_of(dtype, p, i, seed);
        if (p < ALL_NAN && next_random(seed) % 50 == 0 && *seed % 3 == 0) x = ~(uint64_t)0;
        store_bits(data + (size_t)i * bytes, bytes, x);
    }
}

/* ---- the oracle: a selection from the whole array -------------------------------------------- */

typedef struct search {
    bf_dtype dtype, to;
    const double *q;
    int m;
    bf_order_options options;
} search;

static int results_of(const search *s) { return s->m > 0 ? s->m : 1; }

static bf_status select_all(bf_context *c, const search *s, int64_t n, uint64_t *results) {
    const bf_array x = bf_array_of(s->dtype, data, n);
    bf_array values = bf_array_of(BF_PAIR, results, s->m);
    const int axis = 0;
    if (s->m > 0) return bf_quantile_axes(c, &x, &axis, 1, s->q, s->m, &s->options, &values);
    values.ndim = 0;
    return bf_median_axes(c, &x, &axis, 1, &s->options, &values);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static void absorb(bf_quantiles *q, bf_dtype dtype, int64_t first, int64_t n) {
    const bf_array x = bf_array_of(dtype, data + (size_t)first * bf_dtype_size(dtype), n);
    assert_int_equal(bf_quantiles_absorb(q, &x), BF_OK);
}

static size_t save(const bf_quantiles *q, char *to) {
    const size_t size = bf_quantiles_save_size(q);
    assert_true(size <= SAVED_MOST);
    assert_int_equal(bf_quantiles_save(q, to), BF_OK);
    return size;
}

/* One object reads all; others, loaded from what it was, read parts, and are merged in any order.
 */
static void check_pass(bf_context *c[PARTS], bf_quantiles *whole, bf_dtype dtype, int64_t n,
                       uint64_t *seed) {
    bf_quantiles *parts[PARTS];
    const size_t blank = save(whole, saved);
    int64_t at = 0;
    absorb(whole, dtype, 0, n);
    for (int i = 0; i < PARTS; i++) {
        const int64_t end =
            i == PARTS - 1 ? n : at + (int64_t)(next_random(seed) % (uint64_t)(n - at + 1));
        assert_int_equal(bf_quantiles_load(c[i], saved, blank, &parts[i]), BF_OK);
        absorb(parts[i], dtype, at, end - at);
        at = end;
    }
    const int into = (int)(next_random(seed) % PARTS);
    for (int i = PARTS; i-- > 0;)
        if (i != into) assert_int_equal(bf_quantiles_merge(parts[into], parts[i]), BF_OK);
    const size_t size = save(whole, saved);
    assert_int_equal(save(parts[into], other_saved), size);
    assert_memory_equal(saved, other_saved, size);
    for (int i = 0; i < PARTS; i++) bf_quantiles_destroy(parts[i]);
    OWN(bf_quantiles) *loaded = NULL;
    assert_int_equal(bf_quantiles_load(c[0], saved, size, &loaded), BF_OK);
    assert_int_equal(save(loaded, other_saved), size);
    assert_memory_equal(saved, other_saved, size);
}

static void check_search(bf_context *c[PARTS], const search *s, int64_t n, uint64_t *seed) {
    uint64_t expected[2 * BF_QUANTILES_MAX]; /* pairs */
    bf_value values[BF_QUANTILES_MAX];
    OWN(bf_quantiles) *q = NULL;
    int done = 0, passes = 0;
    assert_int_equal(
        bf_quantiles_create(c[0], s->dtype, s->m > 0 ? s->q : NULL, s->m, &s->options, &q), BF_OK);
    for (; !done; passes++) {
        check_pass(c, q, s->dtype, n, seed);
        assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    }
    if (passes > PASSES_MOST) fail_msg("%d passes of %s", passes, bf_dtype_name(s->dtype));
    const bf_status status = select_all(c[0], s, n, expected);
    assert_int_equal(bf_quantiles_result(q, values), status);
    for (int i = 0; status == BF_OK && i < results_of(s); i++) {
        const bf_dtype dtype = values[i].dtype;
        assert_int_equal(values[i].scale, dtype == s->dtype ? s->options.scale : 0);
        assert_true(dtype == s->to || dtype == s->dtype);
        assert_int_equal(dtype, expected[2 * i + 1]);
        if (memcmp(&values[i].as, &expected[2 * i], bf_dtype_size(dtype)) != 0)
            fail_msg("%s, n %lld, result %d of %d is wrong", bf_dtype_name(s->dtype), (long long)n,
                     i, s->m);
    }
}

static bool has_scale(bf_dtype dtype) { return !is_float(dtype) && dtype != BF_BOOL; }

TEST(passes_find_what_a_selection_does) {
    static const int64_t sizes[] = {1, 2, 1000, 70001};
    uint64_t seed = 1;
    bf_context *c[PARTS];
    for (int i = 0; i < PARTS; i++)
        c[i] = make_context(
            i < 3 && bf_isa_name(i) != NULL && bf_isa_available(i) ? bf_isa_name(i) : NULL, 1 + i);
    const int step = DATA_SHARE > 1 ? 2 : 1;
    for (int d = 0; d < DTYPE_COUNT; d += CASE_STEP)
        for (int p = d / CASE_STEP % step; p < PATTERNS; p += step) {
            double q[BF_QUANTILES_MAX];
            const int64_t n = p == RANDOM_BITS ? MOST / DATA_SHARE : sizes[(p + d) % 4];
            search s = {.dtype = all_dtypes[d], .m = (int)(next_random(&seed) % 33), .q = q};
            for (int i = 0; i < s.m; i++) q[i] = (double)(next_random(&seed) % 1001) / 1000;
            s.options = (bf_order_options){.size = sizeof s.options};
            s.options.nan = (bf_nan_policy)(next_random(&seed) % 3);
            s.options.method = (bf_quantile_method)(next_random(&seed) % 13);
            if (has_scale(s.dtype))
                s.options.scale = (int)(next_random(&seed) % (BF_SCALE_MOST + 1));
            s.to =
                s.m > 0 ? bf_quantile_dtype(s.dtype, s.options.method) : bf_median_dtype(s.dtype);
            s.options.whole = has_scale(s.dtype) && next_random(&seed) % 2;
            if (s.options.whole) s.to = s.dtype;
            make_data(s.dtype, (pattern)p, n, &seed);
            check_search(c, &s, n, &seed);
            s.m = 0;
            s.options.nan = BF_NAN_SKIP;
            s.to = s.options.whole ? s.dtype : bf_median_dtype(s.dtype);
            check_search(c, &s, n, &seed);
        }
    for (int i = 0; i < PARTS; i++) bf_context_destroy(c[i]);
}

TEST(large_arrays_are_shared_by_threads) {
    uint64_t seed = 2;
    bf_context *c[PARTS];
    for (int i = 0; i < PARTS; i++) c[i] = make_context(NULL, i == 3 ? 8 : i + 1);
    static const double q[] = {0.05, 0.5, 0.999};
    static const bf_dtype some[] = {BF_F32, BF_F64, BF_I64};
    for (int d = 0; d < 3; d++)
        for (int p = 0; p < PATTERNS; p += 3) {
            const search s = {.dtype = some[d],
                              .to = BF_F64,
                              .m = 3,
                              .q = q,
                              .options = {.size = sizeof s.options, .nan = BF_NAN_SKIP}};
            make_data(s.dtype, (pattern)p, MOST, &seed);
            check_search(c, &s, MOST, &seed);
        }
    for (int i = 0; i < PARTS; i++) bf_context_destroy(c[i]);
}

/* ---- whole results --------------------------------------------------------------------------- */

/* What lies at q between two numbers, as the nearest integer. */
static const struct {
    bf_dtype dtype;
    double q;
    int64_t below[2], above[2], result[2]; /* low and high words; narrower ones have the first */
} wholes[] = {
    {BF_I8, 0.5, {-128}, {127}, {0}},
    {BF_I8, 0.5, {-3}, {0}, {-2}},
    {BF_I8, 0.25, {-3}, {-1}, {-2}},
    {BF_U8, 0.5, {254}, {255}, {254}},
    {BF_U16, 0.5, {1}, {2}, {2}},
    {BF_I32, 0.1, {INT32_MIN}, {INT32_MAX}, {-1717986918}},
    {BF_I64, 0.5, {INT64_MIN}, {INT64_MAX}, {0}},
    {BF_I64, 0.5, {INT64_MIN}, {INT64_MIN + 1}, {INT64_MIN}},
    {BF_I64, 0.5, {INT64_MAX - 2}, {INT64_MAX}, {INT64_MAX - 1}},
    {BF_I64, 0x1p-63, {0}, {INT64_C(1) << 62}, {0}},
    {BF_I64, 0x1p-63, {1}, {1 + (INT64_C(1) << 62)}, {2}},
    {BF_I64, 0x1.8p-63, {0}, {INT64_C(1) << 62}, {1}},
    {BF_I64, 0x1.0000000000001p-63, {0}, {INT64_C(1) << 62}, {1}},
    {BF_I64, 0x1p-64, {1}, {INT64_MAX}, {1}},
    {BF_I64, 5e-324, {1}, {INT64_MAX}, {1}},
    {BF_U64, 0.5, {0}, {-1}, {INT64_MIN}},
    {BF_U64, 0x1p-64, {1}, {-1}, {2}},
    {BF_I128, 0.5, {0, INT64_MIN}, {-1, INT64_MAX}, {0, 0}},
    {BF_I128, 0x1p-100, {0}, {0, INT64_C(1) << 36}, {1}},
    {BF_I128, 0x1p-101, {0}, {0, INT64_C(1) << 36}, {0}},
    {BF_I128, 0x1p-101, {1}, {1, INT64_C(1) << 36}, {2}},
    {BF_I128, 0x1p-102, {1}, {1, INT64_C(1) << 36}, {1}},
    {BF_I128, 0x1.8p-1, {-4, -1}, {0}, {-1, -1}},
    {BF_I128, 0x1.fffffffffffffp-1, {0}, {0, 1 << 10}, {-(INT64_C(1) << 21), (1 << 10) - 1}},
};

/* Writes both numbers, the greater first, and returns their array. */
static bf_array two_numbers(size_t i, char *to) {
    const size_t bytes = bf_dtype_size(wholes[i].dtype);
    memcpy(to, wholes[i].above, bytes);
    memcpy(to + bytes, wholes[i].below, bytes);
    return bf_array_of(wholes[i].dtype, to, 2);
}

static void look_at_wholes(bf_context *c, void *unused) {
    (void)unused;
    static const int axis = 0;
    const bf_order_options options = BF_ORDER_OPTIONS(.whole = 1);
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        const bf_dtype dtype = wholes[i].dtype;
        int64_t memory[4], found[2] = {0};
        int done = 0;
        bf_value value;
        OWN(bf_quantiles) *q = NULL;
        const bf_array x = two_numbers(i, (char *)memory), to = bf_array_of(dtype, found, 1);
        assert_int_equal(bf_quantile_axes(c, &x, &axis, 1, &wholes[i].q, 1, &options, &to), BF_OK);
        if (memcmp(found, wholes[i].result, bf_dtype_size(dtype)) != 0)
            fail_msg("case %zu: %lld, %lld", i, (long long)found[0], (long long)found[1]);
        assert_int_equal(bf_quantiles_create(c, dtype, &wholes[i].q, 1, &options, &q), BF_OK);
        while (!done) {
            assert_int_equal(bf_quantiles_absorb(q, &x), BF_OK);
            assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
        }
        assert_int_equal(bf_quantiles_result(q, &value), BF_OK);
        assert_int_equal(value.dtype, dtype == BF_I128 ? BF_I192 : dtype);
        if (memcmp(&value.as, wholes[i].result, bf_dtype_size(dtype)) != 0)
            fail_msg("case %zu of passes", i);
    }
}

TEST(whole_results_are_the_nearest_integers) {
    bf_quantiles *q = NULL;
    on_every_context(look_at_wholes, NULL);
    OWN(bf_context) *c = make_context(NULL, 1);
    const bf_order_options options = BF_ORDER_OPTIONS(.whole = 1);
    assert_int_equal(bf_quantiles_create(c, BF_F64, NULL, 0, &options, &q), BF_E_ARGUMENT);
    assert_int_equal(bf_quantiles_create(c, BF_BOOL, NULL, 0, &options, &q), BF_E_ARGUMENT);
}

/* ---- scales ---------------------------------------------------------------------------------- */

static void check_number(const bf_value *v, const char *text) {
    char found[BF_VALUE_TEXT];
    bf_value_format(v, found);
    assert_string_equal(found, text);
}

TEST(integers_may_have_a_scale) {
    static const int64_t x[] = {125, 20, 30, 110};
    static const double q[] = {0, 0.5, 1};
    static const int axis = 0;
    OWN(bf_context) *c = make_context(NULL, 1);
    const bf_order_options options = BF_ORDER_OPTIONS(.scale = 2);
    OWN(bf_quantiles) *found = NULL;
    bf_value values[3];
    double numbers[3];
    int done = 0;
    assert_int_equal(bf_quantiles_create(c, BF_I64, q, 3, &options, &found), BF_OK);
    const bf_array a = bf_array_of(BF_I64, x, 4), to = bf_array_of(BF_F64, numbers, 3);
    while (!done) {
        assert_int_equal(bf_quantiles_absorb(found, &a), BF_OK);
        assert_int_equal(bf_quantiles_next(found, &done), BF_OK);
    }
    assert_int_equal(bf_quantiles_result(found, values), BF_OK);
    check_number(&values[0], "0.2");
    check_number(&values[1], "0.7");
    check_number(&values[2], "1.25");
    assert_int_equal(values[1].dtype, BF_F64);
    bf_quantiles_info info = {.size = sizeof info};
    assert_int_equal(bf_quantiles_describe(found, &info), BF_OK);
    assert_int_equal(info.scale, 2);
    assert_int_equal(bf_quantile_axes(c, &a, &axis, 1, q, 3, &options, &to), BF_OK);
    assert_true(numbers[0] == 0.2 && numbers[1] == 0.7 && numbers[2] == 1.25);
}

TEST(scales_that_there_are_not_are_refused) {
    static const struct {
        bf_dtype dtype;
        int scale;
        bf_status status;
    } cases[] = {{BF_I64, BF_SCALE_MOST, BF_OK},
                 {BF_U8, 3, BF_OK},
                 {BF_F64, 0, BF_OK},
                 {BF_F64, 1, BF_E_ARGUMENT},
                 {BF_BOOL, 1, BF_E_ARGUMENT},
                 {BF_I64, -1, BF_E_ARGUMENT},
                 {BF_I64, BF_SCALE_MOST + 1, BF_E_ARGUMENT}};
    OWN(bf_context) *c = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bf_order_options options = BF_ORDER_OPTIONS(.scale = cases[i].scale);
        const bf_array a = bf_array_of(cases[i].dtype, data, 1);
        OWN(bf_quantiles) *q = NULL;
        assert_int_equal(bf_quantiles_create(c, cases[i].dtype, NULL, 0, &options, &q),
                         cases[i].status);
        assert_int_equal(bf_sort(c, &a, 0, &options, &a, NULL), cases[i].status);
    }
}

/* A merge needs one scale. A saved form has a scale that there is. */
TEST(scales_are_saved_and_do_not_mix) {
    OWN(bf_context) *c = make_context(NULL, 1);
    bf_quantiles *of[2], *loaded = NULL;
    for (int i = 0; i < 2; i++) {
        const bf_order_options options = BF_ORDER_OPTIONS(.scale = i);
        assert_int_equal(bf_quantiles_create(c, BF_I64, NULL, 0, &options, &of[i]), BF_OK);
    }
    assert_int_equal(bf_quantiles_merge(of[0], of[1]), BF_E_STATE);
    for (int i = 0; i < 2; i++) {
        const size_t size = save(of[i], saved);
        const size_t offset = saved_offset(saved, size, "quantiles");
        for (int scale = -5; scale < 256; scale += 5) {
            if (scale >= 0 && scale <= BF_SCALE_MOST) continue;
            memcpy(saved + offset + 4, &scale, 4);
            sign_saved(saved, size);
            assert_int_equal(bf_quantiles_load(c, saved, size, &loaded), BF_E_STATE);
        }
        bf_quantiles_destroy(of[i]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static bf_quantiles *median_of(bf_context *c, bf_dtype dtype, const bf_order_options *options) {
    bf_quantiles *q;
    assert_int_equal(bf_quantiles_create(c, dtype, NULL, 0, options, &q), BF_OK);
    return q;
}

TEST(wrong_passes_are_refused_and_change_nothing) {
    int done = 1;
    uint64_t seed = 3;
    bf_value value;
    OWN(bf_context) *c = make_context(NULL, 1);
    const bf_order_options skip = BF_ORDER_OPTIONS(.nan = BF_NAN_SKIP);
    OWN(bf_quantiles) *q = median_of(c, BF_F64, &skip), *other = median_of(c, BF_F64, &skip);
    make_data(BF_F64, NUMBERS, 1000, &seed);
    assert_int_equal(bf_quantiles_result(q, &value), BF_E_STATE);
    absorb(q, BF_F64, 0, 1000);
    assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    assert_false(done);
    assert_int_equal(bf_quantiles_merge(q, other), BF_E_STATE);
    assert_int_equal(bf_quantiles_merge(q, q), BF_E_ARGUMENT);
    absorb(q, BF_F64, 0, 999);
    assert_int_equal(bf_quantiles_next(q, &done), BF_E_STATE);
    const bf_array two = bf_array_of(BF_F64, data, 2), wrong = bf_array_of(BF_I64, data, 1);
    assert_int_equal(bf_quantiles_absorb(q, &two), BF_E_STATE);
    assert_int_equal(bf_quantiles_absorb(q, &wrong), BF_E_DTYPE);
    absorb(q, BF_F64, 999, 1);
    assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    assert_true(done);
    assert_int_equal(bf_quantiles_absorb(q, &two), BF_E_STATE);
    assert_int_equal(bf_quantiles_result(q, &value), BF_OK);
    bf_quantiles_info info = {.size = sizeof info};
    assert_int_equal(bf_quantiles_describe(q, &info), BF_OK);
    assert_int_equal(info.pass, 2);
    assert_int_equal(info.all, 1000);
}

TEST(other_data_in_a_later_pass_are_noticed) {
    int done;
    OWN(bf_context) *c = make_context(NULL, 1);
    OWN(bf_quantiles) *q = median_of(c, BF_I64, NULL);
    int64_t x[] = {1, 2, 3, 1000};
    const bf_array array = bf_array_of(BF_I64, x, 4);
    assert_int_equal(bf_quantiles_absorb(q, &array), BF_OK);
    assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    assert_false(done);
    for (int i = 0; i < 4; i++) x[i] = -7;
    assert_int_equal(bf_quantiles_absorb(q, &array), BF_OK);
    assert_int_equal(bf_quantiles_next(q, &done), BF_E_STATE);
}

TEST(nothing_has_the_value_that_was_given) {
    int done = 0;
    bf_value value;
    const bf_value empty = {.dtype = BF_F64, .as.f64 = -1};
    OWN(bf_context) *c = make_context(NULL, 1);
    bf_quantiles *q = median_of(c, BF_I32, NULL);
    assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    assert_true(done);
    assert_int_equal(bf_quantiles_result(q, &value), BF_E_EMPTY);
    bf_quantiles_destroy(q);
    q = median_of(c, BF_I32, &BF_ORDER_OPTIONS(.empty = &empty));
    assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    assert_int_equal(bf_quantiles_result(q, &value), BF_OK);
    assert_true(value.as.f64 == -1);
    bf_quantiles_destroy(q);
}

TEST(damaged_forms_are_refused) {
    uint64_t seed = 4;
    int done = 0;
    OWN(bf_context) *c = make_context(NULL, 1);
    bf_quantiles *q = median_of(c, BF_F64, &BF_ORDER_OPTIONS(.nan = BF_NAN_SKIP)), *loaded;
    make_data(BF_F64, NUMBERS, 300, &seed);
    absorb(q, BF_F64, 0, 300);
    assert_int_equal(bf_quantiles_next(q, &done), BF_OK);
    absorb(q, BF_F64, 0, 300);
    const size_t size = save(q, saved);
    for (size_t i = 0; i < size; i++) {
        memcpy(other_saved, saved, size);
        other_saved[i] ^= 1;
        assert_int_equal(bf_quantiles_load(c, other_saved, size, &loaded), BF_E_STATE);
        assert_int_equal(bf_quantiles_load(c, saved, i, &loaded), BF_E_STATE);
    }
    bf_quantiles_destroy(q);
}

/* Ranges of a pass that were out of order would have steps outside their tally. */
TEST(wanted_ranks_that_do_not_ascend_are_refused) {
    static const double q[] = {0.25, 0.75};
    uint64_t seed = 5;
    int done = 0;
    OWN(bf_context) *c = make_context(NULL, 1);
    bf_quantiles *x, *loaded = NULL;
    const bf_order_options lower = BF_ORDER_OPTIONS(.method = BF_QUANTILE_LOWER);
    assert_int_equal(bf_quantiles_create(c, BF_U64, q, 2, &lower, &x), BF_OK);
    make_data(BF_U64, RANDOM_BITS, 300, &seed);
    absorb(x, BF_U64, 0, 300);
    assert_int_equal(bf_quantiles_next(x, &done), BF_OK);
    const size_t size = save(x, saved);
    bf_quantiles_destroy(x);
    int32_t *ranges = (int32_t *)(void *)(saved + saved_offset(saved, size, "range"));
    assert_int_equal(ranges[0], 0);
    assert_int_equal(ranges[1], 1);
    for (int swapped = 0; swapped < 2; swapped++) {
        ranges[0] = swapped;
        ranges[1] = !swapped;
        sign_saved(saved, size);
        assert_int_equal(bf_quantiles_load(c, saved, size, &loaded), swapped ? BF_E_STATE : BF_OK);
        if (!swapped) bf_quantiles_destroy(loaded);
    }
}

UNIT_TESTS(quantiles, NULL, NULL)
