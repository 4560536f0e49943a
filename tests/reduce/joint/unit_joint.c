/* Reductions of pairs, of powers and with weights: every instruction set, with any number of
 * threads, has the bits that the rules have element by element; and each of many lines has those of
 * its elements alone.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "rules/number/limbs.h"
#include <bitfold/axis.h>
#include <bitfold/pair.h>

enum { OPS = 10, MOST = 70000, KINDS = 9 };
enum { CASES = CASE_STEP > 1 ? 80 : 260, LINE_CASES = CASE_STEP > 1 ? 27 : 60 };

static const bf_reduction ops[OPS] = {BF_COV,  BF_CORR,     BF_SLOPE, BF_INTERCEPT, BF_R2,
                                      BF_SKEW, BF_KURTOSIS, BF_WMEAN, BF_WVAR,      BF_WSTD};

static int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

typedef struct answer {
    bf_status status;
    uint64_t bits;
} answer;

static answer reduce(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                     const bf_reduce_options *options) {
    bf_value v = {.dtype = BF_NONE};
    answer found = {BF_OK, 0};
    found.status = bf_reduction_arrays(op) == 2 ? bf_reduce_pair(context, op, a, b, options, &v)
                                                : bf_reduce(context, op, a, options, &v);
    if (found.status == BF_OK) memcpy(&found.bits, &v.as, bf_dtype_size(v.dtype));
    return found;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* A float of a kind: near 1, far from their mean, over the range of squares or of all floats,
 * subnormal, equal, few bits, of one power, or with NaNs and infinities among them. */
static double any_float(int kind, int64_t share, bool wide, uint64_t *seed) {
    const double u = (double)(next_random(seed) >> 11) * 0x1p-53 - 0.5;
    const int range = wide ? 300 : 40;
    switch (kind) {
    case 1: return 1e11 + u;
    case 2: return ldexp(u, (int)pick(seed, 2 * range + 1) - range);
    case 3: return ldexp(u, (int)pick(seed, 7 * range) - 3 * range);
    case 4: return ldexp(u, wide ? -1050 : -140);
    case 5: return 0.1;
    case 6: return (double)pick(seed, 4) - 1;
    case 7: return ldexp(u, wide ? 460 : 60);
    case 8:
        if (pick(seed, share) > 0) return u;
        return pick(seed, 3) == 0 ? (double)NAN : pick(seed, 2) ? HUGE_VAL : -HUGE_VAL;
    default: return u;
    }
}

static void fill_kind(bf_dtype dtype, char *to, int64_t n, int kind, uint64_t *seed) {
    const int64_t share = pick(seed, 2) ? 3 : 2000;
    const size_t bytes = bf_dtype_size(dtype);
    if (!is_float(dtype) || bytes == 2) {
        fill(dtype, to, n, (data_kind)pick(seed, KIND_COUNT), next_random(seed));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const double wide = any_float(kind, share, bytes == 8, seed);
        const float narrow = (float)wide;
        memcpy(to + (size_t)i * bytes, bytes == 8 ? (const void *)&wide : &narrow, bytes);
    }
}

static bf_reduce_options any_options(uint64_t *seed) {
    return BF_REDUCE_OPTIONS(.ddof = (int)pick(seed, 2),
                             .nan = pick(seed, 2) ? BF_NAN_SKIP : BF_NAN_PROPAGATE,
                             .weights =
                                 pick(seed, 2) ? BF_WEIGHTS_RELIABILITY : BF_WEIGHTS_FREQUENCY);
}

/* ---- one result ------------------------------------------------------------------------------ */

typedef struct problem {
    bf_array a, b;
    bf_reduce_options options;
    int step; /* from one of the operations to the next */
    answer expected[OPS];
} problem;

static void check_problem(bf_context *context, void *data) {
    const problem *p = data;
    for (int i = 0; i < OPS; i += p->step) {
        const answer found = reduce(context, ops[i], &p->a, &p->b, &p->options);
        if (found.status != p->expected[i].status || found.bits != p->expected[i].bits)
            fail_msg("%s of %lld of dtype %d: %llx, not %llx", bf_reduction_name(ops[i]),
                     (long long)p->a.shape[0], (int)p->a.dtype, (unsigned long long)found.bits,
                     (unsigned long long)p->expected[i].bits);
    }
}

static void try_problem(problem *p, bf_context *rules) {
    for (int i = 0; i < OPS; i += p->step)
        p->expected[i] = reduce(rules, ops[i], &p->a, &p->b, &p->options);
    on_every_context(check_problem, p);
}

