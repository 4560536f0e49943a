/* Dictionaries number keys in the order in which they first appear, and know their order: beside an
 * oracle that compares the columns of rows one by one.
 * Builds: release, asan, tsan. */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/sanitizer.h"
#include "tests/support/unit.h"

#include <bitfold.h>
#include <math.h>
#include <string.h>

#include "tests/support/data.h"
#include "tests/support/witness.h"

#ifdef SANITIZED
enum { ROWS = 6000 };
#else
enum { ROWS = 60000 };
#endif
enum { COLUMNS = 6 };

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

/* Columns: strings by i32 offsets, f64, strings by i64 offsets, i16, u64, i128. */
static const bf_dtype dtypes[COLUMNS] = {BF_NONE, BF_F64, BF_NONE, BF_I16, BF_U64, BF_I128};

static char text[2][ROWS * 40];
static int32_t narrow[ROWS + 1];
static int64_t wide[ROWS + 1];
static double floats[ROWS];
static int16_t shorts[ROWS];
static uint64_t words[ROWS];
static i128 wides[ROWS];
static uint8_t valid[COLUMNS][ROWS / 8 + 2];
static const int64_t first_bit = 3;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Strings of which many share a beginning, some hold zeros, and some are empty. */
static int64_t make_string(char *to, uint64_t r) {
    static const char prefix[] = "a prefix that many keys share";
    const int64_t shared = r % 3 == 0 ? (int64_t)(r >> 8) % 30 : 0, n = (int64_t)(r >> 16) % 9;
    memcpy(to, prefix, (size_t)shared);
    for (int64_t i = 0; i < n; i++) to[shared + i] = (char)((r >> (20 + 2 * i) & 3) * 85);
    return shared + n;
}

static bool is_valid(int column, int64_t i) {
    return valid[column][(first_bit + i) / 8] >> (first_bit + i) % 8 & 1;
}

static int make_rows(void **state) {
    static const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, 1.5, -1.5, 5e-324};
    uint64_t seed = 7;
    int64_t at = 0, wide_at = 0;
    (void)state;
    for (int64_t i = 0; i < ROWS; i++) {
        const uint64_t r = next_random(&seed), kind = next_random(&seed) % 50;
        narrow[i] = (int32_t)at;
        wide[i] = wide_at;
        at += make_string(text[0] + at, kind < 20 ? r : r % 40 << 16);
        wide_at += make_string(text[1] + wide_at, next_random(&seed) % 5 << 16);
        floats[i] = kind == 3 ? nan(kind % 2 ? "1" : "2") : specials[r % 7];
        shorts[i] = (int16_t)(r >> 40 & 3) - 2;
        words[i] = (r >> 50 & 1) << 63 | (r >> 51 & 1);
        wides[i] = (i128)((u128)(r >> 52 & 1) << 127 | (u128)(r >> 53 & 1) << 64 | (r >> 54 & 3));
        for (int c = 0; c < COLUMNS; c++)
            if (next_random(&seed) % 8)
                valid[c][(first_bit + i) / 8] |= (uint8_t)(1 << (first_bit + i) % 8);
    }
    narrow[ROWS] = (int32_t)at;
    wide[ROWS] = wide_at;
    return 0;
}

/* Rows [first, first + n) as columns; used: a bit for each of the columns. */
typedef struct view {
    bf_strings strings[COLUMNS];
    bf_array arrays[COLUMNS];
    bf_column columns[COLUMNS];
    const bf_column *at[COLUMNS];
} view;

