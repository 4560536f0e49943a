/* Sums of powers, of pairs and with weights on a GPU: the states and the values of the CPU, bit by
 * bit, on data that are hard to reduce. */
#include "tests/reduce/hard.h"

/* The first of each kind of state stands for it. */
static const bf_reduction ops[] = {BF_SKEW,  BF_COV,       BF_WVAR, BF_KURTOSIS, BF_CORR,
                                   BF_SLOPE, BF_INTERCEPT, BF_R2,   BF_WMEAN,    BF_WSTD};
enum { OPS = sizeof ops / sizeof *ops, STATES = 3 };

static bf_state *absorbed(bf_context *context, bf_reduction op, const bf_array *a,
                          const bf_array *b) {
    bf_state *state;
    assert_int_equal(bf_state_create(context, op, a->dtype, &state), BF_OK);
    bf_status status = bf_reduction_arrays(op) == 2 ? bf_state_absorb_pair(state, a, b)
                                                    : bf_state_absorb(state, a);
    if (status != BF_OK)
        fail_msg("%s of %s, n %lld: %s", bf_reduction_name(op), bf_dtype_name(a->dtype),
                 (long long)a->shape[0], bf_context_message(context));
    return state;
}

/* Differences of all, by dtype and data, tell more than the first. */
static int differences;

static void differs(const char *how, bf_reduction op, const both *a, int kind, int other) {
    if (differences++ < 30)
        print_error("%s of %s %s differs: n %lld, data %d and %d\n", how, bf_reduction_name(op),
                    bf_dtype_name(a->host.dtype), (long long)a->host.shape[0], kind, other);
}

static void no_difference(void) {
    int found = differences;
    differences = 0;
    assert_int_equal(found, 0);
}

static bool are_equal(const bf_state *a, const bf_state *b) {
    static char bytes[2][1 << 14];
    size_t size = bf_state_save_size(a);
    assert_true(size <= sizeof bytes[0]);
    if (bf_state_save_size(b) != size) return false;
    bf_state_save(a, bytes[0]);
    bf_state_save(b, bytes[1]);
    return memcmp(bytes[0], bytes[1], size) == 0;
}

static bf_status call(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                      const bf_reduce_options *options, bf_value *value) {
    return bf_reduction_arrays(op) == 2 ? bf_reduce_pair(context, op, a, b, options, value)
                                        : bf_reduce(context, op, a, options, value);
}

static bf_status enqueue(bf_reduction op, const both *a, const both *b,
                         const bf_reduce_options *options, bf_value *value) {
    return bf_reduction_arrays(op) == 2
               ? bf_reduce_pair_async(gpu, op, &a->device, &b->device, options, value)
               : bf_reduce_async(gpu, op, &a->device, options, value);
}

static void check_value(bf_reduction op, const both *a, const both *b, int variant) {
    const bf_reduce_options options =
        BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)(variant % 2), .ddof = variant / 2 % 2,
                          .weights = (bf_weights)(variant / 4 % 2));
    bf_value expected = {.dtype = BF_NONE}, found = {.dtype = BF_NONE}, queued;
    assert_int_equal(call(cpu, op, &a->host, &b->host, &options, &expected), BF_OK);
    assert_int_equal(call(gpu, op, &a->device, &b->device, &options, &found), BF_OK);
    if (found.as.u64 != expected.as.u64) differs("the value", op, a, variant, 0);
    if (a->host.shape[0] == 0) return;
    assert_int_equal(enqueue(op, a, b, &options, values_on_device), BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, &queued, values_on_device, sizeof queued), BF_OK);
    if (queued.as.u64 != expected.as.u64) differs("the enqueued value", op, a, variant, 0);
}

static void check_kinds(bf_dtype dtype, int64_t n, int kind, int other, int values,
                        uint64_t *seed) {
    fill_any(dtype, on_host, n, kind, next_random(seed));
    fill_any(dtype, on_host + SECOND, n, other, next_random(seed));
    const both a = both_of(dtype, n, 0), b = both_of(dtype, n, SECOND);
    for (int i = 0; i < STATES; i++) {
        bf_state *expected = absorbed(cpu, ops[i], &a.host, &b.host);
        bf_state *found = absorbed(gpu, ops[i], &a.device, &b.device);
        if (!are_equal(found, expected)) differs("the state", ops[i], &a, kind, other);
        bf_state_destroy(found);
        bf_state_destroy(expected);
    }
    for (int v = 0; v < values; v++)
        check_value(ops[next_random(seed) % OPS], &a, &b, (int)(next_random(seed) % 8));
}

