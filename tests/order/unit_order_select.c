/* Selecting on the CPU: quantiles, medians, elements by position and the first k equal those of a
 * sort, with arithmetic in MPFR, whatever the dtype, the data, the threads and the instruction set.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "cpu/order/select/select.h"

enum { MOST = 1 << 20, RESULTS = 30, BITS = 4400 /* hold any interpolation of two f64 */ };
enum { THREADS_ALONE = CASE_STEP > 1 };

/* Elements by their places, those of a line or of each in turn; NaNs last, in order of their
 * positions. */
static uint64_t all_sorted[MOST], *sorted = all_sorted;
static int64_t sorted_index[MOST];
static char data[MOST * 8 + 8], results[MOST * 8 + 64], indices[MOST * 8];

/* ---- data ------------------------------------------------------------------------------------ */

typedef enum pattern {
    RANDOM_BITS, /* floats have all exponents, NaNs all payloads */
    NUMBERS,     /* floats are finite, in a few binades */
    FEW,
    EQUAL,
    ASCENDING,
    DESCENDING,
    HALF_EQUAL,
    SPECIALS, /* NaNs, infinities, zeros of both signs and a few others */
    ALL_NAN,
    PATTERNS
} pattern;

static uint64_t special(bf_dtype dtype, uint64_t random) {
    const uint64_t sign = random >> 40 & 1 ? sign_bit(dtype) : 0, inf = infinity_bits(dtype);
    switch (random % 8) {
    case 0: return sign | inf;
    case 1: return sign | inf | (random >> 41 & ((1u << fraction_bits(dtype) % 32) - 1)) | 1;
    case 2:
    case 3: return sign;
    case 4: return sign | 1;
    default: return sign | inf / 2;
    }
}

static uint64_t small_number(bf_dtype dtype, int64_t i, int64_t n) {
    if (!is_float(dtype)) return (uint64_t)(i - n / 2);
    const uint64_t middle = infinity_bits(dtype) / 2, step = (uint64_t)(i < n / 2 ? n / 2 - i : i);
    return (i < n / 2 ? sign_bit(dtype) : 0) | (middle + step % (middle / 2));
}

static uint64_t element_of(bf_dtype dtype, pattern p, int64_t i, int64_t n, uint64_t *seed) {
    const uint64_t random = next_random(seed);
    switch (p) {
    case RANDOM_BITS: return random;
    case FEW: return small_number(dtype, (int64_t)(random % 7), 7);
    case EQUAL: return is_float(dtype) ? infinity_bits(dtype) / 2 : 42;
    case ASCENDING: return small_number(dtype, i, n);
    case DESCENDING: return small_number(dtype, n - 1 - i, n);
    case HALF_EQUAL: return random % 2 ? 0 : next_random(seed);
    case SPECIALS: return is_float(dtype) ? special(dtype, random) : random % 3 - 1;
    case ALL_NAN: return is_float(dtype) ? infinity_bits(dtype) | random % 100 | 1 : ~(uint64_t)0;
    default: return random_element(dtype, KIND_NARROW, i, 0, seed);
    }
}

/* Data begin at an address of any alignment. */
static char *make_data(bf_dtype dtype, pattern p, int64_t n, uint64_t seed) {
    const size_t bytes = bf_dtype_size(dtype);
    char *x = data + seed % 8;
    for (int64_t i = 0; i < n; i++)
        store_bits(x + (size_t)i * bytes, bytes, element_of(dtype, p, i, n, &seed));
    return x;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static bf_order order_now; /* in which they are sorted */

typedef struct entry {
    uint64_t place, element;
    int64_t index;
} entry;
static entry entries[MOST];

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static bool nan_bits(bf_dtype dtype, uint64_t bits) {
    return is_float(dtype) && (bits & ~sign_bit(dtype)) > infinity_bits(dtype);
}

/* Sorts n elements; returns how many are NaNs. */
static int64_t sort_data(bf_dtype dtype, bf_order order, const char *x, int64_t n) {
    const size_t bytes = bf_dtype_size(dtype);
    int64_t nans = 0;
    order_now = order;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = load_bits(x + (size_t)i * bytes, bytes);
        nans += nan_bits(dtype, bits);
        entries[i] =
            (entry){bf_order_place(dtype, order, bits), dtype == BF_BOOL ? bits != 0 : bits, i};
    }
    if (SEVERAL_THREADS) return nans; /* nothing is compared */
    qsort(entries, (size_t)n, sizeof *entries, compare);
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = entries[i].element;
        sorted_index[i] = entries[i].index;
    }
    return nans;
}

