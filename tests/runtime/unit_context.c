/* Contexts: what they refuse, that they are independent, and that the caller's floating-point
 * environment neither changes a result nor is changed.
 * Builds: release, asan, tsan. */
#define _GNU_SOURCE
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum { SMALL = 20000, LARGE = 9 << 15 }; /* LARGE: enough for a pool of two to start */

static double *large_array(void) {
    double *x = malloc(LARGE * sizeof *x);
    fill(BF_F64, x, LARGE, KIND_FULL, 1);
    return x;
}

TEST(bad_options_are_refused) {
    bf_context *c = NULL;
    bf_options no_size = {.threads = 1};
    assert_int_equal(bf_context_create(&no_size, &c), BF_E_ARGUMENT);
    assert_int_equal(bf_context_create(NULL, NULL), BF_E_ARGUMENT);
    static const char *const devices[] = {"gpu", "", "CPU", "cudax", "cuda:", "cuda:-1", "cuda:1x"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        assert_int_equal(bf_context_create(&BF_OPTIONS(.device = devices[i]), &c), BF_E_ARGUMENT);
    bf_status all = bf_context_create(&BF_OPTIONS(.device = "cuda:all"), &c);
    assert_int_equal(all, bf_device_count() > 0 ? BF_OK : BF_E_DEVICE);
    bf_context_destroy(c);
    c = NULL;
    static const char *const missing[] = {"cuda:9999", "cuda:99999999999999999999"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        assert_int_equal(bf_context_create(&BF_OPTIONS(.device = missing[i]), &c), BF_E_DEVICE);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu", .stream = &c), &c),
                     BF_E_ARGUMENT);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.isa = "mmx"), &c), BF_E_ARGUMENT);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.isa = ""), &c), BF_E_ARGUMENT);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.threads = -1), &c), BF_E_ARGUMENT);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.threads = 1025), &c), BF_E_ARGUMENT);
    assert_null(c);
    bf_context_destroy(NULL);
}

