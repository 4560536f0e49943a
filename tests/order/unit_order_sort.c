/* Sorting on the CPU against a plain sort of the places that the rules give: whatever the dtype,
 * the order, the pattern, the instruction set and the threads, the same bits and positions.
 * Builds: release, asan (full), tsan (full). */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "cpu/order/order.h"
#include "rules/key/rank.h"

enum { MOST = 1 << 20, SMALL = 6000, THREADS_ALONE = CASE_STEP > 1 };
/* Off alignment, where ThreadSanitizer would look at each access by two. */
enum { OFF = !THREADS_ALONE };

static const bf_order orders[] = {BF_ASCENDING, BF_DESCENDING, BF_DESCENDING_NAN_LAST};

typedef struct entry {
    uint64_t place[2];
    int64_t index;
} entry;

static entry entries[MOST];
static char values_room[16 * MOST + 16], sorted_room[16 * MOST + 16], index_room[8 * MOST + 16];
static char *const values = values_room + OFF, *const sorted = sorted_room + OFF;
static char *const index_of = index_room + OFF;

static int bytes_of(bf_dtype dtype) { return dtype == BF_PAIR ? 16 : (int)bf_dtype_size(dtype); }

/* ---- the oracle ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    for (int w = 0; w < 2; w++)
        if (x->place[w] != y->place[w]) return x->place[w] < y->place[w] ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static entry entry_of(bf_dtype dtype, bf_order order, const char *from, int64_t i) {
    if (dtype == BF_PAIR)
        return (entry){{bf_order_place(BF_U64, order, load_bits(from + 16 * i, 8)),
                        bf_order_place(BF_U64, order, load_bits(from + 16 * i + 8, 8))},
                       i};
    size_t bytes = bf_dtype_size(dtype);
    return (entry){{bf_order_place(dtype, order, load_bits(from + (size_t)i * bytes, bytes)), 0},
                   i};
}

static void sort_entries(bf_dtype dtype, bf_order order, const char *from, int64_t n, entry *out) {
    for (int64_t i = 0; i < n; i++) out[i] = entry_of(dtype, order, from, i);
    qsort(out, (size_t)n, sizeof *out, compare);
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef enum pattern {
    RANDOM, /* all bits: of floats some NaNs, and many of f16 */
    FEW,
    EQUAL,
    RISING,
    FALLING,
    SAWTOOTH,
    MOSTLY_ONE, /* one value, and a few others */
    NANS,       /* with all payloads, and zeros of both signs */
    TIES,       /* they differ in their last bits, and two are far off */
    TWO,
    ORGAN_PIPES, /* rising, then falling */
    SHARED,      /* all have the same low bits */
    PATTERNS
} pattern;

static uint64_t nan_or_zero(bf_dtype dtype, uint64_t random) {
    uint64_t sign = random & sign_bit(dtype);
    if (random % 3 == 0) return sign | infinity_bits(dtype) | (random >> 8 & 63) | 1;
    return random % 3 == 1 ? sign : sign | (random & infinity_bits(dtype) >> 1);
}

static uint64_t word_of(bf_dtype dtype, pattern p, int64_t i, int64_t n, uint64_t *seed) {
    uint64_t random = next_random(seed);
    switch (p) {
    case RANDOM: return random;
    case FEW: return random % 7 * 0x1234567;
    case EQUAL: return 42;
    case RISING: return (uint64_t)i;
    case FALLING: return (uint64_t)(n - i);
    case SAWTOOTH: return (uint64_t)(i % 1000);
    case MOSTLY_ONE: return random % 50 == 0 ? random >> 8 : 77;
    case NANS: return is_float(dtype) && dtype != BF_PAIR ? nan_or_zero(dtype, random) : random;
    case TWO: return random % 2 << 31 | 5;
    case ORGAN_PIPES: return (uint64_t)(i < n / 2 ? i : n - i);
    case SHARED: return (random & ~(uint64_t)0 << 44) | 0x123;
    default: return i == 0 ? 0 : i == 1 ? ~(uint64_t)0 >> 2 : (uint64_t)1 << 40 | random >> 44;
    }
}