static void take_view(view *v, unsigned used, int64_t first, int64_t n) {
    const void *data[COLUMNS] = {narrow, floats, wide, shorts, words, wides};
    int k = 0;
    for (int c = 0; c < COLUMNS; c++) {
        bf_column *x = &v->columns[c];
        if (!(used >> c & 1)) continue;
        *x = (bf_column){.size = sizeof *x, .valid = valid[c], .first = first_bit + first};
        v->strings[c] = (bf_strings){.size = sizeof v->strings[c],
                                     .count = n,
                                     .offset = c ? BF_I64 : BF_I32,
                                     .offsets = c ? (const void *)(wide + first)
                                                  : (const void *)(narrow + first),
                                     .bytes = text[c > 0]};
        if (dtypes[c] == BF_NONE) {
            x->strings = &v->strings[c];
        } else {
            v->arrays[c] = bf_array_of(
                dtypes[c], (const char *)data[c] + (size_t)first * bf_dtype_size(dtypes[c]), n);
            x->numbers = &v->arrays[c];
        }
        v->at[k++] = x;
    }
}

static int used_dtypes(unsigned used, bf_dtype out[COLUMNS]) {
    int k = 0;
    for (int c = 0; c < COLUMNS; c++)
        if (used >> c & 1) out[k++] = dtypes[c];
    return k;
}

/* ---- oracle ---------------------------------------------------------------------------------- */

static unsigned compared; /* columns */

static int compare_strings(const char *x, int64_t n, const char *y, int64_t m) {
    const int order = memcmp(x, y, (size_t)(n < m ? n : m));
    return order != 0 ? order : (n > m) - (n < m);
}

static int compare_column(int c, int64_t i, int64_t k) {
    if (!is_valid(c, i) || !is_valid(c, k)) return (int)is_valid(c, k) - (int)is_valid(c, i);
    switch (c) {
    case 0:
        return compare_strings(text[0] + narrow[i], narrow[i + 1] - narrow[i], text[0] + narrow[k],
                               narrow[k + 1] - narrow[k]);
    case 1:
        if (isnan(floats[i]) || isnan(floats[k])) return isnan(floats[i]) - isnan(floats[k]);
        return (floats[i] > floats[k]) - (floats[i] < floats[k]);
    case 2:
        return compare_strings(text[1] + wide[i], wide[i + 1] - wide[i], text[1] + wide[k],
                               wide[k + 1] - wide[k]);
    case 3: return (shorts[i] > shorts[k]) - (shorts[i] < shorts[k]);
    case 4: return (words[i] > words[k]) - (words[i] < words[k]);
    default: return (wides[i] > wides[k]) - (wides[i] < wides[k]);
    }
}

static int compare_rows(int64_t i, int64_t k) {
    for (int c = 0; c < COLUMNS; c++) {
        const int order = compared >> c & 1 ? compare_column(c, i, k) : 0;
        if (order != 0) return order;
    }
    return 0;
}

static int by_key_and_row(const void *a, const void *b) {
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    const int order = compare_rows(i, k);
    return order != 0 ? order : (i > k) - (i < k);
}

static int by_word(const void *a, const void *b) {
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    return (i > k) - (i < k);
}

/* What the first n rows should get: each row's number, and each number's rank and first row. */
typedef struct answer {
    int64_t keys, numbers[ROWS], ranks[ROWS], rows[ROWS];
} answer;
static answer wanted;

static void find_answer(unsigned used, int64_t n) {
    static int64_t order[ROWS], first[ROWS];
    compared = used;
    wanted.keys = 0;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    qsort(order, (size_t)n, sizeof *order, by_key_and_row);
    for (int64_t i = 0; i < n; i++) {
        const bool again = i > 0 && compare_rows(order[i - 1], order[i]) == 0;
        first[order[i]] = again ? first[order[i - 1]] : order[i];
        if (!again) wanted.rows[wanted.keys++] = order[i];
    }
    int64_t rank = 0;
    static int64_t rank_of[ROWS], number_of[ROWS];
    for (int64_t k = 0; k < wanted.keys; k++) rank_of[wanted.rows[k]] = rank++;
    qsort(wanted.rows, (size_t)wanted.keys, sizeof *wanted.rows, by_word);
    for (int64_t k = 0; k < wanted.keys; k++) {
        number_of[wanted.rows[k]] = k;
        wanted.ranks[k] = rank_of[wanted.rows[k]];
    }
    for (int64_t i = 0; i < n; i++) wanted.numbers[i] = number_of[first[i]];
}

