/* An allocation may fail at any point: the call then says so, or does without; nothing leaks.
 * Builds: release, asan, tsan. */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { N = 1 << 19 };
static double data[N];

static int64_t counted_in(const bf_histogram *h) {
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram_describe(h, &info);
    int64_t n = info.below + info.above + info.nan;
    for (int64_t i = 0; i < info.bins; i++) n += bf_histogram_counts(h)[i];
    assert_int_equal(n, info.count);
    return n;
}

/* Attempts histograms: an absorb that fails leaves no trace. */
static bf_status attempt_histograms(bf_context *c, const bf_array *a, const bf_array *gathered) {
    static unsigned char saved[1 << 20];
    static int64_t counts[256], others;
    bf_histogram *h = NULL, *bytes = NULL, *back = NULL;
    bf_array u8 = bf_array_of(BF_U8, data, N);
    bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 300, .range = 1, .hi = 1e9, .weights = BF_F64);
    bf_status status = bf_histogram_of(c, a, a, &o, &h);
    if (status == BF_OK && bf_histogram_absorb(h, gathered, gathered) != BF_OK) {
        assert_int_equal(counted_in(h), N);
        status = BF_E_MEMORY;
    }
    if (status == BF_OK) status = bf_histogram_of(c, &u8, NULL, NULL, &bytes);
    if (status == BF_OK) status = bf_bincount(c, &u8, counts, 256, &others);
    if (status == BF_OK) assert_true(bf_histogram_save_size(h) <= sizeof saved);
    if (status == BF_OK) bf_histogram_save(h, saved);
    if (status == BF_OK) status = bf_histogram_load(c, saved, bf_histogram_save_size(h), &back);
    if (status == BF_OK) status = bf_histogram_merge(h, back);
    bf_histogram_destroy(h);
    bf_histogram_destroy(bytes);
    bf_histogram_destroy(back);
    return status;
}

static int64_t read_data(void *arg, int64_t at, int64_t most, void *const to[]) {
    (void)arg;
    const int64_t n = N - at < most ? N - at : most;
    memcpy(to[0], data + at, (size_t)n * sizeof *data);
    return n;
}

/* One attempt at everything: BF_OK, or the first failure. Threads keep memory of the C library's
 * while they live in its cache, so leaks are looked for with one thread only. */
static bf_status attempt(int threads, double *sum) {
    bf_context *c = NULL;
    bf_state *s = NULL, *t = NULL;
    bf_array a = bf_array_of(BF_F64, data, N), gathered = {data, BF_F64, 2, {3, N / 8}, {1, 7}};
    unsigned char saved[2048];
    bf_value v = {.dtype = BF_NONE};
    const bf_feed feed = BF_FEED(.arrays = 1, .dtype = {BF_F64}, .count = -1, .read = read_data);
    bf_status status = bf_context_create(&BF_OPTIONS(.threads = threads), &c);
    if (status == BF_OK) status = bf_sum_f64(c, data, N, sum);
    if (status == BF_OK) status = bf_state_create(c, BF_VAR, BF_F64, &s);
    if (status == BF_OK) status = bf_state_absorb(s, &a);
    if (status == BF_OK) status = bf_state_absorb(s, &gathered);
    if (status == BF_OK) status = bf_state_absorb_feed(s, &feed);
    if (status == BF_OK) status = bf_state_result(s, NULL, &v);
    if (status == BF_OK) bf_state_save(s, saved);
    if (status == BF_OK) status = bf_state_load(c, saved, bf_state_save_size(s), &t);
    if (status == BF_OK) status = bf_state_merge(s, t);
    if (status == BF_OK) status = bf_dot(c, &gathered, &gathered, NULL, &v);
    if (status == BF_OK) status = bf_reduce(c, BF_ARGMAX, &gathered, NULL, &v);
    if (status == BF_OK) status = attempt_histograms(c, &a, &gathered);
    bf_state_destroy(s);
    bf_state_destroy(t);
    bf_context_destroy(c);
    return status;
}

/* Lets the first k allocations through, for every k until none fails. */
static void fail_everywhere(int threads, bool leaks) {
    needs_failing_malloc();
    double expected, sum;
    fill(BF_F64, data, N, KIND_FULL, 1);
    assert_int_equal(attempt(threads, &expected), BF_OK);
    for (long k = 0;; k++) {
        long before = atomic_load(&live);
        atomic_store(&failures, 0);
        atomic_store(&until_failure, k);
        sum = expected;
        bf_status status = attempt(threads, &sum);
        atomic_store(&until_failure, -1);
        if (leaks) assert_int_equal(atomic_load(&live), before);
        if (status != BF_OK) assert_int_equal(status, BF_E_MEMORY);
        if (status != BF_OK) assert_true(atomic_load(&failures) > 0);
        assert_true(sum == expected);
        if (atomic_load(&failures) == 0) {
            assert_true(k > 1); /* this malloc is the one in use */
            return;
        }
    }
}

TEST(one_thread_without_memory) { fail_everywhere(1, true); }

TEST(several_threads_without_memory) { fail_everywhere(3, false); }

UNIT_TESTS(alloc, NULL, NULL)
