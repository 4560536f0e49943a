/* bf_reduce_axes and bf_dot_axes: every fibre has the result of its elements alone, whatever the
 * shape, the strides, the instruction set and the number of threads.
 * Builds: release, asan, tsan. */
#include "tests/axis/many.h"
#include "tests/support/unit.h"

enum { CASES = 250 };

typedef struct problem {
    bf_array a, b;
    char *a_block, *b_block;
    bf_reduction op;
    int axes[BF_MAX_DIMS], n;
    bool reduced[BF_MAX_DIMS];
    bf_value empty;
    bf_reduce_options options;
    bool has_fits;
    outputs out;
} problem;

/* Finds the answers one by one, in C order of the kept dimensions. */
static void find_answers(problem *p, bf_context *context) {
    bool kept[BF_MAX_DIMS], any = true;
    int64_t at[BF_MAX_DIMS] = {0};
    int64_t length = 1;
    for (int d = 0; d < p->a.ndim; d++) {
        kept[d] = !p->reduced[d];
        if (p->reduced[d]) length *= p->a.shape[d];
    }
    elements e = make_elements(p->a.dtype, length, p->op == BF_DOT);
    for (int64_t f = 0; f < p->out.count; f++) {
        int64_t in[BF_MAX_DIMS];
        memcpy(in, at, sizeof in);
        e.n = 0;
        for (int64_t i = 0; i < length; i++) {
            add_element(&e, element_of(&p->a, in), element_of(&p->b, in), i);
            any = next_index(&p->a, p->reduced, in);
        }
        p->out.answers[f] = find_answer(context, &e, p->op, p->out.values.dtype, &p->options);
        any = next_index(&p->a, kept, at);
    }
    (void)any;
    free_elements(&e);
}

static int64_t any_extent(uint64_t *seed, int64_t most) {
    switch (pick(seed, 8)) {
    case 0: return 1;
    case 1: return pick(seed, 4) == 0 ? 0 : 2;
    default: return 1 + pick(seed, most);
    }
}

static void make_problem(problem *p, bf_context *context, uint64_t seed) {
    int64_t shape[BF_MAX_DIMS], without[BF_MAX_DIMS], total = 1;
    int ndim = (int)pick(&seed, 6), kept = 0;
    bool keepdims = pick(&seed, 2);
    for (int d = 0; d < ndim; d++) {
        shape[d] = any_extent(&seed, ndim < 3 ? 90 : 9);
        total *= shape[d];
    }
    if (ndim > 0 && total > 0 && pick(&seed, 4) == 0) shape[pick(&seed, ndim)] *= 20;
    bf_dtype dtype = all_dtypes[pick(&seed, DTYPE_COUNT)];
    p->op = any_op(&seed);
    p->a = any_array(dtype, ndim, shape, true, &seed, &p->a_block);
    p->b = any_array(dtype, ndim, shape, true, &seed, &p->b_block);
    fill_array(&p->a, &seed);
    fill_array(&p->b, &seed);
    p->n = 0;
    for (int d = 0; d < ndim; d++) {
        p->reduced[d] = pick(&seed, 2);
        if (p->reduced[d]) p->axes[p->n++] = pick(&seed, 2) ? d : d - ndim;
        if (!p->reduced[d] || keepdims) without[kept++] = p->reduced[d] ? 1 : shape[d];
    }
    p->empty = (bf_value){.dtype = bf_reduce_dtype(p->op, dtype, NULL), .as.u64 = 3};
    p->options = any_options(p->op, dtype, &p->empty, &seed);
    p->has_fits = pick(&seed, 2);
    p->out = make_outputs(bf_reduce_dtype(p->op, dtype, &p->options), kept, without, &seed);
    find_answers(p, context);
    p->out.status = expected_status(&p->out, p->has_fits, p->options.overflow == BF_OVERFLOW_WRAP);
}

static void free_problem(problem *p) {
    free(p->a_block);
    free(p->b_block);
    free_outputs(&p->out);
}

