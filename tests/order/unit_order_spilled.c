/* Sorting and different values beyond the memory of a context, against a plain sort of the places
 * that the rules give: whatever the dtype, the order and the limit, the same bits and positions. */
#include "tests/support/spilling.h"
#include "tests/support/unit.h"

#include "rules/key/rank.h"

#include <stdio.h>
#include <unistd.h>

enum { N = 60000, LINES = 3, MOST = N * 2 };

typedef struct entry {
    uint64_t place[2];
    int64_t index;
} entry;

static entry entries[MOST];
static char values[16 * MOST], sorted[16 * MOST], wanted[16 * MOST];
static int64_t found[MOST], wanted_index[MOST];

static bf_dtype dtype_of(int i) { return i < DTYPE_COUNT ? all_dtypes[i] : BF_PAIR; }

/* Some NaNs of all payloads, zeros of both signs, and values that occur often. */
static void make_values(bf_dtype dtype, int64_t n) {
    const int64_t bytes = bytes_of(dtype);
    uint64_t seed = (uint64_t)dtype;
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = next_random(&seed);
        if (word % 5 == 0) word = word >> 8 & 63;
        if (is_float(dtype) && word % 7 == 0) word |= infinity_bits(dtype);
        if (is_float(dtype) && word % 7 == 1) word &= sign_bit(dtype);
        store_bits(values + i * bytes, bytes == 16 ? 8 : (size_t)bytes, word);
        if (bytes == 16) store_bits(values + 16 * i + 8, 8, next_random(&seed) % 3);
    }
}

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    for (int w = 0; w < 2; w++)
        if (x->place[w] != y->place[w]) return x->place[w] < y->place[w] ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static entry entry_of(bf_dtype dtype, bf_order order, const char *at, int64_t index) {
    const bool pair = bytes_of(dtype) == 16;
    entry e = {.index = index};
    for (int w = 0; w < 1 + pair; w++)
        e.place[w] = bf_order_place(pair ? BF_U64 : dtype, order,
                                    load_bits(at + 8 * w, pair ? 8 : (size_t)bytes_of(dtype)));
    return e;
}

/* Sets what is wanted of a line of n elements from number `at` on. */
static void want_line(bf_dtype dtype, bf_order order, int64_t at, int64_t n) {
    const int64_t bytes = bytes_of(dtype);
    for (int64_t i = 0; i < n; i++)
        entries[i] = entry_of(dtype, order, values + (at + i) * bytes, i);
    qsort(entries, (size_t)n, sizeof *entries, compare);
    for (int64_t i = 0; i < n; i++) {
        char *to = wanted + (at + i) * bytes;
        memcpy(to, values + (at + entries[i].index) * bytes, (size_t)bytes);
        if (dtype == BF_BOOL) *to = *to != 0;
        wanted_index[at + i] = entries[i].index;
    }
}

static void check(bf_dtype dtype, int64_t n, const char *made, const int64_t *index) {
    const int64_t bytes = bytes_of(dtype);
    for (int64_t i = 0; i < n; i++)
        if ((made != NULL && memcmp(made + i * bytes, wanted + i * bytes, (size_t)bytes) != 0) ||
            (index != NULL && index[i] != wanted_index[i]))
            fail_msg("%s: element %lld of %lld is wrong", bf_dtype_name(dtype), (long long)i,
                     (long long)n);
}

/* Sorts to other memory, in place, and for positions alone. */
static void check_sorts(bf_context *context, bf_dtype dtype, const bf_order_options *options,
                        int64_t lines, int64_t n) {
    const int64_t shape[] = {lines, n}, strides[] = {n, 1};
    bf_array from = {values, dtype, 2, {0}, {0}}, to, index;
    memcpy(from.shape, shape, sizeof shape);
    memcpy(from.strides, strides, sizeof strides);
    to = index = from;
    to.data = sorted;
    index.data = found;
    index.dtype = BF_I64;
    OK(bf_sort(context, &from, 1, options, NULL, &index));
    check(dtype, lines * n, NULL, found);
    OK(bf_sort(context, &from, 1, options, &to, NULL));
    check(dtype, lines * n, sorted, NULL);
    memset(sorted, 0, sizeof sorted);
    memcpy(sorted, values, (size_t)(lines * n * bytes_of(dtype)));
    OK(bf_sort(context, &to, 1, options, &to, &index));
    check(dtype, lines * n, sorted, found);
}

