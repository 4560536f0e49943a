/* The results of groups as typed arrays, and as values: against bf_reduce of each group's rows.
 * Builds: release, asan, tsan (full). */
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { ROWS = 1500, GROUPS = 40, OPS = 8, MANY = 600000 };

static const bf_reduction ops[OPS] = {BF_SUM,   BF_MEAN, BF_VAR, BF_STD,
                                      BF_SUMSQ, BF_NORM, BF_MIN, BF_MAX};

static bf_context *one, *three;

static int make_contexts(void **unused) {
    (void)unused;
    return bf_context_create(&BF_OPTIONS(.device = "cpu", .isa = "generic", .threads = 1), &one) ||
           bf_context_create(&BF_OPTIONS(.device = "cpu", .threads = 3), &three);
}

static int destroy_contexts(void **unused) {
    (void)unused;
    bf_context_destroy(one);
    bf_context_destroy(three);
    return 0;
}

/* ---- some groups ------------------------------------------------------------------------------
 */

/* Rows of GROUPS keys; group i has i % 7 + 1 rows or more, and sorted[first[i]] on are its values.
 */
typedef struct some {
    bf_dtype dtype;
    int keys[ROWS];
    int64_t first[GROUPS + 1];
    char values[ROWS * 8], sorted[ROWS * 8];
    bf_groups *groups;
} some;

static void sort_rows(some *s) {
    size_t bytes = bf_dtype_size(s->dtype);
    int64_t at = 0;
    for (int k = 0; k < GROUPS; k++) {
        s->first[k] = at;
        for (int i = 0; i < ROWS; i++)
            if (s->keys[i] == k)
                memcpy(s->sorted + (size_t)at++ * bytes, s->values + (size_t)i * bytes, bytes);
    }
    s->first[GROUPS] = at;
}

/* Some floats become NaN, infinite or -0; the values of one group are all NaN, of one all -0. */
static void put_specials(some *s, uint64_t seed) {
    size_t bytes = bf_dtype_size(s->dtype);
    const uint64_t inf = infinity_bits(s->dtype), sign = sign_bit(s->dtype);
    const uint64_t specials[] = {inf, inf | sign, inf + 1, inf + 2 + sign, sign, 0};
    for (int i = 0; i < ROWS && is_float(s->dtype); i++) {
        uint64_t r = next_random(&seed);
        bool all = s->keys[i] == 5 || s->keys[i] == 6;
        if (!all && r % 64 != 0) continue;
        uint64_t bits = s->keys[i] == 5 ? inf + 1 : s->keys[i] == 6 ? sign : specials[r / 64 % 6];
        store_bits(s->values + (size_t)i * bytes, bytes, bits);
    }
}

static some *make_some(bf_context *context, bf_dtype dtype, data_kind kind, uint64_t seed) {
    some *s = test_calloc(1, sizeof *s);
    bf_aggregate aggregates[OPS];
    bf_groups_options how =
        BF_GROUPS_OPTIONS(.key = BF_I32, .count = OPS, .aggregates = aggregates);
    s->dtype = dtype;
    fill(dtype, s->values, ROWS, kind, seed);
    for (int i = 0; i < ROWS; i++) s->keys[i] = i < GROUPS ? i : (int)(next_random(&seed) % GROUPS);
    for (int i = 0; i < ROWS && dtype == BF_I64 && kind == KIND_NARROW; i++)
        store_bits(s->values + 8 * i, 8, load_bits(s->values + 8 * i, 8) << 40);
    if (seed % 2) put_specials(s, seed);
    sort_rows(s);
    bf_array keys = bf_array_of(BF_I32, s->keys, ROWS);
    bf_array values = bf_array_of(dtype, s->values, ROWS);
    const bf_array *each[OPS];
    for (int i = 0; i < OPS; i++) {
        aggregates[i] = (bf_aggregate){ops[i], dtype};
        each[i] = &values;
    }
    assert_int_equal(bf_groups_create(context, &how, &s->groups), BF_OK);
    assert_int_equal(bf_groups_absorb(s->groups, &keys, each), BF_OK);
    assert_int_equal(bf_groups_size(s->groups), GROUPS);
    return s;
}

