/* Rolling windows: each has the bits of the reduction of its elements alone, whatever the
 * instruction set, the threads, the strides and what has left the window.
 *
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { N = 700 / DATA_SHARE, LONG = 150000 / DATA_SHARE };

/* What a line's windows are. */
typedef struct line {
    bf_reduction op;
    bool counts;
    bf_dtype dtype, to;
    const char *data;
    int64_t n, pitch; /* pitch: elements from one to the next */
    bf_rolling_options options;
    int64_t every;       /* only each of so many results is compared */
    uint64_t *expected;  /* NULL, or each that is compared */
    const int64_t *keys; /* for windows of a span, in its unit */
    uint64_t span;
} line;

static char data[16 * LONG + 16], found[8 * LONG + 16];
static uint64_t expected[N * 9];

/* ---- oracle ---------------------------------------------------------------------------------- */

static bool is_nan_at(const line *l, int64_t i) {
    const size_t bytes = bf_dtype_size(l->dtype);
    return is_float(l->dtype) &&
           isnan(wide_float(l->dtype, load_bits(l->data + (size_t)(i * l->pitch) * bytes, bytes)));
}

static uint64_t nan_of(bf_dtype dtype) {
    return infinity_bits(dtype) | 1ull << (fraction_bits(dtype) - 1);
}

static uint64_t bits_of_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* An integer, or a float as it is, as the bits of a result. */
static uint64_t bits_of_extreme(const line *l, const bf_value *v) {
    if (is_float(l->dtype)) return load_bits((const char *)&v->as, bf_dtype_size(l->dtype));
    if (l->options.scale > 0) return bits_of_f64(bf_value_f64(v));
    if (l->dtype == BF_U64) return bits_of_f64((double)v->as.u64);
    const int unused = 64 - 8 * (int)bf_dtype_size(l->dtype);
    const uint64_t x = load_bits((const char *)&v->as, bf_dtype_size(l->dtype)) << unused;
    return bits_of_f64(is_signed(l->dtype) ? (double)((int64_t)x >> unused)
                                           : (double)(x >> unused));
}

/* The result of elements [first, end). */
static uint64_t expect_window(bf_context *context, const line *l, int64_t first, int64_t end) {
    const bf_rolling_options *o = &l->options;
    const int64_t usual = o->on != NULL ? 1 : o->window;
    const int64_t least = o->min_count == 0 ? usual : o->min_count < 0 ? 0 : o->min_count;
    const bool extreme = l->op == BF_MIN || l->op == BF_MAX;
    int64_t nans = 0;
    for (int64_t i = first; i < end; i++) nans += is_nan_at(l, i);
    if (end - first - (l->counts ? 0 : nans) < least) return nan_of(l->to);
    if (l->counts) return bits_of_f64((double)(end - first - nans));
    if (extreme && (nans == end - first || (nans > 0 && o->nan == BF_NAN_PROPAGATE)))
        return nan_of(l->to);
    const char *from = l->data + (size_t)(first * l->pitch) * bf_dtype_size(l->dtype);
    bf_array window = bf_array_of(l->dtype, from, end - first);
    window.strides[0] = l->pitch;
    bf_reduce_options reduce = {
        .size = sizeof reduce, .nan = o->nan, .ddof = o->ddof, .scale = o->scale};
    if (!extreme) reduce.out_dtype = l->to;
    bf_value v;
    assert_int_equal(bf_reduce(context, l->op, &window, &reduce, &v), BF_OK);
    if (extreme) return bits_of_extreme(l, &v);
    return l->to == BF_F32 ? load_bits((const char *)&v.as.f32, 4) : bits_of_f64(v.as.f64);
}

/* Is element i in the window of element `at`, by their keys? */
static bool is_within(const line *l, int64_t at, int64_t i) {
    const __int128 apart = (__int128)l->keys[i] - l->keys[at], span = l->span;
    return l->options.center ? -span < 2 * apart && 2 * apart <= span : -span < apart && apart <= 0;
}

/* Finds the window of element `at`. */
static void find_window(const line *l, int64_t at, int64_t *first, int64_t *end) {
    const bf_rolling_options *o = &l->options;
    const int64_t after = o->center ? (o->window - 1) / 2 : 0, before = o->window - 1 - after;
    *first = at > before ? at - before : 0;
    *end = after < l->n - 1 - at ? at + after + 1 : l->n;
    if (o->on == NULL) return;
    for (*first = 0; !is_within(l, at, *first);) ++*first;
    for (*end = l->n; !is_within(l, at, *end - 1);) --*end;
}

