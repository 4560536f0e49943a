/* NULL where a pointer is needed: BF_E_ARGUMENT of a call that gives a status, and nothing happens;
 * "", 0 or NULL of one that does not. The test of the headers
 * (tests/command/project/cli_headers.py) says if a function is neither here nor in call_list.h. */
#include "tests/runtime/world.h"
#include "tests/support/unit.h"

#define REFUSED(call) assert_int_equal(call, BF_E_ARGUMENT)

static bf_context *c;

static int make(void **unused) {
    if (make_world(unused) != 0) return -1;
    c = w->context;
    return 0;
}

/* ---- one pointer after another of each call -------------------------------------------------- */

/* Calls f(i, x) for each argument x, of number i. */
#define EACH_1(f, i, x) f(i, x)
#define EACH_2(f, i, x, ...) f(i, x), EACH_1(f, i + 1, __VA_ARGS__)
#define EACH_3(f, i, x, ...) f(i, x), EACH_2(f, i + 1, __VA_ARGS__)
#define EACH_4(f, i, x, ...) f(i, x), EACH_3(f, i + 1, __VA_ARGS__)
#define EACH_5(f, i, x, ...) f(i, x), EACH_4(f, i + 1, __VA_ARGS__)
#define EACH_6(f, i, x, ...) f(i, x), EACH_5(f, i + 1, __VA_ARGS__)
#define EACH_7(f, i, x, ...) f(i, x), EACH_6(f, i + 1, __VA_ARGS__)
#define EACH_8(f, i, x, ...) f(i, x), EACH_7(f, i + 1, __VA_ARGS__)
#define EACH_9(f, i, x, ...) f(i, x), EACH_8(f, i + 1, __VA_ARGS__)
#define EACH_10(f, i, x, ...) f(i, x), EACH_9(f, i + 1, __VA_ARGS__)
#define EACH_OF(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, each, ...) each
#define EACH(f, ...)                                                                               \
    EACH_OF(__VA_ARGS__, EACH_10, EACH_9, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2,  \
            EACH_1)                                                                                \
    (f, 0, __VA_ARGS__)

enum { ARGUMENTS = 10, POINTER_CLASS = 5 /* what __builtin_classify_type says */ };

/* Is the argument a pointer, and not NULL? */
#define IS_GIVEN(i, x)                                                                             \
    (uintptr_t) __builtin_choose_expr(__builtin_classify_type(x) == POINTER_CLASS, (x), NULL) != 0
/* The argument, or NULL if it is the one whose turn it is. */
#define UNLESS(i, x) (turn == (i) ? (__typeof__(1 ? (x) : (x)))0 : (x))

#define CALL(name, ...)                                                                            \
    static bool given_##name(int i) {                                                              \
        const bool given[ARGUMENTS] = {EACH(IS_GIVEN, __VA_ARGS__)};                               \
        return given[i];                                                                           \
    }                                                                                              \
    static bf_status null_##name(int turn) { return name(EACH(UNLESS, __VA_ARGS__)); }
#define WITHOUT_GPU CALL
/* The last argument is where the object goes. */
#define MAKING(name, type, ...)                                                                    \
    static bool given_##name(int i) {                                                              \
        type *made = NULL;                                                                         \
        const bool given[ARGUMENTS] = {EACH(IS_GIVEN, __VA_ARGS__, &made)};                        \
        return given[i];                                                                           \
    }                                                                                              \
    static bf_status null_##name(int turn) {                                                       \
        type *made = NULL;                                                                         \
        const bf_status status = name(EACH(UNLESS, __VA_ARGS__, &made));                           \
        assert_true(made == NULL);                                                                 \
        return status;                                                                             \
    }
#define LONGER(name)
#include "tests/runtime/call_list.h"

#define CALL(name, ...) {#name, given_##name, null_##name},
#define MAKING CALL
#define WITHOUT_GPU CALL
#define LONGER(name)
static const struct {
    const char *name;
    bool (*given)(int i);
    bf_status (*call)(int turn);
} null_calls[] = {
#include "tests/runtime/call_list.h"
};

/* Can the call do without this pointer, which call_list.h gives? */
static bool is_optional(const char *name, int i) {
    static const struct {
        const char *name;
        int argument;
    } optional[] = {
        {"bf_reduce_runs", 5},  {"bf_reduce_runs", 6},    {"bf_sort", 4},
        {"bf_sort", 5},         {"bf_sort_async", 4},     {"bf_sort_async", 5},
        {"bf_groups_list", 1},  {"bf_table_find", 2},     {"bf_table_find", 3},
        {"bf_table_export", 2}, {"bf_table_find_one", 2},
    };
    for (size_t k = 0; k < sizeof optional / sizeof *optional; k++)
        if (strcmp(optional[k].name, name) == 0 && optional[k].argument == i) return true;
    return false;
}

