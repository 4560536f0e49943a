/* bf_map: the loops of every instruction set give the bits of the rules, whatever the threads, the
 * alignment and the caller's environment; arguments are checked. tests/map/python_map.py compares
 * the values with NumPy and fractions. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "rules/map/map.h"

#include <fenv.h>
#include <stdio.h>

enum { MOST = 70001 };

/* One operation on arrays of one dtype, and what the rules make of it. */
typedef struct problem {
    bf_map_op op;
    bf_dtype dtype, to;
    int64_t n;
    bf_overflow_policy overflow;
    const char *x[3];
    char *expected, *out;
} problem;

static void store_element(char *at, bf_dtype dtype, uint64_t bits) {
    store_bits(at, bf_dtype_size(dtype), bits);
}

/* By the rules, one element after the other; returns the place of the first that fails, or -1. */
static int64_t by_rules(const problem *p) {
    size_t bytes = bf_dtype_size(p->dtype), to_bytes = bf_dtype_size(p->to);
    bool saturate = p->overflow == BF_OVERFLOW_SATURATE;
    int64_t failed = -1;
    for (int64_t i = 0; i < p->n; i++) {
        uint64_t v[3];
        bool misfit = false;
        for (int k = 0; k < 3; k++) v[k] = load_bits(p->x[k] + (size_t)i * bytes, bytes);
        for (int k = 0; k < 3 && p->dtype == BF_BOOL; k++) v[k] = v[k] != 0;
        uint64_t r = p->op == BF_MAP_CAST
                         ? bf_cast(p->dtype, p->to, v[0], saturate, &misfit)
                         : bf_map_element(p->op, p->dtype, v[0], v[1], v[2], saturate, &misfit);
        store_element(p->expected + (size_t)i * to_bytes, p->to, r);
        if (misfit && failed < 0) failed = i;
    }
    return p->overflow == BF_OVERFLOW_ERROR ? failed : -1;
}

static bf_status call(bf_context *context, const problem *p) {
    bf_array a[3], out = bf_array_of(p->to, p->out, p->n);
    const bf_array *inputs[3];
    bf_map_options options = BF_MAP_OPTIONS(.overflow = p->overflow);
    for (int k = 0; k < 3; k++) {
        a[k] = bf_array_of(p->dtype, p->x[k], p->n);
        inputs[k] = &a[k];
    }
    return bf_map(context, p->op, inputs, bf_map_arity(p->op), &options, &out);
}

static void check_problem(bf_context *context, void *data) {
    problem *p = data;
    int64_t failed = by_rules(p);
    bf_status status = call(context, p);
    if (failed >= 0) {
        char place[40];
        snprintf(place, sizeof place, "index %lld ", (long long)failed);
        assert_int_equal(status, BF_E_OVERFLOW);
        assert_non_null(strstr(bf_context_message(context), place));
        return;
    }
    assert_int_equal(status, BF_OK);
    assert_memory_equal(p->out, p->expected, (size_t)p->n * bf_dtype_size(p->to));
}

static char buffers[5][8 * MOST + 64];

static void fill_inputs(bf_dtype dtype, int64_t n, uint64_t *seed) {
    for (int k = 0; k < 3; k++) {
        char *x = buffers[k] + k;
        fill(dtype, x, n, (data_kind)(next_random(seed) % KIND_COUNT), next_random(seed));
        for (int64_t i = 0; is_float(dtype) && i < n; i += 17 + k) {
            uint64_t bits = infinity_bits(dtype) | (next_random(seed) & (sign_bit(dtype) | 1));
            store_element(x + (size_t)i * bf_dtype_size(dtype), dtype, bits);
        }
    }
}

static problem problem_of(bf_map_op op, bf_dtype dtype, bf_dtype to, int64_t n) {
    return (problem){.op = op,
                     .dtype = dtype,
                     .to = to,
                     .n = n,
                     .x = {buffers[0], buffers[1] + 1, buffers[2] + 2},
                     .expected = buffers[3],
                     .out = buffers[4] + n % 8};
}

