/* Rolling windows on a GPU: the bits of the CPU, whatever the reduction, the dtype, the windows,
 * the shape, the data and the place of the arrays. */
#include "tests/support/both.h"

enum {
    LONGEST = 1 << 17,
    MOST_ELEMENTS = 400000,
    OUT = 8 * MOST_ELEMENTS + 16,
    MOST_QUANTILES = 3,
    LONGEST_ON_GPU = 2048
};

static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_MIN, BF_MAX};

static char *expected, *found;
static int64_t *keys;

static int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

typedef struct rolled {
    char what[400];
    bf_reduction op;
    bool counts, median;
    double q[MOST_QUANTILES];
    int quantiles; /* not 0: these */
    bf_rolling_options options;
    bf_array array, on;
    bf_value span;
    bf_dtype to;
    bool queued;
} rolled;

static void set_shape(bf_array *a, int64_t outer, int64_t length, int64_t inner) {
    a->ndim = 3;
    a->shape[0] = outer, a->shape[1] = length, a->shape[2] = inner;
    a->strides[0] = length * inner, a->strides[1] = inner, a->strides[2] = 1;
}

static int64_t count_of(const bf_array *a) {
    int64_t n = 1;
    for (int d = 0; d < a->ndim; d++) n *= a->shape[d];
    return n;
}

/* Lines of all kinds that tiles tell apart: (outer, length, inner). */
static void pick_shape(uint64_t *seed, bf_array *a) {
    const int64_t most = is_small() ? 3000 : LONGEST;
    static const int64_t lengths[] = {1, 2, 3, 33, 100, 1023, 1024, 2049, 4097, 20000, 100000};
    int64_t length = pick(seed, 3) ? lengths[pick(seed, 11)] : 1 + pick(seed, most);
    if (length > most) length = most;
    const int64_t left = most / length;
    const int64_t inner =
        pick(seed, 2) ? 1 : 1 + pick(seed, left < 40 || pick(seed, 2) ? left : 40);
    set_shape(a, 1 + pick(seed, left / inner), length, inner);
}

static data_kind any_kind(uint64_t *seed) {
    static const data_kind kinds[] = {KIND_NARROW, KIND_NARROW, KIND_FULL,      KIND_CANCEL,
                                      KIND_HUGE,   KIND_TIES,   KIND_SUBNORMAL, KIND_EXTREME};
    return kinds[pick(seed, 8)];
}

/* Keys with runs of equal ones, and with gaps. */
static void pick_span(rolled *r, uint64_t *seed) {
    const int64_t n = r->array.shape[1], step = 1 + pick(seed, 20);
    int64_t key = -pick(seed, 1000);
    for (int64_t i = 0; i < n; i++) {
        if (pick(seed, 3)) key += pick(seed, step);
        if (pick(seed, 1000) == 0) key += pick(seed, 3000);
        keys[i] = key;
    }
    r->on = bf_array_of(BF_I64, keys, n);
    r->span = (bf_value){.dtype = BF_I64, .as.i64 = 1 + pick(seed, pick(seed, 2) ? 50 : 100000)};
    r->options.on = &r->on;
    r->options.span = &r->span;
}

static void pick_window(rolled *r, uint64_t *seed) {
    static const int64_t sizes[] = {1,    2,    3,    10,    64,    100,   1000,     1024,
                                    1025, 2000, 5000, 16384, 17000, 50000, INT64_MAX};
    static const int64_t steps[] = {0, 1, 1, 2, 3, 17, 1000, 3000};
    bf_rolling_options *o = &r->options;
    if (pick(seed, 4) == 0)
        pick_span(r, seed);
    else
        o->window = pick(seed, 3) ? sizes[pick(seed, 15)] : 1 + pick(seed, r->array.shape[1]);
    o->step = steps[pick(seed, 8)];
    o->center = (int)pick(seed, 2);
    o->min_count = pick(seed, 3) - 1;
    if (o->min_count > 0) o->min_count += pick(seed, o->window > 0 ? o->window : 20);
}