TEST(every_pointer) {
    assert_int_equal(bf_groups_absorb(w->groups, &w->i64, world_inputs(w)), BF_OK);
    for (size_t k = 0; k < sizeof null_calls / sizeof *null_calls; k++) {
        const char *name = null_calls[k].name;
        for (int i = 0; i < ARGUMENTS; i++) {
            if (!null_calls[k].given(i)) continue;
            const bf_status status = null_calls[k].call(i);
            if (status != (is_optional(name, i) ? BF_OK : BF_E_ARGUMENT))
                fail_msg("%s, argument %d: %d", name, i, (int)status);
        }
    }
}

/* ---- what is no call on a context, or needs more than a line --------------------------------- */

TEST(names) {
    assert_int_equal(bf_dtype_from_name(NULL), BF_NONE);
    assert_int_equal(bf_reduction_from_name(NULL), 0);
    assert_int_equal(bf_map_from_name(NULL), 0);
    assert_int_equal(bf_palette_from_name(NULL), 0);
    assert_int_equal(bf_duplicates_from_name(NULL), -1);
    assert_int_equal(bf_quantile_method_from_name(NULL), -1);
}

TEST(contexts) {
    REFUSED(bf_context_create(NULL, NULL));
    char text[BF_MESSAGE_TEXT] = "";
    bf_context_create_message(NULL, text);
    assert_string_equal(text, "");
    bf_context_create_message(NULL, NULL);
    bf_context_destroy(NULL);
    assert_string_equal(bf_context_message(NULL), "");
    assert_string_equal(bf_context_device(NULL), "");
    assert_string_equal(bf_context_strategy(NULL), "");
    assert_string_equal(bf_context_reason(NULL), "");
    assert_string_equal(bf_context_isa(NULL), "");
    assert_int_equal(bf_context_threads(NULL), 0);
    REFUSED(bf_context_watch(c, &BF_WATCH(.tick = NULL)));
    REFUSED(bf_device_describe(0, NULL));
    REFUSED(bf_device_parse("cpu", NULL));
    bf_device_format(0, NULL);
    void *memory = NULL;
    REFUSED(bf_memory_allocate(NULL, 1, &memory));
    REFUSED(bf_memory_allocate(c, 1, NULL));
    bf_memory_free(NULL, w);
    bf_memory_free(c, NULL);
}

TEST(exchanged_arrays) {
    struct DLManagedTensorVersioned *made = NULL;
    struct DLManagedTensor *made_old = NULL;
    world_column x;
    REFUSED(bf_array_to_dlpack(NULL, &w->f64, 0, NULL, NULL, &made));
    REFUSED(bf_array_to_dlpack(c, NULL, 0, NULL, NULL, &made));
    REFUSED(bf_array_to_dlpack(c, &w->f64, 0, NULL, NULL, NULL));
    REFUSED(bf_array_to_dlpack_unversioned(NULL, &w->f64, NULL, NULL, &made_old));
    REFUSED(bf_array_to_dlpack_unversioned(c, NULL, NULL, NULL, &made_old));
    REFUSED(bf_array_to_dlpack_unversioned(c, &w->f64, NULL, NULL, NULL));
    REFUSED(bf_array_to_arrow(NULL, &w->f64, NULL, NULL, &x.schema, &x.array));
    REFUSED(bf_array_to_arrow(c, NULL, NULL, NULL, &x.schema, &x.array));
    REFUSED(bf_array_to_arrow(c, &w->f64, NULL, NULL, NULL, &x.array));
    REFUSED(bf_array_to_arrow(c, &w->f64, NULL, NULL, &x.schema, NULL));
}

TEST(values) {
    bf_value v = {.dtype = BF_I64};
    char text[BF_VALUE_TEXT] = "";
    int64_t i;
    uint64_t u;
    bf_value_format(NULL, text);
    assert_string_equal(text, "?");
    bf_value_format(&v, NULL);
    bf_value_format_hex(NULL, text);
    assert_string_equal(text, "?");
    bf_value_format_hex(&v, NULL);
    bf_time time = {.scale = BF_TIME_SCALE_MOST + 1};
    char shown[BF_TIME_TEXT] = "";
    assert_int_equal(bf_time_parse(NULL, 0, &time), 0);
    assert_int_equal(bf_time_parse("2026-01-01", 10, NULL), 0);
    assert_int_equal(bf_time_format(NULL, shown), 1);
    assert_string_equal(shown, "?");
    assert_int_equal(bf_time_format(&time, NULL), 0);
    assert_int_equal(bf_time_format(&time, shown), 1);
    REFUSED(bf_value_i64(NULL, &i));
    REFUSED(bf_value_i64(&v, NULL));
    REFUSED(bf_value_u64(NULL, &u));
    REFUSED(bf_value_u64(&v, NULL));
    assert_true(isnan(bf_value_f64(NULL)));
    assert_int_equal(bf_array_count(NULL), -1);
    bf_array none = bf_array_of(BF_F64, NULL, 1);
    assert_int_equal(bf_array_count(&none), -1);
}

