/* Order on a GPU, through the seam: every function gives what a plain sort of the same elements
 * gives, to the bit and with the same positions, whatever the dtype, the order, the lines, the data
 * and the memory. */
#include <stdio.h>

#include "api/runtime/place.h"
#include "rules/key/rank.h"
#include "rules/order/quantile.h"
#include "seam/order.h"
#include "tests/support/both.h"

enum { MOST_ELEMENTS = 400000, FEW_ELEMENTS = 3000, RESULTS_BYTES = 1 << 24, FRACTIONS = 40 };

static const bf_order_backend *by; /* the GPU's */
static char *expected_values, *found_values, *results_on_device;
static int64_t *expected_index, *found_index;

static int64_t pick(uint64_t *seed, int64_t n) {
    return (int64_t)(next_random(seed) % (uint64_t)n);
}

/* ---- the oracle: keys of 128 bits and positions, by qsort -------------------------------------
 */

typedef struct item {
    uint64_t hi, lo;
    int64_t at;
} item;

static int compare_items(const void *x, const void *y) {
    const item *a = x, *b = y;
    if (a->hi != b->hi) return a->hi < b->hi ? -1 : 1;
    if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static size_t bytes_of(bf_dtype dtype) { return dtype == BF_PAIR ? 16 : bf_dtype_size(dtype); }

static bool is_nan(bf_dtype dtype, uint64_t bits) {
    return dtype != BF_PAIR && is_float(dtype) && (bits & ~sign_bit(dtype)) > infinity_bits(dtype);
}

/* Numbers in lo, from 0 for the least possible; hi: 1, or 0 or 2 for what is before and after. */
static item item_of(bf_dtype dtype, bf_order order, const char *at) {
    item i = {1, 0, 0};
    if (dtype == BF_PAIR) {
        memcpy(&i.hi, at, 8);
        memcpy(&i.lo, at + 8, 8);
        if (order != BF_ASCENDING) i.hi = ~i.hi, i.lo = ~i.lo;
        return i;
    }
    const size_t bytes = bf_dtype_size(dtype);
    uint64_t bits = load_bits(at, bytes);
    if (dtype == BF_BOOL) bits = bits != 0;
    if (is_nan(dtype, bits)) {
        i.hi = order == BF_DESCENDING ? 0 : 2;
        return i;
    }
    const bool negative = (is_float(dtype) || is_signed(dtype)) && (bits & sign_bit(dtype)) != 0;
    const uint64_t middle = (uint64_t)1 << 63;
    if (is_float(dtype))
        i.lo = negative ? middle - 1 - (bits & ~sign_bit(dtype)) : middle + bits;
    else if (negative)
        i.lo = middle - ((bits ^ (~(uint64_t)0 >> (64 - 8 * bytes))) + 1);
    else
        i.lo = is_signed(dtype) ? middle + bits : bits;
    if (order != BF_ASCENDING) i.lo = ~i.lo;
    return i;
}

/* Sorts one line of elements, beginning with number `first`. */
static void sort_line(bf_dtype dtype, bf_order order, const char *values, int64_t n, char *sorted,
                      int64_t *index) {
    const size_t bytes = bytes_of(dtype);
    item *items = malloc((size_t)(n + 1) * sizeof *items);
    assert_non_null(items);
    for (int64_t i = 0; i < n; i++) {
        items[i] = item_of(dtype, order, values + (size_t)i * bytes);
        items[i].at = i;
    }
    qsort(items, (size_t)n, sizeof *items, compare_items);
    for (int64_t i = 0; i < n; i++) {
        index[i] = items[i].at;
        memcpy(sorted + (size_t)i * bytes, values + (size_t)items[i].at * bytes, bytes);
        if (dtype == BF_BOOL) sorted[i] = sorted[i] != 0;
    }
    free(items);
}

/* ---- problems ---------------------------------------------------------------------------------
 */

typedef struct problem {
    char what[200];
    bf_order_lines lines; /* values: on the host */
    int64_t *offsets;
    int64_t n, end; /* elements of the array, and the end of the last line */
    int offset;     /* how far the arrays' memory is shifted */
    bool host;
} problem;

static int64_t begin_of(const problem *p, int64_t l) {
    return p->offsets != NULL ? p->offsets[l] : l * p->lines.length;
}

static void fill_elements(bf_dtype dtype, char *to, int64_t n, uint64_t *seed) {
    const size_t bytes = bytes_of(dtype);
    const int kind = (int)pick(seed, 6);
    const uint64_t base = next_random(seed);
    for (int64_t i = 0; i < n; i++) {
        uint64_t words[2] = {next_random(seed), next_random(seed)};
        if (kind == 1) words[0] = base + words[0] % 5, words[1] %= 3;
        if (kind == 2) words[0] = base, words[1] = base;
        if (kind == 3) words[0] = (uint64_t)i, words[1] = 1;
        if (kind == 4) words[0] = base ^ (words[0] & words[1] & 0xff00ff);
        memcpy(to + (size_t)i * bytes, words, bytes);
    }
    if (dtype != BF_PAIR && kind == 5) {
        fill(dtype, to, n, KIND_NARROW, next_random(seed));
        sprinkle(dtype, to, n, 3 + (int)pick(seed, 100), next_random(seed));
    }
}

static void make_lines(problem *p, uint64_t *seed) {
    const int64_t most = is_small()            ? FEW_ELEMENTS
                         : pick(seed, 20) == 0 ? MOST_ELEMENTS
                                               : 1 + pick(seed, 30000);
    const int shape = (int)pick(seed, 4);
    p->lines.count = shape < 2 ? 1 : 1 + pick(seed, pick(seed, 2) ? 5 : 2000);
    p->lines.length = 1 + pick(seed, most);
    if (shape == 2) p->lines.length = 1 + pick(seed, most / p->lines.count + 1);
    p->n = p->end = p->lines.count * p->lines.length;
    if (shape != 3) return;
    p->offsets = malloc((size_t)(p->lines.count + 1) * sizeof *p->offsets);
    assert_non_null(p->offsets);
    p->lines.length = 0;
    p->offsets[0] = pick(seed, 3);
    const int64_t mean = 2 * most / p->lines.count + 2;
    for (int64_t l = 0; l < p->lines.count; l++) {
        const int64_t length = pick(seed, 4) ? pick(seed, mean) : 0;
        if (length > p->lines.length) p->lines.length = length;
        p->offsets[l + 1] = p->offsets[l] + length;
    }
    p->end = p->offsets[p->lines.count];
    p->n = p->end + pick(seed, 5);
    p->lines.offsets = p->offsets;
}

static void make_problem(problem *p, uint64_t seed, bool pairs) {
    const uint64_t name = seed;
    const int d = (int)pick(&seed, DTYPE_COUNT + pairs);
    *p = (problem){.host = pick(&seed, 6) == 0, .offset = pick(&seed, 5) ? 0 : 3};
    p->lines.dtype = d == DTYPE_COUNT ? BF_PAIR : all_dtypes[d];
    p->lines.order = (bf_order)pick(&seed, 3);
    make_lines(p, &seed);
    p->lines.values = on_host + p->offset;
    fill_elements(p->lines.dtype, on_host + p->offset, p->n, &seed);
    const size_t all = (size_t)p->n * bytes_of(p->lines.dtype);
    if (all > 0)
        assert_int_equal(bf_memory_copy(gpu, on_device + p->offset, on_host + p->offset, all),
                         BF_OK);
    snprintf(p->what, sizeof p->what, "%s, order %d, %lld lines of %lld, %s, seed %llu",
             p->lines.dtype == BF_PAIR ? "pair" : bf_dtype_name(p->lines.dtype),
             (int)p->lines.order, (long long)p->lines.count, (long long)p->lines.length,
             p->host ? "host" : "device", (unsigned long long)name);
}

static void free_problem(problem *p) { free(p->offsets); }

/* Where the GPU finds the elements, and where it writes. */
static bf_order_lines lines_on_gpu(const problem *p) {
    bf_order_lines lines = p->lines;
    if (!p->host) lines.values = on_device + p->offset;
    return lines;
}

static char *results_at(const problem *p, char *host, size_t offset) {
    return p->host ? host + offset : results_on_device + offset;
}

static void fetch(const problem *p, void *to, const void *from, size_t bytes) {
    if (p->host || bytes == 0) return;
    assert_int_equal(bf_memory_copy(gpu, to, from, bytes), BF_OK);
}

static void check_ok(const problem *p, const char *what, bf_status status) {
    if (status != BF_OK)
        fail_msg("%s of %s: %s (%s)", what, p->what, bf_status_string(status),
                 bf_context_message(gpu));
}

static void check_bytes(const problem *p, const char *what, const void *found, const void *expected,
                        int64_t n, size_t bytes) {
    const char *f = found, *e = expected;
    for (int64_t i = 0; i < n; i++)
        if (memcmp(f + (size_t)i * bytes, e + (size_t)i * bytes, bytes))
            fail_msg("%s of %s: element %lld of %lld is %llx, not %llx", what, p->what,
                     (long long)i, (long long)n,
                     (unsigned long long)load_bits(f + (size_t)i * bytes, bytes > 8 ? 8 : bytes),
                     (unsigned long long)load_bits(e + (size_t)i * bytes, bytes > 8 ? 8 : bytes));
}

/* Sorts all lines by the oracle; elements of no line are as `values` and `index` had them. */
static void expect_sorted(const problem *p) {
    const size_t bytes = bytes_of(p->lines.dtype);
    const char *values = p->lines.values;
    for (int64_t l = 0; l < p->lines.count; l++) {
        const int64_t first = begin_of(p, l), n = begin_of(p, l + 1) - first;
        sort_line(p->lines.dtype, p->lines.order, values + (size_t)first * bytes, n,
                  expected_values + (size_t)first * bytes, expected_index + first);
    }
}

/* ---- sorting ----------------------------------------------------------------------------------
 */

static void check_sort(const problem *p, bool in_place, bool wants_values, bool wants_index) {
    const size_t bytes = bytes_of(p->lines.dtype);
    const int64_t first = begin_of(p, 0), n = p->end - first;
    bf_order_lines lines = lines_on_gpu(p);
    char *sorted =
        in_place ? (char *)(uintptr_t)lines.values : results_at(p, found_values, (size_t)p->offset);
    char *index = p->host ? (char *)found_index : results_on_device + RESULTS_BYTES;
    check_ok(p, "sort",
             by->sort(gpu, &lines, wants_values ? sorted : NULL, wants_index ? index : NULL));
    /* Elements before the first line are not written, so they are not fetched. */
    const size_t before = (size_t)first * bytes;
    if (wants_values) {
        fetch(p, found_values, sorted + before, (size_t)n * bytes);
        check_bytes(p, "sorted values", p->host ? sorted + before : found_values,
                    expected_values + before, n, bytes);
    }
    if (wants_index) {
        fetch(p, found_index + first, index + first * 8, (size_t)n * 8);
        check_bytes(p, "sorted index", found_index + first, expected_index + first, n, 8);
    }
}

static int cases(int many) { return is_small() ? many / 10 + 1 : many; }

static void sorts_agree(void **unused) {
    (void)unused;
    for (int i = 0; i < cases(600); i++) {
        problem p;
        make_problem(&p, 1000u + (unsigned)i, true);
        expect_sorted(&p);
        check_sort(&p, false, true, true);
        check_sort(&p, false, i % 2 == 0, i % 2 != 0);
        check_sort(&p, true, true, i % 3 == 0);
        free_problem(&p);
    }
}

/* Several tiles and all digits. */
static void sorts_of_long_lines_agree(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_U32, BF_U64, BF_F32, BF_F64, BF_I16,
                                      BF_U8,  BF_I32, BF_I64, BF_I8,  BF_BOOL};
    leave_out_if_small();
    for (int i = 0; i < 30; i++) {
        uint64_t seed = 77u + (unsigned)i;
        problem p = {.lines = {.dtype = dtypes[i % 10], .count = 1, .order = (bf_order)(i / 10)}};
        p.lines.values = on_host;
        p.n = p.end = p.lines.length = 1000000 + pick(&seed, 100000);
        fill_elements(p.lines.dtype, on_host, p.n, &seed);
        snprintf(p.what, sizeof p.what, "long %s, %d", bf_dtype_name(p.lines.dtype), i);
        assert_int_equal(
            bf_memory_copy(gpu, on_device, on_host, (size_t)p.n * bytes_of(p.lines.dtype)), BF_OK);
        expect_sorted(&p);
        check_sort(&p, false, true, false);
        check_sort(&p, true, true, true);
    }
}

