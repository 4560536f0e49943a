/* Many states: each has the result of its elements alone, whatever chunks they came in, along axes,
 * by segments or by index; merged, saved and loaded; and a failure leaves them as they were. */
#include "tests/axis/many.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/leave_out.h"

#ifdef SANITIZED
enum { CASES = 60 };
#else
enum { CASES = 400 };
#endif
enum { CHUNKS = 4, ROOM = 4000, CONTEXTS = 5 };

static bf_context *contexts[CONTEXTS];

static int make_contexts(void **state) {
    static const char *const isas[CONTEXTS] = {"generic", "auto", "auto", "auto", "avx2"};
    (void)state;
    for (int i = 0; i < CONTEXTS; i++) {
        bf_options o = BF_OPTIONS(.threads = i < 2 ? 1 : i, .device = "cpu", .isa = isas[i]);
        if (bf_context_create(&o, &contexts[i]) == BF_OK) continue;
        o.isa = "auto"; /* this machine has no such */
        if (bf_context_create(&o, &contexts[i]) != BF_OK) return 1;
    }
    return 0;
}

static int destroy_contexts(void **state) {
    (void)state;
    for (int i = 0; i < CONTEXTS; i++) bf_context_destroy(contexts[i]);
    return 0;
}

static bf_reduction states_op(uint64_t *seed) {
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR,  BF_STD,
                                       BF_MIN, BF_MAX,  BF_NORM, BF_SUMSQ};
    return ops[pick(seed, 8)];
}

/* States, and the elements that each must have. */
typedef struct problem {
    bf_reduction op;
    bf_dtype dtype;
    int64_t width, slots, count;
    elements *have;
    bf_states *states;
} problem;

static void note_element(problem *p, int64_t state, const char *element) {
    assert_true(p->have[state].n < ROOM);
    add_element(&p->have[state], element, NULL, 0);
}

/* An array of rows of p->width elements, of one or two dimensions. */
static bf_array make_rows(const problem *p, int64_t rows, uint64_t *seed, char **block) {
    const int64_t shape[2] = {rows, p->width};
    const int ndim = p->width == 1 && pick(seed, 2) ? 1 : 2;
    bf_array a = any_array(p->dtype, ndim, shape, false, seed, block);
    fill_array(&a, seed);
    return a;
}

static void note_row(problem *p, const bf_array *a, int64_t row, int64_t slot) {
    for (int64_t c = 0; c < p->width; c++) {
        const int64_t at[2] = {row, c};
        note_element(p, slot * p->width + c, element_of(a, at));
    }
}

static void absorb_index(problem *p, uint64_t *seed) {
    static const bf_dtype dtypes[] = {BF_I32, BF_I64, BF_U32, BF_U64};
    char *block, *index_block;
    const int64_t rows = pick(seed, 4) ? pick(seed, 60) : pick(seed, 3);
    bf_array a = make_rows(p, rows, seed, &block);
    bf_array index = any_array(dtypes[pick(seed, 4)], 1, &rows, false, seed, &index_block);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t slot = pick(seed, p->slots);
        store_bits(element_of(&index, &i), bf_dtype_size(index.dtype), (uint64_t)slot);
        note_row(p, &a, i, slot);
    }
    assert_int_equal(bf_states_absorb_index(p->states, &a, &index), BF_OK);
    free(block);
    free(index_block);
}

static void absorb_segments(problem *p, uint64_t *seed) {
    char *block, *offsets_block;
    const int64_t rows = pick(seed, 4) ? pick(seed, 200) : pick(seed, 3), places = p->slots + 1;
    bf_array a = make_rows(p, rows, seed, &block);
    bf_array offsets =
        any_array(pick(seed, 2) ? BF_I32 : BF_I64, 1, &places, false, seed, &offsets_block);
    int64_t end = rows > 0 ? pick(seed, 2) * pick(seed, rows) : 0;
    for (int64_t s = 0; s < places; s++) {
        store_bits(element_of(&offsets, &s), bf_dtype_size(offsets.dtype), (uint64_t)end);
        int64_t take = s == p->slots ? 0 : pick(seed, 4) ? pick(seed, 5) : pick(seed, 150);
        for (; take > 0 && end < rows; take--) note_row(p, &a, end++, s);
    }
    assert_int_equal(bf_states_absorb_segments(p->states, &a, &offsets), BF_OK);
    free(block);
    free(offsets_block);
}

