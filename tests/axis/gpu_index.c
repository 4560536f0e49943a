/* Reductions by index on a GPU: the bits of the CPU's, whatever the dtype, the width of rows, the
 * slots that are hot, and the place of the arrays; on a stream and in a graph too. */
#include "tests/support/both.h"

#include <cuda_runtime_api.h>

#define assert_cuda(call) assert_string_equal(cudaGetErrorString(call), "no error")

/* How rows are spread over slots. */
typedef enum spread { EVEN, HOT, HALF_HOT, SORTED, POWER, SPREADS } spread;

typedef struct problem {
    bf_dtype dtype, index_dtype;
    int64_t rows, width, slots;
    spread spread;
    data_kind kind;
    int specials; /* one of so many elements; 0: none */
    int offset;   /* how far all arrays are shifted, in bytes */
    uint64_t seed;
} problem;

/* Where arrays lie, in both memories. */
enum { AT_A = 0, AT_B = ROOM / 4, AT_INDEX = ROOM / 2, AT_VALUES = ROOM / 4 * 3 };

static int64_t slot_of(const problem *p, int64_t row, uint64_t *seed) {
    uint64_t r = next_random(seed), any = (r >> 8) % (uint64_t)p->slots;
    switch (p->spread) {
    case HOT: return p->slots / 2;
    case HALF_HOT: return r & 1 ? p->slots - 1 : (int64_t)any;
    case SORTED: return row * p->slots / p->rows;
    case POWER: return (int64_t)(any >> (r & 7) >> (r >> 3 & 3));
    default: return (int64_t)any;
    }
}

static void fill_rows(const problem *p) {
    uint64_t seed = p->seed;
    size_t bytes = bf_dtype_size(p->index_dtype);
    int64_t n = p->rows * p->width;
    fill(p->dtype, on_host + AT_A + p->offset, n, p->kind, p->seed + 1);
    fill(p->dtype, on_host + AT_B + p->offset, n, p->kind, p->seed + 2);
    if (p->specials > 0) sprinkle(p->dtype, on_host + AT_A + p->offset, n, p->specials, p->seed);
    if (p->specials > 0)
        sprinkle(p->dtype, on_host + AT_B + p->offset, n, p->specials, p->seed + 3);
    for (int64_t i = 0; i < p->rows; i++)
        store_bits(on_host + AT_INDEX + p->offset + (size_t)i * bytes, bytes,
                   (uint64_t)slot_of(p, i, &seed));
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, ROOM), BF_OK);
}

/* The arrays of a call, in one memory. */
typedef struct arrays {
    bf_array a, b, index, values, fits;
} arrays;

static bf_array rows_at(char *data, bf_dtype dtype, int64_t rows, int64_t width) {
    bf_array a = bf_array_of(dtype, data, rows);
    if (width == 1) return a;
    a.ndim = 2;
    a.shape[1] = width;
    a.strides[0] = width;
    a.strides[1] = 1;
    return a;
}

static arrays arrays_in(const problem *p, char *memory, bf_dtype to) {
    arrays x;
    memory += p->offset;
    x.a = rows_at(memory + AT_A, p->dtype, p->rows, p->width);
    x.b = rows_at(memory + AT_B, p->dtype, p->rows, p->width);
    x.index = bf_array_of(p->index_dtype, memory + AT_INDEX, p->rows);
    x.values = rows_at(memory + AT_VALUES, to, p->slots, p->width);
    x.fits = rows_at(memory + AT_VALUES + ROOM / 8, BF_BOOL, p->slots, p->width);
    return x;
}

static bf_status call(bf_context *context, bf_reduction op, const arrays *x,
                      const bf_reduce_options *options, bool fits) {
    const bf_array *f = fits ? &x->fits : NULL;
    if (bf_reduction_arrays(op) == 2)
        return bf_reduce_pair_index(context, op, &x->a, &x->b, &x->index, options, &x->values, f);
    return bf_reduce_index(context, op, &x->a, &x->index, options, &x->values, f);
}

static void describe(const problem *p, bf_reduction op, const bf_reduce_options *o,
                     char text[400]) {
    snprintf(text, 400,
             "%s of %s: %lld rows of %lld, %lld slots (%s), spread %d, data %d, specials %d, "
             "offset %d, seed %llu, nan %d, out %s",
             bf_reduction_name(op), bf_dtype_name(p->dtype), (long long)p->rows,
             (long long)p->width, (long long)p->slots, bf_dtype_name(p->index_dtype),
             (int)p->spread, (int)p->kind, p->specials, p->offset, (unsigned long long)p->seed,
             (int)o->nan, bf_dtype_name(o->out_dtype));
}