/* ---- more elements than the tiles of one portion have -----------------------------------------
 */

enum { CHUNK = 1 << 24, CHUNKS = 33, WINDOW = 1000 };

/* Values, sorted values and positions on the GPU, of n elements: chunks that are all the same. */
typedef struct much {
    int64_t n;
    void *values, *sorted, *index;
} much;

static bool allocate_much(much *m) {
    return bf_memory_allocate(gpu, (size_t)m->n * 4, &m->values) == BF_OK &&
           bf_memory_allocate(gpu, (size_t)m->n * 4, &m->sorted) == BF_OK &&
           bf_memory_allocate(gpu, (size_t)m->n * 8, &m->index) == BF_OK;
}

static void check_window(const much *m, const uint32_t *chunk, int64_t first) {
    static uint32_t values[WINDOW];
    static int64_t index[WINDOW];
    assert_int_equal(bf_memory_copy(gpu, values, (char *)m->sorted + first * 4, sizeof values),
                     BF_OK);
    assert_int_equal(bf_memory_copy(gpu, index, (char *)m->index + first * 8, sizeof index), BF_OK);
    for (int i = 0; i < WINDOW; i++) {
        assert_true(index[i] >= 0 && index[i] < m->n);
        assert_int_equal(values[i], chunk[index[i] % CHUNK]);
        if (i > 0 && values[i] == values[i - 1]) assert_true(index[i] > index[i - 1]);
        if (i > 0) assert_true(values[i] >= values[i - 1]);
    }
}

