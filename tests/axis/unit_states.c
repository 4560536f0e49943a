/* Many states: each has the result of its elements alone, whatever chunks they came in, along axes,
 * by segments or by index; merged, saved and loaded; and a failure leaves them as they were. */
#include "tests/axis/many.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/unit.h"

#ifdef SANITIZED
enum { CASES = 60 };
#else
enum { CASES = 400 };
#endif
enum { CHUNKS = 4, ROOM = 4000, CONTEXTS = 5 };

static bf_context *contexts[CONTEXTS];

static int make_contexts(void **state) {
    static const char *const isas[CONTEXTS] = {"generic", "vector", "auto", "auto", "avx2"};
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

static bf_context *pick_context(uint64_t *seed) {
    bf_context *context = contexts[pick(seed, CONTEXTS)];
    try_context(context);
    return context;
}

static bf_reduction states_op(uint64_t *seed) {
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN,  BF_VAR,     BF_STD,    BF_MIN,
                                       BF_MAX, BF_NORM,  BF_PROD,    BF_ARGMIN, BF_ARGMAX,
                                       BF_DOT, BF_SUMSQ, BF_DESCRIBE};
    return ops[pick(seed, sizeof ops / sizeof *ops)];
}

/* States, and the elements that each must have. */
typedef struct problem {
    bf_reduction op;
    bf_dtype dtype;
    int64_t width, slots, count;
    elements *have;
    int64_t *next; /* the index of each state's next element */
    bf_states *states;
} problem;

static bool has_indices(bf_reduction op) {
    return op == BF_ARGMIN || op == BF_ARGMAX || op == BF_DESCRIBE;
}

/* A chunk: an array and, for dot, another of the same shape. */
typedef struct chunk {
    bf_array a, b;
    char *blocks[2];
    bool pairs;
} chunk;

static chunk make_chunk(const problem *p, int ndim, const int64_t *shape, bool zeros,
                        uint64_t *seed) {
    chunk c = {.pairs = p->op == BF_DOT};
    c.a = any_array(p->dtype, ndim, shape, zeros, seed, &c.blocks[0]);
    fill_array(&c.a, seed);
    if (!c.pairs) return c;
    c.b = any_array(p->dtype, ndim, shape, zeros, seed, &c.blocks[1]);
    fill_array(&c.b, seed);
    return c;
}

static void free_chunk(chunk *c) {
    free(c->blocks[0]);
    free(c->blocks[1]);
}

static void note_element(problem *p, int64_t state, const chunk *c, const int64_t *at,
                         int64_t number) {
    assert_true(p->have[state].n < ROOM);
    add_element(&p->have[state], element_of(&c->a, at), c->pairs ? element_of(&c->b, at) : NULL,
                number);
}

/* Rows of p->width elements, of one or two dimensions. */
static chunk make_rows(const problem *p, int64_t rows, uint64_t *seed) {
    const int64_t shape[2] = {rows, p->width};
    const int ndim = p->width == 1 && pick(seed, 2) ? 1 : 2;
    return make_chunk(p, ndim, shape, false, seed);
}

/* by_row: elements have the number of the row, else each moves its state on. */
static void note_row(problem *p, const chunk *c, int64_t row, int64_t slot, bool by_row) {
    for (int64_t column = 0; column < p->width; column++) {
        const int64_t at[2] = {row, column}, state = slot * p->width + column;
        note_element(p, state, c, at, by_row ? p->next[state] + row : p->next[state]++);
    }
}

static void absorb_index(problem *p, uint64_t *seed) {
    static const bf_dtype dtypes[] = {BF_I32, BF_I64, BF_U32, BF_U64};
    char *index_block;
    const bool by_row = has_indices(p->op);
    const int64_t rows = pick(seed, 4) ? pick(seed, 60) : pick(seed, 3);
    chunk c = make_rows(p, rows, seed);
    bf_array index = any_array(dtypes[pick(seed, 4)], 1, &rows, false, seed, &index_block);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t slot = pick(seed, p->slots);
        store_bits(element_of(&index, &i), bf_dtype_size(index.dtype), (uint64_t)slot);
        note_row(p, &c, i, slot, by_row);
    }
    for (int64_t s = 0; s < p->count && by_row; s++) p->next[s] += rows;
    const bf_status status = c.pairs ? bf_states_absorb_pair_index(p->states, &c.a, &c.b, &index)
                                     : bf_states_absorb_index(p->states, &c.a, &index);
    assert_int_equal(status, BF_OK);
    free_chunk(&c);
    free(index_block);
}