/* There is no context that could keep the message. */
TEST(why_there_is_no_context_can_be_asked) {
    char text[BF_MESSAGE_TEXT];
    const struct {
        bf_options options;
        const char *says[3];
    } cases[] = {
        {BF_OPTIONS(.device = "gpu"), {"'gpu'", "cuda:all", "cuda:N"}},
        {BF_OPTIONS(.device = "cuda:x"), {"'cuda:x'", "auto", "cuda:N"}},
        {BF_OPTIONS(.device = "cuda:all", .stream = text), {"stream", "cuda:all", ""}},
        {BF_OPTIONS(.device = "cuda:9999"), {"", "", ""}},
        {BF_OPTIONS(.isa = "mmx"), {"'mmx'", "auto", "generic"}},
        {BF_OPTIONS(.threads = 1025), {"1025", "1024", ""}},
        {{.size = 1}, {"size", "", ""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bf_context_create_message(&cases[i].options, text);
        for (int k = 0; k < 3; k++)
            if (strstr(text, cases[i].says[k]) == NULL) fail_msg("%s", text);
        assert_true(strlen(text) > 0 && strchr(text, '\n') == NULL);
    }
    bf_context_create_message(&BF_OPTIONS(.device = "cpu"), text);
    assert_string_equal(text, "");
}

TEST(an_instruction_set_that_is_missing_is_a_device_error) {
    assert_string_equal(bf_isa_name(0), "generic");
    assert_true(bf_isa_available(0));
    assert_false(bf_isa_available(-1) || bf_isa_available(100));
    assert_null(bf_isa_name(-1));
    assert_null(bf_isa_name(100));
    for (int i = 0; bf_isa_name(i); i++) {
        OWN(bf_context) *c = NULL;
        bf_status status = bf_context_create(&BF_OPTIONS(.isa = bf_isa_name(i)), &c);
        assert_int_equal(status, bf_isa_available(i) ? BF_OK : BF_E_DEVICE);
        if (c) assert_string_equal(bf_context_isa(c), bf_isa_name(i));
    }
}

TEST(a_context_says_what_it_runs_on) {
    bf_context *c = NULL;
    assert_int_equal(bf_context_create(NULL, &c), BF_OK);
    assert_string_equal(bf_context_device(c), "cpu");
    assert_int_equal(bf_context_threads(c), bf_usable_threads());
    assert_true(bf_usable_threads() >= 1);
    assert_string_equal(bf_context_message(c), "");
    assert_true(strlen(bf_context_reason(c)) > 0);
    bf_context_destroy(c);
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu", .threads = 1024), &c), BF_OK);
    assert_string_equal(bf_context_reason(c), "");
    assert_int_equal(bf_context_threads(c), 1024);
    bf_context_destroy(c);
}

static size_t machine_cpus; /* a machine of so many; 0: this one */

/* Stands in for the C library's: as the kernel does, refuses a mask that is too short. */
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
    if (machine_cpus == 0) {
        long written = syscall(SYS_sched_getaffinity, pid, size, set);
        if (written < 0) return -1;
        memset((char *)set + written, 0, size - (size_t)written);
        return 0;
    }
    errno = EINVAL;
    if (8 * size < machine_cpus) return -1;
    memset(set, 0, size);
    CPU_SET_S(machine_cpus - 1, size, set);
    return 0;
}

/* The mask allows one CPU, the last. */
TEST(the_affinity_mask_of_many_cpus_is_read) {
    for (machine_cpus = 64; machine_cpus <= (size_t)1 << 17; machine_cpus *= 2)
        assert_int_equal(bf_usable_threads(), 1);
    machine_cpus = 0;
    assert_true(bf_usable_threads() >= 1);
}

TEST(a_gpu_can_be_used_or_there_is_a_reason) {
    bf_context *c = NULL;
    bool usable = bf_device_count() > 0;
    assert_true(usable == (*bf_device_reason() == '\0'));
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cuda"), &c),
                     usable ? BF_OK : BF_E_DEVICE);
    if (c) assert_string_equal(bf_context_device(c), "cuda:0");
    bf_context_destroy(c);
    bf_device_info info = {.size = 1};
    assert_int_equal(bf_device_describe(0, &info), BF_E_ARGUMENT);
    info.size = sizeof info;
    assert_int_equal(bf_device_describe(-1, &info), BF_E_DEVICE);
    assert_int_equal(bf_device_describe(bf_device_count(), &info), BF_E_DEVICE);
    for (int i = 0; i < bf_device_count(); i++) {
        assert_int_equal(bf_device_describe(i, &info), BF_OK);
        assert_true(info.memory > 0 && info.memory_free > 0 && info.multiprocessors > 0);
    }
}

