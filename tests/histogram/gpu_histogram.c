/* Histograms on a GPU: every count and every sum of weights is the CPU's, to the bit, whatever the
 * dtype, bins, place and alignment of the data, waited for or enqueued. */
#include "tests/support/both.h"

#include <cuda_runtime_api.h>

enum { COUNTS = 2 * 10000000 + 4, SAMPLE = 100003 }; /* counts and edges of as many bins */

static int64_t *counts_on_device; /* COUNTS of them, as on the host */
static int64_t *counts;

static int get_counts(void **unused) {
    void *memory;
    if (set_up(unused) || bf_memory_allocate(gpu, COUNTS * sizeof *counts, &memory)) return -1;
    counts_on_device = memory;
    counts = malloc(COUNTS * sizeof *counts);
    return counts ? 0 : -1;
}

static int free_counts(void **unused) {
    bf_memory_free(gpu, counts_on_device);
    free(counts);
    return tear_down(unused);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bf_histogram *histogram_on(bf_context *context, bf_dtype dtype,
                                  const bf_histogram_options *options) {
    bf_histogram *h = NULL;
    bf_status status = bf_histogram_create(context, dtype, options, &h);
    if (status != BF_OK) assert_int_equal(status, BF_E_ARGUMENT); /* no such bins: see test_bins */
    return h;
}

static void *save(const bf_histogram *h, size_t *size) {
    *size = bf_histogram_save_size(h);
    void *saved = malloc(*size);
    assert_non_null(saved);
    bf_histogram_save(h, saved);
    return saved;
}

static int64_t first_difference(const bf_histogram *a, const bf_histogram *b, int64_t bins) {
    const int64_t *x = bf_histogram_counts(a), *y = bf_histogram_counts(b);
    int64_t i = 0;
    while (i < bins && x[i] == y[i]) i++;
    return i;
}

static void assert_same(const bf_histogram *found, const bf_histogram *expected) {
    size_t size[2];
    bf_histogram_info info = {.size = sizeof info};
    void *a = save(found, &size[0]), *b = save(expected, &size[1]);
    bf_histogram_describe(expected, &info);
    if (size[0] != size[1] || memcmp(a, b, size[0]))
        fail_msg("%s, %lld elements, %lld bins: differs from bin %lld on",
                 bf_dtype_name(info.dtype), (long long)info.count, (long long)info.bins,
                 (long long)first_difference(found, expected, info.bins));
    free(a);
    free(b);
}

/* What is in `counts` is what the histogram has. */
static void assert_counts(const bf_histogram *expected, const char *how) {
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram_describe(expected, &info);
    const int64_t *of_bins = bf_histogram_counts(expected);
    const int64_t others[] = {info.below, info.above, info.nan};
    for (int64_t i = 0; i < info.bins + 3; i++) {
        int64_t right = i < info.bins ? of_bins[i] : others[i - info.bins];
        if (counts[i] != right)
            fail_msg("%s: %s, %lld elements, %lld bins: count %lld is %lld, not %lld", how,
                     bf_dtype_name(info.dtype), (long long)info.count, (long long)info.bins,
                     (long long)i, (long long)counts[i], (long long)right);
    }
}

/* Enqueues the counts, and behind them the edges. */
static void enqueue(bf_histogram *h, const bf_array *array, int64_t bins) {
    double *edges = (double *)(counts_on_device + bins + 3);
    assert_int_equal(bf_histogram_async(h, array, counts_on_device), BF_OK);
    assert_int_equal(bf_histogram_edges_async(h, edges), BF_OK);
}

static void assert_enqueued(const bf_histogram *expected, int64_t bins, const char *how) {
    const size_t bytes = (size_t)(2 * bins + 4) * sizeof *counts;
    assert_int_equal(bf_memory_copy(gpu, counts, counts_on_device, bytes), BF_OK);
    assert_counts(expected, how);
    assert_memory_equal(counts + bins + 3, bf_histogram_edges(expected),
                        (size_t)(bins + 1) * sizeof(double));
}

static void check_async(bf_histogram *h, const bf_array *array, int64_t bins,
                        const bf_histogram *expected) {
    if ((uintptr_t)array->data % bf_dtype_size(array->dtype) != 0) return;
    enqueue(h, array, bins);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_enqueued(expected, bins, "async");
}

/* Counts the same on both, twice on the GPU. */
static void check(const both *b, const bf_histogram_options *options) {
    bf_histogram *expected = histogram_on(cpu, b->host.dtype, options);
    bf_histogram *found = histogram_on(gpu, b->host.dtype, options);
    assert_int_equal(expected == NULL, found == NULL);
    if (!found) return;
    assert_int_equal(bf_histogram_absorb(expected, &b->host, NULL), BF_OK);
    assert_int_equal(bf_histogram_absorb(found, &b->device, NULL), BF_OK);
    assert_same(found, expected);
    check_async(found, &b->device, options->bins, expected);
    assert_int_equal(bf_histogram_absorb(expected, &b->host, NULL), BF_OK);
    assert_int_equal(bf_histogram_absorb(found, &b->device, NULL), BF_OK);
    assert_same(found, expected);
    bf_histogram_destroy(expected);
    bf_histogram_destroy(found);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* The element nearest to x, and `steps` further. */
static uint64_t bits_near(bf_dtype dtype, double x, int steps) {
    float f = (float)x;
    uint64_t bits;
    uint32_t low;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&low, &f, sizeof low);
    if (!is_float(dtype)) bits = (uint64_t)(int64_t)(x > -9e18 && x < 9e18 ? x : 0);
    if (dtype == BF_F32) bits = low;
    if (dtype == BF_BF16) bits = low >> 16;
    return bits + (uint64_t)(int64_t)steps;
}

/* Every other element stands on an edge of even bins, or next to it. */
static void put_on_edges(bf_dtype dtype, void *data, int64_t n, double lo, double hi, int64_t bins,
                         uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n && dtype != BF_F16; i += 2) {
        int64_t k = (int64_t)(next_random(&seed) % (uint64_t)(bins + 1));
        double edge = lo + (hi - lo) * ((double)k / (double)bins);
        int steps = (int)(next_random(&seed) % 3) - 1;
        store_bits((char *)data + (size_t)i * bytes, bytes, bits_near(dtype, edge, steps));
    }
}

