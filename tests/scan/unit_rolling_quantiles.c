/* Medians and quantiles of rolling windows: each has the bits of that of its elements alone,
 * whatever the instruction set, the threads, the strides and what has left the window.
 *
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { N = 500 / DATA_SHARE, LONG = 60000 / DATA_SHARE, MOST = 3 };

/* A line, and what is looked for in its windows. */
typedef struct line {
    bf_dtype dtype;
    int64_t n, pitch; /* pitch: elements from one to the next */
    bf_rolling_options options;
    int64_t span; /* not 0: windows are of a span of the keys */
    double q[MOST];
    int m;         /* 0: the median */
    int64_t every; /* only each of so many results is compared */
} line;

static char data[32 * LONG + 16], found[8 * MOST * LONG + 16];
static int64_t keys[LONG];

/* ---- oracle ---------------------------------------------------------------------------------- */

static void find_window(const line *l, int64_t at, int64_t *first, int64_t *end) {
    const bf_rolling_options *o = &l->options;
    const int64_t after = o->center ? (o->window - 1) / 2 : 0, before = o->window - 1 - after;
    *first = at > before ? at - before : 0;
    *end = after < l->n - 1 - at ? at + after + 1 : l->n;
    if (l->span == 0) return;
    const int64_t up = o->center ? l->span / 2 : 0, down = l->span - up;
    for (*first = *end = at; *first > 0 && keys[at] - keys[*first - 1] < down; --*first) continue;
    while (*end < l->n && keys[*end] - keys[at] <= up) ++*end;
}

static bool is_nan_at(const line *l, int64_t i) {
    const size_t bytes = bf_dtype_size(l->dtype);
    if (!is_float(l->dtype)) return false;
    return isnan(wide_float(l->dtype, load_bits(data + 1 + (size_t)(i * l->pitch) * bytes, bytes)));
}

/* The dtype that quantiles have outside windows, and in them. */
static bf_dtype plain_dtype(const line *l) {
    return l->m == 0 ? bf_median_dtype(l->dtype) : bf_quantile_dtype(l->dtype, l->options.method);
}

static bf_dtype dtype_of_results(const line *l) {
    const bf_dtype to = plain_dtype(l);
    return is_float(to) ? to : BF_F64;
}

/* A float as it is, or an integer rounded once. */
static double number_at(bf_dtype dtype, const char *values, int64_t i) {
    mpfr_t x;
    mpfr_init2(x, 128);
    get_element(x, dtype, values, i);
    const double rounded = mpfr_get_d(x, MPFR_RNDN);
    mpfr_clear(x);
    return rounded;
}

/* Writes the results of elements [first, end) as numbers. */
static void expect(bf_context *context, const line *l, int64_t first, int64_t end, double *to) {
    const bf_rolling_options *o = &l->options;
    const int64_t usual = l->span != 0 ? 1 : o->window;
    const int64_t least = o->min_count == 0 ? usual : o->min_count < 0 ? 0 : o->min_count;
    int64_t nans = 0;
    for (int64_t i = first; i < end; i++) nans += is_nan_at(l, i);
    const int64_t there = end - first - nans;
    const bool none = there < least || there == 0 || (nans > 0 && o->nan == BF_NAN_PROPAGATE);
    for (int i = 0; none && i < MOST; i++) to[i] = (double)NAN;
    if (none) return;
    const size_t bytes = bf_dtype_size(l->dtype);
    bf_array window =
        bf_array_of(l->dtype, data + 1 + (size_t)(first * l->pitch) * bytes, end - first);
    window.strides[0] = l->pitch;
    char values[16 * MOST];
    const bf_order_options options = {.size = sizeof options, .nan = o->nan, .method = o->method};
    const bf_dtype dtype = plain_dtype(l);
    int axis = 0;
    bf_array made = {values, dtype, l->m > 0, {l->m}, {1}};
    if (l->m > 0)
        assert_int_equal(bf_quantile_axes(context, &window, &axis, 1, l->q, l->m, &options, &made),
                         BF_OK);
    else
        assert_int_equal(bf_median_axes(context, &window, &axis, 1, &options, &made), BF_OK);
    for (int i = 0; i < l->m || i < 1; i++) to[i] = number_at(dtype, values, i);
}

static void assert_windows(bf_context *context, const line *l) {
    const int64_t step = l->options.step > 0 ? l->options.step : 1, n = (l->n + step - 1) / step;
    const bf_dtype to = dtype_of_results(l);
    for (int64_t k = 0; k < n; k += l->every) {
        int64_t first, end;
        double expected[MOST];
        find_window(l, k * step, &first, &end);
        expect(context, l, first, end, expected);
        for (int i = 0; i < l->m || i < 1; i++) {
            const double x = number_at(to, found + 1, i * n + k), y = expected[i];
            if (isnan(x) ? !isnan(y) : memcmp(&x, &y, sizeof x) != 0)
                fail_msg("quantile %d of %d of window %lld of %s, [%lld, %lld): %.17g, not %.17g",
                         i, l->m, (long long)k, bf_dtype_name(l->dtype), (long long)first,
                         (long long)end, x, y);
        }
    }
}