static void pick_options(rolled *r, uint64_t *seed) {
    static const bf_dtype floats[] = {BF_NONE, BF_NONE, BF_F16, BF_BF16, BF_F32, BF_F64};
    const bool ranks = r->median || r->quantiles > 0;
    const bool keeps =
        r->counts || ranks || (is_float(r->array.dtype) && (r->op == BF_MIN || r->op == BF_MAX));
    static const bf_nan_policy policies[] = {BF_NAN_PROPAGATE, BF_NAN_SKIP, BF_NAN_SKIP,
                                             BF_NAN_ERROR};
    r->options = BF_ROLLING_OPTIONS(.nan = policies[pick(seed, 4)], .ddof = (int)pick(seed, 2));
    pick_window(r, seed);
    if (ranks && r->options.window > LONGEST_ON_GPU && pick(seed, 10)) {
        r->options.window = 1 + pick(seed, LONGEST_ON_GPU);
        if (r->options.min_count > r->options.window) r->options.min_count = r->options.window;
    }
    if (ranks) r->options.method = (bf_quantile_method)pick(seed, BF_QUANTILE_NORMAL_UNBIASED + 1);
    if (!keeps) r->options.out_dtype = floats[pick(seed, 6)];
    if (!is_float(r->array.dtype) && r->array.dtype != BF_BOOL && pick(seed, 3) == 0)
        r->options.scale = (int)pick(seed, 20);
    if (r->counts || (ranks && !is_float(r->array.dtype)))
        r->to = BF_F64;
    else if (ranks)
        r->to = r->median ? bf_median_dtype(r->array.dtype)
                          : bf_quantile_dtype(r->array.dtype, r->options.method);
    else
        r->to = bf_rolling_dtype(r->op, r->array.dtype, &r->options);
    assert_int_not_equal(r->to, BF_NONE);
}

static const char *name_of(const rolled *r) {
    if (r->median) return "median";
    if (r->quantiles > 0) return "quantiles";
    return r->counts ? "count" : bf_reduction_name(r->op);
}

static void describe(rolled *r, uint64_t seed, int place) {
    const bf_rolling_options *o = &r->options;
    snprintf(r->what, sizeof r->what,
             "%s of %s to %s, (%lld, %lld, %lld), window %lld%s, step %lld, min %lld, ddof %d, "
             "scale %d, nan %d, method %d, seed %llu, place %d%s%s%s",
             name_of(r), bf_dtype_name(r->array.dtype), bf_dtype_name(r->to),
             (long long)r->array.shape[0], (long long)r->array.shape[1],
             (long long)r->array.shape[2], (long long)o->window, o->center ? " centred" : "",
             (long long)o->step, (long long)o->min_count, o->ddof, o->scale, (int)o->nan,
             (int)o->method, (unsigned long long)seed, place, o->on != NULL ? ", spans" : "",
             r->queued ? ", queued" : "", o->later ? ", later" : "");
}

static bf_array results_of(const rolled *r, void *memory) {
    const int64_t step = r->options.step > 0 ? r->options.step : 1;
    bf_array out = {.dtype = r->to, .data = memory};
    set_shape(&out, r->array.shape[0], (r->array.shape[1] + step - 1) / step, r->array.shape[2]);
    if (r->quantiles == 0) return out;
    for (int d = 3; d > 0; d--)
        out.shape[d] = out.shape[d - 1], out.strides[d] = out.strides[d - 1];
    out.strides[0] = out.shape[1] * out.strides[1];
    out.shape[0] = r->quantiles;
    out.ndim = 4;
    return out;
}

static bf_status enqueue(bf_context *context, const rolled *r, const bf_array *in,
                         const bf_array *out) {
    const bf_status status = r->counts ? bf_rolling_count_async(context, in, 1, &r->options, out)
                                       : bf_rolling_async(context, r->op, in, 1, &r->options, out);
    return status == BF_OK ? bf_context_synchronize(context) : status;
}

