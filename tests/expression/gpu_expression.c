/* Expressions of arrays in a GPU's memory: the bits, the sums and the messages of the CPU. */
#include "tests/support/both.h"

enum { COLUMNS = 3, LARGE = (1 << 22) + 4099, APART = 1 << 26, AT_OUT = COLUMNS };

static const char *const names[COLUMNS] = {"a", "b", "c"};
static const char *const texts[] = {
    "a*b",
    "(a-b)**2",
    "a < b ? a / c : sqrt(abs(b)) + 1",
    "fma(a, b, c) % 7",
    "max(a, -b) * (c != 0)",
    "isnan(a) || a > b && !(c <= 2)",
    "a",
    "floor(a) + ceil(b) - min(b, c)",
    "a > 3 && isnan(b) ? 1 % 0 : (b + c)**0",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static char *inputs[COLUMNS + 1], *there[COLUMNS + 1]; /* the host's memory, and the GPU's */

static int open_memory(void **unused) {
    if (set_up(unused) != 0) return -1;
    for (int i = 0; i <= COLUMNS; i++) {
        void *memory;
        inputs[i] = malloc(APART);
        if (inputs[i] == NULL || bf_memory_allocate(gpu, APART, &memory) != BF_OK) return -1;
        there[i] = memory;
    }
    return 0;
}

static int close_memory(void **unused) {
    for (int i = 0; i <= COLUMNS; i++) {
        free(inputs[i]);
        bf_memory_free(gpu, there[i]);
    }
    return tear_down(unused);
}

/* Columns of n elements; those of which `on_host` has a bit are the host's for the GPU, too. */
typedef struct problem {
    const char *text;
    bf_dtype dtypes[COLUMNS];
    bf_overflow_policy overflow;
    int64_t n;
    int step;  /* between elements */
    int later; /* column b begins so many elements later: its vectors are not aligned */
    unsigned on_host;
} problem;

static bf_array array_of(const problem *p, bf_dtype dtype, char *memory) {
    bf_array x = bf_array_of(dtype, memory, p->n);
    x.strides[0] = p->step;
    return x;
}

static bf_expression *parse(bf_context *context, const problem *p) {
    bf_expression *e = NULL;
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.overflow = p->overflow);
    bf_status status =
        bf_expression_parse(context, p->text, names, p->dtypes, COLUMNS, &options, NULL, &e);
    return status == BF_OK ? e : NULL; /* such as a floor of integers */
}

static void fill_columns(const problem *p, uint64_t seed) {
    for (int i = 0; i < COLUMNS; i++) {
        const int64_t n = p->n * p->step + p->later;
        const size_t bytes = (size_t)n * bf_dtype_size(p->dtypes[i]);
        fill(p->dtypes[i], inputs[i], n, (data_kind)(seed % KIND_COUNT), seed + (uint64_t)i);
        assert_int_equal(bf_memory_copy(gpu, there[i], inputs[i], bytes), BF_OK);
    }
}

/* Computes and reduces on one of both. Returns whether the elements could be computed. */
static bool run(bf_context *context, const problem *p, bool on_gpu, bf_value *values) {
    static const bf_reduction ops[] = {BF_SUM, BF_ARGMAX, BF_VAR, BF_PROD};
    bf_array arrays[COLUMNS], out;
    const bf_array *columns[COLUMNS];
    bf_expression *e = parse(context, p);
    for (int i = 0; i < COLUMNS; i++) {
        bool far = on_gpu && (p->on_host >> i & 1) == 0;
        const size_t skipped = i == 1 ? (size_t)p->later * bf_dtype_size(p->dtypes[i]) : 0;
        arrays[i] = array_of(p, p->dtypes[i], (far ? there[i] : inputs[i]) + skipped);
        columns[i] = &arrays[i];
    }
    out = array_of(p, bf_expression_dtype(e), on_gpu ? there[AT_OUT] : inputs[AT_OUT]);
    bf_status status = bf_expression_eval(e, columns, &out);
    for (int i = 0; i < 4 && status == BF_OK; i++) {
        bf_state *state = NULL;
        values[i] = (bf_value){.dtype = BF_NONE};
        assert_int_equal(bf_state_create(context, ops[i], out.dtype, &state), BF_OK);
        for (int part = 0; part < 2; part++)
            assert_int_equal(bf_state_absorb_expression(state, e, columns), BF_OK);
        const bf_reduce_options wrap = {.size = sizeof wrap, .overflow = BF_OVERFLOW_WRAP};
        assert_int_equal(bf_state_result(state, &wrap, &values[i]), BF_OK);
        bf_state_destroy(state);
    }
    bf_expression_destroy(e);
    return status == BF_OK;
}

