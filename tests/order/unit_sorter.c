/* Sorters against a plain sort of the places that the rules give: whatever the dtype, the order,
 * the parts and the memory, the elements and what goes with them are the same. */
#include "tests/support/spilling.h"
#include "tests/support/unit.h"

#include "rules/key/rank.h"

#include <stdio.h>
#include <unistd.h>

enum { N = 40001, GUARD = 77 };

typedef struct entry {
    uint64_t place[2];
    int64_t index;
} entry;

typedef struct trial {
    bf_context *context;
    bf_sorter_options options;
    int64_t n;
    bool numbered; /* numbers[] go with the elements */
} trial;

static entry entries[N];
static char values[16 * N], wanted[16 * N], made[16 * (N + 1)];
static int64_t numbers[N], wanted_beside[N], made_beside[N + 1];

static bf_dtype dtype_of(int i) {
    return i < DTYPE_COUNT ? all_dtypes[i] : i == DTYPE_COUNT ? BF_I128 : BF_PAIR;
}

/* Some NaNs of all payloads, zeros of both signs, and values that occur often. */
static void make_values(bf_dtype dtype) {
    uint64_t seed = (uint64_t)dtype;
    const int64_t bytes = bytes_of(dtype);
    for (int64_t i = 0; i < N; i++) {
        uint64_t word = next_random(&seed);
        if (word % 5 == 0) word = word >> 8 & 63;
        if (is_float(dtype) && word % 7 == 0) word |= infinity_bits(dtype);
        if (is_float(dtype) && word % 7 == 1) word &= sign_bit(dtype);
        store_bits(values + i * bytes, bytes > 8 ? 8 : (size_t)bytes, word);
        if (bytes > 8) store_bits(values + i * bytes + 8, 8, next_random(&seed) % 3 - 1);
        numbers[i] = (int64_t)(next_random(&seed) >> 20) - (1 << 20);
    }
}

static int compare(const void *a, const void *b) {
    const entry *x = a, *y = b;
    for (int w = 0; w < 2; w++)
        if (x->place[w] != y->place[w]) return x->place[w] < y->place[w] ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_nan_at(bf_dtype dtype, const char *at) {
    return is_float(dtype) &&
           bf_is_nan(bf_format_of(dtype), load_bits(at, (size_t)bytes_of(dtype)));
}

static entry entry_of(const trial *t, int64_t index) {
    const bf_dtype dtype = t->options.dtype;
    const bool down = t->options.descending && !t->options.different;
    const char *at = values + index * bytes_of(dtype);
    entry e = {.index = index};
    if (bytes_of(dtype) < 16) {
        uint64_t bits = load_bits(at, (size_t)bytes_of(dtype));
        if (t->options.different) bits = bf_group_key(dtype, bits);
        e.place[0] = bf_order_place(dtype, down ? BF_DESCENDING : BF_ASCENDING, bits);
        return e;
    }
    memcpy(e.place, at, 16);
    if (dtype == BF_I128) bf_pair_of_i128(bf_load_i128(at), e.place);
    for (int w = 0; w < 2 && down; w++) e.place[w] = ~e.place[w];
    return e;
}

static void want_element(const trial *t, int64_t n, int64_t index) {
    const bf_dtype dtype = t->options.dtype;
    const int64_t bytes = bytes_of(dtype);
    char *to = wanted + n * bytes;
    memcpy(to, values + index * bytes, (size_t)bytes);
    if (dtype == BF_BOOL) *to = *to != 0;
    if (t->options.different && bytes < 16)
        store_bits(to, (size_t)bytes, bf_group_key(dtype, load_bits(to, (size_t)bytes)));
    wanted_beside[n] = t->numbered ? numbers[index] : t->options.different ? 1 : index;
}

/* Sorts what a trial has, and returns how many there are. */
static int64_t sort_entries(const trial *t) {
    const bf_dtype dtype = t->options.dtype;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (t->options.nan != BF_NAN_SKIP || !is_nan_at(dtype, values + i * bytes_of(dtype)))
            entries[n++] = entry_of(t, i);
    qsort(entries, (size_t)n, sizeof *entries, compare);
    return n;
}

/* Sets what is wanted of n entries, and returns how much. */
static int64_t want(const trial *t, int64_t n) {
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        want_element(t, found, entries[i].index);
        const bool same = t->options.different && found > 0 &&
                          memcmp(entries[i].place, entries[i - 1].place, 16) == 0;
        if (same) wanted_beside[found - 1] += wanted_beside[found];
        found += !same;
    }
    return found;
}