static void every_kind_and_size(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {0, 1, 2, 31, 33, 1000, 1023, 1024, 1025, 33000, 100001};
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KINDS; k += is_small() ? 3 : 1)
            for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s += is_small() ? 3 : 1)
                if (is_float(all_dtypes[d]) || !is_of_floats(k))
                    check_kinds(all_dtypes[d], sizes[s], k, other_than(all_dtypes[d], &seed), 3,
                                &seed);
    no_difference();
}

static void large_arrays(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    leave_out_if_small();
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int k = 0; k < KINDS; k++)
            if (is_float(all_dtypes[d]) || !is_of_floats(k))
                check_kinds(all_dtypes[d], k % 2 ? 10000007 : (1 << 22) + 1, k, KIND_NARROW, 1,
                            &seed);
    no_difference();
}

/* Elements that are not aligned, and those of the host, go through the pipeline. */
static void arrays_elsewhere(void **unused) {
    (void)unused;
    enum { N = 300007 };
    uint64_t seed = 4;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        const bf_dtype dtype = all_dtypes[d];
        if (bf_dtype_size(dtype) == 1) continue;
        fill_any(dtype, on_host + 1, N, KIND_NARROW, next_random(&seed));
        fill_any(dtype, on_host + SECOND, N, SOME_ZEROS, next_random(&seed));
        const both a = both_of(dtype, N, 1), b = both_of(dtype, N, SECOND);
        for (int i = 0; i < STATES; i++) {
            bf_state *expected = absorbed(cpu, ops[i], &a.host, &b.host);
            bf_state *misaligned = absorbed(gpu, ops[i], &a.device, &b.device);
            bf_state *from_host = absorbed(gpu, ops[i], &a.host, &b.host);
            if (!are_equal(misaligned, expected)) differs("the misaligned", ops[i], &a, 0, 0);
            if (!are_equal(from_host, expected)) differs("the host's", ops[i], &a, 0, 0);
            bf_state_destroy(from_host);
            bf_state_destroy(misaligned);
            bf_state_destroy(expected);
        }
    }
    no_difference();
}

/* A number whose leading bits, or last ones, are where pieces end, for one of so many exponents. */
static double near_an_edge(bool narrow, int spread, uint64_t *seed) {
    const uint64_t bits = next_random(seed), last = narrow ? 23 : 52;
    const double unit = ldexp(1, -(int)last), random = (double)(bits >> (63 - last)) * unit;
    const double mantissas[] = {1, 1 + unit, 2 - unit, 1.5, random, random};
    const double x = ldexp(mantissas[bits % 6], (int)(bits / 6 % (uint64_t)spread) - spread / 2);
    return bits % 7 == 0 ? 0 : bits % 5 < 2 ? -x : x;
}

/* Pairs of ever more exponents, until they no longer fit the pieces; and of arrays that begin
 * anywhere. */
static void edges_of_pieces(void **unused) {
    (void)unused;
    enum { N = 5003, WIDEST = 44 };
    uint64_t seed = 5;
    for (int spread = 1; spread < WIDEST; spread += is_small() ? 7 : 1)
        for (int wide = 0; wide < 2; wide++) {
            const bf_dtype dtype = wide ? BF_F64 : BF_F32;
            const size_t at = next_random(&seed) % 4 * bf_dtype_size(dtype);
            for (int64_t i = 0; i < 2 * (int64_t)N; i++) {
                const double x = near_an_edge(!wide, i < N ? spread : 1 + spread / 2, &seed);
                char *to = on_host + (i < N ? at : (size_t)SECOND);
                if (wide)
                    ((double *)to)[i % N] = x;
                else
                    ((float *)to)[i % N] = (float)x;
            }
            const both a = both_of(dtype, N, (int)at), b = both_of(dtype, N, SECOND);
            bf_state *expected = absorbed(cpu, BF_COV, &a.host, &b.host);
            bf_state *found = absorbed(gpu, BF_COV, &a.device, &b.device);
            if (!are_equal(found, expected)) differs("the state", BF_COV, &a, spread, wide);
            bf_state_destroy(found);
            bf_state_destroy(expected);
        }
    no_difference();
}

static int set_up_fast(void **unused) {
    if (set_up(unused) != 0) return -1;
    bf_context_destroy(cpu);
    return bf_context_create(&BF_OPTIONS(.device = "cpu"), &cpu) == BF_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_size),
        cmocka_unit_test(large_arrays),
        cmocka_unit_test(arrays_elsewhere),
        cmocka_unit_test(edges_of_pieces),
    };
    return RUN_ON_GPU_WITH(tests, set_up_fast, tear_down);
}