/* Three dimensions, of which one or two are reduced: the others number the states. */
static void absorb_axes(problem *p, uint64_t *seed) {
    char *block;
    const int64_t length = pick(seed, 3) ? pick(seed, 9) : pick(seed, 70);
    const int where = (int)pick(seed, 3);
    int64_t shape[3] = {p->slots, p->width, 0};
    for (int d = 2; d > where; d--) shape[d] = shape[d - 1];
    shape[where] = length;
    bf_array a = any_array(p->dtype, 3, shape, true, seed, &block);
    fill_array(&a, seed);
    for (int64_t s = 0; s < p->count; s++)
        for (int64_t i = 0; i < length; i++) {
            int64_t at[3] = {s / p->width, s % p->width, 0};
            for (int d = 2; d > where; d--) at[d] = at[d - 1];
            at[where] = i;
            note_element(p, s, element_of(&a, at));
        }
    const int axis = where - 3 * (int)pick(seed, 2);
    assert_int_equal(bf_states_absorb_axes(p->states, &a, &axis, 1), BF_OK);
    free(block);
}

static void make_problem(problem *p, uint64_t *seed) {
    p->op = states_op(seed);
    p->dtype = all_dtypes[pick(seed, DTYPE_COUNT)];
    p->width = pick(seed, 2) ? 1 : 1 + pick(seed, 6);
    p->slots = pick(seed, 3) ? 1 + pick(seed, 8) : 1 + pick(seed, 300);
    p->count = p->slots * p->width;
    p->have = calloc((size_t)p->count, sizeof *p->have);
    for (int64_t i = 0; i < p->count; i++) p->have[i] = make_elements(p->dtype, ROOM, false);
    assert_int_equal(
        bf_states_create(contexts[pick(seed, CONTEXTS)], p->op, p->dtype, p->count, &p->states),
        BF_OK);
}

static void free_problem(problem *p) {
    for (int64_t i = 0; i < p->count; i++) free_elements(&p->have[i]);
    free(p->have);
    bf_states_destroy(p->states);
}

static elements copy_elements(const elements *e) {
    elements copy = make_elements(e->dtype, e->n, false);
    for (int64_t i = 0; i < e->n; i++)
        add_element(&copy, e->a + (size_t)i * bf_dtype_size(e->dtype), NULL, 0);
    return copy;
}

static void check_results(problem *p, uint64_t *seed) {
    const bf_value empty = {.dtype = bf_reduce_dtype(p->op, p->dtype, NULL), .as.u64 = 3};
    bf_reduce_options options = any_options(p->op, p->dtype, &empty, seed);
    const bool has_fits = pick(seed, 2);
    const int64_t shape[2] = {p->slots, p->width};
    outputs out = make_outputs(bf_reduce_dtype(p->op, p->dtype, &options), 2, shape, seed);
    for (int64_t i = 0; i < p->count; i++) {
        elements e = copy_elements(&p->have[i]);
        out.answers[i] = find_answer(contexts[0], &e, p->op, out.values.dtype, &options);
        free_elements(&e);
    }
    out.status = expected_status(&out, has_fits, options.overflow == BF_OVERFLOW_WRAP);
    soil_outputs(&out);
    bf_status status =
        bf_states_result(p->states, &options, &out.values, has_fits ? &out.fits : NULL);
    assert_int_equal(status, out.status);
    check_outputs(&out, status, has_fits);
    free_outputs(&out);
}

static void check_counts(const problem *p) {
    int64_t *counts = calloc((size_t)p->count, sizeof *counts);
    const bf_array to = bf_array_of(BF_I64, counts, p->count);
    assert_int_equal(bf_states_counts(p->states, &to), BF_OK);
    for (int64_t i = 0; i < p->count; i++) assert_int_equal(counts[i], p->have[i].n);
    free(counts);
}

static uint8_t *save(bf_states *s, size_t *size) {
    assert_int_equal(bf_states_save_size(s, size), BF_OK);
    uint8_t *bytes = malloc(*size);
    assert_int_equal(bf_states_save(s, bytes), BF_OK);
    return bytes;
}

