/* What a sum has absorbed is taken out again: what is left saves to the bytes of what remains. So
 * -0 are counted alike by every ISA, by any number of threads and in chunks of any size.
 * Builds: release, asan (full). */
#include "tests/reduce/states.h"
#include "tests/support/unit.h"

enum { N = 300, LARGE = 300001 };

/* ---- every op and dtype ---------------------------------------------------------------------- */

static void check_retract(bf_reduction op, const bf_array *a, const bf_array *b, int64_t cut) {
    bf_state *all = part(context, op, a, b, 0, N), *some = part(context, op, a, b, 0, cut);
    bf_state *rest = part(context, op, a, b, cut, N), *empty = make_state(context, op, a->dtype);
    saved_state before = save(some);
    assert_int_equal(bf_state_retract(all, some), BF_OK);
    assert_same_form(all, rest);
    assert_saves_as(some, &before);
    assert_int_equal(bf_state_retract(all, empty), BF_OK);
    assert_same_form(all, rest);
    assert_int_equal(bf_state_merge(all, some), BF_OK);
    assert_int_equal(bf_state_retract(all, rest), BF_OK);
    assert_same_form(all, some);
    assert_int_equal(bf_state_retract(all, all), BF_OK);
    assert_same_form(all, empty);
    bf_state *const states[] = {all, some, rest, empty};
    for (int i = 0; i < 4; i++) bf_state_destroy(states[i]);
}

TEST(what_remains_is_left) {
    static double x[N], y[N];
    static const int often[] = {0, 1, 2, 50};
    for (int op = BF_SUM; op <= BF_DOT; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            for (int kind = 0; kind < KIND_COUNT; kind++) {
                uint64_t seed = (uint64_t)(op * 1000 + d * 10 + kind);
                bf_dtype dtype = all_dtypes[d];
                bf_array a = bf_array_of(dtype, x, N), b = bf_array_of(dtype, y, N);
                fill_with_zeros(dtype, x, N, (data_kind)kind, often[seed % 4], seed % 3 == 0, seed);
                fill_with_zeros(dtype, y, N, KIND_NARROW, often[seed / 4 % 4], seed % 5 == 0, seed);
                check_retract((bf_reduction)op, &a, &b, (int64_t)(next_random(&seed) % (N + 1)));
            }
        }
    }
}

/* ---- zeros ----------------------------------------------------------------------------------- */

static double result_of(const bf_state *s) {
    bf_value v;
    assert_int_equal(bf_state_result(s, NULL, &v), BF_OK);
    return bf_value_f64(&v);
}

TEST(the_sign_of_zero_comes_back) {
    static const double x[] = {-0.0, -0.0, 1, -1, 0.0, -0.0};
    static const struct {
        int64_t begin, end;
        double left;
    } cases[] = {{2, 6, -0.0}, {0, 2, 0.0}, {0, 5, -0.0}, {0, 4, 0.0}, {3, 6, 1}, {0, 6, 0.0}};
    bf_array a = bf_array_of(BF_F64, x, 6);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN(bf_state) *all = part(context, BF_SUM, &a, &a, 0, 6);
        OWN(bf_state) *some = part(context, BF_SUM, &a, &a, cases[i].begin, cases[i].end);
        assert_int_equal(bf_state_retract(all, some), BF_OK);
        assert_same_float(result_of(all), cases[i].left);
    }
}

/* ---- every ISA, threads, chunks ---------------------------------------------------------------
 */

typedef struct problem {
    bf_reduction op;
    bf_dtype dtype;
    const char *a, *b;
    bf_state *expected; /* by the rules */
} problem;

static void absorb_in_chunks(bf_state *s, const problem *p, uint64_t seed) {
    size_t bytes = bf_dtype_size(p->dtype);
    for (int64_t at = 0, n; at < LARGE; at += n) {
        n = (int64_t)(next_random(&seed) % (next_random(&seed) % 4 ? 300 : 90000)) + 1;
        if (n > LARGE - at) n = LARGE - at;
        bf_array a = bf_array_of(p->dtype, p->a + (size_t)at * bytes, n);
        bf_array b = bf_array_of(p->dtype, p->b + (size_t)at * bytes, n);
        assert_int_equal(absorb(s, p->op, &a, &b), BF_OK);
    }
}

static void check_context(bf_context *with, void *data) {
    const problem *p = data;
    bf_array a = bf_array_of(p->dtype, p->a, LARGE), b = bf_array_of(p->dtype, p->b, LARGE);
    OWN(bf_state) *s = part(with, p->op, &a, &b, 0, LARGE);
    assert_same_form(s, p->expected);
    bf_state_clear(s);
    absorb_in_chunks(s, p, 3);
    assert_same_form(s, p->expected);
}

/* Element by element, which goes by the rules. */
static bf_state *by_rules(const problem *p) {
    bf_state *s = make_state(context, p->op, p->dtype);
    size_t bytes = bf_dtype_size(p->dtype);
    for (int64_t at = 0; at < LARGE; at += 40) {
        int64_t n = LARGE - at < 40 ? LARGE - at : 40;
        bf_array a = bf_array_of(p->dtype, p->a + (size_t)at * bytes, n);
        bf_array b = bf_array_of(p->dtype, p->b + (size_t)at * bytes, n);
        assert_int_equal(absorb(s, p->op, &a, &b), BF_OK);
    }
    return s;
}

