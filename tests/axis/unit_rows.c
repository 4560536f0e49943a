/* bf_reduce_segments, bf_reduce_index, bf_reduce_runs and the dot products: every slot has the
 * result of its rows alone.
 * Builds: release, asan, tsan. */
#include "tests/axis/many.h"
#include "tests/support/unit.h"

#ifdef THREAD_SANITIZER
enum { CASES = 100 };
#else
enum { CASES = 500 };
#endif

typedef enum way { BY_OFFSETS, BY_INDEX, BY_RUNS } way;

typedef struct problem {
    way by;
    bf_array a, b, places;
    char *a_block, *b_block, *places_block;
    int64_t *slot; /* each row's; -1: none */
    int64_t rows, slots;
    bf_reduction op;
    bf_value empty;
    bf_reduce_options options;
    bool has_fits;
    outputs out;
} problem;

static void put_place(const problem *p, int64_t i, int64_t place) {
    store_bits(element_of(&p->places, &i), bf_dtype_size(p->places.dtype), (uint64_t)place);
}

/* Offsets of segments: some empty, some long; rows before and after them at times. */
static void make_offsets(problem *p, uint64_t *seed) {
    int64_t end = pick(seed, 2) ? 0 : pick(seed, p->rows + 1);
    for (int64_t i = 0; i < p->rows; i++) p->slot[i] = -1;
    put_place(p, 0, end);
    for (int64_t s = 0; s < p->slots; s++) {
        int64_t left = p->rows - end, take = pick(seed, 3) ? pick(seed, 5) : pick(seed, left + 1);
        if (take > left) take = left;
        if (s == p->slots - 1 && pick(seed, 2)) take = left;
        for (int64_t i = 0; i < take; i++) p->slot[end + i] = s;
        end += take;
        put_place(p, s + 1, end);
    }
}

static void make_index(problem *p, uint64_t *seed) {
    bool hot = pick(seed, 3) == 0;
    for (int64_t i = 0; i < p->rows; i++) {
        p->slot[i] = hot && pick(seed, 4) ? p->slots / 2 : pick(seed, p->slots);
        put_place(p, i, p->slot[i]);
    }
}

/* Keys of runs; p->slots becomes the number of runs. */
static void make_keys(problem *p, uint64_t *seed) {
    int64_t key = 0;
    bool is_f32 = p->places.dtype == BF_F32;
    p->slots = 0;
    for (int64_t i = 0; i < p->rows; i++) {
        bool begins = i == 0 || pick(seed, 4) == 0;
        if (begins) key = (key + 1 + pick(seed, 3)) % 7;
        p->slots += begins;
        p->slot[i] = p->slots - 1;
        uint32_t zero = key == 0 && pick(seed, 2) ? 0x80000000u : 0; /* -0 is +0 */
        float f = (float)key;
        if (is_f32) {
            memcpy(element_of(&p->places, &i), &f, 4);
            if (zero) memcpy(element_of(&p->places, &i), &zero, 4);
        } else {
            put_place(p, i, key - 3);
        }
    }
}

static bf_dtype place_dtype(way by, uint64_t *seed) {
    static const bf_dtype dtypes[] = {BF_I32, BF_I64, BF_U32, BF_U64};
    if (by == BY_RUNS) return pick(seed, 2) ? BF_F32 : all_dtypes[1 + pick(seed, 4)];
    return dtypes[pick(seed, by == BY_INDEX ? 4 : 2)];
}

static void find_answers(problem *p, bf_context *context) {
    int64_t width = p->slots > 0 ? p->out.count / p->slots : 0;
    elements e = make_elements(p->a.dtype, p->rows, p->op == BF_DOT);
    for (int64_t r = 0; r < p->out.count; r++) {
        e.n = 0;
        int64_t begin = -1;
        for (int64_t i = 0; i < p->rows; i++) {
            if (p->slot[i] != r / width) continue;
            int64_t at[BF_MAX_DIMS] = {i}, rest = r % width;
            for (int d = p->a.ndim - 1; d > 0; rest /= p->a.shape[d--])
                at[d] = rest % p->a.shape[d];
            if (begin < 0) begin = i;
            add_element(&e, element_of(&p->a, at), element_of(&p->b, at),
                        p->by == BY_INDEX ? i : i - begin);
        }
        p->out.answers[r] = find_answer(context, &e, p->op, p->out.values.dtype, &p->options);
    }
    free_elements(&e);
}

