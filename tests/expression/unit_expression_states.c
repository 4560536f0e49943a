/* States that absorb what an expression computes, and results of many elements, on every
 * instruction set and number of threads.
 * Builds: release, asan (full), tsan (full). */
#include "tests/expression/parse.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <stdio.h>

enum { LONG = 200003 };

static double long_a[LONG], long_b[LONG], long_out[2 * LONG];

/* An array for results that are computed by tiles: every second element of long_out. */
static bf_array sparse_out(bf_dtype dtype, int64_t n) {
    bf_array out = bf_array_of(dtype, long_out, n);
    out.strides[0] = 2;
    return out;
}
static char saved[2][1 << 16];

/* What a state of the results says, saved. */
static size_t save_state(bf_state *state, char *to) {
    const size_t size = bf_state_save_size(state);
    assert_true(size <= sizeof saved[0]);
    assert_int_equal(bf_state_save(state, to), BF_OK);
    bf_state_destroy(state);
    return size;
}

/* A state that absorbs the expression in two parts is one that absorbs its results. */
static void check_states(bf_context *context, void *data) {
    const char *text = data;
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    OWN(bf_expression) *e = parse(context, text, dtypes, 2, BF_OVERFLOW_ERROR);
    const bf_dtype dtype = bf_expression_dtype(e);
    const int64_t n = LONG, cut = 70001;
    const bf_array a = bf_array_of(BF_F64, long_a, n), b = bf_array_of(BF_F64, long_b, n),
                   out = sparse_out(dtype, n), *columns[] = {&a, &b};
    const bf_array a1 = bf_array_of(BF_F64, long_a, cut), b1 = bf_array_of(BF_F64, long_b, cut),
                   a2 = bf_array_of(BF_F64, long_a + cut, n - cut),
                   b2 = bf_array_of(BF_F64, long_b + cut, n - cut), *first[] = {&a1, &b1},
                   *second[] = {&a2, &b2};
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        bf_state *of_results, *of_parts;
        if (op == BF_DOT) continue;
        assert_int_equal(bf_state_create(context, (bf_reduction)op, dtype, &of_results), BF_OK);
        assert_int_equal(bf_state_create(context, (bf_reduction)op, dtype, &of_parts), BF_OK);
        assert_int_equal(bf_state_absorb(of_results, &out), BF_OK);
        assert_int_equal(bf_state_absorb_expression(of_parts, e, first), BF_OK);
        assert_int_equal(bf_state_absorb_expression(of_parts, e, second), BF_OK);
        const size_t size = save_state(of_results, saved[0]);
        assert_int_equal(save_state(of_parts, saved[1]), size);
        assert_memory_equal(saved[0], saved[1], size);
    }
}

TEST(states_absorb_what_is_computed) {
    fill(BF_F64, long_a, LONG, KIND_NARROW, 11);
    fill(BF_F64, long_b, LONG, KIND_FULL, 12);
    on_every_context(check_states, "(a - b)**2");
    on_every_context(check_states, "a > 0");
    on_every_context(check_states, "floor(a*1000) % 7");
}

static float short_a[LONG], short_b[LONG];

static void check_sum(bf_context *context, const char *text, const bf_dtype dtypes[2], int kind) {
    const bf_array a = bf_array_of(dtypes[0], dtypes[0] == BF_F64 ? (void *)long_a : short_a, LONG),
                   b = bf_array_of(dtypes[1], dtypes[1] == BF_F64 ? (void *)long_b : short_b, LONG),
                   *columns[] = {&a, &b};
    OWN(bf_expression) *e = parse(context, text, dtypes, 2, BF_OVERFLOW_ERROR);
    const bf_dtype dtype = bf_expression_dtype(e);
    const bf_array out = sparse_out(dtype, LONG);
    bf_state *of_results, *of_terms;
    assert_int_equal(bf_expression_eval(e, columns, &out), BF_OK);
    assert_int_equal(bf_state_create(context, BF_SUM, dtype, &of_results), BF_OK);
    assert_int_equal(bf_state_create(context, BF_SUM, dtype, &of_terms), BF_OK);
    assert_int_equal(bf_state_absorb(of_results, &out), BF_OK);
    assert_int_equal(bf_state_absorb_expression(of_terms, e, columns), BF_OK);
    const size_t size = save_state(of_results, saved[0]);
    assert_int_equal(save_state(of_terms, saved[1]), size);
    if (memcmp(saved[0], saved[1], size) != 0)
        fail_msg("%s of %s and %s, kind %d", text, bf_dtype_name(dtypes[0]),
                 bf_dtype_name(dtypes[1]), kind);
}