TEST(zeros_are_counted_alike_everywhere) {
    static const struct {
        data_kind kind;
        int every;
        bool specials;
    } cases[] = {{KIND_NARROW, 0, false}, {KIND_NARROW, 40000, false},
                 {KIND_NARROW, 3, false}, {KIND_NARROW, 5000, true},
                 {KIND_FULL, 7, false},   {KIND_SUBNORMAL, 11, false},
                 {KIND_CANCEL, 0, false}, {KIND_NARROW, 1, false}};
    static double x[LARGE], y[LARGE];
    static const bf_reduction ops[] = {BF_SUM, BF_DOT, BF_VAR, BF_SUMSQ};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int d = 0; d < 4; d++) {
            bf_dtype dtype = all_dtypes[DTYPE_COUNT - 4 + d];
            uint64_t seed = c * 10 + (uint64_t)d;
            bf_reduction op =
                c < 6 && c % 3 == 2 && d == 0 ? ops[2 + c / 3] : ops[(c + (size_t)d) % 2];
            fill_with_zeros(dtype, x, LARGE, cases[c].kind, cases[c].every, cases[c].specials,
                            ~seed);
            fill_with_zeros(dtype, y, LARGE, KIND_NARROW, cases[c].every, cases[c].specials, seed);
            problem p = {.op = op, .dtype = dtype, .a = (char *)x, .b = (char *)y};
            p.expected = by_rules(&p);
            on_every_context(check_context, &p);
            bf_state_destroy(p.expected);
        }
    }
}

/* One call of its own needs to know only whether all are -0. */
static void check_alone(bf_context *with, void *data) {
    const problem *p = data;
    bf_array a = bf_array_of(p->dtype, p->a, LARGE), b = bf_array_of(p->dtype, p->b, LARGE);
    bf_reduce_options skip = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
    bf_value found, expected;
    bf_status status = p->op == BF_DOT ? bf_dot(with, &a, &b, &skip, &found)
                                       : bf_reduce(with, p->op, &a, &skip, &found);
    assert_int_equal(status, BF_OK);
    assert_int_equal(bf_state_result(p->expected, &skip, &expected), BF_OK);
    assert_same_float(bf_value_f64(&found), bf_value_f64(&expected));
}

TEST(a_sum_alone_is_minus_zero_of_nothing_else) {
    static double x[LARGE];
    static const int64_t odd[] = {-1, 0, 77777, LARGE - 1};
    static const double others[] = {0.0, (double)NAN};
    for (int i = 0; i < 8; i++) {
        for (int64_t k = 0; k < LARGE; k++) x[k] = -0.0;
        if (odd[i / 2] >= 0) x[odd[i / 2]] = others[i % 2];
        problem p = {.op = BF_SUM, .dtype = BF_F64, .a = (char *)x, .b = (char *)x};
        p.expected = by_rules(&p);
        on_every_context(check_alone, &p);
        bf_state_destroy(p.expected);
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(what_is_not_there_is_not_taken_out) {
    static const double x[] = {1, 2, (double)NAN, (double)INFINITY, -0.0, 1e300};
    static const int64_t ends[] = {1, 2, 3, 4, 5, 6};
    bf_array a = bf_array_of(BF_F64, x, 6), one = bf_array_of(BF_F64, x, 1);
    for (int i = 1; i < 6; i++) {
        OWN(bf_state) *s = part(context, BF_SUM, &a, &a, 0, 1),
                      *before = part(context, BF_SUM, &a, &a, 0, 1);
        OWN(bf_state) *other = part(context, BF_SUM, &a, &a, ends[i] - 1, ends[i]);
        assert_int_equal(bf_state_retract(s, other), BF_E_STATE);
        assert_true(strlen(bf_context_message(context)) > 0);
        assert_same_form(s, before);
        assert_int_equal(bf_state_absorb(other, &one), BF_OK);
        assert_int_equal(bf_state_retract(s, other), BF_E_STATE); /* more elements */
        assert_same_form(s, before);
    }
}

TEST(only_sums_can_be_taken_out) {
    static double x[10] = {3, 1, 2};
    for (int op = BF_MIN; op <= BF_DESCRIBE; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            bf_array a = bf_array_of(all_dtypes[d], x, 8);
            OWN(bf_state) *s = part(context, (bf_reduction)op, &a, &a, 0, 8);
            OWN(bf_state) *t = part(context, (bf_reduction)op, &a, &a, 0, 8);
            assert_int_equal(bf_state_retract(s, t), BF_E_ARGUMENT);
            assert_same_form(s, t);
        }
    }
    OWN(bf_state) *sum = make_state(context, BF_SUM, BF_F64),
                  *mean = make_state(context, BF_MEAN, BF_F64);
    OWN(bf_state) *single = make_state(context, BF_SUM, BF_F32);
    assert_int_equal(bf_state_retract(sum, mean), BF_E_STATE);
    assert_int_equal(bf_state_retract(sum, single), BF_E_STATE);
    assert_int_equal(bf_state_retract(sum, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_state_retract(NULL, sum), BF_E_ARGUMENT);
}

UNIT_TESTS(retract, set_up, tear_down)
