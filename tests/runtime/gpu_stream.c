/* Calls on a GPU's streams, in CUDA graphs, and from several threads: what is enqueued first is
 * seen by what comes later, and nothing that happens beside a call changes its bits. */
#include "tests/support/streams.h"

#include <pthread.h>
#include <stdatomic.h>

enum { N = 3001, DTYPES = 4, REGION = 2 * 8 * N, BYTES = DTYPES * REGION };

static const bf_dtype dtypes[DTYPES] = {BF_F32, BF_F64, BF_I32, BF_U8};

static void use_stream(cudaStream_t stream) {
    assert_int_equal(bf_context_set_stream(gpu, stream), BF_OK);
}

/* Two arrays of each dtype, in pinned memory for the CPU and in on_device for the GPU. */
static both array_of(int d, int second) {
    size_t at = (size_t)d * REGION + (second ? N * bf_dtype_size(dtypes[d]) : 0);
    both b = {bf_array_of(dtypes[d], pinned + at, N), bf_array_of(dtypes[d], on_device + at, N)};
    return b;
}

static void new_data(data_kind kind, uint64_t seed) {
    for (int d = 0; d < DTYPES; d++)
        fill(dtypes[d], pinned + d * REGION, 2 * N, kind, seed + (uint64_t)d);
}

/* Clears the data on the GPU, and copies new data there, but only after a while. */
static void renew_late(cudaStream_t stream) {
    assert_cuda(cudaMemset(on_device, 0, BYTES));
    assert_cuda(cudaDeviceSynchronize());
    copy_late(stream, BYTES);
}

static bf_value answer_of(bf_context *context, bf_reduction op, const bf_array *a,
                          const bf_array *b) {
    bf_value value = {.dtype = BF_NONE};
    bf_status status = op == BF_DOT ? bf_dot(context, a, b, NULL, &value)
                                    : bf_reduce(context, op, a, NULL, &value);
    return status == BF_OK ? value : (bf_value){.dtype = BF_NONE};
}

static void enqueue(bf_reduction op, int d, bf_value *value) {
    both a = array_of(d, 0), b = array_of(d, 1);
    assert_int_equal(op == BF_DOT ? bf_dot_async(gpu, &a.device, &b.device, NULL, value)
                                  : bf_reduce_async(gpu, op, &a.device, NULL, value),
                     BF_OK);
}

/* Value i is that of operation i % BF_PROD of dtype i / BF_PROD. */
enum { CALLS = DTYPES * BF_PROD };

static bf_reduction op_of(int i) { return (bf_reduction)(BF_SUM + i % BF_PROD); }

static void enqueue_all(void) {
    for (int i = 0; i < CALLS; i++) enqueue(op_of(i), i / BF_PROD, &values_on_device[i]);
}

static void check_answers(const bf_value *found) {
    for (int i = 0; i < CALLS; i++) {
        both a = array_of(i / BF_PROD, 0), b = array_of(i / BF_PROD, 1);
        bf_value expected = answer_of(cpu, op_of(i), &a.host, &b.host);
        assert_same_value("enqueued", op_of(i), &a, &found[i], &expected);
    }
}

static void fetch_answers(cudaStream_t stream) {
    assert_cuda(cudaMemcpyAsync(answers, values_on_device, CALLS * sizeof *answers,
                                cudaMemcpyDeviceToHost, stream));
    assert_cuda(cudaStreamSynchronize(stream));
}

/* --- streams --- */

static void a_call_sees_what_its_stream_did_before(void **unused) {
    (void)unused;
    use_stream(streams[0]);
    for (int i = 0; i < CALLS; i++) {
        both a = array_of(i / BF_PROD, 0), b = array_of(i / BF_PROD, 1);
        new_data(KIND_CANCEL, (uint64_t)i);
        renew_late(streams[0]);
        bf_value found = answer_of(gpu, op_of(i), &a.device, &b.device);
        bf_value expected = answer_of(cpu, op_of(i), &a.host, &b.host);
        assert_same_value("on a stream", op_of(i), &a, &found, &expected);
    }
}