/* Overwrites results on the device, so that what a call writes is seen. */
static void soil(const arrays *device, bf_dtype to, int64_t count) {
    size_t bytes = (size_t)count * bf_dtype_size(to);
    char *junk = malloc(bytes);
    memset(junk, 0x5a, bytes);
    assert_int_equal(bf_memory_copy(gpu, device->values.data, junk, bytes), BF_OK);
    free(junk);
}

/* Compares results on the device with those on the host. */
static void compare(const problem *p, bf_reduction op, const bf_reduce_options *o,
                    const arrays *host, const arrays *device, bf_dtype to, bool fits,
                    const char *how) {
    char text[400];
    int64_t count = p->slots * p->width;
    size_t bytes = (size_t)count * bf_dtype_size(to);
    char *found = malloc(bytes + (size_t)count);
    assert_int_equal(bf_memory_copy(gpu, found, device->values.data, bytes), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, found + bytes, device->fits.data, (size_t)count), BF_OK);
    for (int64_t i = 0; i < count; i++) {
        size_t each = bf_dtype_size(to);
        uint64_t x = load_bits(found + (size_t)i * each, each);
        uint64_t y = load_bits((char *)host->values.data + (size_t)i * each, each);
        bool same = x == y && (!fits || found[bytes + (size_t)i] == ((char *)host->fits.data)[i]);
        if (!same) describe(p, op, o, text);
        if (!same)
            fail_msg("%s, %s: result %lld is %llx, not %llx", how, text, (long long)i,
                     (unsigned long long)x, (unsigned long long)y);
    }
    free(found);
}

/* Checks the call on a stream, where nothing is refused. */
static void check_queued(const problem *p, bf_reduction op, const bf_reduce_options *o,
                         const arrays *host, const arrays *device, bf_dtype to) {
    int64_t wrong = 5, *place = (int64_t *)(void *)values_on_device;
    if (bf_reduction_arrays(op) == 2 || o->nan == BF_NAN_ERROR || p->offset % 8 != 0) return;
    soil(device, to, p->slots * p->width);
    assert_int_equal(bf_reduce_index_async(gpu, op, &device->a, &device->index, o, &device->values,
                                           &device->fits, place),
                     BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, &wrong, place, sizeof wrong), BF_OK);
    assert_int_equal(wrong, -1);
    compare(p, op, o, host, device, to, true, "on a stream");
}

/* Checks that a call on a stream fails later where one that waits does, for the same reason. */
static void check_later(const problem *p, bf_reduction op, bf_reduce_options o, const arrays *host,
                        const arrays *device, bf_dtype to) {
    if (bf_reduction_arrays(op) == 2) return;
    const bool cleared = (p->seed >> 7) % 2 == 0;
    if (cleared) o.empty = NULL;
    char text[400];
    describe(p, op, &o, text);
    const bf_status expected = call(cpu, op, host, &o, false);
    o.later = 1;
    soil(device, to, p->slots * p->width);
    assert_int_equal(
        bf_reduce_index_async(gpu, op, &device->a, &device->index, &o, &device->values, NULL, NULL),
        BF_OK);
    const bf_status status = bf_context_synchronize(gpu);
    if (status != expected)
        fail_msg("%s, later: status %d, not %d: %s", text, (int)status, (int)expected,
                 bf_context_message(gpu));
    if (status != BF_OK)
        assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
    else
        compare(p, op, &o, host, device, to, false, "later");
    assert_int_equal(bf_context_failure(gpu), BF_OK);
}

static void check_op(const problem *p, bf_reduction op, bf_nan_policy nan, bf_dtype out) {
    bf_value empty = {.dtype = BF_NONE};
    bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = nan, .out_dtype = out, .ddof = 1);
    bf_dtype to = bf_reduce_dtype(op, p->dtype, &o);
    bool extreme = op == BF_MIN || op == BF_MAX || op == BF_ARGMIN || op == BF_ARGMAX;
    char text[400];
    empty.dtype = to;
    empty.as.u64 = 77;
    if (extreme) o.empty = &empty;
    arrays host = arrays_in(p, on_host, to), device = arrays_in(p, on_device, to);
    bf_status expected = call(cpu, op, &host, &o, true);
    describe(p, op, &o, text);
    soil(&device, to, p->slots * p->width);
    bf_status status = call(gpu, op, &device, &o, true);
    if (status != expected)
        fail_msg("%s: status %d, not %d: %s", text, (int)status, (int)expected,
                 bf_context_message(gpu));
    if (status == BF_OK) compare(p, op, &o, &host, &device, to, true, "waiting");
    if (status == BF_OK) check_queued(p, op, &o, &host, &device, to);
    check_later(p, op, o, &host, &device, to);
}