/* ---- cases ----------------------------------------------------------------------------------- */

static bf_dictionary *dictionary_of(bf_context *context, unsigned used) {
    bf_dtype columns[COLUMNS];
    bf_dictionary *d = NULL;
    const int count = used_dtypes(used, columns);
    assert_int_equal(bf_dictionary_create(context, count, columns, &d), BF_OK);
    return d;
}

static int64_t numbers[ROWS];

static void encode(bf_dictionary *d, unsigned used, int64_t first, int64_t n, bf_dtype dtype) {
    static int32_t halves[ROWS];
    view v;
    take_view(&v, used, first, n);
    const bf_array out =
        bf_array_of(dtype, dtype == BF_I64 ? (void *)(numbers + first) : halves, n);
    assert_int_equal(bf_dictionary_encode(d, v.at, &out), BF_OK);
    for (int64_t i = 0; i < n && dtype == BF_I32; i++) numbers[first + i] = halves[i];
}

static void check_ranks(bf_dictionary *d) {
    static int64_t ranks[ROWS];
    const bf_array out = bf_array_of(BF_I64, ranks, bf_dictionary_size(d));
    assert_int_equal(bf_dictionary_size(d), wanted.keys);
    assert_int_equal(bf_dictionary_ranks(d, &out), BF_OK);
    assert_memory_equal(ranks, wanted.ranks, (size_t)wanted.keys * sizeof *ranks);
}

TEST(every_key_has_its_number_and_rank) {
    needs_no_threads();
    for (unsigned used = 1; used < 1u << COLUMNS; used += used < 4 ? 1 : 5)
        for (int threads = 1; threads <= 4; threads += 3) {
            const int64_t n = used % 2 ? ROWS : ROWS / 3;
            OWN(bf_context) *context = make_context(NULL, threads);
            OWN(bf_dictionary) *d = dictionary_of(context, used);
            find_answer(used, n);
            for (int64_t at = 0, some; at < n; at += some) {
                some = threads == 1 ? n : 1 + at * 2;
                if (some > n - at) some = n - at;
                encode(d, used, at, some, used % 3 ? BF_I64 : BF_I32);
            }
            assert_memory_equal(numbers, wanted.numbers, (size_t)n * sizeof *numbers);
            check_ranks(d);
        }
}

/* Numbers the rows, and then all again: row i has key i % different. */
static void check_cycle(int count, const bf_dtype kinds[], const bf_column *const at[], int64_t n,
                        int64_t different) {
    static int64_t given[1 << 17];
    for (int threads = SEVERAL_THREADS ? 4 : 1; threads <= 4; threads += 3) {
        OWN(bf_context) *context = make_context(NULL, threads);
        OWN(bf_dictionary) *d = NULL;
        const bf_array out = bf_array_of(BF_I64, given, n);
        assert_int_equal(bf_dictionary_create(context, count, kinds, &d), BF_OK);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(bf_dictionary_encode(d, at, &out), BF_OK);
            for (int64_t i = 0; i < n; i++) assert_int_equal(given[i], i % different);
        }
        assert_int_equal(bf_dictionary_size(d), different);
    }
}

/* A table of keys as words has room for 2^15 of them, whose strings have at most 15 bytes. */
TEST(many_keys_and_long_ones_have_their_numbers) {
    enum { MANY = 1 << 17, HALF = MANY / 2, LENGTH = 20 };
    static const bf_dtype kinds[] = {BF_NONE, BF_I32};
    static char bytes[MANY * LENGTH];
    static int32_t offsets[MANY + 1], values[MANY];
    bf_strings strings = {sizeof strings, MANY, BF_I32, offsets, bytes};
    const bf_array numbers_of = bf_array_of(BF_I32, values, MANY);
    const bf_column columns[] = {{.size = sizeof(bf_column), .strings = &strings},
                                 {.size = sizeof(bf_column), .numbers = &numbers_of}};
    const bf_column *const at[] = {&columns[0], &columns[1]};
    for (int length = 1; length <= LENGTH; length += length < 14 ? 13 : CASE_STEP > 1 ? 3 : 1) {
        for (int64_t i = 0; i < MANY; i++) {
            offsets[i + 1] = offsets[i] + length;
            memset(bytes + offsets[i], 'a' + (int)(i % HALF % 2), (size_t)length);
            values[i] = (int32_t)(i % HALF / 2);
        }
        check_cycle(2, kinds, at, MANY, HALF);
    }
    for (int64_t i = 0; i < MANY; i++) values[i] = (int32_t)(i % 1000 - 500);
    check_cycle(1, kinds + 1, at + 1, MANY, 1000);
}