/* Rounds x to a float dtype. */
static uint64_t round_to(bf_dtype to, const mpfr_t x) {
    const int p = fraction_bits(to) + 1, bias = (1 << (exponent_bits(to) - 1)) - 1;
    if (mpfr_nan_p(x)) return infinity_bits(to) | (uint64_t)1 << (p - 2);
    const uint64_t sign = mpfr_signbit(x) ? sign_bit(to) : 0;
    if (mpfr_inf_p(x)) return sign | infinity_bits(to);
    if (mpfr_zero_p(x)) return sign;
    long unit = mpfr_get_exp(x) - p;
    if (unit < 2 - bias - p) unit = 2 - bias - p;
    mpfr_t m;
    mpfr_init2(m, BITS);
    mpfr_abs(m, x, MPFR_RNDN);
    mpfr_mul_2si(m, m, -unit, MPFR_RNDN);
    mpfr_rint_roundeven(m, m, MPFR_RNDN);
    const uint64_t whole = mpfr_get_uj(m, MPFR_RNDN);
    mpfr_clear(m);
    /* The hidden bit adds one to the exponent. */
    const uint64_t field = (uint64_t)(unit - (2 - bias - p));
    const uint64_t bits = (field << (p - 1)) + whole;
    return sign | (bits < infinity_bits(to) ? bits : infinity_bits(to));
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return x == x ? bits : 0x7ff8000000000000;
}

/* x /= 10^scale */
static void unscale(mpfr_t x, int scale) {
    for (int i = 0; i < scale; i++) mpfr_div_ui(x, x, 10, MPFR_RNDN);
}

static uint64_t as_double(bf_dtype dtype, int scale, uint64_t bits) {
    mpfr_t x;
    mpfr_init2(x, BITS);
    get_element(x, dtype, &bits, 0);
    unscale(x, scale);
    const uint64_t result = bits_of(mpfr_get_d(x, MPFR_RNDN));
    mpfr_clear(x);
    return result;
}

/* A result: an element, or what lies between two. */
typedef struct expected {
    uint64_t bits;
    bf_dtype dtype;
} expected;

/* (a (1 - t) + b t) / 10^scale, exact, then rounded to a float dtype. */
static expected between(bf_dtype dtype, const bf_selection *s, uint64_t a, uint64_t b, double t) {
    if (t == 0 || (!is_float(dtype) && a == b)) return (expected){a, dtype};
    mpfr_t x, y, w;
    mpfr_inits2(BITS, x, y, w, (mpfr_ptr)NULL);
    get_element(x, dtype, &a, 0);
    get_element(y, dtype, &b, 0);
    mpfr_set_d(w, t, MPFR_RNDN);
    mpfr_mul(y, y, w, MPFR_RNDN);
    mpfr_ui_sub(w, 1, w, MPFR_RNDN);
    mpfr_mul(x, x, w, MPFR_RNDN);
    mpfr_add(x, x, y, MPFR_RNDN);
    unscale(x, s->scale);
    const expected result = {round_to(s->to, x), s->to};
    mpfr_clears(x, y, w, (mpfr_ptr)NULL);
    return result;
}

/* NumPy's virtual index, and what it makes of it. */
static double virtual_index(bf_quantile_method method, double n, double q) {
    switch (method) {
    case BF_QUANTILE_INVERTED_CDF:
    case BF_QUANTILE_AVERAGED_INVERTED_CDF: return n * q - 1;
    case BF_QUANTILE_CLOSEST_OBSERVATION: return (n * q - 1) - 0.5;
    case BF_QUANTILE_INTERPOLATED_INVERTED_CDF: return n * q + (0 + q * (1 - 0.0 - 1)) - 1;
    case BF_QUANTILE_HAZEN: return n * q + (0.5 + q * (1 - 0.5 - 0.5)) - 1;
    case BF_QUANTILE_WEIBULL: return n * q + (0 + q * (1 - 0.0 - 0)) - 1;
    case BF_QUANTILE_MEDIAN_UNBIASED: return n * q + (1.0 / 3 + q * (1 - 1.0 / 3 - 1.0 / 3)) - 1;
    case BF_QUANTILE_NORMAL_UNBIASED: return n * q + (0.375 + q * (1 - 0.375 - 0.375)) - 1;
    case BF_QUANTILE_MIDPOINT: return 0.5 * (floor((n - 1) * q) + ceil((n - 1) * q));
    default: return (n - 1) * q;
    }
}