static bf_status roll(bf_context *context, const rolled *r, const bf_array *in,
                      const bf_array *out) {
    if (r->median) return bf_rolling_median(context, in, 1, &r->options, out);
    if (r->quantiles > 0)
        return bf_rolling_quantile(context, in, 1, r->q, r->quantiles, &r->options, out);
    if (r->queued) return enqueue(context, r, in, out);
    return r->counts ? bf_rolling_count(context, in, 1, &r->options, out)
                     : bf_rolling(context, r->op, in, 1, &r->options, out);
}

/* Rolls on the GPU: places are the host's memory, the device's, and the device's off by a byte. */
static bf_status roll_there(const rolled *r, int place) {
    const size_t bytes = (size_t)count_of(&r->array) * bf_dtype_size(r->array.dtype);
    bf_array in = r->array, out = results_of(r, found);
    const size_t to_bytes = (size_t)count_of(&out) * bf_dtype_size(r->to);
    if (place > 0) {
        in.data = on_device + (place - 1);
        out.data = on_device + SECOND + (place - 1);
        assert_int_equal(bf_memory_copy(gpu, in.data, r->array.data, bytes), BF_OK);
    }
    bf_status status = roll(gpu, r, &in, &out);
    if (status == BF_OK && place > 0)
        assert_int_equal(bf_memory_copy(gpu, found, out.data, to_bytes), BF_OK);
    return status;
}

static void check_rolled(const rolled *r, int place) {
    const bf_array out = results_of(r, expected);
    const size_t bytes = bf_dtype_size(r->to), all = (size_t)count_of(&out) * bytes;
    const bf_status status = roll(cpu, r, &r->array, &out);
    memset(found, 0x5a, all);
    const bf_status other = roll_there(r, place);
    if (other != status)
        fail_msg("%s: %s (%s), not %s (%s)", r->what, bf_status_string(other),
                 bf_context_message(gpu), bf_status_string(status), bf_context_message(cpu));
    for (size_t i = 0; status != BF_OK && place == 0 && i < all; i++)
        if (found[i] != 0x5a) fail_msg("%s: failed, and wrote byte %zu", r->what, i);
    if (status != BF_OK || memcmp(found, expected, all) == 0) return;
    for (size_t i = 0; i < all; i += bytes)
        if (memcmp(found + i, expected + i, bytes))
            fail_msg("%s: result %lld is %llx, not %llx", r->what, (long long)(i / bytes),
                     (unsigned long long)load_bits(found + i, bytes),
                     (unsigned long long)load_bits(expected + i, bytes));
}

static void pick_op(rolled *r, uint64_t *seed) {
    const int op = (int)pick(seed, 9);
    r->op = ops[op % 6];
    r->counts = op == 6;
    r->median = op == 7;
    if (op < 8) return;
    r->quantiles = 1 + (int)pick(seed, MOST_QUANTILES);
    for (int i = 0; i < r->quantiles; i++) r->q[i] = (double)pick(seed, 1001) / 1000;
}

static void check_case(uint64_t seed) {
    rolled r = {.array = {.data = on_host}};
    const uint64_t name = seed;
    pick_op(&r, &seed);
    r.array.dtype = all_dtypes[pick(&seed, DTYPE_COUNT)];
    pick_shape(&seed, &r.array);
    const int64_t n = count_of(&r.array);
    fill(r.array.dtype, on_host, n, any_kind(&seed), next_random(&seed));
    if (is_float(r.array.dtype) && pick(&seed, 3) == 0)
        sprinkle(r.array.dtype, on_host, n, pick(&seed, 2) ? 20 : 5000, next_random(&seed));
    pick_options(&r, &seed);
    const bool ranks = r.median || r.quantiles > 0;
    const int64_t window =
        r.options.window < r.array.shape[1] ? r.options.window : r.array.shape[1];
    const bool on_cpu = ranks && (r.options.on != NULL || window > LONGEST_ON_GPU);
    const int place = on_cpu ? 0 : (int)pick(&seed, 3);
    r.queued = place > 0 && !ranks && pick(&seed, 2);
    r.options.later = (int)pick(&seed, 2);
    describe(&r, name, place);
    check_rolled(&r, place);
}