static int64_t step_of(const line *l) { return l->options.step > 0 ? l->options.step : 1; }

static void expect_windows(line *l) {
    const int64_t step = step_of(l);
    OWN(bf_context) *context = make_context(NULL, 1);
    l->expected = expected;
    for (int64_t k = 0; k * step < l->n; k += l->every) {
        int64_t first, end;
        find_window(l, k * step, &first, &end);
        expected[k / l->every] = expect_window(context, l, first, end);
    }
}

static void assert_windows(bf_context *context, const line *l, const char *values, int64_t pitch) {
    const size_t bytes = bf_dtype_size(l->to);
    const int64_t step = step_of(l);
    for (int64_t k = 0; k * step < l->n; k += l->every) {
        int64_t first, end;
        find_window(l, k * step, &first, &end);
        const uint64_t x = load_bits(values + (size_t)(k * pitch) * bytes, bytes);
        const uint64_t y =
            l->expected ? l->expected[k / l->every] : expect_window(context, l, first, end);
        if (x != y)
            fail_msg("%s of window %lld of %s, [%lld, %lld): %llx, not %llx",
                     l->counts ? "count" : bf_reduction_name(l->op), (long long)k,
                     bf_dtype_name(l->dtype), (long long)first, (long long)end,
                     (unsigned long long)x, (unsigned long long)y);
    }
}

static bf_status roll(bf_context *context, const line *l, const bf_array *x, int axis,
                      const bf_array *y) {
    if (l->counts) return bf_rolling_count(context, x, axis, &l->options, y);
    return bf_rolling(context, l->op, x, axis, &l->options, y);
}

static void check_line(bf_context *context, void *arg) {
    const line *l = arg;
    const int64_t step = step_of(l);
    bf_array x = bf_array_of(l->dtype, l->data, l->n);
    const bf_array y = bf_array_of(l->to, found + 1, (l->n + step - 1) / step);
    x.strides[0] = l->pitch;
    if (roll(context, l, &x, 0, &y) != BF_OK) fail_msg("%s", bf_context_message(context));
    assert_windows(context, l, found + 1, 1);
}

/* The windows are computed once, and on every context. */
static void try_line(line *l) {
    expect_windows(l);
    on_every_context(check_line, l);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_MIN, BF_MAX};

static void put_specials(const line *l, uint64_t seed) {
    const size_t bytes = bf_dtype_size(l->dtype);
    const uint64_t infinity = infinity_bits(l->dtype), sign = sign_bit(l->dtype);
    const uint64_t specials[] = {infinity, infinity | sign, infinity | 5, sign};
    for (int i = 0; i < 12 && l->n > 0; i++) {
        const int64_t at = (int64_t)(next_random(&seed) % (uint64_t)l->n);
        store_bits(data + 1 + (size_t)(at * l->pitch) * bytes, bytes, specials[i % 4]);
    }
}

/* A random one; the length and the window are given. */
static line make_line(int op, bf_dtype dtype, int64_t n, int64_t window, uint64_t seed) {
    line l = {.op = ops[op % 6], .counts = op == 6, .dtype = dtype, .n = n, .every = 1};
    l.data = data + 1;
    l.pitch = 1 + (int64_t)(seed % 3 == 0);
    l.options = (bf_rolling_options){.size = sizeof l.options,
                                     .nan = seed % 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE,
                                     .ddof = (int)(seed / 2 % 2),
                                     .center = (int)(seed / 4 % 2),
                                     .window = window,
                                     .step = (int64_t)(seed / 8 % 5)};
    if (seed % 3 == 1) l.options.min_count = -1;
    if (seed % 3 == 2) l.options.min_count = 1 + window / 2;
    if (op < 4 && seed % 5 == 0) l.options.out_dtype = BF_F32;
    if (!is_float(dtype) && dtype != BF_BOOL) l.options.scale = (int)(seed / 16 % 20);
    l.to = l.counts ? BF_F64 : bf_rolling_dtype(l.op, dtype, &l.options);
    fill(dtype, data + 1, n * l.pitch, (data_kind)(seed % KIND_COUNT), seed);
    if (is_float(dtype) && seed % 4 != 0) put_specials(&l, seed);
    return l;
}