TEST(sorting_beyond_memory) {
    static const bf_order orders[] = {BF_ASCENDING, BF_DESCENDING, BF_DESCENDING_NAN_LAST};
    int failed = 0;
    for (int i = 0; i <= DTYPE_COUNT; i++) {
        const bf_dtype dtype = dtype_of(i);
        make_values(dtype, N);
        for (int o = 0; o < 3; o++) {
            const bf_order_options options =
                BF_ORDER_OPTIONS(.descending = o > 0,
                                 .nan = o == 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE);
            want_line(dtype, orders[o], 0, N);
            const bool alone = CASE_STEP > 1; /* one limit, or both */
            for (int l = alone ? (i + o) % 2 : 0; l < 2; l += 1 + alone) {
                const int64_t limit = 1 << (18 + 3 * l);
                OWN(bf_context) *context = limited(limit, directory, 1 + o % 2),
                                *without = limited(limit, NULL, 1);
                const bf_array from = bf_array_of(dtype, values, N),
                               index = bf_array_of(BF_I64, found, N);
                check_sorts(context, dtype, &options, 1, N);
                failed += bf_sort(without, &from, 0, &options, NULL, &index) == BF_E_MEMORY;
            }
        }
    }
    assert_true(failed >=
                (CASE_STEP > 1 ? DTYPE_COUNT : 3 * DTYPE_COUNT)); /* so these sorts spilled */
    assert_int_equal(count_files(), 0);
}

TEST(lines_beyond_memory) {
    const int64_t n = MOST / LINES;
    OWN(bf_context) *context = limited(1 << 19, directory, 2);
    make_values(BF_F64, LINES * n);
    for (int l = 0; l < LINES; l++) want_line(BF_F64, BF_ASCENDING, l * n, n);
    check_sorts(context, BF_F64, NULL, LINES, n);
}

/* ---- different values ------------------------------------------------------------------------ */

/* What is wanted of n values: returns how many are different. */
static int64_t want_different(bf_dtype dtype, int64_t n) {
    const int64_t bytes = bytes_of(dtype);
    int64_t different = 0;
    for (int64_t i = 0; i < n && dtype != BF_PAIR; i++) {
        char *at = values + i * bytes;
        store_bits(sorted, (size_t)bytes, bf_group_key(dtype, load_bits(at, (size_t)bytes)));
        memcpy(at, sorted, (size_t)bytes);
    }
    want_line(dtype, BF_ASCENDING, 0, n);
    for (int64_t i = 0; i < n; i++) {
        char *at = wanted + i * bytes, *last = wanted + (different - 1) * bytes;
        if (different == 0 || memcmp(at, last, (size_t)bytes) != 0) {
            memmove(wanted + different * bytes, at, (size_t)bytes);
            wanted_index[different++] = 0;
        }
        wanted_index[different - 1]++;
    }
    return different;
}

TEST(different_values_beyond_memory) {
    int failed = 0;
    for (int i = 0; i <= DTYPE_COUNT; i++) {
        const bf_dtype dtype = dtype_of(i);
        make_values(dtype, N);
        const bf_array from = bf_array_of(dtype, values, N);
        OWN(bf_context) *context = limited(1 << 19, directory, 2),
                        *without = limited(1 << 19, NULL, 2);
        int64_t n = 0, wanted_n, none;
        failed += bf_unique(without, &from, NULL, NULL, NULL, &none) == BF_E_MEMORY;
        OK(bf_unique(context, &from, NULL, NULL, NULL, &n));
        const bf_array to = bf_array_of(dtype, sorted, n), counts = bf_array_of(BF_I64, found, n);
        memset(found, 0, sizeof found);
        OK(bf_unique(context, &from, NULL, &to, &counts, &n));
        char *made = malloc((size_t)(n * bytes_of(dtype)));
        memcpy(made, sorted, (size_t)(n * bytes_of(dtype)));
        wanted_n = want_different(dtype, N);
        assert_int_equal(n, wanted_n);
        check(dtype, n, made, found);
        free(made);
    }
    assert_true(failed > 2);
    assert_int_equal(count_files(), 0);
}

/* ---- failures -------------------------------------------------------------------------------- */

TEST(a_directory_that_cannot_be_written) {
    OWN(bf_context) *context = limited(1 << 18, "/nonexistent/bitfold", 1);
    make_values(BF_F64, N);
    const bf_array from = bf_array_of(BF_F64, values, N), to = bf_array_of(BF_F64, sorted, N);
    memset(sorted, 1, sizeof sorted);
    assert_int_equal(bf_sort(context, &from, 0, NULL, &to, NULL), BF_E_IO);
    assert_string_equal(bf_context_message(context),
                        "cannot make a temporary file in /nonexistent/bitfold: No such file or "
                        "directory");
    for (size_t i = 0; i < sizeof sorted; i++) assert_int_equal(sorted[i], 1);
}

UNIT_TESTS(order_spilled, make_directory, remove_directory)