static void absorb_segments(problem *p, uint64_t *seed) {
    char *offsets_block;
    const int64_t rows = pick(seed, 4) ? pick(seed, 200) : pick(seed, 3), places = p->slots + 1;
    chunk c = make_rows(p, rows, seed);
    bf_array offsets =
        any_array(pick(seed, 2) ? BF_I32 : BF_I64, 1, &places, false, seed, &offsets_block);
    int64_t end = rows > 0 ? pick(seed, 2) * pick(seed, rows) : 0;
    for (int64_t s = 0; s < places; s++) {
        store_bits(element_of(&offsets, &s), bf_dtype_size(offsets.dtype), (uint64_t)end);
        int64_t take = s == p->slots ? 0 : pick(seed, 4) ? pick(seed, 5) : pick(seed, 150);
        for (; take > 0 && end < rows; take--) note_row(p, &c, end++, s, false);
    }
    const bf_status status = c.pairs
                                 ? bf_states_absorb_pair_segments(p->states, &c.a, &c.b, &offsets)
                                 : bf_states_absorb_segments(p->states, &c.a, &offsets);
    assert_int_equal(status, BF_OK);
    free_chunk(&c);
    free(offsets_block);
}

/* Three dimensions, of which one is reduced: the others number the states. */
static void absorb_axes(problem *p, uint64_t *seed) {
    const int64_t length = pick(seed, 3) ? pick(seed, 9) : pick(seed, 70);
    const int where = (int)pick(seed, 3);
    int64_t shape[3] = {p->slots, p->width, 0};
    for (int d = 2; d > where; d--) shape[d] = shape[d - 1];
    shape[where] = length;
    chunk c = make_chunk(p, 3, shape, true, seed);
    for (int64_t s = 0; s < p->count; s++)
        for (int64_t i = 0; i < length; i++) {
            int64_t at[3] = {s / p->width, s % p->width, 0};
            for (int d = 2; d > where; d--) at[d] = at[d - 1];
            at[where] = i;
            note_element(p, s, &c, at, p->next[s]++);
        }
    const int axis = where - 3 * (int)pick(seed, 2);
    const bf_status status = c.pairs ? bf_states_absorb_pair_axes(p->states, &c.a, &c.b, &axis, 1)
                                     : bf_states_absorb_axes(p->states, &c.a, &axis, 1);
    assert_int_equal(status, BF_OK);
    free_chunk(&c);
}

static void make_problem(problem *p, uint64_t *seed) {
    p->op = states_op(seed);
    p->dtype = all_dtypes[pick(seed, DTYPE_COUNT)];
    p->width = pick(seed, 2) ? 1 : 1 + pick(seed, 6);
    p->slots = pick(seed, 3) ? 1 + pick(seed, 8) : 1 + pick(seed, 300);
    p->count = p->slots * p->width;
    p->have = calloc((size_t)p->count, sizeof *p->have);
    p->next = calloc((size_t)p->count, sizeof *p->next);
    for (int64_t i = 0; i < p->count; i++)
        p->have[i] = make_elements(p->dtype, ROOM, p->op == BF_DOT);
    assert_int_equal(bf_states_create(pick_context(seed), p->op, p->dtype, p->count, &p->states),
                     BF_OK);
}

static void free_problem(problem *p) {
    for (int64_t i = 0; i < p->count; i++) free_elements(&p->have[i]);
    free(p->have);
    free(p->next);
    bf_states_destroy(p->states);
}

static elements copy_elements(const elements *e) {
    elements copy = make_elements(e->dtype, e->n, e->b != NULL);
    for (int64_t i = 0; i < e->n; i++) {
        const size_t at = (size_t)i * bf_dtype_size(e->dtype);
        add_element(&copy, e->a + at, e->b ? e->b + at : NULL, e->number[i]);
    }
    return copy;
}

/* The answers of op, in dtype `to`, and what the whole call must return. */
static outputs expect_results(const problem *p, bf_reduction op, bf_dtype to,
                              const bf_reduce_options *options, uint64_t *seed) {
    const int64_t shape[2] = {p->slots, p->width};
    outputs out = make_outputs(to, 2, shape, seed);
    for (int64_t i = 0; i < p->count; i++) {
        elements e = copy_elements(&p->have[i]);
        out.answers[i] = find_answer(contexts[0], &e, op, to, options);
        free_elements(&e);
    }
    return out;
}