static void check(const problem *p, uint64_t seed) {
    bf_value values[2][4];
    bf_expression *e = parse(cpu, p);
    if (e == NULL) return;
    size_t bytes = (size_t)(p->n * p->step) * bf_dtype_size(bf_expression_dtype(e));
    bf_expression_destroy(e);
    fill_columns(p, seed);
    memset(inputs[AT_OUT], 0x55, bytes);
    assert_int_equal(bf_memory_copy(gpu, there[AT_OUT], inputs[AT_OUT], bytes), BF_OK);
    bool done = run(cpu, p, false, values[0]);
    if (run(gpu, p, true, values[1]) != done)
        fail_msg("%s: %s, not %s", p->text, bf_context_message(gpu), bf_context_message(cpu));
    if (!done) {
        assert_string_equal(bf_context_message(gpu), bf_context_message(cpu));
        return;
    }
    char *found = malloc(bytes);
    assert_int_equal(bf_memory_copy(gpu, found, there[AT_OUT], bytes), BF_OK);
    if (memcmp(found, inputs[AT_OUT], bytes) != 0) fail_msg("%s: other results", p->text);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(values[1][i].as.i192, values[0][i].as.i192, sizeof values[0][i].as);
    free(found);
}

static void every_dtype_gives_the_bits_of_the_cpu(void **unused) {
    (void)unused;
    for (int t = 0; t < TEXTS; t++)
        for (int d = 0; d < DTYPE_COUNT * 3; d++) {
            const bf_dtype dtype = all_dtypes[d % DTYPE_COUNT];
            problem p = {.text = texts[t], .dtypes = {dtype, dtype, dtype}, .step = 1 + d % 2};
            p.overflow = (bf_overflow_policy)(d / DTYPE_COUNT);
            p.n = d % 4 == 0 ? 1 : 3001;
            p.on_host = (unsigned)(t + d) % 7;
            if (d % 5 == 0) p.dtypes[1] = all_dtypes[(d + t) % DTYPE_COUNT];
            p.later = d % 3;
            check(&p, (uint64_t)(t * 100 + d + 1));
        }
}

static void several_chunks(void **unused) {
    (void)unused;
    leave_out_if_small();
    for (int t = 0; t < TEXTS; t++) {
        static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_I64};
        const bf_dtype dtype = dtypes[t % 3];
        problem p = {.text = texts[t], .dtypes = {dtype, dtype, dtype}, .step = 1};
        p.n = LARGE;
        p.overflow = BF_OVERFLOW_WRAP;
        p.later = t % 4 == 1;
        if (t == 6) p.dtypes[1] = BF_F32;
        p.on_host = t == 1 ? 2 : 0;
        check(&p, (uint64_t)(t * 10 + 1));
    }
}

/* The CPU alone compares strings. */
static void strings_are_refused(void **unused) {
    (void)unused;
    static const char *const name[] = {"s", "x"};
    static const bf_dtype dtypes[] = {BF_NONE, BF_F64};
    static const int32_t offsets[] = {0, 1};
    const bf_strings strings = {
        .size = sizeof strings, .count = 1, .offset = BF_I32, .offsets = offsets, .bytes = "a"};
    bf_expression *e = NULL;
    bf_array x = bf_array_of(BF_F64, there[0], 1);
    uint8_t met = 0;
    bf_array out = bf_array_of(BF_BOOL, &met, 1);
    const bf_column s = {.size = sizeof s, .strings = &strings},
                    n = {.size = sizeof n, .numbers = &x};
    const bf_column *columns[] = {&s, &n};
    assert_int_equal(
        bf_expression_parse(gpu, "s == \"a\" && x > 0", name, dtypes, 2, NULL, NULL, &e), BF_OK);
    assert_int_equal(bf_expression_eval_columns(e, columns, &out, NULL), BF_E_DEVICE);
    assert_non_null(strstr(bf_context_message(gpu), "strings"));
    bf_expression_destroy(e);
}

/* So it does what a GPU has no kernel for. */
static void what_the_cpu_alone_does_is_refused(void **unused) {
    (void)unused;
    static const char *const name = "t";
    static const bf_dtype dtype = BF_I64;
    static const unsigned char time = BF_TIME_UTC;
    static const char *const alone[][2] = {{"month(t)", "takes times apart"},
                                           {"round(3 * 0.5, 0) + isnull(t)", "rounds to digits"},
                                           {"log(isnull(t) + 2)", "computes powers"},
                                           {"isnull(t) ? 1 : null", "makes NULLs"}};
    const bf_array x = bf_array_of(BF_I64, there[0], 1), *const columns = &x;
    const bf_expression_options how = BF_EXPRESSION_OPTIONS(.times = &time);
    int64_t result;
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        bf_expression *e = NULL;
        assert_int_equal(bf_expression_parse(gpu, alone[i][0], &name, &dtype, 1, &how, NULL, &e),
                         BF_OK);
        const bf_array out = bf_array_of(bf_expression_dtype(e), &result, 1);
        assert_int_equal(bf_expression_eval(e, &columns, &out), BF_E_DEVICE);
        assert_non_null(strstr(bf_context_message(gpu), alone[i][1]));
        bf_expression_destroy(e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_gives_the_bits_of_the_cpu),
        cmocka_unit_test(several_chunks),
        cmocka_unit_test(strings_are_refused),
        cmocka_unit_test(what_the_cpu_alone_does_is_refused),
    };
    return RUN_ON_GPU_WITH(tests, open_memory, close_memory);
}