static int64_t clamp(double at, int64_t n) {
    return at < 0 ? 0 : at > (double)(n - 1) ? n - 1 : (int64_t)at;
}

static expected quantile_of(bf_dtype dtype, const bf_selection *s, int64_t n, double q) {
    const bf_quantile_method method = s->method;
    const double at = virtual_index(method, (double)n, q), low = floor(at);
    const int64_t below = clamp(low, n), near = clamp(rint(at), n), above = clamp(ceil(at), n);
    double t = at - low;
    switch (method) {
    case BF_QUANTILE_LOWER: return (expected){sorted[below], dtype};
    case BF_QUANTILE_HIGHER:
    case BF_QUANTILE_INVERTED_CDF: return (expected){sorted[above], dtype};
    case BF_QUANTILE_NEAREST: return (expected){sorted[near], dtype};
    case BF_QUANTILE_CLOSEST_OBSERVATION:
        return (expected){sorted[clamp(t == 0 && fmod(low, 2) != 0 ? low : low + 1, n)], dtype};
    case BF_QUANTILE_AVERAGED_INVERTED_CDF: t = t == 0 ? 0.5 : 1; break;
    default: break;
    }
    if (at < 0 || at >= (double)(n - 1)) return (expected){sorted[clamp(at, n)], dtype};
    if (t == 1) return (expected){sorted[below + 1], dtype};
    return between(dtype, s, sorted[below], sorted[t == 0 ? below : below + 1], t);
}

static expected expected_result(const bf_selection *s, bf_dtype dtype, int64_t n, int64_t nans,
                                int i) {
    if (s->statistic == BF_STATISTIC_NTH) return (expected){sorted[s->positions[i]], dtype};
    if (nans > 0 && s->nan == BF_NAN_PROPAGATE)
        return (expected){infinity_bits(s->to) | (uint64_t)1 << (fraction_bits(s->to) - 1), s->to};
    n -= nans;
    if (s->statistic == BF_STATISTIC_QUANTILE) return quantile_of(dtype, s, n, s->q[i]);
    return between(dtype, s, sorted[(n - 1) / 2], sorted[n / 2], n % 2 == 1 ? 0 : 0.5);
}

/* The bits of result number i in memory: of what is selected, or the tag. */
static uint64_t bits_at(const bf_selection *s, int64_t i) {
    return load_bits(results + (size_t)i * (s->tagged ? 8 : bf_dtype_size(s->to)),
                     s->tagged ? 8 : bf_dtype_size(s->to));
}