static int64_t count_infinities(const elements *e) {
    int64_t n = 0;
    for (int64_t i = 0; i < e->n && is_float(e->dtype); i++)
        n += isinf(element_float(e, e->a, i)) != 0;
    return n;
}

static void check_described_counts(const problem *p) {
    int64_t *counts[3];
    bf_array arrays[3];
    for (int k = 0; k < 3; k++) {
        counts[k] = calloc((size_t)p->count, sizeof *counts[k]);
        arrays[k] = bf_array_of(BF_I64, counts[k], p->count);
    }
    const bf_descriptions to = {sizeof to, .n = &arrays[0], .nan = &arrays[1], .inf = &arrays[2]};
    assert_int_equal(bf_states_description(p->states, NULL, &to), BF_OK);
    for (int64_t i = 0; i < p->count; i++) {
        assert_int_equal(counts[0][i], p->have[i].n);
        assert_int_equal(counts[1][i], count_nans(&p->have[i]));
        assert_int_equal(counts[2][i], count_infinities(&p->have[i]));
    }
    for (int k = 0; k < 3; k++) free(counts[k]);
}

/* Each value on its own, and all at once. */
static void check_description(problem *p, uint64_t *seed) {
    static const bf_reduction ops[] = {BF_MIN, BF_ARGMIN, BF_MAX, BF_ARGMAX,
                                       BF_SUM, BF_MEAN,   BF_STD};
    enum { OPS = sizeof ops / sizeof *ops };
    outputs out[OPS];
    bf_status worst = BF_OK;
    bf_reduce_options options = any_options(BF_SUM, p->dtype, NULL, seed);
    bf_descriptions to = {.size = sizeof to};
    const bf_array **const places[] = {&to.min, &to.argmin, &to.max, &to.argmax,
                                       &to.sum, &to.mean,   &to.std};
    for (int k = 0; k < OPS; k++) {
        const bool extreme = ops[k] >= BF_MIN && ops[k] <= BF_ARGMAX, index = has_indices(ops[k]);
        bf_reduce_options own = options;
        const bf_value nothing = {.dtype = index ? BF_I64 : p->dtype, .as.i64 = index ? -1 : 0};
        if (extreme) own.out_dtype = BF_NONE;
        if (extreme) own.empty = &nothing;
        out[k] = expect_results(p, ops[k], bf_reduce_dtype(ops[k], p->dtype, &own), &own, seed);
        out[k].status = expected_status(&out[k], false, options.overflow == BF_OVERFLOW_WRAP);
        if (worst == BF_OK) worst = out[k].status;
        soil_outputs(&out[k]);
        *places[k] = &out[k].values;
    }
    assert_int_equal(bf_states_description(p->states, &options, &to), worst);
    for (int k = 0; k < OPS; k++) {
        check_outputs(&out[k], worst, false);
        free_outputs(&out[k]);
    }
    check_described_counts(p);
}

