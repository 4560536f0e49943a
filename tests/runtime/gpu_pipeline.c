/* Arrays that a GPU cannot reach where they are give the CPU's bits: from pageable, misaligned and
 * strided memory of the host, and misaligned memory of the GPU, in one piece and in several, copied
 * by the driver and through pinned memory. */
#include "tests/support/both.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

/* The f32 elements of a slot, if one operand is copied. */
enum { SLOT = 511 * 4096, MOST_ELEMENTS = 7 * SLOT / 2 };

/* The bytes of outputs that are compared, and all that there are. */
enum { LEAST_ROOM = 1 << 24, OUT_ROOM = 2 * (8 * MOST_ELEMENTS + LEAST_ROOM) };

static const int64_t sizes[] = {0, 1, 70001, SLOT - 1, SLOT, SLOT + 1, MOST_ELEMENTS};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* One thread never pins memory: the driver copies. */
static bf_context *driven, *pinned, *host;
static char *expected, *found; /* outputs, OUT_ROOM bytes each */

/* Enough to pin memory. */
static void pin_memory(bf_context *context) {
    const bf_array a = bf_array_of(BF_F32, on_host, 2 * SECOND / 4);
    bf_value value;
    assert_int_equal(bf_reduce(context, BF_MAX, &a, NULL, &value), BF_OK);
}

static int open_contexts(void **unused) {
    if (set_up(unused) || bf_context_create(&BF_OPTIONS(.device = "cpu"), &host) ||
        bf_context_create(&BF_OPTIONS(.device = "cuda", .threads = 1), &driven) ||
        bf_context_create(&BF_OPTIONS(.device = "cuda", .threads = 4), &pinned))
        return -1;
    expected = malloc(OUT_ROOM);
    found = malloc(OUT_ROOM);
    if (expected == NULL || found == NULL) return -1;
    fill(BF_F32, on_host, ROOM / 4, KIND_FULL, 1);
    pin_memory(pinned);
    return bf_memory_copy(gpu, on_device, on_host, ROOM) != BF_OK;
}

static int close_contexts(void **unused) {
    free(expected);
    free(found);
    bf_context_destroy(pinned);
    bf_context_destroy(driven);
    bf_context_destroy(host);
    return tear_down(unused);
}

/* --- layouts --- */

typedef enum layout { PLAIN, ODD, EVERY_OTHER, BACKWARDS, ODD_ON_GPU, LAYOUTS } layout;

static const char *const names[] = {"plain", "odd", "every other", "backwards", "odd on the GPU"};

static bf_array array_in(char *memory, bf_dtype dtype, int64_t n, layout l) {
    bf_array a = bf_array_of(dtype, memory, n);
    if (l == ODD || l == ODD_ON_GPU) a.data = memory + 3;
    if (l == EVERY_OTHER) a.strides[0] = 2;
    if (l == BACKWARDS && n > 0) {
        a.data = memory + (n - 1) * (int64_t)bf_dtype_size(dtype);
        a.strides[0] = -1;
    }
    return a;
}

/* Input number `which` of a context: the same bytes for all of them. */
static bf_array input_of(const bf_context *context, int which, bf_dtype dtype, int64_t n,
                         layout l) {
    char *memory = context != host && l == ODD_ON_GPU ? on_device : on_host;
    return array_in(memory + which * SECOND, dtype, n, l);
}

/* --- the same call on the CPU and the GPU --- */

/* Writes its results to `out`: up to 16 bytes an element, and LEAST_ROOM. */
typedef bf_status work(bf_context *context, int64_t n, layout l, char *out);

static void check_work(const char *name, work *run, bf_context *context, int64_t n, layout l) {
    const size_t room = (size_t)n * 16 + LEAST_ROOM;
    memset(expected, 7, room);
    memset(found, 7, room);
    const bf_status status = run(host, n, l, expected);
    if (run(context, n, l, found) != status)
        fail_msg("%s, n %lld, %s: %s", name, (long long)n, names[l], bf_context_message(context));
    if (status != BF_OK)
        assert_string_equal(bf_context_message(context), bf_context_message(host));
    else if (memcmp(found, expected, room))
        fail_msg("%s, n %lld, %s: the bits differ", name, (long long)n, names[l]);
}