static const struct {
    double lo, hi;
} ranges[] = {{0, 1},      {-1, 1},      {0, 256},    {-7.3, 100},
              {-128, 128}, {1000, 1001}, {-3e4, 3e4}, {0, 1e9}};
enum { RANGES = sizeof ranges / sizeof *ranges };

/* Bins over a range, of data that crowd around it. */
static void check_even(bf_dtype dtype, int64_t n, int offset, int64_t bins, int range, int kind) {
    uint64_t seed = (uint64_t)(n * 31 + bins * 7 + range * 3 + kind);
    double lo = ranges[range].lo, hi = ranges[range].hi;
    bf_histogram_options options =
        BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .lo = lo, .hi = hi);
    fill(dtype, on_host + offset, n, (data_kind)kind, seed);
    put_on_edges(dtype, on_host + offset, n, lo, hi, bins, seed);
    sprinkle(dtype, on_host + offset, n, 17, seed);
    both b = both_of(dtype, n, offset);
    check(&b, &options);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void every_dtype_and_size(void **unused) {
    (void)unused;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int s = 0; s < HARD_SIZES; s++)
            check_even(all_dtypes[d], hard_sizes[s], 0, 100, s % RANGES, s % KIND_COUNT);
}

/* Also numbers of rows about those at which kernels and launches change. */
static void every_number_of_bins(void **unused) {
    (void)unused;
    static const int64_t bins[] = {1,      2,      10,     255,    256,     257,    4092,  4093,
                                   4094,   4095,   28000,  57000,  60000,   65535,  65536, 65537,
                                   116000, 174000, 340000, 400000, 4194303, 4194304};
    for (int d = 0; d < DTYPE_COUNT; d++) {
        int most = is_small() ? 10 : (int)(sizeof bins / sizeof *bins);
        if (most > 10 && all_dtypes[d] != BF_F32) most -= 2; /* far more make the CPU slow */
        for (int i = 0; i < most; i++)
            check_even(all_dtypes[d], is_small() ? 999 : SAMPLE, 0, bins[i], i % RANGES, i % 2);
    }
}