TEST(every_dtype_and_window) {
    static const int64_t windows[] = {1, 2, 3, 10, 64, N - 1, N, N + 1, INT64_MAX};
    uint64_t seed = 1;
    needs_no_threads();
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int op = 0; op < 7; op++)
            for (int w = 0; w < 9; w += DATA_SHARE) {
                line l = make_line(op, all_dtypes[d], w < 4 ? N / (w + 1) : N, windows[w], seed);
                l.every = 1 + w / 4 * 5;
                seed += 7;
                try_line(&l);
            }
}

/* Long enough for several tiles. */
TEST(long_lines) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_I64, BF_BOOL};
    const int step = SEVERAL_THREADS ? 3 : 1;
    for (int d = 0; d < 5; d++)
        for (int op = d % step; op < 7; op += step) {
            line l = make_line(op, dtypes[d], LONG, op % 2 ? 7 : 5000, (uint64_t)(8 * op + 2 + d));
            l.options.step = d == 2 ? 2 : 1;
            l.pitch = 1;
            l.every = 389;
            try_line(&l);
        }
}

/* Elements that two doubles hold, and others a few or many binades further apart, of which one lies
 * far below a sum in the middle of two floats. */
TEST(sums_of_every_spread) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32};
    needs_no_threads();
    for (int spread = 0; spread < 130; spread += 3)
        for (int d = 0; d < 2; d++)
            for (int op = 0; op < 2; op++) {
                line l = make_line(op, dtypes[d], N, 1 + spread % 20, 4);
                uint64_t seed = (uint64_t)spread;
                l.options.step = 1;
                l.every = 3;
                l.pitch = 1;
                for (int64_t i = 0; i < N; i++) {
                    const uint64_t r = next_random(&seed);
                    double x = r % 3 == 0 ? ldexp(1, 53) : r % 3 == 1 ? 1 : ldexp(-1, -spread);
                    const float narrow = (float)x;
                    memcpy(data + 1 + i * (d ? 4 : 8), d ? (void *)&narrow : (void *)&x, d ? 4 : 8);
                }
                try_line(&l);
            }
}

/* Element i of a line on which sums of doubles have least room for error. */
typedef double (*number)(int64_t i, uint64_t r);

static double halves(int64_t i, uint64_t r) { /* means in the middle of two doubles */
    return 0x1p52 + (double)(i % 2) + (double)(r % 64 == 0);
}
static double narrow_halves(int64_t i, uint64_t r) { /* means in the middle of floats */
    return 0x1p23 + (double)(i % 2) + (double)(r % 64 == 0);
}
/* Sums of three near the middle. */
static double near_halves(int64_t i, uint64_t r) {
    return i % 3 < 2 ? 0x1p52 + (double)(i % 3) : ldexp((double)(r % 5) - 2, -40);
}
static double near_narrow_halves(int64_t i, uint64_t r) {
    return i % 3 < 2 ? 0x1p23 + (double)(i % 3) : ldexp((double)(r % 5) - 2, -40);
}
static double few_bits(int64_t i, uint64_t r) { /* variances in the middle */
    (void)i;
    return ldexp((double)(r % (1 << 24)), -(int)(r >> 40) % 4);
}
static double large(int64_t i, uint64_t r) { return 1e8 + (double)(i / 500) + (double)(r % 2); }
static double equal(int64_t i, uint64_t r) {
    (void)r;
    return 1 / (double)(1 + i / 1300);
}
static double outliers_between(int64_t i, uint64_t r) {
    return i % 3000 == 1 ? 1e300 : i % 3000 == 1500 ? (double)INFINITY : (double)(r % 1000) / 7;
}
static double subnormal(int64_t i, uint64_t r) {
    (void)i;
    return ldexp((double)(r % 1000) - 500, -1074);
}
static double wide(int64_t i, uint64_t r) {
    (void)i;
    return ldexp((double)(int64_t)r, -(int)(r % 61));
}
static double of_zeros(int64_t i, uint64_t r) { return i % 300 < 100 ? -0.0 : (double)(r % 2) - 1; }
static double with_nans(int64_t i, uint64_t r) {
    return i / 1000 % 2 == 1 && r % 50 == 0 ? (double)NAN : (double)(r % 100000) / 1000;
}
static double long_integer(int64_t i, uint64_t r) {
    return i % 4000 == 5 ? 0x1p60 : (double)(int64_t)(r >> 12) - 0x1p51;
}

static void store_number(bf_dtype dtype, int64_t i, double x) {
    const float narrow = (float)x;
    const int64_t integer = isnan(x) || fabs(x) > 0x1p62 ? 0 : (int64_t)x;
    if (dtype == BF_F64) memcpy(data + 1 + 8 * i, &x, 8);
    if (dtype == BF_F32) memcpy(data + 1 + 4 * i, &narrow, 4);
    if (dtype == BF_I64) memcpy(data + 1 + 8 * i, &integer, 8);
}