static void check_line(bf_context *context, void *arg) {
    const line *l = arg;
    const int64_t step = l->options.step > 0 ? l->options.step : 1, n = (l->n + step - 1) / step;
    bf_array x = bf_array_of(l->dtype, data + 1, l->n);
    bf_array y = {found + 1, dtype_of_results(l), 2, {l->m, n}, {n, 1}};
    x.strides[0] = l->pitch;
    bf_status status;
    if (l->m > 0) {
        status = bf_rolling_quantile(context, &x, 0, l->q, l->m, &l->options, &y);
    } else {
        y = bf_array_of(y.dtype, found + 1, n);
        status = bf_rolling_median(context, &x, 0, &l->options, &y);
    }
    if (status != BF_OK) fail_msg("%s", bf_context_message(context));
    assert_windows(context, l);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void put_specials(const line *l, uint64_t seed) {
    const size_t bytes = bf_dtype_size(l->dtype);
    const uint64_t infinity = infinity_bits(l->dtype), sign = sign_bit(l->dtype);
    const uint64_t specials[] = {infinity, infinity | sign, infinity | 5, sign, 0};
    for (int i = 0; i < l->n / 9; i++) {
        const int64_t at = (int64_t)(next_random(&seed) % (uint64_t)l->n);
        store_bits(data + 1 + (size_t)(at * l->pitch) * bytes, bytes, specials[i % 5]);
    }
}

static line make_line(bf_dtype dtype, int64_t n, int64_t window, uint64_t seed) {
    uint64_t state = seed;
    line l = {.dtype = dtype, .n = n, .every = 1, .m = (int)(seed / 3 % (MOST + 1))};
    l.pitch = 1 + (int64_t)(seed % 3 == 0);
    l.options = (bf_rolling_options){.size = sizeof l.options,
                                     .nan = seed % 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE,
                                     .center = (int)(seed / 4 % 2),
                                     .window = window,
                                     .step = (int64_t)(seed / 8 % 5),
                                     .method = (bf_quantile_method)(seed % 13)};
    if (seed % 3 == 1) l.options.min_count = -1;
    if (seed % 3 == 2) l.options.min_count = 1 + window / 2;
    for (int i = 0; i < MOST; i++)
        l.q[i] = seed % 5 == 0 ? i / 2.0 : (double)(next_random(&state) >> 11) * 0x1p-53;
    fill(dtype, data + 1, n * l.pitch, (data_kind)(seed % KIND_COUNT), seed);
    if (is_float(dtype) && seed % 4 != 0) put_specials(&l, seed);
    return l;
}

TEST(every_dtype_and_window) {
    static const int64_t windows[] = {1, 2, 3, 10, 64, 65, N - 1, N + 1, INT64_MAX};
    uint64_t seed = 1;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int w = 0; w < 9; w += DATA_SHARE)
            for (int i = 0; i < 3; i++) {
                line l = make_line(all_dtypes[d], N / (i + 1), windows[w], seed);
                l.every = 1 + w / 3 * 7;
                seed += 5;
                on_every_context(check_line, &l);
            }
}

/* Doubles of all kinds, whose sums overflow, are subnormal or 0, or lie in the middle of two. */
TEST(middles) {
    for (int kind = 0; kind < KIND_COUNT; kind++)
        for (int window = 2; window < 7; window += 2) {
            line l = make_line(BF_F64, N, window, 8);
            l.m = 0;
            l.pitch = l.options.step = 1;
            fill(BF_F64, data + 1, N, (data_kind)kind, (uint64_t)window);
            if (window == 4) put_specials(&l, (uint64_t)kind);
            on_every_context(check_line, &l);
        }
}

/* Long enough for several tiles, whose ranks have several levels. */
TEST(long_lines) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_I64, BF_BOOL, BF_I128};
    for (int d = 0; d < 6; d++)
        for (int w = 0; w < 3; w++) {
            static const int64_t windows[] = {7, 300, 9000};
            line l = make_line(dtypes[d], LONG, windows[w], (uint64_t)(7 * d + w));
            l.every = 1 + 40 * windows[w] / l.n + 389;
            on_every_context(check_line, &l);
        }
}