static void check_much(const much *m) {
    uint32_t *chunk = (uint32_t *)(void *)on_host;
    uint64_t seed = 5;
    bool sorted = false;
    bf_value sum;
    for (int64_t i = 0; i < CHUNK; i++) chunk[i] = (uint32_t)next_random(&seed);
    for (int64_t first = 0; first < m->n; first += CHUNK) {
        const int64_t left = m->n - first;
        assert_int_equal(bf_memory_copy(gpu, (char *)m->values + first * 4, chunk,
                                        4 * (size_t)(left < CHUNK ? left : CHUNK)),
                         BF_OK);
    }
    const bf_order_lines lines = {.dtype = BF_U32, .values = m->values, .count = 1, .length = m->n};
    assert_int_equal(by->sort(gpu, &lines, m->sorted, m->index), BF_OK);
    assert_int_equal(by->is_sorted(gpu, BF_U32, BF_ASCENDING, m->sorted, m->n, &sorted), BF_OK);
    assert_true(sorted);
    const bf_array index = bf_array_of(BF_I64, m->index, m->n);
    assert_int_equal(bf_reduce(gpu, BF_SUM, &index, NULL, &sum), BF_OK);
    assert_int_equal(sum.as.i64, m->n / 2 * (m->n - 1)); /* n is even */
    for (int i = 0; i < 64; i++) check_window(m, chunk, pick(&seed, m->n - WINDOW));
    check_window(m, chunk, 0);
    check_window(m, chunk, m->n - WINDOW);
}