static void make_problem(problem *p, bf_context *context, uint64_t seed) {
    int64_t shape[3];
    p->by = (way)pick(&seed, 3);
    int ndim = 1 + (int)pick(&seed, 3);
    p->rows = shape[0] = pick(&seed, 8) ? 1 + pick(&seed, 200) : pick(&seed, 2);
    for (int d = 1; d < ndim; d++) shape[d] = pick(&seed, 8) ? 1 + pick(&seed, 7) : pick(&seed, 50);
    p->slots = 1 + pick(&seed, 40);
    bf_dtype dtype = all_dtypes[pick(&seed, DTYPE_COUNT)];
    p->op = any_op(&seed);
    if (p->by == BY_RUNS && p->op == BF_DOT) p->op = BF_SUM;
    p->a = any_array(dtype, ndim, shape, true, &seed, &p->a_block);
    p->b = any_array(dtype, ndim, shape, true, &seed, &p->b_block);
    fill_array(&p->a, &seed);
    fill_array(&p->b, &seed);
    p->slot = malloc(((size_t)p->rows + 1) * sizeof *p->slot);
    int64_t places = p->by == BY_OFFSETS ? p->slots + 1 : p->rows;
    p->places = any_array(place_dtype(p->by, &seed), 1, &places, false, &seed, &p->places_block);
    if (p->by == BY_OFFSETS)
        make_offsets(p, &seed);
    else if (p->by == BY_INDEX)
        make_index(p, &seed);
    else
        make_keys(p, &seed);
    p->empty = (bf_value){.dtype = bf_reduce_dtype(p->op, dtype, NULL), .as.u64 = 3};
    p->options = any_options(p->op, dtype, &p->empty, &seed);
    p->has_fits = pick(&seed, 2);
    shape[0] = p->slots;
    p->out = make_outputs(bf_reduce_dtype(p->op, dtype, &p->options), ndim, shape, &seed);
    find_answers(p, context);
    p->out.status = expected_status(&p->out, p->has_fits, p->options.overflow == BF_OVERFLOW_WRAP);
}

static void free_problem(problem *p) {
    free(p->a_block);
    free(p->b_block);
    free(p->places_block);
    free(p->slot);
    free_outputs(&p->out);
}

static bf_status call_runs(bf_context *context, const problem *p, const bf_array *fits) {
    int64_t first[256], runs = -1;
    memset(first, 0x5a, sizeof first);
    bf_array firsts = bf_array_of(BF_I64, first, 256);
    bf_status status = bf_reduce_runs(context, p->op, &p->places, &p->a, &p->options, &firsts,
                                      &p->out.values, fits, &runs);
    assert_int_equal(runs, p->slots);
    for (int64_t i = 0; i < p->rows; i++)
        if (status == BF_OK && (i == 0 || p->slot[i] != p->slot[i - 1]))
            assert_int_equal(first[p->slot[i]], i);
    assert_int_equal(first[status == BF_OK ? runs : 0], 0x5a5a5a5a5a5a5a5a);
    return status;
}

static bf_status call_rows(bf_context *context, const problem *p) {
    const bf_array *fits = p->has_fits ? &p->out.fits : NULL, *values = &p->out.values;
    const bf_reduce_options *o = &p->options;
    if (p->by == BY_RUNS) return call_runs(context, p, fits);
    if (p->by == BY_OFFSETS && p->op == BF_DOT)
        return bf_dot_segments(context, &p->a, &p->b, &p->places, o, values, fits);
    if (p->by == BY_OFFSETS)
        return bf_reduce_segments(context, p->op, &p->a, &p->places, o, values, fits);
    if (p->op == BF_DOT) return bf_dot_index(context, &p->a, &p->b, &p->places, o, values, fits);
    return bf_reduce_index(context, p->op, &p->a, &p->places, o, values, fits);
}

static void check_problem(bf_context *context, void *data) {
    const problem *p = data;
    soil_outputs(&p->out);
    assert_int_equal(call_rows(context, p), p->out.status);
    check_outputs(&p->out, p->out.status, p->has_fits);
}

TEST(every_slot_has_its_own_result) {
    needs_no_threads();
    OWN(bf_context) *context = make_context(NULL, 1);
    for (uint64_t i = 0; i < CASES; i++) {
        problem p;
        make_problem(&p, context, i);
        on_every_context(check_problem, &p);
        free_problem(&p);
    }
}

/* ---- large: several threads, a giant among small segments ------------------------------------ */

enum { LARGE_ROWS = 1500007, LARGE_SLOTS = 20011 };

