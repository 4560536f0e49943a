/* Every reduction of every dtype on a GPU: the states and the values of the CPU's rules, bit by
 * bit, on data that are hard to reduce and at the sizes where kernels change what they do. */
#include "tests/reduce/hard.h"

/* --- one array --- */

static bf_context *rules; /* the CPU that gives the answers */

/* A test goes on after a difference: which operations, dtypes and sizes differ tells more. */
static int differences;
static int kinds[2]; /* how many kinds the data at hand have */

static void differs(const char *how, int op, const both *a, int variant) {
    if (differences++ < 30)
        print_error("%s of %s %s differs: n %lld, data %d and %d, options %d\n", how,
                    bf_reduction_name((bf_reduction)op), bf_dtype_name(a->host.dtype),
                    (long long)a->host.shape[0], kinds[0], kinds[1], variant);
}

static void no_difference(void) {
    int found = differences;
    differences = 0;
    assert_int_equal(found, 0);
}

static bool is_same(const bf_value *a, const bf_value *b) {
    return a->dtype == b->dtype &&
           (a->dtype == BF_NONE || !memcmp(a->as.i192, b->as.i192, sizeof a->as.i192));
}

static bf_state *absorbed(bf_context *context, bf_reduction op, const bf_array *a,
                          const bf_array *b) {
    bf_state *state;
    assert_int_equal(bf_state_create(context, op, a->dtype, &state), BF_OK);
    bf_status status = op == BF_DOT ? bf_state_absorb_pair(state, a, b) : bf_state_absorb(state, a);
    if (status != BF_OK)
        fail_msg("%s of %s, n %lld: %s", bf_reduction_name(op), bf_dtype_name(a->dtype),
                 (long long)a->shape[0], bf_context_message(context));
    return state;
}

static void compare_states(bf_reduction op, const both *a, const bf_state *found,
                           const bf_state *expected) {
    static char bytes[2][1 << 16];
    size_t size = bf_state_save_size(expected);
    assert_true(size <= sizeof bytes[0]);
    bf_state_save(expected, bytes[0]);
    if (bf_state_save_size(found) == size) {
        bf_state_save(found, bytes[1]);
        if (memcmp(bytes[0], bytes[1], size) == 0) return;
    }
    differs("the state", (int)op, a, 0);
}

enum { VARIANTS = 18 };

/* Every combination of the options that the operation takes. */
static bf_reduce_options options_of(bf_reduction op, int variant) {
    static const bf_dtype out[] = {BF_NONE, BF_F64, BF_F32};
    bf_reduce_options options = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)(variant % 3));
    if (op < BF_MIN || op > BF_ARGMAX) options.out_dtype = out[variant / 3 % 3];
    options.ddof = variant / 9;
    options.overflow = variant / 9 ? BF_OVERFLOW_WRAP : BF_OVERFLOW_ERROR;
    return options;
}

static bf_status call(bf_reduction op, const both *a, const both *b,
                      const bf_reduce_options *options, bf_value *value) {
    return op == BF_DOT ? bf_dot(gpu, &a->device, &b->device, options, value)
                        : bf_reduce(gpu, op, &a->device, options, value);
}

static bf_status enqueue(bf_reduction op, const both *a, const both *b,
                         const bf_reduce_options *options, bf_value *value) {
    return op == BF_DOT ? bf_dot_async(gpu, &a->device, &b->device, options, value)
                        : bf_reduce_async(gpu, op, &a->device, options, value);
}

/* What the rules make of a state, and the GPU at once; its answer by queue is asked for. */
static void check_value(const bf_state *state, bf_reduction op, const both *a, const both *b,
                        int variant, bf_value *expected, bf_value *queued) {
    bf_reduce_options options = options_of(op, variant);
    bf_value found = {.dtype = BF_NONE};
    *expected = found;
    bf_status status = bf_state_result(state, &options, expected);
    if (status != BF_OK) *expected = (bf_value){.dtype = BF_NONE};
    bf_status other = call(op, a, b, &options, &found);
    if (other != BF_OK) found = (bf_value){.dtype = BF_NONE};
    if (other != status || !is_same(&found, expected)) differs("the value", (int)op, a, variant);
    assert_int_equal(enqueue(op, a, b, &options, queued), BF_OK);
}

/* States of every operation, and values by some variants of the options, all of them in one go. */
static void check_array(const both *a, const both *b, int variants, int variant) {
    bf_value expected[BF_PROD * VARIANTS], queued[BF_PROD * VARIANTS];
    int n = 0;
    for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
        bf_state *state = absorbed(rules, (bf_reduction)op, &a->host, &b->host);
        bf_state *on_gpu = absorbed(gpu, (bf_reduction)op, &a->device, &b->device);
        compare_states((bf_reduction)op, a, on_gpu, state);
        for (int v = 0; v < variants && op != BF_DESCRIBE; v++, n++)
            check_value(state, (bf_reduction)op, a, b, (variant + v) % VARIANTS, &expected[n],
                        &values_on_device[n]);
        bf_state_destroy(on_gpu);
        bf_state_destroy(state);
    }
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, queued, values_on_device, (size_t)n * sizeof *queued),
                     BF_OK);
    for (int i = 0; i < n; i++)
        if (!is_same(&queued[i], &expected[i]))
            differs("the enqueued value", BF_SUM + i / variants, a,
                    (variant + i % variants) % VARIANTS);
}