TEST(all_paths_have_the_bits_of_the_rules) {
    needs_no_threads();
    static const int64_t sizes[] = {0, 1, 2, 7, 8, 9, 63, 64, 100, 511, 513, 2047, 2049, 5000};
    OWN(bf_context) *rules = make_context("generic", 1);
    char *a = malloc(16 * MOST + 16), *b = malloc(16 * MOST + 16);
    uint64_t seed = 1;
    for (int c = 0; c < CASES; c++) {
        const bf_dtype dtype =
            all_dtypes[pick(&seed, 3) ? pick(&seed, DTYPE_COUNT) : DTYPE_COUNT - 1];
        const int64_t n = c % 40 == 39 ? MOST : sizes[pick(&seed, 14)];
        char *x = a + pick(&seed, 9), *y = b + pick(&seed, 9);
        problem p = {
            bf_array_of(dtype, x, n), bf_array_of(dtype, y, n), any_options(&seed), 1, {{0}}};
        fill_kind(dtype, x, n, c % KINDS, &seed);
        fill_kind(dtype, y, n, pick(&seed, 2) ? c % KINDS : (int)pick(&seed, KINDS), &seed);
        try_problem(&p, rules);
    }
    free(a);
    free(b);
}

/* Pairs, powers and weights of so many elements that two threads are worth it. */
TEST(threads_have_the_bits_of_the_rules) {
    enum { N = 1 << 18 };
    OWN(bf_context) *rules = make_context("generic", 1);
    double *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    problem p = {.a = bf_array_of(BF_F64, a, N), .b = bf_array_of(BF_F64, b, N), .step = 3};
    uint64_t seed = 5;
    p.options = any_options(&seed);
    fill_kind(BF_F64, (char *)a, N, 2, &seed);
    fill_kind(BF_F64, (char *)b, N, 1, &seed);
    try_problem(&p, rules);
    free(a);
    free(b);
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* A matrix with weights: of a and b, or of a twice, whose values are all the variance of a. */
typedef struct weighted {
    bf_array columns[3], weights;
    bf_reduce_options options;
    answer variance;
    double expected[9];
} weighted;

static void check_weighted(bf_context *context, void *data) {
    const weighted *p = data;
    double found[9] = {0};
    const bf_array values = {found, BF_F64, 2, {3, 3}, {3, 1}};
    assert_int_equal(
        bf_cov_matrix_weighted(context, BF_COV, p->columns, 3, &p->weights, &p->options, &values),
        BF_OK);
    for (int i = 0; i < 9; i++) assert_same_float(found[i], p->expected[i]);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(&found[i / 2 * 3 + i % 2], &p->variance.bits, 8);
}

/* A column and its copy, which is summed as another, have the variance that it has alone. */
TEST(matrices_with_weights_have_the_bits_of_the_rules) {
    needs_no_threads();
    static const int64_t sizes[] = {0, 1, 2, 7, 9, 64, 100, 513, 2047, 9000};
    bf_context *rules = make_context("generic", 1);
    char *of[4];
    uint64_t seed = 7;
    for (int i = 0; i < 4; i++) of[i] = malloc(16 * 9000 + 16);
    for (int c = 0; c < CASES; c++) {
        const bf_dtype dtype =
            all_dtypes[pick(&seed, 3) ? pick(&seed, DTYPE_COUNT) : DTYPE_COUNT - 1];
        const int64_t n = sizes[pick(&seed, 10)];
        weighted p = {.options = any_options(&seed)};
        for (int i = 0; i < 4; i++)
            fill_kind(dtype, of[i], n, i % 2 ? (int)pick(&seed, KINDS) : c % KINDS, &seed);
        memcpy(of[1], of[0], (size_t)n * bf_dtype_size(dtype));
        for (int i = 0; i < 3; i++) p.columns[i] = bf_array_of(dtype, of[i], n);
        p.weights = bf_array_of(dtype, of[3], n);
        const bf_array values = {p.expected, BF_F64, 2, {3, 3}, {3, 1}};
        p.variance = reduce(rules, BF_WVAR, &p.columns[0], &p.weights, &p.options);
        assert_int_equal(
            bf_cov_matrix_weighted(rules, BF_COV, p.columns, 3, &p.weights, &p.options, &values),
            BF_OK);
        on_every_context(check_weighted, &p);
    }
    for (int i = 0; i < 4; i++) free(of[i]);
    bf_context_destroy(rules);
}

/* Integers of 128 bits have the results of the same of 64. */
static void check_long(bf_context *context, void *unused) {
    (void)unused;
    enum { N = 300 };
    int64_t narrow[3][N];
    bf_i128 wide[3][N];
    bf_array columns[2][3];
    double found[2][4];
    uint64_t seed = 11;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N; i++)
            wide[k][i] = narrow[k][i] = (int64_t)next_random(&seed) >> (k == 2 ? 40 : 0);
        columns[0][k] = bf_array_of(BF_I64, narrow[k], N);
        columns[1][k] = bf_array_of(BF_I128, wide[k], N);
    }
    const bf_reduction both[] = {BF_COV, BF_CORR};
    for (int op = 0; op < 2; op++) {
        for (int w = 0; w < 2; w++) {
            const bf_array values = {found[w], BF_F64, 2, {2, 2}, {2, 1}};
            assert_int_equal(
                bf_cov_matrix_weighted(context, both[op], columns[w], 2, &columns[w][2],
                                       &BF_REDUCE_OPTIONS(.ddof = 1, .scale = 3), &values),
                BF_OK);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
    }
}

