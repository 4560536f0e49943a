/* Any bytes at all as an expression: it is refused at a place in the text, or is computed to the
 * same bits by the rules and by loops, at once and in a state; and of columns with strings and
 * NULLs by loops and one row at a time. Its names can be listed, and are enough to parse it.
 *
 * The first byte chooses the dtypes of the columns, the overflow policy, scales and 128 bits, the
 * rest is the text.
 */
#include <bitfold.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N = 1500, COLUMNS = 4 };

static const char *const names[COLUMNS] = {"a", "b", "c", "unit price"};
static const bf_dtype dtypes[][COLUMNS] = {
    {BF_F64, BF_F64, BF_F64, BF_F64},
    {BF_I32, BF_I8, BF_BOOL, BF_U64},
    {BF_F32, BF_I16, BF_F16, BF_BF16},
    {BF_U8, BF_I64, BF_F64, BF_U32},
};

static void require(bool condition) {
    if (!condition) abort();
}

static bf_context *context_of(const char *isa) {
    bf_context *context = NULL;
    require(bf_context_create(&BF_OPTIONS(.device = "cpu", .threads = 1, .isa = isa), &context) ==
            BF_OK);
    return context;
}

/* Small integers, zeros among them, as elements of any dtype. */
static void fill_column(bf_context *context, const bf_array *column, int seed) {
    int8_t small[N];
    const bf_array from = bf_array_of(BF_I8, small, N), *input = &from;
    const bf_map_options wrap = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    for (int i = 0; i < N; i++) small[i] = (int8_t)((i * 37 + seed * 11) % 23 - 3);
    require(bf_map(context, BF_MAP_CAST, &input, 1, &wrap, column) == BF_OK);
}

/* The options that the first byte chooses. */
static bf_expression_options options_of(uint8_t byte) {
    static const int scales[COLUMNS] = {0, 3};
    static const unsigned char times[][COLUMNS] = {{0, BF_TIME_LOCAL}, {0, BF_TIME_ANY}};
    const int how = byte / 12;
    return BF_EXPRESSION_OPTIONS(.overflow = (bf_overflow_policy)(byte / 4 % 3),
                                 .scales = how % 4 > 1 && byte % 4 == 3 ? scales : NULL,
                                 .rounded = how % 4 == 3, .wide = how / 4 % 2,
                                 .times = how / 8 % 2 && byte % 4 == 3 ? times[how / 4 % 2] : NULL);
}

static bf_state *make_state(bf_context *context, const bf_expression *e) {
    bf_state *state = NULL;
    require(bf_state_create(context, BF_MAX, bf_expression_dtype(e), &state) == BF_OK);
    if (bf_expression_scale(e) > 0)
        require(bf_state_rescale(state, bf_expression_scale(e)) == BF_OK);
    return state;
}