static bf_status call_axes(bf_context *context, const problem *p) {
    const bf_array *fits = p->has_fits ? &p->out.fits : NULL;
    if (p->op == BF_DOT)
        return bf_dot_axes(context, &p->a, &p->b, p->axes, p->n, &p->options, &p->out.values, fits);
    return bf_reduce_axes(context, p->op, &p->a, p->axes, p->n, &p->options, &p->out.values, fits);
}

static void check_problem(bf_context *context, void *data) {
    const problem *p = data;
    soil_outputs(&p->out);
    assert_int_equal(call_axes(context, p), p->out.status);
    check_outputs(&p->out, p->out.status, p->has_fits);
}

TEST(every_fibre_has_its_own_result) {
    needs_no_threads();
    OWN(bf_context) *context = make_context(NULL, 1);
    for (uint64_t i = 0; i < CASES; i++) {
        problem p;
        make_problem(&p, context, i);
        on_every_context(check_problem, &p);
        free_problem(&p);
    }
}

/* ---- large arrays: several threads, over fibres and within them ------------------------------ */

typedef struct large_problem {
    bf_array a;
    bf_array rows; /* the results that are expected */
    int axis;
    bf_reduction op;
} large_problem;

static void check_large(bf_context *context, void *data) {
    const large_problem *p = data;
    const int64_t n = bf_array_count(&p->rows);
    size_t bytes = bf_dtype_size(p->rows.dtype);
    char *found = malloc((size_t)n * bytes);
    bf_array values = bf_array_of(p->rows.dtype, found, n);
    assert_int_equal(bf_reduce_axes(context, p->op, &p->a, &p->axis, 1, NULL, &values, NULL),
                     BF_OK);
    if (COMPARED) assert_memory_equal(found, p->rows.data, (size_t)n * bytes);
    free(found);
}

static void check_shape(bf_dtype dtype, data_kind kind, bf_reduction op, int64_t rows,
                        int64_t columns, int axis) {
    large_problem p = {.op = op, .axis = axis};
    int64_t n = axis == 0 ? columns : rows, length = axis == 0 ? rows : columns;
    size_t bytes = bf_dtype_size(dtype);
    char *data = malloc((size_t)(rows * columns) * bytes);
    bf_dtype to = bf_reduce_dtype(op, dtype, NULL);
    char *results = malloc((size_t)n * bf_dtype_size(to));
    fill(dtype, data, rows * columns, kind, (uint64_t)(rows * 31 + columns));
    p.a = (bf_array){data, dtype, 2, {rows, columns}, {columns, 1}};
    p.rows = bf_array_of(to, results, n);
    elements e = make_elements(dtype, length, false);
    for (int64_t f = 0; f < n && COMPARED; f++) {
        e.n = 0;
        for (int64_t i = 0; i < length; i++) {
            int64_t at[2] = {axis == 0 ? i : f, axis == 0 ? f : i};
            add_element(&e, element_of(&p.a, at), NULL, i);
        }
        bf_context *none = NULL;
        answer x = find_answer(none, &e, op, to, &BF_REDUCE_OPTIONS(.ddof = 0));
        store_bits(results + (size_t)f * bf_dtype_size(to), bf_dtype_size(to), x.bits);
    }
    free_elements(&e);
    on_every_context(check_large, &p);
    free(data);
    free(results);
}

TEST(long_fibres_are_shared_out) {
    static const struct {
        bf_dtype dtype;
        data_kind kind;
        bf_reduction op;
        int64_t rows, columns;
        int axis;
    } shapes[] = {
        {BF_F32, KIND_FULL, BF_SUM, 1200001, 1, 0},   {BF_F32, KIND_FULL, BF_MEAN, 1031, 1033, 1},
        {BF_I16, KIND_FULL, BF_ARGMAX, 3, 800001, 1}, {BF_F32, KIND_NARROW, BF_VAR, 300001, 4, 0},
        {BF_F64, KIND_CANCEL, BF_MEAN, 262145, 4, 0}, {BF_I16, KIND_FULL, BF_ARGMAX, 1031, 1033, 0},
        {BF_F64, KIND_NARROW, BF_MIN, 2, 600000, 1},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i += CASE_STEP)
        check_shape(shapes[i].dtype, shapes[i].kind, shapes[i].op, shapes[i].rows,
                    shapes[i].columns, shapes[i].axis);
}