static void the_rest_sees_it_too(void **unused) {
    (void)unused;
    static float sum[N], expected[N];
    both a = array_of(0, 0), b = array_of(0, 1);
    use_stream(streams[1]);
    new_data(KIND_NARROW, 7);
    renew_late(streams[1]);
    assert_int_equal(bf_add_f32(gpu, a.device.data, b.device.data, N, sum), BF_OK);
    assert_int_equal(bf_add_f32(cpu, a.host.data, b.host.data, N, expected), BF_OK);
    assert_memory_equal(sum, expected, sizeof sum);
    new_data(KIND_NARROW, 8);
    renew_late(streams[1]);
    assert_int_equal(bf_memory_copy(gpu, sum, a.device.data, sizeof sum), BF_OK);
    assert_memory_equal(sum, a.host.data, sizeof sum);
    new_data(KIND_FULL, 9);
    renew_late(streams[1]);
    check_states(BF_VAR, &a, 0, 500, 1);
}

static void a_new_stream_waits_for_the_old_one(void **unused) {
    (void)unused;
    cudaStream_t order[] = {streams[0], streams[1], NULL, streams[1], streams[0]};
    use_stream(order[0]);
    for (int i = 1; i < 5; i++) {
        cudaStream_t before = order[i - 1] != NULL ? order[i - 1] : streams[0];
        use_stream(before);
        new_data(KIND_FULL, (uint64_t)i);
        renew_late(before);
        enqueue_all();
        use_stream(order[i]);
        if (order[i] == NULL) { /* the context's own */
            assert_int_equal(bf_context_synchronize(gpu), BF_OK);
            assert_int_equal(
                bf_memory_copy(gpu, answers, values_on_device, CALLS * sizeof *answers), BF_OK);
        } else {
            fetch_answers(order[i]);
        }
        check_answers(answers);
    }
}

/* --- graphs --- */

static cudaGraphExec_t finish_capture(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    assert_cuda(cudaStreamEndCapture(stream, &graph));
    assert_cuda(cudaGraphInstantiate(&executable, graph, 0));
    assert_cuda(cudaGraphDestroy(graph));
    return executable;
}

static void replay(cudaGraphExec_t graph, cudaStream_t stream) {
    assert_cuda(cudaMemcpyAsync(on_device, pinned, BYTES, cudaMemcpyHostToDevice, stream));
    assert_cuda(cudaGraphLaunch(graph, stream));
}

static void a_graph_is_captured_once_and_replayed(void **unused) {
    (void)unused;
    use_stream(streams[0]);
    assert_cuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    enqueue_all();
    cudaGraphExec_t graph = finish_capture(streams[0]);
    for (int i = 0; i < (is_small() ? 3 : 1000); i++) {
        new_data((data_kind)(i % KIND_COUNT), 100 + (uint64_t)i);
        replay(graph, streams[0]);
        fetch_answers(streams[0]);
        check_answers(answers);
    }
    assert_cuda(cudaGraphExecDestroy(graph));
}

/* c = a * b, then the sum of c: each part of a graph sees the one before. */
static void maps_and_reductions_follow_in_a_graph(void **unused) {
    (void)unused;
    float product[N];
    both a = array_of(0, 0), b = array_of(0, 1);
    bf_array out = bf_array_of(BF_F32, on_device + SECOND, N);
    bf_array host_out = bf_array_of(BF_F32, product, N);
    const bf_array *on_gpu[] = {&a.device, &b.device}, *host[] = {&a.host, &b.host};
    use_stream(streams[1]);
    assert_cuda(cudaStreamBeginCapture(streams[1], cudaStreamCaptureModeThreadLocal));
    assert_int_equal(bf_map_async(gpu, BF_MAP_MUL, on_gpu, 2, NULL, &out), BF_OK);
    assert_int_equal(bf_reduce_async(gpu, BF_SUM, &out, NULL, values_on_device), BF_OK);
    cudaGraphExec_t graph = finish_capture(streams[1]);
    for (int i = 0; i < (is_small() ? 3 : 1000); i++) {
        bf_value expected;
        new_data((data_kind)(i % KIND_COUNT), 5000 + (uint64_t)i);
        replay(graph, streams[1]);
        fetch_answers(streams[1]);
        assert_int_equal(bf_map(cpu, BF_MAP_MUL, host, 2, NULL, &host_out), BF_OK);
        assert_int_equal(bf_reduce(cpu, BF_SUM, &host_out, NULL, &expected), BF_OK);
        assert_same_value("map and reduce", BF_SUM, &a, &answers[0], &expected);
    }
    assert_cuda(cudaGraphExecDestroy(graph));
}