TEST(many_states) {
    bf_states_destroy(NULL);
    assert_int_equal(bf_states_count(NULL), 0);
    bf_states_info info = {.size = sizeof info};
    REFUSED(bf_states_describe(NULL, &info));
    REFUSED(bf_states_describe(w->states, NULL));
}

TEST(quantiles) {
    bf_quantiles *q = NULL;
    REFUSED(bf_quantiles_create(c, BF_F64, NULL, 1, NULL, &q));
    REFUSED(bf_quantiles_create(c, BF_F64, &world_half, 0, NULL, &q));
    bf_sorter_destroy(NULL);
    bf_quantiles_destroy(NULL);
    bf_quantiles_info info = {.size = sizeof info};
    REFUSED(bf_quantiles_describe(NULL, &info));
    REFUSED(bf_quantiles_describe(w->quantiles, NULL));
    assert_int_equal(bf_quantiles_save_size(NULL), 0);
    REFUSED(bf_quantiles_save(NULL, w->saved_quantiles));
    REFUSED(bf_quantiles_save(w->quantiles, NULL));
}

TEST(many_results) {
    const bf_array *x = &w->f64, *y = &w->out_f64;
    assert_int_equal(bf_reduce_dtype(BF_SUM, BF_F64, NULL), BF_F64);
    assert_int_equal(bf_scan_dtype(BF_SUM, BF_F64, NULL), BF_F64);
    assert_int_equal(bf_rolling_dtype(BF_SUM, BF_F64, NULL), BF_NONE);
    REFUSED(bf_sort(c, x, 0, NULL, NULL, NULL));
    REFUSED(bf_sort_async(c, x, 0, NULL, NULL, NULL));
    REFUSED(bf_rolling_pair(c, BF_SUM, x, x, 0, &world_rolling, y));
    REFUSED(bf_rolling(c, BF_COV, x, 0, &world_rolling, y));
    REFUSED(bf_reduce_pair_axes_async(c, BF_SUM, x, x, &w->axis, 1, NULL, y, NULL));
}

TEST(states) {
    size_t size;
    bf_state_info info = {.size = sizeof info};
    bf_words_info words_info = {.size = sizeof words_info};
    bf_state_destroy(NULL);
    REFUSED(bf_state_words_info(NULL, &words_info));
    REFUSED(bf_state_words_info(w->state, NULL));
    REFUSED(bf_state_get_words(NULL, w->integers));
    REFUSED(bf_state_get_words(w->state, NULL));
    REFUSED(bf_state_set_words(NULL, w->integers, 74, 1));
    REFUSED(bf_state_set_words(w->state, NULL, 74, 1));
    bf_words_merge(BF_SUM, BF_F64, NULL, w->integers);
    bf_words_merge(BF_SUM, BF_F64, w->integers, NULL);
    REFUSED(bf_state_describe(NULL, &info));
    REFUSED(bf_state_describe(w->state, NULL));
    assert_int_equal(bf_state_save_size(NULL), 0);
    REFUSED(bf_state_save(NULL, w->buffer));
    REFUSED(bf_state_save(w->state, NULL));
    REFUSED(bf_trailer_save(NULL, 1, w->buffer));
    REFUSED(bf_trailer_save(w->buffer, 1, NULL));
    assert_null(bf_trailer_find(NULL, 8, &size));
    assert_null(bf_trailer_find(w->buffer, 8, NULL));
}

TEST(expressions) {
    const bf_array *gap[] = {&w->f64, NULL};
    const char *const no_name[] = {"a", NULL};
    bf_expression *e = NULL;
    REFUSED(bf_expression_parse(c, "a", no_name, world_dtypes, 2, NULL, NULL, &e));
    assert_null(e);
    REFUSED(bf_expression_eval(w->expression, gap, &w->out_f64));
    const bf_column *const *columns = world_numbers(w), *no_column[] = {columns[0], NULL};
    REFUSED(bf_expression_eval_columns(w->expression, no_column, &w->out_f64, NULL));
    bf_strings made;
    REFUSED(bf_expression_eval_strings(w->expression, columns, -1, &made, NULL));
    REFUSED(bf_state_absorb_expression(w->state, w->expression, gap));
    assert_int_equal(bf_expression_dtype(NULL), BF_NONE);
    assert_int_equal(bf_expression_scale(NULL), 0);
    assert_int_equal(bf_expression_uses(NULL, 0), 0);
    assert_int_equal(bf_expression_is_string(NULL), 0);
    assert_int_equal(bf_expression_time(NULL), BF_TIME_NONE);
    bf_expression_destroy(NULL);
}

