/* What is ordered with what: calls on several streams, before, in and after captures, and beside
 * the default stream; and how long what they use lasts. */
#include "tests/support/streams.h"

#include <stdbool.h>

enum { N = PINNED / 8, LONG = 8000000, SUMS = 3 };

static void use_stream(bf_context *context, cudaStream_t stream) {
    assert_int_equal(bf_context_set_stream(context, stream), BF_OK);
}

/* --- data: n times x, on the GPU --- */

static bf_array all(char *memory, int64_t n, double x) {
    for (int64_t i = 0; i < n; i++) ((double *)(void *)on_host)[i] = x;
    assert_int_equal(bf_memory_copy(gpu, memory, on_host, 8 * (size_t)n), BF_OK);
    return bf_array_of(BF_F64, memory, n);
}

static void enqueue(bf_context *context, const bf_array *a, int value) {
    assert_int_equal(bf_reduce_async(context, BF_SUM, a, NULL, &values_on_device[value]), BF_OK);
}

static void check(int first, int n, double expected) {
    bf_value found[VALUES];
    assert_int_equal(
        bf_memory_copy(gpu, found, &values_on_device[first], (size_t)n * sizeof *found), BF_OK);
    for (int i = 0; i < n; i++)
        if (found[i].dtype != BF_F64 || found[i].as.f64 != expected)
            fail_msg("value %d is %g, not %g", first + i, found[i].as.f64, expected);
}

static bf_histogram *histogram_of(int64_t bins) {
    bf_histogram *h;
    bf_histogram_options options = {
        .size = sizeof options, .bins = bins, .range = 1, .lo = 0, .hi = 4};
    assert_int_equal(bf_histogram_create(gpu, BF_F64, &options, &h), BF_OK);
    return h;
}

static cudaGraphExec_t finish_capture(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&executable, graph, 0));
    assert_cuda(cudaGraphDestroy(graph));
    return executable;
}

