/* The pipeline on a fake GPU: in whatever order the GPU works, results are right; the host waits
 * for no more than it must; and after a failure of any call nothing is under way. */
#include "cuda/runtime/pipeline.cu"

extern "C" {
#include "tests/support/leave_out.h"
}

#include <vector>

/* --- the rest of the backend --- */

static bf_context context;
static bf_cuda cuda;
static std::vector<char> on_gpu; /* kernels reach it where it is aligned */

static bool is_on_gpu(const void *p) {
    const char *at = (const char *)p;
    return at >= on_gpu.data() && at < on_gpu.data() + on_gpu.size();
}

bool bf_cuda_in_place(const bf_context *, const void *p, int align) {
    return is_on_gpu(p) && (uintptr_t)p % (unsigned)align == 0;
}
bf_where bf_where_is(const void *p, int *) {
    return is_on_gpu(p) ? BF_WHERE_DEVICE : BF_WHERE_HOST;
}
static int host_threads = 4;
int bf_host_threads(const bf_context *) { return host_threads; }
void bf_host_copy(bf_context *, void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}
void bf_host_gather(bf_context *, const bf_strided *from, int64_t first, int64_t count, void *to) {
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)to + i * from->bytes,
               from->data + (first + i) * from->strides[0] * from->bytes, (size_t)from->bytes);
}
void bf_host_scatter(bf_context *, const bf_strided *to, int64_t first, int64_t count,
                     const void *from) {
    for (int64_t i = 0; i < count; i++)
        memcpy(to->data + (first + i) * to->strides[0] * to->bytes,
               (const char *)from + i * to->bytes, (size_t)to->bytes);
}
bf_status bf_fail(bf_context *, bf_status status, const char *, ...) { return status; }
bf_status bf_cuda_fail(bf_context *, cudaError_t error, const char *) {
    return error == cudaErrorMemoryAllocation ? BF_E_MEMORY : BF_E_DEVICE;
}
bf_status bf_cuda_check(bf_context *context_of, cudaError_t error, const char *what) {
    return error == cudaSuccess ? BF_OK : bf_cuda_fail(context_of, error, what);
}
cudaStreamCaptureMode bf_cuda_relax(void) { return cudaStreamCaptureModeRelaxed; }
void bf_cuda_restore(cudaStreamCaptureMode) {}

/* Forgets what is kept. The next call pins memory, or has the driver copy what it can. */
static void begin_ring(bool pins) {
    bf_cuda_pipeline_close(&cuda);
    host_threads = pins ? 4 : 1;
    cuda.ring = (bf_cuda_ring *)calloc(1, sizeof *cuda.ring);
    cuda.ring->driven = pins ? (int64_t)PIN_BYTES : 0;
}

/* --- a call: out[i] = a[i] + b[i] + i --- */

enum { ARRAYS = 3, ALL = 1 << 30 };

