/* Several GPUs as one device (src/gpus), over contexts of the CPU that stand for the GPUs: how
 * calls are split and merged. A fake driver says whose memory is whose.
 * Builds: release, asan, tsan (full). */
#include "gpus/runtime/context.h"
#include "seam/axis.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"

#include "tests/runtime/several.h"

#include <dlfcn.h>
#include <pthread.h>

static void (*fake_place)(const void *memory, size_t bytes, int device);

static void *put(const void *data, size_t bytes, int where) {
    char *memory = malloc(bytes + 1);
    memcpy(memory, data, bytes);
    if (where != PAGEABLE) fake_place(memory, bytes + 1, where);
    return memory;
}

static void get(void *to, const void *memory, size_t bytes) { memcpy(to, memory, bytes); }

static void drop(void *memory, int where) {
    if (where != PAGEABLE) fake_place(memory, 0, where);
    free(memory);
}

static int load_driver(void **unused) {
    (void)unused;
    void *driver = dlopen(FAKE_DRIVER, RTLD_NOW);
    if (driver == NULL) return -1;
    fake_place = (void (*)(const void *, size_t, int))(uintptr_t)dlsym(driver, "fake_place");
    return bf_context_create(&BF_OPTIONS(.device = "cpu"), &alone) == BF_OK ? 0 : -1;
}

static int close_alone(void **unused) {
    (void)unused;
    bf_context_destroy(alone);
    return 0;
}

static void open_several(int n) {
    devices = n;
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu", .threads = 3), &several),
                     BF_OK);
    several->gpu = BF_DEVICE_ALL;
    assert_int_equal(bf_gpus_open(several, &bf_backend_cpu, n), BF_OK);
    several->gpus->least = 1;
    several->fixed = several->used = &bf_backend_gpus;
}

/* ---- results --------------------------------------------------------------------------------- */

static const int64_t sizes[] = {0, 1, 2, 4095, 4097, 20011};
enum { SIZES = sizeof sizes / sizeof *sizes, OPS = 13, MOST_GPUS = DATA_SHARE > 1 ? 2 : 4 };

TEST(reductions_are_those_of_one_device) {
    for (int n = 1; n <= MOST_GPUS + 1; n++) {
        open_several(n);
        for (int op = 1; op <= OPS; op++)
            for (int d = 0; d < DTYPE_COUNT; d++)
                for (int s = (op + d) % CASE_STEP; s < SIZES; s += CASE_STEP)
                    check_array((bf_reduction)op, all_dtypes[d], sizes[s], s % 2 ? 4099 : 0,
                                PAGEABLE - (op + d + s) % 3);
        bf_context_destroy(several);
    }
}

TEST(shards_are_one_array) {
    for (int n = 1; n <= MOST_GPUS; n++) {
        open_several(n);
        for (int op = 1; op <= OPS; op++)
            for (int d = op % CASE_STEP; d < DTYPE_COUNT; d += CASE_STEP)
                for (int shards = 1; shards <= 64; shards = 3 * shards + 1)
                    check_shards((bf_reduction)op, all_dtypes[d], 10007, shards,
                                 d % 2 ? 4096 : 100);
        bf_context_destroy(several);
    }
}

/* In a context of the CPU, too. */
TEST(shards_work_without_gpus) {
    double x[] = {1, 1e100, -1e100, 4};
    const bf_array shards[] = {bf_array_of(BF_F64, x, 1), bf_array_of(BF_F64, x, 0),
                               bf_array_of(BF_F64, x + 1, 3)};
    bf_value value;
    assert_int_equal(bf_reduce_shards(alone, BF_SUM, shards, 3, NULL, &value), BF_OK);
    assert_true(bf_value_f64(&value) == 5);
    assert_int_equal(bf_reduce_shards(alone, BF_ARGMAX, shards, 3, NULL, &value), BF_OK);
    assert_int_equal(value.as.i64, 1);
    assert_int_equal(bf_dot_shards(alone, shards, shards + 1, 1, NULL, &value), BF_E_SHAPE);
    assert_int_equal(bf_reduce_shards(alone, BF_DOT, shards, 3, NULL, &value), BF_E_ARGUMENT);
    assert_int_equal(bf_dot_shards(alone, shards + 2, shards + 2, 1, NULL, &value), BF_OK);
    assert_true(bf_value_f64(&value) == 2e200);
    assert_int_equal(bf_reduce_shards(alone, BF_SUM, shards, 0, NULL, &value), BF_E_ARGUMENT);
}

