/* Scans and windows on a stream of a GPU: calls return before the work is done, what is enqueued
 * before is seen and what comes after may use the arrays again, graphs replay them, and what the
 * data make wrong is said later. */
#include "tests/support/streams.h"

#include <stdatomic.h>

enum { MOST_BYTES = PINNED / 2, RESULTS_AT = PINNED / 2 };

typedef struct work {
    const char *name;
    bool rolls, counts;
    bf_reduction op;
    bf_dtype dtype;
    data_kind kind;
    int64_t outer, length, inner;
    bool exclusive, in_place;
    int64_t window;
    int64_t segment; /* rows of each; 0: lines are scanned */
} work;

/* Lines of tiles, of a warp and of a thread; those of wide data are scanned again by words. */
static const work works[] = {
    {"sum of near values", false, false, BF_SUM, BF_F64, KIND_NARROW, 1, 500000, 1, false, false, 0,
     0},
    {"sum of any values", false, false, BF_SUM, BF_F64, KIND_FULL, 1, 500000, 1, true, false, 0, 0},
    {"sum in place", false, false, BF_SUM, BF_F32, KIND_CANCEL, 3, 100001, 1, false, true, 0, 0},
    {"sum of columns", false, false, BF_SUM, BF_F32, KIND_FULL, 2, 9000, 50, false, false, 0, 0},
    {"sum of short rows", false, false, BF_SUM, BF_F16, KIND_FULL, 2000, 100, 1, false, false, 0,
     0},
    {"sum of integers", false, false, BF_SUM, BF_I64, KIND_EXTREME, 7, 50000, 1, false, false, 0,
     0},
    {"product", false, false, BF_PROD, BF_I32, KIND_EXTREME, 1, 300000, 1, false, false, 0, 0},
    {"minimum in place", false, false, BF_MIN, BF_F32, KIND_FULL, 1, 900000, 1, true, true, 0, 0},
    {"maximum", false, false, BF_MAX, BF_U8, KIND_FULL, 100, 300, 5, true, false, 0, 0},
    {"sum of segments", false, false, BF_SUM, BF_F32, KIND_FULL, 1, 400000, 1, false, false, 0,
     900},
    {"sum of short segments", false, false, BF_SUM, BF_I64, KIND_EXTREME, 1, 200000, 1, true, false,
     0, 3},
    {"minimum of segments of columns", false, false, BF_MIN, BF_F32, KIND_FULL, 1, 9000, 20, false,
     false, 0, 40},
    {"means of windows", true, false, BF_MEAN, BF_F64, KIND_NARROW, 1, 400000, 1, false, false, 50,
     0},
    {"variances of windows", true, false, BF_VAR, BF_F64, KIND_FULL, 1, 30000, 3, false, false, 9,
     0},
    {"sums of long windows", true, false, BF_SUM, BF_F32, KIND_FULL, 1, 90000, 1, false, false,
     INT64_MAX, 0},
    {"minima of windows", true, false, BF_MIN, BF_I32, KIND_FULL, 20, 5000, 1, false, false, 64, 0},
    {"counts of windows", true, true, BF_SUM, BF_F32, KIND_NARROW, 1, 200000, 1, false, false, 30,
     0},
};
enum { WORKS = sizeof works / sizeof *works };

static bf_scan_options scan_options(const work *w) {
    return BF_SCAN_OPTIONS(.exclusive = w->exclusive);
}

static bf_rolling_options rolling_options(const work *w) {
    return BF_ROLLING_OPTIONS(.window = w->window, .min_count = -1);
}

static bf_array array_of(const work *w, bf_dtype dtype, void *data) {
    if (w->segment > 0) return (bf_array){data, dtype, 2, {w->length, w->inner}, {w->inner, 1}};
    return (bf_array){
        data, dtype, 3, {w->outer, w->length, w->inner}, {w->length * w->inner, w->inner, 1}};
}

static int64_t elements_of(const work *w) { return w->outer * w->length * w->inner; }