static void destroy_some(some *s) {
    bf_groups_destroy(s->groups);
    test_free(s);
}

/* What one call says of a group's rows: NaN where it has no value. */
static bf_status reduce_group(const some *s, int i, int which, const bf_reduce_options *options,
                              bf_value *value) {
    char *rows = (char *)(uintptr_t)s->sorted + (size_t)s->first[i] * bf_dtype_size(s->dtype);
    bf_array a = bf_array_of(s->dtype, rows, s->first[i + 1] - s->first[i]);
    bf_status status = bf_reduce(one, ops[which], &a, options, value);
    if (status != BF_E_EMPTY) return status;
    memset(value, 0, sizeof *value);
    value->dtype = s->dtype;
    value->as.u64 = infinity_bits(s->dtype) | 1ull << (fraction_bits(s->dtype) - 1);
    return BF_OK;
}

/* ---- results ----------------------------------------------------------------------------------
 */

/* The results that one call for each group gives: values, and as elements of dtype. */
typedef struct expected {
    bf_status status; /* BF_OK, or the refusal of a NaN */
    bf_value values[GROUPS];
    char elements[GROUPS * 8];
    uint8_t fits[GROUPS];
    int misfit; /* the first; -1: all fit */
} expected;

static void expect(const some *s, int which, const bf_reduce_options *options, bf_dtype dtype,
                   expected *e) {
    size_t bytes = bf_dtype_size(dtype);
    e->status = BF_OK;
    e->misfit = -1;
    for (int i = 0; i < GROUPS; i++) {
        int64_t i64;
        uint64_t u64;
        bf_value *v = &e->values[i];
        bf_status status = reduce_group(s, i, which, options, v);
        if (status != BF_OK) e->status = status;
        if (status != BF_OK) continue;
        e->fits[i] = v->dtype != BF_I192 ||
                     (dtype == BF_I64 ? bf_value_i64(v, &i64) : bf_value_u64(v, &u64)) == BF_OK;
        if (!e->fits[i] && e->misfit < 0) e->misfit = i;
        memcpy(e->elements + (size_t)i * bytes, &v->as, bytes);
    }
}

static bf_dtype array_dtype(bf_reduction op, bf_dtype dtype, bf_dtype out) {
    if (op == BF_MIN || op == BF_MAX) return dtype;
    if (out != BF_NONE) return out;
    if (is_float(dtype) || (op != BF_SUM && op != BF_SUMSQ)) return BF_F64;
    return is_signed(dtype) || dtype == BF_BOOL ? BF_I64 : BF_U64;
}

/* Without an array for what fits, the first that does not is an error, and nothing is written. */
static void check_misfit(const some *s, int which, const bf_reduce_options *options,
                         const expected *e, const bf_array *values) {
    char untouched[GROUPS * 8], text[40];
    bool refused = e->misfit >= 0 && options->overflow != BF_OVERFLOW_WRAP;
    size_t bytes = bf_dtype_size(values->dtype);
    memset(untouched, 0x77, sizeof untouched);
    memset(values->data, 0x77, GROUPS * bytes);
    bf_status status = bf_groups_aggregate(s->groups, which, options, values, NULL);
    assert_int_equal(status, refused ? BF_E_OVERFLOW : BF_OK);
    assert_memory_equal(values->data, refused ? untouched : e->elements, GROUPS * bytes);
    snprintf(text, sizeof text, " of group %d ", e->misfit);
    if (refused) assert_non_null(strstr(bf_context_message(three), text));
}