TEST(dictionaries) {
    const bf_column *gap[] = {world_columns(w)[0], NULL};
    REFUSED(bf_dictionary_encode(w->dictionary, gap, &w->out_i64));
    assert_int_equal(bf_dictionary_size(NULL), 0);
    bf_dictionary_destroy(NULL);
}

TEST(maps) {
    const bf_array *gap[] = {&w->f64, NULL};
    bf_dtype result;
    REFUSED(bf_map_result_dtype(BF_MAP_ADD, NULL, 2, 0, &result));
    REFUSED(bf_map_result_dtype(BF_MAP_ADD, world_dtypes, 2, 0, NULL));
    REFUSED(bf_map(c, BF_MAP_ADD, gap, 2, NULL, &w->out_f64));
    REFUSED(bf_map_async(c, BF_MAP_ADD, gap, 2, NULL, &w->out_f64));
}

TEST(pictures) {
    bf_julia_defaults(NULL);
    REFUSED(bf_julia_params_fill(NULL));
    REFUSED(bf_palette_colors(BF_PALETTE_FIRE, 10, NULL, 1, w->out_truths));
    REFUSED(bf_palette_colors(BF_PALETTE_FIRE, 10, w->halves, 1, NULL));
}

TEST(histograms) {
    bf_histogram_info info = {.size = sizeof info};
    bf_histogram_destroy(NULL);
    REFUSED(bf_histogram_describe(NULL, &info));
    REFUSED(bf_histogram_describe(w->histogram, NULL));
    assert_null(bf_histogram_edges(NULL));
    assert_null(bf_histogram_integers(NULL));
    assert_null(bf_histogram_counts(NULL));
    assert_int_equal(bf_histogram_save_size(NULL), 0);
    REFUSED(bf_histogram_save(NULL, w->buffer));
    REFUSED(bf_histogram_save(w->histogram, NULL));
}

TEST(groups) {
    bf_groups *made = NULL;
    bf_groups_options kind = BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1);
    const bf_array *none[] = {NULL};
    REFUSED(bf_groups_create(c, &kind, &made));
    bf_groups_destroy(NULL);
    REFUSED(bf_groups_absorb(w->groups, &w->i64, none));
    REFUSED(bf_groups_renumber(NULL, &w->i64));
    REFUSED(bf_groups_renumber(w->groups, NULL));
    REFUSED(bf_groups_split(NULL, 1, &made));
    REFUSED(bf_groups_split(w->groups, 1, NULL));
    REFUSED(bf_groups_split(w->groups, 0, &made));
    assert_int_equal(bf_groups_size(NULL), 0);
    assert_int_equal(bf_groups_rows(NULL), 0);
    REFUSED(bf_groups_list(NULL, NULL, NULL));
    assert_int_equal(bf_groups_aggregate_dtype(NULL, 0, NULL), BF_NONE);
    assert_int_equal(bf_groups_aggregate_dtype(w->groups, 0, NULL), BF_F64);
    REFUSED(bf_groups_describe(NULL, &kind));
    REFUSED(bf_groups_describe(w->groups, NULL));
    bf_pairs_destroy(NULL);
    assert_int_equal(bf_pairs_size(NULL), 0);
    assert_null(bf_pairs_a(NULL));
    assert_null(bf_pairs_b(NULL));
    assert_null(made);
}

TEST(communicators) {
    bf_comm *made = NULL;
    bf_context *none = NULL, *twice[] = {c, c};
    const bf_carrier lost = BF_CARRIER(.rank = 2, .ranks = 2), bare = BF_CARRIER(.ranks = 2);
    const bf_carrier unsized = {.ranks = 1};
    REFUSED(bf_comm_create(c, &lost, &made));
    REFUSED(bf_comm_create(c, &bare, &made));
    REFUSED(bf_comm_create(c, &unsized, &made));
    REFUSED(bf_comm_create_local(&none, 1, &made));
    REFUSED(bf_comm_create_local(&c, 0, &made));
    REFUSED(bf_comm_create_local(twice, 2, &made));
    assert_null(made);
    bf_comm_destroy(NULL);
    assert_int_equal(bf_comm_rank(NULL), 0);
    assert_int_equal(bf_comm_ranks(NULL), 1);
    assert_int_equal(bf_comm_linked(NULL), 0);
    bf_comm_merge_message(NULL, NULL);
    REFUSED(bf_comm_merge_states(w->comm, &w->state, -1));
}

TEST(tables) {
    bf_table_destroy(NULL);
    assert_int_equal(bf_table_size(NULL), 0);
    assert_int_equal(bf_table_save_size(NULL), 0);
}

UNIT_TESTS(null, make, destroy_world)