static void check_value(const bf_selection *s, bf_dtype dtype, int64_t i, expected wanted) {
    uint64_t got = bits_at(s, s->tagged ? 2 * i : i), bits = wanted.bits;
    if (!s->tagged && wanted.dtype != s->to) bits = as_double(wanted.dtype, s->scale, bits);
    bits &= ~(uint64_t)0 >> (64 - 8 * bf_dtype_size(s->tagged ? wanted.dtype : s->to));
    if (got != bits || (s->tagged && bits_at(s, 2 * i + 1) != (uint64_t)wanted.dtype))
        fail_msg("%s, statistic %d, method %s, result %lld: %llx and not %llx",
                 bf_dtype_name(dtype), (int)s->statistic, bf_quantile_method_name(s->method),
                 (long long)i, (unsigned long long)got, (unsigned long long)bits);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static const bf_value nothing = {.dtype = BF_F64, .as.u64 = 0x4045000000000000};

/* Whether the sorted data have results. */
static bf_status expected_status(const bf_selection *s, int64_t n, int64_t nans) {
    if (nans > 0 && s->nan == BF_NAN_ERROR) return BF_E_NAN;
    const bool skipped = s->nan == BF_NAN_SKIP && s->statistic != BF_STATISTIC_NTH;
    return n - (skipped ? nans : 0) == 0 ? BF_E_EMPTY : BF_OK;
}

/* One line, whose elements are sorted. */
static void check_line(bf_context *c, bf_dtype dtype, const char *x, int64_t n, int64_t nans,
                       const bf_selection *s) {
    const bf_order_lines lines = {
        .dtype = dtype, .values = x, .count = 1, .length = n, .order = order_now};
    const size_t bytes = (size_t)bf_selection_bytes(s);
    const bf_status wanted = expected_status(s, n, nans);
    memset(results, 0x5a, (size_t)s->count * bytes + 8);
    const bf_status status = bf_cpu_select(c, &lines, s, results);
    if (status != wanted)
        fail_msg("%s, n %lld: status %d and not %d", bf_dtype_name(dtype), (long long)n,
                 (int)status, (int)wanted);
    assert_int_equal(results[(size_t)s->count * bytes], 0x5a);
    for (int i = 0; i < s->count && status == BF_OK && !SEVERAL_THREADS; i++)
        check_value(s, dtype, i, expected_result(s, dtype, n, nans, i));
}

static const double few_q[] = {0.5, 0.25, 0.75, 0, 1, 0.05, 0.95, 0.999, 0.5};

static void check_statistics(bf_context *c, bf_dtype dtype, const char *x, int64_t n, int64_t nans,
                             bf_nan_policy nan, bf_quantile_method method, uint64_t *seed) {
    double q[RESULTS];
    int64_t positions[RESULTS];
    bf_selection s = {.statistic = BF_STATISTIC_QUANTILE,
                      .count = 9,
                      .q = few_q,
                      .method = method,
                      .nan = nan,
                      .to = bf_quantile_dtype(dtype, method)};
    if (!is_float(dtype) && dtype != BF_BOOL)
        s.scale = (int)(next_random(seed) % (BF_SCALE_MOST + 1));
    check_line(c, dtype, x, n, nans, &s);
    for (int i = 0; i < RESULTS; i++) {
        const uint64_t random = next_random(seed);
        q[i] = i % 3 == 0 ? (double)(random % 1001) / 1000 : (double)random * 0x1p-64;
        if (i % 5 == 0) q[i] = ldexp(q[i], -(int)(random >> 20 & 1023)); /* a weight of many bits */
        positions[i] = (int64_t)(next_random(seed) % (uint64_t)(n + (n == 0)));
    }
    s.q = q;
    s.count = 1 + (int)(next_random(seed) % RESULTS);
    s.tagged = next_random(seed) % 2 == 0;
    check_line(c, dtype, x, n, nans, &s);
    s.tagged = false;
    s.q = NULL;
    s.positions = positions;
    s.statistic = BF_STATISTIC_NTH;
    s.to = dtype;
    check_line(c, dtype, x, n, nans, &s);
    s.statistic = BF_STATISTIC_MEDIAN;
    s.to = bf_median_dtype(dtype);
    s.count = 1;
    check_line(c, dtype, x, n, nans, &s);
}

static void check_all(bf_context *c, bf_dtype dtype, const char *x, int64_t n, int64_t nans,
                      uint64_t *seed) {
    try_context(c);
    for (int nan = 0; nan < 3; nan++)
        check_statistics(c, dtype, x, n, nans, (bf_nan_policy)nan,
                         (bf_quantile_method)(next_random(seed) % 13), seed);
}

enum { CONTEXTS_MOST = 16 };

/* A context of each instruction set, each with one thread more. */
static int make_sets(bf_context *c[CONTEXTS_MOST]) {
    int contexts = 0;
    for (int i = 0; bf_isa_name(i) != NULL; i++)
        if (bf_isa_available(i)) c[contexts++] = make_context(bf_isa_name(i), 1 + i);
    return contexts;
}

static void destroy_contexts(bf_context *const c[], int contexts) {
    for (int i = 0; i < contexts; i++) bf_context_destroy(c[i]);
}

static const int64_t sizes[] = {1, 2, 3, 7, 32, 33, 511, 513, 4096, 4097, 20001};
enum { SIZES = sizeof sizes / sizeof *sizes };

TEST(statistics_are_those_of_a_sort) {
    needs_no_threads();
    uint64_t seed = 1;
    bf_context *c[CONTEXTS_MOST];
    const int contexts = make_sets(c);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int p = 0; p < PATTERNS; p += CASE_STEP)
            for (int s = 0; s < SIZES; s++) {
                const int64_t n = sizes[s];
                const char *x = make_data(all_dtypes[d], (pattern)p, n, next_random(&seed));
                const int64_t nans = sort_data(all_dtypes[d], BF_ASCENDING, x, n);
                for (int i = 0; i < contexts; i++)
                    check_all(c[i], all_dtypes[d], x, n, nans, &seed);
            }
    destroy_contexts(c, contexts);
}