static void ten_million_bins(void **unused) {
    (void)unused;
    leave_out_if_small();
    check_even(BF_F64, SAMPLE, 0, 10000000, 0, KIND_NARROW);
    check_even(BF_U8, SAMPLE, 0, 10000000, 2, KIND_FULL);
}

static void every_misalignment(void **unused) {
    (void)unused;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int offset = 0; offset < 17; offset += is_small() ? 5 : 1)
            for (int64_t n = 1; n < 70; n += is_small() ? 32 : 3)
                check_even(all_dtypes[d], n + (offset % 3) * 4096, offset, 64, 3, KIND_NARROW);
}

static void nothing_at_all(void **unused) {
    (void)unused;
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = 7, .range = 1, .hi = 1);
    for (int d = 0; d < DTYPE_COUNT; d++) {
        both b = both_of(all_dtypes[d], 0, 0);
        check(&b, &options);
    }
}

/* All in one bin, all in none, half of them the same. */
static void one_value(void **unused) {
    (void)unused;
    static const int64_t bins[] = {100, 65536, 400000};
    int64_t n = is_small() ? 5000 : MOST;
    for (int i = 0; i < 9; i += is_small() ? 2 : 1) {
        bf_dtype dtype = (bf_dtype[]){BF_F32, BF_F64, BF_U8}[i / 3];
        bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = bins[i % 3], .range = 1);
        options.hi = 100;
        size_t bytes = bf_dtype_size(dtype);
        static const double values[] = {50.01, 100, 0, -1, 1e9};
        for (int v = 0; v < 5; v++) {
            if (v > 2) fill(dtype, on_host, n, KIND_NARROW, (uint64_t)v);
            for (int64_t k = 0; k<n; k += v> 2 ? 2 : 1)
                store_bits(on_host + (size_t)k * bytes, bytes, bits_near(dtype, values[v], 0));
            both b = both_of(dtype, n, 0);
            check(&b, &options);
        }
    }
}

static double *random_edges(int64_t bins, uint64_t seed) {
    double *edges = malloc((size_t)(bins + 1) * sizeof *edges), at = -100;
    assert_non_null(edges);
    for (int64_t i = 0; i <= bins; i++) {
        edges[i] = at;
        at += ldexp(1 + (double)(next_random(&seed) >> 11), -53 - (int)(seed % 12)) * 200;
    }
    return edges;
}

static void edges_of_any_spacing(void **unused) {
    (void)unused;
    static const int64_t bins[] = {1, 2, 3, 255, 4094, 4095, 4096, 70000, 400000};
    int most = is_small() ? 7 : (int)(sizeof bins / sizeof *bins);
    int64_t n = is_small() ? 999 : SAMPLE;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int i = 0; i < most; i++) {
            uint64_t seed = (uint64_t)(100 * d + i);
            double *edges = random_edges(bins[i], seed);
            bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = bins[i], .edges = edges);
            size_t bytes = bf_dtype_size(all_dtypes[d]);
            fill(all_dtypes[d], on_host, n, KIND_NARROW, seed);
            for (int64_t k = 0; k < n && all_dtypes[d] != BF_F16; k += 2) {
                double edge = edges[next_random(&seed) % (uint64_t)(bins[i] + 1)];
                store_bits(on_host + (size_t)k * bytes, bytes,
                           bits_near(all_dtypes[d], edge, (int)(seed % 3) - 1));
            }
            sprinkle(all_dtypes[d], on_host, n, 17, seed);
            both b = both_of(all_dtypes[d], n, 0);
            check(&b, &options);
            free(edges);
        }
    }
}