/* ---- columns and rows that fit no window ----------------------------------------------------- */

enum { HARD_LINES = 150 };

/* Line number l, element i: lines of one kind each, among others that are easy. */
static double hard_element(int64_t l, int64_t i, int64_t length, uint64_t *seed) {
    double x = (double)(int64_t)next_random(seed) * 0x1p-63;
    float narrow = (float)x;
    switch (l % 15) {
    case 0: return i == length / 2 ? (double)NAN : (double)narrow;
    case 1: return i == length - 1 ? (double)INFINITY : (double)narrow;
    case 2: return i % 100 == 7 ? -(double)INFINITY : i % 100 == 8 ? (double)INFINITY : 0;
    case 3: return -0.0;
    case 4: return i == length - 1 ? 0.0 : -0.0;
    case 5: return i % 2 ? -1.5 : 1.5;
    case 6: return (double)(float)ldexp((double)narrow, (int)(i % 200) - 100);
    case 7: return (double)(float)ldexp((double)narrow, i < length / 2 ? 0 : 90);
    case 8: return (double)(float)ldexp((double)narrow, i < length - 3 ? 0 : -110);
    case 9: return 0x1.fffffep127;
    default: return (double)narrow;
    }
}

/* axis 0: lines are columns. */
static void check_hard_lines(bf_dtype dtype, bf_reduction op, int64_t length, int axis) {
    large_problem p = {.op = op, .axis = axis};
    const int64_t step = axis == 0 ? HARD_LINES : 1, line = axis == 0 ? 1 : length;
    size_t bytes = bf_dtype_size(dtype);
    char *data = malloc((size_t)(length * HARD_LINES) * bytes);
    double results[HARD_LINES];
    uint64_t seed = (uint64_t)length;
    elements e = make_elements(dtype, length, false);
    for (int64_t l = 0; l < HARD_LINES; l++) {
        e.n = 0;
        for (int64_t i = 0; i < length; i++) {
            uint64_t bits = float_bits(dtype, hard_element(l, i, length, &seed));
            char *at = data + (size_t)(l * line + i * step) * bytes;
            store_bits(at, bytes, bits);
            add_element(&e, at, NULL, i);
        }
        answer x = find_answer(NULL, &e, op, BF_F64, &BF_REDUCE_OPTIONS(.ddof = 0));
        memcpy(&results[l], &x.bits, sizeof x.bits);
    }
    free_elements(&e);
    if (axis == 0)
        p.a = (bf_array){data, dtype, 2, {length, HARD_LINES}, {HARD_LINES, 1}};
    else
        p.a = (bf_array){data, dtype, 2, {HARD_LINES, length}, {length, 1}};
    p.rows = bf_array_of(BF_F64, results, HARD_LINES);
    on_every_context(check_large, &p);
    free(data);
}

TEST(lines_that_fit_no_window_are_exact_too) {
    needs_no_threads();
    static const int64_t lengths[] = {2, 64, 1501};
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_NORM};
    for (int n = CASE_STEP > 1 ? 2 : 0; n < 3; n++) {
        for (int op = 0; op<4; op += CASE_STEP> 1 ? 2 : 1) {
            for (int axis = 0; axis < 2; axis++) {
                check_hard_lines(BF_F32, ops[op], lengths[n], axis);
                check_hard_lines(BF_F64, ops[op], lengths[n], axis);
            }
        }
    }
}

/* Several batches of rows, which threads share. */
TEST(many_rows_that_fit_no_window_are_exact_too) { check_hard_lines(BF_F32, BF_SUM, 9001, 0); }

/* ---- sums at the edges of 64 bits ------------------------------------------------------------ */