static const bf_reduction ops[] = {BF_SUM,    BF_MEAN, BF_VAR,  BF_STD,  BF_SUMSQ,
                                   BF_NORM,   BF_MIN,  BF_MAX,  BF_DOT,  BF_ARGMIN,
                                   BF_ARGMAX, BF_PROD, BF_CORR, BF_WVAR, BF_KURTOSIS};
enum { OPS = sizeof ops / sizeof *ops };

static void check_all_ops(const problem *p) {
    fill_rows(p);
    for (int i = 0; i < OPS; i++) {
        bf_nan_policy nan = (bf_nan_policy)((p->seed + (uint64_t)i) % 3);
        bool sized = (p->seed >> 4) % 3 == 0 && (is_float(p->dtype) || ops[i] != BF_PROD);
        bool extreme =
            ops[i] == BF_MIN || ops[i] == BF_MAX || ops[i] == BF_ARGMIN || ops[i] == BF_ARGMAX;
        bf_dtype out = !sized || extreme ? BF_NONE : (p->seed >> 5) % 2 ? BF_F32 : BF_F64;
        check_op(p, ops[i], nan, out);
    }
}

static void every_dtype_and_spread_has_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    static const int64_t widths[] = {1, 2, 4, 8, 3, 32, 1, 5};
    static const int64_t slots[] = {1, 2, 100, 5000, 70000};
    static const bf_dtype indices[] = {BF_I32, BF_I64, BF_U32, BF_U64};
    uint64_t seed = 1;
    int rounds = is_small() ? 1 : 12;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int round = 0; round < rounds; round++) {
            uint64_t r = next_random(&seed);
            problem p = {.dtype = all_dtypes[d],
                         .index_dtype = indices[r % 4],
                         .width = widths[r >> 4 & 7],
                         .slots = slots[(r >> 8) % 5],
                         .spread = (spread)((r >> 12) % SPREADS),
                         .kind = (data_kind)((r >> 16) % KIND_COUNT),
                         .specials = (r >> 20) % 3 == 0 ? 1000 : 0,
                         .offset = (r >> 24) % 4 == 0 ? 1 + (int)(r >> 28 & 7) : 0,
                         .seed = r};
            p.rows = (int64_t)((r >> 32) % (uint64_t)(is_small() ? 3000 : 60000)) / p.width;
            check_all_ops(&p);
        }
    }
}

/* ---- one element a row, in large numbers ------------------------------------------------------
 */

static void large_columns_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    leave_out_if_small();
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_BF16, BF_I64, BF_U32, BF_I8};
    uint64_t seed = 99;
    for (int d = 0; d < 7; d++) {
        for (int s = 0; s < SPREADS; s++) {
            uint64_t r = next_random(&seed);
            problem p = {.dtype = dtypes[d], .index_dtype = r & 1 ? BF_I32 : BF_I64, .width = 1};
            p.rows = 1000000 + (int64_t)(r % 100000);
            p.slots = s % 2 == 0 ? 65536 : 1 << 20;
            p.spread = (spread)s;
            p.kind = s % 3 == 0 ? KIND_FULL : s % 3 == 1 ? KIND_NARROW : KIND_CANCEL;
            p.specials = s == 1 ? 100000 : 0;
            p.seed = r;
            fill_rows(&p);
            check_op(&p, BF_SUM, BF_NAN_PROPAGATE, BF_NONE);
            if (is_float(p.dtype)) check_op(&p, BF_MEAN, BF_NAN_SKIP, BF_F32);
            check_op(&p, BF_STD, BF_NAN_SKIP, BF_NONE);
            if (is_float(p.dtype)) check_op(&p, BF_NORM, BF_NAN_PROPAGATE, BF_F32);
            check_op(&p, s % 2 == 0 ? BF_MIN : BF_MAX, BF_NAN_SKIP, BF_NONE);
            check_op(&p, s % 2 == 0 ? BF_ARGMAX : BF_ARGMIN, BF_NAN_PROPAGATE, BF_NONE);
        }
    }
}