/* Another reduction that keeps the same sums; op, if there is none. */
static bf_reduction kin_of(bf_reduction op) {
    static const bf_reduction kin[][2] = {{BF_SUM, BF_MEAN}, {BF_VAR, BF_STD}, {BF_NORM, BF_SUMSQ}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            if (kin[i][k] == op) return kin[i][1 - k];
    return op;
}

static void check_results(problem *p, uint64_t *seed) {
    if (p->op == BF_DESCRIBE) {
        check_description(p, seed);
        return;
    }
    const bf_reduction op = pick(seed, 2) ? p->op : kin_of(p->op);
    const bf_value empty = {.dtype = bf_reduce_dtype(op, p->dtype, NULL), .as.u64 = 3};
    bf_reduce_options options = any_options(op, p->dtype, &empty, seed);
    const bool has_fits = pick(seed, 2);
    outputs out = expect_results(p, op, bf_reduce_dtype(op, p->dtype, &options), &options, seed);
    out.status = expected_status(&out, has_fits, options.overflow == BF_OVERFLOW_WRAP);
    soil_outputs(&out);
    const bf_array *fits = has_fits ? &out.fits : NULL;
    bf_status status = op == p->op
                           ? bf_states_result(p->states, &options, &out.values, fits)
                           : bf_states_result_of(p->states, op, &options, &out.values, fits);
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

/* Goes on with states that were saved and loaded, maybe in another context. */
static void reload(problem *p, uint64_t *seed) {
    bf_states *loaded = copy_form(pick_context(seed), p->states);
    assert_non_null(loaded);
    assert_same_form(loaded, p->states);
    assert_int_equal(bf_states_count(loaded), p->count);
    bf_states_destroy(p->states);
    p->states = loaded;
}

/* States that go on where others were left, in the end to be merged; or that begin again at index
 * 0, to be appended. */
typedef struct split {
    bf_states *before;
    bool appends;
} split;

/* Trees of few elements cannot be split. */
static bool can_split(const problem *p) { return p->op != BF_PROD || !is_float(p->dtype); }

static split make_split(problem *p, uint64_t *seed) {
    const split x = {p->states, pick(seed, 2)};
    assert_int_equal(bf_states_create(pick_context(seed), p->op, p->dtype, p->count, &p->states),
                     BF_OK);
    const bf_array next = bf_array_of(BF_I64, p->next, p->count);
    if (has_indices(p->op) && !x.appends) assert_int_equal(bf_states_seek(p->states, &next), BF_OK);
    return x;
}

static void merge_back(problem *p, split x) {
    if (!x.appends) {
        assert_int_equal(bf_states_merge(p->states, x.before), BF_OK);
        bf_states_destroy(x.before);
        return;
    }
    assert_int_equal(bf_states_append(x.before, p->states), BF_OK);
    bf_states_destroy(p->states);
    p->states = x.before;
}

TEST(states_are_those_of_their_elements) {
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t seed = i;
        problem p;
        split x = {.before = NULL};
        make_problem(&p, &seed);
        const int64_t chunks = pick(&seed, CHUNKS + 1);
        for (int64_t c = 0; c < chunks; c++) {
            const int64_t way = pick(&seed, 3);
            if (way == 0) absorb_index(&p, &seed);
            if (way == 1) absorb_segments(&p, &seed);
            if (way == 2) absorb_axes(&p, &seed);
            if (pick(&seed, 3) == 0) reload(&p, &seed);
            if (x.before == NULL && can_split(&p) && pick(&seed, 3) == 0) x = make_split(&p, &seed);
        }
        if (x.before != NULL) merge_back(&p, x);
        check_counts(&p);
        check_results(&p, &seed);
        check_results(&p, &seed);
        free_problem(&p);
    }
}

static void assert_saved(bf_states *s, const uint8_t *bytes, size_t size) {
    size_t found;
    unsigned char *saved = save_form(s, &found);
    assert_int_equal(found, size);
    assert_memory_equal(saved, bytes, size);
    free(saved);
}

/* Trees of some leaves: their parts begin at whole leaves, and merge in any order of neighbours. */
TEST(products_of_floats_join_at_leaves) {
    enum { COLUMNS = 3, LENGTH = 5 * 4096 + 77 };
    double *data = malloc((size_t)LENGTH * COLUMNS * sizeof *data), found[COLUMNS];
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t seed = i;
        const int64_t cuts[] = {0, 4096 * pick(&seed, 3), 4096 * (2 + pick(&seed, 4)), LENGTH};
        const int order[][2] = {{1, 2}, {2, 0}};
        const int axis = 0, *second = order[pick(&seed, 2)];
        bf_states *parts[3];
        bf_array a = {data, BF_F64, 2, {LENGTH, COLUMNS}, {COLUMNS, 1}};
        for (int64_t k = 0; k < LENGTH * COLUMNS; k++)
            data[k] = ldexp(1 + (double)pick(&seed, 1000) / 999, (int)pick(&seed, 40) - 20);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(
                bf_states_create(pick_context(&seed), BF_PROD, BF_F64, COLUMNS, &parts[k]), BF_OK);
            int64_t at = cuts[k];
            const bf_array next = {&at, BF_I64, 1, {COLUMNS}, {0}};
            assert_int_equal(bf_states_seek(parts[k], &next), BF_OK);
            for (int64_t n; at < cuts[k + 1]; at += n) {
                n = 1 + pick(&seed, 9000);
                if (n > cuts[k + 1] - at) n = cuts[k + 1] - at;
                a.shape[0] = n;
                a.data = data + at * COLUMNS;
                assert_int_equal(bf_states_absorb_axes(parts[k], &a, &axis, 1), BF_OK);
            }
        }
        assert_int_equal(bf_states_merge(parts[1], parts[second[0] == 1 ? 2 : second[0]]), BF_OK);
        assert_int_equal(bf_states_merge(parts[1], parts[second[0] == 1 ? 0 : second[1]]), BF_OK);
        const bf_array values = bf_array_of(BF_F64, found, COLUMNS);
        assert_int_equal(bf_states_result(parts[1], NULL, &values, NULL), BF_OK);
        for (int c = 0; c < COLUMNS; c++) {
            const bf_array column = {data + c, BF_F64, 1, {LENGTH}, {COLUMNS}};
            bf_value v;
            assert_int_equal(bf_reduce(contexts[0], BF_PROD, &column, NULL, &v), BF_OK);
            assert_memory_equal(&found[c], &v.as.f64, 8);
        }
        for (int k = 0; k < 3; k++) bf_states_destroy(parts[k]);
    }
    free(data);
}