static void check_results(const some *s, int which, const bf_reduce_options *options) {
    expected e;
    char elements[GROUPS * 8 + 1];
    uint8_t fits[GROUPS];
    bf_value values[GROUPS];
    bf_dtype dtype = bf_groups_aggregate_dtype(s->groups, which, options);
    assert_int_equal(dtype, array_dtype(ops[which], s->dtype, options->out_dtype));
    expect(s, which, options, dtype, &e);
    bf_array out = bf_array_of(dtype, elements + 1, GROUPS);
    bf_array out_fits = bf_array_of(BF_BOOL, fits, GROUPS);
    memset(fits, 7, sizeof fits);
    assert_int_equal(bf_groups_aggregate(s->groups, which, options, &out, &out_fits), e.status);
    assert_int_equal(bf_groups_result(s->groups, which, options, values), e.status);
    if (e.status != BF_OK) return;
    assert_memory_equal(elements + 1, e.elements, GROUPS * bf_dtype_size(dtype));
    assert_memory_equal(fits, e.fits, sizeof fits);
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(values[i].dtype, e.values[i].dtype);
        assert_memory_equal(&values[i].as, &e.values[i].as, sizeof values->as);
    }
    check_misfit(s, which, options, &e, &out);
}

static void check_options(const some *s, int which) {
    const bf_reduce_options options[] = {
        BF_REDUCE_OPTIONS(.ddof = 0),
        BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP, .ddof = 1),
        BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR),
        BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP),
        BF_REDUCE_OPTIONS(.out_dtype = BF_F32, .ddof = 1),
        BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP, .out_dtype = BF_F64),
    };
    const int count = which >= OPS - 2 ? 4 : 6; /* min and max have no output dtype */
    for (int i = 0; i < count; i++) check_results(s, which, &options[i]);
}

/* ---- tests ------------------------------------------------------------------------------------
 */

TEST(results_are_those_of_each_group_s_rows) {
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            some *s = make_some(three, all_dtypes[d], (data_kind)kind, (uint64_t)(d + kind));
            for (int which = 0; which < OPS; which++) check_options(s, which);
            destroy_some(s);
        }
}

/* Loaded groups keep no limbs below the lowest that is not 0. */
TEST(saved_groups_have_the_same_results) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        some *s = make_some(three, all_dtypes[d], d % 2 ? KIND_FULL : KIND_NARROW, (uint64_t)d);
        bf_groups *loaded = copy_form(three, s->groups);
        assert_non_null(loaded);
        bf_groups_destroy(s->groups);
        s->groups = loaded;
        for (int which = 0; which < OPS; which++) check_options(s, which);
        destroy_some(s);
    }
}

/* Backwards, in two dimensions, with gaps that stay as they are. */
TEST(outputs_have_any_strides) {
    enum { DOWN = 5, ACROSS = GROUPS / DOWN };
    some *s = make_some(three, BF_I64, KIND_EXTREME, 3);
    int64_t plain[GROUPS], spread[DOWN * ACROSS * 6];
    uint8_t plain_fits[GROUPS], spread_fits[GROUPS * 2];
    bf_array out = bf_array_of(BF_I64, plain, GROUPS),
             fits = bf_array_of(BF_BOOL, plain_fits, GROUPS);
    assert_int_equal(bf_groups_aggregate(s->groups, 0, NULL, &out, &fits), BF_OK);
    memset(spread, 0x33, sizeof spread);
    memset(spread_fits, 0x33, sizeof spread_fits);
    bf_array wide = {spread + 3 * (GROUPS - 1), BF_I64, 2, {DOWN, ACROSS}, {-3 * ACROSS, -3}};
    bf_array narrow = {spread_fits, BF_BOOL, 1, {GROUPS}, {2}};
    assert_int_equal(bf_groups_aggregate(s->groups, 0, NULL, &wide, &narrow), BF_OK);
    for (int i = 0; i < GROUPS; i++) {
        assert_int_equal(spread[3 * (GROUPS - 1 - i)], plain[i]);
        assert_int_equal(spread[3 * i + 1], 0x3333333333333333);
        assert_int_equal(spread_fits[2 * i], plain_fits[i]);
        assert_int_equal(spread_fits[2 * i + 1], 0x33);
    }
    destroy_some(s);
}

