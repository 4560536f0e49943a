/* Where and how an array lies does not show in the bits of its reductions on a GPU: any alignment,
 * any kind of memory, any strides. */
#include "tests/support/both.h"

#include <cuda_runtime_api.h>

static bf_status call(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                      bf_value *value) {
    return op == BF_DOT ? bf_dot(context, a, b, NULL, value)
                        : bf_reduce(context, op, a, NULL, value);
}

/* One operation on arrays that the host sees as a and b, and the GPU as x and y. */
static void check_call(bf_reduction op, const both *a, const both *b) {
    bf_value expected = {.dtype = BF_NONE}, found = {.dtype = BF_NONE};
    bf_status status = call(cpu, op, &a->host, &b->host, &expected);
    assert_int_equal(call(gpu, op, &a->device, &b->device, &found), status);
    if (status != BF_OK) found = expected = (bf_value){.dtype = BF_NONE};
    assert_same_value(bf_context_message(gpu), op, a, &found, &expected);
}

static void check_every_op(const both *a, const both *b) {
    for (int op = BF_SUM; op <= BF_PROD; op++) check_call((bf_reduction)op, a, b);
}

/* --- alignment --- */

static void every_byte_offset(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 5, 70, 5003};
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int offset = 0; offset <= 16; offset += is_small() ? 5 : 1)
            for (int s = 0; s < 4; s++) {
                bf_dtype t = all_dtypes[d];
                fill(t, on_host + offset, sizes[s], KIND_CANCEL, next_random(&seed));
                both a = both_of(t, sizes[s], offset);
                for (int op = BF_SUM; op <= BF_PROD; op++)
                    if (op != BF_DOT) check_reduce((bf_reduction)op, &a, NULL);
            }
}

static void dot_of_every_pair_of_offsets(void **unused) {
    (void)unused;
    uint64_t seed = 2;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int i = 0; i <= 16; i += is_small() ? 7 : 1)
            for (int k = 0; k <= 16; k += is_small() ? 3 : 1) {
                bf_dtype t = all_dtypes[d];
                int64_t n = 1 + (int64_t)(next_random(&seed) % 3000);
                fill(t, on_host + i, n, KIND_FULL, next_random(&seed));
                fill(t, on_host + SECOND + k, n, KIND_CANCEL, next_random(&seed));
                both a = both_of(t, n, i), b = both_of(t, n, SECOND + k);
                check_call(BF_DOT, &a, &b);
            }
}

/* --- kinds of memory --- */

typedef enum place { HOST, PINNED, MANAGED, DEVICE, PLACES } place;

static char *memory[PLACES][2];
static const size_t room = 8 * 70001 + 64;

static int get_memory(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        memory[HOST][i] = malloc(room);
        memory[DEVICE][i] = on_device + i * SECOND;
        if (memory[HOST][i] == NULL || cudaMallocHost((void **)&memory[PINNED][i], room) ||
            cudaMallocManaged((void **)&memory[MANAGED][i], room, cudaMemAttachGlobal))
            return -1;
    }
    return 0;
}

static int free_memory(void **unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        free(memory[HOST][i]);
        cudaFreeHost(memory[PINNED][i]);
        cudaFree(memory[MANAGED][i]);
    }
    return 0;
}

/* Array number i, which the GPU gets at that place. */
static both placed(bf_dtype dtype, int64_t n, int i, place at, int offset) {
    both b = {bf_array_of(dtype, on_host + i * SECOND, n),
              bf_array_of(dtype, memory[at][i] + offset, n)};
    size_t bytes = (size_t)n * bf_dtype_size(dtype);
    assert_int_equal(bf_memory_copy(gpu, b.device.data, b.host.data, bytes), BF_OK);
    return b;
}

static void every_kind_of_memory(void **unused) {
    (void)unused;
    uint64_t seed = 3;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int at = 0; at < PLACES * PLACES; at++) {
            bf_dtype t = all_dtypes[d];
            int64_t n = is_small() ? 2001 : 70001;
            fill(t, on_host, n, (data_kind)(at % KIND_COUNT), next_random(&seed));
            fill(t, on_host + SECOND, n, KIND_FULL, next_random(&seed));
            both a = placed(t, n, 0, (place)(at % PLACES), 0);
            both b = placed(t, n, 1, (place)(at / PLACES), at % 3 * (int)bf_dtype_size(t));
            check_every_op(&a, &b);
            if (at % PLACES != HOST)
                for (int op = BF_SUM; op <= BF_PROD; op++)
                    if (op != BF_DOT) check_reduce((bf_reduction)op, &a, NULL);
        }
}

/* A value may go wherever the GPU can write. */
static void values_in_every_kind_of_memory(void **unused) {
    (void)unused;
    fill(BF_F32, on_host, 1000, KIND_FULL, 4);
    both a = both_of(BF_F32, 1000, 0);
    bf_value expected = {.dtype = BF_NONE}, found;
    assert_int_equal(bf_reduce(cpu, BF_VAR, &a.host, NULL, &expected), BF_OK);
    for (int at = PINNED; at < PLACES; at++) {
        bf_value *value = (bf_value *)(void *)memory[at][0];
        if (at == DEVICE) value = values_on_device;
        assert_int_equal(bf_reduce_async(gpu, BF_VAR, &a.device, NULL, value), BF_OK);
        assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        assert_int_equal(bf_memory_copy(gpu, &found, value, sizeof found), BF_OK);
        assert_same_value("reduce_async", BF_VAR, &a, &found, &expected);
    }
}