TEST(histograms_are_those_of_one_device) {
    static const bf_dtype weights[] = {BF_NONE, BF_F32, BF_I16, BF_F64};
    for (int n = 1; n <= MOST_GPUS; n++) {
        open_several(n);
        for (int d = 0; d < DTYPE_COUNT; d++)
            for (int w = 0; w < 4; w++)
                for (int s = (d + w) % CASE_STEP; s < SIZES; s += CASE_STEP)
                    check_histogram(all_dtypes[d], weights[w], sizes[s],
                                    bf_dtype_size(all_dtypes[d]) < 4 || s % 2 ? 10 : 5000);
        bf_context_destroy(several);
    }
}

TEST(maps_are_those_of_one_device) {
    for (int n = 1; n <= MOST_GPUS; n++) {
        open_several(n);
        for (int op = BF_MAP_ADD; op <= BF_MAP_SQRT; op++)
            for (int d = 1 + op % CASE_STEP; d < DTYPE_COUNT; d += CASE_STEP)
                for (int where = -1; where < n; where++)
                    check_map((bf_map_op)op, all_dtypes[d], 12345, where);
        bf_context_destroy(several);
    }
}

TEST(groups_are_those_of_one_device) {
    for (int n = CASE_STEP > 1 ? MOST_GPUS : 1; n <= MOST_GPUS; n++) {
        open_several(n);
        for (int s = 1; s<SIZES; s += CASE_STEP> 1 ? 2 : 1) {
            check_groups(sizes[s], 3);
            check_groups(sizes[s], 5000);
        }
        check_groups(60001, 40000);
        check_parts(60001);
        bf_context_destroy(several);
    }
}

TEST(fibres_are_those_of_one_device) {
    static const int axes[][2] = {{0, 1}, {1, 2}, {2, 0}};
    static const int64_t shapes[][3] = {{5, 7, 90}, {2, 30, 300}, {1, 400, 20}};
    const bf_reduce_options strict = {.size = sizeof strict, .nan = BF_NAN_ERROR};
    for (int n = 1; n <= MOST_GPUS; n++) {
        open_several(n);
        for (int op = 1; op <= OPS; op++)
            for (int d = op % (CASE_STEP + 1); d < DTYPE_COUNT; d += CASE_STEP + 1)
                for (int i = 0; i < 9; i++)
                    check_axes((bf_reduction)op, all_dtypes[d], shapes[(i + d) % 3], axes[i % 3],
                               1 + i / 3 % 2, (i + op) % 4 == 0 ? &strict : NULL,
                               i % 4 == 3 ? n - 1 : PAGEABLE);
        bf_context_destroy(several);
    }
}

TEST(states_are_those_of_one_device) {
    for (int n = 1; n <= MOST_GPUS; n++) {
        open_several(n);
        for (int op = 1; op <= OPS; op++) {
            if (bf_states_on_host((bf_reduction)op)) continue;
            for (int d = op % (CASE_STEP + 1); d < DTYPE_COUNT; d += CASE_STEP + 1) {
                check_states((bf_reduction)op, all_dtypes[d], 303, 1 + d % 3 * 3);
                check_states((bf_reduction)op, all_dtypes[d], 3, 5);
            }
        }
        check_states(BF_CORR, BF_F32, 303, 4);
        check_states(BF_WVAR, BF_I16, 303, 1);
        check_states(BF_KURTOSIS, BF_F64, 30, 5);
        bf_context_destroy(several);
    }
}

TEST(the_rest_is_that_of_one_device) {
    for (int n = 1; n <= MOST_GPUS; n++) {
        open_several(n);
        check_picture(101, 67);
        check_picture(3, 2);
        check_strides(3001);
        check_copies();
        check_table(5000);
        bf_context_destroy(several);
    }
}

/* ---- where calls run ------------------------------------------------------------------------- */