/* Several tiles, so that most windows are those of one element after another. */
TEST(results_near_halves) {
    static const number numbers[] = {
        narrow_halves, near_narrow_halves, halves,    near_halves, few_bits,  large,       equal,
        wide,          outliers_between,   subnormal, of_zeros,    with_nans, long_integer};
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_I64};
    static const int64_t windows[] = {1, 2, 3, 10, 1000};
    enum { M = 7000 / DATA_SHARE };
    uint64_t seed = 6;
    needs_no_threads();
    for (int kind = 0; kind < 13; kind++)
        for (int d = 0; d < 3; d++) {
            for (int64_t i = 0; i < M; i++)
                store_number(dtypes[d], i, numbers[kind](i, next_random(&seed)));
            for (int w = 0; w < 5; w++)
                for (int op = 0; op < 4; op++) {
                    line l = {ops[op], .dtype = dtypes[d], .data = data + 1, .n = M, .pitch = 1};
                    const int chosen = kind + d + w + op;
                    l.options = (bf_rolling_options){.size = sizeof l.options,
                                                     .window = windows[w],
                                                     .ddof = w % 2,
                                                     .center = chosen % 5 == 0,
                                                     .step = chosen % 7 == 0 ? 3 : 1};
                    l.options.min_count = chosen % 3 == 0 ? 1 : 0;
                    l.options.nan = chosen % 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE;
                    l.options.out_dtype = kind < 2 || chosen % 4 == 3 ? BF_F32 : BF_F64;
                    l.to = l.options.out_dtype;
                    l.every = w < 4 ? 11 : 173;
                    try_line(&l);
                }
        }
}

/* Keys that do not decrease: many are equal, over all integers of 64 bits or close together; or
 * most are one apart. */
static void fill_keys(int64_t *keys, int64_t n, uint64_t seed) {
    const bool everywhere = seed % 3 == 0, even = seed % 3 == 1;
    const uint64_t most = UINT64_MAX / (uint64_t)n;
    uint64_t key = everywhere ? (uint64_t)INT64_MIN : (uint64_t)-50;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t r = next_random(&seed);
        keys[i] = (int64_t)key;
        if (even)
            key += r % 256 < 254 ? 1 : r % 2 * 2;
        else
            key += r % 3 == 0 ? 0 : everywhere ? (r >> 8) % most : r / 3 % 4;
    }
}

/* Each key is also a double, in a unit of 1/8, if all are small. */
TEST(spans_of_keys) {
    static const uint64_t spans[] = {1,          2,          3,          10,        51,
                                     1ull << 40, 1ull << 58, 1ull << 63, UINT64_MAX};
    static int64_t keys[N];
    static double floats[N];
    needs_no_threads();
    for (uint64_t seed = 0; seed < 126 / DATA_SHARE; seed++) {
        const bf_dtype dtypes[] = {BF_F64, BF_I32, BF_F16};
        const int64_t n = 1 + (int64_t)(seed * 5 % (N - 1));
        line l = make_line((int)(seed % 7), dtypes[seed / 7 % 3], n, 2, seed);
        fill_keys(keys, n, seed);
        for (int i = 0; i < n; i++) floats[i] = (double)keys[i] / 8;
        l.keys = keys;
        l.span = spans[seed % 9];
        const bf_array whole = bf_array_of(BF_I64, keys, n),
                       eighths = bf_array_of(BF_F64, floats, n);
        const bf_value span = {.dtype = BF_U64, .as.u64 = l.span};
        const bf_value eighth = {.dtype = BF_F64, .as.f64 = (double)l.span / 8};
        const bool floating = seed % 2 && seed % 3 && seed % 9 < 8;
        l.options.window = 0;
        l.options.on = floating ? &eighths : &whole;
        l.options.span = floating ? &eighth : &span;
        try_line(&l);
    }
}