TEST(every_method_and_fraction_is_rounded_as_written) {
    needs_no_threads();
    uint64_t seed = 2;
    OWN(bf_context) *c = make_context(NULL, 1);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int p = 0; p < PATTERNS; p += CASE_STEP)
            for (int64_t n = 1; n < 60; n += 1 + n / (p == SPECIALS || p == NUMBERS ? 4 : 1)) {
                const char *x = make_data(all_dtypes[d], (pattern)p, n, next_random(&seed));
                const int64_t nans = sort_data(all_dtypes[d], BF_ASCENDING, x, n);
                for (int m = 0; m < 13; m++)
                    check_statistics(c, all_dtypes[d], x, n, nans, BF_NAN_SKIP,
                                     (bf_quantile_method)m, &seed);
            }
}

static const int thread_counts[] = {1, 2, 3, 8};

/* Makes one array of each pattern, by every third context. */
static int make_contexts(bf_context *c[CONTEXTS_MOST]) {
    int contexts = 0;
    for (int t = 0; t < 4; t++)
        for (int i = 0; bf_isa_name(i) != NULL; i++)
            if (bf_isa_available(i)) c[contexts++] = make_context(bf_isa_name(i), thread_counts[t]);
    return contexts;
}

TEST(large_lines_do_not_depend_on_the_threads) {
    uint64_t seed = 3;
    bf_context *c[CONTEXTS_MOST];
    const int contexts = make_contexts(c);
    static const bf_dtype some[] = {BF_F32, BF_F64, BF_I64, BF_U32, BF_F16, BF_U8};
    for (int p = 0; p < PATTERNS; p += THREADS_ALONE ? 3 : 1) {
        const bf_dtype dtype = some[p % 6];
        const int64_t n = MOST / DATA_SHARE - p * 1001;
        const char *x = make_data(dtype, (pattern)p, n, next_random(&seed));
        const int64_t nans = sort_data(dtype, BF_ASCENDING, x, n);
        for (int i = (p + p / 6) % 3; i < contexts; i += 3)
            check_statistics(c[i], dtype, x, n, nans, (bf_nan_policy)(i / 3 % 3),
                             (bf_quantile_method)(next_random(&seed) % 13), &seed);
    }
    destroy_contexts(c, contexts);
}

TEST(elements_of_other_orders_are_those_of_a_sort) {
    needs_no_threads();
    uint64_t seed = 4;
    int64_t positions[RESULTS];
    OWN(bf_context) *c = make_context(NULL, 2);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int p = 0; p < PATTERNS; p += CASE_STEP)
            for (int order = 0; order < 3; order++)
                for (int s = 0; s < SIZES; s += 3) {
                    const int64_t n = sizes[s];
                    const bf_dtype dtype = all_dtypes[d];
                    const char *x = make_data(dtype, (pattern)p, n, next_random(&seed));
                    const int64_t nans = sort_data(dtype, (bf_order)order, x, n);
                    for (int i = 0; i < RESULTS; i++)
                        positions[i] = (int64_t)(next_random(&seed) % (uint64_t)n);
                    const bf_selection nth = {.statistic = BF_STATISTIC_NTH,
                                              .count = RESULTS,
                                              .positions = positions,
                                              .to = dtype,
                                              .nan = order == 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE};
                    check_line(c, dtype, x, n, nans, &nth);
                }
}

/* ---- lines ----------------------------------------------------------------------------------- */

enum { LINES = 300 };

static int64_t nans_of[LINES];

static const char *begin_line(const bf_order_lines *lines, int64_t l) {
    const int64_t begin = bf_line_begin(lines, l);
    sorted = all_sorted + begin - bf_line_begin(lines, 0);
    return (const char *)lines->values + (size_t)begin * bf_dtype_size(lines->dtype);
}

static void sort_lines(const bf_order_lines *lines) {
    for (int64_t l = 0; l < lines->count; l++) {
        const char *x = begin_line(lines, l);
        nans_of[l] = sort_data(lines->dtype, BF_ASCENDING, x, bf_line_length(lines, l));
    }
    sorted = all_sorted;
}