static void check_everywhere(const char *name, work *run, int64_t divisor) {
    for (int s = 0; s < (is_small() ? 3 : SIZES); s++) {
        const bool is_edge = sizes[s] == SLOT - 1 || sizes[s] == SLOT + 1;
        for (int l = 0; l < (is_edge ? EVERY_OTHER : LAYOUTS); l++)
            for (int c = 0; c < 2; c++)
                check_work(name, run, c ? pinned : driven, sizes[s] / divisor, (layout)l);
    }
}

static void put(char **out, const void *from, size_t bytes) {
    memcpy(*out, from, bytes);
    *out += bytes;
}

/* --- the primitives --- */

static bf_status reduce_all(bf_context *context, int64_t n, layout l, char *out) {
    static const bf_reduction ops[] = {BF_SUM, BF_ARGMAX, BF_PROD};
    const bf_array a = input_of(context, 0, BF_F32, n, l);
    bf_value v;
    for (int i = 0; i < 3; i++) {
        bf_status status = bf_reduce(context, ops[i], &a, NULL, &v);
        if (status != BF_OK) return status;
        put(&out, v.as.i192, sizeof v.as.i192);
    }
    return BF_OK;
}

static bf_status dot_f64(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array a = input_of(context, 0, BF_F64, n, l),
                   b = input_of(context, 1, BF_F64, n, PLAIN);
    bf_value v;
    bf_status status = bf_dot(context, &a, &b, NULL, &v);
    if (status == BF_OK) put(&out, v.as.i192, sizeof v.as.i192);
    return status;
}

static void reductions(void **unused) {
    (void)unused;
    check_everywhere("reductions", reduce_all, 1);
    check_everywhere("dot", dot_f64, 4);
}

static bf_status add_f32(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array a = input_of(context, 0, BF_F32, n, l), b = input_of(context, 1, BF_F32, n, ODD);
    const bf_array sum = array_in(out, BF_F32, n, l), *inputs[] = {&a, &b};
    return bf_map(context, BF_MAP_ADD, inputs, 2, NULL, &sum);
}

/* The single element may lie misaligned on the GPU. */
static bf_status scale_u8(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array a = input_of(context, 0, BF_U8, n, l), one = input_of(context, 1, BF_I32, 1, l);
    const bf_array product = array_in(out, BF_I64, n, PLAIN), *inputs[] = {&a, &one};
    bf_map_options options = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    return bf_map(context, BF_MAP_MUL, inputs, 2, &options, &product);
}

static bf_status negate_in_place(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array a = array_in(out, BF_F64, n, l), *inputs[] = {&a};
    memcpy(out, on_host, (size_t)n * 16);
    return bf_map(context, BF_MAP_NEG, inputs, 1, NULL, &a);
}

/* One element, well behind the first piece, does not fit. */
static bf_status overflow(bf_context *context, int64_t n, layout l, char *out) {
    int32_t *a = (int32_t *)(void *)(out + OUT_ROOM / 2), one = 1;
    for (int64_t i = 0; i < 2 * n; i++) a[i] = i / 2 * 3 >= n * 2 || n < 10 ? INT32_MAX : 5;
    const bf_array in = array_in((char *)a, BF_I32, n, l), b = bf_array_of(BF_I32, &one, 1);
    const bf_array sum = array_in(out, BF_I32, n, PLAIN), *inputs[] = {&in, &b};
    return bf_map(context, BF_MAP_ADD, inputs, 2, NULL, &sum);
}