/* a + b of integers, in a graph: what does not fit is reported of each replay. */
static void a_graph_s_failures_are_reported(void **unused) {
    (void)unused;
    both a = array_of(2, 0), b = array_of(2, 1);
    bf_array out = bf_array_of(BF_I32, on_device + SECOND, N);
    const bf_array *inputs[] = {&a.device, &b.device};
    use_stream(streams[0]);
    assert_cuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    assert_int_equal(bf_map_async(gpu, BF_MAP_ADD, inputs, 2, NULL, &out), BF_OK);
    cudaGraphExec_t graph = finish_capture(streams[0]);
    for (int i = 0; i < 10; i++) {
        bool fits = i % 3 != 1;
        new_data(fits ? KIND_NARROW : KIND_EXTREME, (uint64_t)i);
        replay(graph, streams[0]);
        assert_int_equal(bf_context_synchronize(gpu), fits ? BF_OK : BF_E_OVERFLOW);
    }
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_cuda(cudaGraphExecDestroy(graph));
}

/* The context's own stream is used while another is captured, and while the graph runs. */
static void direct_calls_beside_a_graph(void **unused) {
    (void)unused;
    new_data(KIND_FULL, 11);
    assert_cuda(cudaMemcpy(on_device, pinned, BYTES, cudaMemcpyHostToDevice));
    use_stream(streams[0]);
    assert_cuda(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < CALLS; i++) {
        both a = array_of(i / BF_PROD, 0), b = array_of(i / BF_PROD, 1);
        enqueue(op_of(i), i / BF_PROD, &values_on_device[i]);
        use_stream(NULL);
        bf_value found = answer_of(gpu, op_of(i), &a.device, &b.device);
        bf_value expected = answer_of(cpu, op_of(i), &a.host, &b.host);
        use_stream(streams[0]);
        assert_same_value("beside a capture", op_of(i), &a, &found, &expected);
    }
    cudaGraphExec_t graph = finish_capture(streams[0]);
    use_stream(NULL);
    for (int k = 0; k < (is_small() ? 2 : 100); k++) {
        assert_cuda(cudaGraphLaunch(graph, streams[0]));
        for (int i = 0; i < CALLS; i++) {
            both a = array_of(i / BF_PROD, 0), b = array_of(i / BF_PROD, 1);
            enqueue(op_of(i), i / BF_PROD, &values_on_device[CALLS + i]);
            if (i % 3 == 0) answer_of(gpu, op_of(i), &a.device, &b.device);
        }
        assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        fetch_answers(streams[0]);
        check_answers(answers);
        assert_int_equal(
            bf_memory_copy(gpu, answers, &values_on_device[CALLS], CALLS * sizeof *answers), BF_OK);
        check_answers(answers);
    }
    assert_cuda(cudaGraphExecDestroy(graph));
}

/* --- threads --- */

typedef struct worker {
    pthread_t thread;
    uint64_t seed;
    bf_value expected[CALLS];
    int calls, failures; /* cmocka's assertions belong to the main thread */
} worker;

static atomic_bool stop;

static bool same(const bf_value *a, const bf_value *b) {
    return a->dtype == b->dtype && !memcmp(a->as.i192, b->as.i192, sizeof a->as.i192);
}

