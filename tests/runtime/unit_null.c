/* NULL where a pointer is needed: BF_E_ARGUMENT of a call that gives a status, and nothing happens;
 * "", 0 or NULL of one that does not. The test of the headers
 * (tests/command/project/cli_headers.py) says if a function is missing here. */
#include "tests/support/unit.h"
#include "tests/support/world.h"

#define REFUSED(call) assert_int_equal(call, BF_E_ARGUMENT)

static bf_context *c;

static int make(void **unused) {
    if (make_world(unused) != 0) return -1;
    c = w->context;
    return 0;
}

static void names(void **unused) {
    (void)unused;
    assert_int_equal(bf_dtype_from_name(NULL), BF_NONE);
    assert_int_equal(bf_reduction_from_name(NULL), 0);
    assert_int_equal(bf_map_from_name(NULL), 0);
    assert_int_equal(bf_palette_from_name(NULL), 0);
    assert_int_equal(bf_duplicates_from_name(NULL), -1);
    assert_int_equal(bf_quantile_method_from_name(NULL), -1);
}

static void contexts(void **unused) {
    (void)unused;
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
    REFUSED(bf_context_set_stream(NULL, NULL));
    REFUSED(bf_context_leave_stream(NULL));
    REFUSED(bf_context_synchronize(NULL));
    REFUSED(bf_context_failure(NULL));
    REFUSED(bf_context_watch(NULL, NULL));
    REFUSED(bf_context_watch(c, &BF_WATCH(.tick = NULL)));
    REFUSED(bf_device_describe(0, NULL));
    REFUSED(bf_device_parse("cpu", NULL));
    bf_device_format(0, NULL);
    void *memory = NULL;
    REFUSED(bf_memory_allocate(NULL, 1, &memory));
    REFUSED(bf_memory_allocate(c, 1, NULL));
    bf_memory_free(NULL, w);
    bf_memory_free(c, NULL);
    REFUSED(bf_memory_copy(NULL, w->out_doubles, w->doubles, 8));
    REFUSED(bf_memory_copy(c, NULL, w->doubles, 8));
    REFUSED(bf_memory_copy(c, w->doubles, NULL, 8));
}

static void exchanged_arrays(void **unused) {
    (void)unused;
    struct DLManagedTensorVersioned tensor = {.flags = 0}, *made = NULL;
    struct DLManagedTensor *made_old = NULL;
    struct DLManagedTensor old = {.manager_ctx = NULL};
    world_column x;
    bf_array a;
    int64_t n;
    world_arrow(w, &x);
    REFUSED(bf_array_from_dlpack(NULL, &tensor, &a, NULL));
    REFUSED(bf_array_from_dlpack(c, NULL, &a, NULL));
    REFUSED(bf_array_from_dlpack(c, &tensor, NULL, NULL));
    REFUSED(bf_array_from_dlpack_unversioned(NULL, &old, &a));
    REFUSED(bf_array_from_dlpack_unversioned(c, NULL, &a));
    REFUSED(bf_array_from_dlpack_unversioned(c, &old, NULL));
    REFUSED(bf_array_to_dlpack(NULL, &w->f64, 0, NULL, NULL, &made));
    REFUSED(bf_array_to_dlpack(c, NULL, 0, NULL, NULL, &made));
    REFUSED(bf_array_to_dlpack(c, &w->f64, 0, NULL, NULL, NULL));
    REFUSED(bf_array_to_dlpack_unversioned(NULL, &w->f64, NULL, NULL, &made_old));
    REFUSED(bf_array_to_dlpack_unversioned(c, NULL, NULL, NULL, &made_old));
    REFUSED(bf_array_to_dlpack_unversioned(c, &w->f64, NULL, NULL, NULL));
    REFUSED(bf_array_from_arrow(NULL, &x.schema, &x.array, &a, &n));
    REFUSED(bf_array_from_arrow(c, NULL, &x.array, &a, &n));
    REFUSED(bf_array_from_arrow(c, &x.schema, NULL, &a, &n));
    REFUSED(bf_array_from_arrow(c, &x.schema, &x.array, NULL, &n));
    struct ArrowDeviceArray on_host = {.array = x.array, .device_type = 1};
    REFUSED(bf_array_from_arrow_device(NULL, &x.schema, &on_host, &a, &n));
    REFUSED(bf_array_from_arrow_device(c, NULL, &on_host, &a, &n));
    REFUSED(bf_array_from_arrow_device(c, &x.schema, NULL, &a, &n));
    REFUSED(bf_array_from_arrow_device(c, &x.schema, &on_host, NULL, &n));
    REFUSED(bf_array_copy_arrow(NULL, &x.schema, &x.array, &w->out_f64, &n));
    REFUSED(bf_array_copy_arrow(c, NULL, &x.array, &w->out_f64, &n));
    REFUSED(bf_array_copy_arrow(c, &x.schema, NULL, &w->out_f64, &n));
    REFUSED(bf_array_copy_arrow(c, &x.schema, &x.array, NULL, &n));
    REFUSED(bf_array_copy_arrow(c, &x.schema, &x.array, &w->out_f64, NULL));
    REFUSED(bf_array_to_arrow(NULL, &w->f64, NULL, NULL, &x.schema, &x.array));
    REFUSED(bf_array_to_arrow(c, NULL, NULL, NULL, &x.schema, &x.array));
    REFUSED(bf_array_to_arrow(c, &w->f64, NULL, NULL, NULL, &x.array));
    REFUSED(bf_array_to_arrow(c, &w->f64, NULL, NULL, &x.schema, NULL));
}