static void random_windows_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    const uint64_t cases = random_cases(800, 120);
    for (uint64_t i = 0; i < cases; i++) check_case(first_seed() + i);
}

/* Lines of many tiles, with some numbers that are far from all others. */
static void check_long(bf_reduction op, bf_dtype dtype, int64_t window, bool median) {
    const int64_t n = MOST_ELEMENTS - 5;
    rolled r = {.op = op, .median = median, .array = {.dtype = dtype, .data = on_host}};
    set_shape(&r.array, 1, n, 1);
    fill(dtype, on_host, n, KIND_NARROW, (uint64_t)dtype);
    for (int64_t i = 70000; is_float(dtype) && i < n; i += 400000)
        fill(dtype, on_host + i * (int64_t)bf_dtype_size(dtype), 3, KIND_FULL, (uint64_t)i);
    r.options = BF_ROLLING_OPTIONS(.window = window, .min_count = -1);
    r.to = median ? bf_median_dtype(dtype) : bf_rolling_dtype(op, dtype, &r.options);
    describe(&r, 0, 1);
    check_rolled(&r, 1);
}

static void long_lines_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_I64, BF_U8};
    static const int64_t windows[] = {1000, 40000, INT64_MAX};
    leave_out_if_small();
    for (int o = 0; o < 6; o++)
        for (int d = 0; d < 4; d++)
            for (int w = 0; w < 3; w++) check_long(ops[o], dtypes[d], windows[w], false);
    for (int d = 0; d < 4; d += 3)
        for (int64_t w = 2; w <= LONGEST_ON_GPU; w *= 32) check_long(BF_MIN, dtypes[d], w, true);
}

static void nothing_has_no_windows(void **unused) {
    (void)unused;
    const bf_rolling_options o = BF_ROLLING_OPTIONS(.window = 3);
    const bf_array in = bf_array_of(BF_F64, on_device, 0), out = bf_array_of(BF_F64, found, 0);
    assert_int_equal(bf_rolling(gpu, BF_SUM, &in, 0, &o, &out), BF_OK);
}

/* Quantiles of long windows, or of a span, and windows of i128 are the CPU's, which says so where
 * it cannot reach the array. */
static void others_are_refused_in_the_memory_of_a_gpu(void **unused) {
    (void)unused;
    enum { N = LONGEST_ON_GPU + 1 };
    bf_rolling_options o = BF_ROLLING_OPTIONS(.window = N);
    const bf_array in = bf_array_of(BF_F64, on_device, N), out = bf_array_of(BF_F64, found, N);
    const bf_array wide = bf_array_of(BF_I128, on_device, 5), to = bf_array_of(BF_F64, found, 5);
    const bf_array on = bf_array_of(BF_I64, keys, N);
    const bf_value span = {.dtype = BF_I64, .as.i64 = 3};
    assert_int_equal(bf_rolling_median(gpu, &in, 0, &o, &out), BF_E_DEVICE);
    assert_non_null(strstr(bf_context_message(gpu), "windows of more than 2048 elements"));
    assert_int_equal(bf_rolling(gpu, BF_SUM, &wide, 0, &o, &to), BF_E_DEVICE);
    o = BF_ROLLING_OPTIONS(.on = &on, .span = &span);
    assert_int_equal(bf_rolling_median(gpu, &in, 0, &o, &out), BF_E_DEVICE);
    assert_non_null(strstr(bf_context_message(gpu), "windows of a span"));
}

static int set_up_windows(void **state) {
    expected = malloc(OUT);
    found = malloc(OUT);
    keys = malloc(LONGEST * sizeof *keys);
    return expected && found && keys ? set_up(state) : -1;
}

static int tear_down_windows(void **state) {
    free(expected);
    free(found);
    free(keys);
    return tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_windows_have_the_bits_of_the_cpu),
                                       cmocka_unit_test(long_lines_have_the_bits_of_the_cpu),
                                       cmocka_unit_test(nothing_has_no_windows),
                                       cmocka_unit_test(others_are_refused_in_the_memory_of_a_gpu)};
    return RUN_ON_GPU_WITH(tests, set_up_windows, tear_down_windows);
}