/* The difference of two keys is compared with the span exactly, and may overflow. */
TEST(spans_are_exact) {
    static const double least = 0x1p-1074, most = 0x1.fffffffffffffp1023;
    const struct {
        double low, high, span;
        double trailing, centered;
    } cases[] = {
        {-0x1p-60, 1, 1, 1, 1},          {0x1p-60, 1, 1, 2, 1},       {0x1p-60, 0.5, 1, 2, 2},
        {-0x1p-60, 0.5, 1, 2, 1},        {-most, most, most, 1, 1},   {0, most, most, 1, 1},
        {least, most, most, 2, 1},       {0, least, least, 1, 1},     {0, least, 2 * least, 2, 1},
        {0, 2 * least, 3 * least, 2, 1}, {0, least, 3 * least, 2, 2}, {-0.0, 0, least, 2, 2},
    };
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int center = 0; center < 2; center++) {
            const double keys[] = {cases[i].low, cases[i].high}, x[] = {3, 4};
            const bf_array from = bf_array_of(BF_F64, x, 2), on = bf_array_of(BF_F64, keys, 2);
            const bf_value span = {.dtype = BF_F64, .as.f64 = cases[i].span};
            const bf_rolling_options o = {
                .size = sizeof o, .on = &on, .span = &span, .center = center};
            double counts[2];
            const bf_array to = bf_array_of(BF_F64, counts, 2);
            assert_int_equal(bf_rolling_count(c, &from, 0, &o, &to), BF_OK);
            if (counts[1] != (center ? cases[i].centered : cases[i].trailing))
                fail_msg("case %d, centered %d: %g", (int)i, center, counts[1]);
        }
}

/* One window has all elements, and one behind it many of them, and not the first. */
TEST(windows_that_lose_the_first) {
    static int64_t keys[N];
    needs_no_threads();
    for (int i = 0; i < N; i++) keys[i] = i == 0 ? 0 : i == 1 ? 2 : i < N - 1 ? 7 : 8;
    const bf_array on = bf_array_of(BF_I64, keys, N);
    const bf_value span = {.dtype = BF_U64, .as.u64 = 12};
    for (int op = 0; op < 7; op++) {
        line l = make_line(op, BF_F64, N, 2, 1);
        l.options.center = 1;
        l.options.window = l.options.min_count = 0;
        l.options.on = &on;
        l.options.span = &span;
        l.keys = keys;
        l.span = 12;
        try_line(&l);
    }
}

/* Many short lines, of rows or of columns: their windows do not reach into each other. */
static void check_short_lines(bf_context *context, void *arg) {
    const line *whole = arg;
    line l = *whole;
    const int64_t step = step_of(&l), results = (l.n + step - 1) / step;
    const int64_t lines = N * 9 / l.n;
    const bf_array rows = {data + 1, l.dtype, 2, {lines, l.n}, {l.n, 1}};
    const bf_array columns = {data + 1, l.dtype, 2, {l.n, lines}, {1, l.n}};
    l.pitch = 1;
    for (int axis = 0; axis < 2; axis++) {
        const bf_array y = {found + 1,
                            l.to,
                            2,
                            {axis ? lines : results, axis ? results : lines},
                            {axis ? results : 1, axis ? 1 : results}};
        if (roll(context, &l, axis ? &rows : &columns, axis, &y) != BF_OK)
            fail_msg("%s", bf_context_message(context));
        for (int64_t i = 0; i < lines; i += 1 + CASE_STEP) {
            l.data = whole->data + i * l.n * (int64_t)bf_dtype_size(l.dtype);
            assert_windows(context, &l, found + 1 + i * results * (int64_t)bf_dtype_size(l.to), 1);
        }
    }
}

TEST(short_lines) {
    static const bf_dtype dtypes[] = {BF_F64, BF_I32, BF_F16};
    static const int64_t lengths[] = {1, 2, 5, 19, 127}, windows[] = {1, 2, 3, 5, 60, INT64_MAX};
    static int64_t keys[127];
    needs_no_threads();
    fill_keys(keys, 127, 1);
    for (uint64_t seed = 0; seed < 210 / DATA_SHARE; seed++) {
        line l = make_line((int)(seed % 7), dtypes[seed % 3], N * 9, windows[seed % 6], seed);
        l.n = lengths[seed % 5];
        const bf_array on = bf_array_of(BF_I64, keys, l.n);
        const bf_value span = {.dtype = BF_U64, .as.u64 = 4};
        if (seed % 4 == 0) {
            l.options.window = 0;
            l.options.on = &on;
            l.options.span = &span;
            l.keys = keys;
            l.span = 4;
        }
        on_every_context(check_short_lines, &l);
    }
}