/* Compares a column of strings of all keys with those of their first rows. */
static void check_strings(const bf_dictionary *d, int column, int c) {
    static int64_t offsets[ROWS + 1];
    static char bytes[ROWS * 24], there[ROWS];
    const bf_array at = bf_array_of(BF_I64, offsets, wanted.keys + 1);
    const bf_array known = bf_array_of(BF_BOOL, there, wanted.keys);
    assert_int_equal(bf_dictionary_strings(d, column, NULL, &at, NULL, 0, NULL), BF_OK);
    const int64_t all = offsets[wanted.keys];
    assert_int_equal(bf_dictionary_strings(d, column, NULL, &at, bytes, all - 1, NULL), BF_E_SHAPE);
    assert_int_equal(bf_dictionary_strings(d, column, NULL, &at, bytes, all, &known), BF_OK);
    for (int64_t k = 0; k < wanted.keys; k++) {
        const int64_t row = wanted.rows[k], from = c ? wide[row] : narrow[row];
        const int64_t n = is_valid(c, row) ? (c ? wide[row + 1] : narrow[row + 1]) - from : 0;
        assert_int_equal(there[k], is_valid(c, row));
        assert_int_equal(offsets[k + 1] - offsets[k], n);
        assert_memory_equal(bytes + offsets[k], text[c > 0] + from, (size_t)n);
    }
}

TEST(columns_are_given_back) {
    static int64_t found[ROWS], some[3] = {2, 0, 2};
    static char there[ROWS];
    const unsigned used = 0x3d; /* without the floats, whose -0 becomes +0 */
    OWN(bf_context) *context = make_context(NULL, 2);
    OWN(bf_dictionary) *d = dictionary_of(context, used), *lone = dictionary_of(context, 1);
    find_answer(used, ROWS);
    encode(d, used, 0, ROWS, BF_I64);
    check_strings(d, 0, 0);
    check_strings(d, 1, 2);
    const bf_array out = bf_array_of(BF_U64, found, wanted.keys);
    const bf_array known = bf_array_of(BF_BOOL, there, wanted.keys);
    assert_int_equal(bf_dictionary_values(d, 3, NULL, &out, &known), BF_OK);
    for (int64_t k = 0; k < wanted.keys; k++) {
        const int64_t row = wanted.rows[k];
        assert_int_equal(there[k], is_valid(4, row));
        assert_true((uint64_t)found[k] == (is_valid(4, row) ? words[row] : 0));
    }
    static i128 large[2 * ROWS];
    const bf_array spaced = {large, BF_I128, 1, {wanted.keys}, {2}};
    assert_int_equal(bf_dictionary_values(d, 4, NULL, &spaced, &known), BF_OK);
    for (int64_t k = 0; k < wanted.keys; k++) {
        const int64_t row = wanted.rows[k];
        assert_int_equal(there[k], is_valid(5, row));
        assert_true(large[2 * k] == (is_valid(5, row) ? wides[row] : 0));
    }
    int16_t three[3];
    const bf_array which = bf_array_of(BF_I64, some, 3), few = bf_array_of(BF_I16, three, 3);
    assert_int_equal(bf_dictionary_values(d, 2, &which, &few, NULL), BF_OK);
    for (int i = 0; i < 3; i++) {
        const int64_t row = wanted.rows[some[i]];
        assert_int_equal(three[i], is_valid(3, row) ? shorts[row] : 0);
    }
    find_answer(1, ROWS);
    encode(lone, 1, 0, ROWS, BF_I64);
    check_strings(lone, 0, 0);
}