struct layout {
    const char *name;
    bool gpu[ARRAYS];   /* on the GPU, or in pageable memory */
    int offset[ARRAYS]; /* bytes from where it would be aligned */
    bool same;          /* out is a */
};
static const layout layouts[] = {
    {"host", {false, false, false}, {0, 0, 0}, false},
    {"host, in place", {false, false, false}, {0, 1, 0}, true},
    {"some of it", {true, false, true}, {0, 3, 2}, false},
    {"misaligned", {true, true, true}, {1, 0, 3}, false},
    {"misaligned, in place", {true, false, true}, {2, 0, 0}, true},
    {"GPU", {true, true, true}, {0, 0, 0}, false},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

struct call {
    int64_t most, fails_at; /* take() fails with this element; negative: with none */
    bool waits;             /* take() waits for the stream */
    int64_t next;           /* element */
    int64_t pieces, ran;    /* that were taken; whose kernel has run */
};

static bf_status take_sum(bf_context *, void *arg, void *const at[], int64_t first, int64_t n) {
    call *c = (call *)arg;
    const uint32_t *a = (const uint32_t *)at[0], *b = (const uint32_t *)at[1];
    uint32_t *out = (uint32_t *)at[2];
    assert_int_equal(first, c->next);
    assert_true(n > 0 && n <= c->most);
    c->next += n;
    c->pieces++;
    if (c->fails_at >= first && c->fails_at < first + n) return BF_E_ARGUMENT;
    for (int i = 0; i < ARRAYS; i++) assert_int_equal((uintptr_t)at[i] % 4, 0);
    fake_launch(cuda.stream, [=] {
        for (int64_t i = 0; i < n; i++) out[i] = a[i] + b[i] + (uint32_t)(first + i);
        c->ran++;
    });
    return c->waits && cudaStreamSynchronize(cuda.stream) != cudaSuccess ? BF_E_DEVICE : BF_OK;
}

struct arrays {
    std::vector<char> host[ARRAYS];
    char *data[ARRAYS];
    std::vector<uint32_t> a, b; /* as they were */
};

static void set_up_arrays(arrays *x, const layout &l, int64_t n) {
    const size_t room = (size_t)n * 4 + 64;
    fake_memory.erase((uintptr_t)on_gpu.data());
    on_gpu.assign(ARRAYS * room, 0);
    fake_memory[(uintptr_t)on_gpu.data()] = on_gpu.size();
    for (int i = 0; i < ARRAYS; i++) {
        x->host[i].assign(room, 0);
        char *p = l.gpu[i] ? on_gpu.data() + (size_t)i * room : x->host[i].data();
        x->data[i] = (char *)(((uintptr_t)p + 15) / 16 * 16) + l.offset[i];
    }
    if (l.same) x->data[2] = x->data[0];
    for (int64_t i = 0; i < n; i++) {
        x->a.push_back((uint32_t)fake_random());
        x->b.push_back((uint32_t)fake_random());
    }
    const std::vector<uint32_t> *values[] = {&x->a, &x->b};
    for (int i = 0; i < 2; i++) {
        char *to = x->data[i];
        const uint32_t *from = values[i]->data();
        if (l.gpu[i]) /* by a kernel, which need not have run yet */
            fake_launch(cuda.stream, [=] { memcpy(to, from, (size_t)n * 4); });
        else
            memcpy(to, from, (size_t)n * 4);
    }
}

static void check_sums(const arrays *x, const layout &l, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t found, expected = x->a[(size_t)i] + x->b[(size_t)i] + (uint32_t)i;
        memcpy(&found, x->data[2] + 4 * i, 4);
        if (found != expected) fail_msg("%s, n %ld: element %ld", l.name, (long)n, (long)i);
    }
}

static bool is_in_place(const layout &l) {
    bool all = true;
    for (int i = 0; i < ARRAYS; i++) all = all && l.gpu[i] && l.offset[i] % 4 == 0;
    return all;
}

/* A call that copies has waited for all when it fails, unless it failed before it began. */
static bf_status run_call(const layout &l, int64_t n, call *c) {
    arrays x;
    set_up_arrays(&x, l, n);
    const bf_cuda_operand operands[] = {{x.data[0], NULL, 4, 4, NULL, NULL, 0},
                                        {x.data[1], NULL, 4, 4, NULL, NULL, 0},
                                        {NULL, x.data[2], 4, 4, NULL, NULL, 0}};
    bf_status status = bf_cuda_pipeline(&context, operands, ARRAYS, n, c->most, take_sum, c);
    if (status == BF_OK || c->pieces == 0 || is_in_place(l)) fake_finish(cuda.stream);
    assert_true(fake_is_idle());
    if (status != BF_OK) return status;
    assert_int_equal(c->next, n);
    check_sums(&x, l, n);
    return status;
}

static call call_of(int64_t most) { return {most, -1, false, 0, 0, 0}; }

/* --- tests --- */

enum { SLOT = SLOT_BYTES / 4 }; /* elements, if one operand is copied */