TEST(long_integers_are_weighted_as_others) {
    needs_no_threads();
    on_every_context(check_long, NULL);
}

/* ---- many ------------------------------------------------------------------------------------ */

typedef struct lines {
    bf_array a, b; /* a matrix */
    int axis;
    int64_t count;
    bf_reduce_options options;
    answer *expected; /* op by op */
} lines;

static void check_lines(bf_context *context, void *data) {
    const lines *x = data;
    double *values = malloc((size_t)x->count * sizeof *values);
    const bf_array out = bf_array_of(BF_F64, values, x->count);
    for (int i = 0; i < OPS; i++) {
        const bf_status status =
            bf_reduction_arrays(ops[i]) == 2
                ? bf_reduce_pair_axes(context, ops[i], &x->a, &x->b, &x->axis, 1, &x->options, &out,
                                      NULL)
                : bf_reduce_axes(context, ops[i], &x->a, &x->axis, 1, &x->options, &out, NULL);
        if (status != BF_OK) fail_msg("%s", bf_context_message(context));
        for (int64_t l = 0; l < x->count; l++) {
            const answer *expected = &x->expected[i * x->count + l];
            if (memcmp(&values[l], &expected->bits, 8) != 0)
                fail_msg("%s of line %lld along axis %d, of %lld x %lld of dtype %d: %a",
                         bf_reduction_name(ops[i]), (long long)l, x->axis, (long long)x->a.shape[0],
                         (long long)x->a.shape[1], (int)x->a.dtype, values[l]);
        }
    }
    free(values);
}

static bf_array matrix(bf_dtype dtype, char *data, int64_t rows, int64_t columns) {
    return (bf_array){data, dtype, 2, {rows, columns}, {columns, 1}};
}

static bf_array line_of(const bf_array *x, int axis, int64_t l) {
    bf_array line = bf_array_of(
        x->dtype, (char *)x->data + (size_t)(l * x->strides[1 - axis]) * bf_dtype_size(x->dtype),
        x->shape[axis]);
    line.strides[0] = x->strides[axis];
    return line;
}

TEST(lines_have_the_bits_of_their_elements_alone) {
    needs_no_threads();
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F64, BF_F32, BF_F16, BF_I32};
    static const int64_t sizes[] = {1, 3, 4, 8, 17, 64, 70, 300};
    OWN(bf_context) *rules = make_context("generic", 1);
    uint64_t seed = 2;
    for (int c = 0; c < LINE_CASES; c++) {
        const bf_dtype dtype = dtypes[pick(&seed, 6)];
        const int64_t rows = sizes[pick(&seed, 8)], columns = sizes[pick(&seed, 8)];
        const size_t bytes = bf_dtype_size(dtype) * (size_t)(rows * columns);
        char *a = malloc(bytes), *b = malloc(bytes);
        lines x = {.a = matrix(dtype, a, rows, columns), .b = matrix(dtype, b, rows, columns)};
        x.axis = c % 2;
        x.count = x.axis ? rows : columns;
        x.options = any_options(&seed);
        x.expected = malloc((size_t)(OPS * x.count) * sizeof *x.expected);
        fill_kind(dtype, a, rows * columns, c % KINDS, &seed);
        fill_kind(dtype, b, rows * columns, c % KINDS, &seed);
        if (pick(&seed, 4) == 0) memcpy(b, a, bytes);
        for (int i = 0; i < OPS; i++)
            for (int64_t l = 0; l < x.count; l++) {
                const bf_array first = line_of(&x.a, x.axis, l), second = line_of(&x.b, x.axis, l);
                x.expected[i * x.count + l] = reduce(rules, ops[i], &first, &second, &x.options);
            }
        on_every_context(check_lines, &x);
        free(x.expected);
        free(a);
        free(b);
    }
}

/* ---- segments -------------------------------------------------------------------------------- */

enum { SEGMENTS = 150, LONGEST = 200 };