TEST(floats_are_given_back_as_keys) {
    double in[] = {-0.0, NAN, -NAN, 0.0, 2}, values[3];
    int64_t out[5];
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_dictionary) *d = dictionary_of(context, 2);
    const bf_array x = bf_array_of(BF_F64, in, 5), y = bf_array_of(BF_I64, out, 5);
    const bf_array keys = bf_array_of(BF_F64, values, 3);
    const bf_column column = {.size = sizeof column, .numbers = &x};
    assert_int_equal(bf_dictionary_encode(d, (const bf_column *[]){&column}, &y), BF_OK);
    assert_memory_equal(out, ((int64_t[]){0, 1, 1, 0, 2}), sizeof out);
    assert_int_equal(bf_dictionary_values(d, 0, NULL, &keys, NULL), BF_OK);
    assert_true(values[0] == 0 && !signbit(values[0]) && isnan(values[1]) && values[2] == 2);
}

TEST(finding_adds_nothing) {
    OWN(bf_context) *context = make_context(NULL, 2);
    for (unsigned used = 1; used < 1u << COLUMNS; used += used < 8 ? 3 : 25) {
        OWN(bf_dictionary) *d = dictionary_of(context, used);
        find_answer(used, ROWS);
        for (int half = 0; half < 2; half++) {
            const int64_t known = bf_dictionary_size(d);
            view v;
            take_view(&v, used, 0, ROWS);
            const bf_array out = bf_array_of(BF_I64, numbers, ROWS);
            assert_int_equal(bf_dictionary_find(d, v.at, &out), BF_OK);
            assert_int_equal(bf_dictionary_size(d), known);
            for (int64_t i = 0; i < ROWS; i++)
                assert_int_equal(numbers[i], wanted.numbers[i] < known ? wanted.numbers[i] : -1);
            encode(d, used, 0, ROWS / 2, BF_I64);
        }
    }
}

TEST(merged_keys_have_both_numbers) {
    OWN(bf_context) *context = make_context(NULL, 2), *other = make_context(NULL, 1);
    for (unsigned used = 1; used < 1u << COLUMNS; used += used < 8 ? 2 : 24) {
        static int64_t both[ROWS];
        OWN(bf_dictionary) *a = dictionary_of(context, used), *b = dictionary_of(other, used);
        find_answer(used, ROWS);
        encode(a, used, 0, ROWS / 2, BF_I64);
        encode(b, used, ROWS / 2, ROWS - ROWS / 2, BF_I64);
        const bf_array out = bf_array_of(BF_I64, both, bf_dictionary_size(b));
        assert_int_equal(bf_dictionary_merge(a, b, &out), BF_OK);
        for (int64_t i = ROWS / 2; i < ROWS; i++) numbers[i] = both[numbers[i]];
        assert_memory_equal(numbers, wanted.numbers, sizeof numbers);
        assert_int_equal(bf_dictionary_merge(a, b, NULL), BF_OK);
        check_ranks(a);
    }
}

TEST(without_memory_a_dictionary_stays) {
    needs_failing_malloc();
    for (unsigned used = 1; used < 4; used += 2)
        for (long k = 0, more = 1; more; k++) {
            OWN(bf_context) *context = make_context(NULL, 1);
            OWN(bf_dictionary) *d = dictionary_of(context, used);
            view v;
            encode(d, used, 0, 500, BF_I64);
            const int64_t before = bf_dictionary_size(d);
            take_view(&v, used, 0, ROWS);
            const bf_array out = bf_array_of(BF_I64, numbers, ROWS);
            atomic_store(&until_failure, k);
            const bf_status status = bf_dictionary_encode(d, v.at, &out);
            atomic_store(&until_failure, -1);
            more = status != BF_OK;
            if (more) {
                assert_int_equal(status, BF_E_MEMORY);
                assert_int_equal(bf_dictionary_size(d), before);
            }
            find_answer(used, ROWS);
            encode(d, used, 0, ROWS, BF_I64);
            assert_memory_equal(numbers, wanted.numbers, sizeof numbers);
        }
}

