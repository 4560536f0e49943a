/* Scans: each prefix has the result of its elements alone, by MPFR and by integers of 128 bits;
 * whatever the instruction set, the threads, the strides and the direction.
 *
 * Builds: release, asan, tsan. */
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { N = 5000, ROWS = 70, COLUMNS = 37 };
enum { LONG = DATA_SHARE > 1 ? 70001 : 100007 /* so many of 8 bytes are worth two threads */ };

/* A line, and what its prefixes make. */
typedef struct line {
    bf_reduction op;
    bf_dtype dtype, to;
    int64_t n;
    bf_scan_options options;
    char *data, *expected; /* misaligned */
    uint64_t none;         /* the result of no elements */
} line;

static char data[16 * LONG + 16], expected[16 * LONG + 16], found[16 * LONG + 16],
    turned[16 * LONG + 16];

/* ---- oracles --------------------------------------------------------------------------------- */

/* The bits of x, not 0, rounded to a float. */
static uint64_t round_exact(const mpfr_t x, bf_dtype dtype) {
    const int fraction = fraction_bits(dtype), bias = (1 << (exponent_bits(dtype) - 1)) - 1;
    long e = (long)mpfr_get_exp(x) - 1; /* 2^e <= |x| */
    long unit = (e < 1 - bias ? 1 - bias : e) - fraction;
    MPFR_DECL_INIT(y, EXACT_BITS);
    mpfr_mul_2si(y, x, -unit, MPFR_RNDN);
    mpfr_rint(y, y, MPFR_RNDN);
    uint64_t magnitude = (uint64_t)llabs(mpfr_get_sj(y, MPFR_RNDN));
    uint64_t sign = mpfr_sgn(x) < 0 ? sign_bit(dtype) : 0;
    uint64_t field = (uint64_t)(unit + fraction + bias - 1) << fraction;
    uint64_t bits = field + magnitude;
    return sign | (bits > infinity_bits(dtype) ? infinity_bits(dtype) : bits);
}

static uint64_t float_bits(bf_dtype dtype, double x) {
    MPFR_DECL_INIT(exact, 53);
    mpfr_set_d(exact, x, MPFR_RNDN);
    return x == 0 ? 0 : round_exact(exact, dtype);
}

typedef struct floats {
    mpfr_t sum;
    bool nan, up, down, negative_zero, any;
} floats;

static void take_float(floats *f, const line *l, int64_t i) {
    const size_t bytes = bf_dtype_size(l->dtype);
    const double x = wide_float(l->dtype, load_bits(l->data + (size_t)i * bytes, bytes));
    if (isnan(x) && l->options.nan == BF_NAN_SKIP) return;
    f->nan |= isnan(x);
    f->up |= isinf(x) && x > 0;
    f->down |= isinf(x) && x < 0;
    f->negative_zero = (f->negative_zero || !f->any) && x == 0 && signbit(x);
    f->any = true;
    if (isfinite(x)) mpfr_add_d(f->sum, f->sum, x, MPFR_RNDN);
}

static uint64_t float_sum(const floats *f, const line *l) {
    const uint64_t infinity = infinity_bits(l->to);
    if (f->nan || (f->up && f->down)) return infinity | 1ull << (fraction_bits(l->to) - 1);
    if (f->up) return infinity;
    if (f->down) return infinity | sign_bit(l->to);
    if (mpfr_zero_p(f->sum)) return f->negative_zero ? sign_bit(l->to) : 0;
    return round_exact(f->sum, l->to);
}

static void expect_float_sums(const line *l) {
    const size_t bytes = bf_dtype_size(l->to);
    floats f = {.nan = false};
    mpfr_init2(f.sum, EXACT_BITS);
    mpfr_set_zero(f.sum, 1);
    for (int64_t i = 0; i < l->n; i++) {
        take_float(&f, l, i);
        store_bits(l->expected + (size_t)i * bytes, bytes, float_sum(&f, l));
    }
    mpfr_clear(f.sum);
}

static int64_t element_of(const line *l, int64_t i) {
    const size_t bytes = bf_dtype_size(l->dtype);
    const uint64_t x = load_bits(l->data + (size_t)i * bytes, bytes);
    const int unused = 64 - 8 * (int)bytes;
    if (l->dtype == BF_BOOL) return x != 0;
    return is_signed(l->dtype) ? (int64_t)(x << unused) >> unused : (int64_t)x;
}

/* Modulo 2^64. */
static void expect_integers(const line *l) {
    uint64_t total = l->op == BF_PROD;
    for (int64_t i = 0; i < l->n; i++) {
        const uint64_t x = (uint64_t)element_of(l, i);
        total = l->op == BF_PROD ? total * x : total + x;
        store_bits(l->expected + 8 * (size_t)i, 8, total);
    }
}