static void make_values(bf_dtype dtype, pattern p, int64_t n) {
    uint64_t seed = (uint64_t)p * 1000 + (uint64_t)n;
    size_t bytes = (size_t)bytes_of(dtype);
    for (int64_t i = 0; i < n; i++) {
        char *at = values + (size_t)i * bytes;
        uint64_t word = word_of(dtype, p, i, n, &seed);
        if (dtype == BF_PAIR) {
            store_bits(at, 8, p == RANDOM ? word % 100 : word);
            store_bits(at + 8, 8, word_of(dtype, i % 3 == 0 ? p : RANDOM, i, n, &seed));
        } else {
            store_bits(at, bytes, word);
        }
    }
}

/* Every dtype, and pairs. */
static bf_dtype dtype_of(int i) { return i < DTYPE_COUNT ? all_dtypes[i] : BF_PAIR; }

/* ---- lines ----------------------------------------------------------------------------------- */

/* What the value of a sorted element is. */
static uint64_t kept_bits(bf_dtype dtype, const char *at, size_t bytes) {
    uint64_t bits = load_bits(at, bytes);
    return dtype == BF_BOOL ? bits != 0 : bits;
}

static char wanted_values[16 * MOST];
static int64_t wanted_index[MOST];

/* Sets what is wanted of a line from its elements in order: at the element `at` and on. */
static void want_line(bf_dtype dtype, const char *from, int64_t at, int64_t n, const entry *out) {
    size_t bytes = (size_t)bytes_of(dtype), word = bytes > 8 ? 8 : bytes;
    for (int64_t i = 0; i < n; i++) {
        char *to = wanted_values + (size_t)(at + i) * bytes;
        for (size_t b = 0; b < bytes; b += word)
            store_bits(to + b, word,
                       kept_bits(dtype, from + (size_t)out[i].index * bytes + b, word));
        wanted_index[at + i] = out[i].index;
    }
}

/* Compares n elements, the first of which is number `at`, with what is wanted. Each may be NULL. */
static void check_line(bf_dtype dtype, int64_t at, int64_t n, const char *made, const char *index) {
    const int bytes = bytes_of(dtype);
    const char *values_at = wanted_values + at * bytes;
    if ((made == NULL || memcmp(made, values_at, (size_t)(n * bytes)) == 0) &&
        (index == NULL || memcmp(index, wanted_index + at, (size_t)(8 * n)) == 0))
        return;
    for (int64_t i = 0; i < n; i++)
        if ((made != NULL && memcmp(made + i * bytes, values_at + i * bytes, (size_t)bytes) != 0) ||
            (index != NULL && (int64_t)load_bits(index + 8 * i, 8) != wanted_index[at + i]))
            fail_msg("%s: element %lld of %lld is wrong", bf_dtype_name(dtype), (long long)i,
                     (long long)n);
}

/* Makes the values of a line, and what is wanted of it. */
static void make_line(bf_dtype dtype, bf_order order, pattern p, int64_t n) {
    make_values(dtype, p, n);
    sort_entries(dtype, order, values, n, entries);
    want_line(dtype, values, 0, n, entries);
}

static bf_order_lines one_line(bf_dtype dtype, bf_order order, const void *from, int64_t n) {
    return (bf_order_lines){
        .dtype = dtype, .values = from, .count = 1, .length = n, .order = order};
}

static void run_sort(bf_context *c, const bf_order_lines *lines, void *to, void *index) {
    assert_int_equal(bf_cpu_order_backend.sort(c, lines, to, index), BF_OK);
}

