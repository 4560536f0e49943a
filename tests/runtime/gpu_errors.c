/* What is refused on a GPU, and what happens when its memory runs out: a status, a message, and a
 * context that works on. Must not run beside other programs, which would be short of memory. */
#include "tests/support/both.h"

#include <cuda_runtime_api.h>

#define assert_refused(context, status, call)                                                      \
    do {                                                                                           \
        assert_int_equal(call, status);                                                            \
        assert_string_not_equal(bf_context_message(context), "");                                  \
    } while (0)

enum { N = 1000 };

/* The context gives right answers, from its own memory and from the host's. */
static void check_works(void) {
    static float sum[N], expected[N];
    fill(BF_F32, on_host, N, KIND_FULL, 1);
    both a = both_of(BF_F32, N, 0), staged = {a.host, a.host};
    for (int op = BF_SUM; op <= BF_PROD; op++) {
        if (op == BF_DOT) continue;
        check_reduce((bf_reduction)op, &a, NULL);
        bf_value found, on_cpu;
        assert_int_equal(bf_reduce(gpu, (bf_reduction)op, &staged.device, NULL, &found), BF_OK);
        assert_int_equal(bf_reduce(cpu, (bf_reduction)op, &staged.host, NULL, &on_cpu), BF_OK);
        assert_same_value("staged", (bf_reduction)op, &a, &found, &on_cpu);
    }
    assert_int_equal(bf_add_f32(gpu, a.host.data, a.device.data, N, sum), BF_OK);
    assert_int_equal(bf_add_f32(cpu, a.host.data, a.host.data, N, expected), BF_OK);
    assert_memory_equal(sum, expected, sizeof sum);
}

/* --- refusals --- */

static void a_gpu_s_memory_is_not_the_cpu_s(void **unused) {
    (void)unused;
    both a = both_of(BF_F32, N, 0);
    const bf_array *inputs[] = {&a.host, &a.device};
    bf_value value;
    bf_state *state;
    assert_refused(cpu, BF_E_DEVICE, bf_reduce(cpu, BF_SUM, &a.device, NULL, &value));
    assert_refused(cpu, BF_E_DEVICE, bf_reduce_async(cpu, BF_SUM, &a.device, NULL, &value));
    assert_refused(cpu, BF_E_DEVICE, bf_dot(cpu, &a.host, &a.device, NULL, &value));
    assert_refused(cpu, BF_E_DEVICE, bf_map(cpu, BF_MAP_ADD, inputs, 2, NULL, &a.host));
    assert_refused(cpu, BF_E_DEVICE, bf_map(cpu, BF_MAP_NEG, inputs, 1, NULL, &a.device));
    assert_refused(cpu, BF_E_DEVICE, bf_memory_copy(cpu, on_host, on_device, N));
    assert_refused(cpu, BF_E_DEVICE, bf_memory_copy(cpu, on_device, on_host, N));
    assert_refused(cpu, BF_E_DEVICE, bf_context_set_stream(cpu, NULL));
    assert_int_equal(bf_state_create(cpu, BF_MAX, BF_F32, &state), BF_OK);
    assert_refused(cpu, BF_E_DEVICE, bf_state_absorb(state, &a.device));
    assert_int_equal(bf_state_absorb(state, &a.host), BF_OK);
    bf_state_destroy(state);
}