/* Counts the same on both, twice, with weights. */
static void check_weighted(const both *x, const both *w, const bf_histogram_options *options,
                           bool in_place) {
    bf_histogram *expected = histogram_on(cpu, x->host.dtype, options);
    bf_histogram *found = histogram_on(gpu, x->host.dtype, options);
    assert_non_null(expected);
    assert_non_null(found);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bf_histogram_absorb(expected, &x->host, &w->host), BF_OK);
        assert_int_equal(bf_histogram_absorb(found, in_place ? &x->device : &x->host,
                                             in_place ? &w->device : &w->host),
                         BF_OK);
    }
    assert_same(found, expected);
    bf_histogram_destroy(expected);
    bf_histogram_destroy(found);
}

/* Weights lie behind the elements. */
static void check_weights(bf_dtype dtype, bf_dtype of_weights, int64_t n, int64_t bins, int kind,
                          bool in_place) {
    uint64_t seed = (uint64_t)(n + 3 * kind);
    bf_histogram_options options =
        BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .lo = -7.3, .hi = 100);
    options.weights = of_weights;
    fill(dtype, on_host, n, KIND_NARROW, seed);
    put_on_edges(dtype, on_host, n, -7.3, 100, bins, seed);
    fill(of_weights, on_host + SECOND, n, (data_kind)kind, seed + 1);
    sprinkle(of_weights, on_host + SECOND, n, 1000, seed);
    both x = both_of(dtype, n, 0), w = both_of(of_weights, n, SECOND);
    check_weighted(&x, &w, &options, in_place);
}

/* Integers that doubles do not tell apart, around edges that are such. */
static void edges_that_are_integers(void **unused) {
    (void)unused;
    static const int64_t bins[] = {1, 2, 3, 253, 254, 4094, 4095, 4096, 70000, 400000};
    static const bf_dtype dtypes[] = {BF_I64, BF_U64, BF_I32};
    int most = is_small() ? 8 : (int)(sizeof bins / sizeof *bins);
    int64_t n = is_small() ? 999 : SAMPLE;
    uint64_t *edges = malloc(400001 * sizeof *edges), seed = 5;
    assert_non_null(edges);
    for (int i = 0; i < 6 * most; i++) {
        const bf_dtype dtype = dtypes[i % 3];
        bf_histogram_options options =
            BF_HISTOGRAM_OPTIONS(.bins = bins[i / 6], .integers = edges,
                                 .integers_dtype = i % 2 ? BF_U64 : BF_I64);
        const uint64_t gap = i % 5 ? 1 + seed % 50 : ((uint64_t)1 << 62) / (uint64_t)options.bins;
        edges[0] = i % 2 ? ((uint64_t)1 << 63) - 99 : (uint64_t)INT64_MIN + seed % 9;
        for (int64_t k = 0; k < options.bins; k++)
            edges[k + 1] = edges[k] + 1 + next_random(&seed) % gap;
        for (int64_t k = 0; k < n; k++) {
            const uint64_t edge = edges[next_random(&seed) % (uint64_t)(options.bins + 1)];
            store_bits(on_host + (size_t)k * bf_dtype_size(dtype), bf_dtype_size(dtype),
                       edge + next_random(&seed) % 5 - 2);
        }
        both x = both_of(dtype, n, 0);
        check(&x, &options);
        options.weights = BF_F32;
        fill(BF_F32, on_host + SECOND, n, KIND_NARROW, seed);
        both w = both_of(BF_F32, n, SECOND);
        check_weighted(&x, &w, &options, i % 4 < 2);
    }
    free(edges);
}

static void weights_are_exact(void **unused) {
    (void)unused;
    int64_t n = is_small() ? 500 : 20011;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int kind = 0; kind < KIND_COUNT; kind++)
            check_weights(all_dtypes[(d + kind) % DTYPE_COUNT], all_dtypes[d], n, 1 + 30 * kind,
                          kind, kind % 2);
}

/* More than the library stages at a time. */
static void data_on_the_host(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_U8, BF_F32, BF_F64};
    leave_out_if_small();
    for (int i = 0; i < 6; i++) {
        bf_dtype dtype = dtypes[i % 3];
        int64_t n = ((1 << 26) + 4321) / (int64_t)bf_dtype_size(dtype);
        bf_histogram_options options =
            BF_HISTOGRAM_OPTIONS(.bins = i < 3 ? 50 : 70000, .range = 1, .hi = 3);
        fill(dtype, on_host + i, n, KIND_NARROW, (uint64_t)i);
        bf_array a = bf_array_of(dtype, on_host + i, n);
        bf_histogram *expected = histogram_on(cpu, dtype, &options);
        bf_histogram *found = histogram_on(gpu, dtype, &options);
        assert_int_equal(bf_histogram_absorb(expected, &a, NULL), BF_OK);
        assert_int_equal(bf_histogram_absorb(found, &a, NULL), BF_OK);
        assert_same(found, expected);
        bf_histogram_destroy(expected);
        bf_histogram_destroy(found);
    }
}