typedef struct large_problem {
    bf_array a, offsets, index;
    int64_t *expected;
} large_problem;

static void check_large(bf_context *context, void *data) {
    const large_problem *p = data;
    int64_t *found = malloc(LARGE_SLOTS * sizeof *found);
    bf_array values = bf_array_of(BF_I64, found, LARGE_SLOTS);
    for (int by = 0; by < 2; by++) {
        memset(found, 0x5a, LARGE_SLOTS * sizeof *found);
        assert_int_equal(
            by == 0 ? bf_reduce_segments(context, BF_SUM, &p->a, &p->offsets, NULL, &values, NULL)
                    : bf_reduce_index(context, BF_SUM, &p->a, &p->index, NULL, &values, NULL),
            BF_OK);
        assert_memory_equal(found, p->expected, LARGE_SLOTS * sizeof *found);
    }
    free(found);
}

TEST(giants_and_hot_slots_are_shared_out) {
    int32_t *x = malloc(LARGE_ROWS * sizeof *x), *index = malloc(LARGE_ROWS * sizeof *index);
    int64_t *offsets = malloc((LARGE_SLOTS + 1) * sizeof *offsets);
    large_problem p = {.expected = calloc(LARGE_SLOTS, sizeof *p.expected)};
    int64_t giant = LARGE_SLOTS / 3, at = 0;
    for (int64_t s = 0; s <= LARGE_SLOTS; s++) {
        offsets[s] = at;
        at += s == giant ? 1400000 : s % 5;
        if (at > LARGE_ROWS) at = LARGE_ROWS;
    }
    uint64_t seed = 7;
    for (int64_t s = 0; s < LARGE_SLOTS; s++) {
        for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) {
            x[i] = (int32_t)next_random(&seed);
            index[i] = (int32_t)s;
            p.expected[s] += x[i];
        }
    }
    p.a = bf_array_of(BF_I32, x, offsets[LARGE_SLOTS]);
    p.index = bf_array_of(BF_I32, index, offsets[LARGE_SLOTS]);
    p.offsets = bf_array_of(BF_I64, offsets, LARGE_SLOTS + 1);
    on_every_context(check_large, &p);
    free(x);
    free(index);
    free(offsets);
    free(p.expected);
}

/* ---- values that are counted apart, where no sample finds them --------------------------------
 */

enum { LATE_ROWS = 100003, LATE_SLOTS = 11 };

typedef struct late_problem {
    bf_array a, index;
    double expected[LATE_SLOTS];
} late_problem;

static void check_late(bf_context *context, void *data) {
    const late_problem *p = data;
    double found[LATE_SLOTS];
    bf_array values = bf_array_of(BF_F64, found, LATE_SLOTS);
    assert_int_equal(bf_reduce_index(context, BF_SUM, &p->a, &p->index, NULL, &values, NULL),
                     BF_OK);
    assert_memory_equal(found, p->expected, sizeof found);
}

/* All rows go to the last slot, but for a few between those that are looked at. */
TEST(late_specials_are_counted) {
    static const struct {
        int slot;
        double x;
    } late[] = {{0, -0.0}, {0, -0.0},     {1, -0.0}, {1, 0.0}, {2, -0.0}, {2, 1},
                {2, -1},   {3, INFINITY}, {3, 5},    {4, NAN}, {5, -1},   {5, 1}};
    const int last = LATE_SLOTS - 1, count = sizeof late / sizeof *late;
    double *x = malloc(LATE_ROWS * sizeof *x);
    int64_t *index = malloc(LATE_ROWS * sizeof *index);
    for (int specials = 0; specials <= 1; specials++) {
        late_problem p = {.expected = {0}};
        for (int64_t i = 0; i < LATE_ROWS; i++) {
            x[i] = 1;
            index[i] = last;
        }
        for (int k = 0; k < count && specials; k++) {
            x[LATE_ROWS - 90 + 7 * k] = late[k].x;
            index[LATE_ROWS - 90 + 7 * k] = late[k].slot;
        }
        p.expected[last] = LATE_ROWS - (specials ? count : 0);
        if (specials) {
            p.expected[0] = -0.0;
            p.expected[3] = INFINITY;
            p.expected[4] = NAN;
        }
        p.a = bf_array_of(BF_F64, x, LATE_ROWS);
        p.index = bf_array_of(BF_I64, index, LATE_ROWS);
        on_every_context(check_late, &p);
    }
    free(x);
    free(index);
}

UNIT_TESTS(rows, NULL, NULL)