static void a_queue_takes_what_the_gpu_can_reach(void **unused) {
    (void)unused;
    both a = both_of(BF_F32, N, 0), odd = both_of(BF_F32, N, 3);
    const bf_array *good[] = {&a.device, &a.device}, *bad[] = {&a.device, &a.host};
    bf_array every_second = a.device;
    bf_value value, *queued = values_on_device;
    every_second.strides[0] = 2;
    every_second.shape[0] = N / 2;
    assert_refused(gpu, BF_E_ARGUMENT, bf_reduce_async(gpu, BF_SUM, &a.host, NULL, queued));
    assert_refused(gpu, BF_E_ARGUMENT, bf_reduce_async(gpu, BF_SUM, &a.device, NULL, &value));
    assert_refused(gpu, BF_E_ARGUMENT, bf_reduce_async(gpu, BF_SUM, &a.device, NULL, NULL));
    assert_refused(gpu, BF_E_ARGUMENT, bf_reduce_async(gpu, BF_SUM, &odd.device, NULL, queued));
    assert_refused(gpu, BF_E_ARGUMENT, bf_reduce_async(gpu, BF_SUM, &every_second, NULL, queued));
    assert_refused(gpu, BF_E_ARGUMENT, bf_dot_async(gpu, &a.device, &a.host, NULL, queued));
    bf_value *between = (bf_value *)(void *)((char *)queued + 4);
    assert_refused(gpu, BF_E_ARGUMENT, bf_reduce_async(gpu, BF_SUM, &a.device, NULL, between));
    bf_array out = bf_array_of(BF_F32, on_device + SECOND, N);
    assert_refused(gpu, BF_E_ARGUMENT, bf_map_async(gpu, BF_MAP_ADD, bad, 2, NULL, &out));
    assert_refused(gpu, BF_E_ARGUMENT, bf_map_async(gpu, BF_MAP_ADD, good, 2, NULL, &a.host));
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    check_works();
}

/* What the data make impossible is a value without a dtype. */
static void a_queue_s_failures_are_values(void **unused) {
    (void)unused;
    fill(BF_F32, on_host, N, KIND_NARROW, 2);
    sprinkle(BF_F32, on_host, N, 1, 2);
    both a = both_of(BF_F32, N, 0), empty = both_of(BF_F32, 0, 0);
    fill(BF_I64, on_host + SECOND, N, KIND_EXTREME, 3);
    both large = both_of(BF_I64, N, SECOND);
    bf_reduce_options strict = BF_REDUCE_OPTIONS(.nan = BF_NAN_ERROR);
    for (int op = BF_SUM; op <= BF_PROD; op++)
        if (op != BF_DOT) check_reduce((bf_reduction)op, &a, &strict);
    for (int op = BF_SUM; op <= BF_PROD; op++)
        if (op != BF_DOT) check_reduce((bf_reduction)op, &empty, NULL);
    check_reduce(BF_PROD, &large, NULL);
}

static void map_s_failures_are_reported_once(void **unused) {
    (void)unused;
    int32_t divisors[N];
    for (int i = 0; i < N; i++) divisors[i] = 1000 - i;
    divisors[N - 5] = 0;
    memcpy(on_host, divisors, sizeof divisors);
    both b = both_of(BF_I32, N, 0);
    bf_array quotients = bf_array_of(BF_F64, on_device + SECOND, N);
    bf_array negated = bf_array_of(BF_U8, on_device + SECOND, N);
    const bf_array *inputs[] = {&b.device, &b.device};
    assert_int_equal(bf_map_async(gpu, BF_MAP_DIV, inputs, 2, NULL, &quotients), BF_OK);
    assert_refused(gpu, BF_E_ARGUMENT, bf_context_synchronize(gpu));
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_map_async(gpu, BF_MAP_CAST, inputs, 1, NULL, &negated), BF_OK);
    assert_refused(gpu, BF_E_OVERFLOW, bf_context_synchronize(gpu));
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
}

static void devices_that_are_not_there(void **unused) {
    (void)unused;
    static const char *const names[] = {"cuda:99", "cuda:-1", "cuda:", "cuda:x", "gpu"};
    bf_device_info info = {.size = sizeof info};
    bf_context *context;
    for (int i = 0; i < 5; i++)
        assert_int_not_equal(bf_context_create(&BF_OPTIONS(.device = names[i]), &context), BF_OK);
    assert_int_equal(bf_device_describe(bf_device_count(), &info), BF_E_DEVICE);
    assert_int_equal(bf_device_describe(-1, &info), BF_E_DEVICE);
    assert_int_equal(bf_device_describe(0, &info), BF_OK);
    assert_true(info.memory > 0 && info.memory_free <= info.memory && info.major > 0);
    assert_string_equal(bf_device_reason(), "");
}