/* Is x before y, as a minimum? */
static bool is_less(const line *l, uint64_t x, uint64_t y) {
    if (!is_float(l->dtype)) {
        const int unused = 64 - 8 * (int)bf_dtype_size(l->dtype);
        if (is_signed(l->dtype)) return (int64_t)(x << unused) < (int64_t)(y << unused);
        return x < y;
    }
    const double a = wide_float(l->dtype, x), b = wide_float(l->dtype, y);
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static void expect_extremes(const line *l) {
    const size_t bytes = bf_dtype_size(l->dtype);
    bool nan = false, any = false;
    uint64_t best = l->none;
    for (int64_t i = 0; i < l->n; i++) {
        uint64_t x = load_bits(l->data + (size_t)i * bytes, bytes);
        if (l->dtype == BF_BOOL) x = x != 0;
        if (is_float(l->dtype) && isnan(wide_float(l->dtype, x))) {
            nan |= l->options.nan == BF_NAN_PROPAGATE;
        } else if (!any || (l->op == BF_MAX ? is_less(l, best, x) : is_less(l, x, best))) {
            best = x;
            any = true;
        }
        const uint64_t quiet = infinity_bits(l->dtype) | 1ull << (fraction_bits(l->dtype) - 1);
        store_bits(l->expected + (size_t)i * bytes, bytes, nan ? quiet : best);
    }
}

static void expect_results(line *l) {
    const size_t bytes = bf_dtype_size(l->to);
    l->none = l->op == BF_PROD;
    if (l->op == BF_MIN || l->op == BF_MAX) {
        static bf_value empty;
        l->none = is_float(l->dtype) ? float_bits(l->dtype, 3) : 1;
        empty = (bf_value){.dtype = l->dtype};
        store_bits(&empty.as, bytes, l->none);
        l->options.empty = &empty;
        expect_extremes(l);
    } else if (is_float(l->dtype)) {
        expect_float_sums(l);
    } else {
        expect_integers(l);
    }
}

/* The result at i, which an exclusive scan has of the elements before. */
static uint64_t expected_at(const line *l, int64_t i, bool exclusive) {
    const size_t bytes = bf_dtype_size(l->to);
    const int64_t at = i - exclusive;
    return at < 0 ? l->none : load_bits(l->expected + (size_t)at * bytes, bytes);
}

static bool are_expected(const line *l, const char *results, bool exclusive) {
    const size_t bytes = bf_dtype_size(l->to), first = exclusive ? bytes : 0;
    if (l->n == 0) return true;
    return load_bits(results, bytes) == expected_at(l, 0, exclusive) &&
           memcmp(results + first, l->expected, (size_t)l->n * bytes - first) == 0;
}

/* ---- ways ------------------------------------------------------------------------------------ */

static void turn(const char *from, char *to, size_t bytes, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const uint64_t element = load_bits(from + (size_t)i * bytes, bytes);
        store_bits(to + (size_t)(n - 1 - i) * bytes, bytes, element);
    }
}

static void assert_results(const line *l, const char *results, size_t step, bool exclusive,
                           const char *way) {
    const size_t bytes = bf_dtype_size(l->to);
    if (step == bytes && are_expected(l, results, exclusive)) return;
    for (int64_t i = 0; i < l->n; i++) {
        const uint64_t x = load_bits(results + (size_t)i * step, bytes);
        const uint64_t y = expected_at(l, i, exclusive);
        if (x != y)
            fail_msg("%s: prefix %lld of %s by %s is %llx, not %llx", way, (long long)i,
                     bf_dtype_name(l->dtype), bf_reduction_name(l->op), (unsigned long long)x,
                     (unsigned long long)y);
    }
}

static void scan(bf_context *context, const line *l, const char *from, char *to,
                 const bf_scan_options *options) {
    const bf_array x = bf_array_of(l->dtype, from, l->n), y = bf_array_of(l->to, to, l->n);
    if (bf_scan(context, l->op, &x, 0, options, &y) != BF_OK)
        fail_msg("%s", bf_context_message(context));
}

/* A line in three chunks, each after the state of those before; then the state has its result. */
static void check_chunks(bf_context *context, const line *l) {
    const size_t bytes = bf_dtype_size(l->dtype), to_bytes = bf_dtype_size(l->to);
    const int64_t ends[] = {0, l->n / 3, l->n / 3 + l->n / 2, l->n};
    char *to = found + 1;
    bf_state *state;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        bf_scan_options o = l->options;
        o.exclusive = exclusive;
        assert_int_equal(bf_state_create(context, l->op, l->dtype, &state), BF_OK);
        for (int i = 0; i < 3; i++) {
            const int64_t n = ends[i + 1] - ends[i];
            const bf_array x = bf_array_of(l->dtype, l->data + (size_t)ends[i] * bytes, n);
            const bf_array y = bf_array_of(l->to, to + (size_t)ends[i] * to_bytes, n);
            assert_int_equal(bf_state_scan(state, &x, &o, &y), BF_OK);
        }
        assert_results(l, to, to_bytes, exclusive, "in chunks");
        OWN(bf_state) *whole = NULL;
        const bf_array all = bf_array_of(l->dtype, l->data, l->n);
        assert_int_equal(bf_state_create(context, l->op, l->dtype, &whole), BF_OK);
        assert_int_equal(bf_state_absorb(whole, &all), BF_OK);
        assert_same_form(state, whole);
        bf_state_destroy(state);
    }
}