/* A sum computes its terms as it goes, where it can: with the words of a sum of results of tiles.
 * `generic`, which never does and is slow, gets some of the data. */
static void check_sums(bf_context *context, void *data) {
    static const char *const texts[] = {"a*b",     "(a-b)**2",         "a*b - 2.5*a + b",
                                        "a + b*0", "a*a*a*a*a*a*a*a",  "0.0*a - 0.0",
                                        "a*0",     "(a+b)*(a-b) - a*a"};
    static const char *const others[] = {"a/(b*b + 2)", "min(a, b) - 1.5", "max(-a, b)",
                                         "sqrt(abs(a)) + abs(b)", "fma(a, b, -a) - b",
                                         /* operands that are the step before, on either side */
                                         "b/(a/(b*b + 1)) - (a - (b - 1.5))",
                                         "fma(b, a - b, (a + a)*(b - a))"};
    static const bf_dtype dtypes[][2] = {{BF_F64, BF_F64}, {BF_F32, BF_F32}, {BF_F32, BF_F64}};
    const int kind = *(const int *)data;
    if (strcmp(bf_context_isa(context), "generic") == 0 && kind % 4 != 0) return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_sum(context, texts[i], dtypes[i % 3 == 0 ? 0 : (size_t)kind % 3], kind);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_sum(context, others[i], dtypes[((size_t)kind + i) % 3], kind);
}

static void check_sums_of_kind(int kind) {
    for (int i = 0; i < LONG; i++) short_a[i] = (float)long_a[i], short_b[i] = (float)long_b[i];
    on_every_context(check_sums, &kind);
}

TEST(sums_of_terms_are_those_of_results) {
    static const double rare[] = {NAN, INFINITY, -INFINITY, -0.0, 0x1p-1074, 0x1p1023, 0x1p-600};
    const int step = DATA_SHARE > 1 ? 5 : 1; /* another kind in each half */
    for (int kind = 0; kind < 2 * KIND_COUNT; kind += step) {
        fill(BF_F64, long_a, LONG, (data_kind)(kind % KIND_COUNT), 21 + (uint64_t)kind);
        fill(BF_F64, long_b, LONG, KIND_NARROW, 22);
        for (int i = 0; i < 7 && kind >= KIND_COUNT; i++) {
            long_a[(i + 1) * 25000 + i] = rare[i];
            long_b[i * 20000 + 77] = rare[i];
        }
        check_sums_of_kind(kind);
    }
    for (int i = 0; i < LONG; i++) long_a[i] = -0.0, long_b[i] = i % 2 ? 0.0 : -0.0;
    check_sums_of_kind(2 * KIND_COUNT);
    for (int i = 0; i < LONG; i++) long_a[i] = i % 1000 * 0x1p-1074, long_b[i] = i % 7 * 0x1p-1074;
    check_sums_of_kind(2 * KIND_COUNT + 1);
}

static void *large[3]; /* two columns, and room for the results of each context */

enum { LARGE = (1 << 24) / sizeof(float) + 77, LARGE_PART = 99999 };

static void check_parts(bf_expression *e, const char *a, const char *b, const char *out,
                        int64_t n) {
    const bf_dtype dtype = bf_expression_dtype(e);
    const int64_t size = dtype == BF_F64 ? 8 : 4;
    for (int64_t at = 0; at < n; at += LARGE_PART) {
        const int64_t m = n - at < LARGE_PART ? n - at : LARGE_PART;
        const bf_array x = bf_array_of(dtype, (char *)(uintptr_t)a + at * size, m),
                       y = bf_array_of(dtype, (char *)(uintptr_t)b + at * size, m),
                       part = sparse_out(dtype, m), *parts[] = {&x, &y};
        assert_int_equal(bf_expression_eval(e, parts, &part), BF_OK);
        for (int64_t i = 0; i < m; i++)
            if (memcmp(out + (at + i) * size, (char *)long_out + 2 * i * size, (size_t)size) != 0)
                fail_msg("element %lld differs", (long long)(at + i));
    }
}

/* Results that are stored as terms, past the caches if they are many, are those of tiles. The
 * output does not begin at a line; then it is a column, too. Nothing is written beside it. */