static void sorts_of_many_elements_agree(void **unused) {
    (void)unused;
    leave_out_if_small();
    much m = {.n = (int64_t)CHUNK * CHUNKS - 12346};
    const bool there = allocate_much(&m);
    if (there) check_much(&m);
    bf_memory_free(gpu, m.values);
    bf_memory_free(gpu, m.sorted);
    bf_memory_free(gpu, m.index);
    if (!there) leave_out("this needs 20 GB of the GPU's memory");
}

static const int payload_bytes[] = {4, 8, 1, 2, 16, 4};

static void check_rows(problem *p, int payloads, uint64_t *seed) {
    static char payload_on_host[6][16 * 40000];
    char *at[6], *device = results_on_device;
    const size_t bytes = bytes_of(p->lines.dtype);
    const int first_kind = (int)pick(seed, 2);
    const int *sizes = payload_bytes + first_kind;
    if (payloads > 6 - first_kind) payloads = 6 - first_kind;
    for (int i = 0; i < payloads; i++) {
        const size_t all = (size_t)(p->n * sizes[i]);
        for (size_t b = 0; b < all; b++) payload_on_host[i][b] = (char)next_random(seed);
        at[i] = p->host ? payload_on_host[i] : device;
        device += (all + 255) & ~(size_t)255;
        if (p->host)
            memcpy(found_values + (size_t)i * 16 * 40000, payload_on_host[i], all);
        else
            assert_int_equal(bf_memory_copy(gpu, at[i], payload_on_host[i], all), BF_OK);
        if (p->host) at[i] = found_values + (size_t)i * 16 * 40000;
    }
    bf_order_lines lines = lines_on_gpu(p);
    char *keys = (char *)(uintptr_t)lines.values;
    check_ok(p, "rows", by->sort_rows(gpu, &lines, payloads, (void *const *)at, sizes));
    char *found = p->host ? keys : on_host + SECOND;
    fetch(p, found, keys, (size_t)p->n * bytes);
    check_bytes(p, "keys of rows", found, expected_values, p->n, bytes);
    for (int i = 0; i < payloads; i++) {
        fetch(p, found, at[i], (size_t)(p->n * sizes[i]));
        if (p->host) found = at[i];
        for (int64_t k = 0; k < p->n; k++)
            check_bytes(p, "payload", found + k * sizes[i],
                        payload_on_host[i] + expected_index[k] * sizes[i], 1, (size_t)sizes[i]);
    }
}

static void rows_agree(void **unused) {
    (void)unused;
    for (int i = 0, done = 0; done < cases(200); i++) {
        uint64_t seed = 40000u + (unsigned)i;
        problem p;
        make_problem(&p, seed, true);
        if (p.lines.count == 1 && p.offsets == NULL && p.n <= 40000) {
            expect_sorted(&p);
            check_rows(&p, (int)pick(&seed, 6), &seed);
            done++;
        }
        free_problem(&p);
    }
}