/* Goes on with states that were saved and loaded, maybe in another context. */
static void reload(problem *p, uint64_t *seed) {
    size_t size, again;
    bf_states *loaded = NULL;
    uint8_t *bytes = save(p->states, &size);
    assert_int_equal(bf_states_load(contexts[pick(seed, CONTEXTS)], bytes, size, &loaded), BF_OK);
    uint8_t *same = save(loaded, &again);
    assert_int_equal(size, again);
    assert_memory_equal(bytes, same, size);
    assert_int_equal(bf_states_count(loaded), p->count);
    bf_states_destroy(p->states);
    p->states = loaded;
    free(bytes);
    free(same);
}

/* Goes on with new states, into which those so far are merged in the end. */
static void merge_back(problem *p, bf_states *before) {
    assert_int_equal(bf_states_merge(p->states, before), BF_OK);
    bf_states_destroy(before);
}

static void states_are_those_of_their_elements(void **state) {
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t seed = i;
        problem p;
        bf_states *before = NULL;
        make_problem(&p, &seed);
        const int64_t chunks = pick(&seed, CHUNKS + 1);
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t way = pick(&seed, 3);
            if (way == 0) absorb_index(&p, &seed);
            if (way == 1) absorb_segments(&p, &seed);
            if (way == 2) absorb_axes(&p, &seed);
            if (pick(&seed, 3) == 0) reload(&p, &seed);
            if (before != NULL || pick(&seed, 3)) continue;
            before = p.states;
            assert_int_equal(bf_states_create(contexts[pick(&seed, CONTEXTS)], p.op, p.dtype,
                                              p.count, &p.states),
                             BF_OK);
        }
        if (before != NULL) merge_back(&p, before);
        check_counts(&p);
        check_results(&p, &seed);
        check_results(&p, &seed);
        free_problem(&p);
    }
}

static void assert_saved(bf_states *s, const uint8_t *bytes, size_t size) {
    size_t found;
    uint8_t *saved = save(s, &found);
    assert_int_equal(found, size);
    assert_memory_equal(saved, bytes, size);
    free(saved);
}

enum { MANY = 300, ROWS = 900 };

static double values[ROWS];
static int64_t places[ROWS];

/* A chunk whose values need other limbs than those before, and specials. */
static bf_status absorb_far(bf_states *s, int64_t rows) {
    uint64_t seed = 5;
    for (int64_t i = 0; i < rows; i++) {
        values[i] = ldexp(1.5, (int)pick(&seed, 1600) - 800);
        if (pick(&seed, 20) == 0) values[i] = INFINITY;
        places[i] = pick(&seed, MANY);
    }
    bf_array v = bf_array_of(BF_F64, values, rows), index = bf_array_of(BF_I64, places, rows);
    return bf_states_absorb_index(s, &v, &index);
}