static void check_line(bf_context *context, void *arg) {
    const line *l = arg;
    const size_t bytes = bf_dtype_size(l->dtype), to_bytes = bf_dtype_size(l->to);
    bf_scan_options o = l->options;
    char *to = found + 1, *back = turned + 1;
    assert_int_equal(bf_scan_dtype(l->op, l->dtype, &o), l->to);
    scan(context, l, l->data, to, &o);
    assert_results(l, to, to_bytes, false, "forward");
    o.exclusive = 1;
    scan(context, l, l->data, to, &o);
    assert_results(l, to, to_bytes, true, "exclusive");
    o.reverse = 1;
    turn(l->data, back, bytes, l->n);
    scan(context, l, back, to, &o);
    turn(to, back, to_bytes, l->n);
    assert_results(l, back, to_bytes, true, "reverse and exclusive");
    o.exclusive = 0;
    turn(l->data, back, bytes, l->n);
    scan(context, l, back, to, &o);
    turn(to, back, to_bytes, l->n);
    assert_results(l, back, to_bytes, false, "reverse");
    if (l->n > 0) check_chunks(context, l);
    if (l->dtype != l->to) return;
    for (o.reverse = 0, o.exclusive = 0; o.exclusive < 2; o.exclusive++) {
        memcpy(to, l->data, (size_t)l->n * bytes);
        scan(context, l, to, to, &o);
        assert_results(l, to, to_bytes, o.exclusive, "in place");
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void put_specials(const line *l, uint64_t seed) {
    const size_t bytes = bf_dtype_size(l->dtype);
    const uint64_t infinity = infinity_bits(l->dtype), sign = sign_bit(l->dtype);
    const uint64_t specials[] = {infinity, infinity | sign, infinity | 5, infinity | sign | 1};
    for (int i = 0; i < 4 && l->n > 0; i++) {
        const int64_t at = (int64_t)(next_random(&seed) % (uint64_t)l->n);
        if (next_random(&seed) % 2) store_bits(l->data + (size_t)at * bytes, bytes, specials[i]);
    }
}

static const bf_reduction ops[] = {BF_SUM, BF_PROD, BF_MIN, BF_MAX};

static bool fill_line(line *l, bf_reduction op, bf_dtype dtype, int64_t n, data_kind kind,
                      uint64_t seed) {
    *l = (line){.op = op, .dtype = dtype, .n = n, .data = data + 1, .expected = expected + 1};
    l->options = (bf_scan_options){.size = sizeof l->options, .overflow = BF_OVERFLOW_WRAP};
    if (is_float(dtype)) l->options.nan = seed % 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE;
    if (is_float(dtype) && op == BF_SUM && seed % 3 == 0)
        l->options.out_dtype = all_dtypes[9 + seed / 3 % 4];
    l->to = bf_scan_dtype(op, dtype, &l->options);
    if (l->to == BF_NONE) return false;
    fill(dtype, l->data, n, kind, seed);
    return true;
}

TEST(every_dtype_and_length) {
    static const int64_t lengths[] = {0, 1, 2, 7, 64, 1023, 1024, 1025, N};
    uint64_t seed = 0;
    line l;
    needs_no_threads();
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int o = 0; o < 4; o++)
            for (int k = 0; k < KIND_COUNT; k++)
                for (int n = 0; n < 9; n += 1 + (k + o + d) % 2 * DATA_SHARE) {
                    if (!fill_line(&l, ops[o], all_dtypes[d], lengths[n], (data_kind)k, seed++))
                        continue;
                    if (is_float(l.dtype) && seed % 4 == 0) put_specials(&l, seed);
                    expect_results(&l);
                    on_every_context(check_line, &l);
                }
}

/* Long enough for several threads to take parts of it. */
TEST(long_lines) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_BF16, BF_I32, BF_U64, BF_BOOL};
    const int step = CASE_STEP > 1 ? CASE_STEP : DATA_SHARE > 1 ? 2 : 1;
    line l;
    for (int d = 0; d < 7; d++)
        for (int o = 0; o < 4; o += 1 + (d > 0))
            for (int k = (d + o) % CASE_STEP; k < KIND_COUNT; k += step + (d > 1)) {
                if (!fill_line(&l, ops[o], dtypes[d], LONG, (data_kind)k, (uint64_t)(k + 1)))
                    continue;
                expect_results(&l);
                on_every_context(check_line, &l);
            }
}