static void check_top(const problem *p, int64_t k, uint64_t *seed) {
    const size_t bytes = bytes_of(p->lines.dtype);
    bf_order_lines lines = lines_on_gpu(p);
    char *values = results_at(p, found_values, 0);
    char *index = p->host ? (char *)found_index : results_on_device + RESULTS_BYTES;
    check_ok(p, "top", by->top(gpu, &lines, k, pick(seed, 4) ? values : NULL, index));
    check_ok(p, "top", by->top(gpu, &lines, k, values, pick(seed, 4) ? index : NULL));
    fetch(p, found_values, values, (size_t)(p->lines.count * k) * bytes);
    fetch(p, found_index, index, (size_t)(p->lines.count * k) * 8);
    for (int64_t l = 0; l < p->lines.count; l++) {
        check_bytes(p, "top values", found_values + (size_t)(l * k) * bytes,
                    expected_values + (size_t)(l * p->lines.length) * bytes, k, bytes);
        check_bytes(p, "top index", found_index + l * k, expected_index + l * p->lines.length, k,
                    8);
    }
}

static void tops_agree(void **unused) {
    (void)unused;
    for (int i = 0; i < cases(300); i++) {
        uint64_t seed = 20000u + (unsigned)i;
        problem p;
        make_problem(&p, seed, true);
        if (p.offsets == NULL) {
            expect_sorted(&p);
            check_top(
                &p, 1 + pick(&seed, pick(&seed, 2) && p.lines.length > 100 ? 100 : p.lines.length),
                &seed);
        }
        free_problem(&p);
    }
}

/* Lines that are long enough for a sample: one, or three; aligned as their elements are. */
static void make_long(problem *p, int i, uint64_t *seed) {
    const bf_dtype dtype = all_dtypes[i % DTYPE_COUNT];
    const int64_t lines = pick(seed, 3) ? 1 : 3;
    *p = (problem){.lines = {.dtype = dtype, .count = lines}};
    p->offset = pick(seed, 2) ? 0 : (int)bytes_of(dtype);
    p->lines.values = on_host + p->offset;
    p->lines.length = (lines == 1 ? 600000 : 265000) + pick(seed, 20000);
    p->n = p->end = lines * p->lines.length;
    fill_elements(dtype, on_host + p->offset, p->n, seed);
    snprintf(p->what, sizeof p->what, "long %s, %d: %lld lines of %lld", bf_dtype_name(dtype), i,
             (long long)lines, (long long)p->lines.length);
    assert_int_equal(bf_memory_copy(gpu, on_device + p->offset, on_host + p->offset,
                                    (size_t)p->n * bytes_of(dtype)),
                     BF_OK);
}

static void tops_of_long_lines_agree(void **unused) {
    (void)unused;
    leave_out_if_small();
    for (int i = 0; i < 39; i++) {
        uint64_t seed = 900u + (unsigned)i;
        problem p;
        make_long(&p, i, &seed);
        p.lines.order = (bf_order)(i / DTYPE_COUNT % 3);
        expect_sorted(&p);
        check_top(&p, 1 + pick(&seed, 200), &seed);
        check_top(&p, 1 + pick(&seed, 4000), &seed);
    }
}

static void takes_agree(void **unused) {
    (void)unused;
    static const int widths[] = {1, 2, 4, 8, 16};
    for (int i = 0; i < cases(60); i++) {
        uint64_t seed = 60000u + (unsigned)i;
        problem p = {.host = i % 4 == 0};
        const int bytes = widths[pick(&seed, 5)], offset = i % 3 ? 0 : 1;
        const int64_t all = 1 + pick(&seed, 20000), n = 1 + pick(&seed, 20000);
        snprintf(p.what, sizeof p.what, "take %d", i);
        for (int64_t k = 0; k < all * bytes + 1; k++) on_host[k] = (char)next_random(&seed);
        for (int64_t k = 0; k < n; k++) expected_index[k] = pick(&seed, all);
        assert_int_equal(bf_memory_copy(gpu, on_device, on_host, (size_t)(all * bytes) + 1), BF_OK);
        char *index = on_device + SECOND, *to = results_at(&p, found_values, (size_t)offset);
        assert_int_equal(bf_memory_copy(gpu, index, expected_index, (size_t)n * 8), BF_OK);
        check_ok(&p, "take",
                 by->take(gpu, bytes, (p.host ? on_host : on_device) + offset,
                          p.host ? (char *)expected_index : index, n, to));
        fetch(&p, found_values + offset, to, (size_t)(n * bytes));
        for (int64_t k = 0; k < n; k++)
            check_bytes(&p, "take", found_values + offset + k * bytes,
                        on_host + offset + expected_index[k] * bytes, 1, (size_t)bytes);
    }
}

/* ---- selecting --------------------------------------------------------------------------------
 */