TEST(data_of_a_gpu_stay_there) {
    open_several(3);
    double x[5000];
    bf_value value;
    static const struct {
        int where;
        const char *device;
    } cases[] = {{PAGEABLE, "cuda:all"}, {PINNED, "cuda:all"}, {MANAGED, "cuda:all"},
                 {0, "cuda:0"},          {1, "cuda:1"},        {2, "cuda:2"}};
    fill(BF_F64, x, 5000, KIND_NARROW, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bf_array a = bf_array_of(BF_F64, put(x, sizeof x, cases[i].where), 5000);
        assert_done(bf_reduce(several, BF_SUM, &a, NULL, &value));
        assert_ran_on(cases[i].device);
        drop(a.data, cases[i].where);
    }
    several->gpus->least = sizeof x; /* more than half of it is not worth a second GPU */
    bf_array a = bf_array_of(BF_F64, x, 5000);
    assert_done(bf_reduce(several, BF_SUM, &a, NULL, &value));
    assert_ran_on("cuda:0");
    bf_context_destroy(several);
}

TEST(a_stream_is_refused) {
    open_several(2);
    assert_int_equal(bf_context_set_stream(several, several), BF_E_DEVICE);
    assert_non_null(strstr(bf_context_message(several), "cuda:N"));
    assert_done(bf_context_set_stream(several, NULL));
    assert_done(bf_context_leave_stream(several));
    assert_done(bf_context_synchronize(several));
    bf_context_destroy(several);
}

TEST(the_cut_is_at_leaves) {
    uint64_t rng = 1;
    for (int i = 0; i < 100000; i++) {
        int64_t n = (int64_t)(next_random(&rng) >> (2 + rng % 60));
        int64_t index = (int64_t)(next_random(&rng) >> (2 + rng % 60));
        int parts = 1 + (int)(rng % 16);
        int64_t before = bf_gpus_cut(n, parts, 0, index);
        assert_int_equal(before, 0);
        for (int p = 1; p <= parts; p++) {
            int64_t cut = bf_gpus_cut(n, parts, p, index);
            assert_true(cut >= before && cut <= n);
            assert_true(p == parts || cut == 0 || (index + cut) % 4096 == 0);
            assert_true(n < parts * 8192 || cut - before < n / parts + 8192);
            before = cut;
        }
        assert_true(before == n);
    }
}

/* ---- the watch ------------------------------------------------------------------------------- */

typedef struct watcher {
    pthread_t thread;
    int ticks, stop_at;
    int64_t bytes;
    bool elsewhere;
} watcher;

static int note_tick(void *arg, int64_t bytes) {
    watcher *w = arg;
    w->elsewhere |= !pthread_equal(w->thread, pthread_self()) || bytes < w->bytes;
    w->bytes = bytes;
    return ++w->ticks == w->stop_at;
}

TEST(a_watch_is_asked_on_the_callers_thread) {
    enum { N = 400000 };
    open_several(3);
    int64_t *keys = malloc(N * sizeof *keys);
    for (int64_t i = 0; i < N; i++) keys[i] = i % 1000 * 3;
    bf_array array = bf_array_of(BF_I64, keys, N);
    bf_groups *groups = NULL;
    assert_done(bf_groups_create(several, &BF_GROUPS_OPTIONS(.key = BF_I64), &groups));
    assert_done(bf_groups_absorb(groups, &array, NULL));
    int ended = 0;
    for (int stop_at = 1; ended < 2; stop_at++) {
        watcher w = {.thread = pthread_self(), .stop_at = stop_at};
        assert_done(bf_context_watch(several, &BF_WATCH(.tick = note_tick, .arg = &w)));
        bf_status status = bf_groups_absorb(groups, &array, NULL);
        assert_false(w.elsewhere);
        assert_done(bf_context_watch(several, NULL));
        assert_int_equal(status, w.ticks == stop_at ? BF_E_CANCELLED : BF_OK);
        ended += status == BF_OK;
        assert_int_equal(bf_groups_rows(groups), N * (1 + ended));
        assert_int_equal(bf_groups_size(groups), 1000);
        if (stop_at > 100) break; /* enough */
    }
    int64_t counts[1000], all = 0;
    bf_array of = bf_array_of(BF_I64, counts, 1000);
    assert_done(bf_groups_list(groups, NULL, &of));
    for (int i = 0; i < 1000; i++) all += counts[i];
    assert_int_equal(all, N * (1 + ended));
    bf_groups_destroy(groups);
    bf_context_destroy(several);
    free(keys);
}

UNIT_TESTS(gpus, load_driver, close_alone)
