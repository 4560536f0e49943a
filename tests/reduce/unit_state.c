/* States: any split gives the bits of one pass; a saved state comes back, a damaged one does not.
 */
#include "tests/reduce/states.h"
#include "tests/support/unit.h"

/* Calls check for every operation and dtype, with an array of each kind of data in turn. */
static void for_each_state(void (*check)(bf_reduction, const bf_array *)) {
    static double data[300];
    for (int op = BF_SUM; op <= BF_ARGMAX; op++) {
        for (int d = 0; d < DTYPE_COUNT; d++) {
            uint64_t seed = (uint64_t)(op * 100 + d);
            fill(all_dtypes[d], data, 300, (data_kind)((op + d) % KIND_COUNT), seed);
            bf_array a = bf_array_of(all_dtypes[d], data, 300);
            check((bf_reduction)op, &a);
        }
    }
}

static void check_merge(bf_reduction op, const bf_array *a) {
    static const int orders[3][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
    OWN(bf_state) *whole = part(context, op, a, a, 0, 300);
    for (int i = 0; i < 3; i++) {
        bf_state *parts[3] = {part(context, op, a, a, 0, 97), part(context, op, a, a, 97, 98),
                              part(context, op, a, a, 98, 300)};
        bf_state *into = parts[orders[i][0]];
        assert_int_equal(bf_state_merge(into, parts[orders[i][1]]), BF_OK);
        assert_int_equal(bf_state_merge(into, parts[orders[i][2]]), BF_OK);
        assert_same_form(into, whole);
        for (int j = 0; j < 3; j++) bf_state_destroy(parts[j]);
    }
}

TEST(merging_does_not_depend_on_the_order) { for_each_state(check_merge); }

/* The elements [begin, end), as an array of their own. */
static bf_state *whole_of(bf_reduction op, const bf_array *a, int64_t begin, int64_t end) {
    char *data = (char *)a->data + (size_t)begin * bf_dtype_size(a->dtype);
    bf_array piece = bf_array_of(a->dtype, data, end - begin);
    return part(context, op, &piece, &piece, 0, end - begin);
}

static void check_append(bf_reduction op, const bf_array *a) {
    bf_state *all = part(context, op, a, a, 0, 300), *into = whole_of(op, a, 0, 97);
    bf_state *next = whole_of(op, a, 97, 98), *last = whole_of(op, a, 98, 300);
    bf_state *empty = make_state(context, op, a->dtype);
    saved_state before = save(last);
    assert_int_equal(bf_state_append(into, next), BF_OK);
    assert_int_equal(bf_state_append(into, empty), BF_OK);
    assert_int_equal(bf_state_append(into, last), BF_OK);
    assert_same_form(into, all);
    assert_saves_as(last, &before);
    assert_int_equal(bf_state_append(empty, all), BF_OK);
    assert_same_form(empty, all);
    bf_state *const states[] = {all, into, next, last, empty};
    for (int i = 0; i < 5; i++) bf_state_destroy(states[i]);
}

TEST(appended_states_are_that_of_all_data_in_turn) {
    static double data[300];
    bf_array a = bf_array_of(BF_F64, data, 300);
    for_each_state(check_append);
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        fill(BF_F64, data, 300, (data_kind)kind, 7);
        check_append(BF_DESCRIBE, &a);
    }
}

