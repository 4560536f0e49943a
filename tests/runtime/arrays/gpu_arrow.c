/* Arrow's columns in a GPU's memory: their event is waited for, and their NULLs are counted. */
#include "tests/support/exchange.h"
#include "tests/support/streams.h"

#include <bitfold/arrow.h>

enum { N = 100000, CUDA = 2, CUDA_HOST = 3 };

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

typedef struct column {
    struct ArrowSchema schema;
    struct ArrowDeviceArray array;
    const void *buffers[2];
} column;

static column *column_of(column *c, int32_t type, const void *valid, const double *values) {
    *c = (column){.buffers = {valid, values}, .schema = {.format = "g", .release = release_schema}};
    c->array.array = (struct ArrowArray){.length = N,
                                         .null_count = valid != NULL ? -1 : 0,
                                         .n_buffers = 2,
                                         .buffers = c->buffers,
                                         .release = release_array};
    c->array.device_type = type;
    return c;
}

static double fill_pinned(int factor) {
    double *x = (double *)pinned;
    for (int i = 0; i < N; i++) x[i] = factor * i;
    return (double)factor * ((double)N * (N - 1) / 2);
}

/* The context is on one stream, and another one makes the column. */
static void its_event_is_waited_for(void **unused) {
    (void)unused;
    cudaEvent_t event;
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    assert_int_equal(bf_context_set_stream(gpu, streams[0]), BF_OK);
    for (int i = 1; i < 10; i++) {
        column c;
        bf_array a;
        double sum = 0, expected = fill_pinned(i);
        copy_late(streams[1], N * sizeof(double));
        assert_cuda(cudaEventRecord(event, streams[1]));
        column_of(&c, CUDA, NULL, (double *)on_device)->array.sync_event = &event;
        assert_int_equal(bf_array_from_arrow_device(gpu, &c.schema, &c.array, &a, NULL), BF_OK);
        assert_int_equal(bf_sum_f64(gpu, a.data, N, &sum), BF_OK);
        assert_true(sum == expected);
    }
    assert_cuda(cudaEventDestroy(event));
}

static void memory_that_the_host_reads_is_ready(void **unused) {
    (void)unused;
    cudaEvent_t event;
    double *copy = (double *)(pinned + PINNED / 2);
    assert_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int i = 1; i < 10; i++) {
        column c;
        bf_array a;
        double sum = 0, expected = fill_pinned(i);
        copy_late(streams[1], N * sizeof(double));
        assert_cuda(cudaMemcpyAsync(copy, on_device, N * sizeof(double), cudaMemcpyDeviceToHost,
                                    streams[1]));
        assert_cuda(cudaEventRecord(event, streams[1]));
        column_of(&c, CUDA_HOST, NULL, copy)->array.sync_event = &event;
        assert_int_equal(bf_array_from_arrow_device(gpu, &c.schema, &c.array, &a, NULL), BF_OK);
        assert_int_equal(bf_sum_f64(cpu, a.data, N, &sum), BF_OK);
        assert_true(sum == expected);
    }
    assert_cuda(cudaEventDestroy(event));
}

static void nulls_are_counted(void **unused) {
    (void)unused;
    uint8_t *bits = (uint8_t *)pinned;
    for (int i = 0; i < N / 8; i++) bits[i] = (uint8_t)(i * 37);
    assert_int_equal(bf_memory_copy(gpu, on_device, bits, N / 8), BF_OK);
    for (int offset = 0; offset < 20; offset++) {
        column c;
        bf_array a;
        int64_t nulls = 0, expected = 0;
        double *values = (double *)(on_device + SECOND);
        column_of(&c, CUDA, on_device, values)->array.array.offset = offset;
        c.array.array.length = N - 1000;
        for (int i = offset; i < offset + N - 1000; i++) expected += !(bits[i / 8] >> i % 8 & 1);
        assert_int_equal(bf_array_from_arrow_device(gpu, &c.schema, &c.array, &a, &nulls), BF_OK);
        assert_int_equal(nulls, expected);
        assert_ptr_equal(a.data, values + offset);
        bf_array out = bf_array_of(BF_F64, on_host, N);
        int64_t n;
        assert_int_equal(bf_array_copy_arrow(gpu, &c.schema, &c.array.array, &out, &n),
                         BF_E_DEVICE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_ON_STREAMS(its_event_is_waited_for),
        TEST_ON_STREAMS(memory_that_the_host_reads_is_ready),
        TEST_ON_STREAMS(nulls_are_counted),
    };
    return RUN_ON_GPU(tests);
}