static bf_status compute(bf_context *context, const char *text, const bf_dtype *of,
                         const bf_expression_options *options, void *results, bf_dtype *dtype) {
    static uint64_t memory[COLUMNS][N];
    bf_array columns[COLUMNS];
    const bf_array *all[COLUMNS];
    bf_expression *e = NULL;
    int position = -1;
    for (int k = 0; k < COLUMNS; k++) {
        columns[k] = bf_array_of(of[k], memory[k], N);
        all[k] = &columns[k];
        fill_column(context, &columns[k], k);
    }
    bf_status status =
        bf_expression_parse(context, text, names, of, COLUMNS, options, &position, &e);
    require((status == BF_OK) == (e != NULL));
    if (e == NULL) {
        require(position >= 0 && (size_t)position <= strlen(text));
        require(strncmp(bf_context_message(context), "character ", 10) == 0);
        return status;
    }
    *dtype = bf_expression_dtype(e);
    const bf_array out = bf_array_of(*dtype, results, N);
    status = bf_expression_eval(e, all, &out);
    if (bf_expression_is_string(e)) {
        require(status == BF_E_DTYPE);
        bf_expression_destroy(e);
        return status;
    }
    require(status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_ARGUMENT);
    bf_state *sum = make_state(context, e), *other = make_state(context, e);
    require(bf_state_absorb_expression(sum, e, all) == status);
    if (status == BF_OK) {
        bf_value x, y;
        require(bf_state_absorb(other, &out) == BF_OK);
        require(bf_state_result(sum, NULL, &x) == bf_state_result(other, NULL, &y));
        require(memcmp(&x.as, &y.as, bf_dtype_size(*dtype)) == 0);
    }
    bf_state_destroy(sum);
    bf_state_destroy(other);
    bf_expression_destroy(e);
    return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

enum { TABLE = 5, ROWS = 300 };

static const char *const table_names[TABLE] = {"a", "b", "s", "t", "f"};
static const bf_dtype table_dtypes[TABLE] = {BF_F64, BF_I16, BF_NONE, BF_NONE, BF_BOOL};

typedef struct table {
    double a[ROWS];
    int16_t b[ROWS];
    uint8_t f[ROWS], valid[TABLE][ROWS / 8 + 1];
    int64_t s[ROWS + 1];
    int32_t t[ROWS + 1];
    bf_array arrays[TABLE];
    bf_strings strings[TABLE];
    bf_column columns[TABLE];
    const bf_column *all[TABLE];
} table;

static const char bytes[] = "aababcLagosaLagosbabcdefghijklmnopqrstuvwxyz";

static void fill_table(table *x) {
    *x = (table){.s = {0}};
    for (int i = 0; i < ROWS; i++) {
        x->a[i] = (i * 7) % 5 - 2;
        x->b[i] = (int16_t)((i * 11) % 7 - 3);
        x->f[i] = (uint8_t)(i % 3);
        x->s[i + 1] = x->s[i] + (i * 5) % 7 * (x->s[i] < 30);
        x->t[i + 1] = (int32_t)(i % 29);
        if (x->t[i + 1] < x->t[i]) x->t[i + 1] = x->t[i];
    }
    for (int k = 0; k < TABLE; k++)
        for (int i = 0; i < ROWS; i++)
            if ((i * (k + 3) + i / 50) % 4 != 0)
                x->valid[k][i / 8] = (uint8_t)(x->valid[k][i / 8] | 1 << i % 8);
}

/* Rows [first, first + n) of it. */
static void take_rows(table *x, int64_t first, int64_t n) {
    x->arrays[0] = bf_array_of(BF_F64, x->a + first, n);
    x->arrays[1] = bf_array_of(BF_I16, x->b + first, n);
    x->arrays[4] = bf_array_of(BF_BOOL, x->f + first, n);
    x->strings[2] = (bf_strings){sizeof(bf_strings), n, BF_I64, x->s + first, bytes};
    x->strings[3] = (bf_strings){sizeof(bf_strings), n, BF_I32, x->t + first, bytes};
    for (int k = 0; k < TABLE; k++) {
        bool numbers = table_dtypes[k] != BF_NONE;
        x->columns[k] = (bf_column){.size = sizeof(bf_column),
                                    .numbers = numbers ? &x->arrays[k] : NULL,
                                    .strings = numbers ? NULL : &x->strings[k],
                                    .valid = k == 1 ? NULL : x->valid[k],
                                    .first = first};
        x->all[k] = &x->columns[k];
    }
}

/* Results of rows: numbers, or strings. */
typedef struct outcome {
    bf_status status;
    uint64_t numbers[ROWS];
    uint8_t valid[ROWS];
    bf_strings strings;
} outcome;

static void eval_table(bf_expression *e, table *x, int64_t n, outcome *to) {
    const bf_array out = bf_array_of(bf_expression_dtype(e), to->numbers, n);
    to->status = bf_expression_is_string(e)
                     ? bf_expression_eval_strings(e, x->all, n, &to->strings, to->valid)
                     : bf_expression_eval_columns(e, x->all, &out, to->valid);
}

static int64_t size_of(const bf_strings *s, int64_t i) {
    const int64_t *offsets = s->offsets;
    return offsets[i + 1] - offsets[i];
}

/* Row i of some is the one row of the other. */
static void compare_row(const bf_expression *e, const outcome *all, int64_t i, const outcome *one) {
    const size_t size = bf_dtype_size(bf_expression_dtype(e));
    const bf_strings *s = &all->strings;
    require(all->valid[i] == one->valid[0]);
    if (!bf_expression_is_string(e)) {
        require(memcmp((const char *)all->numbers + (size_t)i * size, one->numbers, size) == 0);
        return;
    }
    const int64_t length = size_of(s, i);
    require(size_of(&one->strings, 0) == length);
    require(memcmp(s->bytes + ((const int64_t *)s->offsets)[i], one->strings.bytes,
                   (size_t)length) == 0);
}

static void eval_rows(bf_context *context, bf_expression *e, bf_expression *other) {
    static table x;
    static outcome all, one;
    fill_table(&x);
    take_rows(&x, 0, ROWS);
    eval_table(e, &x, ROWS, &all);
    int64_t failed = ROWS;
    if (all.status != BF_OK) {
        const char *index = strstr(bf_context_message(context), "at index ");
        require(index != NULL);
        failed = atoll(index + strlen("at index "));
    }
    for (int64_t i = 0; i <= failed && i < ROWS; i++) {
        take_rows(&x, i, 1);
        eval_table(other, &x, 1, &one);
        require(one.status == (i == failed ? all.status : BF_OK));
        if (all.status == BF_OK) compare_row(e, &all, i, &one);
    }
}

/* All names that a text is found to have are enough to parse it. */
static void check_names(bf_context *context, const char *text) {
    char *const found = malloc(strlen(text) + 1);
    const char *all[BF_EXPRESSION_NAMES_MAX], *at = found;
    unsigned char kinds[BF_EXPRESSION_NAMES_MAX];
    bf_dtype of[BF_EXPRESSION_NAMES_MAX];
    bf_expression *e = NULL;
    int count = -1, position = -1;
    require(found != NULL);
    if (bf_expression_names(context, text, found, kinds, &count, &position) == BF_OK) {
        for (int k = 0; k < count; k++, at += strlen(at) + 1) {
            all[k] = at;
            of[k] = kinds[k] == BF_NAME_STRING ? BF_NONE : BF_F64;
        }
        require((size_t)(at - found) <= strlen(text) + 1);
        if (bf_expression_parse(context, text, all, of, count, NULL, NULL, &e) != BF_OK)
            require(strstr(bf_context_message(context), "column has the name") == NULL);
        for (int k = 0; k < count && e != NULL; k++) require(bf_expression_uses(e, k));
        bf_expression_destroy(e);
    } else {
        require(position >= 0 && (size_t)position <= strlen(text));
    }
    free(found);
}

static bf_expression *parse_columns(bf_context *context, const char *text) {
    bf_expression *e = NULL;
    bf_expression_parse(context, text, table_names, table_dtypes, TABLE, NULL, NULL, &e);
    return e;
}

/* Strings of one expression stay while another is computed. */
static void check_columns(bf_context *context, const char *text) {
    check_names(context, text);
    bf_expression *e = parse_columns(context, text), *other = parse_columns(context, text);
    if (e != NULL) eval_rows(context, e, other);
    bf_expression_destroy(e);
    bf_expression_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bf_context *contexts[2];
    static uint64_t results[2][2 * N];
    bf_dtype dtype[2] = {BF_NONE, BF_NONE};
    bf_status status[2];
    if (size == 0) return 0;
    if (contexts[0] == NULL) {
        contexts[0] = context_of("generic");
        contexts[1] = context_of("auto");
    }
    const bf_expression_options options = options_of(data[0]);
    char *text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (int i = 0; i < 2; i++)
        status[i] =
            compute(contexts[i], text, dtypes[data[0] % 4], &options, results[i], &dtype[i]);
    require(status[0] == status[1] && dtype[0] == dtype[1]);
    require(strcmp(bf_context_message(contexts[0]), bf_context_message(contexts[1])) == 0 ||
            status[0] == BF_OK);
    if (status[0] == BF_OK)
        require(memcmp(results[0], results[1], N * bf_dtype_size(dtype[0])) == 0);
    check_columns(contexts[1], text);
    free(text);
    return 0;
}
