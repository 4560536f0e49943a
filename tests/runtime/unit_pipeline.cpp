/* The pipeline on a fake GPU: in whatever order the GPU works and the host's threads copy, results
 * are right; the host waits for no more than it must; and after a failure of any call, or when the
 * watch has cancelled it, nothing is under way.
 * Builds: release, asan (full), tsan (full). */
#include "cuda/runtime/pipeline.cu"

extern "C" {
#include "cpu/runtime/context.h"
#include "tests/support/leave_out.h"
#include "tests/support/sanitizer.h"
}

#include <atomic>
#include <pthread.h>
#include <time.h>
#include <vector>

/* --- the rest of the backends --- */

static bf_context context;
static bf_cuda cuda;
static bf_pool *one, *four;      /* threads */
static std::vector<char> on_gpu; /* kernels reach it where it is aligned */

static bool is_on_gpu(const void *p) {
    const char *at = (const char *)p;
    return at >= on_gpu.data() && at < on_gpu.data() + on_gpu.size();
}

bool bf_cuda_in_place(const bf_context *, const void *p, int align) {
    return is_on_gpu(p) && (uintptr_t)p % (unsigned)align == 0;
}

bool bf_cuda_best_in_place(const bf_context *context, const void *p, int align, int64_t) {
    return bf_cuda_in_place(context, p, align);
}
bf_where bf_where_is(const void *p, int *) {
    return is_on_gpu(p) ? BF_WHERE_DEVICE : BF_WHERE_HOST;
}

static std::atomic<int64_t> gathered; /* elements */

static bf_status gather(bf_context *, const bf_strided *from, int64_t first, int64_t count,
                        void *to) {
    bf_status status = bf_cpu_gather(NULL, from, first, count, to);
    gathered += count;
    return status;
}

static const bf_memory_backend memory_backend = {gather, bf_cpu_scatter, NULL, 0, NULL, NULL, NULL};

static bf_backend host_backend() {
    bf_backend b = {};
    b.memory = &memory_backend;
    return b;
}
const bf_backend bf_backend_cpu = host_backend();

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
    context.pool = pins ? four : one;
    cuda.ring = (bf_cuda_ring *)calloc(1, sizeof *cuda.ring);
    cuda.ring->driven = pins ? (int64_t)PIN_BYTES : 0;
}

/* --- a call: out[i] = a[i] + b[i] + i --- */

enum { ARRAYS = 3, SHORT = 7000, ALL = 1 << 30 /* elements of a piece, at most */ };

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
    int64_t pieces, ran;    /* how many were taken; how many have run */
};

static bf_status take_sum(bf_context *, void *arg, void *const at[], int64_t first, int64_t n) {
    call *c = (call *)arg;
    const uint32_t *a = (const uint32_t *)at[0], *b = (const uint32_t *)at[1];
    uint32_t *out = (uint32_t *)at[2];
    assert_int_equal(first, c->next);
    assert_int_equal(fake_last_error, cudaSuccess);
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

/* Kept from call to call: fresh memory takes longer than all else. */
struct arrays {
    std::vector<char> host[ARRAYS];
    char *data[ARRAYS];
    std::vector<uint32_t> a, b; /* as they were */
};
static arrays kept;

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
    x->a.resize((size_t)n + 1);
    x->b.resize((size_t)n + 1);
    uint32_t seed = (uint32_t)fake_random();
    for (uint32_t &value : x->a) value = seed += 0x9e3779b9u;
    for (uint32_t &value : x->b) value = seed += 0x85ebca6bu;
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
    arrays &x = kept;
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

enum { SLOT = SLOT_BYTES / 4 /* elements, if one operand is copied */ };

static const int64_t sizes[] = {
    0, 1, 2, 1000, DIRECT_BYTES / 12, DIRECT_BYTES / 12 + 1, 4096, ROUND * 22, ROUND * 70 + 1};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void every_order_gives_the_same(void **) {
    static const int eager[] = {0, 10, 50, 90};
    for (int round = 0; round < 3 * SIZES * LAYOUTS; round++) {
        call c = call_of(round % 5 == 0 ? SHORT : ALL);
        if (round % 3 == 0) begin_ring(round % 2 != 0);
        c.waits = round % 2 != 0;
        fake_eager = eager[fake_random() % 4];
        assert_int_equal(run_call(layouts[round % LAYOUTS], sizes[round / LAYOUTS % SIZES], &c),
                         BF_OK);
    }
}

/* More pieces than slots, and each of several parts, on which threads work at once. */
static void large_arrays_go_round_the_ring(void **) {
    static const int64_t large[] = {SLOT - 1, SLOT + 1, 5 * SLOT / 3};
    for (int i = 0; i < 6; i += CASE_STEP) {
        call c = call_of(ALL);
        begin_ring(i != 5);
        fake_eager = i % 2 * 60;
        assert_int_equal(run_call(layouts[i % 3], large[i / 2], &c), BF_OK);
        assert_true(c.pieces >= SLOTS && (i < 4 || c.pieces > SLOTS));
    }
}

/* --- copies alone --- */

enum { STRIDE = 3 };

/* Copies n elements, of which every STRIDE-th is the host's if `strided`, to the GPU and back. */
static bf_status run_copies_of(int64_t n, bool strided) {
    static std::vector<uint32_t> from, to;
    const int64_t stride = strided ? STRIDE : 1, first = strided ? 2 : 0;
    from.resize((size_t)((n + first) * stride + 1));
    to.assign(from.size(), 0);
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
    assert_int_equal(run_copies_of(3 * SLOT + 5, false), BF_OK);
    assert_int_equal(run_copies_of(SLOT / 2, true), BF_OK);
}

/* The driver copies until that has taken as long as pinning does. One thread never pins. */
static void memory_is_pinned_when_it_pays(void **) {
    const int64_t n = 100000;
    call c = call_of(ALL);
    begin_ring(false);
    cuda.ring->driven = PIN_BYTES - 2 * n * 12;
    for (int i = 0; i < 3; i++) {
        c = call_of(ALL);
        assert_int_equal(run_call(layouts[0], n, &c), BF_OK);
        assert_false(cuda.ring->pinned);
    }
    context.pool = four;
    for (int i = 0; i < 2; i++) {
        assert_false(cuda.ring->pinned);
        c = call_of(ALL);
        assert_int_equal(run_call(layouts[0], n, &c), BF_OK);
    }
    assert_true(cuda.ring->pinned);
}

static void streamed_bytes_are_copied(void **) {
    unsigned char from[400], to[400];
    for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i * 7 + 1);
    for (size_t bytes = 0; bytes < 270; bytes++) {
        for (size_t first = 0; first < 64; first++) {
            memset(to, 0, sizeof to);
            bf_stream_copy(to + first, from + bytes % 5, bytes);
            assert_memory_equal(to + first, from + bytes % 5, bytes);
            for (size_t i = 0; i < sizeof to; i++)
                if (i < first || i >= first + bytes) assert_int_equal(to[i], 0);
        }
    }
}