/* Elsewhere, in place, with positions and without; after make_line. */
static void check_sort(bf_context *c, bf_dtype dtype, bf_order order, int64_t n) {
    bf_order_lines lines = one_line(dtype, order, values, n);
    size_t bytes = (size_t)(n * bytes_of(dtype));
    run_sort(c, &lines, sorted, NULL);
    check_line(dtype, 0, n, sorted, NULL);
    run_sort(c, &lines, sorted, index_of);
    check_line(dtype, 0, n, sorted, index_of);
    memset(index_of, 0, (size_t)(8 * n));
    run_sort(c, &lines, NULL, index_of);
    check_line(dtype, 0, n, NULL, index_of);
    lines.values = sorted;
    memcpy(sorted, values, bytes);
    run_sort(c, &lines, sorted, NULL);
    check_line(dtype, 0, n, sorted, NULL);
    memcpy(sorted, values, bytes);
    run_sort(c, &lines, sorted, index_of);
    check_line(dtype, 0, n, sorted, index_of);
}

/* ---- one thread ------------------------------------------------------------------------------ */

enum { LINE_STEP = DATA_SHARE > 1 ? 3 : 1 };

TEST(one_line_of_every_kind_is_sorted_on_every_isa) {
    needs_no_threads();
    static const int64_t sizes[] = {1,  2,  3,   4,   5,   8,   9,   16,  17,  31,  32,   33,
                                    64, 65, 100, 127, 128, 129, 255, 256, 257, 513, 1025, 5001};
    int step = 0;
    for (int isa = 0; bf_isa_name(isa) != NULL; isa++) {
        if (!bf_isa_available(isa)) continue;
        OWN(bf_context) *c = make_context(bf_isa_name(isa), 1);
        for (int d = 0; d <= DTYPE_COUNT; d++)
            for (int o = 0; o < 3; o++)
                for (pattern p = RANDOM; p < PATTERNS; p++)
                    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                        if (step++ % LINE_STEP != 0) continue;
                        make_line(dtype_of(d), orders[o], p, sizes[s]);
                        check_sort(c, dtype_of(d), orders[o], sizes[s]);
                    }
    }
}