static bf_dtype dtype_of(const work *w) {
    const bf_scan_options scan = scan_options(w);
    const bf_rolling_options rolling = rolling_options(w);
    if (w->counts) return BF_F64;
    return w->rolls ? bf_rolling_dtype(w->op, w->dtype, &rolling)
                    : bf_scan_dtype(w->op, w->dtype, &scan);
}

static size_t bytes_of(const work *w, bf_dtype dtype) {
    const size_t bytes = (size_t)elements_of(w) * bf_dtype_size(dtype);
    assert_true(bytes <= MOST_BYTES);
    return bytes;
}

/* Offsets of segments of so many rows, but for the last one, on the host and the device. */
static int64_t cuts[1 << 17];

static bf_array cuts_of(const work *w, bf_context *context) {
    const int64_t n = (w->length + w->segment - 1) / w->segment;
    for (int64_t i = 0; i <= n; i++) cuts[i] = i < n ? i * w->segment : w->length;
    return bf_array_of(BF_I64, context == gpu ? (void *)(on_device + SECOND / 2) : cuts, n + 1);
}

static bf_status enqueue_segments(bf_context *context, const work *w, const bf_array *x,
                                  const bf_array *to) {
    const bf_scan_options scan = scan_options(w);
    const bf_array offsets = cuts_of(w, context);
    int64_t wrong;
    return bf_scan_segments_async(context, w->op, x, &offsets, &scan, to,
                                  context == gpu ? (int64_t *)values_on_device : &wrong);
}

static bf_status enqueue_work(bf_context *context, const work *w, void *data, void *results) {
    const bf_scan_options scan = scan_options(w);
    const bf_rolling_options rolling = rolling_options(w);
    const bf_array x = array_of(w, w->dtype, data);
    const bf_array to = array_of(w, dtype_of(w), w->in_place ? data : results);
    if (w->segment > 0) return enqueue_segments(context, w, &x, &to);
    if (w->counts) return bf_rolling_count_async(context, &x, 1, &rolling, &to);
    return w->rolls ? bf_rolling_async(context, w->op, &x, 1, &rolling, &to)
                    : bf_scan_async(context, w->op, &x, 1, &scan, &to);
}

static void *results_on_device(const work *w) {
    return w->in_place ? on_device : on_device + SECOND;
}

static void new_data(const work *w, uint64_t seed) {
    fill(w->dtype, pinned, elements_of(w), w->kind, seed);
    if (w->segment == 0) return;
    const bf_array offsets = cuts_of(w, gpu);
    assert_cuda(cudaMemcpy(offsets.data, cuts, (size_t)offsets.shape[0] * sizeof *cuts,
                           cudaMemcpyHostToDevice));
}

/* Compares results in pinned memory to those of the data there, which it overwrites. */
static void check_results(const work *w, const char *how) {
    const bf_dtype to = dtype_of(w);
    const size_t bytes = bytes_of(w, to), each = bf_dtype_size(to);
    const char *expected = w->in_place ? pinned : on_host, *found = pinned + RESULTS_AT;
    assert_int_equal(enqueue_work(cpu, w, pinned, on_host), BF_OK);
    for (size_t i = 0; i < bytes; i += each)
        if (memcmp(found + i, expected + i, each))
            fail_msg("%s, %s: result %zu is %llx, not %llx", w->name, how, i / each,
                     (unsigned long long)load_bits(found + i, each),
                     (unsigned long long)load_bits(expected + i, each));
}

static void fetch_results(const work *w, cudaStream_t stream) {
    assert_cuda(cudaMemcpyAsync(pinned + RESULTS_AT, results_on_device(w), bytes_of(w, dtype_of(w)),
                                cudaMemcpyDeviceToHost, stream));
}

static atomic_bool held;

/* Keeps a stream from going on while `held` is set; some seconds at most, so that a call that waits
 * for the stream ends. */