TEST(negative_zeros) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_BF16};
    line l;
    needs_no_threads();
    for (int d = 0; d < 4; d++)
        for (int64_t zeros = 0; zeros < 3000; zeros = zeros * 3 + 1) {
            const size_t bytes = bf_dtype_size(dtypes[d]);
            fill_line(&l, BF_SUM, dtypes[d], N, KIND_NARROW, 4);
            for (int64_t i = 0; i < zeros; i++)
                store_bits(l.data + (size_t)i * bytes, bytes, sign_bit(l.dtype));
            for (int64_t i = zeros + 1; i < zeros + 40; i++)
                store_bits(l.data + (size_t)i * bytes, bytes, i % 2 ? 0 : sign_bit(l.dtype));
            if (zeros % 2) store_bits(l.data + (size_t)zeros * bytes, bytes, 0);
            expect_results(&l);
            on_every_context(check_line, &l);
        }
}

/* Sums in the middle of two floats, of which elements far below them decide; and sums that come
 * back to where these are all that is left. */
TEST(ties_and_what_is_far_below) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_F16, BF_BF16};
    static const double below[] = {0, 0x1p-60, -0x1p-60, 0x1.8p-120, -0x1p-1000, 0x1p-24};
    line l;
    needs_no_threads();
    for (int d = 0; d < 4; d++)
        for (int b = 0; b < 6; b++)
            for (int more = 0; more < 2; more++) {
                const size_t bytes = bf_dtype_size(dtypes[d]);
                uint64_t seed = (uint64_t)(b + more);
                fill_line(&l, BF_SUM, dtypes[d], N, KIND_NARROW, 4);
                for (int64_t i = 0; i < N; i++) {
                    const uint64_t r = next_random(&seed);
                    double x = r % 4 ? (r % 3 ? 1 : -1) : 0;
                    if (i == 7 || i == 3000) x = ldexp(1, fraction_bits(dtypes[d]) + 1);
                    if (i == 2000) x = -ldexp(1, fraction_bits(dtypes[d]) + 1);
                    if (i == 5 || (more && r % 700 == 0)) x = below[b] * (1 + 0x1p-7 * more);
                    store_bits(l.data + (size_t)i * bytes, bytes, float_bits(dtypes[d], x));
                }
                expect_results(&l);
                on_every_context(check_line, &l);
            }
}

/* An element of any exponent. Many are powers of two 64 binades apart, the least or the greatest
 * float, or take the one before back: so sums carry far, change signs, and come back to 0. */
static double element_of_any_exponent(uint64_t *seed, double before, int least, int most) {
    const uint64_t r = next_random(seed);
    const int exponent = least + (int)(r >> 33) % (most - least);
    const double sign = r & 64 ? -1 : 1;
    switch (r % 8) {
    case 0:
    case 1: return -before;
    case 2: return sign * ldexp(1, least + (exponent - least) / 64 * 64);
    case 3: return sign * ldexp(1, least);
    case 4: return sign * ldexp(1, most - 1);
    case 5: return 0 * sign;
    default: return sign * ldexp(1 + (double)(r >> 40) * 0x1p-24, exponent);
    }
}

TEST(sums_of_all_exponents) {
    static const struct {
        bf_dtype dtype;
        int least, most;
    } formats[] = {{BF_F64, -1074, 1024}, {BF_F32, -149, 128}, {BF_BF16, -133, 128}};
    needs_no_threads();
    for (int f = 0; f < 3; f++)
        for (int k = 0; k < 6; k++) {
            const bf_dtype dtype = formats[f].dtype;
            const size_t bytes = bf_dtype_size(dtype);
            uint64_t seed = (uint64_t)(10 * f + k);
            double x = 1;
            line l;
            fill_line(&l, BF_SUM, dtype, N, KIND_NARROW, (uint64_t)(k < 4 ? 3 * k : 1));
            for (int64_t i = 0; i < N; i++) {
                x = element_of_any_exponent(&seed, x, formats[f].least, formats[f].most);
                store_bits(l.data + (size_t)i * bytes, bytes, float_bits(dtype, x));
            }
            expect_results(&l);
            on_every_context(check_line, &l);
        }
}

