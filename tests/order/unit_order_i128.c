/* Integers of 128 bits: sorted, ranked, searched and selected from as an order of __int128 has it,
 * and quantiles between them as MPFR has these; whatever the pattern, the strides, the alignment,
 * the instruction set and the threads. */
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <bitfold/order.h>

typedef __int128 i128;

enum { MOST = 200000, COLUMNS = 7, QUANTILES = 7 };

typedef struct entry {
    i128 x;
    int64_t index;
} entry;

/* The array, contiguous and aligned; the same off alignment and apart; results and the oracle's. */
static i128 values[MOST], sorted[MOST], expected[MOST];
static char apart[2 * sizeof values + 16];
static int64_t index_of[MOST], counts[MOST];
static double ranks[MOST];
static entry entries[MOST];

static const i128 least = (i128)((unsigned __int128)1 << 127);

/* ---- data ------------------------------------------------------------------------------------ */

typedef enum pattern { RANDOM, FEW, CLOSE, EXTREMES, FALLING, PATTERNS } pattern;

static i128 random_i128(uint64_t *seed) {
    const uint64_t high = next_random(seed);
    return (i128)((unsigned __int128)high << 64 | next_random(seed));
}

static i128 make_value(pattern p, int64_t i, uint64_t *seed) {
    const i128 x = random_i128(seed);
    switch (p) {
    case RANDOM: return x;
    case FEW: return (i128)((uint64_t)x % 7) * ((i128)1 << 100) - ((i128)3 << 100);
    case CLOSE: return -((i128)5 << 64) + (i128)((uint64_t)x % 1000);
    case EXTREMES: return (x & 3) == 0 ? least : (x & 3) == 1 ? ~least : (x & 3) == 2 ? -1 : 0;
    default: return -((i128)i << 70);
    }
}

static void make_values(pattern p, int64_t n) {
    uint64_t seed = (uint64_t)p * 77 + (uint64_t)n;
    memset(apart, 0x5a, sizeof apart);
    for (int64_t i = 0; i < n; i++) {
        values[i] = make_value(p, i, &seed);
        memcpy(apart + 8 + 32 * i, &values[i], sizeof *values);
    }
}

static bf_array line_of(int64_t n, bool strided) {
    bf_array x = bf_array_of(BF_I128, strided ? apart + 8 : (char *)values, n);
    x.strides[0] = strided ? 2 : 1;
    return x;
}

/* ---- the oracle ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->x != y->x ? (x->x < y->x ? -1 : 1) : x->index < y->index ? -1 : 1;
}

static int compare_descending(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->x != y->x ? (x->x > y->x ? -1 : 1) : x->index < y->index ? -1 : 1;
}

static void sort_entries(int64_t first, int64_t n, bool descending) {
    for (int64_t i = 0; i < n; i++) entries[first + i] = (entry){values[first + i], i};
    qsort(entries + first, (size_t)n, sizeof *entries, descending ? compare_descending : compare);
}

static void set_i128(mpfr_t to, i128 x) {
    mpfr_set_sj_2exp(to, (intmax_t)(x >> 64), 64, MPFR_RNDN);
    mpfr_add_d(to, to, (double)(uint32_t)((uint64_t)x >> 32) * 0x1p32, MPFR_RNDN);
    mpfr_add_d(to, to, (double)(uint32_t)x, MPFR_RNDN);
}

/* (a + (b - a) * weight) / 10^scale, rounded once. */
static double between(i128 a, i128 b, double weight, int scale) {
    mpfr_t x, y, result;
    mpfr_inits2(EXACT_BITS, x, y, (mpfr_ptr)NULL);
    mpfr_init2(result, 53);
    set_i128(x, a);
    set_i128(y, b);
    mpfr_sub(y, y, x, MPFR_RNDN);
    mpfr_mul_d(y, y, weight, MPFR_RNDN);
    mpfr_add(x, x, y, MPFR_RNDN);
    mpfr_ui_pow_ui(y, 10, (unsigned long)scale, MPFR_RNDN);
    mpfr_div(result, x, y, MPFR_RNDN);
    const double d = mpfr_get_d(result, MPFR_RNDN);
    mpfr_clears(x, y, result, (mpfr_ptr)NULL);
    return d;
}

