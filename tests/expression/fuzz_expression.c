/* Any bytes at all as an expression: it is refused at a place in the text, or is computed to the
 * same bits by the rules and by loops, at once and in a state.
 *
 * The first byte chooses the dtypes of the columns and the overflow policy, the rest is the text.
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

static bf_status compute(bf_context *context, const char *text, const bf_dtype *of,
                         bf_overflow_policy overflow, void *results, bf_dtype *dtype) {
    static uint64_t memory[COLUMNS][N];
    const bf_expression_options options = BF_EXPRESSION_OPTIONS(.overflow = overflow);
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
        bf_expression_parse(context, text, names, of, COLUMNS, &options, &position, &e);
    require((status == BF_OK) == (e != NULL));
    if (e == NULL) {
        require(position >= 0 && (size_t)position <= strlen(text));
        require(strncmp(bf_context_message(context), "character ", 10) == 0);
        return status;
    }
    *dtype = bf_expression_dtype(e);
    const bf_array out = bf_array_of(*dtype, results, N);
    status = bf_expression_eval(e, all, &out);
    require(status == BF_OK || status == BF_E_OVERFLOW || status == BF_E_ARGUMENT);
    bf_state *sum = NULL, *other = NULL;
    require(bf_state_create(context, BF_MAX, *dtype, &sum) == BF_OK);
    require(bf_state_create(context, BF_MAX, *dtype, &other) == BF_OK);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bf_context *contexts[2];
    static uint64_t results[2][N];
    bf_dtype dtype[2] = {BF_NONE, BF_NONE};
    bf_status status[2];
    if (size == 0) return 0;
    if (contexts[0] == NULL) {
        contexts[0] = context_of("generic");
        contexts[1] = context_of("auto");
    }
    char *text = malloc(size);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    for (int i = 0; i < 2; i++)
        status[i] = compute(contexts[i], text, dtypes[data[0] % 4],
                            (bf_overflow_policy)(data[0] / 4 % 3), results[i], &dtype[i]);
    require(status[0] == status[1] && dtype[0] == dtype[1]);
    require(strcmp(bf_context_message(contexts[0]), bf_context_message(contexts[1])) == 0 ||
            status[0] == BF_OK);
    if (status[0] == BF_OK)
        require(memcmp(results[0], results[1], N * bf_dtype_size(dtype[0])) == 0);
    free(text);
    return 0;
}
