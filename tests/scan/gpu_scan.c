/* Scans on a GPU: the bits of the CPU's rules, whatever the dtype, the shape, the axis, the data
 * and the place of the arrays. */
#include "tests/support/both.h"

enum { LONGEST = 1 << 18, MOST_ELEMENTS = 6000000, OUT = 8 * MOST_ELEMENTS };

static const bf_reduction ops[] = {BF_SUM, BF_PROD, BF_MIN, BF_MAX};

static char *expected, *found;

static int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

/* Lines of all kinds that the kernels tell apart: (outer, length, inner). */
static void pick_shape(uint64_t *seed, bf_array *a) {
    const int64_t most = is_small() ? 3000 : LONGEST;
    static const int64_t lengths[] = {1,   2,   31,   32,   33,   100,  511,
                                      512, 513, 4096, 4097, 8192, 8193, 100000};
    int64_t length = pick(seed, 3) ? lengths[pick(seed, 14)] : 1 + pick(seed, most);
    if (length > most) length = most;
    const int64_t left = most / length;
    const int64_t inner =
        pick(seed, 2) ? 1 : 1 + pick(seed, left < 40 || pick(seed, 2) ? left : 40);
    const int64_t outer = 1 + pick(seed, left / inner);
    a->ndim = 3;
    a->shape[0] = outer, a->shape[1] = length, a->shape[2] = inner;
    a->strides[0] = length * inner, a->strides[1] = inner, a->strides[2] = 1;
}

static data_kind any_kind(uint64_t *seed) {
    static const data_kind kinds[] = {KIND_NARROW, KIND_NARROW, KIND_FULL,      KIND_CANCEL,
                                      KIND_HUGE,   KIND_TIES,   KIND_SUBNORMAL, KIND_EXTREME};
    return kinds[pick(seed, 8)];
}

/* Integers that seldom overflow when they are added, or multiplied. */
static void tame(const bf_array *a, int64_t n, bf_reduction op, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(a->dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = load_bits((char *)a->data + (size_t)i * bytes, bytes);
        x = op == BF_PROD ? (x % 500 == 0 ? 0 : x % 37 == 0 ? 3 : 1) : x & 0xffff;
        store_bits((char *)a->data + (size_t)i * bytes, bytes, pick(seed, 9) ? x : 1);
    }
}

typedef struct scanned {
    char what[300];
    bf_reduction op;
    bf_scan_options options;
    bf_value empty;
    bf_array array;
    bf_dtype to;
    bool queued;
} scanned;

static void pick_options(scanned *s, uint64_t *seed) {
    const bool is_sum_of_floats = is_float(s->array.dtype) && s->op == BF_SUM;
    static const bf_dtype floats[] = {BF_NONE, BF_NONE, BF_F16, BF_BF16, BF_F32, BF_F64};
    s->options = BF_SCAN_OPTIONS(.nan = (bf_nan_policy)pick(seed, 3));
    s->options.exclusive = (int)pick(seed, 2);
    s->options.reverse = (int)pick(seed, 2);
    s->options.overflow = pick(seed, 2) ? BF_OVERFLOW_WRAP : BF_OVERFLOW_ERROR;
    if (is_sum_of_floats) s->options.out_dtype = floats[pick(seed, 6)];
    s->to = bf_scan_dtype(s->op, s->array.dtype, &s->options);
    s->empty = (bf_value){.dtype = s->to, .as.u64 = 7};
    if (pick(seed, 2)) s->options.empty = &s->empty;
    if (s->op == BF_SUM || s->op == BF_PROD) s->options.empty = NULL;
}

/* Scans, or enqueues the scan. */
static bf_status scan(bf_context *context, const scanned *s, const bf_array *in,
                      const bf_array *out) {
    if (!s->queued) return bf_scan(context, s->op, in, 1, &s->options, out);
    const bf_status status = bf_scan_async(context, s->op, in, 1, &s->options, out);
    return status == BF_OK ? bf_context_synchronize(context) : status;
}

/* Scans on the GPU from and to device memory, or the host's, or in place. */
static bf_status scan_there(const scanned *s, int64_t n, int place) {
    const size_t bytes = (size_t)n * bf_dtype_size(s->array.dtype);
    const size_t to_bytes = (size_t)n * bf_dtype_size(s->to);
    bf_array in = s->array, out = s->array;
    out.dtype = s->to;
    out.data = found;
    if (place > 0) {
        assert_int_equal(bf_memory_copy(gpu, on_device, s->array.data, bytes), BF_OK);
        in.data = on_device;
        out.data = place > 1 && s->to == s->array.dtype ? on_device : on_device + SECOND;
    }
    bf_status status = scan(gpu, s, &in, &out);
    if (status == BF_OK && place > 0)
        assert_int_equal(bf_memory_copy(gpu, found, out.data, to_bytes), BF_OK);
    return status;
}