/* Windows that grow, and shrink, and are far apart. */
TEST(spans) {
    for (int64_t i = 0; i < LONG; i++) keys[i] = i * (i % 1000 == 0 ? 2000 : i) / 8;
    for (int64_t i = 1; i < LONG; i++) keys[i] = keys[i] < keys[i - 1] ? keys[i - 1] : keys[i];
    for (int i = 0; i < 20; i++) {
        line l = make_line(i % 3 ? BF_F64 : BF_I32, i % 4 ? LONG / 5 : LONG, 1, (uint64_t)i * 3);
        const bf_array on = bf_array_of(BF_I64, keys, l.n);
        const bf_value span = {.dtype = BF_I64, .as.i64 = i % 2 ? 100 : 60000};
        l.span = span.as.i64;
        l.options.window = 0;
        l.options.on = &on;
        l.options.span = &span;
        l.every = 1 + l.n / 300;
        on_every_context(check_line, &l);
    }
}

/* Rows, and columns, of a matrix; the quantiles of each lie behind one another. */
TEST(axes) {
    enum { ROWS = 3, COLUMNS = 5 };
    static const double x[ROWS][COLUMNS] = {{5, 3, 9, 3, 1}, {1, 2, 4, 8, 16}, {7, 7, 0, 7, 7}};
    static const double rows[2][ROWS][COLUMNS] = {
        {{5, 3, 3, 3, 1}, {1, 1, 2, 4, 8}, {7, 7, 0, 0, 7}},
        {{5, 4, 6, 6, 2}, {1, 1.5, 3, 6, 12}, {7, 7, 3.5, 3.5, 7}}};
    static const double columns[2][2][COLUMNS] = {{{5, 3, 9, 3, 1}, {1, 2, 0, 7, 7}},
                                                  {{5, 3, 9, 3, 1}, {4, 4.5, 2, 7.5, 11.5}}};
    static const double q[2] = {0, 0.5};
    double to[2][ROWS][COLUMNS], middle[2][COLUMNS];
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    bf_rolling_options o = {.size = sizeof o, .window = 2, .min_count = 1};
    const bf_array from = {(void *)x, BF_F64, 2, {ROWS, COLUMNS}, {COLUMNS, 1}};
    bf_array y = {to, BF_F64, 3, {2, ROWS, COLUMNS}, {ROWS * COLUMNS, COLUMNS, 1}};
    assert_int_equal(bf_rolling_quantile(c, &from, 1, q, 2, &o, &y), BF_OK);
    assert_memory_equal(to, rows, sizeof rows);
    o.step = 2;
    y = (bf_array){to, BF_F64, 3, {2, 2, COLUMNS}, {2 * COLUMNS, COLUMNS, 1}};
    assert_int_equal(bf_rolling_quantile(c, &from, 0, q, 2, &o, &y), BF_OK);
    assert_memory_equal(to, columns, sizeof columns);
    y = (bf_array){middle, BF_F64, 2, {2, COLUMNS}, {COLUMNS, 1}};
    assert_int_equal(bf_rolling_median(c, &from, 0, &o, &y), BF_OK);
    assert_memory_equal(middle, columns[1], sizeof middle);
    memset(middle, 0, sizeof middle); /* the first extent of one quantile may be left out */
    assert_int_equal(bf_rolling_quantile(c, &from, 0, q + 1, 1, &o, &y), BF_OK);
    assert_memory_equal(middle, columns[1], sizeof middle);
}

static void refuse(bf_context *c, const double *q, int m, const bf_rolling_options *options,
                   bf_dtype dtype, bf_status status) {
    static const double x[4] = {1, 2, (double)NAN, 4};
    double to[4] = {7, 7, 7, 7};
    const bf_array from = bf_array_of(BF_F64, x, 4), y = bf_array_of(dtype, to, 4);
    assert_int_equal(bf_rolling_quantile(c, &from, 0, q, m, options, &y), status);
    for (int i = 0; i < 4; i++) assert_true(to[i] == 7);
}

TEST(errors) {
    static const double good[] = {0.5, 1}, above[] = {1.5}, nan[] = {(double)NAN};
    const bf_rolling_options usual = {.size = sizeof usual, .window = 2};
    bf_rolling_options o = usual;
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    refuse(c, above, 1, &usual, BF_F64, BF_E_ARGUMENT);
    refuse(c, nan, 1, &usual, BF_F64, BF_E_ARGUMENT);
    refuse(c, good, -1, &usual, BF_F64, BF_E_ARGUMENT);
    refuse(c, NULL, 0, &usual, BF_F64, BF_E_ARGUMENT);
    refuse(c, good, 2, &usual, BF_F64, BF_E_SHAPE);
    refuse(c, good, 1, &usual, BF_F32, BF_E_DTYPE);
    refuse(c, good, 0, &usual, BF_F64, BF_E_SHAPE);
    o.method = (bf_quantile_method)13;
    refuse(c, good, 1, &o, BF_F64, BF_E_ARGUMENT);
    o = usual;
    o.out_dtype = BF_F64;
    refuse(c, good, 1, &o, BF_F64, BF_E_DTYPE);
    o = usual;
    o.nan = BF_NAN_ERROR;
    refuse(c, good, 1, &o, BF_F64, BF_E_NAN);
}

UNIT_TESTS(rolling_quantiles, NULL, NULL)