/* What has left a window leaves no trace: between outliers its results are those without them. */
static void check_outliers(bf_context *context, void *arg) {
    enum { M = 20000, WINDOW = 50 };
    static double x[M], with[M], without[M];
    static const double outliers[] = {1e300, -1e300, 5e-324, 0x1p-1000, 1e308, -1e17};
    const bf_reduction op = *(const bf_reduction *)arg;
    const bf_rolling_options o = {.size = sizeof o, .window = WINDOW};
    const bf_array from = bf_array_of(BF_F64, x, M);
    bf_array to = bf_array_of(BF_F64, without, M);
    uint64_t seed = 3;
    for (int i = 0; i < M; i++) x[i] = 1 + (double)(next_random(&seed) % 1000) / 7;
    assert_int_equal(bf_rolling(context, op, &from, 0, &o, &to), BF_OK);
    for (int i = 500; i < M; i += 500) x[i] = outliers[i / 500 % 6];
    x[700] = (double)INFINITY;
    x[710] = (double)NAN;
    to.data = with;
    assert_int_equal(bf_rolling(context, op, &from, 0, &o, &to), BF_OK);
    for (int i = WINDOW; i < M; i++)
        if (i % 500 >= WINDOW && (i < 700 || i >= 710 + WINDOW))
            assert_memory_equal(&with[i], &without[i], 8);
    for (int i = 710; i < 710 + WINDOW; i++) assert_true(isnan(with[i]));
}

TEST(outliers_leave_no_trace) {
    for (int op = 0; op < 6; op++) on_every_context(check_outliers, (void *)(uintptr_t)&ops[op]);
}

/* Windows that grow are prefixes. What doubles round of small elements decides some results, which
 * limbs make, and doubles go on. */
static void check_growing(bf_context *context, void *arg) {
    enum { M = 40000 / DATA_SHARE };
    static double x[M], sums[M], prefixes[M];
    (void)arg;
    const bf_rolling_options o = {.size = sizeof o, .window = INT64_MAX, .min_count = 1};
    const bf_array from = bf_array_of(BF_F64, x, M), to = bf_array_of(BF_F64, sums, M);
    const bf_array wanted = bf_array_of(BF_F64, prefixes, M);
    uint64_t seed = 9;
    for (int i = 0; i < M; i++)
        x[i] = ((double)(next_random(&seed) >> 11) * 0x1p-53 - 0.5) * 0x1p-20;
    x[0] = 1000;
    assert_int_equal(bf_rolling(context, BF_SUM, &from, 0, &o, &to), BF_OK);
    assert_int_equal(bf_scan(context, BF_SUM, &from, 0, NULL, &wanted), BF_OK);
    assert_memory_equal(sums, prefixes, sizeof sums);
}

TEST(windows_that_grow_are_prefixes) { on_every_context(check_growing, NULL); }

/* Each axis of an array whose strides are not those of its shape. */
static void check_axes(bf_context *context, void *arg) {
    enum { A = 3, B = 41, C = 19 };
    (void)arg;
    bf_array x = {data + 1, BF_F32, 3, {A, B, C}, {2 * B * C, 2, -2 * B}};
    fill(BF_F32, data + 1, 2 * A * B * C, KIND_NARROW, 5);
    x.data = data + 1 + (size_t)(2 * B * (C - 1)) * 4;
    for (int axis = -3; axis < 3; axis++) {
        const int d = (axis + 3) % 3, other = d == 0, third = 3 - d - other;
        line l = {.op = BF_STD, .dtype = BF_F32, .to = BF_F64, .n = x.shape[d], .every = 1};
        l.options = (bf_rolling_options){.size = sizeof l.options, .window = 4, .min_count = 2};
        l.pitch = x.strides[d];
        bf_array y = {found + 1, BF_F64, 3, {A, B, C}, {1, A * C, A}};
        assert_int_equal(bf_rolling(context, BF_STD, &x, axis, &l.options, &y), BF_OK);
        for (int64_t i = 0; i < x.shape[other]; i++)
            for (int64_t j = 0; j < x.shape[third]; j++) {
                l.data = (char *)x.data + 4 * (i * x.strides[other] + j * x.strides[third]);
                const int64_t into = i * y.strides[other] + j * y.strides[third];
                assert_windows(context, &l, found + 1 + 8 * into, y.strides[d]);
            }
    }
}

TEST(axes) {
    needs_no_threads();
    on_every_context(check_axes, NULL);
}