static const int64_t sizes[] = {
    0,       1,          2,          1000,     DIRECT_BYTES / 12, DIRECT_BYTES / 12 + 1,
    4096,    ROUND * 22, ROUND * 70, SLOT / 3, SLOT - 1,          SLOT,
    SLOT + 1};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void every_order_gives_the_same(void **) {
    static const int eager[] = {0, 10, 50, 90};
    for (int round = 0; round < 3 * SIZES * LAYOUTS; round++) {
        call c = call_of(round % 5 == 0 ? 5000 : ALL);
        if (round % 3 == 0) begin_ring(round % 2 != 0);
        c.waits = round % 2 != 0;
        fake_eager = eager[fake_random() % 4];
        assert_int_equal(run_call(layouts[round % LAYOUTS], sizes[round / LAYOUTS % SIZES], &c),
                         BF_OK);
    }
    for (int i = 0; i < 2 * LAYOUTS; i++) {
        call c = call_of(ALL);
        begin_ring(i % 2 != 0);
        assert_int_equal(run_call(layouts[i / 2], 7 * SLOT / 2, &c), BF_OK);
    }
}

/* --- copies alone --- */

enum { STRIDE = 3 };

/* Copies n elements, of which every STRIDE-th is the host's if `strided`, to the GPU and back. */
static bf_status run_copies_of(int64_t n, bool strided) {
    const int64_t stride = strided ? STRIDE : 1, first = strided ? 2 : 0;
    std::vector<uint32_t> from((size_t)((n + first) * stride + 1)), to(from.size());
    for (uint32_t &x : from) x = (uint32_t)fake_random();
    fake_memory.erase((uintptr_t)on_gpu.data());
    on_gpu.assign((size_t)n * 4 + 64, 0);
    fake_memory[(uintptr_t)on_gpu.data()] = on_gpu.size();
    const bf_strided a = {(char *)from.data(), 4, 1, {n + first}, {stride}};
    const bf_strided b = {(char *)to.data(), 4, 1, {n + first}, {stride}};
    char *device = on_gpu.data();
    bf_status status = strided ? bf_cuda_gather_host(&context, &a, first, n, device)
                               : bf_cuda_copy(&context, device, from.data(), (size_t)n * 4);
    fake_launch(cuda.stream, [=] {
        for (int64_t i = 0; i < 4 * n; i++) device[i] = (char)(device[i] + 1);
    });
    if (status == BF_OK)
        status = strided ? bf_cuda_scatter_host(&context, &b, first, n, device)
                         : bf_cuda_copy(&context, to.data(), device, (size_t)n * 4);
    fake_finish(cuda.stream);
    assert_true(fake_is_idle());
    for (size_t i = 0; i < to.size() && status == BF_OK; i++) {
        bool copied = (int64_t)i >= first * stride && (int64_t)i < (first + n) * stride &&
                      (int64_t)i % stride == 0;
        uint32_t expected = 0;
        for (int k = 0; k < 32 && copied; k += 8)
            expected |= (((from[i] >> k & 0xff) + 1) & 0xff) << k;
        if (to[i] != expected) fail_msg("n %ld, strided %d: element %zu", (long)n, strided, i);
    }
    return status;
}

static void copies_alone_copy(void **) {
    for (int round = 0; round < 4 * SIZES; round++) {
        begin_ring(round % 2 != 0);
        fake_eager = (int)(fake_random() % 2) * 70;
        assert_int_equal(run_copies_of(sizes[round / 4], round / 2 % 2 != 0), BF_OK);
    }
    begin_ring(true);
    assert_int_equal(run_copies_of(7 * SLOT / 2, false), BF_OK);
    assert_int_equal(run_copies_of(7 * SLOT / 2, true), BF_OK);
}

/* The driver copies until that has taken as long as pinning does. */
static void memory_is_pinned_when_it_pays(void **) {
    call c = call_of(ALL);
    begin_ring(false);
    assert_int_equal(run_call(layouts[0], 3 * SLOT, &c), BF_OK);
    assert_false(cuda.ring->pinned);
    host_threads = 2;
    for (int64_t copied = 0; copied < PIN_BYTES; copied += (int64_t)SLOT * 12) {
        assert_false(cuda.ring->pinned);
        c = call_of(ALL);
        assert_int_equal(run_call(layouts[0], SLOT, &c), BF_OK);
    }
    assert_true(cuda.ring->pinned);
}

/* A GPU that does nothing unless it is waited for: kernels of the last pieces have not run yet when
 * the next piece has been copied. */