TEST(no_group_and_one) {
    double value = 2.5, out = 7;
    int32_t key = -1;
    const bf_aggregate sum = {BF_SUM, BF_F64};
    bf_groups_options how = BF_GROUPS_OPTIONS(.key = BF_I32, .count = 1, .aggregates = &sum);
    OWN(bf_groups) *g = NULL;
    bf_value v;
    bf_array keys = bf_array_of(BF_I32, &key, 1), values = bf_array_of(BF_F64, &value, 1);
    bf_array none = bf_array_of(BF_F64, NULL, 0), single = bf_array_of(BF_F64, &out, 1);
    const bf_array *each[] = {&values};
    assert_int_equal(bf_groups_create(three, &how, &g), BF_OK);
    assert_int_equal(bf_groups_aggregate(g, 0, NULL, &none, NULL), BF_OK);
    assert_int_equal(bf_groups_aggregate(g, 0, NULL, &single, NULL), BF_E_SHAPE);
    assert_int_equal(bf_groups_result(g, 0, NULL, NULL), BF_OK);
    assert_true(out == 7);
    assert_int_equal(bf_groups_absorb(g, &keys, each), BF_OK);
    assert_int_equal(bf_groups_aggregate(g, 0, NULL, &single, NULL), BF_OK);
    assert_int_equal(bf_groups_result(g, 0, NULL, &v), BF_OK);
    assert_true(out == 2.5 && v.as.f64 == 2.5);
}

/* Groups of one row each, of more than one shard has, so that a result is known at sight. */
TEST(many_groups) {
    uint64_t *keys = test_malloc(MANY * sizeof *keys), *sorted = test_malloc(MANY * sizeof *keys);
    int64_t *x = test_malloc(MANY * sizeof *x), *sums = test_malloc(MANY * sizeof *sums);
    double *norms = test_malloc(MANY * sizeof *norms);
    const bf_aggregate aggregates[] = {{BF_SUM, BF_I64}, {BF_NORM, BF_I64}};
    bf_groups_options how = BF_GROUPS_OPTIONS(.key = BF_U64, .count = 2, .aggregates = aggregates);
    for (uint64_t i = 0; i < MANY; i++) {
        keys[i] = i * 0x9e3779b97f4a7c15u;
        x[i] = (int64_t)(keys[i] >> 20) - ((int64_t)1 << 43);
    }
    bf_array k = bf_array_of(BF_U64, keys, MANY), v = bf_array_of(BF_I64, x, MANY);
    bf_array by_key = bf_array_of(BF_U64, sorted, MANY);
    bf_array out = bf_array_of(BF_I64, sums, MANY), roots = bf_array_of(BF_F64, norms, MANY);
    const bf_array *each[] = {&v, &v};
    for (int c = 0; c < 2; c++) {
        OWN(bf_groups) *g = NULL;
        assert_int_equal(bf_groups_create(c ? three : one, &how, &g), BF_OK);
        assert_int_equal(bf_groups_absorb(g, &k, each), BF_OK);
        assert_int_equal(bf_groups_list(g, &by_key, NULL), BF_OK);
        assert_int_equal(bf_groups_aggregate(g, 0, NULL, &out, NULL), BF_OK);
        assert_int_equal(bf_groups_aggregate(g, 1, NULL, &roots, NULL), BF_OK);
        for (int i = 0; i < MANY; i++) {
            int64_t sum = (int64_t)(sorted[i] >> 20) - ((int64_t)1 << 43);
            assert_int_equal(sums[i], sum);
            assert_true(norms[i] == fabs((double)sum));
        }
    }
    test_free(keys);
    test_free(sorted);
    test_free(x);
    test_free(sums);
    test_free(norms);
}

TEST(a_failure_writes_nothing) {
    needs_failing_malloc();
    some *s = make_some(three, BF_I16, KIND_FULL, 2);
    int64_t sums[3 * GROUPS], untouched[3 * GROUPS];
    bf_array out = {sums, BF_I64, 1, {GROUPS}, {3}};
    memset(sums, 0x44, sizeof sums);
    memcpy(untouched, sums, sizeof sums);
    FAIL_EACH_ALLOCATION(bf_groups_aggregate(s->groups, 0, NULL, &out, NULL))
    assert_memory_equal(sums, untouched, sizeof sums);
    destroy_some(s);
}