/* Adds elements by parts of odd sizes; every third backwards in memory, by a negative stride. */
static void add_all(const trial *t, bf_sorter *s, bool once) {
    static char turned[16 * N];
    const int64_t bytes = bytes_of(t->options.dtype);
    uint64_t seed = 3;
    for (int64_t at = 0, n; at < t->n; at += n) {
        n = once ? t->n : (int64_t)(next_random(&seed) % 3000);
        if (n > t->n - at) n = t->n - at;
        bf_array array = bf_array_of(t->options.dtype, values + at * bytes, n),
                 beside = bf_array_of(BF_I64, numbers + at, n);
        if (seed % 3 == 0 && n > 0) {
            for (int64_t i = 0; i < n; i++)
                memcpy(turned + i * bytes, values + (at + n - 1 - i) * bytes, (size_t)bytes);
            array.data = turned + (n - 1) * bytes;
            array.strides[0] = -1;
        }
        OK(bf_sorter_add(s, &array, t->numbered ? &beside : NULL));
    }
}

/* Takes all elements by parts; returns how many. */
static int64_t take_all(const trial *t, bf_sorter *s, int64_t count) {
    const int64_t bytes = bytes_of(t->options.dtype);
    uint64_t seed = 5;
    memset(made, GUARD, sizeof made);
    for (int64_t at = 0, n;; at += n) {
        const int64_t odd = 1 + (int64_t)(next_random(&seed) % 7000);
        const int64_t room = odd < N + 1 - at ? odd : N + 1 - at;
        const bf_array to = bf_array_of(t->options.dtype, made + at * bytes, room),
                       beside = bf_array_of(BF_I64, made_beside + at, room);
        OK(bf_sorter_next(s, &to, t->options.beside ? &beside : NULL, &n));
        assert_int_equal(n, count - at < room ? count - at : room);
        if (n < room) return at + n;
    }
}

static void check(const trial *t, int64_t sorted, bool once) {
    const int64_t bytes = bytes_of(t->options.dtype), n = want(t, sorted);
    int64_t count = -1;
    OWN(bf_sorter) *s = NULL;
    OK(bf_sorter_create(t->context, &t->options, &s));
    add_all(t, s, once);
    OK(bf_sorter_end(s, &count));
    assert_int_equal(count, n);
    assert_int_equal(take_all(t, s, n), n);
    for (int64_t i = 0; i < n; i++)
        if (memcmp(made + i * bytes, wanted + i * bytes, (size_t)bytes) != 0 ||
            (t->options.beside && made_beside[i] != wanted_beside[i]))
            fail_msg(
                "%s, different %d, beside %d, descending %d, nan %d, numbered %d: element %lld "
                "of %lld is wrong",
                bf_dtype_name(t->options.dtype), t->options.different, t->options.beside,
                t->options.descending, (int)t->options.nan, t->numbered, (long long)i,
                (long long)n);
    assert_int_equal(made[n * bytes], GUARD); /* what is behind them is left alone */
}

/* All kinds of sorters of a dtype: with nothing beside the elements, their indices, or numbers.
 * Where cases are few, each order has one of these, another for another turn. */
static void check_kinds(bf_context *context, bf_dtype dtype, int64_t memory, int64_t n, int turn) {
    enum { BESIDES = 3, STEP = CASE_STEP > 1 ? BESIDES : 1 };
    for (int kind = 0; kind < 8; kind++) {
        trial t = {
            context,
            BF_SORTER_OPTIONS(.dtype = dtype, .different = kind & 1, .descending = kind >> 1 & 1,
                              .nan = kind & 4 ? BF_NAN_SKIP : BF_NAN_PROPAGATE, .memory = memory),
            n, false};
        const int64_t sorted = sort_entries(&t);
        for (int beside = (kind + turn) % STEP; beside < BESIDES; beside += STEP) {
            t.options.beside = beside > 0;
            t.numbered = beside == 2;
            check(&t, sorted, (kind + beside) % 3 == 0);
        }
    }
}

TEST(few_elements_in_memory) {
    static const int64_t sizes[] = {0, 1, 2, 777};
    OWN(bf_context) *context = limited(0, NULL, 2);
    for (int i = 0; i <= DTYPE_COUNT + 1; i++) {
        make_values(dtype_of(i));
        for (int k = 0; k < 4; k++) check_kinds(context, dtype_of(i), 0, sizes[k], i + k);
    }
}

/* By runs that are merged at once, and by so many that they are merged again and again. */
TEST(elements_beyond_memory) {
    bf_context *context = limited(1 << 20, directory, 2);
    for (int i = 0; i <= DTYPE_COUNT + 1; i++) {
        make_values(dtype_of(i));
        check_kinds(context, dtype_of(i), 1 << 14, N / 4, i);
        check_kinds(context, dtype_of(i), i % 2 == 0 ? 0 : 1 << 18, i % 4 == 0 ? N : N / 2, i + 1);
    }
    bf_context_destroy(context);
    assert_int_equal(count_files(), 0);
}