/* A graph counts what is there when it is launched, beside calls of another context, and while
 * histograms come and go. */
static void graphs_replay(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_U8, BF_F32, BF_I32};
    static const int64_t bins[] = {100, 9000};
    cudaStream_t stream;
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 6; i++) {
        bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = bins[i / 3], .range = 1);
        options.hi = 100;
        bf_histogram *h = histogram_on(gpu, dtypes[i % 3], &options);
        both b = both_of(dtypes[i % 3], SAMPLE, 0);
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        assert_int_equal(bf_context_set_stream(gpu, stream), BF_OK);
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        enqueue(h, &b.device, options.bins);
        bf_histogram_destroy(h); /* the graph has what it needs */
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaGraphInstantiate(&ready, graph, 0));
        assert_int_equal(bf_context_set_stream(gpu, NULL), BF_OK);
        for (int k = 0; k < 3; k++) {
            check_even(dtypes[i % 3], SAMPLE, 0, 77 + k, 3, k); /* leaves new data */
            bf_histogram *expected = histogram_on(cpu, dtypes[i % 3], &options);
            assert_int_equal(bf_histogram_absorb(expected, &b.host, NULL), BF_OK);
            assert_cuda(cudaGraphLaunch(ready, stream));
            assert_cuda(cudaStreamSynchronize(stream));
            assert_enqueued(expected, options.bins, "graph");
            bf_histogram_destroy(expected);
        }
        assert_cuda(cudaGraphExecDestroy(ready));
        assert_cuda(cudaGraphDestroy(graph));
    }
    assert_cuda(cudaStreamDestroy(stream));
}

/* Two contexts, whose calls overlap. */
static void contexts_do_not_meet(void **unused) {
    (void)unused;
    enum { CALLS = 20, ROWS = 103 };
    bf_context *other;
    bf_histogram_options options = BF_HISTOGRAM_OPTIONS(.bins = ROWS - 3, .range = 1, .hi = 100);
    fill(BF_F32, on_host, SAMPLE, KIND_NARROW, 1);
    both b = both_of(BF_F32, SAMPLE, 0);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cuda"), &other), BF_OK);
    bf_histogram *expected = histogram_on(cpu, BF_F32, &options);
    bf_histogram *of[] = {histogram_on(gpu, BF_F32, &options),
                          histogram_on(other, BF_F32, &options)};
    assert_int_equal(bf_histogram_absorb(expected, &b.host, NULL), BF_OK);
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(bf_histogram_async(of[i % 2], &b.device, counts_on_device + i * ROWS),
                         BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_context_synchronize(other), BF_OK);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(
            bf_memory_copy(gpu, counts, counts_on_device + i * ROWS, ROWS * sizeof *counts), BF_OK);
        assert_counts(expected, "two contexts");
    }
    for (int i = 0; i < 2; i++) bf_histogram_destroy(of[i]);
    bf_histogram_destroy(expected);
    bf_context_destroy(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_and_size), cmocka_unit_test(every_number_of_bins),
        cmocka_unit_test(ten_million_bins),     cmocka_unit_test(every_misalignment),
        cmocka_unit_test(nothing_at_all),       cmocka_unit_test(one_value),
        cmocka_unit_test(edges_of_any_spacing), cmocka_unit_test(edges_that_are_integers),
        cmocka_unit_test(weights_are_exact),    cmocka_unit_test(data_on_the_host),
        cmocka_unit_test(graphs_replay),        cmocka_unit_test(contexts_do_not_meet),
    };
    return RUN_ON_GPU_WITH(tests, get_counts, free_counts);
}