TEST(a_cancelled_call_leaves_no_key) {
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_dictionary) *d = dictionary_of(context, 1);
    const int32_t offsets[] = {0, 0};
    const uint8_t none = 0;
    int64_t number = -1;
    const bf_strings s = {
        .size = sizeof s, .count = 1, .offset = BF_I32, .offsets = offsets, .bytes = ""};
    const bf_column c = {.size = sizeof c, .strings = &s, .valid = &none};
    const bf_column *columns[] = {&c};
    bf_array y = bf_array_of(BF_I64, &number, 1);
    bf_status status = BF_E_CANCELLED;
    witness w;
    for (int at = 1; status == BF_E_CANCELLED; at++) {
        begin_watch(&w, context, 0, at);
        status = bf_dictionary_encode(d, columns, &y);
        end_watch(&w);
        assert_int_equal(bf_dictionary_size(d), status == BF_OK);
    }
    assert_int_equal(status, BF_OK);
    assert_true(w.ticks > 0);
}

TEST(bad_input_is_refused) {
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_dictionary) *d = dictionary_of(context, 1), *other = NULL;
    int32_t offsets[] = {0, 2, 1, 3};
    int64_t out[3];
    bf_strings s = {
        .size = sizeof s, .count = 3, .offset = BF_I32, .offsets = offsets, .bytes = "abc"};
    bf_column c = {.size = sizeof c, .strings = &s};
    const bf_column *columns[] = {&c};
    bf_array y = bf_array_of(BF_I64, out, 3), two = bf_array_of(BF_I64, out, 2);
    bf_array floating = bf_array_of(BF_F64, out, 3);
    const bf_dtype pair[] = {BF_PAIR}, number[] = {BF_I32};
    assert_int_equal(bf_dictionary_encode(d, columns, &y), BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(context),
                        "offset 2 of the strings is 1, less than the one before");
    offsets[2] = 2;
    s.offset = BF_U32;
    assert_int_equal(bf_dictionary_encode(d, columns, &y), BF_E_DTYPE);
    s.offset = BF_I32;
    s.bytes = NULL;
    assert_int_equal(bf_dictionary_encode(d, columns, &y), BF_E_ARGUMENT);
    s.bytes = "abc";
    assert_int_equal(bf_dictionary_encode(d, columns, &two), BF_E_SHAPE);
    assert_int_equal(bf_dictionary_encode(d, columns, &floating), BF_E_DTYPE);
    c.numbers = &y;
    assert_int_equal(bf_dictionary_encode(d, columns, &y), BF_E_ARGUMENT);
    c.strings = NULL;
    assert_int_equal(bf_dictionary_encode(d, columns, &y), BF_E_DTYPE);
    assert_int_equal(bf_dictionary_size(d), 0);
    assert_int_equal(bf_dictionary_create(context, 1, pair, &other), BF_E_DTYPE);
    assert_int_equal(bf_dictionary_create(context, 0, pair, &other), BF_E_ARGUMENT);
    assert_int_equal(bf_dictionary_create(context, 1, number, &other), BF_OK);
    assert_int_equal(bf_dictionary_merge(d, other, NULL), BF_E_STATE);
    assert_int_equal(bf_dictionary_values(other, 1, NULL, &y, NULL), BF_E_ARGUMENT);
    out[0] = 5;
    two = bf_array_of(BF_I64, out, 1);
    assert_int_equal(bf_dictionary_values(other, 0, &two, &two, NULL), BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(context), "number 0 is 5, of 0 keys");
}

UNIT_TESTS(dictionary, make_rows, NULL)