/* Two elements, and whether their sum fits 64 bits: columns, so many that loops take them. */
enum { EDGES = 8, EDGE_COLUMNS = 1024 };
static const uint64_t signed_edges[EDGES][3] = {
    {INT64_MAX, 0, true},           {INT64_MAX, 1, false},
    {(uint64_t)INT64_MIN, 0, true}, {(uint64_t)INT64_MIN, UINT64_MAX, false},
    {UINT64_MAX, 1, true},          {UINT64_MAX, UINT64_MAX, true},
    {INT64_MAX, INT64_MAX, false},  {(uint64_t)INT64_MIN, INT64_MAX, true}};
static const uint64_t unsigned_edges[EDGES][3] = {{UINT64_MAX, 0, true},
                                                  {UINT64_MAX, 1, false},
                                                  {INT64_MAX, 1, true},
                                                  {1, UINT64_MAX - 1, true},
                                                  {UINT64_MAX, UINT64_MAX, false},
                                                  {1ull << 63, 1ull << 63, false},
                                                  {1ull << 63, INT64_MAX, true},
                                                  {0xffffffff, 1, true}};

static void check_edges(bf_context *context, void *data) {
    const bf_array *a = data;
    const uint64_t(*edges)[3] = a->dtype == BF_I64 ? signed_edges : unsigned_edges;
    static uint64_t sums[EDGE_COLUMNS];
    static bool all[EDGE_COLUMNS];
    const int axis = 0;
    const bf_array values = bf_array_of(a->dtype, sums, EDGE_COLUMNS);
    const bf_array fits = bf_array_of(BF_BOOL, all, EDGE_COLUMNS);
    assert_int_equal(bf_reduce_axes(context, BF_SUM, a, &axis, 1, NULL, &values, &fits), BF_OK);
    for (int c = 0; c < EDGE_COLUMNS; c++) {
        const uint64_t *edge = edges[c % EDGES];
        assert_true(sums[c] == edge[0] + edge[1]);
        assert_int_equal(all[c], edge[2]);
    }
    assert_int_equal(bf_reduce_axes(context, BF_SUM, a, &axis, 1, NULL, &values, NULL),
                     BF_E_OVERFLOW);
}

TEST(sums_of_columns_know_their_edges) {
    static uint64_t rows[2][EDGE_COLUMNS];
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        bf_array a = {rows, is_signed ? BF_I64 : BF_U64, 2, {2, EDGE_COLUMNS}, {EDGE_COLUMNS, 1}};
        for (int c = 0; c < 2 * EDGE_COLUMNS; c++)
            rows[c / EDGE_COLUMNS][c % EDGE_COLUMNS] =
                (is_signed ? signed_edges : unsigned_edges)[c % EDGES][c / EDGE_COLUMNS];
        on_every_context(check_edges, &a);
    }
}

TEST(a_call_says_its_strategy) {
    float data[64 * 48] = {1}, results[48];
    const int axis = 0;
    OWN(bf_context) *context = NULL;
    bf_options options = {.size = sizeof options, .device = "cpu"};
    bf_array a = {data, BF_F32, 2, {64, 48}, {48, 1}}, to = bf_array_of(BF_F32, results, 48);
    const bf_reduce_options f32 = BF_REDUCE_OPTIONS(.out_dtype = BF_F32);
    assert_int_equal(bf_context_create(&options, &context), BF_OK);
    assert_string_equal(bf_context_strategy(context), "");
    assert_int_equal(bf_reduce_axes(context, BF_SUM, &a, &axis, 1, &f32, &to, NULL), BF_OK);
    assert_non_null(strstr(bf_context_strategy(context), ": 48 results of 64; "));
    a = bf_array_of(BF_F32, data, 48);
    bf_value value;
    assert_int_equal(bf_reduce(context, BF_SUM, &a, &f32, &value), BF_OK);
    assert_string_equal(bf_context_strategy(context), "");
}

UNIT_TESTS(axes, NULL, NULL)