/* Each axis of an array whose strides are not those of its shape. */
static void check_axes(bf_context *context, void *arg) {
    enum { A = 3, B = 41, C = 19, ALL = A * B * C };
    const bf_dtype dtype = *(const bf_dtype *)arg;
    const size_t bytes = bf_dtype_size(dtype);
    bf_array x = {data + 1, dtype, 3, {A, B, C}, {2 * B * C, 2, -2 * B}}, y = x;
    fill(dtype, data + 1, 2 * ALL + 2 * B * C, KIND_NARROW, 5);
    const bf_scan_options o = {.size = sizeof o, .overflow = BF_OVERFLOW_WRAP};
    x.data = data + 1 + (size_t)(2 * B * (C - 1)) * bytes;
    for (int axis = -3; axis < 3; axis++) {
        const bf_dtype to = bf_scan_dtype(BF_SUM, dtype, &o);
        const size_t to_bytes = bf_dtype_size(to);
        const int64_t *shape = x.shape;
        const int d = (axis + 3) % 3;
        y = (bf_array){found + 1, to, 3, {A, B, C}, {1, A * C, A}};
        assert_int_equal(bf_scan(context, BF_SUM, &x, axis, &o, &y), BF_OK);
        for (int64_t i = 0; i < ALL / shape[d]; i++) {
            const int64_t at[3] = {d == 0 ? 0 : i % A, d == 1 ? 0 : (d == 0 ? i : i / A) % B,
                                   d == 2 ? 0 : i / (d == 0 ? B : A) % C};
            line l = {.op = BF_SUM, .dtype = dtype, .to = to, .n = shape[d], .options = o};
            int64_t from = 0, into = 0;
            char one[B * 8], results[B * 8];
            for (int k = 0; k < 3; k++) {
                from += at[k] * x.strides[k];
                into += at[k] * y.strides[k];
            }
            for (int64_t j = 0; j < shape[d]; j++)
                memcpy(one + (size_t)j * bytes,
                       (char *)x.data + (from + j * x.strides[d]) * (int64_t)bytes, bytes);
            l.data = one;
            l.expected = results;
            expect_results(&l);
            assert_results(&l, found + 1 + into * (int64_t)to_bytes,
                           (size_t)y.strides[d] * to_bytes, false, "along an axis");
        }
    }
}

TEST(axes) {
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_BF16, BF_I16, BF_U64};
    needs_no_threads();
    for (int d = 0; d < 5; d++) on_every_context(check_axes, (void *)(uintptr_t)&dtypes[d]);
}

/* ---- segments -------------------------------------------------------------------------------- */

enum { SEGMENTS_MOST = 1 << 15 };

/* A line whose prefixes begin again with each segment. */
typedef struct segmented {
    line all;
    int64_t segments, offsets[SEGMENTS_MOST + 1];
} segmented;

static segmented cut;

/* Cuts the line into segments of up to `longest` elements, a fifth of them empty, and the last as
 * long as what is left. */
static void cut_line(segmented *s, int64_t longest, uint64_t seed) {
    s->offsets[0] = s->segments = 0;
    for (int64_t at = 0; at < s->all.n; s->offsets[++s->segments] = at) {
        const uint64_t r = next_random(&seed);
        const int64_t n = r % 5 == 0 ? 0 : 1 + (int64_t)(r / 5 % (uint64_t)longest);
        at = s->all.n - at < n || s->segments + 1 == SEGMENTS_MOST ? s->all.n : at + n;
    }
}

static line part_of(const segmented *s, int64_t i) {
    line part = s->all;
    part.data += (size_t)s->offsets[i] * bf_dtype_size(part.dtype);
    part.expected += (size_t)s->offsets[i] * bf_dtype_size(part.to);
    part.n = s->offsets[i + 1] - s->offsets[i];
    return part;
}

static void expect_segments(segmented *s) {
    expect_results(&s->all); /* for its options */
    for (int64_t i = 0; i < s->segments; i++) {
        line part = part_of(s, i);
        expect_results(&part);
    }
}

static void scan_cut(bf_context *context, const segmented *s, const char *from, char *to,
                     const bf_scan_options *options) {
    static int32_t narrow[SEGMENTS_MOST + 1];
    const line *l = &s->all;
    const int64_t n = s->segments + 1;
    for (int64_t i = 0; i < n; i++)
        narrow[i] =
            (int32_t)(options->reverse ? l->n - s->offsets[s->segments - i] : s->offsets[i]);
    const bf_array x = bf_array_of(l->dtype, from, l->n), y = bf_array_of(l->to, to, l->n);
    const bf_array offsets = options->reverse || options->exclusive
                                 ? bf_array_of(BF_I32, narrow, n)
                                 : bf_array_of(BF_I64, s->offsets, n);
    if (bf_scan_segments(context, l->op, &x, &offsets, options, &y) != BF_OK)
        fail_msg("%s", bf_context_message(context));
}

static void assert_segments(const segmented *s, const char *results, bool exclusive,
                            const char *way) {
    const size_t bytes = bf_dtype_size(s->all.to);
    for (int64_t i = 0; i < s->segments; i++) {
        const line part = part_of(s, i);
        assert_results(&part, results + (size_t)s->offsets[i] * bytes, bytes, exclusive, way);
    }
}