static void maps(void **unused) {
    (void)unused;
    check_everywhere("add", add_f32, 2);
    check_everywhere("scale", scale_u8, 2);
    check_everywhere("in place", negate_in_place, 2);
    check_everywhere("overflow", overflow, 2);
}

static bf_status count_f32(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array a = input_of(context, 0, BF_F32, n, l), w = input_of(context, 1, BF_F64, n, l);
    bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 500, .range = 1, .lo = -2, .hi = 2, .weights = BF_F64);
    bf_histogram *h;
    bf_status status = bf_histogram_create(context, BF_F32, &o, &h);
    if (status != BF_OK) return status;
    status = bf_histogram_absorb(h, &a, &w);
    if (status == BF_OK) bf_histogram_save(h, out);
    bf_histogram_destroy(h);
    return status;
}

static bf_status count_u8(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array a = input_of(context, 0, BF_U8, n, l);
    return bf_bincount(context, &a, (int64_t *)(void *)out, 256, NULL);
}

static void histograms(void **unused) {
    (void)unused;
    check_everywhere("histogram", count_f32, 2);
    check_everywhere("bincount", count_u8, 1);
}

static bf_status draw(bf_context *context, int64_t n, layout l, char *out) {
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.iterations = 20;
    const int64_t columns = 1001, rows = p.height = n / columns;
    p.width = columns;
    if (rows == 0) return BF_OK;
    bf_array a = {out, BF_U16, 2, {rows, columns}, {columns, 1}};
    if (l == ODD || l == ODD_ON_GPU) a.data = out + 1;
    if (l == EVERY_OTHER) a.strides[0] = columns + 5;
    if (l == BACKWARDS) {
        a.strides[0] = 1;
        a.strides[1] = rows;
    }
    return bf_julia(context, &p, 0, 0, &a);
}

static void pictures(void **unused) {
    (void)unused;
    check_everywhere("picture", draw, 1);
}

static bf_status fill_table(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array keys = input_of(context, 0, BF_I64, n, l),
                   values = input_of(context, 1, BF_F32, n, l),
                   others = input_of(context, 0, BF_I64, n, PLAIN);
    const bf_array got = array_in(out, BF_F32, n, l == ODD_ON_GPU ? PLAIN : l),
                   is_there = array_in(out + 9 * n, BF_BOOL, n, PLAIN);
    bf_table *t;
    bf_table_options o = BF_TABLE_OPTIONS(.key = BF_I64, .value = BF_F32);
    bf_status status = bf_table_create(context, &o, &t);
    if (status != BF_OK) return status;
    status = bf_table_insert(t, &keys, &values);
    if (status == BF_OK) status = bf_table_find(t, &others, &got, &is_there);
    bf_table_destroy(t);
    return status;
}

static bf_status group_rows(bf_context *context, int64_t n, layout l, char *out) {
    const bf_array keys = input_of(context, 0, BF_U16, n, l),
                   values = input_of(context, 1, BF_F32, n, l), *columns[] = {&values};
    const bf_aggregate sum = {BF_SUM, BF_F32};
    bf_groups *g;
    size_t size = 0;
    bf_groups_options o = BF_GROUPS_OPTIONS(.key = BF_U16, .count = 1, .aggregates = &sum);
    bf_status status = bf_groups_create(context, &o, &g);
    if (status != BF_OK) return status;
    status = bf_groups_absorb(g, &keys, columns);
    if (status == BF_OK) status = bf_groups_save_size(g, &size);
    if (status == BF_OK && size <= OUT_ROOM) status = bf_groups_save(g, out);
    bf_groups_destroy(g);
    return status;
}

static void tables_and_groups(void **unused) {
    (void)unused;
    check_everywhere("table", fill_table, 8);
    check_everywhere("groups", group_rows, 4);
}