/* Lines that are sorted. */
static void check_lines(bf_context *c, const bf_order_lines *lines, const bf_selection *s) {
    try_context(c);
    assert_int_equal(bf_cpu_select(c, lines, s, results), BF_OK);
    for (int64_t l = 0; l < lines->count && !SEVERAL_THREADS; l++) {
        const int64_t n = bf_line_length(lines, l), nans = nans_of[l];
        const bool some = expected_status(s, n, nans) == BF_OK;
        const expected none = {nothing.as.u64, nothing.dtype};
        begin_line(lines, l);
        for (int i = 0; i < s->count; i++)
            check_value(s, lines->dtype, i * lines->count + l,
                        some ? expected_result(s, lines->dtype, n, nans, i) : none);
    }
    sorted = all_sorted;
}

/* One line is longer than all others together, and some are empty. */
static int64_t make_offsets(int64_t *offsets, int64_t giant, uint64_t *seed) {
    offsets[0] = 3;
    for (int l = 0; l < LINES; l++) {
        const uint64_t random = next_random(seed);
        int64_t n = random % 5 == 0 ? 0 : (int64_t)(random >> 8) % (random % 7 == 0 ? 6000 : 50);
        if (l == LINES / 3) n = giant;
        offsets[l + 1] = offsets[l] + (n < 0 ? -n : n);
    }
    return offsets[LINES];
}

static void check_segments(bf_context *const c[2], const bf_order_lines *segments) {
    bf_selection s = {.statistic = BF_STATISTIC_QUANTILE,
                      .count = 5,
                      .q = few_q,
                      .nan = BF_NAN_SKIP,
                      .to = BF_F64,
                      .empty = &nothing};
    sort_lines(segments);
    for (int i = 0; i < 4; i++) {
        s.tagged = i % 2 == 1;
        check_lines(c[i / 2], segments, &s);
    }
}

static void check_rows(bf_context *const c[2], const bf_order_lines *rows) {
    const bf_selection quantiles = {
        .statistic = BF_STATISTIC_QUANTILE, .count = 5, .q = few_q, .to = BF_F64};
    const bf_selection median = {
        .statistic = BF_STATISTIC_MEDIAN, .count = 1, .to = bf_median_dtype(rows->dtype)};
    sort_lines(rows);
    for (int i = 0; i < 4; i++) check_lines(c[i / 2], rows, i % 2 ? &median : &quantiles);
}

TEST(many_lines_are_each_on_their_own) {
    uint64_t seed = 5;
    int64_t offsets[LINES + 1];
    for (int giant = 0; giant < 2; giant++) {
        bf_context *c[2];
        for (int i = 0; i < 2; i++) c[i] = make_context(NULL, thread_counts[giant + 2 * i]);
        for (int d = 0; d < DTYPE_COUNT; d += CASE_STEP) {
            const bf_dtype dtype = all_dtypes[d];
            const int64_t n = make_offsets(offsets, giant ? 400000 : 10, &seed);
            assert_true(n <= MOST);
            const char *x = make_data(dtype, (pattern)(d % PATTERNS), n, next_random(&seed));
            check_segments(c, &(bf_order_lines){.dtype = dtype,
                                                .values = x,
                                                .count = LINES,
                                                .length = 400000,
                                                .offsets = offsets});
            check_rows(c,
                       &(bf_order_lines){.dtype = dtype, .values = x, .count = 129, .length = 51});
        }
        destroy_contexts(c, 2);
    }
}

TEST(the_first_line_without_a_value_is_named) {
    static const int64_t offsets[] = {0, 3, 3, 5, 5};
    static const double x[] = {1, 2, 3, (double)NAN, 5};
    bf_selection s = {
        .statistic = BF_STATISTIC_MEDIAN, .count = 1, .to = BF_F64, .nan = BF_NAN_ERROR};
    const bf_order_lines lines = {
        .dtype = BF_F64, .values = x, .count = 4, .length = 3, .offsets = offsets};
    OWN(bf_context) *c = make_context(NULL, 2);
    assert_int_equal(bf_cpu_select(c, &lines, &s, results), BF_E_EMPTY);
    assert_non_null(strstr(bf_context_message(c), "the median of no elements (result 1)"));
    s.empty = &nothing;
    assert_int_equal(bf_cpu_select(c, &lines, &s, results), BF_E_NAN);
}

/* ---- the first k ----------------------------------------------------------------------------- */