/* Trees of many sizes: the form of each is as long as its elements make it. */
TEST(products_of_floats_come_back) {
    enum { SLOTS = 6, LENGTH = 90000 };
    static const int64_t offsets[SLOTS + 1] = {0, 0, 3, 40000, 40001, 66000, LENGTH};
    double *data = malloc(LENGTH * sizeof *data), found[SLOTS];
    uint64_t seed = 5;
    const bf_array a = bf_array_of(BF_F64, data, LENGTH);
    const bf_array segments = bf_array_of(BF_I64, (int64_t *)offsets, SLOTS + 1);
    const bf_array values = bf_array_of(BF_F64, found, SLOTS);
    OWN(bf_states) *states = NULL, *loaded = NULL, *again = NULL;
    for (int k = 0; k < LENGTH; k++)
        data[k] = ldexp(1 + (double)pick(&seed, 1000) / 999, (int)pick(&seed, 40) - 20);
    assert_int_equal(bf_states_create(contexts[0], BF_PROD, BF_F64, SLOTS, &states), BF_OK);
    assert_int_equal(bf_states_absorb_segments(states, &a, &segments), BF_OK);
    loaded = copy_form(contexts[1], states);
    again = copy_form(contexts[2], loaded);
    assert_same_form(again, states);
    assert_int_equal(bf_states_result(again, NULL, &values, NULL), BF_OK);
    for (int i = 0; i < SLOTS; i++) {
        const bf_array segment =
            bf_array_of(BF_F64, data + offsets[i], offsets[i + 1] - offsets[i]);
        bf_value v;
        assert_int_equal(bf_reduce(contexts[0], BF_PROD, &segment, NULL, &v), BF_OK);
        assert_memory_equal(&found[i], &v.as.f64, 8);
    }
    free(data);
}

/* Long fibres, which threads share out. */
TEST(a_long_fibre_has_the_bits_of_an_array) {
    enum { N = 1500000 };
    static const bf_reduction ops[] = {BF_ARGMIN, BF_ARGMAX, BF_DOT, BF_PROD};
    int32_t *data = malloc(N * sizeof *data), *other = malloc(N * sizeof *other);
    uint64_t seed = 7;
    for (int i = 0; i < N; i++) {
        data[i] = (int32_t)pick(&seed, 1000000) - 500000;
        other[i] = (int32_t)pick(&seed, 100);
    }
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        const int axis = 0;
        const bool pairs = ops[k] == BF_DOT;
        OWN(bf_states) *s = NULL;
        bf_value v;
        int64_t found;
        bf_array a = bf_array_of(BF_I32, data, N), b = bf_array_of(BF_I32, other, N);
        const bf_array to = {&found, BF_I64, 0, {0}, {0}};
        const bf_reduce_options wraps = BF_REDUCE_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
        assert_int_equal(pairs ? bf_dot(contexts[0], &a, &b, NULL, &v)
                               : bf_reduce(contexts[0], ops[k], &a, &wraps, &v),
                         BF_OK);
        assert_int_equal(bf_states_create(contexts[3], ops[k], BF_I32, 1, &s), BF_OK);
        for (int half = 0; half < 2; half++) {
            const int64_t begin = half ? 1100000 : 0;
            a = bf_array_of(BF_I32, data + begin, half ? N - begin : 1100000);
            b = bf_array_of(BF_I32, other + begin, a.shape[0]);
            assert_int_equal(pairs ? bf_states_absorb_pair_axes(s, &a, &b, &axis, 1)
                                   : bf_states_absorb_axes(s, &a, &axis, 1),
                             BF_OK);
        }
        assert_int_equal(bf_states_result(s, &wraps, &to, NULL), BF_OK);
        assert_int_equal(found, pairs ? (int64_t)v.as.i192[0] : v.as.i64);
    }
    free(data);
    free(other);
}