static void pick_selection(const problem *p, bf_selection *s, double q[], int64_t positions[],
                           bf_value *empty, uint64_t *seed) {
    int64_t shortest = p->lines.length;
    for (int64_t l = 0; l < p->lines.count; l++)
        if (begin_of(p, l + 1) - begin_of(p, l) < shortest)
            shortest = begin_of(p, l + 1) - begin_of(p, l);
    *s = (bf_selection){.statistic = (bf_statistic)pick(seed, 3),
                        .method = (bf_quantile_method)pick(seed, 13),
                        .nan = (bf_nan_policy)pick(seed, 3),
                        .count = 1 + (int)pick(seed, pick(seed, 3) ? 5 : FRACTIONS)};
    if (s->statistic == BF_STATISTIC_NTH && shortest == 0) s->statistic = BF_STATISTIC_QUANTILE;
    if (s->statistic == BF_STATISTIC_MEDIAN) s->count = 1;
    for (int i = 0; i < s->count; i++) {
        q[i] = (double)pick(seed, pick(seed, 2) ? 101 : 10001);
        q[i] /= q[i] > 100 ? 10000 : 100;
        positions[i] = shortest > 0 ? pick(seed, shortest) : 0;
    }
    s->q = q;
    s->positions = positions;
    s->to = s->statistic == BF_STATISTIC_MEDIAN     ? bf_median_to(p->lines.dtype)
            : s->statistic == BF_STATISTIC_QUANTILE ? bf_quantile_to(p->lines.dtype, s->method)
                                                    : p->lines.dtype;
    *empty = (bf_value){.dtype = s->to};
    store_bits(&empty->as, bf_dtype_size(s->to), 0x4242424242424242u);
    if (pick(seed, 2)) s->empty = empty;
    s->tagged = s->statistic != BF_STATISTIC_NTH && pick(seed, 3) == 0;
    if (bf_scale_valid(p->lines.dtype, 1) && pick(seed, 2))
        s->scale = (int)pick(seed, BF_SCALE_MOST + 1);
}

/* The result of a line in order, from its numbers, or BF_E_NAN or BF_E_EMPTY. */
static bf_status expect_result(const problem *p, const bf_selection *s, int64_t line, int i,
                               bf_quantile_value *value) {
    const size_t bytes = bf_dtype_size(p->lines.dtype);
    const int64_t n = begin_of(p, line + 1) - begin_of(p, line);
    const char *x = expected_values + (size_t)begin_of(p, line) * bytes;
    const bool nth = s->statistic == BF_STATISTIC_NTH;
    int64_t nans = 0;
    if (n > 0) { /* they are at one end */
        const bool in_front = is_nan(p->lines.dtype, load_bits(x, bytes));
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = in_front ? k : n - 1 - k;
            if (!is_nan(p->lines.dtype, load_bits(x + (size_t)at * bytes, bytes))) break;
            nans++;
        }
    }
    if (nans > 0 && s->nan == BF_NAN_ERROR) return BF_E_NAN;
    value->dtype = s->to;
    value->bits = 0x4242424242424242u & (~(uint64_t)0 >> (64 - 8 * bf_dtype_size(s->to)));
    if (n == (s->nan == BF_NAN_SKIP && !nth ? nans : 0)) return s->empty ? BF_OK : BF_E_EMPTY;
    if (nth) {
        value->bits = load_bits(x + (size_t)s->positions[i] * bytes, bytes);
        return BF_OK;
    }
    if (s->to == BF_F64) value->bits = 0x7ff8000000000000u;
    if (s->to == BF_F32) value->bits = 0x7fc00000u;
    if (s->to == BF_F16) value->bits = 0x7e00u;
    if (s->to == BF_BF16) value->bits = 0x7fc0u;
    if (nans > 0 && s->nan == BF_NAN_PROPAGATE) return BF_OK;
    const bf_between b = s->statistic == BF_STATISTIC_MEDIAN
                             ? bf_median_between(n - nans)
                             : bf_quantile_between(s->method, n - nans, s->q[i]);
    const uint64_t below = load_bits(x + (size_t)b.below * bytes, bytes);
    const uint64_t above = load_bits(x + (size_t)b.above * bytes, bytes);
    *value = bf_quantile_make(p->lines.dtype, s->to, s->scale, below, above, b.weight);
    return BF_OK;
}