/* --- what overlaps --- */

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
    const int64_t n = 15 * SHORT;
    arrays &x = kept;
    call c = call_of(SHORT);
    begin_ring(true);
    fake_eager = 0;
    c.fails_at = n; /* here: the end */
    set_up_arrays(&x, layouts[0], n);
    const bf_cuda_operand operands[] = {{x.data[0], NULL, 4, 4, NULL, NULL, 0},
                                        {x.data[1], NULL, 4, 4, NULL, NULL, 0},
                                        {NULL, x.data[2], 4, 4, NULL, NULL, 0}};
    assert_int_equal(bf_cuda_pipeline(&context, operands, ARRAYS, n, SHORT, take_late, &c), BF_OK);
    assert_int_equal(c.pieces, 15);
    check_sums(&x, layouts[0], n);
}

enum { PIECE = 1 << 15, PIECES = 8 };

static void pause_thread() {
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

/* A GPU that is done with all at once. While a piece is taken, the other threads fill each slot but
 * its own, which they had filled before; in the end they have so long nothing to do that they
 * sleep. */
static bf_status take_slowly(bf_context *, void *arg, void *const at[], int64_t first, int64_t n) {
    int64_t *sum = (int64_t *)arg, filled = first + SLOTS * PIECE;
    if (filled > PIECES * PIECE) filled = PIECES * PIECE;
    for (int i = 0; i < 10000 && gathered < filled; i++) pause_thread();
    assert_true(gathered >= filled);
    for (int i = 0; i < 50 && first == PIECE; i++) pause_thread();
    const uint32_t *a = (const uint32_t *)at[0];
    fake_launch(cuda.stream, [=] {
        for (int64_t i = 0; i < n; i++) *sum += a[i];
    });
    return BF_OK;
}

static void threads_copy_while_a_piece_is_taken(void **) {
    const int64_t n = PIECE * PIECES;
    std::vector<uint32_t> a((size_t)n);
    for (int64_t i = 0; i < n; i++) a[(size_t)i] = (uint32_t)i;
    int64_t sum = 0;
    const bf_strided all = {(char *)a.data(), 4, 1, {n}, {1}};
    const bf_cuda_operand operand = {a.data(), NULL, 4, 4, NULL, &all, 0};
    begin_ring(true);
    fake_eager = 100;
    gathered = 0;
    assert_int_equal(bf_cuda_pipeline(&context, &operand, 1, n, PIECE, take_slowly, &sum), BF_OK);
    fake_finish(cuda.stream);
    assert_int_equal(gathered, n);
    assert_int_equal(sum, n * (n - 1) / 2);
}

/* --- calls that end early --- */

/* Every call of CUDA fails once; memory that was made stays for the next call. Only pinned memory
 * can be done without. */
static void failures_leave_nothing_under_way(void **) {
    for (int i = 0; i < 2 * LAYOUTS; i++) {
        const layout &l = layouts[i / 2];
        for (long at = 0;; at += 3 * CASE_STEP - 2) {
            call c = call_of(SHORT), again = call_of(SHORT);
            begin_ring(i % 2 != 0);
            fake_eager = (int)(at % 3) * 40;
            fake_fail_at = at;
            bf_status status = run_call(l, at % 2 ? 1000 : 7 * SHORT, &c);
            bool reached = fake_fail_at < 0;
            fake_fail_at = -1;
            if (status != BF_OK)
                assert_true(reached);
            else if (reached)
                assert_true(i % 2 != 0 && !cuda.ring->pinned);
            assert_int_equal(run_call(l, 7 * SHORT, &again), BF_OK);
            if (!reached && at % 2 == 0) break;
        }
    }
}

static void failures_of_copies_leave_nothing_under_way(void **) {
    for (int i = 0; i < 4; i++) {
        for (long at = 0;; at += CASE_STEP) {
            begin_ring(i % 2 != 0);
            fake_fail_at = at;
            bf_status status = run_copies_of(ROUND * 70, i / 2 != 0);
            bool reached = fake_fail_at < 0;
            fake_fail_at = -1;
            if (status != BF_OK) assert_true(reached);
            if (!reached) break;
        }
        assert_int_equal(run_copies_of(ROUND * 70, i / 2 != 0), BF_OK);
    }
}

static void a_failure_of_the_work_ends_the_call(void **) {
    for (int i = 0; i < LAYOUTS; i++) {
        for (int64_t n = 1000; n <= 300000; n *= 15) {
            call c = call_of(10 * SHORT), again = c;
            c.fails_at = n / 2;
            assert_int_equal(run_call(layouts[i], n, &c), BF_E_ARGUMENT);
            assert_int_equal(run_call(layouts[i], n, &again), BF_OK);
        }
    }
}

/* The watch is asked after each piece, on the thread that called. */
struct witness {
    pthread_t caller;
    int64_t ticks, cancel_at;
};

static int note_tick(void *arg, int64_t bytes) {
    witness *w = (witness *)arg;
    assert_true(pthread_equal(pthread_self(), w->caller) != 0);
    assert_int_equal(bytes, 0);
    return ++w->ticks == w->cancel_at;
}

static void set_watch(witness *w, int64_t cancel_at) {
    *w = {pthread_self(), 0, cancel_at};
    context.watched = {};
    context.watched.watch.tick = note_tick;
    context.watched.watch.arg = w;
}

static void a_cancelled_call_leaves_nothing_under_way(void **) {
    const int64_t pieces = 7, n = pieces * SHORT - 1;
    witness w;
    for (int i = 0; i < 2 * (LAYOUTS - 1); i++) { /* the last layout is in place */
        begin_ring(i % 2 != 0);
        for (int64_t k = 1; k <= pieces; k++) {
            call c = call_of(SHORT);
            fake_eager = (int)(k % 3) * 40;
            set_watch(&w, k);
            assert_int_equal(run_call(layouts[i / 2], n, &c), BF_E_CANCELLED);
            assert_int_equal(w.ticks, k);
            assert_int_equal(c.pieces, k);
        }
        call c = call_of(SHORT);
        set_watch(&w, 0);
        assert_int_equal(run_call(layouts[i / 2], n, &c), BF_OK);
        assert_int_equal(w.ticks, pieces);
    }
    for (int64_t k = 1; k <= 4; k++) { /* two pieces each way */
        begin_ring(k % 2 != 0);
        set_watch(&w, k);
        assert_int_equal(run_copies_of(ROUND * 100, true), BF_E_CANCELLED);
        assert_int_equal(w.ticks, k);
    }
    context.watched = {};
}

static int open_gpu(void **) {
    one = bf_pool_create(1, nullptr);
    four = bf_pool_create(4, nullptr);
    context.pool = four;
    context.cuda = &cuda;
    return one == NULL || four == NULL || cudaStreamCreateWithFlags(&cuda.stream, 0) != 0;
}

static int close_gpu(void **) {
    bf_cuda_pipeline_close(&cuda);
    cudaStreamDestroy(cuda.stream);
    fake_memory.erase((uintptr_t)on_gpu.data());
    bf_pool_destroy(one);
    bf_pool_destroy(four);
    return !fake_is_clean();
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_gives_the_same),
        cmocka_unit_test(large_arrays_go_round_the_ring),
        cmocka_unit_test(copies_alone_copy),
        cmocka_unit_test(memory_is_pinned_when_it_pays),
        cmocka_unit_test(streamed_bytes_are_copied),
        cmocka_unit_test(the_host_waits_for_no_more_than_it_must),
        cmocka_unit_test(threads_copy_while_a_piece_is_taken),
        cmocka_unit_test(failures_leave_nothing_under_way),
        cmocka_unit_test(failures_of_copies_leave_nothing_under_way),
        cmocka_unit_test(a_failure_of_the_work_ends_the_call),
        cmocka_unit_test(a_cancelled_call_leaves_nothing_under_way),
    };
    return RUN_TESTS(tests, open_gpu, close_gpu);
}