static void check_large(bf_context *context, const char *text, bf_dtype dtype, int64_t n) {
    const bf_dtype dtypes[] = {dtype, dtype};
    const int64_t size = dtype == BF_F64 ? 8 : 4;
    char *to = (char *)large[2] + size;
    OWN(bf_expression) *e = parse(context, text, dtypes, 2, BF_OVERFLOW_ERROR);
    const bf_array a = bf_array_of(dtype, large[0], n), b = bf_array_of(dtype, large[1], n),
                   out = bf_array_of(dtype, to, n), *columns[] = {&a, &b}, *same[] = {&out, &b};
    memset(large[2], 0x55, (size_t)((n + 2) * size));
    for (int in_place = 0; in_place < 2; in_place++) {
        if (in_place) memcpy(to, large[0], (size_t)(n * size));
        assert_int_equal(bf_expression_eval(e, in_place ? same : columns, &out), BF_OK);
        check_parts(e, large[0], large[1], to, n);
        for (int64_t i = 0; i < size; i++) {
            assert_int_equal(((char *)large[2])[i], 0x55);
            assert_int_equal(to[n * size + i], 0x55);
        }
    }
}

static void check_large_results(bf_context *context, void *data) {
    const bf_dtype dtype = *(const bf_dtype *)data;
    const int64_t all = LARGE * 4 / (dtype == BF_F64 ? 8 : 4);
    if (strcmp(bf_context_isa(context), "generic") == 0) return; /* has no such stores */
    check_large(context, "a + b", dtype, all);
    check_large(context, "-(a - b)**2", dtype, all);
    check_large(context, "(a - b)*a", dtype, 70001);
}

TEST(large_results_are_those_of_parts) {
    static const bf_dtype dtypes[] = {BF_F32, BF_F64};
    for (int i = 0; i < 3; i++) large[i] = malloc(sizeof(float) * (LARGE + 4));
    for (int i = 0; i < 2; i++) {
        const int64_t n = LARGE * 4 / (dtypes[i] == BF_F64 ? 8 : 4);
        fill(dtypes[i], large[0], n, KIND_FULL, 31);
        fill(dtypes[i], large[1], n, KIND_NARROW, 32);
        for (int64_t k = 0; k < n; k += 1000) /* NaNs */
            if (dtypes[i] == BF_F64)
                ((uint64_t *)large[0])[k] = 0xfff8123400000000;
            else
                ((uint32_t *)large[0])[k] = 0xfff81234;
        on_every_context(check_large_results, (void *)(uintptr_t)&dtypes[i]);
    }
    for (int i = 0; i < 3; i++) free(large[i]);
}

TEST(a_failure_leaves_the_state_as_it_was) {
    static int32_t x[LONG];
    OWN(bf_context) *context = make_context(NULL, 2);
    const bf_dtype dtype = BF_I32;
    const bf_array a = bf_array_of(BF_I32, x, LONG), *column = &a;
    OWN(bf_expression) *e = parse(context, "a + 1", &dtype, 1, BF_OVERFLOW_ERROR);
    OWN(bf_state) *state = NULL;
    bf_value value;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I32, &state), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, &column), BF_OK);
    x[150000] = x[170000] = INT32_MAX;
    assert_int_equal(bf_state_absorb_expression(state, e, &column), BF_E_OVERFLOW);
    assert_string_equal(bf_context_message(context),
                        "character 3: the result at index 350003 does not fit i32");
    assert_int_equal(bf_state_result(state, NULL, &value), BF_OK);
    assert_true(bf_value_f64(&value) == LONG);
}

/* Numbers alone: as many results as the columns given have elements, or one. */
TEST(expressions_without_columns) {
    OWN(bf_context) *context = make_context(NULL, 1);
    const bf_dtype dtype = BF_F64;
    const bf_array a = bf_array_of(BF_F64, long_a, 5), *given = &a, *missing = NULL;
    OWN(bf_expression) *e = parse(context, "2 + 3", &dtype, 1, BF_OVERFLOW_ERROR);
    OWN(bf_state) *state = NULL;
    bf_value value;
    int64_t sum;
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I64, &state), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, &given), BF_OK);
    assert_int_equal(bf_state_absorb_expression(state, e, &missing), BF_OK);
    assert_int_equal(bf_state_result(state, NULL, &value), BF_OK);
    assert_int_equal(bf_value_i64(&value, &sum), BF_OK);
    assert_int_equal(sum, 30);
}

UNIT_TESTS(expression_states, NULL, NULL)