/* Two arrays of these kinds: the second is the other factor of dot. */
static void check_kinds(bf_dtype dtype, int64_t n, int kind, int other, int variants,
                        uint64_t *seed) {
    kinds[0] = kind;
    kinds[1] = other;
    fill_any(dtype, on_host, n, kind, next_random(seed));
    fill_any(dtype, on_host + SECOND, n, other, next_random(seed));
    both a = both_of(dtype, n, 0), b = both_of(dtype, n, SECOND);
    check_array(&a, &b, variants, (int)(next_random(seed) % VARIANTS));
}

/* --- the tests --- */

/* Around powers of two; where a vector, a warp, a block, a grid is full. */
static const int64_t sizes[] = {0,     1,     2,     3,     7,      8,      9,     15,    16,
                                17,    31,    32,    33,    63,     64,     65,    127,   128,
                                129,   511,   512,   513,   2047,   2048,   2049,  4095,  4096,
                                4097,  8191,  8192,  8193,  16383,  16384,  16385, 32767, 32768,
                                32769, 65535, 65536, 65537, 131071, 131072, 131073};
static const int64_t small_sizes[] = {0, 1, 9, 33, 4097, 70001};
static const int64_t large_sizes[] = {(1 << 20) - 3, 1 << 20,  (1 << 20) + 3,
                                      3000001,       10000007, (1 << 23) + 1};
#define COUNT(x) ((int)(sizeof(x) / sizeof *(x)))

static void every_kind_and_size(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    const int64_t *n = is_small() ? small_sizes : sizes;
    int count = is_small() ? COUNT(small_sizes) : COUNT(sizes);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KINDS; k += is_small() ? 3 : 1)
            for (int s = 0; s < count; s++)
                if (is_float(all_dtypes[d]) || !is_of_floats(k))
                    check_kinds(all_dtypes[d], n[s], k, other_than(all_dtypes[d], &seed), 1, &seed);
    no_difference();
}

static void every_option(void **unused) {
    (void)unused;
    uint64_t seed = 2;
    leave_out_if_small();
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KINDS; k++)
            for (int64_t n = 0; n < 100; n += 1 + n / 3 * 3)
                if (is_float(all_dtypes[d]) || !is_of_floats(k))
                    check_kinds(all_dtypes[d], n, k, k, VARIANTS, &seed);
    no_difference();
}

/* Half of them 1, half 2^54: their deviation is 2^53 - 1/2, between two numbers of f64, and n^2
 * times its square has more than 128 bits. */
static void deviations_between_numbers(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_F64, BF_I64, BF_U64};
    static const uint64_t bits[][2] = {
        {0x3ff0000000000000u, 0x4350000000000000u}, {1, (uint64_t)1 << 54}, {1, (uint64_t)1 << 54}};
    const int64_t n = 2 * 1001;
    for (int d = 0; d < COUNT(dtypes); d++) {
        for (int64_t i = 0; i < n; i++) store_bits(on_host + 8 * i, 8, bits[d][i % 2]);
        both a = both_of(dtypes[d], n, 0);
        check_array(&a, &a, VARIANTS, 0);
    }
    no_difference();
}

/* One kind of data each, in turn; the CPU takes all its threads to answer. */
static void large_arrays(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    leave_out_if_small();
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu", .isa = "generic"), &rules),
                     BF_OK);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int s = 0; s < COUNT(large_sizes); s++) {
            int kind = (d * COUNT(large_sizes) + s) % KINDS;
            if (!is_float(all_dtypes[d]) && is_of_floats(kind)) kind = KIND_FULL;
            check_kinds(all_dtypes[d], large_sizes[s], kind, KIND_NARROW, 1, &seed);
        }
    bf_context_destroy(rules);
    rules = cpu;
    no_difference();
}

/* A part that the GPU absorbed, in pieces or at once, is taken out of what both absorbed. */
static void parts_are_taken_out(void **unused) {
    (void)unused;
    enum { N = 100003, CUT = 31013 };
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_NORM, BF_DOT};
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int i = 0; i < COUNT(ops); i++) {
            bf_dtype dtype = all_dtypes[d];
            fill_any(dtype, on_host, N, SOME_ZEROS, (uint64_t)(d + i));
            both a = both_of(dtype, N, 0);
            bf_array head = a.device, tail = a.host;
            head.shape[0] = CUT;
            tail.shape[0] = N - CUT;
            tail.data = on_host + CUT * bf_dtype_size(dtype);
            bf_state *all = absorbed(gpu, ops[i], &a.device, &a.device);
            bf_state *some = absorbed(gpu, ops[i], &head, &head);
            bf_state *rest = absorbed(cpu, ops[i], &tail, &tail);
            assert_int_equal(bf_state_retract(all, some), BF_OK);
            compare_states(ops[i], &a, all, rest);
            bf_state_destroy(all);
            bf_state_destroy(some);
            bf_state_destroy(rest);
        }
    no_difference();
}

static int with_rules(void **unused) {
    (void)unused;
    rules = cpu;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_kind_and_size, with_rules),
        cmocka_unit_test_setup(every_option, with_rules),
        cmocka_unit_test_setup(deviations_between_numbers, with_rules),
        cmocka_unit_test_setup(large_arrays, with_rules),
        cmocka_unit_test_setup(parts_are_taken_out, with_rules),
    };
    return RUN_ON_GPU(tests);
}