TEST(places_without_elements_are_appended) {
    static double x[10] = {3, 1, 2};
    bf_array a = bf_array_of(BF_F64, x, 10);
    for (int k = 0; k < 2; k++) {
        const bf_reduction op = k == 0 ? BF_ARGMIN : BF_DESCRIBE;
        bf_state *least = part(context, op, &a, &a, 0, 10), *all = make_state(context, op, BF_F64);
        bf_state *places = make_state(context, op, BF_F64);
        bf_state_info info = {.size = sizeof info};
        bf_description d = {.size = sizeof d};
        bf_value v;
        assert_int_equal(bf_state_seek(places, 5), BF_OK);
        assert_int_equal(bf_state_append(all, places), BF_OK);
        assert_int_equal(bf_state_append(all, least), BF_OK);
        assert_int_equal(bf_state_append(all, places), BF_OK);
        assert_int_equal(bf_state_describe(all, &info), BF_OK);
        assert_int_equal(info.next, 20);
        assert_int_equal(info.count, 10);
        if (k == 0) {
            assert_int_equal(bf_state_result(all, NULL, &v), BF_OK);
            assert_int_equal(v.as.i64, 8);
        } else {
            assert_int_equal(bf_state_description(all, NULL, &d), BF_OK);
            assert_int_equal(d.argmin, 8);
            assert_int_equal(d.argmax, 5);
        }
        assert_int_equal(bf_state_seek(places, 1ll << 62), BF_OK);
        assert_int_equal(bf_state_append(all, places), BF_E_OVERFLOW);
        bf_state *const states[] = {least, all, places};
        for (int i = 0; i < 3; i++) bf_state_destroy(states[i]);
    }
}