/* More host memory than is staged at a time. */
static void host_arrays_in_pieces(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_U16};
    leave_out_if_small();
    bf_context *threads;
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu"), &threads), BF_OK);
    for (int d = 0; d < 3; d++) {
        int64_t n = ((int64_t)72 << 20) / (int64_t)bf_dtype_size(dtypes[d]) + 3;
        fill(dtypes[d], on_host, n, KIND_CANCEL, 5);
        bf_array x = bf_array_of(dtypes[d], on_host, n);
        for (int op = BF_SUM; op <= BF_PROD; op++) {
            bf_value expected = {.dtype = BF_NONE}, found = {.dtype = BF_NONE};
            bf_status status = call(threads, (bf_reduction)op, &x, &x, &expected);
            assert_int_equal(call(gpu, (bf_reduction)op, &x, &x, &found), status);
            if (status == BF_OK) assert_memory_equal(&found, &expected, sizeof found);
        }
    }
    bf_context_destroy(threads);
}

/* --- strides --- */

typedef struct layout {
    int ndim;
    int64_t shape[4], strides[4];
    int64_t first; /* the element at index 0 */
} layout;

static const layout layouts[] = {
    {1, {1001}, {3}, 1},                   /* every third */
    {1, {1001}, {-1}, 1000},               /* from the end */
    {1, {300}, {0}, 7},                    /* one element again and again */
    {2, {31, 33}, {1, 31}, 0},             /* Fortran's order */
    {2, {33, 31}, {40, 1}, 3},             /* rows of a wider matrix */
    {3, {7, 11, 13}, {1, 7, 77}, 0},       /* Fortran's order */
    {3, {7, 11, 13}, {-143, 13, -1}, 870}, /* two axes from the end */
    {3, {5, 3, 17}, {17, 0, 1}, 2},        /* broadcast */
    {4, {3, 5, 7, 9}, {1, 3, 150, 20}, 5}, /* no order at all */
    {2, {2, 3000}, {1, 2}, 0},             /* pairs, apart */
    {0, {0}, {0}, 9},                      /* one element without dimensions */
};
#define LAYOUTS ((int)(sizeof layouts / sizeof *layouts))

static bf_array strided(bf_dtype dtype, char *data, const layout *l) {
    bf_array a = {data + l->first * (int64_t)bf_dtype_size(dtype), dtype, l->ndim, {0}, {0}};
    for (int i = 0; i < l->ndim; i++) {
        a.shape[i] = l->shape[i];
        a.strides[i] = l->strides[i];
    }
    return a;
}

/* The second array has the first's shape, but is contiguous. */
static both follower(bf_dtype dtype, const bf_array *a) {
    both b = {*a, *a};
    int64_t stride = 1;
    for (int i = a->ndim - 1; i >= 0; i--) {
        b.host.strides[i] = b.device.strides[i] = stride;
        stride *= a->shape[i];
    }
    b.host.data = on_host + SECOND;
    b.device.data = on_device + SECOND;
    b.host.dtype = b.device.dtype = dtype;
    return b;
}

static void every_layout(void **unused) {
    (void)unused;
    uint64_t seed = 6;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int i = 0; i < LAYOUTS; i++)
            for (int offset = 0; offset < 2; offset++) {
                bf_dtype t = all_dtypes[d];
                fill(t, on_host + offset, 9000, KIND_CANCEL, next_random(&seed));
                fill(t, on_host + SECOND, 9000, KIND_FULL, next_random(&seed));
                both_of(t, 9001, offset);
                both_of(t, 9000, SECOND);
                both a = {strided(t, on_host + offset, &layouts[i]),
                          strided(t, on_device + offset, &layouts[i])};
                both b = follower(t, &a.host);
                check_every_op(&a, &b);
                check_call(BF_DOT, &b, &a);
            }
}

/* Half of 2^25 pairs: more than is gathered at a time. */
static void a_large_strided_array(void **unused) {
    (void)unused;
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_PROD, BF_ARGMAX, BF_ARGMIN};
    const layout every_second = {1, {(1 << 24) + 5}, {2}, 1};
    leave_out_if_small();
    fill(BF_F32, on_host, (1 << 25) + 11, KIND_NARROW, 7);
    both_of(BF_F32, (1 << 25) + 11, 0);
    both a = {strided(BF_F32, on_host, &every_second), strided(BF_F32, on_device, &every_second)};
    for (int i = 0; i < 5; i++) check_call(ops[i], &a, &a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_offset),
        cmocka_unit_test(dot_of_every_pair_of_offsets),
        cmocka_unit_test_setup_teardown(every_kind_of_memory, get_memory, free_memory),
        cmocka_unit_test_setup_teardown(values_in_every_kind_of_memory, get_memory, free_memory),
        cmocka_unit_test(host_arrays_in_pieces),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(a_large_strided_array),
    };
    return RUN_ON_GPU(tests);
}
