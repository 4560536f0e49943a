/* All GPUs of the machine as one device, against the CPU. With one GPU they are that one. */
#include "tests/support/run.h"

#include <cuda_runtime_api.h>

#include "tests/runtime/several.h"

static void *put(const void *data, size_t bytes, int where) {
    void *memory = NULL;
    size_t room = bytes > 0 ? bytes : 1;
    switch (where) {
    case PAGEABLE: memory = malloc(room); break;
    case PINNED: assert_cuda(cudaHostAlloc(&memory, room, cudaHostAllocPortable)); break;
    case MANAGED: assert_cuda(cudaMallocManaged(&memory, room, cudaMemAttachGlobal)); break;
    default: assert_cuda(cudaSetDevice(where)); assert_cuda(cudaMalloc(&memory, room));
    }
    if (where == PAGEABLE)
        memcpy(memory, data, bytes);
    else
        assert_cuda(cudaMemcpy(memory, data, bytes, cudaMemcpyDefault));
    return memory;
}

static void get(void *to, const void *memory, size_t bytes) {
    assert_cuda(cudaMemcpy(to, memory, bytes, cudaMemcpyDefault));
}

static void drop(void *memory, int where) {
    if (where == PAGEABLE)
        free(memory);
    else if (where == PINNED)
        assert_cuda(cudaFreeHost(memory));
    else
        assert_cuda(cudaFree(memory));
}

static int set_up(void **unused) {
    (void)unused;
    devices = bf_device_count();
    return bf_context_create(&BF_OPTIONS(.device = "cpu"), &alone) ||
           bf_context_create(&BF_OPTIONS(.device = "cuda:all"), &several);
}

static int tear_down(void **unused) {
    (void)unused;
    bf_context_destroy(several);
    bf_context_destroy(alone);
    return 0;
}

/* Bytes that are split among four GPUs, and some more. */
enum { SPLIT = (17 << 20) + 3 * 4096 * 8, OPS = 13 };

static const int wheres[] = {PAGEABLE, PINNED, MANAGED};

static void reductions_are_those_of_the_cpu(void **unused) {
    (void)unused;
    static const bf_dtype wide[] = {BF_F64, BF_F32, BF_I64};
    for (int op = 1; op <= OPS; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++)
            for (int where = -3; where < devices; where++)
                check_array((bf_reduction)op, all_dtypes[d], 4097, 4099, where);
        for (int d = 0; d < 3; d++)
            check_array((bf_reduction)op, wide[d], SPLIT / (int64_t)bf_dtype_size(wide[d]) + 4 * op,
                        op * 1000, wheres[(op + d) % 3]);
    }
    check_array(BF_SUM, BF_F16, SPLIT / 2 + 1, 0, PINNED);
    check_array(BF_MAX, BF_U8, SPLIT + 1, 0, PAGEABLE);
}

static void shards_are_one_array(void **unused) {
    (void)unused;
    for (int op = 1; op <= OPS; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++)
            check_shards((bf_reduction)op, all_dtypes[d], 30011, 2 + 5 * (d % 9), 100 * op);
        check_shards((bf_reduction)op, BF_F32, 6000001, 5, 0);
    }
}

static void histograms_are_those_of_the_cpu(void **unused) {
    (void)unused;
    static const bf_dtype weights[] = {BF_NONE, BF_F32, BF_I16, BF_F64};
    for (int w = 0; w < 4; w++) {
        check_histogram(BF_F32, weights[w], SPLIT / 4, 1000);
        check_histogram(BF_I16, weights[w], 100001, 10);
    }
}

static void maps_are_those_of_the_cpu(void **unused) {
    (void)unused;
    for (int op = BF_MAP_ADD; op <= BF_MAP_SQRT; op++) {
        for (int where = -3; where < devices; where++)
            check_map((bf_map_op)op, BF_I32, 12345, where);
        check_map((bf_map_op)op, BF_F32, SPLIT / 4 + op, wheres[op % 3]);
        check_map((bf_map_op)op, BF_I64, SPLIT / 8 + op, wheres[op % 3]);
    }
}

static void groups_are_those_of_the_cpu(void **unused) {
    (void)unused;
    check_groups(1001, 3);
    check_groups(SPLIT / 14, 100);
    check_groups(SPLIT / 14, 100000);
    check_groups(SPLIT / 14, (uint64_t)-1);
    check_parts(SPLIT / 14);
}

static void many_at_once_are_those_of_the_cpu(void **unused) {
    (void)unused;
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_MAX};
    static const int64_t large[] = {2000, 3, 800}, small[] = {5, 7, 9};
    static const int axes[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        check_axes(ops[i], BF_F32, large, axes + 1, 2, NULL, wheres[i]);
        check_axes(ops[i], BF_F64, large, axes, 2, NULL, wheres[i]);
        for (int where = -3; where < devices; where++)
            check_axes(ops[i], BF_I16, small, axes + i, 1, NULL, where);
        check_states(ops[i], BF_F32, SPLIT / 12, 3);
        check_states(ops[i], BF_I64, 30, 7);
    }
}