static void check_segments(bf_context *context, void *arg) {
    const segmented *s = arg;
    const line *l = &s->all;
    const size_t bytes = bf_dtype_size(l->dtype), to_bytes = bf_dtype_size(l->to);
    char *to = found + 1, *back = turned + 1;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        bf_scan_options o = l->options;
        o.exclusive = exclusive;
        scan_cut(context, s, l->data, to, &o);
        assert_segments(s, to, exclusive, "segments");
        o.reverse = 1;
        turn(l->data, back, bytes, l->n);
        scan_cut(context, s, back, to, &o);
        turn(to, back, to_bytes, l->n);
        assert_segments(s, back, exclusive, "segments in reverse");
        if (l->dtype != l->to) continue;
        o.reverse = 0;
        memcpy(to, l->data, (size_t)l->n * bytes);
        scan_cut(context, s, to, to, &o);
        assert_segments(s, to, exclusive, "segments in place");
    }
}

/* Some have a few elements, and some end in the middle of what a thread takes. */
TEST(segments) {
    static const int64_t longest[] = {4, 90, 3000, 60000};
    const int step = CASE_STEP > 1 ? CASE_STEP : DATA_SHARE > 1 ? 3 : 1;
    uint64_t seed = 0;
    int number = 0;
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int o = 0; o < 4; o++)
            for (int n = (d + o) % 4; n < 4; n += is_float(all_dtypes[d]) && o == 0 ? 1 : 4) {
                if (number++ % step != 0) continue;
                const data_kind kind = (data_kind)(seed % KIND_COUNT);
                if (!fill_line(&cut.all, ops[o], all_dtypes[d], LONG, kind, seed++)) continue;
                if (is_float(cut.all.dtype) && seed % 2 == 0) put_specials(&cut.all, seed);
                cut_line(&cut, longest[n], seed);
                expect_segments(&cut);
                on_every_context(check_segments, &cut);
            }
}

/* What is wrong with offsets; and segments that have no result, whatever the others have. */
TEST(refused_segments) {
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    int64_t x[4] = {INT64_MAX, 1, 2, 3}, to[4] = {7, 7, 7, 7};
    static const struct {
        int64_t offsets[3];
        bf_status status;
    } cases[] = {{{0, 1, 4}, BF_OK},         {{0, 4, 4}, BF_E_OVERFLOW},
                 {{1, 2, 4}, BF_E_ARGUMENT}, {{0, 1, 3}, BF_E_ARGUMENT},
                 {{0, 5, 4}, BF_E_ARGUMENT}, {{-1, 1, 4}, BF_E_ARGUMENT}};
    const bf_array ax = bf_array_of(BF_I64, x, 4), values = bf_array_of(BF_I64, to, 4);
    for (int i = 5; i >= 0; i--) {
        const bf_array offsets = bf_array_of(BF_I64, cases[i].offsets, 3);
        assert_int_equal(to[0], 7);
        assert_int_equal(bf_scan_segments(c, BF_SUM, &ax, &offsets, NULL, &values),
                         cases[i].status);
    }
    assert_int_equal(to[0], INT64_MAX);
    assert_int_equal(to[3], 6);
    const bf_scan_options o = {.size = sizeof o, .exclusive = 1};
    const int64_t all[2] = {0, 4}, one[1] = {0};
    const bf_array whole = bf_array_of(BF_I64, all, 2), none = bf_array_of(BF_I64, one, 1);
    const bf_array wrong = bf_array_of(BF_U64, all, 2), nothing = bf_array_of(BF_I64, x, 0);
    assert_int_equal(bf_scan_segments(c, BF_MIN, &ax, &whole, &o, &values), BF_E_EMPTY);
    assert_int_equal(bf_scan_segments(c, BF_MIN, &ax, &wrong, NULL, &values), BF_E_DTYPE);
    assert_int_equal(bf_scan_segments(c, BF_MIN, &ax, &none, NULL, &values), BF_E_ARGUMENT);
    assert_int_equal(bf_scan_segments(c, BF_MIN, &nothing, &none, NULL, &nothing), BF_OK);
    assert_int_equal(bf_scan_segments(c, BF_MIN, &ax, &nothing, NULL, &values), BF_E_SHAPE);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refuse(bf_context *context, bf_reduction op, const bf_array *x,
                   const bf_scan_options *options, bf_status status) {
    char before[64];
    int64_t to[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    bf_array y = bf_array_of(bf_scan_dtype(op, x->dtype, options), to, x->shape[0]);
    memcpy(before, to, sizeof before);
    assert_int_equal(bf_scan(context, op, x, 0, options, &y), status);
    assert_memory_equal(before, to, sizeof before);
}

TEST(errors) {
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    int64_t i[3] = {INT64_MAX, 1, -1};
    uint64_t u[3] = {UINT64_MAX, 0, 1};
    double x[3] = {1, (double)NAN, 2};
    const bf_array ai = bf_array_of(BF_I64, i, 3), au = bf_array_of(BF_U64, u, 3);
    const bf_array ax = bf_array_of(BF_F64, x, 3);
    const bf_scan_options none = {.size = sizeof none};
    bf_scan_options o = none;
    refuse(c, BF_SUM, &ai, NULL, BF_E_OVERFLOW); /* although the whole sum fits */
    refuse(c, BF_SUM, &au, NULL, BF_E_OVERFLOW);
    i[1] = 3;
    refuse(c, BF_PROD, &ai, NULL, BF_E_OVERFLOW);
    o.nan = BF_NAN_ERROR;
    refuse(c, BF_SUM, &ax, &o, BF_E_NAN);
    o = (bf_scan_options){.size = sizeof o, .exclusive = 1};
    refuse(c, BF_MIN, &ax, &o, BF_E_EMPTY);
    o = (bf_scan_options){.size = sizeof o, .nan = BF_NAN_SKIP, .reverse = 1};
    x[2] = (double)NAN;
    refuse(c, BF_MAX, &ax, &o, BF_E_EMPTY);

    double y[6];
    bf_array to = bf_array_of(BF_F64, y, 3), wrong = bf_array_of(BF_F64, y, 2);
    assert_int_equal(bf_scan(c, BF_PROD, &ax, 0, NULL, &to), BF_E_DTYPE);
    assert_int_equal(bf_scan(c, BF_MEAN, &ax, 0, NULL, &to), BF_E_ARGUMENT);
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 1, NULL, &to), BF_E_ARGUMENT);
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 0, NULL, &wrong), BF_E_SHAPE);
    wrong = bf_array_of(BF_F64, x + 1, 3);
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 0, NULL, &wrong), BF_E_ARGUMENT);
    wrong = bf_array_of(BF_F32, y, 3);
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 0, NULL, &wrong), BF_E_DTYPE);
    o = none;
    o.out_dtype = BF_I64;
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 0, &o, &to), BF_E_DTYPE);
    assert_int_equal(bf_scan_dtype(BF_SUM, BF_F64, &o), BF_NONE);
    o = none;
    o.overflow = BF_OVERFLOW_SATURATE;
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 0, &o, &to), BF_E_ARGUMENT);
    o.size = 3;
    assert_int_equal(bf_scan(c, BF_SUM, &ax, 0, &o, &to), BF_E_ARGUMENT);
}