/* The place of a quantile: of linear, or of hazen. */
static double place_of(bf_quantile_method method, int64_t n, double q) {
    const double at = method == BF_QUANTILE_LINEAR ? (double)(n - 1) * q : (double)n * q + 0.5 - 1;
    return at < 0 ? 0 : at > (double)(n - 1) ? (double)(n - 1) : at;
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct problem {
    int64_t n;
    bool strided, descending;
} problem;

static void check_sort(bf_context *c, const problem *p) {
    const bf_array x = line_of(p->n, p->strided), to = bf_array_of(BF_I128, sorted, p->n),
                   index = bf_array_of(BF_I64, index_of, p->n);
    const bf_order_options o = BF_ORDER_OPTIONS(.descending = p->descending);
    int in_order = 0;
    assert_int_equal(bf_sort(c, &x, 0, &o, &to, &index), BF_OK);
    for (int64_t i = 0; i < p->n; i++)
        if (sorted[i] != entries[i].x || index_of[i] != entries[i].index)
            fail_msg("element %lld is not that of the order", (long long)i);
    memset(index_of, 0, sizeof index_of);
    assert_int_equal(bf_sort(c, &x, 0, &o, NULL, &index), BF_OK);
    for (int64_t i = 0; i < p->n; i++) assert_true(index_of[i] == entries[i].index);
    assert_int_equal(bf_is_sorted(c, &to, &o, &in_order), BF_OK);
    assert_int_equal(in_order, 1);
    assert_int_equal(bf_is_sorted(c, &x, &o, &in_order), BF_OK);
    bool expected_order = true;
    for (int64_t i = 1; i < p->n && expected_order; i++)
        expected_order = p->descending ? values[i] <= values[i - 1] : values[i] >= values[i - 1];
    assert_int_equal(in_order, expected_order);
}

/* Sorts apart from each other what lies apart in memory, which stays as it was between. */
static void check_in_place(bf_context *c, const problem *p) {
    const bf_array x = line_of(p->n, true);
    const bf_order_options o = BF_ORDER_OPTIONS(.descending = p->descending);
    assert_int_equal(bf_sort(c, &x, 0, &o, &x, NULL), BF_OK);
    for (int64_t i = 0; i < p->n; i++) {
        assert_memory_equal(apart + 8 + 32 * i, &entries[i].x, 16);
        assert_true(load_bits(apart + 24 + 32 * i, 8) == 0x5a5a5a5a5a5a5a5a);
        memcpy(apart + 8 + 32 * i, &values[i], 16);
    }
}

static void check_rows(bf_context *c, const problem *p) {
    const bf_array keys = bf_array_of(BF_I128, sorted, p->n);
    const bf_array payloads[] = {bf_array_of(BF_I64, index_of, p->n),
                                 bf_array_of(BF_I128, expected, p->n)};
    const bf_order_options o = BF_ORDER_OPTIONS(.descending = p->descending);
    memcpy(sorted, values, (size_t)p->n * sizeof *values);
    memcpy(expected, values, (size_t)p->n * sizeof *values);
    for (int64_t i = 0; i < p->n; i++) index_of[i] = i;
    assert_int_equal(bf_sort_rows(c, &keys, payloads, 2, &o), BF_OK);
    for (int64_t i = 0; i < p->n; i++)
        assert_true(sorted[i] == entries[i].x && expected[i] == entries[i].x &&
                    index_of[i] == entries[i].index);
}

static void check_top(bf_context *c, const problem *p) {
    const int64_t k = p->n / 3;
    const bf_array x = line_of(p->n, p->strided), to = bf_array_of(BF_I128, sorted, k),
                   index = bf_array_of(BF_I64, index_of, k);
    const bf_order_options o = BF_ORDER_OPTIONS(.descending = p->descending);
    assert_int_equal(bf_top(c, &x, 0, k, &o, &to, &index), BF_OK);
    for (int64_t i = 0; i < k; i++)
        assert_true(sorted[i] == entries[i].x && index_of[i] == entries[i].index);
}

/* The runs of equal entries. */
static int64_t run_end(int64_t begin, int64_t n) {
    int64_t end = begin + 1;
    while (end < n && entries[end].x == entries[begin].x) end++;
    return end;
}

static void check_rank(bf_context *c, const problem *p) {
    const bf_array x = line_of(p->n, p->strided), dense = bf_array_of(BF_I64, counts, p->n),
                   average = bf_array_of(BF_F64, ranks, p->n);
    const bf_order_options o = BF_ORDER_OPTIONS(.descending = p->descending);
    assert_int_equal(bf_rank(c, &x, 0, BF_RANK_DENSE, &o, &dense), BF_OK);
    assert_int_equal(bf_rank(c, &x, 0, BF_RANK_AVERAGE, &o, &average), BF_OK);
    int64_t different = 1;
    for (int64_t begin = 0, end; begin < p->n; begin = end, different++) {
        end = run_end(begin, p->n);
        for (int64_t i = begin; i < end; i++) {
            assert_true(counts[entries[i].index] == different);
            assert_true(ranks[entries[i].index] == (double)(begin + 1 + end) / 2);
        }
    }
}

static void check_search(bf_context *c, const problem *p) {
    const int64_t m = p->n < 100 ? p->n : 100;
    const bf_array x = line_of(m, p->strided), to = bf_array_of(BF_I64, counts, m),
                   in = bf_array_of(BF_I128, expected, p->n);
    const bf_order_options o = BF_ORDER_OPTIONS(.descending = p->descending);
    for (int64_t i = 0; i < p->n; i++) expected[i] = entries[i].x;
    for (int right = 0; right < 2; right++) {
        assert_int_equal(bf_searchsorted(c, &in, &x, right, &o, &to), BF_OK);
        for (int64_t i = 0; i < m; i++) {
            const int64_t at = counts[i], other = right ? at - 1 : at;
            assert_true(other >= 0 && other < p->n && expected[other] == values[i]);
            assert_true(right ? at == p->n || expected[at] != values[i]
                              : at == 0 || expected[at - 1] != values[i]);
        }
    }
}

static void check_unique(bf_context *c, const problem *p) {
    const bf_array x = line_of(p->n, p->strided), to = bf_array_of(BF_I128, sorted, p->n),
                   times = bf_array_of(BF_I64, counts, p->n);
    int64_t n = -1, found = 0, most = 0;
    i128 mode = 0;
    assert_int_equal(bf_unique(c, &x, NULL, &to, &times, &n), BF_OK);
    for (int64_t begin = 0, end; begin < p->n; begin = end, found++) {
        end = run_end(begin, p->n);
        assert_true(sorted[found] == entries[begin].x && counts[found] == end - begin);
        if (counts[found] > most) mode = sorted[found];
        if (counts[found] > most) most = counts[found];
    }
    assert_int_equal(n, found);
    bf_value value;
    int64_t occurs = -1;
    assert_int_equal(bf_mode(c, &x, NULL, &value, &occurs), p->n > 0 ? BF_OK : BF_E_EMPTY);
    if (p->n == 0) return;
    assert_true(occurs == most && value.dtype == BF_I192);
    assert_true(value.as.i192[0] == (uint64_t)mode && value.as.i192[1] == (uint64_t)(mode >> 64));
    assert_true(value.as.i192[2] == (mode < 0 ? ~(uint64_t)0 : 0));
    if (n < 2) return;
    const bf_array few = bf_array_of(BF_I128, sorted, n - 1);
    memset(sorted, 0x5a, sizeof *sorted);
    assert_int_equal(bf_unique(c, &x, NULL, &few, NULL, &n), BF_E_SHAPE);
    assert_true(n == found && load_bits((char *)sorted, 8) == 0x5a5a5a5a5a5a5a5a);
}

static void check_order(bf_context *c, void *data) {
    const problem *p = data;
    check_sort(c, p);
    check_in_place(c, p);
    check_rows(c, p);
    check_top(c, p);
    check_rank(c, p);
    check_search(c, p);
    if (!p->descending) check_unique(c, p);
}

TEST(all_that_is_ordered) {
    static const int64_t sizes[] = {0, 1, 2, 25, 1001, MOST / CASE_STEP};
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {
        for (int k = 0; k < PATTERNS; k++) {
            if (sizes[s] > 10000 && (k == FALLING || k == EXTREMES)) continue;
            problem p = {.n = sizes[s], .strided = k % 2 == 1, .descending = (s + k) % 2 == 1};
            make_values((pattern)k, p.n);
            sort_entries(0, p.n, p.descending);
            on_every_context(check_order, &p);
        }
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Columns of a matrix, whose elements are COLUMNS apart; and the rows as segments. */
static void check_lines(bf_context *c, void *data) {
    const int64_t rows = *(int64_t *)data;
    static const int first = 0;
    bf_array x = bf_array_of(BF_I128, values, rows * COLUMNS), to;
    int64_t offsets[] = {1, 1, rows, 3 * rows, 3 * rows + 1};
    const bf_array by = bf_array_of(BF_I64, offsets, 5);
    const int64_t positions[] = {rows - 1, 0, rows / 2};
    x.ndim = 2;
    x.shape[0] = rows;
    x.shape[1] = COLUMNS;
    x.strides[0] = COLUMNS;
    x.strides[1] = 1;
    to = x;
    to.data = sorted;
    assert_int_equal(bf_sort(c, &x, 0, NULL, &to, NULL), BF_OK);
    to.shape[0] = 3;
    to.data = expected;
    assert_int_equal(bf_nth_axes(c, &x, &first, 1, positions, 3, NULL, &to), BF_OK);
    for (int64_t k = 0; k < COLUMNS; k++) {
        for (int64_t i = 0; i < rows; i++) entries[i] = (entry){values[i * COLUMNS + k], i};
        qsort(entries, (size_t)rows, sizeof *entries, compare);
        for (int64_t i = 0; i < rows; i++) assert_true(sorted[i * COLUMNS + k] == entries[i].x);
        for (int i = 0; i < 3; i++)
            assert_true(expected[i * COLUMNS + k] == entries[positions[i]].x);
    }
    const bf_array line = bf_array_of(BF_I128, values, rows * COLUMNS),
                   out = bf_array_of(BF_I128, sorted, rows * COLUMNS),
                   index = bf_array_of(BF_I64, index_of, rows * COLUMNS);
    assert_int_equal(bf_sort_segments(c, &line, &by, NULL, &out, &index), BF_OK);
    for (int s = 0; s < 4; s++) {
        const int64_t begin = offsets[s], n = offsets[s + 1] - begin;
        sort_entries(begin, n, false);
        for (int64_t i = begin; i < begin + n; i++)
            assert_true(sorted[i] == entries[i].x && index_of[i] == entries[i].index);
    }
    for (int64_t i = offsets[4]; i < rows * COLUMNS; i++)
        assert_true(sorted[i] == values[i] && index_of[i] == i - offsets[4]);
}

TEST(lines_are_sorted_each) {
    int64_t sizes[] = {3, 101, MOST / COLUMNS / CASE_STEP};
    for (int s = 0; s < 3; s++) {
        make_values(s == 1 ? FEW : RANDOM, sizes[s] * COLUMNS);
        on_every_context(check_lines, &sizes[s]);
    }
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static const double q[QUANTILES] = {0, 1e-30, 1e-3, 0.25, 0.5, 0.987654321, 1};

typedef struct quantile_problem {
    int64_t n;
    int scale;
    bf_quantile_method method;
} quantile_problem;

/* The doubles of all results, and the values with every digit where they are elements. */
static void check_quantiles(bf_context *c, void *data) {
    const quantile_problem *p = data;
    static const int first = 0;
    const bf_array x = line_of(p->n, p->n % 2 == 1);
    const bf_order_options o = BF_ORDER_OPTIONS(.method = p->method, .scale = p->scale);
    double found[QUANTILES], median = 0;
    bf_value told[QUANTILES];
    i128 whole[QUANTILES];
    bf_array to = bf_array_of(BF_F64, found, QUANTILES), one = bf_array_of(BF_F64, &median, 1);
    bf_array tagged = bf_array_of(BF_PAIR, told, QUANTILES);
    const bf_array elements = bf_array_of(BF_I128, whole, QUANTILES);
    one.ndim = 0;
    tagged.ndim = 2;
    tagged.shape[1] = 2;
    tagged.strides[0] = 2;
    tagged.strides[1] = 1;
    assert_int_equal(bf_quantile_axes(c, &x, &first, 1, q, QUANTILES, &o, &to), BF_OK);
    assert_int_equal(bf_quantile_axes(c, &x, &first, 1, q, QUANTILES, &o, &tagged), BF_OK);
    assert_int_equal(bf_median_axes(c, &x, &first, 1, &o, &one), BF_OK);
    assert_true(median == between(entries[(p->n - 1) / 2].x, entries[p->n / 2].x, 0.5, p->scale));
    bool all_whole = true;
    for (int i = 0; i < QUANTILES; i++) {
        const double at = place_of(p->method, p->n, q[i]), rest = at - (double)(int64_t)at;
        const i128 a = entries[(int64_t)at].x, b = rest > 0 ? entries[(int64_t)at + 1].x : a;
        const double expects = between(a, b, rest, p->scale);
        if (found[i] != expects) fail_msg("quantile %d is %a, not %a", i, found[i], expects);
        if (a != b) assert_true(told[i].dtype == BF_F64 && told[i].as.f64 == expects);
        if (a == b)
            assert_true(told[i].dtype == BF_I192 && told[i].scale == p->scale &&
                        told[i].as.i192[0] == (uint64_t)a &&
                        told[i].as.i192[1] == (uint64_t)(a >> 64));
        all_whole = all_whole && rest == 0;
    }
    assert_int_equal(bf_quantile_axes(c, &x, &first, 1, q, QUANTILES, &o, &elements),
                     all_whole ? BF_OK : BF_E_DTYPE);
}

TEST(quantiles_are_exact_and_rounded_once) {
    for (int scale = 0; scale <= BF_SCALE_MOST_I128; scale++) {
        quantile_problem p = {.n = scale == 0 ? 1 : 99 * scale + scale % 4, .scale = scale};
        p.method = scale % 3 == 1 ? BF_QUANTILE_HAZEN : BF_QUANTILE_LINEAR;
        if (scale == 20) p.n = MOST / CASE_STEP;
        make_values((pattern)(scale % PATTERNS), p.n);
        sort_entries(0, p.n, false);
        on_every_context(check_quantiles, &p);
    }
}

/* Methods that choose give the element that they choose of doubles. */
TEST(chosen_elements_are_themselves) {
    enum { N = 1000 };
    static const int first = 0;
    OWN(bf_context) *c = make_context(NULL, 2);
    make_values(RANDOM, N);
    sort_entries(0, N, false);
    for (int i = 0; i < N; i++) ranks[i] = i;
    for (int m = 0; m < 13; m++) {
        const bf_quantile_method method = (bf_quantile_method)m;
        const bf_order_options o = BF_ORDER_OPTIONS(.method = method, .scale = 0);
        if (bf_quantile_dtype(BF_I128, method) != BF_I128) continue;
        double places[QUANTILES];
        i128 found[QUANTILES];
        const bf_array doubles = bf_array_of(BF_F64, ranks, N), x = line_of(N, false),
                       at = bf_array_of(BF_F64, places, QUANTILES),
                       to = bf_array_of(BF_I128, found, QUANTILES);
        assert_int_equal(bf_quantile_axes(c, &doubles, &first, 1, q, QUANTILES, &o, &at), BF_OK);
        assert_int_equal(bf_quantile_axes(c, &x, &first, 1, q, QUANTILES, &o, &to), BF_OK);
        for (int i = 0; i < QUANTILES; i++) assert_true(found[i] == entries[(int)places[i]].x);
    }
}

/* Segments, slots and groups of the same elements have the same medians; none is of nothing. */
static void check_parts(bf_context *c, void *unused) {
    (void)unused;
    enum { N = 3000, PARTS = 4 };
    static int64_t slot[N];
    int64_t offsets[] = {0, 5, 5, 1500, N}, groups[PARTS], n;
    bf_value empty = {.dtype = BF_F64, .as.f64 = 7}, told[PARTS];
    double of_segments[PARTS], of_slots[PARTS], of_groups[PARTS];
    const bf_array x = line_of(N, true), by = bf_array_of(BF_I64, offsets, PARTS + 1),
                   index = bf_array_of(BF_I64, slot, N), keys = bf_array_of(BF_I64, groups, PARTS),
                   segments = bf_array_of(BF_F64, of_segments, PARTS),
                   slots = bf_array_of(BF_F64, of_slots, PARTS),
                   grouped = bf_array_of(BF_F64, of_groups, PARTS);
    bf_array tagged = bf_array_of(BF_PAIR, told, PARTS);
    tagged.ndim = 2;
    tagged.shape[1] = 2;
    tagged.strides[0] = 2;
    tagged.strides[1] = 1;
    bf_order_options o = BF_ORDER_OPTIONS(.scale = 30);
    for (int s = 0; s < PARTS; s++)
        for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) slot[i] = s;
    assert_int_equal(bf_median_segments(c, &x, &by, &o, &segments), BF_E_EMPTY);
    o.empty = &empty;
    assert_int_equal(bf_median_segments(c, &x, &by, &o, &segments), BF_OK);
    assert_int_equal(bf_median_segments(c, &x, &by, &o, &tagged), BF_OK);
    assert_int_equal(bf_median_index(c, &x, &index, &o, &slots), BF_OK);
    assert_int_equal(bf_median_groups(c, &x, &index, &o, &keys, &grouped, &n), BF_OK);
    assert_int_equal(n, 3);
    for (int s = 0; s < PARTS; s++) {
        const int64_t begin = offsets[s], length = offsets[s + 1] - begin;
        sort_entries(begin, length, false);
        const double expects = length == 0 ? 7
                                           : between(entries[begin + (length - 1) / 2].x,
                                                     entries[begin + length / 2].x, 0.5, 30);
        assert_true(of_segments[s] == expects && of_slots[s] == expects);
        assert_true(bf_value_f64(&told[s]) == expects);
        if (s != 1) assert_true(of_groups[s > 1 ? s - 1 : s] == expects);
    }
    assert_int_equal(bf_median_groups(c, &x, &index, &o, &keys, &tagged, &n), BF_E_DTYPE);
}

TEST(parts_have_medians_of_their_own) {
    make_values(RANDOM, 3000);
    on_every_context(check_parts, NULL);
}

/* ---- passes ---------------------------------------------------------------------------------- */

static bf_quantiles *create(bf_context *c, const quantile_problem *p) {
    bf_quantiles *found = NULL;
    const bf_order_options o = BF_ORDER_OPTIONS(.method = p->method, .scale = p->scale);
    assert_int_equal(bf_quantiles_create(c, BF_I128, q, QUANTILES, &o, &found), BF_OK);
    return found;
}

/* A pass by two objects, each of which takes some of the elements, and one of them in the middle of
 * it a saved form. */
static bf_quantiles *read_once(bf_context *c, bf_quantiles *x, int64_t n) {
    const int64_t cut = n / 3;
    const bf_array line = line_of(n, n % 2 == 1);
    bf_array first = line, rest = line;
    first.shape[0] = cut;
    rest.shape[0] = n - cut;
    rest.data = (char *)line.data + 16 * line.strides[0] * cut;
    bf_quantiles *other = copy_form(c, x), *again;
    assert_int_equal(bf_quantiles_absorb(other, &first), BF_OK);
    assert_int_equal(bf_quantiles_absorb(x, &rest), BF_OK);
    again = copy_form(c, other);
    assert_int_equal(bf_quantiles_merge(x, again), BF_OK);
    bf_quantiles_destroy(other);
    bf_quantiles_destroy(again);
    other = copy_form(c, x);
    bf_quantiles_destroy(x);
    return other;
}

static void check_passes(bf_context *c, void *data) {
    const quantile_problem *p = data;
    bf_value found[QUANTILES];
    bf_quantiles *x = create(c, p);
    int done = 0, passes = 0;
    for (; !done; passes++) {
        x = read_once(c, x, p->n);
        assert_int_equal(bf_quantiles_next(x, &done), BF_OK);
    }
    assert_true(passes <= 11);
    assert_int_equal(bf_quantiles_result(x, found), BF_OK);
    for (int i = 0; i < QUANTILES; i++) {
        const double at = place_of(p->method, p->n, q[i]), rest = at - (double)(int64_t)at;
        const i128 a = entries[(int64_t)at].x, b = rest > 0 ? entries[(int64_t)at + 1].x : a;
        if (a != b)
            assert_true(found[i].dtype == BF_F64 &&
                        found[i].as.f64 == between(a, b, rest, p->scale));
        else
            assert_true(found[i].dtype == BF_I192 && found[i].scale == p->scale &&
                        found[i].as.i192[0] == (uint64_t)a &&
                        found[i].as.i192[1] == (uint64_t)(a >> 64) &&
                        found[i].as.i192[2] == (a < 0 ? ~(uint64_t)0 : 0));
    }
    bf_quantiles_destroy(x);
}

TEST(passes_find_what_a_sort_does) {
    for (int k = 0; k < PATTERNS; k++) {
        quantile_problem p = {.n = k == RANDOM ? MOST / CASE_STEP : 2000 + k, .scale = 7 * k};
        p.method = k % 2 == 1 ? BF_QUANTILE_HAZEN : BF_QUANTILE_LINEAR;
        make_values((pattern)k, p.n);
        sort_entries(0, p.n, false);
        on_every_context(check_passes, &p);
    }
}

/* ---- what is refused, and pairs -------------------------------------------------------------- */

TEST(wrong_calls_are_refused) {
    static const int first = 0;
    OWN(bf_context) *c = make_context(NULL, 1);
    make_values(RANDOM, 4);
    double median;
    bf_value wide = {.dtype = BF_I192, .as.i192 = {0, 0, 1}};
    uint64_t pair[4];
    const bf_array x = line_of(4, false), pairs = bf_array_of(BF_PAIR, values, 4);
    bf_array to = bf_array_of(BF_F64, &median, 1), tagged = bf_array_of(BF_PAIR, pair, 1);
    bf_order_options o = BF_ORDER_OPTIONS(.scale = 39);
    to.ndim = tagged.ndim = 0;
    assert_int_equal(bf_median_axes(c, &x, &first, 1, &o, &to), BF_E_ARGUMENT);
    o.scale = 38;
    assert_int_equal(bf_median_axes(c, &x, &first, 1, &o, &tagged), BF_E_SHAPE);
    assert_int_equal(bf_median_axes(c, &pairs, &first, 1, NULL, &to), BF_E_DTYPE);
    o.empty = &wide;
    const bf_array elements = bf_array_of(BF_I128, sorted, 1);
    static const double half[] = {0.5};
    o.method = BF_QUANTILE_LOWER;
    assert_int_equal(bf_quantile_axes(c, &x, &first, 1, half, 1, &o, &elements), BF_E_ARGUMENT);
    wide.as.i192[2] = 0;
    assert_int_equal(bf_quantile_axes(c, &x, &first, 1, half, 1, &o, &elements), BF_OK);
    assert_int_equal(bf_mode(c, &pairs, NULL, &wide, NULL), BF_E_DTYPE);
}

/* A pair is ordered by its first word, then by its second, both without a sign. */
TEST(pairs_are_ordered_by_their_words) {
    uint64_t x[][2] = {{2, 1}, {1, ~(uint64_t)0}, {2, 0}, {1, ~(uint64_t)0}}, to[4][2];
    int64_t number[4], n;
    static const int first = 0;
    static const int64_t positions[] = {3, 0};
    const bf_array pairs = bf_array_of(BF_PAIR, x, 4), out = bf_array_of(BF_PAIR, to, 4),
                   two = bf_array_of(BF_PAIR, to, 2), numbers = bf_array_of(BF_I64, number, 4);
    OWN(bf_context) *c = make_context(NULL, 1);
    assert_int_equal(bf_unique(c, &pairs, NULL, &out, &numbers, &n), BF_OK);
    assert_true(n == 3 && number[0] == 2 && to[0][0] == 1 && to[1][1] == 0 && to[2][1] == 1);
    assert_int_equal(bf_rank(c, &pairs, 0, BF_RANK_MIN, NULL, &numbers), BF_OK);
    assert_true(number[0] == 4 && number[1] == 1 && number[2] == 3 && number[3] == 1);
    assert_int_equal(bf_nth_axes(c, &pairs, &first, 1, positions, 2, NULL, &two), BF_OK);
    assert_true(to[0][0] == 2 && to[0][1] == 1 && to[1][0] == 1);
}

UNIT_TESTS(order_i128, NULL, NULL)