static void check_case(uint64_t seed) {
    scanned s = {.array = {.data = on_host}};
    const uint64_t name = seed;
    s.array.dtype = all_dtypes[pick(&seed, DTYPE_COUNT)];
    do s.op = ops[pick(&seed, 4)];
    while (s.op == BF_PROD && is_float(s.array.dtype));
    pick_shape(&seed, &s.array);
    const int64_t n = s.array.shape[0] * s.array.shape[1] * s.array.shape[2];
    fill(s.array.dtype, on_host, n, any_kind(&seed), next_random(&seed));
    if (!is_float(s.array.dtype) && pick(&seed, 3)) tame(&s.array, n, s.op, &seed);
    if (is_float(s.array.dtype) && pick(&seed, 4) == 0)
        sprinkle(s.array.dtype, on_host, n, pick(&seed, 2) ? 50 : 5000, next_random(&seed));
    pick_options(&s, &seed);
    bf_array out = s.array;
    out.dtype = s.to;
    out.data = expected;
    const int place = (int)pick(&seed, 3);
    s.queued = place > 0 && pick(&seed, 2);
    s.options.later = (int)pick(&seed, 2);
    const bf_status status = scan(cpu, &s, &s.array, &out);
    snprintf(s.what, sizeof s.what, "%s of %s, (%lld, %lld, %lld), seed %llu, place %d%s%s%s%s",
             bf_reduction_name(s.op), bf_dtype_name(s.array.dtype), (long long)s.array.shape[0],
             (long long)s.array.shape[1], (long long)s.array.shape[2], (unsigned long long)name,
             place, s.options.exclusive ? ", exclusive" : "", s.options.reverse ? ", reverse" : "",
             s.queued ? ", queued" : "", s.options.later ? ", later" : "");
    const bf_status other = scan_there(&s, n, place);
    if (other != status)
        fail_msg("%s: %s (%s), not %s", s.what, bf_status_string(other), bf_context_message(gpu),
                 bf_status_string(status));
    const size_t bytes = bf_dtype_size(s.to);
    for (int64_t i = 0; status == BF_OK && i < n; i++)
        if (memcmp(found + (size_t)i * bytes, expected + (size_t)i * bytes, bytes))
            fail_msg("%s: result %lld is %llx, not %llx", s.what, (long long)i,
                     (unsigned long long)load_bits(found + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(expected + (size_t)i * bytes, bytes));
}

static void random_scans_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    const char *some = getenv("BITFOLD_GPU_CASES");
    const int cases = some != NULL ? atoi(some) : is_small() ? 100 : 800;
    for (int i = 0; i < cases; i++) check_case((uint64_t)i);
}

/* Lines of many tiles, more than are in work at a time; the last one is not full. */
static void check_long(bf_dtype dtype, data_kind kind, bool exclusive) {
    const int64_t n = MOST_ELEMENTS - 5;
    scanned s = {.op = BF_SUM, .array = bf_array_of(dtype, on_host, n)};
    s.options = BF_SCAN_OPTIONS(.exclusive = exclusive, .overflow = BF_OVERFLOW_WRAP);
    s.to = bf_scan_dtype(s.op, dtype, &s.options);
    const size_t bytes = bf_dtype_size(s.to);
    fill(dtype, on_host, n, kind, (uint64_t)dtype);
    bf_array out = bf_array_of(s.to, expected, n);
    assert_int_equal(bf_scan(cpu, s.op, &s.array, 0, &s.options, &out), BF_OK);
    out.data = found;
    assert_int_equal(bf_scan(gpu, s.op, &s.array, 0, &s.options, &out), BF_OK);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(found + (size_t)i * bytes, expected + (size_t)i * bytes, bytes))
            fail_msg("%s, kind %d: result %lld is %llx, not %llx", bf_dtype_name(dtype), (int)kind,
                     (long long)i, (unsigned long long)load_bits(found + (size_t)i * bytes, bytes),
                     (unsigned long long)load_bits(expected + (size_t)i * bytes, bytes));
}

static void long_lines_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    static const data_kind kinds[] = {KIND_NARROW, KIND_FULL, KIND_CANCEL, KIND_TIES};
    leave_out_if_small();
    for (int i = 0; i < DTYPE_COUNT; i++)
        for (int k = 0; k < (is_float(all_dtypes[i]) ? 4 : 2); k++)
            check_long(all_dtypes[i], kinds[k], k % 2);
}

static int set_up_scans(void **state) {
    expected = malloc(OUT);
    found = malloc(OUT);
    return expected && found ? set_up(state) : -1;
}

static int tear_down_scans(void **state) {
    free(expected);
    free(found);
    return tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_scans_have_the_bits_of_the_cpu),
                                       cmocka_unit_test(long_lines_have_the_bits_of_the_cpu)};
    return RUN_ON_GPU_WITH(tests, set_up_scans, tear_down_scans);
}