static void CUDART_CB hold(void *unused) {
    (void)unused;
    for (int i = 0; i < 5000 && atomic_load(&held); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The first call of a kind loads kernels, for which it may wait. */
static void a_call_returns_before_its_work_is_done(void **unused) {
    (void)unused;
    for (int i = 0; i < WORKS; i++) {
        const work *w = &works[i];
        const size_t bytes = bytes_of(w, w->dtype);
        assert_int_equal(bf_context_set_stream(gpu, streams[0]), BF_OK);
        for (int k = 0; k < 3; k++) {
            new_data(w, (uint64_t)k + 1);
            assert_cuda(cudaMemset(on_device, 0, bytes));
            assert_cuda(cudaDeviceSynchronize());
            atomic_store(&held, k > 0);
            assert_cuda(cudaLaunchHostFunc(streams[0], hold, NULL));
            copy_late(streams[0], bytes);
            const bf_status status = enqueue_work(gpu, w, on_device, on_device + SECOND);
            const cudaError_t after = cudaStreamQuery(streams[0]);
            atomic_store(&held, false);
            if (status != BF_OK) fail_msg("%s: %s", w->name, bf_context_message(gpu));
            if (k > 0 && after != cudaErrorNotReady) fail_msg("%s has been waited for", w->name);
            fetch_results(w, streams[0]);
            assert_cuda(cudaMemsetAsync(on_device, 0x5a, bytes, streams[0])); /* it is used again */
            assert_cuda(cudaStreamSynchronize(streams[0]));
            check_results(w, "on a stream");
        }
    }
}

/* Each call of many follows the one before, whose memory it takes. */
static void many_calls_follow_each_other(void **unused) {
    (void)unused;
    const work *w = &works[1];
    const size_t bytes = bytes_of(w, w->dtype);
    assert_int_equal(bf_context_set_stream(gpu, streams[1]), BF_OK);
    for (int k = 0; k < (is_small() ? 3 : 200); k++) {
        new_data(w, 50 + (uint64_t)k);
        assert_cuda(cudaMemcpyAsync(on_device, pinned, bytes, cudaMemcpyHostToDevice, streams[1]));
        for (int i = 0; i < 3; i++)
            assert_int_equal(enqueue_work(gpu, w, on_device, on_device + SECOND), BF_OK);
        fetch_results(w, streams[1]);
        assert_cuda(cudaStreamSynchronize(streams[1]));
        check_results(w, "behind others");
    }
}

static void a_graph_replays_them(void **unused) {
    (void)unused;
    for (int i = 0; i < WORKS; i++) {
        const work *w = &works[i];
        const size_t bytes = bytes_of(w, w->dtype);
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        assert_int_equal(bf_context_set_stream(gpu, streams[0]), BF_OK);
        assert_cuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
        const bf_status status = enqueue_work(gpu, w, on_device, on_device + SECOND);
        assert_cuda(cudaStreamEndCapture(streams[0], &graph));
        if (status != BF_OK) fail_msg("%s: %s", w->name, bf_context_message(gpu));
        assert_cuda(cudaGraphInstantiate(&executable, graph, 0));
        assert_cuda(cudaGraphDestroy(graph));
        for (int k = 0; k < 3; k++) {
            new_data(w, 300 + (uint64_t)k);
            assert_cuda(
                cudaMemcpyAsync(on_device, pinned, bytes, cudaMemcpyHostToDevice, streams[0]));
            assert_cuda(cudaGraphLaunch(executable, streams[0]));
            fetch_results(w, streams[0]);
            assert_cuda(cudaStreamSynchronize(streams[0]));
            check_results(w, "in a graph");
        }
        assert_cuda(cudaGraphExecDestroy(executable));
    }
}

/* Enqueues a scan and a sum of windows of 5 doubles (or integers) of which one is `odd`. */
static void check_failures(bf_reduction op, bf_dtype dtype, uint64_t odd, bf_nan_policy nan,
                           bool rolls, bf_status expected, const char *message) {
    const uint64_t one = dtype == BF_F64 ? 0x3ff0000000000000u : 1;
    const uint64_t values[] = {odd, one, odd, one, one};
    const bf_array x = bf_array_of(dtype, on_device, 5), to = bf_array_of(dtype, on_device + 64, 5);
    assert_int_equal(bf_memory_copy(gpu, on_device, values, sizeof values), BF_OK);
    const bf_scan_options scan = BF_SCAN_OPTIONS(.nan = nan, .later = 1);
    const bf_rolling_options rolling = BF_ROLLING_OPTIONS(.nan = nan, .window = 3, .later = 1);
    for (int i = 0; i < 2; i++) /* the second does not hide the first */
        assert_int_equal(rolls ? bf_rolling_async(gpu, op, &x, 0, &rolling, &to)
                               : bf_scan_async(gpu, op, &x, 0, &scan, &to),
                         BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), expected);
    assert_non_null(strstr(bf_context_message(gpu), message));
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
}

static void what_the_data_make_wrong_is_said_later(void **unused) {
    (void)unused;
    const uint64_t nan = 0x7ff8000000000000u, large = (uint64_t)INT64_MAX;
    assert_int_equal(bf_context_set_stream(gpu, streams[0]), BF_OK);
    check_failures(BF_SUM, BF_F64, nan, BF_NAN_ERROR, false, BF_E_NAN, "NaN in the values");
    check_failures(BF_MAX, BF_F64, nan, BF_NAN_ERROR, false, BF_E_NAN, "NaN in the values");
    check_failures(BF_MIN, BF_F64, nan, BF_NAN_SKIP, false, BF_E_EMPTY, "the min of no elements");
    check_failures(BF_SUM, BF_I64, large, BF_NAN_PROPAGATE, false, BF_E_OVERFLOW,
                   "the sum of a prefix does not fit i64");
    check_failures(BF_PROD, BF_I64, large, BF_NAN_PROPAGATE, false, BF_E_OVERFLOW,
                   "the prod of a prefix does not fit i64");
    check_failures(BF_SUM, BF_F64, nan, BF_NAN_ERROR, true, BF_E_NAN, "NaN in the values");
    check_failures(BF_MIN, BF_F64, nan, BF_NAN_ERROR, true, BF_E_NAN, "NaN in the values");
}

/* What would be waited for is refused, and windows of a span wait. */
static void others_are_refused_or_wait(void **unused) {
    (void)unused;
    int64_t keys[] = {0, 1, 2, 8, 9};
    double found[5];
    const double ones[] = {1, 1, 1, 1, 1};
    const bf_value span = {.dtype = BF_I64, .as.i64 = 2};
    const bf_array on = bf_array_of(BF_I64, keys, 5);
    bf_rolling_options rolling = BF_ROLLING_OPTIONS(.on = &on, .span = &span);
    bf_array x = bf_array_of(BF_F64, on_device, 5), to = bf_array_of(BF_F64, on_device + 64, 5);
    assert_int_equal(bf_memory_copy(gpu, on_device, ones, sizeof ones), BF_OK);
    assert_int_equal(bf_context_set_stream(gpu, streams[0]), BF_OK);
    assert_int_equal(bf_rolling_async(gpu, BF_SUM, &x, 0, &rolling, &to), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, found, to.data, sizeof found), BF_OK);
    assert_memory_equal(found, ((double[]){1, 2, 2, 1, 2}), sizeof found);
    const bf_array here = bf_array_of(BF_F64, found, 5);
    assert_int_equal(bf_scan_async(gpu, BF_SUM, &x, 0, NULL, &here), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(gpu), "memory that the GPU reaches"));
    x.shape[0] = to.shape[0] = 3;
    x.strides[0] = 2;
    assert_int_equal(bf_scan_async(gpu, BF_SUM, &x, 0, NULL, &to), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(gpu), "the elements are contiguous"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_STREAMS(a_call_returns_before_its_work_is_done),
        TEST_ON_STREAMS(many_calls_follow_each_other),
        TEST_ON_STREAMS(a_graph_replays_them),
        TEST_ON_STREAMS(what_the_data_make_wrong_is_said_later),
        TEST_ON_STREAMS(others_are_refused_or_wait),
    };
    return RUN_ON_GPU(tests);
}