static void every_policy(problem *p) {
    for (int overflow = BF_OVERFLOW_ERROR; overflow <= BF_OVERFLOW_SATURATE; overflow++) {
        p->overflow = (bf_overflow_policy)overflow;
        bool refused = p->op == BF_MAP_CAST && is_float(p->dtype) && !is_float(p->to) &&
                       p->to != BF_BOOL && overflow == BF_OVERFLOW_WRAP;
        if (!refused) on_every_context(check_problem, p);
    }
}

TEST(loops_give_the_bits_of_the_rules) {
    static const int64_t sizes[] = {1, 7, 64, 1023, 2049};
    uint64_t seed = 1;
    for (int op = BF_MAP_ADD; op < BF_MAP_CAST; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            bf_dtype dtype = all_dtypes[d], inputs[3] = {dtype, dtype, dtype}, to;
            if (bf_map_result_dtype((bf_map_op)op, inputs, bf_map_arity((bf_map_op)op), 0, &to) !=
                    BF_OK ||
                (to != dtype && to != BF_BOOL))
                continue;
            int64_t n = sizes[next_random(&seed) % 5];
            problem p = problem_of((bf_map_op)op, dtype, to, n);
            fill_inputs(dtype, n, &seed);
            every_policy(&p);
        }
    }
}

TEST(casts_give_the_bits_of_the_rules) {
    uint64_t seed = 2;
    for (int from = 0; from < DTYPE_COUNT; from++) {
        for (int to = 0; to < DTYPE_COUNT; to++) {
            problem p = problem_of(BF_MAP_CAST, all_dtypes[from], all_dtypes[to], 3001);
            fill_inputs(p.dtype, p.n, &seed);
            every_policy(&p);
        }
    }
}

/* Infinities of f16, whose exponent field would do for 2^16, fit no integer. */
TEST(infinities_fit_no_integer) {
    const uint16_t x[2] = {0x7c00, 0xfc00};
    int32_t out[2] = {0, 0};
    bf_array from = bf_array_of(BF_F16, x, 2), to = bf_array_of(BF_I32, out, 2);
    const bf_array *input = &from;
    const bf_map_options saturate = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    for (int i = 0; bf_isa_name(i); i++) {
        bf_context *c;
        if (!bf_isa_available(i)) continue;
        assert_int_equal(bf_context_create(&BF_OPTIONS(.isa = bf_isa_name(i)), &c), BF_OK);
        assert_int_equal(bf_map(c, BF_MAP_CAST, &input, 1, NULL, &to), BF_E_OVERFLOW);
        assert_int_equal(bf_map(c, BF_MAP_CAST, &input, 1, &saturate, &to), BF_OK);
        assert_true(out[0] == INT32_MAX && out[1] == INT32_MIN);
        bf_context_destroy(c);
    }
}

TEST(threads_and_pieces_do_not_show) {
    uint64_t seed = 3;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        problem p = problem_of(BF_MAP_MAX, all_dtypes[d], all_dtypes[d], MOST - 7);
        fill_inputs(p.dtype, p.n, &seed);
        on_every_context(check_problem, &p);
    }
}

/* Every f16 and bf16 there is, and every f32 next to a tie between two of them. */
TEST(casts_of_half_formats_are_exhaustive) {
    for (int d = 0; d < 2; d++) {
        bf_dtype half = d ? BF_F16 : BF_BF16;
        for (int64_t i = 0; i < 65536; i++) store_element(buffers[0] + 2 * i, half, (uint64_t)i);
        problem widen = problem_of(BF_MAP_CAST, half, BF_F32, 65536);
        on_every_context(check_problem, &widen);
        for (int delta = -1; delta <= 1; delta++) {
            for (int64_t i = 0; i < 65536; i++) {
                uint64_t low = load_bits(buffers[3] + 4 * i, 4);
                uint64_t tie = low + (half == BF_F16 ? 0x1000 : 0x8000) + (uint64_t)delta;
                store_element(buffers[0] + 4 * i, BF_F32, tie & 0xffffffff);
            }
            problem narrow = problem_of(BF_MAP_CAST, BF_F32, half, 65536);
            on_every_context(check_problem, &narrow);
            by_rules(&widen); /* puts the f32 back in buffers[3] */
        }
    }
}