/* All calls, on the GPU's memory, on the host's, and by queue. */
static void hammer(worker *w, bf_context *context, const char *host, char *device) {
    bf_value *queued = (bf_value *)(void *)(device + BYTES), found;
    for (int i = 0; i < CALLS; i++, w->calls++) {
        size_t at = (size_t)(i / BF_PROD) * REGION;
        bf_dtype t = dtypes[i / BF_PROD];
        bf_array a = bf_array_of(t, device + at, N), x = bf_array_of(t, host + at, N);
        found = answer_of(context, op_of(i), &a, &a);
        w->failures += !same(&found, &w->expected[i]);
        found = answer_of(context, op_of(i), &x, &a);
        w->failures += !same(&found, &w->expected[i]);
        w->failures += op_of(i) == BF_DOT
                           ? bf_dot_async(context, &a, &a, NULL, queued) != BF_OK
                           : bf_reduce_async(context, op_of(i), &a, NULL, queued) != BF_OK;
        w->failures += bf_memory_copy(context, &found, queued, sizeof found) != BF_OK;
        w->failures += !same(&found, &w->expected[i]);
    }
}

static void *work(void *argument) {
    worker *w = argument;
    bf_context *context = NULL;
    void *device = NULL;
    const size_t bytes = BYTES + sizeof(bf_value);
    char *host = calloc(1, bytes);
    for (int d = 0; d < DTYPES && host != NULL; d++)
        fill(dtypes[d], host + d * REGION, N, KIND_FULL, w->seed);
    if (host == NULL || bf_context_create(&BF_OPTIONS(.device = "cuda"), &context) ||
        bf_memory_allocate(context, bytes, &device) || bf_memory_copy(context, device, host, bytes))
        w->failures++;
    else
        while (!stop) hammer(w, context, host, device);
    if (context != NULL) bf_memory_free(context, device);
    bf_context_destroy(context);
    free(host);
    return NULL;
}

static void expect(worker *w) {
    for (int d = 0; d < DTYPES; d++) fill(dtypes[d], pinned + d * REGION, N, KIND_FULL, w->seed);
    for (int i = 0; i < CALLS; i++) {
        bf_array a = array_of(i / BF_PROD, 0).host;
        w->expected[i] = answer_of(cpu, op_of(i), &a, &a);
    }
}

static void contexts_of_several_threads_are_independent(void **unused) {
    (void)unused;
    worker workers[3] = {{.seed = 21}, {.seed = 22}, {.seed = 23}};
    int count = is_small() ? 2 : 3;
    stop = false;
    for (int i = 0; i < count; i++) expect(&workers[i]);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    nanosleep(&(struct timespec){.tv_sec = is_small() ? 0 : 2, .tv_nsec = 100000000}, NULL);
    stop = true;
    for (int i = 0; i < count; i++) pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < count; i++) assert_int_equal(workers[i].failures, 0);
    for (int i = 0; i < count && !is_small(); i++) assert_true(workers[i].calls > 0);
}

/* Not checked on small arrays: then other programs may be using the GPU. */
static void contexts_give_their_memory_back(void **unused) {
    (void)unused;
    size_t before = 0, after, total;
    new_data(KIND_FULL, 31);
    assert_cuda(cudaMemcpy(on_device, pinned, BYTES, cudaMemcpyHostToDevice));
    for (int i = 0; i < (is_small() ? 3 : 60); i++) {
        bf_context *context;
        assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cuda"), &context), BF_OK);
        for (int k = 0; k < CALLS; k++) {
            bf_array a = array_of(k / BF_PROD, 0).device, pageable = a;
            pageable.data = on_host;
            answer_of(context, op_of(k), &a, &a);
            answer_of(context, op_of(k), &pageable, &a);
        }
        bf_context_destroy(context);
        assert_cuda(cudaMemGetInfo(&after, &total));
        if (i == 1) before = after;
    }
    assert_true(is_small() || after + (16 << 20) > before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_STREAMS(a_call_sees_what_its_stream_did_before),
        TEST_ON_STREAMS(the_rest_sees_it_too),
        TEST_ON_STREAMS(a_new_stream_waits_for_the_old_one),
        TEST_ON_STREAMS(a_graph_is_captured_once_and_replayed),
        TEST_ON_STREAMS(maps_and_reductions_follow_in_a_graph),
        TEST_ON_STREAMS(a_graph_s_failures_are_reported),
        TEST_ON_STREAMS(direct_calls_beside_a_graph),
        TEST_ON_STREAMS(contexts_of_several_threads_are_independent),
        TEST_ON_STREAMS(contexts_give_their_memory_back),
    };
    return RUN_ON_GPU(tests);
}