static void memory_is_copied(void **unused) {
    (void)unused;
    for (int s = 1; s < SIZES; s++) {
        for (int c = 0; c < 2; c++) {
            const size_t bytes = (size_t)sizes[s] * 4;
            bf_context *context = c ? pinned : driven;
            void *memory;
            memset(found, 7, OUT_ROOM);
            assert_int_equal(bf_memory_allocate(context, bytes, &memory), BF_OK);
            assert_int_equal(bf_memory_copy(context, memory, on_host + 1, bytes), BF_OK);
            assert_int_equal(bf_memory_copy(context, found + 5, memory, bytes), BF_OK);
            assert_memory_equal(found + 5, on_host + 1, bytes);
            assert_int_equal(found[bytes + 5], 7);
            bf_memory_free(context, memory);
        }
    }
}

/* --- order --- */

/* What a caller's stream did before is seen, and what is enqueued there sees the results. */
static void a_stream_of_the_caller(void **unused) {
    (void)unused;
    cudaStream_t stream;
    char *device;
    const int64_t n = is_small() ? 70001 : MOST_ELEMENTS;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    assert_cuda(cudaMalloc((void **)&device, (size_t)n * 4 + 4));
    for (int c = 0; c < 2; c++) {
        bf_context *context = c ? pinned : driven;
        const bf_array a = bf_array_of(BF_I32, on_host, n), b = bf_array_of(BF_I32, device, n);
        const bf_array out = bf_array_of(BF_I32, device + 1, n), *inputs[] = {&a, &b};
        bf_map_options wrap = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
        assert_int_equal(bf_context_set_stream(context, stream), BF_OK);
        for (int i = 0; i < 20; i++)
            assert_cuda(cudaMemsetAsync(device, i % 2 ? 1 : 9, (size_t)n * 4, stream));
        const bf_array sum = bf_array_of(BF_I32, found, n);
        assert_int_equal(bf_map(context, BF_MAP_ADD, inputs, 2, &wrap, &sum), BF_OK);
        inputs[1] = &sum;
        assert_int_equal(bf_map(context, BF_MAP_SUB, inputs, 2, &wrap, &out), BF_OK);
        assert_cuda(
            cudaMemcpyAsync(expected, device + 1, (size_t)n * 4, cudaMemcpyDefault, stream));
        assert_cuda(cudaStreamSynchronize(stream));
        for (int64_t i = 0; i < n; i++)
            if (((int32_t *)(void *)expected)[i] != -0x01010101) fail_msg("element %ld", (long)i);
        assert_int_equal(bf_context_set_stream(context, NULL), BF_OK);
    }
    assert_cuda(cudaFree(device));
    assert_cuda(cudaStreamDestroy(stream));
}

/* Two threads, each with a context. */
static void *sum_often(void *context) {
    bf_value *v = calloc(10, sizeof *v);
    const bf_array a = bf_array_of(BF_F32, on_host + 1, is_small() ? 70001 : MOST_ELEMENTS);
    bf_status status = v != NULL ? BF_OK : BF_E_MEMORY;
    for (int i = 0; i < 10 && status == BF_OK; i++)
        status = bf_reduce(context, BF_SUM, &a, NULL, &v[i]);
    if (status == BF_OK) return v;
    free(v);
    return NULL;
}

static void two_contexts_at_once(void **unused) {
    (void)unused;
    pthread_t threads[2];
    void *sums[2], *alone = sum_often(host);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sum_often, i ? pinned : driven), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], &sums[i]);
    assert_non_null(alone);
    for (int i = 0; i < 2; i++) {
        assert_non_null(sums[i]);
        assert_memory_equal(sums[i], alone, 10 * sizeof(bf_value));
        free(sums[i]);
    }
    free(alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(maps),
        cmocka_unit_test(histograms),
        cmocka_unit_test(pictures),
        cmocka_unit_test(tables_and_groups),
        cmocka_unit_test(memory_is_copied),
        cmocka_unit_test(a_stream_of_the_caller),
        cmocka_unit_test(two_contexts_at_once),
    };
    return RUN_ON_GPU_WITH(tests, open_contexts, close_contexts);
}