static void check_selection(problem *p, uint64_t seed) {
    double fractions[FRACTIONS];
    int64_t positions[FRACTIONS];
    bf_value empty;
    bf_selection s;
    pick_selection(p, &s, fractions, positions, &empty, &seed);
    if (s.statistic != BF_STATISTIC_NTH) p->lines.order = BF_ASCENDING;
    expect_sorted(p);
    bf_order_lines lines = lines_on_gpu(p);
    char *results = results_at(p, found_values, (size_t)p->offset);
    const size_t bytes = (size_t)bf_selection_bytes(&s);
    bf_status expected = BF_OK, status;
    for (int64_t l = 0; l < p->lines.count && expected == BF_OK; l++) {
        bf_quantile_value value;
        expected = expect_result(p, &s, l, 0, &value);
    }
    status = by->select(gpu, &lines, &s, results);
    if (status != expected)
        fail_msg("select %d of %s: %s (%s), not %s", (int)s.statistic, p->what,
                 bf_status_string(status), bf_context_message(gpu), bf_status_string(expected));
    if (status != BF_OK) return;
    char *found = found_values + p->offset;
    fetch(p, found, results, (size_t)(p->lines.count * s.count) * bytes);
    for (int i = 0; i < s.count; i++)
        for (int64_t l = 0; l < p->lines.count; l++) {
            char wanted[16] = {0};
            bf_quantile_value value;
            const char *at = found + (size_t)(i * p->lines.count + l) * bytes;
            assert_int_equal(expect_result(p, &s, l, i, &value), BF_OK);
            bf_selection_store(&s, wanted, value);
            if (memcmp(at, wanted, bytes) != 0)
                fail_msg("select %d (method %d, nan %d, fraction %g, position %lld) of %s: result "
                         "%d of line %lld is not %llx",
                         (int)s.statistic, (int)s.method, (int)s.nan, fractions[i],
                         (long long)positions[i], p->what, i, (long long)l,
                         (unsigned long long)value.bits);
        }
}

static void selections_agree(void **unused) {
    (void)unused;
    for (int i = 0; i < cases(400); i++) {
        problem p;
        make_problem(&p, 80000u + (unsigned)i, false);
        if (p.lines.count * FRACTIONS * 16 < RESULTS_BYTES / 2)
            check_selection(&p, 90000u + (unsigned)i);
        free_problem(&p);
    }
}

static void selections_of_long_lines_agree(void **unused) {
    (void)unused;
    leave_out_if_small();
    for (int i = 0; i < 39; i++) {
        uint64_t seed = 500u + (unsigned)i;
        problem p;
        make_long(&p, i, &seed);
        for (uint64_t k = 0; k < 3; k++) check_selection(&p, 7000 + 3 * seed + k);
    }
}

/* ---- places -----------------------------------------------------------------------------------
 */

static bool is_before(bf_dtype dtype, bf_order order, const char *a, const char *b) {
    const item x = item_of(dtype, order, a), y = item_of(dtype, order, b);
    return x.hi != y.hi ? x.hi < y.hi : x.lo < y.lo;
}

static void check_search(const problem *p, uint64_t *seed) {
    const bf_dtype dtype = p->lines.dtype;
    const size_t bytes = bytes_of(dtype);
    const int64_t m = 1 + pick(seed, 500);
    const bool right = pick(seed, 2);
    char *wanted = on_host + SECOND;
    fill_elements(dtype, wanted, m, seed);
    for (int64_t i = 0; i < m; i += 2)
        memcpy(wanted + (size_t)i * bytes, on_host + p->offset + (size_t)pick(seed, p->n) * bytes,
               bytes);
    assert_int_equal(bf_memory_copy(gpu, on_device, expected_values, (size_t)p->n * bytes), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, on_device + SECOND, wanted, (size_t)m * bytes), BF_OK);
    char *places = p->host ? (char *)found_index : results_on_device;
    check_ok(p, "search",
             by->search(gpu, dtype, p->lines.order, p->host ? expected_values : on_device, p->n,
                        p->host ? wanted : on_device + SECOND, m, right, places));
    fetch(p, found_index, places, (size_t)m * 8);
    for (int64_t i = 0; i < m; i++) {
        const char *mine = wanted + (size_t)i * bytes;
        const int64_t at = found_index[i];
        const char *there = expected_values + (size_t)at * bytes, *front = there - bytes;
        bool fits = at >= 0 && at <= p->n;
        if (fits && at > 0)
            fits = right ? !is_before(dtype, p->lines.order, mine, front)
                         : is_before(dtype, p->lines.order, front, mine);
        if (fits && at < p->n)
            fits = right ? is_before(dtype, p->lines.order, mine, there)
                         : !is_before(dtype, p->lines.order, there, mine);
        if (!fits) fail_msg("search in %s: place %lld", p->what, (long long)at);
    }
}

static void check_disorder(const problem *p, uint64_t *seed) {
    const bf_dtype dtype = p->lines.dtype;
    const size_t bytes = bytes_of(dtype);
    bool sorted = false;
    const char *values = p->host ? expected_values : on_device;
    check_ok(p, "is_sorted", by->is_sorted(gpu, dtype, p->lines.order, values, p->n, &sorted));
    if (!sorted) fail_msg("%s in order is not sorted", p->what);
    if (p->n < 2) return;
    const int64_t at = pick(seed, p->n - 1);
    char *one = expected_values + (size_t)at * bytes, *two = one + bytes, kept[16];
    const bool differ = is_before(dtype, p->lines.order, one, two);
    memcpy(kept, one, bytes);
    memmove(one, two, bytes);
    memcpy(two, kept, bytes);
    assert_int_equal(bf_memory_copy(gpu, on_device, expected_values, (size_t)p->n * bytes), BF_OK);
    check_ok(p, "is_sorted", by->is_sorted(gpu, dtype, p->lines.order, values, p->n, &sorted));
    if (sorted == differ) fail_msg("%s: sorted is %d after a swap", p->what, sorted);
}

