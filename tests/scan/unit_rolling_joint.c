/* Windows of powers and of pairs: each has the bits of the reduction of its elements alone, on
 * every context. Python's tests compare both with fractions.
 *
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { N = 240 / DATA_SHARE, LONG = 60000 / DATA_SHARE };

typedef struct windows {
    bf_reduction op;
    bf_array a, b;
    bf_rolling_options options;
    int64_t every; /* only each of so many results is compared */
} windows;

static const bf_reduction ops[] = {BF_SKEW,  BF_KURTOSIS,  BF_COV, BF_CORR,
                                   BF_SLOPE, BF_INTERCEPT, BF_R2};
enum { OPS = sizeof ops / sizeof *ops };

static char first_array[16 * LONG + 16], second_array[16 * LONG + 16];
static double found[LONG], expected[LONG];

static bool is_of_pairs(bf_reduction op) { return bf_reduction_arrays(op) == 2; }

/* The result of elements [first, end). */
static double reduce(bf_context *context, const windows *w, int64_t first, int64_t end) {
    const size_t bytes = bf_dtype_size(w->a.dtype);
    const bf_array a =
        bf_array_of(w->a.dtype, (char *)w->a.data + (size_t)first * bytes, end - first);
    const bf_array b =
        bf_array_of(w->a.dtype, (char *)w->b.data + (size_t)first * bytes, end - first);
    const bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = w->options.nan, .ddof = w->options.ddof);
    bf_value v;
    assert_int_equal(is_of_pairs(w->op) ? bf_reduce_pair(context, w->op, &a, &b, &o, &v)
                                        : bf_reduce(context, w->op, &a, &o, &v),
                     BF_OK);
    return v.as.f64;
}

static void expect(const windows *w) {
    OWN(bf_context) *context = make_context(NULL, 1);
    const int64_t n = w->a.shape[0], size = w->options.window;
    const int64_t after = w->options.center ? (size - 1) / 2 : 0;
    for (int64_t k = 0; k < n; k += w->every) {
        const int64_t end = k + after + 1 < n ? k + after + 1 : n, first = k + after + 1 - size;
        expected[k] = reduce(context, w, first < 0 ? 0 : first, end);
    }
}

static void check_windows(bf_context *context, void *arg) {
    const windows *w = arg;
    const int64_t n = w->a.shape[0];
    const bf_array values = bf_array_of(BF_F64, found, n);
    const bf_status status =
        is_of_pairs(w->op) ? bf_rolling_pair(context, w->op, &w->a, &w->b, 0, &w->options, &values)
                           : bf_rolling(context, w->op, &w->a, 0, &w->options, &values);
    if (status != BF_OK) fail_msg("%s", bf_context_message(context));
    for (int64_t k = 0; k < n; k += w->every)
        if (memcmp(&found[k], &expected[k], sizeof *found) != 0)
            fail_msg("%s of %s, window %lld of %lld: %a, not %a", bf_reduction_name(w->op),
                     bf_dtype_name(w->a.dtype), (long long)k, (long long)w->options.window,
                     found[k], expected[k]);
}

static void try_windows(bf_reduction op, bf_dtype dtype, int64_t n, int64_t size, uint64_t seed) {
    windows w = {.op = op, .every = n > N ? 397 : 1};
    w.a = bf_array_of(dtype, first_array, n);
    w.b = bf_array_of(dtype, second_array, n);
    w.options = BF_ROLLING_OPTIONS(.window = size, .min_count = -1, .center = (int)(seed % 2),
                                   .ddof = (int)(seed / 2 % 2),
                                   .nan = seed % 3 ? BF_NAN_SKIP : BF_NAN_PROPAGATE);
    fill(dtype, first_array, n, (data_kind)(seed % KIND_COUNT), seed);
    fill(dtype, second_array, n, (data_kind)(seed / 7 % KIND_COUNT), seed + 1);
    expect(&w);
    on_every_context(check_windows, &w);
}

TEST(every_dtype) {
    uint64_t seed = 1;
    needs_no_threads();
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int i = 0; i < OPS; i++, seed += 5)
            try_windows(ops[i], all_dtypes[d], N, i % 3 == 0 ? 2 : i % 3 == 1 ? 9 : N, seed);
}

/* Long enough for several tiles. */
TEST(long_lines) {
    try_windows(BF_CORR, BF_F64, LONG, 50, 2);
    try_windows(BF_KURTOSIS, BF_F32, LONG, 500, 3);
    try_windows(BF_COV, BF_I64, LONG, 7, 4);
}

UNIT_TESTS(rolling_joint, NULL, NULL)