/* One line, which is sorted, or all lines. */
static void check_top_of(bf_context *c, const bf_order_lines *lines, int64_t k, bool is_sorted) {
    const size_t bytes = bf_dtype_size(lines->dtype);
    assert_int_equal(bf_cpu_top(c, lines, k, results, indices), BF_OK);
    for (int64_t l = 0; l < lines->count && !SEVERAL_THREADS; l++) {
        const char *x = (const char *)lines->values + (size_t)(l * lines->length) * bytes;
        if (!is_sorted) sort_data(lines->dtype, lines->order, x, lines->length);
        for (int64_t i = 0; i < k; i++) {
            const size_t at = (size_t)(l * k + i);
            if (load_bits(results + at * bytes, bytes) != load_bits(&sorted[i], bytes) ||
                load_bits(indices + at * 8, 8) != (uint64_t)sorted_index[i])
                fail_msg("%s, order %d, n %lld, k %lld: element %lld of line %lld is wrong",
                         bf_dtype_name(lines->dtype), (int)lines->order, (long long)lines->length,
                         (long long)k, (long long)i, (long long)l);
        }
    }
}

TEST(the_first_of_a_line_are_those_of_a_stable_sort) {
    needs_no_threads();
    uint64_t seed = 6;
    bf_context *c[CONTEXTS_MOST];
    const int contexts = make_sets(c);
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int p = 0; p < PATTERNS; p += CASE_STEP)
            for (int s = 0; s < SIZES; s++) {
                const int64_t n = sizes[s];
                bf_order_lines lines = {.dtype = all_dtypes[d], .count = 1, .length = n};
                lines.order = (bf_order)(next_random(&seed) % 3);
                lines.values = make_data(lines.dtype, (pattern)p, n, next_random(&seed));
                sort_data(lines.dtype, lines.order, lines.values, n);
                for (int i = 0; i < contexts; i++) {
                    try_context(c[i]);
                    check_top_of(c[i], &lines, 1, true);
                    check_top_of(c[i], &lines, 1 + (int64_t)(next_random(&seed) % (uint64_t)n),
                                 true);
                    check_top_of(c[i], &lines, n, true);
                }
                lines.count = 1 + n / 50;
                lines.length = n / lines.count;
                for (int i = 0; i < contexts; i++) {
                    try_context(c[i]);
                    check_top_of(c[i], &lines, 1 + lines.length / 7, false);
                }
            }
    destroy_contexts(c, contexts);
}

TEST(the_first_of_large_lines_do_not_depend_on_the_threads) {
    uint64_t seed = 7;
    bf_context *c[CONTEXTS_MOST];
    const int contexts = make_contexts(c);
    static const bf_dtype some[] = {BF_F64, BF_F32, BF_I64, BF_U32, BF_BF16, BF_I8};
    for (int p = 0; p < PATTERNS; p += THREADS_ALONE ? 3 : 1) {
        const int64_t n = MOST / DATA_SHARE - p * 1001;
        bf_order_lines lines = {.dtype = some[p % 6], .count = 1, .length = n};
        lines.order = (bf_order)(p % 3);
        lines.values = make_data(lines.dtype, (pattern)p, n, next_random(&seed));
        sort_data(lines.dtype, lines.order, lines.values, n);
        for (int i = (p + p / 6) % 3; i < contexts; i += 3) {
            check_top_of(c[i], &lines, 100, true);
            check_top_of(c[i], &lines, 2048, true);
            check_top_of(c[i], &lines, 2049 + n / 3, true);
        }
    }
    destroy_contexts(c, contexts);
}

/* ---- names ----------------------------------------------------------------------------------- */

TEST(methods_have_names) {
    for (int m = 0; m < 13; m++) {
        const char *name = bf_quantile_method_name((bf_quantile_method)m);
        assert_int_equal(bf_quantile_method_from_name(name), m);
    }
    assert_int_equal(bf_quantile_method_from_name("mean"), -1);
    assert_string_equal(bf_quantile_method_name((bf_quantile_method)13), "?");
    assert_string_equal(bf_quantile_method_name((bf_quantile_method)-1), "?");
    assert_int_equal(bf_quantile_dtype(BF_I8, BF_QUANTILE_NEAREST), BF_I8);
    assert_int_equal(bf_quantile_dtype(BF_F16, BF_QUANTILE_LINEAR), BF_F64);
    assert_int_equal(bf_median_dtype(BF_F16), BF_F16);
    assert_int_equal(bf_median_dtype(BF_BOOL), BF_F64);
}

UNIT_TESTS(order_select, NULL, NULL)