enum { PLACES = 41 };

/* From this place on, sums are at the edge of their dtype. A step beyond it behind them is refused,
 * although the sums after it come back. */
static void check_edge(bf_context *context, bf_dtype dtype, uint64_t edge, uint64_t step,
                       int place) {
    uint64_t x[PLACES] = {0}, to[PLACES], expected_sums[PLACES];
    const bf_array a = bf_array_of(dtype, x, PLACES), sums = bf_array_of(dtype, to, PLACES);
    x[0] = edge - step;
    x[place] += step;
    for (int i = 0; i < PLACES; i++) expected_sums[i] = i < place ? edge - step : edge;
    assert_int_equal(bf_scan(context, BF_SUM, &a, 0, NULL, &sums), BF_OK);
    assert_memory_equal(to, expected_sums, sizeof to);
    x[place + 1] = step;
    if (place + 2 < PLACES) x[place + 2] = 0 - step;
    assert_int_equal(bf_scan(context, BF_SUM, &a, 0, NULL, &sums), BF_E_OVERFLOW);
    assert_memory_equal(to, expected_sums, sizeof to);
}

static void check_edges(bf_context *context, void *unused) {
    (void)unused;
    for (int place = 0; place + 1 < PLACES; place++) {
        check_edge(context, BF_I64, INT64_MAX, 1, place);
        check_edge(context, BF_I64, (uint64_t)INT64_MIN, (uint64_t)-1, place);
        check_edge(context, BF_U64, UINT64_MAX, 1, place);
    }
}

TEST(edges) {
    needs_no_threads();
    on_every_context(check_edges, NULL);
}

/* Integers that are scanned where none may be too large: what wraps nowhere is so, and two elements
 * make it wrong, after which nothing is written, but to fresh values. */
typedef struct checked {
    bf_reduction op;
    bf_array array;
    int64_t place, next; /* where the two are */
} checked;