static void begin_capture(cudaStream_t stream) {
    assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

/* --- captures --- */

/* The stream joins the context's calls while it is being captured, and goes on after it. */
static void sums_go_on_when_a_capture_has_ended(void **unused) {
    (void)unused;
    const int64_t n = is_small() ? 3001 : LONG;
    bf_array x = all(on_device, n, 1), y = all(on_device + SECOND, n, 3);
    for (int round = 0; round < (is_small() ? 2 : 200); round++) {
        bf_array some = bf_array_of(BF_F64, y.data, n / 8 + round);
        use_stream(gpu, NULL);
        for (int k = 0; k < SUMS; k++) enqueue(gpu, &x, k);
        begin_capture(streams[0]);
        use_stream(gpu, streams[0]);
        enqueue(gpu, &some, 2 * SUMS);
        cudaGraphExec_t graph = finish_capture(streams[0]);
        for (int k = SUMS; k < 2 * SUMS; k++) enqueue(gpu, &some, k);
        assert_cuda(cudaGraphLaunch(graph, streams[1])); /* beside them */
        assert_cuda(cudaDeviceSynchronize());
        check(0, SUMS, (double)n);
        check(SUMS, SUMS + 1, 3.0 * (double)(n / 8 + round));
        assert_cuda(cudaGraphExecDestroy(graph));
    }
}

/* It leaves a stream whose earlier calls are at work while this is being captured. */
static void a_stream_is_left_while_it_is_captured(void **unused) {
    (void)unused;
    const int64_t n = is_small() ? 3001 : LONG;
    bf_array x = all(on_device, n, 1), y = all(on_device + SECOND, n / 4, 3);
    for (int round = 0; round < (is_small() ? 2 : 100); round++) {
        use_stream(gpu, streams[0]);
        for (int k = 0; k < SUMS; k++) enqueue(gpu, &x, k);
        begin_capture(streams[0]);
        enqueue(gpu, &y, 2 * SUMS);
        use_stream(gpu, NULL);
        for (int k = SUMS; k < 2 * SUMS; k++) enqueue(gpu, &y, k);
        cudaGraphExec_t graph = finish_capture(streams[0]);
        assert_cuda(cudaGraphLaunch(graph, streams[1]));
        assert_cuda(cudaDeviceSynchronize());
        check(0, SUMS, (double)n);
        check(SUMS, SUMS + 1, 3.0 * (double)(n / 4));
        assert_cuda(cudaGraphExecDestroy(graph));
    }
}

/* Branches of a graph run at the same time. */
static void a_capture_may_fork(void **unused) {
    (void)unused;
    const int64_t n = is_small() ? 3001 : N;
    bf_array x = all(on_device, n, 1), y = all(on_device + SECOND, n, 3);
    cudaEvent_t fork, join;
    assert_cuda(cudaEventCreate(&fork));
    assert_cuda(cudaEventCreate(&join));
    begin_capture(streams[0]);
    assert_cuda(cudaEventRecord(fork, streams[0]));
    assert_cuda(cudaStreamWaitEvent(streams[1], fork, 0));
    for (int k = 0; k < 8; k++) {
        use_stream(gpu, streams[k % 2]);
        enqueue(gpu, k % 2 ? &y : &x, k / 2 + 4 * (k % 2));
    }
    assert_cuda(cudaEventRecord(join, streams[1]));
    assert_cuda(cudaStreamWaitEvent(streams[0], join, 0));
    cudaGraphExec_t graph = finish_capture(streams[0]);
    use_stream(gpu, NULL);
    for (int round = 0; round < (is_small() ? 2 : 300); round++)
        assert_cuda(cudaGraphLaunch(graph, streams[0]));
    assert_cuda(cudaStreamSynchronize(streams[0]));
    check(0, 4, (double)n);
    check(4, 4, 3.0 * (double)n);
    assert_cuda(cudaGraphExecDestroy(graph));
    assert_cuda(cudaEventDestroy(fork));
    assert_cuda(cudaEventDestroy(join));
}

/* A call that is waited for cannot be part of a graph. Refusing it leaves the capture as it is. */
static void a_captured_stream_is_not_waited_for(void **unused) {
    (void)unused;
    double total;
    bf_value value;
    uint16_t pixel;
    bf_julia_params params;
    bf_histogram *h = histogram_of(4);
    bf_array x = all(on_device, 3001, 1), picture = bf_array_of(BF_U16, &pixel, 1);
    bf_array out = bf_array_of(BF_F64, on_device + SECOND, 3001);
    const bf_array *in[] = {&x, &x};
    bf_julia_defaults(&params);
    picture.ndim = 2;
    picture.shape[1] = picture.strides[1] = 1;
    use_stream(gpu, streams[0]);
    begin_capture(streams[0]);
    enqueue(gpu, &x, 0);
    assert_int_equal(bf_sum_f64(gpu, x.data, 3001, &total), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce(gpu, BF_PROD, &x, NULL, &value), BF_E_ARGUMENT);
    assert_int_equal(bf_map(gpu, BF_MAP_ADD, in, 2, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_histogram_absorb(h, &x, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_julia(gpu, &params, 0, 0, &picture), BF_E_ARGUMENT);
    assert_int_equal(bf_memory_copy(gpu, &value, values_on_device, sizeof value), BF_E_ARGUMENT);
    assert_int_equal(bf_context_synchronize(gpu), BF_E_ARGUMENT);
    cudaGraphExec_t graph = finish_capture(streams[0]);
    assert_cuda(cudaGraphLaunch(graph, streams[0]));
    check(0, 1, 3001);
    assert_int_equal(bf_sum_f64(gpu, x.data, 3001, &total), BF_OK);
    assert_true(total == 3001);
    assert_cuda(cudaGraphExecDestroy(graph));
    bf_histogram_destroy(h);
}

/* --- memory --- */

static size_t free_memory(void) {
    size_t memory, total;
    assert_cuda(cudaDeviceSynchronize());
    assert_cuda(cudaMemGetInfo(&memory, &total));
    return memory;
}

/* All that a workspace has parts for. */
static void capture_all_kinds(const bf_array *x, int64_t bins) {
    bf_histogram *h = histogram_of(bins), *larger = histogram_of(4 * bins);
    bf_array counts = bf_array_of(BF_I64, on_device + SECOND, bins + 3);
    bf_array more = bf_array_of(BF_I64, on_device + SECOND, 4 * bins + 3);
    begin_capture(streams[0]);
    enqueue(gpu, x, 0);
    assert_int_equal(bf_reduce_async(gpu, BF_PROD, x, NULL, &values_on_device[1]), BF_OK);
    assert_int_equal(bf_histogram_async(h, x, counts.data), BF_OK);
    assert_int_equal(bf_histogram_async(larger, x, more.data), BF_OK);
    cudaGraphExec_t graph = finish_capture(streams[0]);
    assert_cuda(cudaGraphLaunch(graph, streams[0]));
    assert_cuda(cudaStreamSynchronize(streams[0]));
    assert_cuda(cudaGraphExecDestroy(graph));
    bf_histogram_destroy(larger);
    bf_histogram_destroy(h);
}

/* Not checked on small arrays: then other programs may be using the GPU. */
static void assert_not_less(size_t before) {
    if (!is_small() && free_memory() + (16 << 20) < before)
        fail_msg("%zu bytes are gone", before - free_memory());
}

static void what_a_graph_uses_goes_with_it(void **unused) {
    (void)unused;
    bf_array x = all(on_device, 3001, 1);
    size_t before = 0;
    use_stream(gpu, streams[0]);
    for (int i = 0; i < (is_small() ? 4 : 200); i++) {
        capture_all_kinds(&x, 20000);
        check(0, 1, 3001);
        check(1, 1, 1);
        if (i == 3) before = free_memory();
    }
    assert_not_less(before);
}

static void many_graphs_leave_nothing(void **unused) {
    (void)unused;
    bf_array x = all(on_device, 3001, 1);
    enum { GRAPHS = 100 };
    cudaGraphExec_t graphs[GRAPHS];
    size_t before = 0;
    use_stream(gpu, streams[0]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < (is_small() ? 3 : GRAPHS); i++) {
            begin_capture(streams[0]);
            enqueue(gpu, &x, i);
            graphs[i] = finish_capture(streams[0]);
            assert_cuda(cudaGraphLaunch(graphs[i], streams[0]));
        }
        assert_cuda(cudaStreamSynchronize(streams[0]));
        for (int i = 0; i < (is_small() ? 3 : GRAPHS); i++)
            assert_cuda(cudaGraphExecDestroy(graphs[i]));
        nanosleep(&(struct timespec){.tv_nsec = 50000000},
                  NULL); /* the driver's own thread ends them */
        assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        if (round == 0) before = free_memory();
    }
    assert_not_less(before);
}

static void outgrown_counters_are_freed(void **unused) {
    (void)unused;
    bf_array x = all(on_device, 3001, 1);
    size_t before = free_memory();
    leave_out_if_small();
    for (int64_t bins = 1 << 20; bins <= 1 << 25; bins += 1 << 20) { /* 4.5 GB of counters in all */
        bf_histogram *h = histogram_of(bins);
        assert_int_equal(bf_histogram_absorb(h, &x, NULL), BF_OK);
        bf_histogram_destroy(h);
    }
    assert_true(free_memory() + ((size_t)3 << 30) > before);
}

/* Its graph runs on, whatever takes the memory that contexts leave. */
static void a_context_may_go_before_its_graph(void **unused) {
    (void)unused;
    enum { TAKEN = 400, TAKEN_BYTES = 1 << 16 };
    const int64_t n = is_small() ? 3001 : LONG;
    bf_array x = all(on_device, n, 1);
    void *taken[TAKEN];
    bf_context *other;
    const bf_options options = BF_OPTIONS(.device = "cuda", .stream = streams[0]);
    assert_int_equal(bf_context_create(&options, &other), BF_OK);
    begin_capture(streams[0]);
    enqueue(other, &x, 0);
    assert_int_equal(bf_reduce_async(other, BF_PROD, &x, NULL, &values_on_device[1]), BF_OK);
    cudaGraphExec_t graph = finish_capture(streams[0]);
    bf_context_destroy(other);
    for (int i = 0; i < TAKEN; i++) {
        assert_cuda(cudaMalloc(&taken[i], TAKEN_BYTES));
        assert_cuda(cudaMemset(taken[i], 0x5a, TAKEN_BYTES));
    }
    assert_cuda(cudaDeviceSynchronize());
    for (int i = 0; i < 3; i++) {
        assert_cuda(cudaMemset(values_on_device, 0, 2 * sizeof *values_on_device));
        assert_cuda(cudaGraphLaunch(graph, streams[0]));
        assert_cuda(cudaStreamSynchronize(streams[0]));
        check(0, 1, (double)n);
        check(1, 1, 1);
    }
    assert_cuda(cudaGraphExecDestroy(graph));
    for (int i = 0; i < TAKEN; i++) assert_cuda(cudaFree(taken[i]));
}

/* --- the default stream --- */

/* N times x, on the default stream, but only after a while. */
static void write_late(cudaStream_t stream, double x) {
    for (int64_t i = 0; i < N; i++) ((double *)(void *)pinned)[i] = x;
    copy_late(stream, 8 * N);
}

static void calls_see_what_the_default_stream_did(void **unused) {
    (void)unused;
    bf_array x = all(on_device, N, 1);
    for (int i = 0; i < (is_small() ? 2 : 30); i++) {
        const double each = i + 2;
        double total, sum[2];
        bf_array two = bf_array_of(BF_F64, on_device, 2), out = bf_array_of(BF_F64, sum, 2);
        const bf_array *in[] = {&two, &two};
        write_late(0, each);
        assert_int_equal(bf_sum_f64(gpu, x.data, N, &total), BF_OK);
        assert_true(total == each * N);
        write_late(0, each + 1);
        assert_int_equal(bf_map(gpu, BF_MAP_ADD, in, 2, NULL, &out), BF_OK);
        assert_true(sum[0] == 2 * (each + 1) && sum[1] == sum[0]);
        write_late(0, 1);
        bf_histogram *h = histogram_of(4);
        assert_int_equal(bf_histogram_absorb(h, &x, NULL), BF_OK);
        assert_int_equal(bf_histogram_counts(h)[1], N);
        bf_histogram_destroy(h);
    }
}

/* Also of reductions that follow each other, which a GPU lets overlap. */
static void calls_are_seen_by_the_default_stream(void **unused) {
    (void)unused;
    bf_array x = all(on_device, N, 1);
    for (int i = 0; i < (is_small() ? 2 : 100); i++) {
        enqueue(gpu, &x, 0);
        enqueue(gpu, &x, 1);
        assert_cuda(cudaMemcpyAsync(answers, values_on_device, 2 * sizeof *answers,
                                    cudaMemcpyDeviceToHost, 0));
        assert_cuda(cudaMemsetAsync(on_device, 0, 8 * N, 0)); /* after they have read it */
        enqueue(gpu, &x, 2);
        enqueue(gpu, &x, 3);
        if (i % 2)
            write_late(0, 1);
        else
            assert_cuda(cudaMemcpyAsync(on_device, on_host, 8 * N, cudaMemcpyHostToDevice, 0));
        assert_cuda(cudaStreamSynchronize(0));
        assert_true(answers[0].as.f64 == N && answers[1].as.f64 == N);
        check(2, 2, 0);
    }
}

/* --- a stream that is given when a context is made --- */

static void a_context_starts_on_its_stream(void **unused) {
    (void)unused;
    static const char *const devices[] = {"cuda", "auto"};
    for (int i = 0; i < 2 * (is_small() ? 1 : 10); i++) {
        bf_context *context;
        double total;
        assert_int_equal(bf_context_create(
                             &BF_OPTIONS(.device = devices[i % 2], .stream = streams[0]), &context),
                         BF_OK);
        assert_cuda(cudaMemset(on_device, 0, 8 * N));
        assert_cuda(cudaDeviceSynchronize());
        write_late(streams[0], i + 1);
        assert_int_equal(bf_sum_f64(context, (double *)(void *)on_device, N, &total), BF_OK);
        assert_true(total == (i + 1.0) * N);
        bf_context_destroy(context);
    }
}

/* The GPU is opened by a call that is captured. */
static void the_first_call_may_be_captured(void **unused) {
    (void)unused;
    bf_context *context;
    bf_array x = all(on_device, 3001, 2);
    assert_int_equal(
        bf_context_create(&BF_OPTIONS(.device = "auto", .stream = streams[0]), &context), BF_OK);
    assert_cuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    enqueue(context, &x, 0);
    cudaGraphExec_t graph = finish_capture(streams[0]);
    assert_cuda(cudaGraphLaunch(graph, streams[0]));
    assert_cuda(cudaStreamSynchronize(streams[0]));
    check(0, 1, 6002);
    assert_cuda(cudaGraphExecDestroy(graph));
    bf_context_destroy(context);
}

/* A capture on a stream ends without an error if nobody touched it. Where a new stream has the name
 * of the one that is gone, that tells whether the library still uses the name. */
static void a_stream_may_go_before_its_context(void **unused) {
    (void)unused;
    for (int i = 0; i < 4; i++) {
        bf_context *context;
        bf_table *table;
        bf_table_options options = {.size = sizeof options, .key = BF_F64, .value = BF_F64};
        bf_array x = all(on_device, 3001, 2);
        cudaStream_t gone, next;
        cudaGraph_t graph;
        assert_cuda(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
        assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cuda", .stream = gone), &context),
                         BF_OK);
        assert_int_equal(bf_table_create(context, &options, &table), BF_OK);
        assert_int_equal(bf_table_insert(table, &x, &x), BF_OK);
        enqueue(context, &x, 0);
        assert_cuda(cudaStreamSynchronize(gone));
        assert_cuda(cudaStreamDestroy(gone));
        assert_cuda(cudaStreamCreateWithFlags(&next, cudaStreamNonBlocking));
        begin_capture(next);
        bf_table_destroy(table);
        bf_context_destroy(context);
        assert_cuda(cudaStreamEndCapture(next, &graph));
        assert_cuda(cudaGraphDestroy(graph));
        assert_cuda(cudaStreamDestroy(next));
        check(0, 1, 6002);
    }
}

/* --- streams that are left --- */

static void CUDART_CB wait_for_gate(void *gate) {
    while (!__atomic_load_n((int *)gate, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void enqueue_doubled(const bf_array *x, const bf_array *out) {
    const bf_array *in[] = {x, x};
    assert_int_equal(bf_map_async(gpu, BF_MAP_ADD, in, 2, NULL, out), BF_OK);
}

/* The stream is destroyed before its work begins. The default stream does not wait for it, and the
 * context's next stream does. */
static void a_stream_that_is_left_may_go(void **unused) {
    (void)unused;
    if (is_small())
        leave_out("BITFOLD_GPU_SMALL: a launch behind a shut gate waits under compute-sanitizer");
    const int64_t n = 3001;
    bf_array x = all(on_device, n, 1), out = bf_array_of(BF_F64, on_device + SECOND, n);
    enqueue_doubled(&x, &out); /* a first launch waits */
    enqueue(gpu, &out, 0);
    for (int round = 0; round < 50; round++) {
        int gate = 0;
        cudaStream_t gone;
        x = all(on_device, n, round);
        assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        assert_cuda(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
        use_stream(gpu, gone);
        assert_cuda(cudaLaunchHostFunc(gone, wait_for_gate, &gate));
        enqueue_doubled(&x, &out);
        assert_int_equal(bf_context_leave_stream(gpu), BF_OK);
        assert_cuda(cudaStreamDestroy(gone));
        assert_cuda(cudaStreamSynchronize(cudaStreamLegacy)); /* while the gate is shut */
        if (round % 3 > 0) use_stream(gpu, streams[round % 2]);
        enqueue(gpu, &out, 0);
        __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
        check(0, 1, 2.0 * round * (double)n);
        use_stream(gpu, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_STREAMS(sums_go_on_when_a_capture_has_ended),
        TEST_ON_STREAMS(a_stream_is_left_while_it_is_captured),
        TEST_ON_STREAMS(a_capture_may_fork),
        TEST_ON_STREAMS(a_captured_stream_is_not_waited_for),
        TEST_ON_STREAMS(what_a_graph_uses_goes_with_it),
        TEST_ON_STREAMS(many_graphs_leave_nothing),
        TEST_ON_STREAMS(outgrown_counters_are_freed),
        TEST_ON_STREAMS(a_context_may_go_before_its_graph),
        TEST_ON_STREAMS(calls_see_what_the_default_stream_did),
        TEST_ON_STREAMS(calls_are_seen_by_the_default_stream),
        TEST_ON_STREAMS(a_context_starts_on_its_stream),
        TEST_ON_STREAMS(the_first_call_may_be_captured),
        TEST_ON_STREAMS(a_stream_may_go_before_its_context),
        TEST_ON_STREAMS(a_stream_that_is_left_may_go),
    };
    return RUN_ON_GPU(tests);
}