/* Many rows of a slot, and of the slots that are sorted together; few slots, and most of all. */
static void large_rows_have_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    leave_out_if_small();
    static const int64_t slots[] = {1, 16, 3000, 65536, 1 << 20, (1 << 20) + 5};
    static const bf_reduction some[] = {BF_SUM, BF_VAR, BF_MEAN, BF_ARGMAX, BF_NORM, BF_MIN};
    uint64_t seed = 5;
    for (int k = 0; k < 6; k++) {
        for (int s = 0; s < SPREADS; s++) {
            uint64_t r = next_random(&seed);
            problem p = {.dtype = s % 2 == 0 ? BF_F32 : BF_F64,
                         .index_dtype = r & 1 ? BF_I32 : BF_I64,
                         .width = slots[k] > 65536 ? 2 : (int64_t)2 << (r >> 1) % 4,
                         .slots = slots[k],
                         .spread = (spread)s,
                         .kind = s % 3 == 0   ? KIND_FULL
                                 : s % 3 == 1 ? KIND_NARROW
                                              : KIND_CANCEL,
                         .specials = s == 1 ? 100000 : 0,
                         .seed = r};
            p.rows = (1500000 + (int64_t)(r % 100000)) / p.width;
            fill_rows(&p);
            check_op(&p, BF_SUM, BF_NAN_PROPAGATE, BF_NONE);
            check_op(&p, some[(k + s) % 6], BF_NAN_SKIP, BF_NONE);
        }
    }
}

/* ---- sums that cancel, and zeros ------------------------------------------------------------- */

static void zeros_keep_their_sign(void **unused) {
    (void)unused;
    for (int width = 1; width <= 4; width += 3) {
        for (int kind = 0; kind < 3; kind++) {
            problem p = {BF_F32, BF_I32, 60000, width, 40, EVEN, KIND_NARROW, 0, 0, 3};
            fill_rows(&p);
            float *x = (float *)(void *)(on_host + AT_A);
            for (int64_t i = 0; i < p.rows * width; i++)
                x[i] = kind == 0   ? -0.0f
                       : kind == 1 ? (i % 100 ? -0.0f : 0.0f)
                       : i % 7     ? -0.0f
                                   : x[i];
            assert_int_equal(bf_memory_copy(gpu, on_device, on_host, ROOM), BF_OK);
            check_op(&p, BF_SUM, BF_NAN_PROPAGATE, BF_NONE);
            check_op(&p, BF_MEAN, BF_NAN_PROPAGATE, BF_NONE);
            check_op(&p, BF_SUMSQ, BF_NAN_PROPAGATE, BF_NONE);
        }
    }
}

/* ---- wrong indices --------------------------------------------------------------------------- */

static void the_first_wrong_index_is_named(void **unused) {
    (void)unused;
    static const int64_t widths[] = {1, 4};
    for (int w = 0; w < 2; w++) {
        problem p = {BF_F32, BF_I64, 50000, widths[w], 1000, EVEN, KIND_NARROW, 0, 0, 3};
        fill_rows(&p);
        arrays device = arrays_in(&p, on_device, BF_F64);
        bf_array most = device.values;
        most.dtype = BF_F32;
        bf_status status;
        int64_t bad[] = {-1, 1000}, at[] = {33333, 777}, wrong = 0;
        for (int i = 0; i < 2; i++)
            assert_int_equal(
                bf_memory_copy(gpu, (int64_t *)device.index.data + at[i], &bad[i], sizeof bad[i]),
                BF_OK);
        assert_int_equal(
            bf_reduce_index(gpu, BF_SUM, &device.a, &device.index, NULL, &device.values, NULL),
            BF_E_ARGUMENT);
        assert_string_equal(bf_context_message(gpu), "index 777 is 1000, outside 0 to 999");
        int64_t *place = (int64_t *)(void *)values_on_device;
        assert_int_equal(bf_reduce_index_async(gpu, BF_SUM, &device.a, &device.index, NULL,
                                               &device.values, NULL, place),
                         BF_OK);
        assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        assert_int_equal(bf_memory_copy(gpu, &wrong, place, sizeof wrong), BF_OK);
        assert_int_equal(wrong, 777);
        const bf_reduce_options later = BF_REDUCE_OPTIONS(.later = 1);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(bf_reduce_index_async(gpu, i ? BF_MAX : BF_PROD, &device.a,
                                                   &device.index, &later,
                                                   i ? &most : &device.values, NULL, NULL),
                             BF_OK);
            if (i == 1) continue; /* the first of two calls that fail is reported */
            while (i == 0 && (status = bf_context_failure(gpu)) == BF_OK) {
            }
            if (i > 0) status = bf_context_synchronize(gpu);
            assert_int_equal(status, BF_E_ARGUMENT);
            assert_string_equal(bf_context_message(gpu), "index 777 is 1000, outside 0 to 999");
            assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        }
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Keys in runs, some of which end between tiles; of floats zeros of both signs and NaNs. */
static void fill_keys(bf_dtype key, int64_t n, int64_t longest, uint64_t seed) {
    size_t bytes = key == BF_PAIR ? 16 : bf_dtype_size(key);
    uint64_t word[2] = {0, 0};
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) {
        if (left-- == 0) {
            left = (int64_t)(next_random(&seed) % (uint64_t)longest);
            word[0] = next_random(&seed) % 3;
            word[1] = next_random(&seed) % 2;
        }
        uint64_t bits = word[0];
        if (key != BF_PAIR && is_float(key)) {
            uint64_t r = next_random(&seed), sign = r & 1 ? sign_bit(key) : 0;
            bits = word[0] == 0 ? sign : word[0] == 1 ? infinity_bits(key) | 1 | sign : 1;
        }
        memcpy(on_host + (size_t)i * bytes, key == BF_PAIR ? (void *)word : (void *)&bits, bytes);
    }
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, (size_t)n * bytes), BF_OK);
}