TEST(known_results) {
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    const float x[5] = {4e-5f, 9e4f, 5e-5f, 5e-5f, 5e-5f};
    float means[5];
    double vars[5];
    const bf_array from = bf_array_of(BF_F32, x, 5);
    bf_array to = bf_array_of(BF_F32, means, 5);
    bf_rolling_options o = {.size = sizeof o, .window = 2, .out_dtype = BF_F32};
    assert_int_equal(bf_rolling(c, BF_MEAN, &from, 0, &o, &to), BF_OK);
    assert_true(isnan(means[0]));
    assert_true(means[3] == 5e-5f && means[4] == 5e-5f);
    o.out_dtype = BF_NONE;
    to = bf_array_of(BF_F64, vars, 5);
    assert_int_equal(bf_rolling(c, BF_VAR, &from, 0, &o, &to), BF_OK);
    assert_true(vars[2] > 0 && vars[3] == 0 && vars[4] == 0);

    const int64_t i128[4] = {-1, INT64_MAX, -1, INT64_MAX}; /* 2^127 - 1, twice */
    const bf_array wide = bf_array_of(BF_I128, i128, 2);
    to = bf_array_of(BF_F64, vars, 2);
    assert_int_equal(bf_rolling(c, BF_SUM, &wide, 0, &o, &to), BF_OK);
    assert_true(isnan(vars[0]) && vars[1] == 0x1p128);
    assert_int_equal(bf_rolling(c, BF_VAR, &wide, 0, &o, &to), BF_OK);
    assert_true(isnan(vars[0]) && vars[1] == 0);
    assert_int_equal(bf_rolling(c, BF_MAX, &wide, 0, &o, &to), BF_OK);
    assert_true(isnan(vars[0]) && vars[1] == 0x1p127);

    const int64_t low[10] = {5, 0, -1, 0, 0, 1, 7, 0, -1, -1}; /* 5, 2^64 - 1, 2^64, 7, -1 */
    const bf_array wide_and_low = bf_array_of(BF_I128, low, 5);
    to = bf_array_of(BF_F64, vars, 5);
    assert_int_equal(bf_rolling(c, BF_MIN, &wide_and_low, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 5 && vars[2] == 0x1p64 && vars[3] == 7 && vars[4] == -1);
    assert_int_equal(bf_rolling(c, BF_MAX, &wide_and_low, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 0x1p64 && vars[2] == 0x1p64 && vars[3] == 0x1p64 && vars[4] == 7);

    o.scale = 1;
    const int64_t tenths[3] = {1, 2, 5};
    const bf_array decimals = bf_array_of(BF_I64, tenths, 3);
    to = bf_array_of(BF_F64, vars, 3);
    assert_int_equal(bf_rolling(c, BF_SUM, &decimals, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 0.3 && vars[2] == 0.7);
    assert_int_equal(bf_rolling(c, BF_MAX, &decimals, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 0.2 && vars[2] == 0.5);
    assert_int_equal(bf_rolling(c, BF_VAR, &decimals, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 0.0025 && vars[2] == 0.0225);
    assert_int_equal(bf_rolling_count(c, &decimals, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 2);
    assert_int_equal(bf_rolling_median(c, &decimals, 0, &o, &to), BF_OK);
    assert_true(vars[1] == 0.15 && vars[2] == 0.35);
}

static void refuse(bf_context *c, bf_reduction op, const bf_array *x,
                   const bf_rolling_options *options, bf_status status) {
    double to[4] = {7, 7, 7, 7};
    const bf_array y = bf_array_of(BF_F64, to, 4);
    assert_int_equal(bf_rolling(c, op, x, 0, options, &y), status);
    for (int i = 0; i < 4; i++) assert_true(to[i] == 7);
}

TEST(errors) {
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    double x[4] = {1, 2, (double)NAN, 4};
    const bf_array from = bf_array_of(BF_F64, x, 4), shorter = bf_array_of(BF_F64, x, 3);
    const bf_rolling_options good = {.size = sizeof good, .window = 2};
    bf_rolling_options o = good;
    refuse(c, BF_PROD, &from, &good, BF_E_ARGUMENT);
    refuse(c, BF_SUM, &from, NULL, BF_E_ARGUMENT); /* no window */
    refuse(c, BF_SUM, &shorter, &good, BF_E_SHAPE);
    o.window = -3;
    refuse(c, BF_SUM, &from, &o, BF_E_ARGUMENT);
    o = good;
    o.min_count = 3;
    refuse(c, BF_SUM, &from, &o, BF_E_ARGUMENT);
    o.min_count = -2;
    refuse(c, BF_SUM, &from, &o, BF_E_ARGUMENT);
    o = good;
    o.step = -1;
    refuse(c, BF_SUM, &from, &o, BF_E_ARGUMENT);
    o.step = 2;
    refuse(c, BF_SUM, &from, &o, BF_E_SHAPE);
    o = good;
    o.ddof = 2;
    refuse(c, BF_VAR, &from, &o, BF_E_ARGUMENT);
    o = good;
    o.scale = 1; /* floats have none */
    refuse(c, BF_SUM, &from, &o, BF_E_ARGUMENT);
    o = good;
    o.nan = BF_NAN_ERROR;
    refuse(c, BF_SUM, &from, &o, BF_E_NAN);
    o = good;
    o.out_dtype = BF_F64;
    refuse(c, BF_MIN, &from, &o, BF_E_DTYPE);
    o.out_dtype = BF_I64;
    refuse(c, BF_SUM, &from, &o, BF_E_DTYPE);
    o.size = 3;
    refuse(c, BF_SUM, &from, &o, BF_E_ARGUMENT);
    assert_int_equal(bf_rolling(c, BF_SUM, &from, 0, &good, &from), BF_E_ARGUMENT);
    assert_int_equal(bf_rolling(c, BF_SUM, &from, 1, &good, &from), BF_E_ARGUMENT);
    assert_int_equal(bf_rolling_dtype(BF_SUM, BF_I8, &good), BF_F64);
    assert_int_equal(bf_rolling_dtype(BF_MIN, BF_F16, &good), BF_F16);
    assert_int_equal(bf_rolling_dtype(BF_MIN, BF_I128, &good), BF_F64);
    assert_int_equal(bf_rolling_dtype(BF_ARGMIN, BF_F64, &good), BF_NONE);
}

static void refuse_span(bf_context *c, bf_dtype dtype, const void *keys, int64_t n, bf_value span,
                        bf_status status) {
    static const double x[4] = {1, 2, 3, 4};
    const bf_array from = bf_array_of(BF_F64, x, 4), on = bf_array_of(dtype, keys, n);
    bf_rolling_options o = {.size = sizeof o, .on = &on, .span = &span};
    refuse(c, BF_MEAN, &from, &o, status);
    o.window = 1;
    refuse(c, BF_MEAN, &from, &o, BF_E_ARGUMENT);
}

TEST(errors_of_spans) {
    static const int64_t keys[] = {1, 2, 2, 1}, good[] = {1, 2, 2, 3};
    const double nan[] = {1, (double)NAN, 2, 3}, inf[] = {1, 2, 3, (double)INFINITY};
    const bf_value two = {.dtype = BF_I64, .as.i64 = 2}, none = {.dtype = BF_I64};
    const bf_value below = {.dtype = BF_I64, .as.i64 = -2},
                   float_two = {.dtype = BF_F64, .as.f64 = 2};
    const bf_value endless = {.dtype = BF_F64, .as.f64 = (double)INFINITY};
    const bf_value no_number = {.dtype = BF_F64, .as.f64 = (double)NAN},
                   no_dtype = {.dtype = BF_PAIR};
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    refuse_span(c, BF_I64, keys, 4, two, BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(c),
                        "a window is a number of elements, or a span of a key, not both");
    refuse_span(c, BF_F64, nan, 4, float_two, BF_E_NAN);
    refuse_span(c, BF_F64, inf, 4, float_two, BF_E_ARGUMENT);
    refuse_span(c, BF_I64, good, 3, two, BF_E_SHAPE);
    refuse_span(c, BF_I64, good, 4, none, BF_E_ARGUMENT);
    refuse_span(c, BF_I64, good, 4, below, BF_E_ARGUMENT);
    refuse_span(c, BF_I64, good, 4, float_two, BF_E_DTYPE);
    refuse_span(c, BF_F64, inf, 4, two, BF_E_DTYPE);
    refuse_span(c, BF_F64, inf, 4, endless, BF_E_ARGUMENT);
    refuse_span(c, BF_F64, inf, 4, no_number, BF_E_ARGUMENT);
    refuse_span(c, BF_I64, good, 4, no_dtype, BF_E_DTYPE);
    const bf_array x = bf_array_of(BF_F64, inf, 4), on = bf_array_of(BF_I64, good, 4);
    refuse(c, BF_SUM, &x, &(bf_rolling_options){.size = sizeof(bf_rolling_options), .on = &on},
           BF_E_ARGUMENT);
    refuse(c, BF_SUM, &x, &(bf_rolling_options){.size = sizeof(bf_rolling_options), .span = &two},
           BF_E_ARGUMENT);
}

UNIT_TESTS(rolling, NULL, NULL)