/* Many rows for each state, and few: they are absorbed in two ways. */
static void a_failure_leaves_states_as_they_were(void **state) {
    (void)state;
#ifdef SANITIZED
    leave_out("a sanitizer has its own malloc");
#endif
    static const bf_reduction ops[] = {BF_VAR, BF_MIN};
    for (int k = 0; k < 4; k++) {
        bf_states *s, *more, *into;
        size_t size;
        const int64_t rows = k % 2 ? ROWS : 20;
        assert_int_equal(bf_states_create(contexts[3], ops[k / 2], BF_F64, MANY, &s), BF_OK);
        assert_int_equal(bf_states_create(contexts[3], ops[k / 2], BF_F64, MANY, &more), BF_OK);
        assert_int_equal(absorb_far(more, ROWS), BF_OK);
        bf_array one = bf_array_of(BF_F64, values, MANY), all = bf_array_of(BF_I64, places, MANY);
        for (int64_t i = 0; i < MANY; i++) {
            values[i] = (double)i + 1;
            places[i] = i;
        }
        assert_int_equal(bf_states_absorb_index(s, &one, &all), BF_OK);
        uint8_t *bytes = save(s, &size);
        for (int way = 0; way < 2; way++) {
            assert_int_equal(bf_states_load(contexts[3], bytes, size, &into), BF_OK);
            for (long allowed = 0;; allowed++) {
                atomic_store(&failures, 0);
                atomic_store(&until_failure, allowed);
                bf_status status = way ? bf_states_merge(into, more) : absorb_far(into, rows);
                atomic_store(&until_failure, -1);
                if (status == BF_OK) break;
                assert_int_equal(status, BF_E_MEMORY);
                assert_saved(into, bytes, size);
            }
            bf_states_destroy(into);
        }
        bf_states_destroy(s);
        bf_states_destroy(more);
        free(bytes);
    }
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    bf_context *c = contexts[0];
    bf_states *s = NULL, *other = NULL;
    double x[6] = {1, 2, 3, 4, 5, 6};
    int64_t at[3] = {0, 1, 2}, y[3] = {0};
    bf_array a = bf_array_of(BF_F64, x, 6), i = bf_array_of(BF_I64, at, 3), out = a;
    bf_array ints = bf_array_of(BF_I64, y, 3);
    const int axis = 0, bad = 1;
    assert_int_equal(bf_states_create(c, BF_PROD, BF_F64, 3, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_states_create(c, BF_ARGMIN, BF_F64, 3, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_states_create(c, (bf_reduction)99, BF_F64, 3, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_states_create(c, BF_SUM, (bf_dtype)77, 3, &s), BF_E_DTYPE);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_F64, -1, &s), BF_E_ARGUMENT);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_F64, BF_SLOTS_MAX + 1, &s), BF_E_ARGUMENT);
    assert_null(s);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_F64, 3, &s), BF_OK);
    assert_int_equal(bf_states_create(c, BF_SUM, BF_F64, 4, &other), BF_OK);
    assert_int_equal(bf_states_merge(s, other), BF_E_STATE);
    bf_states_destroy(other);
    assert_int_equal(bf_states_create(c, BF_MEAN, BF_F64, 3, &other), BF_OK);
    assert_int_equal(bf_states_merge(s, other), BF_E_STATE);
    assert_int_equal(bf_states_absorb_axes(s, &a, &axis, 1), BF_E_SHAPE);
    assert_int_equal(bf_states_absorb_axes(s, &a, &bad, 1), BF_E_ARGUMENT);
    assert_int_equal(bf_states_absorb_axes(s, &ints, NULL, 0), BF_E_DTYPE);
    assert_int_equal(bf_states_absorb_index(s, &a, &i), BF_E_SHAPE);
    assert_int_equal(bf_states_absorb_segments(s, &a, &i), BF_E_SHAPE);
    bf_array three = bf_array_of(BF_F64, x, 3);
    at[1] = 3;
    assert_int_equal(bf_states_absorb_index(s, &three, &i), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(c), "index 1 is 3"));
    at[1] = -1;
    assert_int_equal(bf_states_absorb_index(s, &three, &i), BF_E_ARGUMENT);
    int64_t off[4] = {0, 2, 1, 3};
    bf_array offsets = bf_array_of(BF_I64, off, 4);
    assert_int_equal(bf_states_absorb_segments(s, &three, &offsets), BF_E_ARGUMENT);
    assert_int_equal(bf_states_result(s, NULL, &out, NULL), BF_E_SHAPE);
    assert_int_equal(bf_states_result(s, NULL, &ints, NULL), BF_E_DTYPE);
    assert_int_equal(bf_states_counts(s, &ints), BF_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(y[k], 0);
    bf_states_destroy(s);
    bf_states_destroy(other);
    assert_int_equal(bf_states_create(c, BF_MIN, BF_F64, 0, &s), BF_OK);
    bf_array none = bf_array_of(BF_F64, x, 0);
    assert_int_equal(bf_states_result(s, NULL, &none, NULL), BF_OK);
    bf_states_destroy(s);
}

/* Bytes that no states save. */
static void wrong_bytes_are_refused(void **state) {
    (void)state;
    bf_states *s = NULL, *loaded = NULL;
    size_t size;
    assert_int_equal(bf_states_create(contexts[0], BF_VAR, BF_F64, MANY, &s), BF_OK);
    assert_int_equal(absorb_far(s, ROWS), BF_OK);
    uint8_t *bytes = save(s, &size);
    for (size_t at = 0; at < size; at += at < 64 ? 1 : 97) {
        bytes[at] ^= 0x10;
        assert_int_equal(bf_states_load(contexts[0], bytes, size, &loaded), BF_E_STATE);
        bytes[at] ^= 0x10;
    }
    for (size_t less = 0; less < size; less += less < 64 ? 1 : 97)
        assert_int_equal(bf_states_load(contexts[0], bytes, less, &loaded), BF_E_STATE);
    assert_int_equal(bf_states_load(contexts[0], bytes, size, &loaded), BF_OK);
    free(bytes);
    bf_states_destroy(s);
    bf_states_destroy(loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_those_of_their_elements),
        cmocka_unit_test(a_failure_leaves_states_as_they_were),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(wrong_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, make_contexts, destroy_contexts);
}