/* --- out of memory --- */

enum { CHUNKS = 4096 };

/* Takes all of the GPU's memory but 4 MiB, too little for copies of the host's memory. More than
 * once, since the driver gives up what it keeps when it runs out. */
static int take_memory(void **chunks) {
    const size_t sizes[] = {(size_t)1 << 32, (size_t)1 << 28, (size_t)1 << 24, (size_t)1 << 21};
    void *rest = NULL;
    int n = 0;
    assert_int_equal(cudaMalloc(&rest, (size_t)1 << 22), cudaSuccess);
    for (int i = 0; i < 12; i++)
        while (n < CHUNKS && cudaMalloc(&chunks[n], sizes[i % 4]) == cudaSuccess) n++;
    cudaFree(rest);
    cudaGetLastError();
    return n;
}

static void check_all_that_needs_memory(const both *device) {
    bf_value value;
    void *memory;
    float out[N];
    bf_array strided = device->device;
    strided.strides[0] = 2;
    strided.shape[0] = N / 2;
    assert_refused(gpu, BF_E_MEMORY, bf_memory_allocate(gpu, (size_t)1 << 32, &memory));
    assert_refused(gpu, BF_E_MEMORY, bf_reduce(gpu, BF_SUM, &device->host, NULL, &value));
    assert_refused(gpu, BF_E_MEMORY, bf_reduce(gpu, BF_PROD, &device->host, NULL, &value));
    assert_refused(gpu, BF_E_MEMORY, bf_reduce(gpu, BF_SUM, &strided, NULL, &value));
    assert_refused(gpu, BF_E_MEMORY, bf_add_f32(gpu, device->host.data, device->host.data, N, out));
}

/* A state is as it was, and goes on. */
static void check_state_goes_on(const both *device) {
    bf_state *state, *whole;
    char saved[2][4096];
    assert_int_equal(bf_state_create(gpu, BF_VAR, BF_F32, &state), BF_OK);
    assert_int_equal(bf_state_absorb(state, &device->device), BF_OK);
    assert_refused(gpu, BF_E_MEMORY, bf_state_absorb(state, &device->host));
    assert_int_equal(bf_state_absorb(state, &device->device), BF_OK);
    assert_int_equal(bf_state_create(cpu, BF_VAR, BF_F32, &whole), BF_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(bf_state_absorb(whole, &device->host), BF_OK);
    assert_true(bf_state_save_size(whole) <= sizeof saved[0]);
    assert_int_equal(bf_state_save_size(state), bf_state_save_size(whole));
    bf_state_save(state, saved[0]);
    bf_state_save(whole, saved[1]);
    assert_memory_equal(saved[0], saved[1], bf_state_save_size(whole));
    bf_state_destroy(state);
    bf_state_destroy(whole);
}

/* The context is one that has no memory for copies yet; kernels have been loaded. */
static void memory_runs_out(void **unused) {
    (void)unused;
    static void *chunks[CHUNKS];
    leave_out_if_small();
    bf_context *used = gpu;
    check_works();
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cuda"), &gpu), BF_OK);
    fill(BF_F32, on_host, N, KIND_FULL, 4);
    both a = both_of(BF_F32, N, 0);
    int n = take_memory(chunks);
    for (int i = 0; i < 3; i++) check_all_that_needs_memory(&a);
    check_reduce(BF_SUM, &a, NULL);
    check_state_goes_on(&a);
    while (n > 0) assert_int_equal(cudaFree(chunks[--n]), cudaSuccess);
    check_works();
    bf_context_destroy(gpu);
    gpu = used;
    check_works();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_s_memory_is_not_the_cpu_s),
        cmocka_unit_test(a_queue_takes_what_the_gpu_can_reach),
        cmocka_unit_test(a_queue_s_failures_are_values),
        cmocka_unit_test(map_s_failures_are_reported_once),
        cmocka_unit_test(devices_that_are_not_there),
        cmocka_unit_test(memory_runs_out),
    };
    return RUN_ON_GPU(tests);
}