TEST(places_that_do_not_suit_are_refused) {
    static const bf_reduction ops[] = {BF_ARGMIN, BF_DESCRIBE, BF_PROD};
    double x[6] = {1, 2, 3, 4, 5, 6};
    int64_t five[2] = {5, 0}, leaf[2] = {4096, 4096}, counts[2];
    const bf_array pairs = {x, BF_F64, 2, {3, 2}, {2, 1}};
    const bf_array to_five = bf_array_of(BF_I64, five, 2), to_leaf = bf_array_of(BF_I64, leaf, 2);
    const bf_array short_one = bf_array_of(BF_I64, five, 1);
    const int axis = 0;
    bf_context *c = contexts[1];
    for (int k = 0; k < 3; k++) {
        OWN(bf_states) *s = NULL, *other = NULL;
        size_t size;
        assert_int_equal(bf_states_create(c, ops[k], BF_F64, 2, &s), BF_OK);
        assert_int_equal(bf_states_create(c, ops[k], BF_F64, 2, &other), BF_OK);
        assert_int_equal(bf_states_absorb_axes(s, &pairs, &axis, 1), BF_OK);
        unsigned char *bytes = save_form(s, &size);
        assert_int_equal(bf_states_seek(s, &to_five), BF_E_ARGUMENT); /* the second state is at 3 */
        assert_int_equal(bf_states_seek(s, &short_one), BF_E_SHAPE);
        assert_int_equal(bf_states_merge(s, s), BF_E_STATE);
        assert_int_equal(bf_states_seek(other, &to_leaf), BF_OK);
        assert_int_equal(bf_states_absorb_axes(other, &pairs, &axis, 1), BF_OK);
        assert_int_equal(bf_states_append(s, other), BF_E_STATE);
        assert_int_equal(bf_states_merge(s, other), ops[k] == BF_PROD ? BF_E_STATE : BF_OK);
        assert_int_equal(bf_states_counts(s, &(bf_array){counts, BF_I64, 1, {2}, {1}}), BF_OK);
        assert_int_equal(counts[0], ops[k] == BF_PROD ? 3 : 6);
        if (ops[k] == BF_PROD) assert_saved(s, bytes, size);
        free(bytes);
    }
    OWN(bf_states) *sum = NULL, *dot = NULL;
    assert_int_equal(bf_states_create(c, BF_SUM, BF_F64, 2, &sum), BF_OK);
    assert_int_equal(bf_states_create(c, BF_DOT, BF_F64, 2, &dot), BF_OK);
    assert_int_equal(bf_states_seek(sum, &to_leaf), BF_E_ARGUMENT);
    assert_int_equal(bf_states_seek(dot, &to_leaf), BF_E_ARGUMENT);
    assert_int_equal(bf_states_absorb_axes(dot, &pairs, &axis, 1), BF_E_ARGUMENT);
    assert_int_equal(bf_states_absorb_pair_axes(sum, &pairs, &pairs, &axis, 1), BF_E_ARGUMENT);
}

/* Empty states that were sought keep their place beside others that are empty; a product of floats
 * is not appended to them, since its elements have indices of their own. */