typedef struct segments {
    bf_array a, b, offsets;
    bf_reduce_options options;
    answer expected[OPS][SEGMENTS];
} segments;

static void check_segments(bf_context *context, void *data) {
    const segments *x = data;
    double values[SEGMENTS];
    const bf_array out = bf_array_of(BF_F64, values, SEGMENTS);
    for (int i = 0; i < OPS; i++) {
        const bf_status status =
            bf_reduction_arrays(ops[i]) == 2
                ? bf_reduce_pair_segments(context, ops[i], &x->a, &x->b, &x->offsets, &x->options,
                                          &out, NULL)
                : bf_reduce_segments(context, ops[i], &x->a, &x->offsets, &x->options, &out, NULL);
        if (status != BF_OK) fail_msg("%s", bf_context_message(context));
        for (int l = 0; l < SEGMENTS; l++)
            if (memcmp(&values[l], &x->expected[i][l].bits, 8) != 0)
                fail_msg("%s of segment %d: %a", bf_reduction_name(ops[i]), l, values[l]);
    }
}

TEST(segments_have_the_bits_of_their_elements_alone) {
    needs_no_threads();
    static const int64_t most[] = {4, 30, LONGEST};
    static double a[SEGMENTS * LONGEST], b[SEGMENTS * LONGEST];
    static segments x;
    int64_t offsets[SEGMENTS + 1] = {0};
    OWN(bf_context) *rules = make_context("generic", 1);
    const int step = CASE_STEP > 1 ? 2 : 1;
    uint64_t seed = 4;
    for (int c = 0; c < 3 * KINDS; c += step) {
        for (int l = 0; l < SEGMENTS; l++) offsets[l + 1] = offsets[l] + pick(&seed, most[c % 3]);
        const int64_t n = offsets[SEGMENTS];
        x.a = bf_array_of(BF_F64, a, n);
        x.b = bf_array_of(BF_F64, b, n);
        x.offsets = bf_array_of(BF_I64, offsets, SEGMENTS + 1);
        x.options = any_options(&seed);
        fill_kind(BF_F64, (char *)a, n, c / 3, &seed);
        fill_kind(BF_F64, (char *)b, n, c / 3, &seed);
        for (int i = 0; i < OPS; i++)
            for (int l = 0; l < SEGMENTS; l++) {
                const int64_t length = offsets[l + 1] - offsets[l];
                const bf_array first = bf_array_of(BF_F64, a + offsets[l], length);
                const bf_array second = bf_array_of(BF_F64, b + offsets[l], length);
                x.expected[i][l] = reduce(rules, ops[i], &first, &second, &x.options);
            }
        on_every_context(check_segments, &x);
    }
}

/* ---- what is known --------------------------------------------------------------------------- */

static double value_of(bf_context *context, bf_reduction op, const double *a, const double *b,
                       int64_t n) {
    const bf_array x = bf_array_of(BF_F64, (void *)(uintptr_t)a, n);
    const bf_array y = bf_array_of(BF_F64, (void *)(uintptr_t)b, n);
    const answer found = reduce(context, op, &x, &y, NULL);
    double value;
    assert_int_equal(found.status, BF_OK);
    memcpy(&value, &found.bits, 8);
    return value;
}

/* Multiples of the elements correlate to 1 or -1, whose slope is their factor: nothing of the means
 * is lost to rounding. */
static void check_multiples(bf_context *context, void *unused) {
    (void)unused;
    double x[500], twice[500], minus[500];
    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) {
        x[i] = 1e15 + (double)pick(&seed, 9);
        twice[i] = 2 * x[i];
        minus[i] = -x[i] / 4;
    }
    assert_same_float(value_of(context, BF_CORR, x, twice, 500), 1.0);
    assert_same_float(value_of(context, BF_CORR, x, minus, 500), -1.0);
    assert_same_float(value_of(context, BF_R2, x, minus, 500), 1.0);
    assert_same_float(value_of(context, BF_SLOPE, x, twice, 500), 2.0);
    assert_same_float(value_of(context, BF_SLOPE, x, minus, 500), -0.25);
    assert_same_float(value_of(context, BF_INTERCEPT, x, twice, 500), 0.0);
    assert_same_float(value_of(context, BF_COV, x, x, 0), (double)NAN);
    const double steps[] = {0, 0, 0, 3}, weights[] = {1, 1, 1, 3};
    assert_same_float(value_of(context, BF_SKEW, steps, NULL, 4), 0x1.279a74590331cp+0);
    assert_same_float(value_of(context, BF_WMEAN, steps, weights, 4), 1.5);
}

TEST(multiples_correlate_to_one) {
    needs_no_threads();
    on_every_context(check_multiples, NULL);
}

UNIT_TESTS(joint, NULL, NULL)