static void searches_agree(void **unused) {
    (void)unused;
    for (int i = 0; i < cases(300); i++) {
        uint64_t seed = 120000u + (unsigned)i;
        problem p;
        make_problem(&p, seed, true);
        if (p.lines.count == 1 && p.offsets == NULL) {
            expect_sorted(&p);
            check_search(&p, &seed);
            check_disorder(&p, &seed);
        }
        free_problem(&p);
    }
}

/* ---- different values -------------------------------------------------------------------------
 */

static void check_unique(const problem *p, uint64_t *seed) {
    const bf_dtype dtype = p->lines.dtype;
    const size_t bytes = bytes_of(dtype);
    int64_t different = 0, found = -1, room;
    for (int64_t i = 0; i < p->n; i++) { /* expected_values become keys and expected_index counts */
        char key[16];
        memcpy(key, expected_values + (size_t)i * bytes, bytes);
        if (dtype != BF_PAIR) store_bits(key, bytes, bf_group_key(dtype, load_bits(key, bytes)));
        if (different == 0 ||
            memcmp(key, expected_values + (size_t)(different - 1) * bytes, bytes)) {
            memcpy(expected_values + (size_t)different * bytes, key, bytes);
            expected_index[different++] = 0;
        }
        expected_index[different - 1]++;
    }
    room = pick(seed, 2) ? p->n : pick(seed, different + 1);
    const int64_t listed = room < different ? room : different;
    const char *values = p->host ? p->lines.values : on_device + p->offset;
    char *keys = results_at(p, found_values, 0);
    char *counts = p->host ? (char *)found_index : results_on_device + RESULTS_BYTES;
    check_ok(
        p, "unique",
        by->unique(gpu, dtype, values, p->n, keys, pick(seed, 3) ? counts : NULL, room, &found));
    check_ok(
        p, "unique",
        by->unique(gpu, dtype, values, p->n, pick(seed, 3) ? keys : NULL, counts, room, &found));
    assert_int_equal(found, different);
    fetch(p, found_values, keys, (size_t)listed * bytes);
    fetch(p, found_index, counts, (size_t)listed * 8);
    check_bytes(p, "keys", found_values, expected_values, listed, bytes);
    check_bytes(p, "counts", found_index, expected_index, listed, 8);
}

static void uniques_agree(void **unused) {
    (void)unused;
    for (int i = 0; i < cases(200); i++) {
        uint64_t seed = 150000u + (unsigned)i;
        problem p;
        make_problem(&p, seed, true);
        p.lines.order = BF_ASCENDING;
        if (p.lines.count == 1 && p.offsets == NULL) {
            expect_sorted(&p);
            check_unique(&p, &seed);
        }
        free_problem(&p);
    }
}

/* ---- set up ------------------------------------------------------------------------------------
 */

static int set_up_order(void **state) {
    void *memory;
    if (set_up(state) || bf_memory_allocate(gpu, 2 * RESULTS_BYTES, &memory)) return -1;
    results_on_device = memory;
    by = bf_backend_open(gpu)->order;
    expected_values = malloc(2 * RESULTS_BYTES);
    found_values = malloc(2 * RESULTS_BYTES);
    expected_index = malloc(2 * RESULTS_BYTES);
    found_index = malloc(2 * RESULTS_BYTES);
    return expected_values && found_values && expected_index && found_index ? 0 : -1;
}

static int tear_down_order(void **state) {
    bf_memory_free(gpu, results_on_device);
    free(expected_values);
    free(found_values);
    free(expected_index);
    free(found_index);
    return tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_agree),
        cmocka_unit_test(sorts_of_long_lines_agree),
        cmocka_unit_test(sorts_of_many_elements_agree),
        cmocka_unit_test(rows_agree),
        cmocka_unit_test(tops_agree),
        cmocka_unit_test(tops_of_long_lines_agree),
        cmocka_unit_test(takes_agree),
        cmocka_unit_test(selections_agree),
        cmocka_unit_test(selections_of_long_lines_agree),
        cmocka_unit_test(searches_agree),
        cmocka_unit_test(uniques_agree),
    };
    return RUN_ON_GPU_WITH(tests, set_up_order, tear_down_order);
}