static void the_rest_is_that_of_the_cpu(void **unused) {
    (void)unused;
    check_picture(101, 67);
    check_picture(3001, 2999);
    check_strides(300001);
    check_copies();
    check_table(50000);
}

enum { N = 1 << 22, MOST_DEVICES = 16 };

/* _async calls go to the GPU of their data. Each GPU in turn changes one array of the host's. */
static void enqueued_calls_are_in_order(void **unused) {
    (void)unused;
    int n = devices < MOST_DEVICES ? devices : MOST_DEVICES;
    float *x = malloc(N * sizeof *x);
    for (int i = 0; i < N; i++) x[i] = (float)(i % 5);
    bf_array shared = bf_array_of(BF_F32, put(x, N * sizeof *x, PINNED), N), own[MOST_DEVICES];
    bf_value *values = NULL;
    assert_cuda(cudaHostAlloc((void **)&values, sizeof *values * MOST_DEVICES, 0));
    double wanted = 0, sum = 0;
    assert_done(bf_sum_f32(alone, x, N, &wanted));
    for (int i = 0; i < n; i++) own[i] = bf_array_of(BF_F32, put(x, N * sizeof *x, i), N);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < n; i++) {
            const bf_array *both[] = {&shared, &own[i]}, *mine[] = {&own[i]};
            assert_done(bf_reduce_async(several, BF_SUM, &own[i], NULL, &values[i]));
            assert_done(bf_map_async(several, BF_MAP_NEG, mine, 1, NULL, &own[i]));
            assert_done(bf_map_async(several, BF_MAP_ADD, both, 2, NULL, &shared)); /* zeros */
            assert_done(bf_map_async(several, BF_MAP_SUB, both, 2, NULL, &shared)); /* x again */
            assert_done(bf_map_async(several, BF_MAP_NEG, mine, 1, NULL, &own[i]));
        }
        assert_done(bf_sum_f32(several, shared.data, N, &sum));
        assert_true(sum == wanted);
        for (int i = 0; i < n; i++) assert_true(bf_value_f64(&values[i]) == wanted);
    }
    assert_done(bf_context_synchronize(several));
    for (int i = 0; i < n; i++) drop(own[i].data, i);
    drop(shared.data, PINNED);
    assert_cuda(cudaFreeHost(values));
    free(x);
}

/* Errors of the data that _async calls met on any GPU are reported once, also if another call has
 * waited for them. */
static void enqueued_errors_are_reported(void **unused) {
    (void)unused;
    static int32_t x[1000];
    static double zeros[N];
    double sum = 1;
    for (int i = 0; i < 1000; i++) x[i] = INT32_MIN;
    for (int i = 0; i < devices; i++) {
        for (int between = 0; between < 2; between++) {
            bf_array a = bf_array_of(BF_I32, put(x, sizeof x, i), 1000);
            const bf_array *input = &a;
            assert_done(bf_map_async(several, BF_MAP_NEG, &input, 1, NULL, &a));
            if (between) {
                assert_done(bf_sum_f64(several, zeros, N, &sum));
                assert_true(sum == 0);
            }
            assert_int_equal(bf_context_synchronize(several), BF_E_OVERFLOW);
            assert_non_null(strstr(bf_context_message(several), "index 0"));
            assert_done(bf_context_synchronize(several));
            drop(a.data, i);
        }
    }
}

static void a_stream_is_refused(void **unused) {
    (void)unused;
    cudaStream_t stream;
    assert_cuda(cudaStreamCreate(&stream));
    assert_int_equal(bf_context_set_stream(several, stream), devices > 1 ? BF_E_DEVICE : BF_OK);
    assert_done(bf_context_set_stream(several, NULL));
    assert_cuda(cudaStreamDestroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_are_those_of_the_cpu),
        cmocka_unit_test(shards_are_one_array),
        cmocka_unit_test(histograms_are_those_of_the_cpu),
        cmocka_unit_test(maps_are_those_of_the_cpu),
        cmocka_unit_test(groups_are_those_of_the_cpu),
        cmocka_unit_test(many_at_once_are_those_of_the_cpu),
        cmocka_unit_test(the_rest_is_that_of_the_cpu),
        cmocka_unit_test(enqueued_calls_are_in_order),
        cmocka_unit_test(enqueued_errors_are_reported),
        cmocka_unit_test(a_stream_is_refused),
    };
    return RUN_ON_GPU(tests);
}