TEST(memory_is_aligned_and_copied) {
    OWN(bf_context) *c = make_context(NULL, 1);
    void *a = NULL, *b = NULL;
    assert_int_equal(bf_memory_allocate(c, 1000, &a), BF_OK);
    assert_int_equal(bf_memory_allocate(c, 0, &b), BF_OK);
    assert_true(a && b && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0);
    assert_int_equal(bf_memory_copy(c, a, all_dtypes, sizeof all_dtypes), BF_OK);
    assert_memory_equal(a, all_dtypes, sizeof all_dtypes);
    assert_int_equal(bf_memory_copy(c, NULL, NULL, 0), BF_OK);
    assert_int_equal(bf_memory_copy(c, NULL, a, 1), BF_E_ARGUMENT);
    assert_int_equal(bf_memory_allocate(c, SIZE_MAX, &b), BF_E_MEMORY);
#if !defined(ADDRESS_SANITIZER) && !defined(THREAD_SANITIZER) /* sanitizers abort here, or take    \
                                                                 minutes */
    assert_int_equal(bf_memory_allocate(c, SIZE_MAX / 2, &b), BF_E_MEMORY);
#endif
    assert_int_equal(bf_memory_allocate(c, 1, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_memory_allocate(NULL, 1, &a), BF_E_ARGUMENT);
    bf_memory_free(c, a);
    bf_memory_free(c, b);
    bf_memory_free(c, NULL);
}

/* On the CPU: at once, with what is wrong with the data told in the value. */
TEST(enqueued_calls_are_done_on_the_cpu) {
    OWN(bf_context) *c = make_context(NULL, 1);
    double x[] = {1, 2, 4}, y[3];
    bf_value v;
    bf_array a = bf_array_of(BF_F64, x, 3), none = bf_array_of(BF_F64, x, 0);
    bf_array every_other = {x, BF_F64, 1, {2}, {2}}, out = bf_array_of(BF_F64, y, 3);
    const bf_array *inputs[] = {&a, &a}, *strided[] = {&every_other};
    assert_int_equal(bf_reduce_async(c, BF_SUM, &a, NULL, &v), BF_OK);
    assert_true(v.dtype == BF_F64 && v.as.f64 == 7);
    assert_int_equal(bf_dot_async(c, &a, &a, NULL, &v), BF_OK);
    assert_true(v.dtype == BF_F64 && v.as.f64 == 21);
    assert_int_equal(bf_reduce_async(c, BF_MIN, &none, NULL, &v), BF_OK);
    assert_int_equal(v.dtype, BF_NONE);
    assert_int_equal(bf_reduce_async(c, BF_SUM, &every_other, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce_async(c, BF_DOT, &a, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce_async(c, BF_DESCRIBE, &a, NULL, &v), BF_E_ARGUMENT);
    assert_int_equal(bf_reduce_async(c, BF_SUM, &a, NULL, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_map_async(c, BF_MAP_ADD, inputs, 2, NULL, &out), BF_OK);
    assert_true(y[0] == 2 && y[1] == 4 && y[2] == 8);
    out = bf_array_of(BF_F64, y, 2);
    assert_int_equal(bf_map_async(c, BF_MAP_NEG, strided, 1, NULL, &out), BF_E_ARGUMENT);
    assert_int_equal(bf_context_synchronize(c), BF_OK);
    assert_int_equal(bf_context_set_stream(c, NULL), BF_E_DEVICE);
    assert_int_equal(bf_context_leave_stream(c), BF_E_DEVICE);
}

TEST(every_number_has_a_name) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    assert_string_equal(bf_dtype_name(BF_##id), #name);                                            \
    assert_int_equal(bf_dtype_from_name(#name), BF_##id);                                          \
    assert_int_equal(bf_dtype_size(BF_##id), sizeof(type));
    BF_DTYPE_LIST(BF_X)
#undef BF_X
#define BF_X(id, number, name, state, result, text)                                                \
    assert_string_equal(bf_reduction_name(BF_##id), #name);                                        \
    assert_int_equal(bf_reduction_from_name(#name), BF_##id);                                      \
    assert_int_equal(bf_reduction_result(BF_##id), BF_RESULT_##result);
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
#define BF_X(id, number, name, inputs)                                                             \
    assert_string_equal(bf_map_name(BF_MAP_##id), #name);                                          \
    assert_int_equal(bf_map_from_name(#name), BF_MAP_##id);                                        \
    assert_int_equal(bf_map_arity(BF_MAP_##id), inputs);
    BF_MAP_LIST(BF_X)
#undef BF_X
#define BF_X(id, number, name)                                                                     \
    assert_string_equal(bf_duplicates_name(BF_DUPLICATES_##id), #name);                            \
    assert_int_equal(bf_duplicates_from_name(#name), BF_DUPLICATES_##id);
    BF_DUPLICATES_LIST(BF_X)
#undef BF_X
#define BF_X(id, number, name)                                                                     \
    assert_string_equal(bf_palette_name(BF_PALETTE_##id), #name);                                  \
    assert_int_equal(bf_palette_from_name(#name), BF_PALETTE_##id);
    BF_PALETTE_LIST(BF_X)
#undef BF_X
#define BF_X(id, number, message) assert_string_equal(bf_status_string(BF_##id), message);
    BF_STATUS_LIST(BF_X)
#undef BF_X
}

TEST(every_device_has_a_name) {
    const struct {
        const char *name;
        int device;
        const char *written; /* NULL: as it was read */
    } devices[] = {{"auto", BF_DEVICE_AUTO, NULL},
                   {"cpu", BF_DEVICE_CPU, NULL},
                   {"cuda:all", BF_DEVICE_ALL, NULL},
                   {"cuda:0", 0, NULL},
                   {"cuda:9", 9, NULL},
                   {"cuda:9999", 9999, NULL},
                   {"cuda", 0, "cuda:0"},
                   {"cuda:007", 7, "cuda:7"},
                   {NULL, BF_DEVICE_AUTO, "auto"}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        int device = 12345;
        char name[BF_DEVICE_TEXT];
        assert_int_equal(bf_device_parse(devices[i].name, &device), BF_OK);
        assert_int_equal(device, devices[i].device);
        bf_device_format(device, name);
        assert_string_equal(name, devices[i].written ? devices[i].written : devices[i].name);
    }
}

TEST(other_names_of_devices_are_refused) {
    static const char *const names[] = {"",
                                        "gpu",
                                        "Auto",
                                        "cpu ",
                                        "cpu:0",
                                        "cud",
                                        "cudax",
                                        "cuda ",
                                        "cuda:",
                                        "cuda:-1",
                                        "cuda:+1",
                                        "cuda: 1",
                                        "cuda:1x",
                                        "cuda:0x1",
                                        "cuda:1.",
                                        "cuda:ALL",
                                        "cuda:alls",
                                        "cuda:0,1",
                                        "cuda:99999999999999999999x"};
    static const char *const many[] = {"cuda:10000", "cuda:4294967296",
                                       "cuda:99999999999999999999"};
    int device = 12345;
    char name[BF_DEVICE_TEXT];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(bf_device_parse(names[i], &device), BF_E_ARGUMENT);
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        assert_int_equal(bf_device_parse(many[i], &device), BF_E_DEVICE);
    assert_int_equal(device, 12345);
    bf_device_format(INT_MAX, name);
    assert_string_equal(name, "cuda:2147483647");
    bf_device_format(-4, name);
    assert_string_equal(name, "?");
    bf_device_format(INT_MIN, name);
    assert_string_equal(name, "?");
}

TEST(other_numbers_and_names_are_refused) {
    assert_int_equal(bf_dtype_from_name("f65"), BF_NONE);
    assert_int_equal(bf_dtype_from_name(""), BF_NONE);
    assert_int_equal(bf_reduction_from_name("sums"), 0);
    assert_string_equal(bf_dtype_name((bf_dtype)99), "?");
    assert_string_equal(bf_reduction_name((bf_reduction)99), "?");
    assert_int_equal(bf_reduction_result((bf_reduction)99), 0);
    assert_int_equal(bf_reduction_arrays((bf_reduction)99), 0);
    assert_int_equal(bf_reduction_arrays(BF_DESCRIBE), 1);
    assert_int_equal(bf_reduction_arrays(BF_DOT), 2);
    assert_int_equal(bf_reduction_arrays(BF_WSTD), 2);
    assert_int_equal(bf_dtype_size((bf_dtype)99), 0);
    assert_string_equal(bf_map_name((bf_map_op)99), "?");
    assert_int_equal(bf_map_from_name("adds"), 0);
    assert_int_equal(bf_map_arity((bf_map_op)99), 0);
    assert_string_equal(bf_duplicates_name((bf_duplicates)99), "?");
    assert_int_equal(bf_duplicates_from_name("firsts"), -1);
    assert_string_equal(bf_palette_name((bf_palette)99), "?");
    assert_int_equal(bf_palette_from_name("grays"), 0);
    assert_non_null(bf_status_string((bf_status)99));
    assert_string_equal(bf_version(), "0.2.0");
}

TEST(messages_belong_to_the_last_failure) {
    OWN(bf_context) *c = make_context(NULL, 1), *other = make_context(NULL, 1);
    bf_array bad = bf_array_of(BF_F64, NULL, 3);
    bf_value v;
    assert_int_equal(bf_reduce(c, BF_SUM, &bad, NULL, &v), BF_E_ARGUMENT);
    assert_true(strlen(bf_context_message(c)) > 0);
    assert_null(strchr(bf_context_message(c), '\n'));
    assert_string_equal(bf_context_message(other), "");
}

/* All results of one array, as bytes: every operation but describe with f64 and f32 data. */
enum { OPS = BF_PROD };
typedef struct results {
    bf_value value[2 * OPS];
} results;

static void reduce_all(bf_context *c, const double *x, int64_t n, results *out) {
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2 * OPS; i++) {
        bf_array a = i < OPS ? bf_array_of(BF_F64, x, n) : bf_array_of(BF_F32, x, 2 * n);
        bf_reduce_options skip = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
        bf_reduction op = (bf_reduction)(i % OPS + 1);
        bf_status status = op == BF_DOT ? bf_dot(c, &a, &a, &skip, &out->value[i])
                                        : bf_reduce(c, op, &a, &skip, &out->value[i]);
        assert_int_equal(status, BF_OK);
    }
}

static const int rounding_modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* Three threads share a large array; for others a small one will do. */
typedef struct environment_case {
    const double *x;
    results small, large;
} environment_case;

static void reduce_case(bf_context *c, const environment_case *e, results *found) {
    reduce_all(c, e->x, bf_context_threads(c) == 3 ? LARGE : SMALL, found);
}

static const results *expected(bf_context *c, const environment_case *e) {
    return bf_context_threads(c) == 3 ? &e->large : &e->small;
}

static void check_rounding(bf_context *c, void *data) {
    environment_case *e = data;
    results found;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fesetround(rounding_modes[i]), 0);
        reduce_case(c, e, &found);
        int mode = fegetround();
        fesetround(FE_TONEAREST);
        assert_int_equal(mode, rounding_modes[i]);
        assert_memory_equal(&found, expected(c, e), sizeof found);
    }
}

static void check_flags(bf_context *c, void *data) {
    environment_case *e = data;
    results found;
    feclearexcept(FE_ALL_EXCEPT);
    reduce_case(c, e, &found);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
    feraiseexcept(FE_DIVBYZERO | FE_INEXACT);
    reduce_case(c, e, &found);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO | FE_INEXACT);
    feclearexcept(FE_ALL_EXCEPT);
    assert_memory_equal(&found, expected(c, e), sizeof found);
}

#ifdef __x86_64__
/* Flush to zero, denormals are zero, and every exception unmasked: one raised would be a SIGFPE. */
static void check_flush(bf_context *c, void *data) {
    environment_case *e = data;
    unsigned before = _mm_getcsr(), settings[] = {0x9fc0, 0x1fc0, 0x9f80, 0x8040};
    results found;
    for (int i = 0; i < 4; i++) {
        _mm_setcsr(settings[i]);
        reduce_case(c, e, &found);
        unsigned after = _mm_getcsr();
        _mm_setcsr(before);
        assert_int_equal(after, settings[i]);
        assert_memory_equal(&found, expected(c, e), sizeof found);
    }
}
#endif

static void try_environment(void (*check)(bf_context *, void *), data_kind k) {
    double *x = malloc(LARGE * sizeof *x);
    environment_case e = {.x = x};
    fill(BF_F64, x, LARGE, k, 3);
    bf_context *c = make_context("generic", 1);
    reduce_all(c, x, SMALL, &e.small);
    reduce_all(c, x, LARGE, &e.large);
    bf_context_destroy(c);
    on_every_context(check, &e);
    free(x);
}

/* With data of this kind and, if that does not take long, with any. */
static void run_environment(void (*check)(bf_context *, void *), data_kind k) {
    if (CASE_STEP > 1) leave_out("the same memory as in any environment: release compares results");
    try_environment(check, k);
    if (DATA_SHARE == 1) try_environment(check, KIND_FULL);
}

TEST(the_caller_s_rounding_mode_changes_nothing) { run_environment(check_rounding, KIND_NARROW); }

TEST(the_caller_s_exception_flags_stay) { run_environment(check_flags, KIND_NARROW); }

TEST(flush_to_zero_changes_nothing) {
#ifdef __x86_64__
    run_environment(check_flush, KIND_SUBNORMAL);
#else
    leave_out("no flush-to-zero mode is known here");
#endif
}

typedef struct worker {
    pthread_t thread;
    int threads;
    const double *x;
    double sum;
    bool agreed;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    bf_context *c = NULL;
    w->agreed = bf_context_create(&BF_OPTIONS(.threads = w->threads), &c) == BF_OK;
    for (int i = 0; i < 5 && w->agreed; i++) {
        double sum;
        w->agreed = bf_sum_f64(c, w->x, LARGE, &sum) == BF_OK && (i == 0 || sum == w->sum);
        w->sum = sum;
    }
    bf_context_destroy(c);
    return NULL;
}

TEST(contexts_on_different_threads_are_independent) {
    double *x = large_array();
    worker w[3] = {{.threads = 1, .x = x}, {.threads = 2, .x = x}, {.threads = 3, .x = x}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    for (int i = 0; i < 3; i++) pthread_join(w[i].thread, NULL);
    for (int i = 0; i < 3; i++) assert_true(w[i].agreed && w[i].sum == w[0].sum);
    free(x);
}

TEST(a_context_works_in_a_forked_child) {
#ifdef THREAD_SANITIZER
    leave_out("ThreadSanitizer allows no threads after fork");
#endif
    double *x = large_array(), sum, again;
    bf_context *c = make_context(NULL, 3);
    assert_int_equal(bf_sum_f64(c, x, LARGE, &sum), BF_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(30); /* a hang is a failure */
        bool right = bf_sum_f64(c, x, LARGE, &again) == BF_OK && again == sum;
        bf_context_destroy(c);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(bf_sum_f64(c, x, LARGE, &again), BF_OK);
    assert_true(again == sum);
    bf_context_destroy(c);
    free(x);
}

TEST(more_threads_than_work_is_fine) {
    OWN(bf_context) *c = make_context(NULL, 64), *one = make_context(NULL, 1);
    double *x = large_array(), a, b;
    for (int64_t n = 0; n < LARGE; n = n * 3 + 1) {
        assert_int_equal(bf_sum_f64(c, x, n, &a), BF_OK);
        assert_int_equal(bf_sum_f64(one, x, n, &b), BF_OK);
        assert_true(a == b);
    }
    free(x);
}

/* The signals that a thread blocks, from its file in /proc. */
static uint64_t blocked_by(const char *thread) {
    char path[300], line[256];
    unsigned long long mask = 0;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) sscanf(line, "SigBlk: %llx", &mask);
    fclose(f);
    return mask;
}

/* The threads that block SIGINT but none of the signals of their own faults. */
static int threads_with_faults(void) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    const uint64_t interrupt = (uint64_t)1 << (SIGINT - 1);
    uint64_t mask = interrupt;
    int n = 0;
    DIR *threads = opendir("/proc/self/task");
    assert_non_null(threads);
    for (int i = 0; i < 4; i++) mask |= (uint64_t)1 << (faults[i] - 1);
    for (struct dirent *d; (d = readdir(threads)) != NULL;)
        n += *d->d_name != '.' && (blocked_by(d->d_name) & mask) == interrupt;
    closedir(threads);
    return n;
}

/* So that a program's handler of SIGBUS works wherever the library reads what it has mapped. */
TEST(workers_block_signals_but_not_faults) {
    OWN(bf_context) *c = make_context(NULL, 2);
    double *x = large_array(), sum;
    assert_int_equal(threads_with_faults(), 0);
    assert_int_equal(bf_sum_f64(c, x, LARGE, &sum), BF_OK);
    /* A new thread blocks everything until it has started. */
    for (int tries = 0; threads_with_faults() == 0 && tries < 10000; tries++) usleep(1000);
    assert_int_equal(threads_with_faults(), 1);
    free(x);
}

UNIT_TESTS(context, NULL, NULL)