static void values(void **unused) {
    (void)unused;
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

static void reductions(void **unused) {
    (void)unused;
    bf_value v;
    bf_description d = {.size = sizeof d};
    const bf_array one = {w->out_doubles, BF_F64, 2, {1, 1}, {1, 1}};
    REFUSED(bf_reduce(NULL, BF_SUM, &w->f64, NULL, &v));
    REFUSED(bf_reduce(c, BF_SUM, NULL, NULL, &v));
    REFUSED(bf_reduce(c, BF_SUM, &w->f64, NULL, NULL));
    REFUSED(bf_reduce_async(NULL, BF_SUM, &w->f64, NULL, &v));
    REFUSED(bf_reduce_async(c, BF_SUM, NULL, NULL, &v));
    REFUSED(bf_reduce_async(c, BF_SUM, &w->f64, NULL, NULL));
    REFUSED(bf_reduce_shards(NULL, BF_SUM, &w->f64, 1, NULL, &v));
    REFUSED(bf_reduce_shards(c, BF_SUM, NULL, 1, NULL, &v));
    REFUSED(bf_reduce_shards(c, BF_SUM, &w->f64, 1, NULL, NULL));
    REFUSED(bf_dot_shards(NULL, &w->f64, &w->f64, 1, NULL, &v));
    REFUSED(bf_dot_shards(c, NULL, &w->f64, 1, NULL, &v));
    REFUSED(bf_dot_shards(c, &w->f64, NULL, 1, NULL, &v));
    REFUSED(bf_dot_shards(c, &w->f64, &w->f64, 1, NULL, NULL));
    REFUSED(bf_dot(NULL, &w->f64, &w->f64, NULL, &v));
    REFUSED(bf_dot(c, NULL, &w->f64, NULL, &v));
    REFUSED(bf_dot(c, &w->f64, NULL, NULL, &v));
    REFUSED(bf_dot(c, &w->f64, &w->f64, NULL, NULL));
    REFUSED(bf_dot_async(NULL, &w->f64, &w->f64, NULL, &v));
    REFUSED(bf_dot_async(c, NULL, &w->f64, NULL, &v));
    REFUSED(bf_dot_async(c, &w->f64, NULL, NULL, &v));
    REFUSED(bf_dot_async(c, &w->f64, &w->f64, NULL, NULL));
    REFUSED(bf_reduce_pair(NULL, BF_COV, &w->f64, &w->f64, NULL, &v));
    REFUSED(bf_reduce_pair(c, BF_COV, NULL, &w->f64, NULL, &v));
    REFUSED(bf_reduce_pair(c, BF_COV, &w->f64, NULL, NULL, &v));
    REFUSED(bf_reduce_pair(c, BF_COV, &w->f64, &w->f64, NULL, NULL));
    REFUSED(bf_reduce_pair_shards(NULL, BF_COV, &w->f64, &w->f64, 1, NULL, &v));
    REFUSED(bf_reduce_pair_shards(c, BF_COV, NULL, &w->f64, 1, NULL, &v));
    REFUSED(bf_reduce_pair_shards(c, BF_COV, &w->f64, NULL, 1, NULL, &v));
    REFUSED(bf_reduce_pair_shards(c, BF_COV, &w->f64, &w->f64, 1, NULL, NULL));
    REFUSED(bf_reduce_pair_async(NULL, BF_COV, &w->f64, &w->f64, NULL, &v));
    REFUSED(bf_reduce_pair_async(c, BF_COV, NULL, &w->f64, NULL, &v));
    REFUSED(bf_reduce_pair_async(c, BF_COV, &w->f64, NULL, NULL, &v));
    REFUSED(bf_reduce_pair_async(c, BF_COV, &w->f64, &w->f64, NULL, NULL));
    REFUSED(bf_cov_matrix(NULL, BF_COV, &w->f64, 1, NULL, &one));
    REFUSED(bf_cov_matrix(c, BF_COV, NULL, 1, NULL, &one));
    REFUSED(bf_cov_matrix(c, BF_COV, &w->f64, 1, NULL, NULL));
    REFUSED(bf_describe(NULL, &w->f64, NULL, &d));
    REFUSED(bf_describe(c, NULL, NULL, &d));
    REFUSED(bf_describe(c, &w->f64, NULL, NULL));
}

static void many_states(void **unused) {
    (void)unused;
    const bf_array *x = &w->f64, *i = &w->out_i64;
    bf_states *s = NULL;
    size_t size;
    int axis = 0;
    REFUSED(bf_states_create(NULL, BF_SUM, BF_F64, 1, &s));
    REFUSED(bf_states_create(c, BF_SUM, BF_F64, 1, NULL));
    bf_states_destroy(NULL);
    REFUSED(bf_states_clear(NULL));
    assert_int_equal(bf_states_count(NULL), 0);
    bf_states_info info = {.size = sizeof info};
    REFUSED(bf_states_describe(NULL, &info));
    REFUSED(bf_states_describe(w->states, NULL));
    REFUSED(bf_states_scan(NULL, x, 0, NULL, &w->out_f64));
    REFUSED(bf_states_scan(w->states, NULL, 0, NULL, &w->out_f64));
    REFUSED(bf_states_scan(w->states, x, 0, NULL, NULL));
    REFUSED(bf_states_scan_segments(NULL, x, i, NULL, &w->out_f64));
    REFUSED(bf_states_scan_segments(w->states, NULL, i, NULL, &w->out_f64));
    REFUSED(bf_states_scan_segments(w->states, x, NULL, NULL, &w->out_f64));
    REFUSED(bf_states_scan_segments(w->states, x, i, NULL, NULL));
    REFUSED(bf_states_absorb_axes(NULL, x, &axis, 1));
    REFUSED(bf_states_absorb_axes(w->states, NULL, &axis, 1));
    REFUSED(bf_states_absorb_axes(w->states, x, NULL, 1));
    REFUSED(bf_states_absorb_segments(NULL, x, i));
    REFUSED(bf_states_absorb_segments(w->states, NULL, i));
    REFUSED(bf_states_absorb_segments(w->states, x, NULL));
    REFUSED(bf_states_absorb_index(NULL, x, i));
    REFUSED(bf_states_absorb_index(w->states, NULL, i));
    REFUSED(bf_states_absorb_index(w->states, x, NULL));
    REFUSED(bf_states_absorb_pair_axes(NULL, x, x, &axis, 1));
    REFUSED(bf_states_absorb_pair_axes(w->dot_states, NULL, x, &axis, 1));
    REFUSED(bf_states_absorb_pair_axes(w->dot_states, x, NULL, &axis, 1));
    REFUSED(bf_states_absorb_pair_axes(w->dot_states, x, x, NULL, 1));
    REFUSED(bf_states_absorb_pair_segments(NULL, x, x, i));
    REFUSED(bf_states_absorb_pair_segments(w->dot_states, NULL, x, i));
    REFUSED(bf_states_absorb_pair_segments(w->dot_states, x, NULL, i));
    REFUSED(bf_states_absorb_pair_segments(w->dot_states, x, x, NULL));
    REFUSED(bf_states_absorb_pair_index(NULL, x, x, i));
    REFUSED(bf_states_absorb_pair_index(w->dot_states, NULL, x, i));
    REFUSED(bf_states_absorb_pair_index(w->dot_states, x, NULL, i));
    REFUSED(bf_states_absorb_pair_index(w->dot_states, x, x, NULL));
    REFUSED(bf_states_seek(NULL, i));
    REFUSED(bf_states_seek(w->described_states, NULL));
    REFUSED(bf_states_merge(NULL, w->states));
    REFUSED(bf_states_merge(w->states, NULL));
    REFUSED(bf_states_append(NULL, w->states));
    REFUSED(bf_states_append(w->states, NULL));
    const bf_descriptions none = {.size = sizeof none};
    REFUSED(bf_states_description(NULL, NULL, &none));
    REFUSED(bf_states_description(w->described_states, NULL, NULL));
    REFUSED(bf_states_result(NULL, NULL, x, NULL));
    REFUSED(bf_states_result(w->states, NULL, NULL, NULL));
    REFUSED(bf_states_result_of(NULL, BF_SUM, NULL, x, NULL));
    REFUSED(bf_states_result_of(w->states, BF_SUM, NULL, NULL, NULL));
    REFUSED(bf_states_counts(NULL, i));
    REFUSED(bf_states_counts(w->states, NULL));
    REFUSED(bf_states_save_size(NULL, &size));
    REFUSED(bf_states_save_size(w->states, NULL));
    REFUSED(bf_states_save(NULL, w->buffer));
    REFUSED(bf_states_save(w->states, NULL));
    REFUSED(bf_states_load(NULL, w->saved_states, w->saved_states_size, &s));
    REFUSED(bf_states_load(c, NULL, w->saved_states_size, &s));
    REFUSED(bf_states_load(c, w->saved_states, w->saved_states_size, NULL));
}

static void sorters(void **unused) {
    (void)unused;
    const bf_sorter_options options = BF_SORTER_OPTIONS(.dtype = BF_F64);
    bf_sorter *made = NULL;
    int64_t n;
    REFUSED(bf_sorter_create(NULL, &options, &made));
    REFUSED(bf_sorter_create(c, NULL, &made));
    REFUSED(bf_sorter_create(c, &options, NULL));
    bf_sorter_destroy(NULL);
    REFUSED(bf_sorter_add(NULL, &w->f64, NULL));
    REFUSED(bf_sorter_add(w->sorter, NULL, NULL));
    REFUSED(bf_sorter_end(NULL, &n));
    REFUSED(bf_sorter_next(NULL, &w->out_f64, NULL, &n));
    REFUSED(bf_sorter_next(w->sorter, NULL, NULL, &n));
    REFUSED(bf_sorter_next(w->sorter, &w->out_f64, NULL, NULL));
}

static void quantiles(void **unused) {
    (void)unused;
    bf_quantiles *q = NULL;
    const double half = 0.5;
    int done;
    REFUSED(bf_quantiles_create(NULL, BF_F64, &half, 1, NULL, &q));
    REFUSED(bf_quantiles_create(c, BF_F64, NULL, 1, NULL, &q));
    REFUSED(bf_quantiles_create(c, BF_F64, &half, 0, NULL, &q));
    REFUSED(bf_quantiles_create(c, BF_F64, &half, 1, NULL, NULL));
    bf_quantiles_destroy(NULL);
    REFUSED(bf_quantiles_absorb(NULL, &w->f64));
    REFUSED(bf_quantiles_absorb(w->quantiles, NULL));
    REFUSED(bf_quantiles_merge(NULL, w->quantiles));
    REFUSED(bf_quantiles_merge(w->quantiles, NULL));
    REFUSED(bf_quantiles_next(NULL, &done));
    REFUSED(bf_quantiles_next(w->quantiles, NULL));
    REFUSED(bf_quantiles_result(NULL, w->values));
    REFUSED(bf_quantiles_result(w->found_quantiles, NULL));
    bf_quantiles_info info = {.size = sizeof info};
    REFUSED(bf_quantiles_describe(NULL, &info));
    REFUSED(bf_quantiles_describe(w->quantiles, NULL));
    assert_int_equal(bf_quantiles_save_size(NULL), 0);
    REFUSED(bf_quantiles_save(NULL, w->saved_quantiles));
    REFUSED(bf_quantiles_save(w->quantiles, NULL));
    REFUSED(bf_quantiles_load(NULL, w->saved_quantiles, w->saved_quantiles_size, &q));
    REFUSED(bf_quantiles_load(c, NULL, w->saved_quantiles_size, &q));
    REFUSED(bf_quantiles_load(c, w->saved_quantiles, w->saved_quantiles_size, NULL));
}

static void order(void **unused) {
    (void)unused;
    const bf_array *x = &w->f64, *i = &w->zeros, *y = &w->out_f64;
    const bf_rolling_options rolling = {.size = sizeof rolling, .window = 2};
    const double half = 0.5;
    int axis = 0;
    int64_t first = 0, n;
    REFUSED(bf_sort(NULL, x, 0, NULL, y, NULL));
    REFUSED(bf_sort(c, NULL, 0, NULL, y, NULL));
    REFUSED(bf_sort(c, x, 0, NULL, NULL, NULL));
    REFUSED(bf_sort_async(NULL, x, 0, NULL, y, NULL));
    REFUSED(bf_sort_async(c, NULL, 0, NULL, y, NULL));
    REFUSED(bf_sort_async(c, x, 0, NULL, NULL, NULL));
    REFUSED(bf_sort_segments(NULL, x, i, NULL, y, NULL));
    REFUSED(bf_sort_segments(c, NULL, i, NULL, y, NULL));
    REFUSED(bf_sort_segments(c, x, NULL, NULL, y, NULL));
    REFUSED(bf_sort_rows(NULL, y, i, 1, NULL));
    REFUSED(bf_sort_rows(c, NULL, i, 1, NULL));
    REFUSED(bf_sort_rows(c, y, NULL, 1, NULL));
    REFUSED(bf_top(NULL, x, 0, 1, NULL, y, NULL));
    REFUSED(bf_top(c, NULL, 0, 1, NULL, y, NULL));
    REFUSED(bf_scan(NULL, BF_SUM, x, 0, NULL, y));
    REFUSED(bf_scan(c, BF_SUM, NULL, 0, NULL, y));
    REFUSED(bf_scan(c, BF_SUM, x, 0, NULL, NULL));
    REFUSED(bf_scan_segments(NULL, BF_SUM, x, i, NULL, y));
    REFUSED(bf_scan_segments(c, BF_SUM, NULL, i, NULL, y));
    REFUSED(bf_scan_segments(c, BF_SUM, x, NULL, NULL, y));
    REFUSED(bf_scan_segments(c, BF_SUM, x, i, NULL, NULL));
    REFUSED(bf_scan_async(NULL, BF_SUM, x, 0, NULL, y));
    REFUSED(bf_scan_async(c, BF_SUM, NULL, 0, NULL, y));
    REFUSED(bf_scan_async(c, BF_SUM, x, 0, NULL, NULL));
    REFUSED(bf_rolling_async(NULL, BF_SUM, x, 0, &rolling, y));
    REFUSED(bf_rolling_async(c, BF_SUM, NULL, 0, &rolling, y));
    REFUSED(bf_rolling_async(c, BF_SUM, x, 0, NULL, y));
    REFUSED(bf_rolling_async(c, BF_SUM, x, 0, &rolling, NULL));
    REFUSED(bf_rolling_count_async(NULL, x, 0, &rolling, y));
    REFUSED(bf_rolling_count_async(c, NULL, 0, &rolling, y));
    REFUSED(bf_rolling_count_async(c, x, 0, &rolling, NULL));
    REFUSED(bf_rolling(NULL, BF_SUM, x, 0, &rolling, y));
    REFUSED(bf_rolling(c, BF_SUM, NULL, 0, &rolling, y));
    REFUSED(bf_rolling(c, BF_SUM, x, 0, NULL, y));
    REFUSED(bf_rolling(c, BF_SUM, x, 0, &rolling, NULL));
    REFUSED(bf_rolling_pair(NULL, BF_COV, x, x, 0, &rolling, y));
    REFUSED(bf_rolling_pair(c, BF_COV, NULL, x, 0, &rolling, y));
    REFUSED(bf_rolling_pair(c, BF_COV, x, NULL, 0, &rolling, y));
    REFUSED(bf_rolling_pair(c, BF_SUM, x, x, 0, &rolling, y));
    REFUSED(bf_rolling(c, BF_COV, x, 0, &rolling, y));
    REFUSED(bf_rolling_pair(c, BF_COV, x, x, 0, &rolling, NULL));
    REFUSED(bf_rolling_count(NULL, x, 0, &rolling, y));
    REFUSED(bf_rolling_count(c, NULL, 0, &rolling, y));
    REFUSED(bf_rolling_count(c, x, 0, &rolling, NULL));
    REFUSED(bf_rolling_median(NULL, x, 0, &rolling, y));
    REFUSED(bf_rolling_median(c, NULL, 0, &rolling, y));
    REFUSED(bf_rolling_median(c, x, 0, NULL, y));
    REFUSED(bf_rolling_median(c, x, 0, &rolling, NULL));
    REFUSED(bf_rolling_quantile(NULL, x, 0, &half, 1, &rolling, y));
    REFUSED(bf_rolling_quantile(c, NULL, 0, &half, 1, &rolling, y));
    REFUSED(bf_rolling_quantile(c, x, 0, NULL, 1, &rolling, y));
    REFUSED(bf_rolling_quantile(c, x, 0, &half, 1, NULL, y));
    REFUSED(bf_rolling_quantile(c, x, 0, &half, 1, &rolling, NULL));
    REFUSED(bf_state_scan(NULL, x, NULL, y));
    REFUSED(bf_state_scan(w->state, NULL, NULL, y));
    REFUSED(bf_state_scan(w->state, x, NULL, NULL));
    REFUSED(bf_rank(NULL, x, 0, BF_RANK_MIN, NULL, &w->i64));
    REFUSED(bf_rank(c, NULL, 0, BF_RANK_MIN, NULL, &w->i64));
    REFUSED(bf_rank(c, x, 0, BF_RANK_MIN, NULL, NULL));
    REFUSED(bf_quantile_axes(NULL, x, &axis, 1, &half, 1, NULL, y));
    REFUSED(bf_quantile_axes(c, NULL, &axis, 1, &half, 1, NULL, y));
    REFUSED(bf_quantile_axes(c, x, NULL, 1, &half, 1, NULL, y));
    REFUSED(bf_quantile_axes(c, x, &axis, 1, NULL, 1, NULL, y));
    REFUSED(bf_quantile_axes(c, x, &axis, 1, &half, 1, NULL, NULL));
    REFUSED(bf_quantile_segments(NULL, x, i, &half, 1, NULL, y));
    REFUSED(bf_quantile_segments(c, NULL, i, &half, 1, NULL, y));
    REFUSED(bf_quantile_segments(c, x, NULL, &half, 1, NULL, y));
    REFUSED(bf_quantile_segments(c, x, i, NULL, 1, NULL, y));
    REFUSED(bf_quantile_segments(c, x, i, &half, 1, NULL, NULL));
    REFUSED(bf_quantile_index(NULL, x, i, &half, 1, NULL, y));
    REFUSED(bf_quantile_index(c, NULL, i, &half, 1, NULL, y));
    REFUSED(bf_quantile_index(c, x, NULL, &half, 1, NULL, y));
    REFUSED(bf_quantile_index(c, x, i, NULL, 1, NULL, y));
    REFUSED(bf_quantile_index(c, x, i, &half, 1, NULL, NULL));
    REFUSED(bf_quantile_groups(NULL, x, x, &half, 1, NULL, NULL, y, &n));
    REFUSED(bf_quantile_groups(c, NULL, x, &half, 1, NULL, NULL, y, &n));
    REFUSED(bf_quantile_groups(c, x, NULL, &half, 1, NULL, NULL, y, &n));
    REFUSED(bf_quantile_groups(c, x, x, NULL, 1, NULL, NULL, y, &n));
    REFUSED(bf_quantile_groups(c, x, x, &half, 1, NULL, NULL, NULL, &n));
    REFUSED(bf_quantile_groups(c, x, x, &half, 1, NULL, NULL, y, NULL));
    REFUSED(bf_quantile_axes_async(NULL, x, &axis, 1, &half, 1, NULL, y));
    REFUSED(bf_quantile_axes_async(c, NULL, &axis, 1, &half, 1, NULL, y));
    REFUSED(bf_quantile_axes_async(c, x, NULL, 1, &half, 1, NULL, y));
    REFUSED(bf_quantile_axes_async(c, x, &axis, 1, NULL, 1, NULL, y));
    REFUSED(bf_quantile_axes_async(c, x, &axis, 1, &half, 1, NULL, NULL));
    REFUSED(bf_median_axes_async(NULL, x, &axis, 1, NULL, y));
    REFUSED(bf_median_axes_async(c, NULL, &axis, 1, NULL, y));
    REFUSED(bf_median_axes_async(c, x, NULL, 1, NULL, y));
    REFUSED(bf_median_axes_async(c, x, &axis, 1, NULL, NULL));
    REFUSED(bf_median_axes(NULL, x, &axis, 1, NULL, y));
    REFUSED(bf_median_axes(c, NULL, &axis, 1, NULL, y));
    REFUSED(bf_median_axes(c, x, NULL, 1, NULL, y));
    REFUSED(bf_median_axes(c, x, &axis, 1, NULL, NULL));
    REFUSED(bf_median_segments(NULL, x, i, NULL, y));
    REFUSED(bf_median_segments(c, NULL, i, NULL, y));
    REFUSED(bf_median_segments(c, x, NULL, NULL, y));
    REFUSED(bf_median_segments(c, x, i, NULL, NULL));
    REFUSED(bf_median_index(NULL, x, i, NULL, y));
    REFUSED(bf_median_index(c, NULL, i, NULL, y));
    REFUSED(bf_median_index(c, x, NULL, NULL, y));
    REFUSED(bf_median_index(c, x, i, NULL, NULL));
    REFUSED(bf_median_groups(NULL, x, x, NULL, NULL, y, &n));
    REFUSED(bf_median_groups(c, NULL, x, NULL, NULL, y, &n));
    REFUSED(bf_median_groups(c, x, NULL, NULL, NULL, y, &n));
    REFUSED(bf_median_groups(c, x, x, NULL, NULL, NULL, &n));
    REFUSED(bf_median_groups(c, x, x, NULL, NULL, y, NULL));
    REFUSED(bf_nth_axes(NULL, x, &axis, 1, &first, 1, NULL, y));
    REFUSED(bf_nth_axes(c, NULL, &axis, 1, &first, 1, NULL, y));
    REFUSED(bf_nth_axes(c, x, NULL, 1, &first, 1, NULL, y));
    REFUSED(bf_nth_axes(c, x, &axis, 1, NULL, 1, NULL, y));
    REFUSED(bf_nth_axes(c, x, &axis, 1, &first, 1, NULL, NULL));
    REFUSED(bf_searchsorted(NULL, x, x, 0, NULL, &w->i64));
    REFUSED(bf_searchsorted(c, NULL, x, 0, NULL, &w->i64));
    REFUSED(bf_searchsorted(c, x, NULL, 0, NULL, &w->i64));
    REFUSED(bf_searchsorted(c, x, x, 0, NULL, NULL));
    REFUSED(bf_is_sorted(NULL, x, NULL, &axis));
    REFUSED(bf_is_sorted(c, NULL, NULL, &axis));
    REFUSED(bf_is_sorted(c, x, NULL, NULL));
    REFUSED(bf_unique(NULL, x, NULL, NULL, NULL, &n));
    REFUSED(bf_unique(c, NULL, NULL, NULL, NULL, &n));
    REFUSED(bf_unique(c, x, NULL, NULL, NULL, NULL));
    REFUSED(bf_mode(NULL, x, NULL, w->values, NULL));
    REFUSED(bf_mode(c, NULL, NULL, w->values, NULL));
    REFUSED(bf_mode(c, x, NULL, NULL, NULL));
}

static void many_results(void **unused) {
    (void)unused;
    const bf_array *x = &w->f64, *i = &w->out_i64, *y = &w->out_f64;
    int axis = 0;
    int64_t wrong, runs;
    memset(w->out_integers, 0, sizeof w->out_integers);
    assert_int_equal(bf_reduce_dtype(BF_SUM, BF_F64, NULL), BF_F64);
    assert_int_equal(bf_scan_dtype(BF_SUM, BF_F64, NULL), BF_F64);
    assert_int_equal(bf_rolling_dtype(BF_SUM, BF_F64, NULL), BF_NONE);
    REFUSED(bf_reduce_axes(NULL, BF_SUM, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_axes(c, BF_SUM, NULL, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_axes(c, BF_SUM, x, NULL, 1, NULL, y, NULL));
    REFUSED(bf_reduce_axes(c, BF_SUM, x, &axis, 1, NULL, NULL, NULL));
    REFUSED(bf_reduce_pair_axes(NULL, BF_CORR, x, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes(c, BF_CORR, NULL, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes(c, BF_CORR, x, NULL, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes(c, BF_CORR, x, x, NULL, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes(c, BF_CORR, x, x, &axis, 1, NULL, NULL, NULL));
    REFUSED(bf_dot_axes(NULL, x, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_dot_axes(c, NULL, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_dot_axes(c, x, NULL, &axis, 1, NULL, y, NULL));
    REFUSED(bf_dot_axes(c, x, x, NULL, 1, NULL, y, NULL));
    REFUSED(bf_dot_axes(c, x, x, &axis, 1, NULL, NULL, NULL));
    REFUSED(bf_reduce_segments(NULL, BF_SUM, x, i, NULL, y, NULL));
    REFUSED(bf_reduce_segments(c, BF_SUM, NULL, i, NULL, y, NULL));
    REFUSED(bf_reduce_segments(c, BF_SUM, x, NULL, NULL, y, NULL));
    REFUSED(bf_reduce_segments(c, BF_SUM, x, i, NULL, NULL, NULL));
    REFUSED(bf_reduce_pair_segments(NULL, BF_CORR, x, x, i, NULL, y, NULL));
    REFUSED(bf_reduce_pair_segments(c, BF_CORR, NULL, x, i, NULL, y, NULL));
    REFUSED(bf_reduce_pair_segments(c, BF_CORR, x, NULL, i, NULL, y, NULL));
    REFUSED(bf_reduce_pair_segments(c, BF_CORR, x, x, NULL, NULL, y, NULL));
    REFUSED(bf_reduce_pair_segments(c, BF_CORR, x, x, i, NULL, NULL, NULL));
    REFUSED(bf_dot_segments(NULL, x, x, i, NULL, y, NULL));
    REFUSED(bf_dot_segments(c, NULL, x, i, NULL, y, NULL));
    REFUSED(bf_dot_segments(c, x, NULL, i, NULL, y, NULL));
    REFUSED(bf_dot_segments(c, x, x, NULL, NULL, y, NULL));
    REFUSED(bf_dot_segments(c, x, x, i, NULL, NULL, NULL));
    REFUSED(bf_reduce_index(NULL, BF_SUM, x, i, NULL, y, NULL));
    REFUSED(bf_reduce_index(c, BF_SUM, NULL, i, NULL, y, NULL));
    REFUSED(bf_reduce_index(c, BF_SUM, x, NULL, NULL, y, NULL));
    REFUSED(bf_reduce_index(c, BF_SUM, x, i, NULL, NULL, NULL));
    REFUSED(bf_reduce_pair_index(NULL, BF_CORR, x, x, i, NULL, y, NULL));
    REFUSED(bf_reduce_pair_index(c, BF_CORR, NULL, x, i, NULL, y, NULL));
    REFUSED(bf_reduce_pair_index(c, BF_CORR, x, NULL, i, NULL, y, NULL));
    REFUSED(bf_reduce_pair_index(c, BF_CORR, x, x, NULL, NULL, y, NULL));
    REFUSED(bf_reduce_pair_index(c, BF_CORR, x, x, i, NULL, NULL, NULL));
    REFUSED(bf_dot_index(NULL, x, x, i, NULL, y, NULL));
    REFUSED(bf_dot_index(c, NULL, x, i, NULL, y, NULL));
    REFUSED(bf_dot_index(c, x, NULL, i, NULL, y, NULL));
    REFUSED(bf_dot_index(c, x, x, NULL, NULL, y, NULL));
    REFUSED(bf_dot_index(c, x, x, i, NULL, NULL, NULL));
    REFUSED(bf_reduce_runs(NULL, BF_SUM, i, x, NULL, &w->i64, y, NULL, &runs));
    REFUSED(bf_reduce_runs(c, BF_SUM, NULL, x, NULL, &w->i64, y, NULL, &runs));
    REFUSED(bf_reduce_runs(c, BF_SUM, i, NULL, NULL, &w->i64, y, NULL, &runs));
    REFUSED(bf_reduce_runs(c, BF_SUM, i, x, NULL, &w->i64, y, NULL, NULL));
    REFUSED(bf_reduce_axes_async(NULL, BF_SUM, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_axes_async(c, BF_SUM, NULL, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_axes_async(c, BF_SUM, x, NULL, 1, NULL, y, NULL));
    REFUSED(bf_reduce_axes_async(c, BF_SUM, x, &axis, 1, NULL, NULL, NULL));
    REFUSED(bf_reduce_pair_axes_async(NULL, BF_DOT, x, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes_async(c, BF_DOT, NULL, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes_async(c, BF_DOT, x, NULL, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes_async(c, BF_SUM, x, x, &axis, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes_async(c, BF_DOT, x, x, NULL, 1, NULL, y, NULL));
    REFUSED(bf_reduce_pair_axes_async(c, BF_DOT, x, x, &axis, 1, NULL, NULL, NULL));
    REFUSED(bf_reduce_segments_async(NULL, BF_SUM, x, i, NULL, y, NULL, &wrong));
    REFUSED(bf_reduce_segments_async(c, BF_SUM, NULL, i, NULL, y, NULL, &wrong));
    REFUSED(bf_reduce_segments_async(c, BF_SUM, x, NULL, NULL, y, NULL, &wrong));
    REFUSED(bf_reduce_segments_async(c, BF_SUM, x, i, NULL, NULL, NULL, &wrong));
    REFUSED(bf_reduce_index_async(NULL, BF_SUM, x, i, NULL, y, NULL, &wrong));
    REFUSED(bf_reduce_index_async(c, BF_SUM, NULL, i, NULL, y, NULL, &wrong));
    REFUSED(bf_reduce_index_async(c, BF_SUM, x, NULL, NULL, y, NULL, &wrong));
    REFUSED(bf_reduce_index_async(c, BF_SUM, x, i, NULL, NULL, NULL, &wrong));
    REFUSED(bf_reduce_index_async(c, BF_SUM, x, i, NULL, y, NULL, NULL));
}

/* Nothing where the context, an input or the output is; no input is fine where there are none. */
#define SIMPLE(name, ...)                                                                          \
    do {                                                                                           \
        REFUSED(name(NULL, x, __VA_ARGS__, y));                                                    \
        REFUSED(name(c, NULL, __VA_ARGS__, y));                                                    \
        REFUSED(name(c, x, __VA_ARGS__, NULL));                                                    \
    } while (0)

static void simple_calls(void **unused) {
    (void)unused;
    const void *x = w->doubles;
    void *y = w->out_doubles;
#define BF_X(D, number, X, bytes, T, kind, S, R)                                                   \
    SIMPLE(bf_sum_##X, 4);                                                                         \
    SIMPLE(bf_sumsq_##X, 4);                                                                       \
    SIMPLE(bf_prod_##X, 4);                                                                        \
    SIMPLE(bf_norm_##X, 4);                                                                        \
    SIMPLE(bf_mean_##X, 4);                                                                        \
    SIMPLE(bf_var_##X, 4, 0);                                                                      \
    SIMPLE(bf_std_##X, 4, 0);                                                                      \
    SIMPLE(bf_min_##X, 4);                                                                         \
    SIMPLE(bf_max_##X, 4);                                                                         \
    SIMPLE(bf_argmin_##X, 4);                                                                      \
    SIMPLE(bf_argmax_##X, 4);                                                                      \
    SIMPLE(bf_dot_##X, x, 4);                                                                      \
    REFUSED(bf_dot_##X(c, x, NULL, 4, y));
    BF_DTYPE_LIST(BF_X)
#undef BF_X
#define BF_X(X, D, T)                                                                              \
    SIMPLE(bf_add_##X, x, 4);                                                                      \
    SIMPLE(bf_sub_##X, x, 4);                                                                      \
    SIMPLE(bf_mul_##X, x, 4);                                                                      \
    SIMPLE(bf_div_##X, x, 4);                                                                      \
    SIMPLE(bf_fma_##X, x, x, 4);                                                                   \
    SIMPLE(bf_sqrt_##X, 4);                                                                        \
    REFUSED(bf_add_##X(c, x, NULL, 4, y));                                                         \
    REFUSED(bf_fma_##X(c, x, NULL, x, 4, y));                                                      \
    REFUSED(bf_fma_##X(c, x, x, NULL, 4, y));
    BF_MAP_SIMPLE_LIST(BF_X)
#undef BF_X
}

static void states(void **unused) {
    (void)unused;
    size_t size;
    bf_state *made = NULL;
    bf_state_info info = {.size = sizeof info};
    bf_value v;
    bf_description d = {.size = sizeof d};
    bf_words_info words_info = {.size = sizeof words_info};
    REFUSED(bf_state_create(NULL, BF_SUM, BF_F64, &made));
    REFUSED(bf_state_create(c, BF_SUM, BF_F64, NULL));
    bf_state_destroy(NULL);
    REFUSED(bf_state_clear(NULL));
    REFUSED(bf_state_absorb(NULL, &w->f64));
    REFUSED(bf_state_absorb(w->state, NULL));
    REFUSED(bf_state_absorb_shards(NULL, &w->f64, 1));
    REFUSED(bf_state_absorb_shards(w->state, NULL, 1));
    REFUSED(bf_state_absorb_pair_shards(NULL, &w->f64, &w->f64, 1));
    REFUSED(bf_state_absorb_pair_shards(w->pairs, NULL, &w->f64, 1));
    REFUSED(bf_state_absorb_pair_shards(w->pairs, &w->f64, NULL, 1));
    REFUSED(bf_state_absorb_pair(NULL, &w->f64, &w->f64));
    REFUSED(bf_state_absorb_pair(w->pairs, NULL, &w->f64));
    REFUSED(bf_state_absorb_pair(w->pairs, &w->f64, NULL));
    REFUSED(bf_state_absorb_feed(NULL, &w->feed));
    REFUSED(bf_state_absorb_feed(w->state, NULL));
    REFUSED(bf_state_seek(NULL, 0));
    REFUSED(bf_state_rescale(NULL, 1));
    REFUSED(bf_state_merge(NULL, w->state));
    REFUSED(bf_state_merge(w->state, NULL));
    REFUSED(bf_state_append(NULL, w->state));
    REFUSED(bf_state_append(w->state, NULL));
    REFUSED(bf_state_retract(NULL, w->state));
    REFUSED(bf_state_retract(w->state, NULL));
    REFUSED(bf_state_words_info(NULL, &words_info));
    REFUSED(bf_state_words_info(w->state, NULL));
    REFUSED(bf_state_get_words(NULL, w->integers));
    REFUSED(bf_state_get_words(w->state, NULL));
    REFUSED(bf_state_set_words(NULL, w->integers, 74, 1));
    REFUSED(bf_state_set_words(w->state, NULL, 74, 1));
    bf_words_merge(BF_SUM, BF_F64, NULL, w->integers);
    bf_words_merge(BF_SUM, BF_F64, w->integers, NULL);
    REFUSED(bf_state_result(NULL, NULL, &v));
    REFUSED(bf_state_result(w->state, NULL, NULL));
    REFUSED(bf_state_result_of(NULL, BF_MEAN, NULL, &v));
    REFUSED(bf_state_result_of(w->state, BF_MEAN, NULL, NULL));
    REFUSED(bf_state_description(NULL, NULL, &d));
    REFUSED(bf_state_description(w->description, NULL, NULL));
    REFUSED(bf_state_describe(NULL, &info));
    REFUSED(bf_state_describe(w->state, NULL));
    assert_int_equal(bf_state_save_size(NULL), 0);
    REFUSED(bf_state_save(NULL, w->buffer));
    REFUSED(bf_state_save(w->state, NULL));
    REFUSED(bf_state_load(NULL, w->buffer, w->saved[0], &made));
    REFUSED(bf_state_load(c, NULL, 0, &made));
    REFUSED(bf_state_load(c, w->buffer, w->saved[0], NULL));
    REFUSED(bf_trailer_save(NULL, 1, w->buffer));
    REFUSED(bf_trailer_save(w->buffer, 1, NULL));
    assert_null(bf_trailer_find(NULL, 8, &size));
    assert_null(bf_trailer_find(w->buffer, 8, NULL));
    assert_null(made);
}

static void expressions(void **unused) {
    (void)unused;
    const bf_array *inputs[] = {&w->f64, &w->f64}, *gap[] = {&w->f64, NULL};
    const char *const names[] = {"a", "b"}, *const no_name[] = {"a", NULL};
    const bf_dtype dtypes[] = {BF_F64, BF_F64};
    bf_expression *e = NULL;
    REFUSED(bf_expression_parse(NULL, "a", names, dtypes, 2, NULL, NULL, &e));
    REFUSED(bf_expression_parse(c, NULL, names, dtypes, 2, NULL, NULL, &e));
    REFUSED(bf_expression_parse(c, "a", NULL, dtypes, 2, NULL, NULL, &e));
    REFUSED(bf_expression_parse(c, "a", no_name, dtypes, 2, NULL, NULL, &e));
    REFUSED(bf_expression_parse(c, "a", names, NULL, 2, NULL, NULL, &e));
    REFUSED(bf_expression_parse(c, "a", names, dtypes, 2, NULL, NULL, NULL));
    assert_null(e);
    REFUSED(bf_expression_eval(NULL, inputs, &w->out_f64));
    REFUSED(bf_expression_eval(w->expression, NULL, &w->out_f64));
    REFUSED(bf_expression_eval(w->expression, gap, &w->out_f64));
    REFUSED(bf_expression_eval(w->expression, inputs, NULL));
    const bf_column *const *columns = world_numbers(w), *no_column[] = {columns[0], NULL};
    REFUSED(bf_expression_eval_columns(NULL, columns, &w->out_f64, NULL));
    REFUSED(bf_expression_eval_columns(w->expression, NULL, &w->out_f64, NULL));
    REFUSED(bf_expression_eval_columns(w->expression, no_column, &w->out_f64, NULL));
    REFUSED(bf_expression_eval_columns(w->expression, columns, NULL, NULL));
    bf_strings made;
    REFUSED(bf_expression_eval_strings(NULL, columns, 1, &made, NULL));
    REFUSED(bf_expression_eval_strings(w->expression, columns, 1, NULL, NULL));
    REFUSED(bf_expression_eval_strings(w->expression, columns, -1, &made, NULL));
    int count;
    REFUSED(bf_expression_names(NULL, "a", w->buffer, NULL, &count, NULL));
    REFUSED(bf_expression_names(c, NULL, w->buffer, NULL, &count, NULL));
    REFUSED(bf_expression_names(c, "a", NULL, NULL, &count, NULL));
    REFUSED(bf_expression_names(c, "a", w->buffer, NULL, NULL, NULL));
    REFUSED(bf_state_absorb_expression(NULL, w->expression, inputs));
    REFUSED(bf_state_absorb_expression(w->state, NULL, inputs));
    REFUSED(bf_state_absorb_expression(w->state, w->expression, NULL));
    REFUSED(bf_state_absorb_expression(w->state, w->expression, gap));
    assert_int_equal(bf_expression_dtype(NULL), BF_NONE);
    assert_int_equal(bf_expression_scale(NULL), 0);
    assert_int_equal(bf_expression_uses(NULL, 0), 0);
    assert_int_equal(bf_expression_is_string(NULL), 0);
    assert_int_equal(bf_expression_time(NULL), BF_TIME_NONE);
    bf_expression_destroy(NULL);
}

static void dictionaries(void **unused) {
    (void)unused;
    const bf_column *const *columns = world_columns(w), *gap[] = {columns[0], NULL};
    bf_dictionary *d = w->dictionary, *made = NULL;
    const bf_array keys = world_keys(w, BF_I64, 1);
    REFUSED(bf_dictionary_create(NULL, 2, world_key, &made));
    REFUSED(bf_dictionary_create(c, 2, NULL, &made));
    REFUSED(bf_dictionary_create(c, 2, world_key, NULL));
    assert_null(made);
    REFUSED(bf_dictionary_encode(NULL, columns, &w->out_i64));
    REFUSED(bf_dictionary_encode(d, NULL, &w->out_i64));
    REFUSED(bf_dictionary_encode(d, gap, &w->out_i64));
    REFUSED(bf_dictionary_encode(d, columns, NULL));
    REFUSED(bf_dictionary_find(NULL, columns, &w->out_i64));
    REFUSED(bf_dictionary_find(d, NULL, &w->out_i64));
    REFUSED(bf_dictionary_find(d, columns, NULL));
    REFUSED(bf_dictionary_merge(NULL, d, NULL));
    REFUSED(bf_dictionary_merge(d, NULL, NULL));
    REFUSED(bf_dictionary_ranks(NULL, &keys));
    REFUSED(bf_dictionary_ranks(d, NULL));
    REFUSED(bf_dictionary_values(NULL, 1, NULL, &keys, NULL));
    REFUSED(bf_dictionary_values(d, 1, NULL, NULL, NULL));
    REFUSED(bf_dictionary_strings(NULL, 0, NULL, &keys, NULL, 0, NULL));
    REFUSED(bf_dictionary_strings(d, 0, NULL, NULL, NULL, 0, NULL));
    assert_int_equal(bf_dictionary_size(NULL), 0);
    bf_dictionary_destroy(NULL);
}

static void maps(void **unused) {
    (void)unused;
    const bf_array *inputs[] = {&w->f64, &w->f64}, *gap[] = {&w->f64, NULL};
    bf_dtype dtypes[] = {BF_F64, BF_F64}, result;
    REFUSED(bf_map_result_dtype(BF_MAP_ADD, NULL, 2, 0, &result));
    REFUSED(bf_map_result_dtype(BF_MAP_ADD, dtypes, 2, 0, NULL));
    REFUSED(bf_map(NULL, BF_MAP_ADD, inputs, 2, NULL, &w->out_f64));
    REFUSED(bf_map(c, BF_MAP_ADD, NULL, 2, NULL, &w->out_f64));
    REFUSED(bf_map(c, BF_MAP_ADD, gap, 2, NULL, &w->out_f64));
    REFUSED(bf_map(c, BF_MAP_ADD, inputs, 2, NULL, NULL));
    REFUSED(bf_map_async(NULL, BF_MAP_ADD, inputs, 2, NULL, &w->out_f64));
    REFUSED(bf_map_async(c, BF_MAP_ADD, NULL, 2, NULL, &w->out_f64));
    REFUSED(bf_map_async(c, BF_MAP_ADD, gap, 2, NULL, &w->out_f64));
    REFUSED(bf_map_async(c, BF_MAP_ADD, inputs, 2, NULL, NULL));
}

static void pictures(void **unused) {
    (void)unused;
    const bf_julia_params params = world_julia();
    bf_julia_defaults(NULL);
    REFUSED(bf_julia_params_fill(NULL));
    REFUSED(bf_julia(NULL, &params, 0, 0, &w->picture));
    REFUSED(bf_julia(c, NULL, 0, 0, &w->picture));
    REFUSED(bf_julia(c, &params, 0, 0, NULL));
    REFUSED(bf_julia_async(NULL, &params, 0, 0, &w->picture));
    REFUSED(bf_julia_async(c, NULL, 0, 0, &w->picture));
    REFUSED(bf_julia_async(c, &params, 0, 0, NULL));
    REFUSED(bf_palette_colors(BF_PALETTE_FIRE, 10, NULL, 1, w->out_truths));
    REFUSED(bf_palette_colors(BF_PALETTE_FIRE, 10, w->halves, 1, NULL));
}

static void histograms(void **unused) {
    (void)unused;
    bf_histogram *made = NULL;
    bf_histogram_info info = {.size = sizeof info};
    int64_t others;
    REFUSED(bf_histogram_of(NULL, &w->f64, NULL, NULL, &made));
    REFUSED(bf_histogram_of(c, NULL, NULL, NULL, &made));
    REFUSED(bf_histogram_of(c, &w->f64, NULL, NULL, NULL));
    REFUSED(bf_histogram_create(NULL, BF_F64, &world_bins, &made));
    REFUSED(bf_histogram_create(c, BF_F64, NULL, &made));
    REFUSED(bf_histogram_create(c, BF_F64, &world_bins, NULL));
    bf_histogram_destroy(NULL);
    REFUSED(bf_histogram_clear(NULL));
    REFUSED(bf_histogram_absorb_shards(NULL, &w->f64, &w->f64, 1));
    REFUSED(bf_histogram_absorb_shards(w->histogram, NULL, &w->f64, 1));
    REFUSED(bf_histogram_absorb_shards(w->histogram, &w->f64, NULL, 1));
    REFUSED(bf_histogram_absorb(NULL, &w->f64, &w->f64));
    REFUSED(bf_histogram_absorb_feed(NULL, &w->feed_of_two));
    REFUSED(bf_histogram_absorb_feed(w->histogram, NULL));
    REFUSED(bf_histogram_absorb(w->histogram, NULL, &w->f64));
    REFUSED(bf_histogram_absorb(w->histogram, &w->f64, NULL));
    REFUSED(bf_histogram_merge(NULL, w->histogram));
    REFUSED(bf_histogram_merge(w->histogram, NULL));
    REFUSED(bf_histogram_retract(NULL, w->histogram));
    REFUSED(bf_histogram_retract(w->histogram, NULL));
    REFUSED(bf_histogram_async(NULL, &w->f64, w->out_integers));
    REFUSED(bf_histogram_edges_async(NULL, w->out_doubles));
    REFUSED(bf_histogram_edges_async(w->histogram, NULL));
    bf_histogram_options plain = world_bins;
    plain.weights = BF_NONE;
    assert_int_equal(bf_histogram_create(c, BF_F64, &plain, &made), BF_OK);
    REFUSED(bf_histogram_async(made, NULL, w->out_integers));
    REFUSED(bf_histogram_async(made, &w->f64, NULL));
    bf_histogram_destroy(made);
    made = NULL;
    REFUSED(bf_histogram_describe(NULL, &info));
    REFUSED(bf_histogram_describe(w->histogram, NULL));
    assert_null(bf_histogram_edges(NULL));
    assert_null(bf_histogram_integers(NULL));
    assert_null(bf_histogram_counts(NULL));
    REFUSED(bf_histogram_weights(NULL, w->out_doubles));
    REFUSED(bf_histogram_weights(w->histogram, NULL));
    REFUSED(bf_histogram_density(NULL, w->out_doubles));
    REFUSED(bf_histogram_density(w->histogram, NULL));
    assert_int_equal(bf_histogram_save_size(NULL), 0);
    REFUSED(bf_histogram_save(NULL, w->buffer));
    REFUSED(bf_histogram_save(w->histogram, NULL));
    REFUSED(bf_histogram_load(NULL, w->buffer, 100, &made));
    REFUSED(bf_histogram_load(c, NULL, 0, &made));
    REFUSED(bf_histogram_load(c, w->buffer, 100, NULL));
    REFUSED(bf_bincount(NULL, &w->u16, w->out_integers, 9, &others));
    REFUSED(bf_bincount(c, NULL, w->out_integers, 9, &others));
    REFUSED(bf_bincount(c, &w->u16, NULL, 9, &others));
    REFUSED(bf_bincount(c, &w->u16, w->out_integers, 9, NULL));
    assert_null(made);
}

static void groups(void **unused) {
    (void)unused;
    bf_groups *made = NULL;
    bf_pairs *pairs = NULL;
    bf_groups_options kind = BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1);
    const bf_array *of[] = {&w->f64}, *none[] = {NULL};
    size_t size;
    REFUSED(bf_groups_create(NULL, &world_groups, &made));
    REFUSED(bf_groups_create(c, NULL, &made));
    REFUSED(bf_groups_create(c, &kind, &made));
    REFUSED(bf_groups_create(c, &world_groups, NULL));
    bf_groups_destroy(NULL);
    REFUSED(bf_groups_clear(NULL));
    REFUSED(bf_groups_absorb(NULL, &w->i64, of));
    REFUSED(bf_groups_absorb(w->groups, NULL, of));
    REFUSED(bf_groups_absorb(w->groups, &w->i64, NULL));
    REFUSED(bf_groups_absorb(w->groups, &w->i64, none));
    assert_int_equal(bf_groups_absorb(w->groups, &w->i64, of), BF_OK);
    REFUSED(bf_groups_merge(NULL, w->groups));
    REFUSED(bf_groups_merge(w->groups, NULL));
    REFUSED(bf_groups_retract(NULL, w->groups));
    REFUSED(bf_groups_retract(w->groups, NULL));
    REFUSED(bf_groups_rescale(NULL, 0, NULL));
    REFUSED(bf_groups_renumber(NULL, &w->i64));
    REFUSED(bf_groups_renumber(w->groups, NULL));
    REFUSED(bf_groups_split(NULL, 1, &made));
    REFUSED(bf_groups_split(w->groups, 1, NULL));
    REFUSED(bf_groups_split(w->groups, 0, &made));
    assert_int_equal(bf_groups_size(NULL), 0);
    assert_int_equal(bf_groups_rows(NULL), 0);
    REFUSED(bf_groups_list(NULL, NULL, NULL));
    REFUSED(bf_groups_result(NULL, 0, NULL, w->values));
    REFUSED(bf_groups_result(w->groups, 0, NULL, NULL));
    REFUSED(bf_groups_shares(NULL, 0, NULL, NULL, w->values));
    REFUSED(bf_groups_shares(w->groups, 0, NULL, NULL, NULL));
    REFUSED(bf_groups_aggregate(NULL, 0, NULL, &w->f64, NULL));
    REFUSED(bf_groups_aggregate(w->groups, 0, NULL, NULL, NULL));
    assert_int_equal(bf_groups_aggregate_dtype(NULL, 0, NULL), BF_NONE);
    assert_int_equal(bf_groups_aggregate_dtype(w->groups, 0, NULL), BF_F64);
    REFUSED(bf_groups_describe(NULL, &kind));
    REFUSED(bf_groups_describe(w->groups, NULL));
    REFUSED(bf_groups_save_size(NULL, &size));
    REFUSED(bf_groups_save_size(w->groups, NULL));
    REFUSED(bf_groups_save(NULL, w->buffer));
    REFUSED(bf_groups_save(w->groups, NULL));
    REFUSED(bf_groups_save_pieces(NULL, 0, 0, 1, world_write, NULL));
    REFUSED(bf_groups_save_pieces(w->groups, 0, 0, 1, NULL, NULL));
    REFUSED(bf_groups_load(NULL, w->buffer, 100, &made));
    REFUSED(bf_groups_load(c, NULL, 0, &made));
    REFUSED(bf_groups_load(c, w->buffer, 100, NULL));
    REFUSED(bf_join(NULL, &w->i64, &w->i64, 0, &pairs));
    REFUSED(bf_join(c, NULL, &w->i64, 0, &pairs));
    REFUSED(bf_join(c, &w->i64, NULL, 0, &pairs));
    REFUSED(bf_join(c, &w->i64, &w->i64, 0, NULL));
    bf_pairs_destroy(NULL);
    assert_int_equal(bf_pairs_size(NULL), 0);
    assert_null(bf_pairs_a(NULL));
    assert_null(bf_pairs_b(NULL));
    assert_true(made == NULL && pairs == NULL);
}

static void communicators(void **unused) {
    (void)unused;
    bf_comm *made = NULL;
    bf_context *none = NULL, *twice[] = {c, c};
    const bf_carrier lost = BF_CARRIER(.rank = 2, .ranks = 2), bare = BF_CARRIER(.ranks = 2);
    const bf_carrier unsized = {.ranks = 1};
    REFUSED(bf_comm_create(NULL, NULL, &made));
    REFUSED(bf_comm_create(c, NULL, NULL));
    REFUSED(bf_comm_create(c, &lost, &made));
    REFUSED(bf_comm_create(c, &bare, &made));
    REFUSED(bf_comm_create(c, &unsized, &made));
    REFUSED(bf_comm_create_local(NULL, 1, &made));
    REFUSED(bf_comm_create_local(&none, 1, &made));
    REFUSED(bf_comm_create_local(&c, 0, &made));
    REFUSED(bf_comm_create_local(&c, 1, NULL));
    REFUSED(bf_comm_create_local(twice, 2, &made));
    assert_null(made);
    bf_comm_destroy(NULL);
    assert_int_equal(bf_comm_rank(NULL), 0);
    assert_int_equal(bf_comm_ranks(NULL), 1);
    assert_int_equal(bf_comm_linked(NULL), 0);
    bf_comm_merge_message(NULL, NULL);
    REFUSED(bf_comm_merge_states(NULL, &w->state, 1));
    REFUSED(bf_comm_merge_states(w->comm, NULL, 1));
    REFUSED(bf_comm_merge_states(w->comm, &w->state, -1));
    REFUSED(bf_comm_merge_histogram(NULL, w->histogram));
    REFUSED(bf_comm_merge_histogram(w->comm, NULL));
    REFUSED(bf_comm_merge_many(NULL, w->states));
    REFUSED(bf_comm_merge_many(w->comm, NULL));
    REFUSED(bf_comm_merge_quantiles(NULL, w->quantiles));
    REFUSED(bf_comm_merge_quantiles(w->comm, NULL));
    REFUSED(bf_comm_exchange_groups(NULL, w->groups));
    REFUSED(bf_comm_exchange_groups(w->comm, NULL));
    REFUSED(bf_comm_allreduce(NULL, &w->f64, &w->out_f64));
    REFUSED(bf_comm_allreduce(w->comm, NULL, &w->out_f64));
    REFUSED(bf_comm_allreduce(w->comm, &w->f64, NULL));
    REFUSED(bf_comm_reduce_scatter(NULL, &w->f64, &w->out_f64));
    REFUSED(bf_comm_reduce_scatter(w->comm, NULL, &w->out_f64));
    REFUSED(bf_comm_reduce_scatter(w->comm, &w->f64, NULL));
    REFUSED(bf_comm_reduce(NULL, &w->f64, &w->out_f64, 0));
    REFUSED(bf_comm_reduce(w->comm, NULL, &w->out_f64, 0));
    REFUSED(bf_comm_reduce(w->comm, &w->f64, NULL, 0));
    REFUSED(bf_comm_allreduce_async(NULL, &w->f64, &w->out_f64));
    REFUSED(bf_comm_allreduce_async(w->comm, NULL, &w->out_f64));
    REFUSED(bf_comm_reduce_scatter_async(NULL, &w->f64, &w->out_f64));
    REFUSED(bf_comm_reduce_scatter_async(w->comm, NULL, &w->out_f64));
    REFUSED(bf_comm_reduce_async(NULL, &w->f64, &w->out_f64, 0));
    REFUSED(bf_comm_reduce_async(w->comm, NULL, &w->out_f64, 0));
}

static void tables(void **unused) {
    (void)unused;
    bf_table *made = NULL;
    int64_t key = 1;
    double value = 1;
    int found;
    REFUSED(bf_table_create(NULL, &world_table, &made));
    REFUSED(bf_table_create(c, NULL, &made));
    REFUSED(bf_table_create(c, &world_table, NULL));
    bf_table_destroy(NULL);
    REFUSED(bf_table_copy(NULL, w->table, &made));
    REFUSED(bf_table_copy(c, NULL, &made));
    REFUSED(bf_table_copy(c, w->table, NULL));
    REFUSED(bf_table_clear(NULL));
    REFUSED(bf_table_reserve(NULL, 1));
    assert_int_equal(bf_table_size(NULL), 0);
    REFUSED(bf_table_insert(NULL, &w->i64, &w->f64));
    REFUSED(bf_table_insert(w->table, NULL, &w->f64));
    REFUSED(bf_table_insert(w->table, &w->i64, NULL));
    REFUSED(bf_table_find(NULL, &w->i64, &w->out_f64, &w->out_bool));
    REFUSED(bf_table_find(w->table, NULL, &w->out_f64, &w->out_bool));
    REFUSED(bf_table_count(NULL, &w->i64, &w->out_i64));
    REFUSED(bf_table_count(w->table, NULL, &w->out_i64));
    REFUSED(bf_table_count(w->table, &w->i64, NULL));
    REFUSED(bf_table_find_all(NULL, &w->i64, &w->out_f64));
    REFUSED(bf_table_find_all(w->multimap, NULL, &w->out_f64));
    REFUSED(bf_table_find_all(w->multimap, &w->i64, NULL));
    REFUSED(bf_table_erase(NULL, &w->i64, NULL));
    REFUSED(bf_table_erase(w->table, NULL, NULL));
    REFUSED(bf_table_export(NULL, &w->out_i64, NULL));
    REFUSED(bf_table_export(w->table, NULL, NULL));
    REFUSED(bf_table_insert_one(NULL, &key, &value));
    REFUSED(bf_table_insert_one(w->table, NULL, &value));
    REFUSED(bf_table_insert_one(w->table, &key, NULL));
    REFUSED(bf_table_find_one(NULL, &key, &value, &found));
    REFUSED(bf_table_find_one(w->table, NULL, &value, &found));
    REFUSED(bf_table_erase_one(NULL, &key, &found));
    REFUSED(bf_table_erase_one(w->table, NULL, &found));
    assert_int_equal(bf_table_save_size(NULL), 0);
    REFUSED(bf_table_save(NULL, w->buffer));
    REFUSED(bf_table_save(w->table, NULL));
    REFUSED(bf_table_load(NULL, w->buffer, 100, &made));
    REFUSED(bf_table_load(c, NULL, 0, &made));
    REFUSED(bf_table_load(c, w->buffer, 100, NULL));
    assert_null(made);
}

UNIT_TESTS(null) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(contexts),
        cmocka_unit_test(exchanged_arrays),
        cmocka_unit_test(values),
        cmocka_unit_test(reductions),
        cmocka_unit_test(simple_calls),
        cmocka_unit_test(states),
        cmocka_unit_test(maps),
        cmocka_unit_test(pictures),
        cmocka_unit_test(histograms),
        cmocka_unit_test(groups),
        cmocka_unit_test(tables),
        cmocka_unit_test(expressions),
        cmocka_unit_test(dictionaries),
        cmocka_unit_test(communicators),
        cmocka_unit_test(sorters),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(order),
        cmocka_unit_test(many_results),
        cmocka_unit_test(many_states),
    };
    return RUN_TESTS(tests, make, destroy_world);
}