TEST(wrong_arguments_are_refused) {
    some *s = make_some(three, BF_U8, KIND_FULL, 4);
    char memory[GROUPS * 8];
    const bf_reduce_options rounded = BF_REDUCE_OPTIONS(.out_dtype = BF_F32);
    const bf_reduce_options wrong = BF_REDUCE_OPTIONS(.ddof = 2);
    bf_array u64 = bf_array_of(BF_U64, memory, GROUPS), i64 = bf_array_of(BF_I64, memory, GROUPS);
    bf_array few = bf_array_of(BF_U64, memory, GROUPS - 1), bad = u64;
    bf_array bools = bf_array_of(BF_BOOL, memory, GROUPS - 1);
    bad.ndim = 99;
    const struct {
        int which;
        const bf_reduce_options *options;
        const bf_array *values, *fits;
        bf_status status;
    } cases[] = {
        {-1, NULL, &u64, NULL, BF_E_ARGUMENT},  {OPS, NULL, &u64, NULL, BF_E_ARGUMENT},
        {0, &wrong, &u64, NULL, BF_E_ARGUMENT}, {0, NULL, &bad, NULL, BF_E_ARGUMENT},
        {0, NULL, &u64, &bad, BF_E_ARGUMENT},   {OPS - 1, &rounded, &u64, NULL, BF_E_ARGUMENT},
        {0, NULL, &i64, NULL, BF_E_DTYPE},      {0, &rounded, &u64, NULL, BF_E_DTYPE},
        {0, NULL, &u64, &u64, BF_E_DTYPE},      {0, NULL, &few, NULL, BF_E_SHAPE},
        {0, NULL, &u64, &bools, BF_E_SHAPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(bf_groups_aggregate(s->groups, cases[i].which, cases[i].options,
                                             cases[i].values, cases[i].fits),
                         cases[i].status);
    assert_int_equal(bf_groups_aggregate_dtype(s->groups, OPS, NULL), BF_NONE);
    assert_int_equal(bf_groups_aggregate_dtype(s->groups, 0, &wrong), BF_NONE);
    assert_int_equal(bf_groups_aggregate_dtype(s->groups, OPS - 1, &rounded), BF_NONE);
    destroy_some(s);
}

/* The groups of a part have the shares that they have in the whole. */
TEST(shares_of_parts) {
    enum { PARTS = 3 };
    some *s = make_some(three, BF_I64, KIND_NARROW, 9);
    bf_groups *parts[PARTS];
    bf_value all[GROUPS], some_values[GROUPS];
    int32_t keys[GROUPS];
    assert_int_equal(bf_groups_shares(s->groups, 0, NULL, NULL, all), BF_OK);
    assert_int_equal(bf_groups_split(s->groups, PARTS, parts), BF_OK);
    for (int p = 0; p < PARTS; p++) {
        const int64_t n = bf_groups_size(parts[p]);
        const bf_array list = bf_array_of(BF_I32, keys, n);
        assert_int_equal(bf_groups_list(parts[p], &list, NULL), BF_OK);
        assert_int_equal(bf_groups_shares(parts[p], 0, s->groups, NULL, some_values), BF_OK);
        for (int64_t i = 0; i < n; i++)
            assert_int_equal(some_values[i].as.bits, all[keys[i]].as.bits);
        bf_groups_destroy(parts[p]);
    }
    some *other = make_some(one, BF_I64, KIND_NARROW, 9),
         *of_f32 = make_some(three, BF_F32, KIND_NARROW, 9);
    assert_int_equal(bf_groups_shares(s->groups, 0, other->groups, NULL, all), BF_E_STATE);
    assert_int_equal(bf_groups_shares(s->groups, 0, of_f32->groups, NULL, all), BF_E_STATE);
    destroy_some(s);
    destroy_some(other);
    destroy_some(of_f32);
}

UNIT_TESTS(group_result, make_contexts, destroy_contexts)