static bf_status take_late(bf_context *, void *arg, void *const at[], int64_t first, int64_t n) {
    call *c = (call *)arg;
    const slot *next = &cuda.ring->slots[(c->pieces + 1) % SLOTS];
    if (c->next + n < c->fails_at) assert_true(next->arrived->done < next->arrived->recorded);
    assert_true(c->ran <= (c->pieces > SLOTS - 2 ? c->pieces - (SLOTS - 2) : 0));
    int64_t end = c->fails_at;
    c->fails_at = -1;
    bf_status status = take_sum(&context, c, at, first, n);
    c->fails_at = end;
    return status;
}

static void the_host_waits_for_no_more_than_it_must(void **) {
    const int64_t n = 5 * SLOT;
    arrays x;
    call c = call_of(ALL);
    begin_ring(true);
    fake_eager = 0;
    c.fails_at = n; /* here: the end */
    set_up_arrays(&x, layouts[0], n);
    const bf_cuda_operand operands[] = {{x.data[0], NULL, 4, 4, NULL, NULL, 0},
                                        {x.data[1], NULL, 4, 4, NULL, NULL, 0},
                                        {NULL, x.data[2], 4, 4, NULL, NULL, 0}};
    assert_int_equal(bf_cuda_pipeline(&context, operands, ARRAYS, n, ALL, take_late, &c), BF_OK);
    assert_true(c.pieces >= 15);
    check_sums(&x, layouts[0], n);
}

/* Every call of CUDA fails once; memory that was made stays for the next call. Only pinned memory
 * can be done without. */
static void failures_leave_nothing_under_way(void **) {
    for (int i = 0; i < 2 * LAYOUTS; i++) {
        const layout &l = layouts[i / 2];
        for (long at = 0;; at++) {
            call c = call_of(ALL), again = call_of(ALL);
            begin_ring(i % 2 != 0);
            fake_eager = (int)(at % 3) * 40;
            fake_fail_at = at;
            bf_status status = run_call(l, at % 2 ? 1000 : ROUND * 90, &c);
            bool reached = fake_fail_at < 0;
            fake_fail_at = -1;
            if (status != BF_OK)
                assert_true(reached);
            else if (reached)
                assert_true(i % 2 != 0 && !cuda.ring->pinned);
            assert_int_equal(run_call(l, ROUND * 90, &again), BF_OK);
            if (!reached && at % 2 == 0) break;
        }
    }
}

static void failures_of_copies_leave_nothing_under_way(void **) {
    for (int i = 0; i < 4; i++) {
        for (long at = 0;; at++) {
            begin_ring(i % 2 != 0);
            fake_fail_at = at;
            bf_status status = run_copies_of(ROUND * 90, i / 2 != 0);
            bool reached = fake_fail_at < 0;
            fake_fail_at = -1;
            if (status != BF_OK) assert_true(reached);
            assert_int_equal(run_copies_of(ROUND * 90, i / 2 != 0), BF_OK);
            if (!reached) break;
        }
    }
}

static void a_failure_of_the_work_ends_the_call(void **) {
    for (int i = 0; i < LAYOUTS; i++) {
        for (int64_t n = 1000; n <= 2 * SLOT; n *= 30) {
            call c = call_of(ALL), again = call_of(ALL);
            c.fails_at = n / 2;
            assert_int_equal(run_call(layouts[i], n, &c), BF_E_ARGUMENT);
            assert_int_equal(run_call(layouts[i], n, &again), BF_OK);
        }
    }
}

static int open_gpu(void **) {
    context.cuda = &cuda;
    return cudaStreamCreateWithFlags(&cuda.stream, 0);
}

static int close_gpu(void **) {
    bf_cuda_pipeline_close(&cuda);
    cudaStreamDestroy(cuda.stream);
    fake_memory.erase((uintptr_t)on_gpu.data());
    return !fake_is_clean();
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_same),
        cmocka_unit_test(the_host_waits_for_no_more_than_it_must),
        cmocka_unit_test(copies_alone_copy),
        cmocka_unit_test(memory_is_pinned_when_it_pays),
        cmocka_unit_test(failures_leave_nothing_under_way),
        cmocka_unit_test(failures_of_copies_leave_nothing_under_way),
        cmocka_unit_test(a_failure_of_the_work_ends_the_call),
    };
    return RUN_TESTS(tests, open_gpu, close_gpu);
}