/* Subnormals as zeros, in and out, where there is such a mode. */
static void flush_subnormals(bool flush) {
#if defined(__x86_64__)
    unsigned bits = 0x8040, saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(flush ? saved | bits : saved & ~bits);
#else
    (void)flush;
#endif
}

static void check_environment(bf_context *context, void *data) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 3; i++) {
        fesetround(modes[i]);
        flush_subnormals(true);
        check_problem(context, data);
        assert_int_equal(fegetround(), modes[i]);
        flush_subnormals(false);
        fesetround(FE_TONEAREST);
    }
}

TEST(the_environment_of_the_caller_changes_nothing) {
    uint64_t seed = 4;
    static const bf_map_op ops[] = {BF_MAP_ADD, BF_MAP_DIV, BF_MAP_FMA, BF_MAP_SQRT};
    for (int i = 0; i < 4; i++) {
        for (int d = BF_F16; d <= BF_F64; d++) {
            problem p = problem_of(ops[i], (bf_dtype)d, (bf_dtype)d, 999);
            fill_inputs(p.dtype, p.n, &seed);
            on_every_context(check_environment, &p);
        }
    }
}

TEST(simple_calls) {
    OWN(bf_context) *context = make_context("auto", 2);
    float a[3] = {1, 2, 9}, b[3] = {4, 5, -3}, f[3];
    double x[2] = {0.1, 16}, y[2] = {3, 0}, g[2];
    assert_int_equal(bf_add_f32(context, a, b, 3, f), BF_OK);
    assert_true(f[0] == 5 && f[1] == 7 && f[2] == 6);
    assert_int_equal(bf_fma_f32(context, a, b, a, 3, a), BF_OK);
    assert_true(a[0] == 5 && a[1] == 12 && a[2] == -18);
    assert_int_equal(bf_div_f64(context, x, y, 2, g), BF_OK);
    assert_true(g[0] == 0.1 / 3 && isinf(g[1]));
    assert_int_equal(bf_sqrt_f64(context, x, 2, x), BF_OK);
    assert_true(x[0] == sqrt(0.1) && x[1] == 4);
    assert_int_equal(bf_mul_f64(context, x, y, 0, NULL), BF_OK);
}

TEST(arguments_are_checked) {
    OWN(bf_context) *context = make_context("auto", 1);
    double x[4] = {0}, y[4];
    bf_array a = bf_array_of(BF_F64, x, 4), out = bf_array_of(BF_F64, y, 4), bad = out;
    const bf_array *two[] = {&a, &a};
    bf_map_options options = BF_MAP_OPTIONS(.weak = 1);
    bf_dtype dtypes[2] = {BF_F64, BF_I8}, result;
    assert_int_equal(bf_map(NULL, BF_MAP_ADD, two, 2, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_map(context, (bf_map_op)0, two, 2, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_map(context, (bf_map_op)99, two, 2, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 1, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_map(context, BF_MAP_ADD, NULL, 2, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 2, NULL, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 2, &options, &out), BF_E_SHAPE);
    options.size--;
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 2, &options, &out), BF_E_ARGUMENT);
    bad.dtype = BF_F32;
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 2, NULL, &bad), BF_E_DTYPE);
    bad = out, bad.shape[0] = 3;
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 2, NULL, &bad), BF_E_SHAPE);
    bad = a, bad.data = x + 1, bad.shape[0] = a.shape[0] = 3;
    assert_int_equal(bf_map(context, BF_MAP_ADD, two, 2, NULL, &bad), BF_E_ARGUMENT);
    assert_int_equal(bf_map_result_dtype(BF_MAP_CAST, dtypes, 1, 0, &result), BF_E_ARGUMENT);
    assert_int_equal(bf_map_result_dtype(BF_MAP_ADD, dtypes, 2, 2, &result), BF_E_ARGUMENT);
    assert_int_equal(bf_map_result_dtype(BF_MAP_ADD, dtypes, 2, 4, &result), BF_E_ARGUMENT);
    assert_int_equal(bf_map_from_name("fma"), BF_MAP_FMA);
    assert_int_equal(bf_map_from_name("mod"), 0);
    assert_string_equal(bf_map_name((bf_map_op)99), "?");
}

UNIT_TESTS(map, NULL, NULL)