TEST(some_states_cannot_be_appended) {
    static double x[10] = {3, 1, 2};
    bf_array a = bf_array_of(BF_F64, x, 10);
    bf_state *prod = part(context, BF_PROD, &a, &a, 0, 10),
             *none = make_state(context, BF_PROD, BF_F64);
    bf_state *least = part(context, BF_ARGMIN, &a, &a, 0, 10),
             *greatest = part(context, BF_ARGMAX, &a, &a, 0, 10);
    bf_state *late = make_state(context, BF_ARGMIN, BF_F64);
    assert_int_equal(bf_state_append(prod, prod), BF_E_STATE);
    assert_int_equal(bf_state_append(prod, none), BF_OK);
    assert_int_equal(bf_state_append(none, prod), BF_OK);
    assert_int_equal(bf_state_append(least, greatest), BF_E_STATE);
    assert_int_equal(bf_state_append(least, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_state_append(NULL, least), BF_E_ARGUMENT);
    assert_int_equal(bf_state_seek(late, 1ll << 62), BF_OK);
    assert_int_equal(bf_state_append(late, least), BF_E_OVERFLOW);
    assert_int_equal(bf_state_append(least, least), BF_OK);
    bf_value v;
    assert_int_equal(bf_state_result(least, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, 3);
    bf_state *const states[] = {prod, none, least, greatest, late};
    for (int i = 0; i < 5; i++) bf_state_destroy(states[i]);
}

static void check_chunks(bf_reduction op, const bf_array *a) {
    OWN(bf_state) *whole = part(context, op, a, a, 0, 300), *s = make_state(context, op, a->dtype);
    for (int64_t begin = 0, n = 1; begin < 300; begin += n, n = n * 2 + 1) {
        if (n > 300 - begin) n = 300 - begin;
        char *data = (char *)a->data + (size_t)begin * bf_dtype_size(a->dtype);
        bf_array piece = bf_array_of(a->dtype, data, n);
        bf_array none = bf_array_of(a->dtype, NULL, 0);
        assert_int_equal(absorb(s, op, &piece, &piece), BF_OK);
        assert_int_equal(absorb(s, op, &none, &none), BF_OK);
    }
    assert_same_form(s, whole);
    bf_state_clear(s);
    OWN(bf_state) *empty = make_state(context, op, a->dtype);
    assert_same_form(s, empty);
}

TEST(chunks_give_the_state_of_one_pass) { for_each_state(check_chunks); }

static bf_status load(const void *bytes, size_t size) {
    bf_state *s = NULL;
    void *exact = malloc(size ? size : 1); /* so that a sanitizer sees a read past the end */
    memcpy(exact, bytes, size);
    bf_status status = bf_state_load(context, exact, size, &s);
    free(exact);
    if (status == BF_OK)
        bf_state_destroy(s);
    else
        assert_null(s);
    return status;
}

static void check_save(bf_reduction op, const bf_array *a) {
    bf_state *s = part(context, op, a, a, 0, 300), *back = NULL;
    saved_state x = save(s);
    assert_int_equal(bf_state_load(context, x.bytes, x.size, &back), BF_OK);
    assert_same_form(s, back);
    bf_value v, w;
    memset(&v, 0, sizeof v);
    memset(&w, 0, sizeof w);
    assert_int_equal(bf_state_result(s, NULL, &v), BF_OK);
    assert_int_equal(bf_state_result(back, NULL, &w), BF_OK);
    assert_memory_equal(&v, &w, sizeof v);
    bf_state_destroy(s);
    bf_state_destroy(back);

    uint64_t rng = 1;
    for (size_t i = 0; i < x.size; i++) {
        assert_int_equal(load(x.bytes, i), BF_E_STATE);
        unsigned char flip = (unsigned char)(next_random(&rng) % 255 + 1);
        x.bytes[i] ^= flip;
        assert_int_equal(load(x.bytes, x.size), BF_E_STATE);
        x.bytes[i] ^= flip;
    }
    x.bytes[x.size] = 0;
    assert_int_equal(load(x.bytes, x.size + 1), BF_E_STATE);
    assert_int_equal(load(x.bytes, x.size), BF_OK);
}

TEST(saved_states_come_back_and_damaged_ones_do_not) { for_each_state(check_save); }

static bool loads(const uint8_t *bytes, size_t size) {
    bf_state *s = NULL;
    const bf_status st = bf_state_load(context, bytes, size, &s);
    bf_state_destroy(s);
    assert_true(st == BF_OK || st == BF_E_STATE);
    return st == BF_OK;
}

/* The trailer of a saved form comes back, and the form loads; with any bit or byte of either lost
 * it does not. */
TEST(a_trailer_is_passed_over) {
    const double x[] = {1, 2, 3};
    const char content[] = "divide by n - 1";
    uint8_t bytes[512];
    size_t form, n;
    const bf_array a = bf_array_of(BF_F64, x, 3);
    bf_state *s = part(context, BF_MAX, &a, &a, 0, 3);
    form = bf_state_save_size(s);
    assert_true(form + bf_trailer_save_size(sizeof content) <= sizeof bytes);
    assert_int_equal(bf_state_save(s, bytes), BF_OK);
    bf_state_destroy(s);
    assert_null(bf_trailer_find(bytes, form, &n));
    for (size_t length = 0; length <= sizeof content; length++) {
        const size_t all = form + bf_trailer_save_size(length);
        assert_int_equal(bf_trailer_save(length ? content : NULL, length, bytes + form), BF_OK);
        assert_memory_equal(bf_trailer_find(bytes, all, &n), content, length);
        assert_int_equal(n, length);
        assert_memory_equal(bf_trailer_find(bytes + form, all - form, &n), content, length);
        assert_int_equal(n, length);
        assert_true(loads(bytes, all));
        for (size_t size = form + 1; size < all; size++) assert_false(loads(bytes, size));
        for (size_t i = 0; i < 8 * all; i++) {
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
            assert_false(loads(bytes, all));
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        }
    }
    assert_int_equal(bf_trailer_save(NULL, 1, bytes), BF_E_ARGUMENT);
    assert_int_equal(bf_trailer_save(content, 1, NULL), BF_E_ARGUMENT);
    assert_null(bf_trailer_find(NULL, 0, &n));
}

/* The layout of a saved state (bitfold/state.h): a head, and two sections with heads of 24 bytes.
 */
enum { VERSION_AT = 8, BYTES_AT = 16, NAME_AT = 24, TYPE_AT = 36, OP_AT = 48, DTYPE_AT = 52 };
enum { PADDING_AT = 60, WORDS_AT = 64 + 16, WORD_0_AT = 64 + 24 };

/* What load says to a state in which `bytes` bytes at `at` are `x`, with a checksum that fits. */
static bf_status load_forged(saved_state state, size_t at, size_t bytes, uint64_t x) {
    memcpy(state.bytes + at, &x, bytes);
    sign(&state);
    return load(state.bytes, state.size);
}

static bf_status load_with_word(saved_state state, int word, int64_t x) {
    return load_forged(state, WORD_0_AT + 8 * (size_t)word, 8, (uint64_t)x);
}

static saved_state saved_of(bf_reduction op, const double *x, int64_t n) {
    bf_array a = bf_array_of(BF_F64, x, n);
    bf_state *s = part(context, op, &a, &a, 0, n);
    saved_state out = save(s);
    bf_state_destroy(s);
    return out;
}

TEST(forged_headers_are_refused) {
    double x[] = {1, -2, 3};
    saved_state s = saved_of(BF_SUM, x, 3);
    assert_int_equal(load_forged(s, VERSION_AT, 8, 1), BF_OK);
    assert_int_equal(load_forged(s, VERSION_AT, 8, 0), BF_E_STATE);
    assert_int_equal(load_forged(s, VERSION_AT, 8, 2), BF_E_STATE);
    assert_int_equal(load_forged(s, VERSION_AT, 8, 1ull << 56), BF_E_STATE);
    assert_non_null(strstr(bf_context_message(context), "another order of bytes"));
    assert_int_equal(load_forged(s, BYTES_AT, 8, 0), BF_E_STATE);
    assert_int_equal(load_forged(s, BYTES_AT, 8, s.size - 8), BF_E_STATE);
    assert_int_equal(load_forged(s, BYTES_AT, 8, UINT64_MAX), BF_E_STATE);
    assert_int_equal(load_forged(s, NAME_AT, 1, 'S'), BF_E_STATE);
    assert_non_null(strstr(bf_context_message(context), "no saved state"));
    assert_int_equal(load_forged(s, NAME_AT + 11, 1, 1), BF_E_STATE);
    assert_int_equal(load_forged(s, TYPE_AT, 4, BF_U32), BF_E_STATE);
    assert_int_equal(load_forged(s, PADDING_AT, 4, 1), BF_E_STATE);
    assert_int_equal(load_forged(s, OP_AT, 4, 0), BF_E_STATE);
    assert_int_equal(load_forged(s, OP_AT, 4, UINT32_MAX), BF_E_STATE);
    assert_int_equal(load_forged(s, OP_AT, 4, BF_MIN), BF_E_STATE);
    assert_int_equal(load_forged(s, OP_AT, 4, 99), BF_E_STATE);
    assert_int_equal(load_forged(s, DTYPE_AT, 4, BF_F32), BF_E_STATE);
    assert_int_equal(load_forged(s, DTYPE_AT, 4, BF_I192), BF_E_STATE);
    assert_int_equal(load_forged(s, WORDS_AT, 8, 1ull << 61), BF_E_STATE);
    assert_int_equal(load_forged(s, WORDS_AT, 8, 0), BF_E_STATE);
    assert_int_equal(load_forged(s, WORDS_AT, 8, UINT64_MAX), BF_E_STATE);
    assert_int_equal(load_forged(s, 0, 1, 'B'), BF_E_STATE);
}

TEST(impossible_sums_are_refused) {
    enum { COUNT, NAN_COUNT, POS_INF, NEG_INF, INVALID, NEG_ZERO, LIMBS };
    double x[] = {1, -2, 3};
    saved_state s = saved_of(BF_SUM, x, 3), empty = saved_of(BF_SUM, x, 0), squares;
    assert_int_equal(load_with_word(s, COUNT, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, COUNT, (1ll << 62) + 1), BF_E_STATE);
    assert_int_equal(load_with_word(s, NAN_COUNT, 4), BF_E_STATE);
    assert_int_equal(load_with_word(s, POS_INF, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, INVALID, 1), BF_E_STATE);
    assert_int_equal(load_with_word(s, NEG_ZERO, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, NEG_ZERO, 4), BF_E_STATE);
    assert_int_equal(load_with_word(s, NEG_ZERO, 2), BF_OK); /* 2 and two -0 */
    assert_int_equal(load_with_word(s, LIMBS, 1ll << 32), BF_E_STATE);
    assert_int_equal(load_with_word(s, LIMBS, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, LIMBS + 67, 1ll << 31), BF_E_STATE);
    assert_int_equal(load_with_word(s, NEG_ZERO, 3), BF_E_STATE); /* but the sum is 2 */
    assert_int_equal(load_with_word(empty, LIMBS, 1), BF_E_STATE);
    assert_int_equal(load_with_word(s, LIMBS + 66, 1), BF_E_STATE); /* three terms are not 2^1038 */
    squares = saved_of(BF_SUMSQ, x, 3);
    assert_int_equal(load_with_word(squares, NEG_INF, 1), BF_E_STATE);
    assert_int_equal(load_with_word(squares, NEG_ZERO, 1), BF_E_STATE);
    assert_int_equal(load_with_word(squares, LIMBS + 133, -1), BF_E_STATE);
}

TEST(impossible_extremes_are_refused) {
    enum { COUNT, NAN_COUNT, KEY, INDEX, NAN_INDEX, BEGIN, END };
    double x[] = {1, -2, (double)NAN};
    saved_state s = saved_of(BF_ARGMIN, x, 3), m = saved_of(BF_MAX, x, 3);
    assert_int_equal(load_with_word(s, COUNT, 3), BF_OK);
    assert_int_equal(load_with_word(s, COUNT, 4), BF_E_STATE);
    assert_int_equal(load_with_word(s, COUNT, 1), BF_E_STATE);
    assert_int_equal(load_with_word(s, NAN_COUNT, 4), BF_E_STATE);
    assert_int_equal(load_with_word(s, KEY, INT64_MAX), BF_E_STATE);
    assert_int_equal(load_with_word(s, INDEX, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, INDEX, 3), BF_E_STATE);
    assert_int_equal(load_with_word(s, NAN_INDEX, 3), BF_E_STATE);
    assert_int_equal(load_with_word(s, NAN_INDEX, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, NAN_INDEX, 1), BF_E_STATE); /* where the minimum is */
    assert_int_equal(load_with_word(s, BEGIN, -1), BF_E_STATE);
    assert_int_equal(load_with_word(s, BEGIN, 4), BF_E_STATE);
    assert_int_equal(load_with_word(s, END, 2), BF_E_STATE);
    assert_int_equal(load_with_word(s, END, INT64_MAX), BF_E_STATE);
    assert_int_equal(load_with_word(m, END, 3), BF_E_STATE);
    assert_int_equal(load_with_word(m, INDEX, 1), BF_E_STATE);
}

/* A chunk, and what a state of it is by the rules. */
typedef struct ruled {
    bf_reduction op;
    const bf_array *a, *b;
    const bf_state *by_rules;
} ruled;

static void check_by_rules(bf_context *with, void *data) {
    const ruled *r = data;
    OWN(bf_state) *s = part(with, r->op, r->a, r->b, 0, r->a->shape[0]);
    assert_same_form(s, r->by_rules);
}

/* Sums of all exponents have loops of their own. The generic instruction set has none. */
TEST(all_exponents_sum_as_by_the_rules) {
    enum { MOST = 32768 + 3 };
    static double x[MOST], y[MOST];
    static const int sizes[] = {383, 384, 385, 1003, 4099, MOST};
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_SUMSQ, BF_DOT};
    OWN(bf_context) *rules = make_context("generic", 1);
    for (int i = 0; i<6 * 2 * 2; i += CASE_STEP> 1 ? 5 : 1) {
        const bf_dtype dtype = i % 2 ? BF_F32 : BF_F64;
        const int n = sizes[i / 4];
        fill_with_zeros(dtype, x, n, KIND_FULL, 5, i / 2 % 2 == 1, (uint64_t)i);
        fill_with_zeros(dtype, y, n, KIND_FULL, 7, i / 2 % 2 == 1, (uint64_t)i + 100);
        const bf_array a = bf_array_of(dtype, x, n), b = bf_array_of(dtype, y, n);
        for (int k = 0; k < 4; k++) {
            OWN(bf_state) *expected = part(rules, ops[k], &a, &b, 0, n);
            on_every_context(check_by_rules, &(ruled){ops[k], &a, &b, expected});
        }
    }
}

TEST(counts_end_at_two_to_the_62) {
    double zero = -0.0;
    bf_array one = bf_array_of(BF_F64, &zero, 1);
    saved_state x = saved_of(BF_SUM, &zero, 1);
    int64_t most = 1ll << 62;
    memcpy(x.bytes + WORD_0_AT, &most, 8);
    sign(&x);
    bf_state *full = NULL, *s = part(context, BF_SUM, &one, &one, 0, 1);
    assert_int_equal(bf_state_load(context, x.bytes, x.size, &full), BF_OK);
    assert_int_equal(bf_state_absorb(full, &one), BF_E_OVERFLOW);
    assert_int_equal(bf_state_merge(full, s), BF_E_OVERFLOW);
    assert_int_equal(bf_state_merge(s, full), BF_E_OVERFLOW);
    assert_saves_as(full, &x);
    bf_state_destroy(full);
    bf_state_destroy(s);
    s = make_state(context, BF_ARGMAX, BF_F64);
    assert_int_equal(bf_state_seek(s, most), BF_OK);
    assert_int_equal(bf_state_absorb(s, &one), BF_E_OVERFLOW);
    bf_state_destroy(s);
}

TEST(only_states_of_one_kind_merge) {
    OWN(bf_state) *sum = make_state(context, BF_SUM, BF_F64),
                  *mean = make_state(context, BF_MEAN, BF_F64);
    OWN(bf_state) *single = make_state(context, BF_SUM, BF_F32);
    assert_int_equal(bf_state_merge(sum, mean), BF_E_STATE);
    assert_int_equal(bf_state_merge(sum, single), BF_E_STATE);
    assert_int_equal(bf_state_merge(sum, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_state_merge(NULL, sum), BF_E_ARGUMENT);
}

TEST(a_state_merges_with_itself) {
    double x[] = {0.1, 2, -3};
    bf_array a = bf_array_of(BF_F64, x, 3);
    OWN(bf_state) *s = part(context, BF_SUM, &a, &a, 0, 3),
                  *twice = part(context, BF_SUM, &a, &a, 0, 3);
    assert_int_equal(bf_state_absorb(twice, &a), BF_OK);
    assert_int_equal(bf_state_merge(s, s), BF_OK);
    assert_same_form(s, twice);
}

TEST(overlapping_indices_do_not_merge) {
    double x[10] = {0};
    bf_array a = bf_array_of(BF_F64, x, 10);
    OWN(bf_state) *low = part(context, BF_ARGMIN, &a, &a, 0, 6),
                  *high = part(context, BF_ARGMIN, &a, &a, 5, 10);
    OWN(bf_state) *next = part(context, BF_ARGMIN, &a, &a, 6, 10);
    assert_int_equal(bf_state_merge(low, high), BF_E_STATE);
    assert_int_equal(bf_state_merge(high, low), BF_E_STATE);
    assert_int_equal(bf_state_merge(low, low), BF_E_STATE);
    assert_int_equal(bf_state_merge(low, next), BF_OK);
    assert_int_equal(bf_state_merge(low, next), BF_E_STATE);
}

TEST(seek_only_goes_forward) {
    double x[] = {3, 1, 2};
    bf_array a = bf_array_of(BF_F64, x, 3);
    OWN(bf_state) *s = make_state(context, BF_ARGMIN, BF_F64);
    bf_state_info info = {.size = sizeof info};
    bf_value v;
    assert_int_equal(bf_state_seek(s, -1), BF_E_ARGUMENT);
    assert_int_equal(bf_state_seek(s, (1ll << 62) + 1), BF_E_ARGUMENT);
    assert_int_equal(bf_state_seek(s, 1000), BF_OK);
    assert_int_equal(bf_state_absorb(s, &a), BF_OK);
    assert_int_equal(bf_state_seek(s, 1002), BF_E_ARGUMENT);
    assert_int_equal(bf_state_seek(s, 1003), BF_OK);
    assert_int_equal(bf_state_result(s, NULL, &v), BF_OK);
    assert_int_equal(v.as.i64, 1001);
    bf_state_describe(s, &info);
    assert_int_equal(info.next, 1003);
    assert_int_equal(info.count, 3);
}

TEST(describe_counts_what_was_absorbed) {
    double x[] = {1, (double)NAN, (double)INFINITY, -(double)INFINITY, (double)NAN, 0};
    bf_array a = bf_array_of(BF_F64, x, 6);
    static const bf_reduction ops[] = {BF_SUM, BF_VAR, BF_NORM, BF_DOT, BF_MIN, BF_ARGMAX};
    for (int i = 0; i < 6; i++) {
        OWN(bf_state) *s = part(context, ops[i], &a, &a, 0, 6);
        bf_state_info info = {.size = sizeof info};
        bf_state_describe(s, &info);
        assert_int_equal(info.op, ops[i]);
        assert_int_equal(info.dtype, BF_F64);
        assert_int_equal(info.count, 6);
        assert_int_equal(info.nan, 2);
        assert_int_equal(info.inf, ops[i] >= BF_MIN ? -1 : 2);
        assert_int_equal(info.next, 6);
    }
}

TEST(a_refused_chunk_leaves_the_state_as_it_was) {
    double x[] = {1, 2, 3};
    bf_array a = bf_array_of(BF_F64, x, 3), shorter = bf_array_of(BF_F64, x, 2);
    bf_array other = bf_array_of(BF_I64, x, 3), broken = bf_array_of(BF_F64, x, -2);
    OWN(bf_state) *sum = part(context, BF_SUM, &a, &a, 0, 3),
                  *dot = part(context, BF_DOT, &a, &a, 0, 3);
    saved_state before = save(sum), before_dot = save(dot);
    assert_int_equal(bf_state_absorb(sum, &other), BF_E_DTYPE);
    assert_int_equal(bf_state_absorb(sum, &broken), BF_E_ARGUMENT);
    assert_int_equal(bf_state_absorb(sum, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_state_absorb_pair(sum, &a, &a), BF_E_ARGUMENT);
    assert_int_equal(bf_state_absorb(dot, &a), BF_E_ARGUMENT);
    assert_int_equal(bf_state_absorb_pair(dot, &a, &shorter), BF_E_SHAPE);
    assert_int_equal(bf_state_absorb_pair(dot, &a, &other), BF_E_DTYPE);
    assert_saves_as(sum, &before);
    assert_saves_as(dot, &before_dot);
}

TEST(bad_states_are_refused) {
    bf_state *s = NULL;
    char bytes[64] = {0};
    assert_int_equal(bf_state_create(NULL, BF_SUM, BF_F64, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_state_create(context, BF_SUM, BF_F64, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_state_create(context, (bf_reduction)0, BF_F64, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_state_create(context, BF_SUM, BF_NONE, &s), BF_E_DTYPE);
    assert_int_equal(bf_state_create(context, BF_SUM, BF_I192, &s), BF_E_DTYPE);
    assert_int_equal(bf_state_load(NULL, bytes, 64, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_state_load(context, NULL, 64, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_state_load(context, bytes, 0, &s), BF_E_STATE);
    assert_int_equal(bf_state_load(context, bytes, 64, &s), BF_E_STATE);
    assert_null(s);
    bf_state_destroy(NULL);
}

UNIT_TESTS(state, set_up, tear_down)