TEST(every_length_to_600_is_sorted) {
    needs_no_threads();
    static const bf_dtype dtypes[] = {BF_U8, BF_I16, BF_F32, BF_U32, BF_I64, BF_F64};
    for (int isa = 0; bf_isa_name(isa) != NULL; isa++) {
        if (!bf_isa_available(isa)) continue;
        OWN(bf_context) *c = make_context(bf_isa_name(isa), 1);
        for (int64_t n = 1; n <= 600; n++) {
            bf_dtype dtype = dtypes[n % 6];
            make_line(dtype, BF_ASCENDING, n % 4 == 0 ? FEW : RANDOM, n);
            check_sort(c, dtype, BF_ASCENDING, n);
        }
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Every second pattern of a dtype, which the other dtypes of its width make up for. */
enum { SHARED_STEP = CASE_STEP > 1 ? 32 : 2 * DATA_SHARE };

TEST(nothing_depends_on_the_threads) {
    static const int64_t sizes[] = {70001, 270001, 550007}; /* threads share the longer ones */
    static const int threads[] = {1, 2, 3, 8};
    bf_context *c[16];
    int contexts = 0, step = 0;
    for (int isa = 0; bf_isa_name(isa) != NULL; isa++)
        for (int t = THREADS_ALONE; t < 4 && bf_isa_available(isa); t++, contexts++)
            c[contexts] = make_context(bf_isa_name(isa), threads[t]);
    for (int d = 0; d <= DTYPE_COUNT; d++)
        for (pattern p = RANDOM; p < PATTERNS; p++, step++) {
            if (step % SHARED_STEP != 0) continue;
            int64_t n = sizes[step / SHARED_STEP % 3];
            bf_order order = orders[step / 3 % 3];
            make_line(dtype_of(d), order, p, n);
            for (int i = (step + d) % 3; i < contexts; i += 3)
                check_sort(c[i], dtype_of(d), order, n);
        }
    for (int i = 0; i < contexts; i++) bf_context_destroy(c[i]);
}

TEST(a_million_elements_are_sorted) {
    static const bf_dtype dtypes[] = {BF_U8, BF_F16, BF_F32, BF_U64, BF_F64, BF_PAIR};
    const int64_t n = MOST / DATA_SHARE;
    for (int d = 0; d < 6; d += DATA_SHARE) {
        make_line(dtypes[d], BF_ASCENDING, RANDOM, n);
        for (int threads = 1 + THREADS_ALONE; threads <= 2; threads++) {
            OWN(bf_context) *c = make_context(NULL, threads);
            check_sort(c, dtypes[d], BF_ASCENDING, n);
        }
    }
}

/* Offsets of segments: empty ones, many short ones, a long one, and elements of none around. */
static int64_t make_offsets(int64_t *offsets, int64_t n) {
    uint64_t seed = 5;
    int64_t count = 0, at = 3;
    while (at + 200 < n) {
        offsets[count++] = at;
        at += count == 40 ? n / 2 : (int64_t)(next_random(&seed) % 200) * (count % 3 > 0);
    }
    offsets[count] = at;
    return count;
}

/* Segments of `values`; what is wanted of them is set once for all contexts. */
static bf_order_lines make_segments(bf_dtype dtype, bf_order order, const int64_t *offsets,
                                    int64_t count) {
    int bytes = bytes_of(dtype);
    int64_t longest = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = offsets[i], length = offsets[i + 1] - at;
        if (length > longest) longest = length;
        sort_entries(dtype, order, values + at * bytes, length, entries);
        want_line(dtype, values + at * bytes, at, length, entries);
    }
    return (bf_order_lines){dtype, values, count, longest, offsets, order, 0, false};
}

static void check_segments(bf_context *c, void *arg) {
    const bf_order_lines *lines = arg;
    const int bytes = bytes_of(lines->dtype);
    const int64_t first = lines->offsets[0], end = lines->offsets[lines->count];
    for (int way = 0; way < 3; way++) {
        memset(sorted, 0x5a, (size_t)((end + 20) * bytes));
        memset(index_of, 0x5a, (size_t)(8 * end));
        run_sort(c, lines, way != 1 ? sorted : NULL, way != 0 ? index_of : NULL);
        check_line(lines->dtype, first, end - first, way != 1 ? sorted + first * bytes : NULL,
                   way != 0 ? index_of + 8 * first : NULL);
        for (int64_t i = -first * bytes; i < 20 * bytes; i++) /* these belong to no segment */
            assert_int_equal(sorted[(i < 0 ? first : end) * bytes + i], 0x5a);
    }
}

TEST(segments_are_sorted_each) {
    static int64_t offsets[MOST / 8];
    int64_t n = 400000 / DATA_SHARE, count = make_offsets(offsets, n);
    static const bf_dtype dtypes[] = {BF_BOOL, BF_F16, BF_F32, BF_I64, BF_F64, BF_PAIR};
    for (int d = 0; d < 6; d++) {
        make_values(dtypes[d], d % 2 == 0 ? NANS : RANDOM, n);
        bf_order_lines lines = make_segments(dtypes[d], orders[d % 3], offsets, count);
        on_every_context(check_segments, &lines);
    }
}

static void check_lines(bf_context *c, void *arg) {
    const bf_order_lines *segments = arg;
    check_segments(c, arg);
    const bf_order_lines lines = {
        segments->dtype, values, segments->count, segments->length, NULL, BF_ASCENDING, 0, false};
    run_sort(c, &lines, sorted, NULL);
    check_line(lines.dtype, 0, lines.count * lines.length, sorted, NULL);
}

TEST(lines_are_sorted_each) {
    static int64_t offsets[MOST];
    static const int64_t lengths[] = {1, 5, 32, 100, 256, 5000};
    for (int l = 0; l < 6; l++) {
        int64_t count = 40000 / lengths[l];
        bf_dtype dtype = dtype_of((3 * l + 7) % (DTYPE_COUNT + 1));
        for (int64_t i = 0; i <= count; i++) offsets[i] = i * lengths[l];
        make_values(dtype, RANDOM, count * lengths[l]);
        bf_order_lines lines = make_segments(dtype, BF_ASCENDING, offsets, count);
        on_every_context(check_lines, &lines);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void check_rows(bf_context *c, bf_dtype dtype, bf_order order, pattern p, int64_t n) {
    static char payloads[5][16 * 150000];
    static const int widths[] = {1, 2, 4, 8, 16};
    void *payload[5];
    make_line(dtype, order, p, n);
    for (int w = 0; w < 5; w++) {
        payload[w] = payloads[w];
        for (int64_t i = 0; i < n * widths[w]; i++)
            payloads[w][i] = (char)((i / widths[w] * 31 + i % widths[w]) >> i % widths[w]);
    }
    memcpy(sorted, values, (size_t)(n * bytes_of(dtype)));
    bf_order_lines keys = one_line(dtype, order, sorted, n);
    assert_int_equal(bf_cpu_order_backend.sort_rows(c, &keys, 5, payload, widths), BF_OK);
    check_line(dtype, 0, n, sorted, NULL);
    for (int w = 0; w < 5; w++)
        for (int64_t i = 0; i < n * widths[w]; i++) {
            int64_t from = entries[i / widths[w]].index, at = i % widths[w];
            assert_int_equal(payloads[w][i], (char)((from * 31 + at) >> at));
        }
}

TEST_ON_EVERY_CONTEXT(rows_follow_their_keys) {
    for (int d = 0; d <= DTYPE_COUNT; d++) {
        pattern p = (pattern)(d % PATTERNS);
        check_rows(context, dtype_of(d), orders[d % 3], p, d % 5 == 0 ? 140001 / DATA_SHARE : 777);
    }
}

TEST_ON_EVERY_CONTEXT(elements_are_taken) {
    static const int widths[] = {1, 2, 4, 8, 16};
    int64_t n = 100001 / DATA_SHARE;
    uint64_t seed = 3;
    make_values(BF_PAIR, NANS, n);
    for (int64_t i = 0; i < n; i++) store_bits(index_of + 8 * i, 8, next_random(&seed) % 5000);
    for (int w = 0; w < 5; w++) {
        assert_int_equal(bf_cpu_order_backend.take(context, widths[w], values, index_of, n, sorted),
                         BF_OK);
        for (int64_t i = 0; i < n; i++)
            assert_memory_equal(sorted + i * widths[w],
                                values + load_bits(index_of + 8 * i, 8) * (size_t)widths[w],
                                (size_t)widths[w]);
    }
}

/* ---- searching ------------------------------------------------------------------------------- */

static void check_search(bf_context *c, bf_dtype dtype, bf_order order, int64_t n, int64_t m) {
    static char wanted[8 * 5000];
    int bytes = bytes_of(dtype);
    make_values(dtype, NANS, m);
    memcpy(wanted, values, (size_t)(m * bytes));
    make_values(dtype, n % 2 == 0 ? FEW : NANS, n);
    bf_order_lines lines = one_line(dtype, order, values, n);
    run_sort(c, &lines, sorted, NULL);
    for (int right = 0; right < 2; right++) {
        assert_int_equal(bf_cpu_order_backend.search(c, dtype, order, sorted, n, wanted, m,
                                                     right != 0, index_of),
                         BF_OK);
        for (int64_t i = 0; i < m; i++) {
            uint64_t place = entry_of(dtype, order, wanted, i).place[0];
            int64_t at = 0;
            while (at < n) {
                uint64_t x = entry_of(dtype, order, sorted, at).place[0];
                if (x > place || (x == place && right == 0)) break;
                at++;
            }
            assert_int_equal(load_bits(index_of + 8 * i, 8), at);
        }
    }
}

TEST_ON_EVERY_CONTEXT(wanted_elements_are_found) {
    static const int64_t sizes[] = {1, 2, 3, 7, 64, 301};
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (int s = 0; s < 6; s++)
            check_search(context, dtype_of(d), orders[(d + s) % 3], sizes[s], d == 7 ? 5000 : 33);
}

static bool is_in_order(bf_context *c, bf_dtype dtype, bf_order order, int64_t n) {
    bool is = false;
    assert_int_equal(bf_cpu_order_backend.is_sorted(c, dtype, order, sorted, n, &is), BF_OK);
    return is;
}

TEST_ON_EVERY_CONTEXT(a_fall_is_seen_wherever_it_is) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        bf_dtype dtype = dtype_of(d);
        size_t bytes = bf_dtype_size(dtype);
        for (int o = 0; o < 3; o++) {
            int64_t n = o == 0 ? 40001 : 300;
            make_values(dtype, NANS, n);
            memset(values, 0, 3 * bytes); /* a bool seldom is this */
            bf_order_lines lines = one_line(dtype, orders[o], values, n);
            run_sort(context, &lines, sorted, NULL);
            assert_true(is_in_order(context, dtype, orders[o], n));
            assert_true(is_in_order(context, dtype, orders[o], 1));
            char first[8], *end = sorted + (size_t)(n - 1) * bytes;
            memcpy(first, sorted, bytes);
            memcpy(sorted, end, bytes); /* the last one first, and the first one last */
            assert_false(is_in_order(context, dtype, orders[o], n));
            memcpy(sorted, first, bytes);
            memcpy(end, first, bytes);
            assert_false(is_in_order(context, dtype, orders[o], n));
            assert_true(is_in_order(context, dtype, orders[o], n - 1));
        }
    }
}

/* ---- different keys -------------------------------------------------------------------------- */

static void check_unique(bf_context *c, bf_dtype dtype, pattern p, int64_t n) {
    static char keys[8 * 140003], counts[8 * 140003];
    size_t bytes = bf_dtype_size(dtype);
    int64_t different = -1, found = 0, begin = 0;
    make_values(dtype, p, n);
    for (int64_t i = 0; i < n; i++) {
        char *at = sorted + (size_t)i * bytes;
        store_bits(at, bytes, bf_group_key(dtype, load_bits(values + (size_t)i * bytes, bytes)));
    }
    sort_entries(dtype, BF_ASCENDING, sorted, n, entries);
    for (int64_t room = n; room >= 0; room = room > 0 ? room / 7 : -1) {
        memset(keys, 0x5a, (size_t)(8 * n));
        memset(counts, 0x5a, (size_t)(8 * n));
        assert_int_equal(
            bf_cpu_order_backend.unique(c, dtype, values, n, keys, counts, room, &different),
            BF_OK);
        found = 0;
        for (begin = 0; begin < n; found++) {
            int64_t end = begin + 1;
            while (end < n && entries[end].place[0] == entries[begin].place[0]) end++;
            if (found < room) {
                uint64_t key = load_bits(sorted + (size_t)entries[begin].index * bytes, bytes);
                assert_int_equal(load_bits(keys + (size_t)found * bytes, bytes), key);
                assert_int_equal(load_bits(counts + 8 * found, 8), end - begin);
            } else if (found == room) {
                assert_int_equal(keys[(size_t)found * bytes], 0x5a);
                assert_int_equal(counts[8 * found], 0x5a);
            }
            begin = end;
        }
        assert_int_equal(different, found);
    }
    different = -1;
    assert_int_equal(bf_cpu_order_backend.unique(c, dtype, values, n, NULL, NULL, 0, &different),
                     BF_OK);
    assert_int_equal(different, found);
    memset(counts, 0, 8);
    assert_int_equal(bf_cpu_order_backend.unique(c, dtype, values, n, NULL, counts, 1, &different),
                     BF_OK);
    assert_true(load_bits(counts, 8) > 0);
}

TEST_ON_EVERY_CONTEXT(different_keys_are_listed_and_counted) {
    for (int d = 0; d < DTYPE_COUNT; d++)
        for (pattern p = RANDOM; p < PATTERNS; p++) {
            int64_t n = p == RANDOM && d % 4 == 0 ? 140003 / DATA_SHARE : 1 + 37 * (int64_t)p;
            check_unique(context, dtype_of(d), p, n);
        }
}

/* ---- failures -------------------------------------------------------------------------------- */

#ifndef SANITIZED
/* Every allocation fails once. Whatever fails, nothing is written in place. */
TEST(nothing_is_written_without_memory) {
    static const bf_dtype dtypes[] = {BF_U8, BF_F16, BF_F32, BF_I64, BF_PAIR};
    int64_t n = 200001, different;
    for (int d = 0; d < 5; d++) {
        size_t bytes = (size_t)(n * bytes_of(dtypes[d]));
        OWN(bf_context) *c = make_context(NULL, 2);
        make_values(dtypes[d], NANS, n);
        memcpy(sorted, values, bytes);
        bf_order_lines lines = one_line(dtypes[d], BF_ASCENDING, sorted, n);
        int widths[] = {8}, call = 0;
        void *payload[] = {index_of};
        for (int k = 0; call < 3;) {
            bf_status status = BF_OK;
            atomic_store(&until_failure, k++);
            if (call == 0) status = bf_cpu_order_backend.sort(c, &lines, sorted, NULL);
            if (call == 1) status = bf_cpu_order_backend.sort_rows(c, &lines, 1, payload, widths);
            if (call == 2 && dtypes[d] != BF_PAIR)
                status = bf_cpu_order_backend.unique(c, dtypes[d], values, n, index_of, NULL, n,
                                                     &different);
            atomic_store(&until_failure, -1);
            if (status != BF_OK) {
                assert_int_equal(status, BF_E_MEMORY);
                assert_memory_equal(sorted, values, bytes);
                continue;
            }
            memcpy(sorted, values, bytes);
            assert_true(k > 1 || dtypes[d] == BF_PAIR);
            call++;
            k = 0;
        }
    }
}
#endif

typedef struct stop {
    int64_t bytes, after;
} stop;

static int tick(void *arg, int64_t bytes) {
    stop *s = arg;
    s->bytes = bytes;
    return bytes > s->after;
}

static bf_status watched_sort(const stop *s, int threads, bool indexed, int64_t n) {
    bf_context *c = make_context(NULL, threads);
    bf_order_lines lines = one_line(BF_F64, BF_ASCENDING, values, n);
    assert_int_equal(bf_context_watch(c, &BF_WATCH(.tick = tick, .arg = (void *)(uintptr_t)s)),
                     BF_OK);
    assert_int_equal(bf_watch_begin(c, INT64_MAX / 2), BF_OK);
    bf_status status = bf_cpu_order_backend.sort(c, &lines, sorted, indexed ? index_of : NULL);
    bf_context_destroy(c);
    return status;
}

TEST(a_watch_counts_the_bytes_and_cancels) {
    int64_t n = 1000000; /* fewer are not shared */
    make_values(BF_F64, RANDOM, n);
    for (int threads = 2 + THREADS_ALONE; threads <= 3; threads++) {
        for (int indexed = 0; indexed < 2; indexed++) {
            stop s = {0, INT64_MAX};
            assert_int_equal(watched_sort(&s, threads, indexed != 0, n), BF_OK);
            assert_in_range(s.bytes, 8 * n - 64, 8 * n);
            for (s.after = 0; s.after < 7 * n; s.after += (THREADS_ALONE ? 4 : 2) * n)
                assert_int_equal(watched_sort(&s, threads, indexed != 0, n), BF_E_CANCELLED);
        }
    }
}

UNIT_TESTS(order_sort, NULL, NULL)