TEST(sought_states_keep_their_place) {
    static const bf_reduction ops[] = {BF_ARGMIN, BF_DESCRIBE, BF_PROD};
    double x[] = {5, 7};
    char apart[8 * 2 + 1]; /* misaligned */
    int64_t leaf[2] = {4096, 4096}, offsets[] = {0, 1, 1}, found[2];
    memcpy(apart + 1, leaf, sizeof leaf);
    const bf_array values_of = bf_array_of(BF_F64, x, 1), at = bf_array_of(BF_I64, offsets, 3);
    const bf_array to_leaf = bf_array_of(BF_I64, apart + 1, 2);
    const bf_array pairs = {x, BF_F64, 2, {1, 2}, {2, 1}}, out = bf_array_of(BF_I64, found, 2);
    const int axis = 0;
    for (int k = 0; k < 3; k++) {
        OWN(bf_states) *s = NULL, *other = NULL;
        assert_int_equal(bf_states_create(contexts[0], ops[k], BF_F64, 2, &s), BF_OK);
        assert_int_equal(bf_states_create(contexts[0], ops[k], BF_F64, 2, &other), BF_OK);
        assert_int_equal(bf_states_seek(s, &to_leaf), BF_OK);
        assert_int_equal(bf_states_merge(s, other), BF_OK);
        assert_int_equal(bf_states_append(s, other), BF_OK);
        assert_int_equal(bf_states_absorb_segments(other, &values_of, &at), BF_OK);
        if (ops[k] == BF_PROD) assert_int_equal(bf_states_append(s, other), BF_E_STATE);
        assert_int_equal(bf_states_absorb_axes(s, &pairs, &axis, 1), BF_OK);
        if (ops[k] == BF_ARGMIN) {
            assert_int_equal(bf_states_merge(s, other), BF_OK);
            assert_int_equal(bf_states_result(s, NULL, &out, NULL), BF_OK);
            assert_int_equal(found[0], 0);
            assert_int_equal(found[1], 4096);
        }
    }
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
TEST(a_failure_leaves_states_as_they_were) {
    needs_failing_malloc();
    static const bf_reduction ops[] = {BF_VAR, BF_MIN, BF_ARGMAX, BF_PROD};
    for (int k = 0; k < 8; k++) {
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
        unsigned char *bytes = save_form(s, &size);
        const int ways = ops[k / 2] == BF_PROD ? 1 : 2; /* its parts would overlap */
        for (int way = 0; way < ways; way++) {
            assert_int_equal(bf_states_load(contexts[3], bytes, size, &into), BF_OK);
            FAIL_EACH_ALLOCATION(way ? bf_states_append(into, more) : absorb_far(into, rows))
            assert_saved(into, bytes, size);
            bf_states_destroy(into);
        }
        bf_states_destroy(s);
        bf_states_destroy(more);
        free(bytes);
    }
}

TEST(wrong_arguments_are_refused) {
    bf_context *c = contexts[0];
    bf_states *s = NULL, *other = NULL;
    double x[6] = {1, 2, 3, 4, 5, 6};
    int64_t at[3] = {0, 1, 2}, y[3] = {0};
    bf_array a = bf_array_of(BF_F64, x, 6), i = bf_array_of(BF_I64, at, 3), out = a;
    bf_array ints = bf_array_of(BF_I64, y, 3);
    const int axis = 0, bad = 1;
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
    assert_int_equal(bf_states_result_of(s, BF_VAR, NULL, &three, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_states_result_of(s, (bf_reduction)99, NULL, &three, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_states_counts(s, &ints), BF_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(y[k], 0);
    bf_states_destroy(s);
    bf_states_destroy(other);
    assert_int_equal(bf_states_create(c, BF_MIN, BF_F64, 0, &s), BF_OK);
    bf_array none = bf_array_of(BF_F64, x, 0);
    assert_int_equal(bf_states_result(s, NULL, &none, NULL), BF_OK);
    assert_int_equal(bf_states_result_of(s, BF_MAX, NULL, &none, NULL), BF_E_ARGUMENT);
    bf_states_destroy(s);
}

/* Bytes that no states save. */
TEST(wrong_bytes_are_refused) {
    OWN(bf_states) *s = NULL, *loaded = NULL;
    size_t size;
    assert_int_equal(bf_states_create(contexts[0], BF_VAR, BF_F64, MANY, &s), BF_OK);
    assert_int_equal(absorb_far(s, ROWS), BF_OK);
    unsigned char *bytes = save_form(s, &size);
    for (size_t at = 0; at < size; at += at < 64 ? 1 : 97) {
        bytes[at] ^= 0x10;
        assert_int_equal(bf_states_load(contexts[0], bytes, size, &loaded), BF_E_STATE);
        bytes[at] ^= 0x10;
    }
    for (size_t less = 0; less < size; less += less < 64 ? 1 : 97)
        assert_int_equal(bf_states_load(contexts[0], bytes, less, &loaded), BF_E_STATE);
    assert_int_equal(bf_states_load(contexts[0], bytes, size, &loaded), BF_OK);
    bf_states_info info = {.size = sizeof info};
    assert_int_equal(bf_states_describe(loaded, &info), BF_OK);
    assert_true(info.op == BF_VAR && info.dtype == BF_F64 && info.count == MANY);
    free(bytes);
}

UNIT_TESTS(states, make_contexts, destroy_contexts)