static void runs_are_where_the_cpu_finds_them(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 2, 255, 4096, 4097, 100000};
    for (int d = 0; d <= DTYPE_COUNT; d++) {
        bf_dtype key = d < DTYPE_COUNT ? all_dtypes[d] : BF_PAIR;
        for (int s = 0; s < 6; s++) {
            int64_t n = sizes[s], runs[2], *expected = malloc((size_t)n * 8), *found;
            found = malloc((size_t)n * 8);
            memset(expected, 0x5a, (size_t)n * 8);
            memset(found, 0x5a, (size_t)n * 8);
            fill_keys(key, n, s % 2 ? 3 : 3000, (uint64_t)(s + 10 * d));
            bf_array keys = bf_array_of(key, on_host, n), on_gpu = bf_array_of(key, on_device, n);
            bf_array first = bf_array_of(BF_I64, expected, n);
            bf_array other = bf_array_of(BF_I64, found, n);
            assert_int_equal(
                bf_reduce_runs(cpu, BF_SUM, &keys, NULL, NULL, &first, NULL, NULL, &runs[0]),
                BF_OK);
            assert_int_equal(
                bf_reduce_runs(gpu, BF_SUM, &on_gpu, NULL, NULL, &other, NULL, NULL, &runs[1]),
                BF_OK);
            assert_int_equal(runs[0], runs[1]);
            assert_memory_equal(expected, found, (size_t)n * 8);
            free(expected);
            free(found);
        }
    }
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void a_graph_reduces_again(void **unused) {
    (void)unused;
    static const int64_t widths[] = {1, 8};
    for (int w = 0; w < 2; w++) {
        problem p = {BF_F32, BF_I32, 60000, widths[w], 500, POWER, KIND_NARROW, 0, 0, 8};
        fill_rows(&p);
        const bf_reduce_options o = BF_REDUCE_OPTIONS(.ddof = 0);
        arrays host = arrays_in(&p, on_host, BF_F64), device = arrays_in(&p, on_device, BF_F64);
        int64_t *place = (int64_t *)(void *)values_on_device;
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        assert_int_equal(bf_context_set_stream(gpu, stream), BF_OK);
        assert_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
        assert_int_equal(bf_reduce_index_async(gpu, BF_SUM, &device.a, &device.index, NULL,
                                               &device.values, &device.fits, place),
                         BF_OK);
        assert_cuda(cudaStreamEndCapture(stream, &graph));
        assert_cuda(cudaGraphInstantiate(&executable, graph, 0));
        assert_int_equal(call(cpu, BF_SUM, &host, &o, true), BF_OK);
        for (int round = 0; round < 3; round++) {
            soil(&device, BF_F64, p.slots * p.width);
            assert_cuda(cudaStreamSynchronize(stream));
            assert_cuda(cudaGraphLaunch(executable, stream));
            assert_cuda(cudaStreamSynchronize(stream));
            compare(&p, BF_SUM, &o, &host, &device, BF_F64, true, "in a graph");
        }
        assert_int_equal(bf_context_set_stream(gpu, NULL), BF_OK);
        assert_int_equal(bf_context_synchronize(gpu), BF_OK);
        assert_cuda(cudaGraphExecDestroy(executable));
        assert_cuda(cudaGraphDestroy(graph));
        assert_cuda(cudaStreamDestroy(stream));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeros_keep_their_sign),
        cmocka_unit_test(every_dtype_and_spread_has_the_bits_of_the_cpu),
        cmocka_unit_test(large_columns_have_the_bits_of_the_cpu),
        cmocka_unit_test(large_rows_have_the_bits_of_the_cpu),
        cmocka_unit_test(the_first_wrong_index_is_named),
        cmocka_unit_test(runs_are_where_the_cpu_finds_them),
        cmocka_unit_test(a_graph_reduces_again),
    };
    return RUN_ON_GPU(tests);
}