static void check_checked(bf_context *context, void *arg) {
    const checked *c = arg;
    const int64_t columns = c->array.ndim > 1 ? c->array.shape[1] : 1;
    const size_t bytes = (size_t)(c->array.shape[0] * columns) * sizeof(int64_t);
    int64_t *x = c->array.data;
    bf_array wrapped = c->array, values = c->array;
    wrapped.data = expected;
    values.data = found;
    for (int way = 0; way < 8; way++) {
        const int64_t kept[2] = {x[c->place], x[c->next]};
        bf_scan_options o = {.size = sizeof o, .exclusive = way & 1, .reverse = way & 2};
        o.overflow = BF_OVERFLOW_WRAP;
        assert_int_equal(bf_scan(context, c->op, &c->array, 0, &o, &wrapped), BF_OK);
        o.overflow = BF_OVERFLOW_ERROR;
        o.fresh = way & 4;
        memset(found, 0, bytes);
        assert_int_equal(bf_scan(context, c->op, &c->array, 0, &o, &values), BF_OK);
        assert_memory_equal(found, expected, bytes);
        x[c->place] = x[c->next] = INT64_MAX;
        assert_int_equal(bf_scan(context, c->op, &c->array, 0, &o, &values), BF_E_OVERFLOW);
        if (!o.fresh) assert_memory_equal(found, expected, bytes);
        x[c->place] = kept[0];
        x[c->next] = kept[1];
    }
}

TEST(checked_integers) {
    static const bf_reduction checked_ops[] = {BF_SUM, BF_PROD};
    const int64_t n = LONG, rows = n / COLUMNS;
    int64_t *x = (int64_t *)data;
    uint64_t seed = 3;
    for (int op = 0; op < 2; op++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t random = (int64_t)next_random(&seed);
            x[i] = op == 0 ? random >> 20 : random < 0 ? -1 : 1;
        }
        const bf_array all = bf_array_of(BF_I64, x, n);
        const bf_array table = {x, BF_I64, 2, {rows, COLUMNS}, {COLUMNS, 1}};
        for (int64_t place = 1; place < n - 2; place += n / 2 - 3) {
            checked c = {checked_ops[op], all, place, place + 1};
            on_every_context(check_checked, &c);
        }
        checked c = {checked_ops[op], table, rows / 2 * COLUMNS + 5, (rows / 2 + 1) * COLUMNS + 5};
        on_every_context(check_checked, &c);
    }
}

/* A state whose sum does not fit, of which the next prefixes come back. */
TEST(beyond_and_back) {
    needs_no_threads();
    OWN(bf_context) *c = make_context(NULL, 1);
    OWN(bf_state) *state = NULL;
    int64_t far[2] = {INT64_MAX, INT64_MAX}, x[3] = {-INT64_MAX, 5, INT64_MIN}, to[3] = {7, 7, 7};
    const bf_array before = bf_array_of(BF_I64, far, 2), after = bf_array_of(BF_I64, x, 3);
    const bf_array values = bf_array_of(BF_I64, to, 3), other = bf_array_of(BF_U64, x, 3);
    assert_int_equal(bf_state_create(c, BF_SUM, BF_I64, &state), BF_OK);
    assert_int_equal(bf_state_absorb(state, &before), BF_OK);
    assert_int_equal(bf_state_scan(state, &after, NULL, &values), BF_E_OVERFLOW);
    assert_int_equal(to[0], 7);
    x[1] = -5;
    assert_int_equal(bf_state_scan(state, &after, NULL, &values), BF_OK);
    assert_int_equal(to[0], INT64_MAX);
    assert_int_equal(to[1], INT64_MAX - 5);
    assert_int_equal(to[2], -6);
    assert_int_equal(bf_state_scan(state, &other, NULL, &values), BF_E_DTYPE);
    const bf_scan_options o = {.size = sizeof o, .reverse = 1};
    assert_int_equal(bf_state_scan(state, &after, &o, &values), BF_E_ARGUMENT);
}

/* i128: sums and extremes, and what does not fit. */
static void check_i128(bf_context *context, void *unused) {
    enum { M = 3000 };
    static int64_t x[2 * M], to[2 * M];
    __extension__ __int128 sum = 0;
    uint64_t seed = 9;
    (void)unused;
    for (int i = 0; i < 2 * M; i++) x[i] = (int64_t)next_random(&seed) >> (i % 2 ? 20 : 0);
    const bf_array from = bf_array_of(BF_I128, x, M), values = bf_array_of(BF_I128, to, M);
    assert_int_equal(bf_scan(context, BF_SUM, &from, 0, NULL, &values), BF_OK);
    for (int i = 0; i < M; i++) {
        __extension__ __int128 one;
        memcpy(&one, x + 2 * i, 16);
        sum += one;
        assert_memory_equal(&sum, to + 2 * i, 16);
    }
    x[1] = INT64_MAX;
    x[3] = INT64_MAX;
    assert_int_equal(bf_scan(context, BF_SUM, &from, 0, NULL, &values), BF_E_OVERFLOW);
    assert_int_equal(bf_scan(context, BF_MAX, &from, 0, NULL, &values), BF_OK);
    for (int i = 2; i < M; i++) assert_int_equal(to[2 * i + 1], INT64_MAX);
}

TEST(i128) {
    needs_no_threads();
    on_every_context(check_i128, NULL);
}

UNIT_TESTS(scan, NULL, NULL)