/* Two sorters share a context by default; and memory that does not spill fails. */
TEST(the_limit_holds) {
    OWN(bf_context) *context = limited(1 << 19, directory, 1), *without = limited(1 << 17, NULL, 1);
    const bf_sorter_options options = BF_SORTER_OPTIONS(.dtype = BF_F64, .beside = true);
    const bf_array array = bf_array_of(BF_F64, values, N), few = bf_array_of(BF_F64, values, 100);
    bf_sorter *s[2];
    int64_t n;
    make_values(BF_F64);
    for (int i = 0; i < 2; i++) OK(bf_sorter_create(context, &options, &s[i]));
    for (int i = 0; i < 6; i++) OK(bf_sorter_add(s[i % 2], &array, NULL));
    for (int i = 0; i < 2; i++) OK(bf_sorter_end(s[i], &n));
    assert_int_equal(n, 3 * N);
    for (int i = 0; i < 2; i++) bf_sorter_destroy(s[i]);
    OK(bf_sorter_create(without, &options, &s[0]));
    OK(bf_sorter_add(s[0], &few, NULL));
    assert_int_equal(bf_sorter_add(s[0], &array, NULL), BF_E_MEMORY);
    OK(bf_sorter_end(s[0], &n)); /* it is as it was */
    assert_int_equal(n, 100);
    bf_sorter_destroy(s[0]);
}

/* ---- failures -------------------------------------------------------------------------------- */

TEST(what_is_refused_changes_nothing) {
    double x[] = {3, 1, 2, 0.0 / 0.0};
    float other[4] = {0};
    int64_t beside[4] = {4, 5, 6, 7}, n;
    OWN(bf_context) *context = limited(0, NULL, 1);
    const bf_array good = bf_array_of(BF_F64, x, 3), bad = bf_array_of(BF_F64, x, 4),
                   wrong = bf_array_of(BF_F32, other, 4), to = bf_array_of(BF_F64, x, 4),
                   with = bf_array_of(BF_I64, beside, 3), most = bf_array_of(BF_I64, beside, 4);
    OWN(bf_sorter) *s = NULL;
    assert_int_equal(bf_sorter_create(context, &BF_SORTER_OPTIONS(.dtype = (bf_dtype)99), &s),
                     BF_E_DTYPE);
    assert_int_equal(
        bf_sorter_create(context, &BF_SORTER_OPTIONS(.dtype = BF_F64, .memory = -1), &s),
        BF_E_ARGUMENT);
    OK(bf_sorter_create(
        context, &BF_SORTER_OPTIONS(.dtype = BF_F64, .beside = true, .nan = BF_NAN_ERROR), &s));
    OK(bf_sorter_add(s, &good, NULL));
    assert_int_equal(bf_sorter_add(s, &bad, NULL), BF_E_NAN);
    assert_int_equal(bf_sorter_add(s, &wrong, NULL), BF_E_DTYPE);
    assert_int_equal(bf_sorter_add(s, &good, &most), BF_E_SHAPE);
    assert_int_equal(bf_sorter_add(s, &good, &good), BF_E_DTYPE);
    assert_int_equal(bf_sorter_next(s, &wrong, NULL, &n), BF_E_DTYPE);
    assert_int_equal(bf_sorter_next(s, &to, &with, &n), BF_E_SHAPE);
    OK(bf_sorter_next(s, &to, &most, &n));
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) assert_true(x[i] == i + 1 && beside[i] == (i + 1) % 3);
    assert_int_equal(beside[3], 7);
    assert_int_equal(bf_sorter_add(s, &good, NULL), BF_E_STATE);
    OK(bf_sorter_next(s, &to, NULL, &n));
    assert_int_equal(n, 0);
}

TEST(a_sum_that_does_not_fit) {
    int8_t x[] = {1, 1};
    int64_t most[] = {INT64_MAX, 1};
    OWN(bf_context) *context = limited(0, NULL, 1);
    const bf_array array = bf_array_of(BF_I8, x, 2), beside = bf_array_of(BF_I64, most, 2);
    OWN(bf_sorter) *s = NULL;
    OK(bf_sorter_create(context,
                        &BF_SORTER_OPTIONS(.dtype = BF_I8, .different = true, .beside = true), &s));
    OK(bf_sorter_add(s, &array, &beside));
    assert_int_equal(bf_sorter_end(s, NULL), BF_E_OVERFLOW);
    assert_int_equal(bf_sorter_end(s, NULL), BF_E_STATE);
}

TEST(a_directory_that_cannot_be_written) {
    OWN(bf_context) *context = limited(1 << 18, "/nonexistent/bitfold", 1);
    const bf_array array = bf_array_of(BF_F64, values, N);
    OWN(bf_sorter) *s = NULL;
    OK(bf_sorter_create(context, &BF_SORTER_OPTIONS(.dtype = BF_F64), &s));
    assert_int_equal(bf_sorter_add(s, &array, NULL), BF_E_IO);
    assert_string_equal(bf_context_message(context),
                        "cannot make a temporary file in /nonexistent/bitfold: No such file or "
                        "directory");
    assert_int_equal(bf_sorter_add(s, &array, NULL), BF_E_STATE);
    assert_string_equal(bf_context_message(context), "a call on the sorter failed before");
}

UNIT_TESTS(sorter, make_directory, remove_directory)
