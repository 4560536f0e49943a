/* Every public call that uses a context, with arguments that it takes: for tests of what holds for
 * all of them. The test of the headers (tests/command/project/cli_headers.py) says if one is
 * missing. */
#ifndef BITFOLD_TESTS_SUPPORT_CALLS_H
#define BITFOLD_TESTS_SUPPORT_CALLS_H

#include "tests/support/exchange.h"

#include <bitfold.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_N = 1 << 15, WORLD_BINS = 50, WORLD_SIDE = 128 };

/* What the calls work on. */
typedef struct world {
    bf_context *context;
    bf_state *state, *other_state, *pairs, *description, *ordered;
    bf_histogram *histogram, *other_histogram;
    bf_groups *groups, *other_groups;
    bf_states *states, *other_states, *dot_states, *described_states; /* one */
    bf_quantiles *quantiles, *other_quantiles, *found_quantiles;      /* the last: of nothing */
    bf_sorter *sorter, *ended_sorter;                                 /* the last: of nothing */
    bf_table *table, *multimap;
    bf_comm *comm; /* there is one rank */
    bf_expression *expression;
    bf_dictionary *dictionary, *other_dictionary; /* strings and f64: as many keys as rows */
    bf_array f64, f32, i64, u16, bools, zeros, out_f64, out_i64, out_bool, picture;
    double doubles[WORLD_N], out_doubles[WORLD_N];
    float floats[WORLD_N];
    int32_t no_offsets[WORLD_N + 1];
    int64_t out_keys[WORLD_N + 1];
    int64_t integers[WORLD_N], out_integers[WORLD_N], nothing[WORLD_N], places[2];
    uint16_t halves[WORLD_N], pixels[WORLD_SIDE * WORLD_SIDE];
    uint8_t truths[WORLD_N], out_truths[WORLD_N];
    bf_value values[WORLD_N];
    bf_feed feed, feed_of_two; /* doubles: read to the end; beside as many in memory */
    char buffer[1 << 23];
    size_t saved[4]; /* sizes of what lies in the quarters of the buffer */
    char saved_states[1 << 12];
    size_t saved_states_size;
    char saved_quantiles[1 << 12];
    size_t saved_quantiles_size;
} world;

static const bf_aggregate world_aggregate = {BF_SUM, BF_F64};
static const bf_histogram_options world_bins =
    BF_HISTOGRAM_OPTIONS(.bins = WORLD_BINS, .range = 1, .lo = 0, .hi = 1, .weights = BF_F64);
static const bf_groups_options world_groups =
    BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1, .aggregates = &world_aggregate);
static const bf_table_options world_table = BF_TABLE_OPTIONS(.key = BF_I64, .value = BF_F64);
static const bf_table_options world_multimap =
    BF_TABLE_OPTIONS(.key = BF_I64, .value = BF_F64, .duplicates = BF_DUPLICATES_KEEP);

static inline void *world_quarter(world *w, size_t i) {
    return w->buffer + i * (sizeof w->buffer / 4);
}

#define CALL(name, ...)                                                                            \
    static bf_status call_##name(world *w) { return name(__VA_ARGS__); }
/* A call whose last argument becomes an object. */
#define CALL_MAKING(name, type, destroy, ...)                                                      \
    static bf_status call_##name(world *w) {                                                       \
        type *made = NULL;                                                                         \
        bf_status status = name(__VA_ARGS__, &made);                                               \
        const bool kept = status == BF_OK || made == NULL;                                         \
        if (status == BF_OK) destroy(made);                                                        \
        return kept ? status : (bf_status)99; /* made something, and failed */                     \
    }

static const bf_array *const *world_inputs(world *w) {
    static _Thread_local const bf_array *inputs[2];
    inputs[0] = inputs[1] = &w->f64;
    return inputs;
}

static inline int world_write(void *arg, const void *bytes, size_t size, const void *key) {
    return arg != NULL || bytes == NULL || size == 0 || key == NULL;
}

CALL(bf_context_synchronize, w->context)
CALL(bf_context_failure, w->context)
CALL(bf_context_watch, w->context, NULL)
CALL(bf_reduce, w->context, BF_SUM, &w->f64, NULL, w->values)
CALL(bf_reduce_async, w->context, BF_SUM, &w->f64, NULL, w->values)
CALL(bf_reduce_shards, w->context, BF_SUM, &w->f64, 1, NULL, w->values)
CALL(bf_dot, w->context, &w->f64, &w->f64, NULL, w->values)
CALL(bf_dot_shards, w->context, &w->f64, &w->f64, 1, NULL, w->values)
CALL(bf_dot_async, w->context, &w->f64, &w->f64, NULL, w->values)
CALL(bf_reduce_pair, w->context, BF_CORR, &w->f64, &w->f64, NULL, w->values)
CALL(bf_reduce_pair_shards, w->context, BF_CORR, &w->f64, &w->f64, 1, NULL, w->values)
CALL(bf_reduce_pair_async, w->context, BF_CORR, &w->f64, &w->f64, NULL, w->values)
CALL_MAKING(bf_state_create, bf_state, bf_state_destroy, w->context, BF_SUM, BF_F64)
CALL(bf_state_clear, w->state)
CALL(bf_state_absorb, w->state, &w->f64)
CALL(bf_state_scan, w->state, &w->f64, NULL, &w->out_f64)
CALL(bf_state_absorb_pair, w->pairs, &w->f64, &w->f64)
CALL(bf_state_seek, w->ordered, (int64_t)1 << 40)
CALL(bf_state_rescale, w->state, 0)
CALL(bf_state_merge, w->state, w->other_state)
CALL(bf_state_append, w->state, w->other_state)
CALL(bf_state_retract, w->state, w->other_state)
CALL(bf_state_absorb_shards, w->state, &w->f64, 1)
CALL(bf_state_absorb_pair_shards, w->pairs, &w->f64, &w->f64, 1)
CALL(bf_state_absorb_feed, w->state, &w->feed)
CALL(bf_histogram_absorb_feed, w->histogram, &w->feed_of_two)
CALL(bf_state_result, w->state, NULL, w->values)
CALL(bf_state_result_of, w->state, BF_MEAN, NULL, w->values)
CALL_MAKING(bf_state_load, bf_state, bf_state_destroy, w->context, world_quarter(w, 0), w->saved[0])
CALL_MAKING(bf_histogram_of, bf_histogram, bf_histogram_destroy, w->context, &w->f64, NULL, NULL)
CALL_MAKING(bf_histogram_create, bf_histogram, bf_histogram_destroy, w->context, BF_F64,
            &world_bins)
CALL(bf_histogram_clear, w->histogram)
CALL(bf_histogram_absorb_shards, w->histogram, &w->f64, &w->f64, 1)
CALL(bf_histogram_absorb, w->histogram, &w->f64, &w->f64)
CALL(bf_histogram_merge, w->histogram, w->other_histogram)
CALL(bf_histogram_retract, w->histogram, w->other_histogram)
CALL(bf_histogram_weights, w->histogram, w->out_doubles)
CALL(bf_histogram_density, w->histogram, w->out_doubles)
CALL_MAKING(bf_histogram_load, bf_histogram, bf_histogram_destroy, w->context, world_quarter(w, 1),
            w->saved[1])
CALL(bf_bincount, w->context, &w->u16, w->out_integers, 1000, w->integers + WORLD_N - 1)
CALL_MAKING(bf_groups_create, bf_groups, bf_groups_destroy, w->context, &world_groups)
CALL(bf_groups_clear, w->groups)
CALL(bf_groups_merge, w->groups, w->other_groups)
CALL(bf_groups_retract, w->groups, w->other_groups)
CALL(bf_groups_rescale, w->groups, 0, NULL)
CALL(bf_groups_result, w->groups, 0, NULL, w->values)
CALL(bf_groups_shares, w->groups, 0, NULL, NULL, w->values)
CALL(bf_groups_save_size, w->groups, &w->saved[2])
CALL(bf_groups_save, w->groups, world_quarter(w, 2))
CALL(bf_groups_save_pieces, w->groups, 0, 1, 1, world_write, NULL)
CALL_MAKING(bf_groups_load, bf_groups, bf_groups_destroy, w->context, world_quarter(w, 2),
            w->saved[2])
CALL_MAKING(bf_join, bf_pairs, bf_pairs_destroy, w->context, &w->i64, &w->i64, 0)
CALL_MAKING(bf_table_create, bf_table, bf_table_destroy, w->context, &world_table)
CALL_MAKING(bf_table_copy, bf_table, bf_table_destroy, w->context, w->table)
CALL(bf_table_clear, w->table)
CALL(bf_table_reserve, w->table, 1000)
CALL(bf_table_insert, w->table, &w->i64, &w->f64)
CALL(bf_table_find, w->table, &w->i64, &w->out_f64, &w->out_bool)
CALL(bf_table_count, w->table, &w->i64, &w->out_i64)
CALL(bf_table_erase, w->table, &w->i64, NULL)
CALL(bf_table_insert_one, w->table, w->integers, w->doubles)
CALL(bf_table_find_one, w->table, w->integers, w->out_doubles, NULL)
CALL(bf_table_erase_one, w->table, w->integers, NULL)
CALL_MAKING(bf_table_load, bf_table, bf_table_destroy, w->context, world_quarter(w, 3), w->saved[3])
CALL_MAKING(bf_comm_create, bf_comm, bf_comm_destroy, w->context, NULL)
CALL_MAKING(bf_comm_create_local, bf_comm, bf_comm_destroy, &w->context, 1)
CALL(bf_comm_merge_states, w->comm, &w->state, 1)
CALL(bf_comm_merge_histogram, w->comm, w->histogram)
CALL(bf_comm_merge_many, w->comm, w->states)
CALL(bf_comm_merge_quantiles, w->comm, w->quantiles)
CALL(bf_comm_exchange_groups, w->comm, w->groups)
CALL(bf_comm_allreduce, w->comm, &w->f64, &w->out_f64)
CALL(bf_comm_reduce_scatter, w->comm, &w->f64, &w->out_f64)
CALL(bf_comm_reduce, w->comm, &w->f64, &w->out_f64, 0)
static const char *const world_names[] = {"a", "b"};
static const bf_dtype world_dtypes[] = {BF_F64, BF_F64};

/* Rows of empty strings and doubles. */
static const bf_column *const *world_columns(world *w) {
    static _Thread_local bf_strings strings;
    static _Thread_local bf_column columns[2];
    static _Thread_local const bf_column *at[2];
    strings = (bf_strings){.size = sizeof strings,
                           .count = WORLD_N,
                           .offset = BF_I32,
                           .offsets = w->no_offsets,
                           .bytes = ""};
    columns[0] = (bf_column){.size = sizeof *columns, .strings = &strings};
    columns[1] = (bf_column){.size = sizeof *columns, .numbers = &w->f64};
    at[0] = &columns[0], at[1] = &columns[1];
    return at;
}

static const bf_dtype world_key[] = {BF_NONE, BF_F64};

/* An output for each key, of i64 or f64, or one more. */
static bf_array world_keys(world *w, bf_dtype dtype, int more) {
    return bf_array_of(dtype, w->out_keys, bf_dictionary_size(w->dictionary) + more);
}

#define CALL_KEYS(name, dtype, more, ...)                                                          \
    static bf_status call_##name(world *w) {                                                       \
        const bf_array keys = world_keys(w, dtype, more);                                          \
        return name(w->dictionary, __VA_ARGS__);                                                   \
    }
CALL_MAKING(bf_dictionary_create, bf_dictionary, bf_dictionary_destroy, w->context, 2, world_key)
CALL(bf_dictionary_encode, w->dictionary, world_columns(w), &w->out_i64)
CALL(bf_dictionary_find, w->dictionary, world_columns(w), &w->out_i64)
CALL(bf_dictionary_merge, w->dictionary, w->other_dictionary, NULL)
CALL_KEYS(bf_dictionary_ranks, BF_I64, 0, &keys)
CALL_KEYS(bf_dictionary_values, BF_F64, 0, 1, NULL, &keys, NULL)
CALL_KEYS(bf_dictionary_strings, BF_I64, 1, 0, NULL, &keys, NULL, 0, NULL)

static const bf_column *const *world_numbers(world *w) {
    static _Thread_local bf_column column;
    static _Thread_local const bf_column *at[2];
    column = (bf_column){.size = sizeof column, .numbers = &w->f64};
    at[0] = at[1] = &column;
    return at;
}

static bf_status call_bf_expression_names(world *w) {
    char names[sizeof "a*b + 1"];
    int count;
    return bf_expression_names(w->context, "a*b + 1", names, NULL, &count, NULL);
}

CALL_MAKING(bf_expression_parse, bf_expression, bf_expression_destroy, w->context, "a*b + 1",
            world_names, world_dtypes, 2, NULL, NULL)
CALL(bf_expression_eval, w->expression, world_inputs(w), &w->out_f64)
CALL(bf_expression_eval_columns, w->expression, world_numbers(w), &w->out_f64, NULL)

static bf_status call_bf_expression_eval_strings(world *w) {
    bf_expression *e = NULL;
    bf_strings made;
    bf_status status =
        bf_expression_parse(w->context, "concat('a', 'b')", NULL, NULL, 0, NULL, NULL, &e);
    if (status == BF_OK) status = bf_expression_eval_strings(e, NULL, 3, &made, NULL);
    bf_expression_destroy(e);
    return status;
}

CALL(bf_state_absorb_expression, w->state, w->expression, world_inputs(w))
CALL(bf_map, w->context, BF_MAP_ADD, world_inputs(w), 2, NULL, &w->out_f64)
CALL(bf_map_async, w->context, BF_MAP_ADD, world_inputs(w), 2, NULL, &w->out_f64)
CALL(bf_memory_copy, w->context, w->out_doubles, w->doubles, sizeof w->doubles)

static bf_status call_bf_array_to_dlpack(world *w) {
    struct DLManagedTensorVersioned *tensor;
    bf_status status = bf_array_to_dlpack(w->context, &w->f64, 0, NULL, NULL, &tensor);
    if (status == BF_OK) tensor->deleter(tensor);
    return status;
}

static bf_status call_bf_array_to_dlpack_unversioned(world *w) {
    struct DLManagedTensor *tensor;
    bf_status status = bf_array_to_dlpack_unversioned(w->context, &w->f64, NULL, NULL, &tensor);
    if (status == BF_OK) tensor->deleter(tensor);
    return status;
}

static bf_status call_bf_array_from_dlpack(world *w) {
    struct DLManagedTensorVersioned t = {.version = {.major = 1}};
    bf_array array;
    t.tensor = (dl_tensor){.data = w->doubles, .device = {1, 0}, .dtype = {2, 64, 1}};
    return bf_array_from_dlpack(w->context, &t, &array, NULL);
}

static bf_status call_bf_array_from_dlpack_unversioned(world *w) {
    struct DLManagedTensor t = {
        .tensor = {.data = w->doubles, .device = {1, 0}, .dtype = {2, 64, 1}}};
    bf_array array;
    return bf_array_from_dlpack_unversioned(w->context, &t, &array);
}

static void world_release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void world_release_array(struct ArrowArray *array) { array->release = NULL; }

/* A column of w->doubles. */
typedef struct world_column {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[2];
} world_column;

static void world_arrow(world *w, world_column *c) {
    *c = (world_column){.schema = {.format = "g", .release = world_release_schema},
                        .array = {.length = 10, .n_buffers = 2, .release = world_release_array},
                        .buffers = {NULL, w->doubles}};
    c->array.buffers = c->buffers;
}

static bf_status call_bf_array_from_arrow(world *w) {
    world_column c;
    bf_array array;
    world_arrow(w, &c);
    return bf_array_from_arrow(w->context, &c.schema, &c.array, &array, NULL);
}

static bf_status call_bf_array_from_arrow_device(world *w) {
    world_column c;
    bf_array array;
    world_arrow(w, &c);
    struct ArrowDeviceArray on_host = {.array = c.array, .device_type = 1};
    return bf_array_from_arrow_device(w->context, &c.schema, &on_host, &array, NULL);
}

static bf_status call_bf_array_copy_arrow(world *w) {
    world_column c;
    int64_t n;
    world_arrow(w, &c);
    return bf_array_copy_arrow(w->context, &c.schema, &c.array, &w->out_f64, &n);
}

static bf_status call_bf_array_to_arrow(world *w) {
    world_column c;
    bf_status status = bf_array_to_arrow(w->context, &w->f64, NULL, NULL, &c.schema, &c.array);
    if (status == BF_OK) c.array.release(&c.array);
    return status;
}

static bf_status call_bf_state_set_words(world *w) {
    bf_words_info info = {.size = sizeof info};
    int64_t words[256]; /* more than a sum has */
    bf_status status = bf_state_words_info(w->state, &info);
    if (status == BF_OK) status = bf_state_get_words(w->state, words);
    return status == BF_OK ? bf_state_set_words(w->state, words, info.count, 1) : status;
}

static bf_status call_bf_context_set_stream(world *w) {
    bf_status status = bf_context_set_stream(w->context, NULL);
    return status == BF_E_DEVICE ? BF_OK : status; /* there is no GPU */
}

static bf_status call_bf_context_leave_stream(world *w) {
    bf_status status = bf_context_leave_stream(w->context);
    return status == BF_E_DEVICE ? BF_OK : status; /* there is no GPU */
}

static bf_status without_gpu(bf_status status) { return status == BF_E_DEVICE ? BF_OK : status; }

static bf_status call_bf_comm_allreduce_async(world *w) {
    return without_gpu(bf_comm_allreduce_async(w->comm, &w->f64, &w->out_f64));
}

static bf_status call_bf_comm_reduce_scatter_async(world *w) {
    return without_gpu(bf_comm_reduce_scatter_async(w->comm, &w->f64, &w->out_f64));
}

static bf_status call_bf_comm_reduce_async(world *w) {
    return without_gpu(bf_comm_reduce_async(w->comm, &w->f64, &w->out_f64, 0));
}

static bf_status call_bf_groups_split(world *w) {
    bf_groups *parts[2] = {NULL, NULL};
    bf_status status = bf_groups_split(w->groups, 2, parts);
    bool kept = status == BF_OK || (parts[0] == NULL && parts[1] == NULL);
    bf_groups_destroy(parts[0]);
    bf_groups_destroy(parts[1]);
    return kept ? status : (bf_status)99;
}

static bf_status call_bf_table_save(world *w) {
    bf_status status = bf_table_save(w->table, world_quarter(w, 3));
    if (status == BF_OK) w->saved[3] = bf_table_save_size(w->table);
    return status;
}

static bf_status call_bf_memory_allocate(world *w) {
    void *made = NULL;
    bf_status status = bf_memory_allocate(w->context, 1000, &made);
    bf_memory_free(w->context, made);
    return status;
}

static bf_status call_bf_describe(world *w) {
    bf_description d = {.size = sizeof d};
    return bf_describe(w->context, &w->f64, NULL, &d);
}

static bf_status call_bf_state_description(world *w) {
    bf_description d = {.size = sizeof d};
    return bf_state_description(w->description, NULL, &d);
}

/* The calls of axis.h, of which w->f64 makes one result. */
typedef struct world_results {
    bf_array value, values, matrix, places;
    int axis;
    int64_t runs;
} world_results;

static world_results world_result(world *w) {
    world_results r = {.axis = 0, .places = bf_array_of(BF_I64, w->places, 2)};
    r.value = (bf_array){w->out_doubles, BF_F64, 0, {0}, {0}};
    r.values = bf_array_of(BF_F64, w->out_doubles, 1);
    r.matrix = (bf_array){w->out_doubles, BF_F64, 2, {1, 1}, {1, 1}};
    return r;
}

#define CALL_AXIS(name, ...)                                                                       \
    static bf_status call_##name(world *w) {                                                       \
        world_results r = world_result(w);                                                         \
        return name(w->context, __VA_ARGS__);                                                      \
    }
CALL_AXIS(bf_reduce_axes, BF_SUM, &w->f64, &r.axis, 1, NULL, &r.value, NULL)
CALL_AXIS(bf_reduce_pair_axes, BF_CORR, &w->f64, &w->f64, &r.axis, 1, NULL, &r.value, NULL)
CALL_AXIS(bf_dot_axes, &w->f64, &w->f64, &r.axis, 1, NULL, &r.value, NULL)
CALL_AXIS(bf_reduce_segments, BF_SUM, &w->f64, &r.places, NULL, &r.values, NULL)
CALL_AXIS(bf_reduce_pair_segments, BF_CORR, &w->f64, &w->f64, &r.places, NULL, &r.values, NULL)
CALL_AXIS(bf_dot_segments, &w->f64, &w->f64, &r.places, NULL, &r.values, NULL)
CALL_AXIS(bf_reduce_index, BF_SUM, &w->f64, &w->zeros, NULL, &r.values, NULL)
CALL_AXIS(bf_reduce_pair_index, BF_CORR, &w->f64, &w->f64, &w->zeros, NULL, &r.values, NULL)
CALL_AXIS(bf_dot_index, &w->f64, &w->f64, &w->zeros, NULL, &r.values, NULL)
CALL_AXIS(bf_cov_matrix, BF_COV, &w->f64, 1, NULL, &r.matrix)
CALL_AXIS(bf_reduce_runs, BF_SUM, &w->zeros, &w->f64, NULL, &r.places, &r.values, NULL, &r.runs)
CALL_AXIS(bf_reduce_axes_async, BF_SUM, &w->f64, &r.axis, 1, NULL, &r.value, NULL)
CALL_AXIS(bf_reduce_pair_axes_async, BF_DOT, &w->f64, &w->f64, &r.axis, 1, NULL, &r.value, NULL)
CALL_AXIS(bf_reduce_segments_async, BF_SUM, &w->f64, &r.places, NULL, &r.values, NULL, &r.runs)
CALL_AXIS(bf_reduce_index_async, BF_SUM, &w->f64, &w->zeros, NULL, &r.values, NULL, &r.runs)
#undef CALL_AXIS

/* The calls of order.h. */
#define CALL_ORDER(name, ...)                                                                      \
    static bf_status call_##name(world *w) {                                                       \
        static const double half = 0.5;                                                            \
        static const int64_t first = 0;                                                            \
        world_results r = world_result(w);                                                         \
        bf_array one = {w->out_doubles, BF_F64, 1, {1}, {1}};                                      \
        (void)half, (void)first, (void)one, (void)r;                                               \
        return name(w->context, __VA_ARGS__);                                                      \
    }
CALL_ORDER(bf_sort, &w->f64, 0, NULL, &w->out_f64, &w->out_i64)
CALL_ORDER(bf_sort_async, &w->f64, 0, NULL, &w->out_f64, &w->out_i64)
CALL_ORDER(bf_sort_segments, &w->f64, &r.places, NULL, &w->out_f64, NULL)
CALL_ORDER(bf_sort_rows, &w->out_f64, &w->out_i64, 1, NULL)
CALL_ORDER(bf_rank, &w->f64, 0, BF_RANK_DENSE, NULL, &w->out_i64)
CALL_ORDER(bf_scan, BF_SUM, &w->f64, 0, NULL, &w->out_f64)
CALL_ORDER(bf_scan_async, BF_SUM, &w->f64, 0, NULL, &w->out_f64)
CALL_ORDER(bf_scan_segments, BF_SUM, &w->f64, &r.places, NULL, &w->out_f64)
CALL_ORDER(bf_rolling, BF_SUM, &w->f64, 0,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_rolling_async, BF_SUM, &w->f64, 0,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_rolling_pair, BF_CORR, &w->f64, &w->f64, 0,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_rolling_count, &w->f64, 0,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_rolling_count_async, &w->f64, 0,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_rolling_median, &w->f64, 0,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_rolling_quantile, &w->f64, 0, &half, 1,
           &(bf_rolling_options){.size = sizeof(bf_rolling_options), .window = 2}, &w->out_f64)
CALL_ORDER(bf_top, &w->f64, 0, 1, NULL, &one, NULL)
CALL_ORDER(bf_quantile_axes, &w->f64, &r.axis, 1, &half, 1, NULL, &one)
CALL_ORDER(bf_quantile_axes_async, &w->f64, &r.axis, 1, &half, 1, NULL, &one)
CALL_ORDER(bf_quantile_segments, &w->f64, &r.places, &half, 1, NULL,
           &(bf_array){w->out_doubles, BF_F64, 2, {1, 1}, {1, 1}})
CALL_ORDER(bf_quantile_index, &w->f64, &w->zeros, &half, 1, NULL,
           &(bf_array){w->out_doubles, BF_F64, 2, {1, 1}, {1, 1}})
CALL_ORDER(bf_quantile_groups, &w->f64, &w->zeros, &half, 1, NULL, NULL,
           &(bf_array){w->out_doubles, BF_F64, 2, {1, 1}, {1, 1}}, &r.runs)
CALL_ORDER(bf_median_axes, &w->f64, &r.axis, 1, NULL, &r.value)
CALL_ORDER(bf_median_axes_async, &w->f64, &r.axis, 1, NULL, &r.value)
CALL_ORDER(bf_median_segments, &w->f64, &r.places, NULL, &one)
CALL_ORDER(bf_median_index, &w->f64, &w->zeros, NULL, &one)
CALL_ORDER(bf_median_groups, &w->f64, &w->zeros, NULL, NULL, &one, &r.runs)
CALL_ORDER(bf_nth_axes, &w->f64, &r.axis, 1, &first, 1, NULL, &one)
CALL_ORDER(bf_searchsorted, &w->f64, &w->f64, 0, NULL, &w->out_i64)
CALL_ORDER(bf_is_sorted, &w->f64, NULL, &r.axis)
CALL_ORDER(bf_unique, &w->zeros, NULL, NULL, NULL, &r.runs)
CALL_ORDER(bf_mode, &w->zeros, NULL, w->values, NULL)
#undef CALL_ORDER

CALL_MAKING(bf_sorter_create, bf_sorter, bf_sorter_destroy, w->context,
            &BF_SORTER_OPTIONS(.dtype = BF_F64))
CALL(bf_sorter_add, w->sorter, &w->f64, NULL)
CALL(bf_sorter_end, w->ended_sorter, NULL)
CALL(bf_sorter_next, w->ended_sorter, &w->out_f64, NULL, &(int64_t){0})
CALL_MAKING(bf_quantiles_create, bf_quantiles, bf_quantiles_destroy, w->context, BF_F64, NULL, 0,
            NULL)
CALL(bf_quantiles_absorb, w->quantiles, &w->f64)
CALL(bf_quantiles_merge, w->quantiles, w->other_quantiles)
CALL(bf_quantiles_next, w->found_quantiles, &(int){0})
CALL(bf_quantiles_result, w->found_quantiles, w->values)
CALL_MAKING(bf_quantiles_load, bf_quantiles, bf_quantiles_destroy, w->context, w->saved_quantiles,
            w->saved_quantiles_size)

#define CALL_STATES(name, ...)                                                                     \
    static bf_status call_##name(world *w) {                                                       \
        world_results r = world_result(w);                                                         \
        (void)r;                                                                                   \
        return name(w->states, __VA_ARGS__);                                                       \
    }
CALL_MAKING(bf_states_create, bf_states, bf_states_destroy, w->context, BF_SUM, BF_F64, 1)
CALL(bf_states_clear, w->states)
CALL_STATES(bf_states_absorb_axes, &w->f64, &r.axis, 1)
CALL_STATES(bf_states_absorb_segments, &w->f64, &r.places)
CALL_STATES(bf_states_scan, &w->f64, 0, NULL, &w->out_f64)
CALL_STATES(bf_states_scan_segments, &w->f64, &r.places, NULL, &w->out_f64)
CALL_STATES(bf_states_absorb_index, &w->f64, &w->zeros)
CALL(bf_states_absorb_pair_axes, w->dot_states, &w->f64, &w->f64, &(int){0}, 1)
static bf_status call_bf_states_absorb_pair_segments(world *w) {
    world_results r = world_result(w);
    return bf_states_absorb_pair_segments(w->dot_states, &w->f64, &w->f64, &r.places);
}
CALL(bf_states_absorb_pair_index, w->dot_states, &w->f64, &w->f64, &w->zeros)
CALL(bf_states_seek, w->described_states, &(bf_array){w->zeros.data, BF_I64, 1, {1}, {1}})
CALL(bf_states_merge, w->states, w->other_states)
CALL(bf_states_append, w->states, w->other_states)
CALL(bf_states_description, w->described_states, NULL,
     &(bf_descriptions){.size = sizeof(bf_descriptions)})
CALL_STATES(bf_states_result, NULL, &r.values, NULL)
CALL_STATES(bf_states_result_of, BF_MEAN, NULL, &r.values, NULL)
CALL_STATES(bf_states_counts, &(bf_array){w->out_integers, BF_I64, 1, {1}, {1}})
CALL(bf_states_save_size, w->states, &w->saved_states_size)
CALL(bf_states_save, w->states, w->saved_states)
CALL_MAKING(bf_states_load, bf_states, bf_states_destroy, w->context, w->saved_states,
            w->saved_states_size)
#undef CALL_STATES

static bf_status call_bf_histogram_async(world *w) {
    static const bf_histogram_options bins =
        BF_HISTOGRAM_OPTIONS(.bins = WORLD_BINS, .range = 1, .lo = 0, .hi = 1);
    bf_histogram *plain = NULL;
    bf_status status = bf_histogram_create(w->context, BF_F64, &bins, &plain);
    if (status == BF_OK) status = bf_histogram_async(plain, &w->f64, w->out_integers);
    bf_histogram_destroy(plain);
    return status;
}

static bf_status call_bf_histogram_edges_async(world *w) {
    return bf_histogram_edges_async(w->histogram, w->out_doubles);
}

static bf_status call_bf_groups_absorb(world *w) {
    const bf_array *values[] = {&w->f64};
    return bf_groups_absorb(w->groups, &w->i64, values);
}

static bf_status call_bf_groups_aggregate(world *w) {
    bf_array values = bf_array_of(BF_F64, w->out_doubles, bf_groups_size(w->groups));
    return bf_groups_aggregate(w->groups, 0, NULL, &values, NULL);
}

/* To the keys that they have. */
static bf_status call_bf_groups_renumber(world *w) {
    static int64_t own[sizeof w->out_integers / sizeof *w->out_integers];
    const bf_array keys = bf_array_of(BF_I64, own, bf_groups_size(w->groups));
    const bf_status status = bf_groups_list(w->groups, &keys, NULL);
    return status == BF_OK ? bf_groups_renumber(w->groups, &keys) : status;
}

static bf_status call_bf_groups_list(world *w) {
    bf_array keys = bf_array_of(BF_I64, w->out_integers, bf_groups_size(w->groups));
    return bf_groups_list(w->groups, &keys, NULL);
}

static bf_status call_bf_table_export(world *w) {
    bf_array keys = bf_array_of(BF_I64, w->out_integers, bf_table_size(w->table));
    bf_array values = bf_array_of(BF_F64, w->out_doubles, bf_table_size(w->table));
    return bf_table_export(w->table, &keys, &values);
}

static bf_status call_bf_table_find_all(world *w) {
    bf_array key = bf_array_of(BF_I64, w->integers, 1);
    bf_array values = bf_array_of(BF_F64, w->out_doubles, 1);
    return bf_table_find_all(w->multimap, &key, &values);
}

static bf_julia_params world_julia(void) {
    bf_julia_params params;
    bf_julia_defaults(&params);
    params.width = params.height = WORLD_SIDE;
    return params;
}

static bf_status call_bf_julia(world *w) {
    const bf_julia_params params = world_julia();
    return bf_julia(w->context, &params, 0, 0, &w->picture);
}

static bf_status call_bf_julia_async(world *w) {
    const bf_julia_params params = world_julia();
    return bf_julia_async(w->context, &params, 0, 0, &w->picture);
}

/* The simple calls: one of the headers' lists stands for all of its dtypes. */
#define CALL_SIMPLE(name, ...)                                                                     \
    static bf_status call_##name(world *w) {                                                       \
        void *out = w->values;                                                                     \
        return name(w->context, (const void *)w->truths, __VA_ARGS__, out);                        \
    }
#define BF_X(D, number, X, bytes, T, kind, S, R)                                                   \
    CALL_SIMPLE(bf_sum_##X, 64)                                                                    \
    CALL_SIMPLE(bf_sumsq_##X, 64)                                                                  \
    CALL_SIMPLE(bf_prod_##X, 64)                                                                   \
    CALL_SIMPLE(bf_norm_##X, 64)                                                                   \
    CALL_SIMPLE(bf_mean_##X, 64)                                                                   \
    CALL_SIMPLE(bf_var_##X, 64, 0)                                                                 \
    CALL_SIMPLE(bf_std_##X, 64, 0)                                                                 \
    CALL_SIMPLE(bf_min_##X, 64)                                                                    \
    CALL_SIMPLE(bf_max_##X, 64)                                                                    \
    CALL_SIMPLE(bf_argmin_##X, 64)                                                                 \
    CALL_SIMPLE(bf_argmax_##X, 64)                                                                 \
    CALL_SIMPLE(bf_dot_##X, (const void *)w->truths, 64)
BF_DTYPE_LIST(BF_X)
#undef BF_X
#define BF_X(X, D, T)                                                                              \
    CALL_SIMPLE(bf_add_##X, (const void *)w->truths, 64)                                           \
    CALL_SIMPLE(bf_sub_##X, (const void *)w->truths, 64)                                           \
    CALL_SIMPLE(bf_mul_##X, (const void *)w->truths, 64)                                           \
    CALL_SIMPLE(bf_div_##X, (const void *)w->truths, 64)                                           \
    CALL_SIMPLE(bf_fma_##X, (const void *)w->truths, (const void *)w->truths, 64)                  \
    CALL_SIMPLE(bf_sqrt_##X, 64)
BF_MAP_SIMPLE_LIST(BF_X)
#undef BF_X

typedef struct context_call {
    const char *name;
    bf_status (*call)(world *w);
} context_call;

#define ENTRY(name)                                                                                \
    { #name, call_##name }
static const context_call context_calls[] = {
    /* clearing comes first, so that the calls after it find something */
    ENTRY(bf_state_clear),
    ENTRY(bf_histogram_clear),
    ENTRY(bf_groups_clear),
    ENTRY(bf_table_clear),
    ENTRY(bf_context_synchronize),
    ENTRY(bf_context_failure),
    ENTRY(bf_context_watch),
    ENTRY(bf_context_set_stream),
    ENTRY(bf_context_leave_stream),
    ENTRY(bf_memory_allocate),
    ENTRY(bf_memory_copy),
    ENTRY(bf_array_to_dlpack),
    ENTRY(bf_array_to_dlpack_unversioned),
    ENTRY(bf_array_from_dlpack),
    ENTRY(bf_array_from_dlpack_unversioned),
    ENTRY(bf_array_from_arrow),
    ENTRY(bf_array_from_arrow_device),
    ENTRY(bf_array_copy_arrow),
    ENTRY(bf_array_to_arrow),
    ENTRY(bf_reduce),
    ENTRY(bf_reduce_async),
    ENTRY(bf_reduce_shards),
    ENTRY(bf_reduce_pair),
    ENTRY(bf_reduce_pair_shards),
    ENTRY(bf_reduce_pair_async),
    ENTRY(bf_cov_matrix),
    ENTRY(bf_dot),
    ENTRY(bf_dot_shards),
    ENTRY(bf_dot_async),
    ENTRY(bf_reduce_axes),
    ENTRY(bf_reduce_pair_axes),
    ENTRY(bf_dot_axes),
    ENTRY(bf_reduce_segments),
    ENTRY(bf_reduce_pair_segments),
    ENTRY(bf_dot_segments),
    ENTRY(bf_reduce_index),
    ENTRY(bf_reduce_pair_index),
    ENTRY(bf_dot_index),
    ENTRY(bf_reduce_runs),
    ENTRY(bf_reduce_axes_async),
    ENTRY(bf_reduce_pair_axes_async),
    ENTRY(bf_reduce_segments_async),
    ENTRY(bf_reduce_index_async),
    ENTRY(bf_sort),
    ENTRY(bf_sort_async),
    ENTRY(bf_sort_segments),
    ENTRY(bf_sort_rows),
    ENTRY(bf_rank),
    ENTRY(bf_scan),
    ENTRY(bf_scan_async),
    ENTRY(bf_scan_segments),
    ENTRY(bf_rolling),
    ENTRY(bf_rolling_async),
    ENTRY(bf_rolling_pair),
    ENTRY(bf_rolling_count),
    ENTRY(bf_rolling_count_async),
    ENTRY(bf_rolling_median),
    ENTRY(bf_rolling_quantile),
    ENTRY(bf_top),
    ENTRY(bf_quantile_axes),
    ENTRY(bf_quantile_axes_async),
    ENTRY(bf_quantile_segments),
    ENTRY(bf_quantile_index),
    ENTRY(bf_quantile_groups),
    ENTRY(bf_median_axes),
    ENTRY(bf_median_axes_async),
    ENTRY(bf_median_segments),
    ENTRY(bf_median_index),
    ENTRY(bf_median_groups),
    ENTRY(bf_nth_axes),
    ENTRY(bf_searchsorted),
    ENTRY(bf_is_sorted),
    ENTRY(bf_unique),
    ENTRY(bf_mode),
    ENTRY(bf_sorter_create),
    ENTRY(bf_sorter_add),
    ENTRY(bf_sorter_end),
    ENTRY(bf_sorter_next),
    ENTRY(bf_quantiles_create),
    ENTRY(bf_quantiles_absorb),
    ENTRY(bf_quantiles_merge),
    ENTRY(bf_quantiles_next),
    ENTRY(bf_quantiles_result),
    ENTRY(bf_quantiles_load),
    ENTRY(bf_states_create),
    ENTRY(bf_states_clear),
    ENTRY(bf_states_absorb_axes),
    ENTRY(bf_states_absorb_segments),
    ENTRY(bf_states_scan),
    ENTRY(bf_states_scan_segments),
    ENTRY(bf_states_absorb_index),
    ENTRY(bf_states_absorb_pair_axes),
    ENTRY(bf_states_absorb_pair_segments),
    ENTRY(bf_states_absorb_pair_index),
    ENTRY(bf_states_seek),
    ENTRY(bf_states_merge),
    ENTRY(bf_states_append),
    ENTRY(bf_states_result),
    ENTRY(bf_states_result_of),
    ENTRY(bf_states_description),
    ENTRY(bf_states_counts),
    ENTRY(bf_states_save_size),
    ENTRY(bf_states_save),
    ENTRY(bf_states_load),
    ENTRY(bf_describe),
    ENTRY(bf_state_create),
    ENTRY(bf_state_absorb),
    ENTRY(bf_state_scan),
    ENTRY(bf_state_absorb_pair),
    ENTRY(bf_state_absorb_shards),
    ENTRY(bf_state_absorb_pair_shards),
    ENTRY(bf_state_seek),
    ENTRY(bf_state_rescale),
    ENTRY(bf_state_merge),
    ENTRY(bf_state_append),
    ENTRY(bf_state_retract),
    ENTRY(bf_state_set_words),
    ENTRY(bf_state_absorb_feed),
    ENTRY(bf_state_result),
    ENTRY(bf_state_result_of),
    ENTRY(bf_state_description),
    ENTRY(bf_state_load),
    ENTRY(bf_histogram_of),
    ENTRY(bf_histogram_create),
    ENTRY(bf_histogram_absorb),
    ENTRY(bf_histogram_absorb_shards),
    ENTRY(bf_histogram_absorb_feed),
    ENTRY(bf_histogram_merge),
    ENTRY(bf_histogram_retract),
    ENTRY(bf_histogram_async),
    ENTRY(bf_histogram_edges_async),
    ENTRY(bf_histogram_weights),
    ENTRY(bf_histogram_density),
    ENTRY(bf_histogram_load),
    ENTRY(bf_bincount),
    ENTRY(bf_groups_create),
    ENTRY(bf_groups_absorb),
    ENTRY(bf_groups_merge),
    ENTRY(bf_groups_retract),
    ENTRY(bf_groups_rescale),
    ENTRY(bf_groups_renumber),
    ENTRY(bf_groups_split),
    ENTRY(bf_comm_create),
    ENTRY(bf_comm_create_local),
    ENTRY(bf_comm_merge_states),
    ENTRY(bf_comm_merge_histogram),
    ENTRY(bf_comm_merge_many),
    ENTRY(bf_comm_merge_quantiles),
    ENTRY(bf_comm_exchange_groups),
    ENTRY(bf_comm_allreduce),
    ENTRY(bf_comm_reduce_scatter),
    ENTRY(bf_comm_reduce),
    ENTRY(bf_comm_allreduce_async),
    ENTRY(bf_comm_reduce_scatter_async),
    ENTRY(bf_comm_reduce_async),
    ENTRY(bf_groups_list),
    ENTRY(bf_groups_result),
    ENTRY(bf_groups_shares),
    ENTRY(bf_groups_aggregate),
    ENTRY(bf_groups_save_size),
    ENTRY(bf_groups_save),
    ENTRY(bf_groups_save_pieces),
    ENTRY(bf_groups_load),
    ENTRY(bf_join),
    ENTRY(bf_table_create),
    ENTRY(bf_table_reserve),
    ENTRY(bf_table_insert),
    ENTRY(bf_table_copy),
    ENTRY(bf_table_find),
    ENTRY(bf_table_count),
    ENTRY(bf_table_find_all),
    ENTRY(bf_table_export),
    ENTRY(bf_table_insert_one),
    ENTRY(bf_table_find_one),
    ENTRY(bf_table_save),
    ENTRY(bf_table_load),
    ENTRY(bf_table_erase_one),
    ENTRY(bf_table_erase),
    ENTRY(bf_dictionary_create),
    ENTRY(bf_dictionary_encode),
    ENTRY(bf_dictionary_find),
    ENTRY(bf_dictionary_merge),
    ENTRY(bf_dictionary_ranks),
    ENTRY(bf_dictionary_values),
    ENTRY(bf_dictionary_strings),
    ENTRY(bf_expression_parse),
    ENTRY(bf_expression_names),
    ENTRY(bf_expression_eval),
    ENTRY(bf_expression_eval_columns),
    ENTRY(bf_expression_eval_strings),
    ENTRY(bf_state_absorb_expression),
    ENTRY(bf_map),
    ENTRY(bf_map_async),
    ENTRY(bf_julia),
    ENTRY(bf_julia_async),
#define BF_X(D, number, X, bytes, T, kind, S, R)                                                   \
    ENTRY(bf_sum_##X), ENTRY(bf_sumsq_##X), ENTRY(bf_prod_##X), ENTRY(bf_norm_##X),                \
        ENTRY(bf_mean_##X), ENTRY(bf_var_##X), ENTRY(bf_std_##X), ENTRY(bf_min_##X),               \
        ENTRY(bf_max_##X), ENTRY(bf_argmin_##X), ENTRY(bf_argmax_##X), ENTRY(bf_dot_##X),
    BF_DTYPE_LIST(BF_X)
#undef BF_X
#define BF_X(X, D, T)                                                                              \
    ENTRY(bf_add_##X), ENTRY(bf_sub_##X), ENTRY(bf_mul_##X), ENTRY(bf_div_##X), ENTRY(bf_fma_##X), \
        ENTRY(bf_sqrt_##X),
        BF_MAP_SIMPLE_LIST(BF_X)
#undef BF_X
};
enum {
    CONTEXT_CALLS = sizeof context_calls / sizeof *context_calls,
    SIMPLE_CALLS = 13 * 12 + 2 * 6, /* the last of them */
};

/* Medians of no elements yet, and of nothing. */
static inline bf_status make_quantiles(world *w) {
    static const bf_value empty = {.dtype = BF_F64};
    int done;
    bf_status status = bf_quantiles_create(w->context, BF_F64, NULL, 0, NULL, &w->quantiles);
    if (status == BF_OK)
        status = bf_quantiles_create(w->context, BF_F64, NULL, 0, NULL, &w->other_quantiles);
    if (status == BF_OK)
        status = bf_quantiles_create(w->context, BF_F64, NULL, 0,
                                     &BF_ORDER_OPTIONS(.empty = &empty), &w->found_quantiles);
    return status == BF_OK ? bf_quantiles_next(w->found_quantiles, &done) : status;
}

static inline bf_status make_sorters(world *w) {
    const bf_sorter_options options = BF_SORTER_OPTIONS(.dtype = BF_F64);
    bf_status status = bf_sorter_create(w->context, &options, &w->sorter);
    if (status == BF_OK) status = bf_sorter_create(w->context, &options, &w->ended_sorter);
    return status;
}

static inline bf_status make_objects(world *w) {
    bf_array one_key = bf_array_of(BF_I64, w->integers, 1);
    bf_array one_value = bf_array_of(BF_F64, w->doubles, 1);
    bf_status status = bf_state_create(w->context, BF_SUM, BF_F64, &w->state);
    if (status == BF_OK) status = bf_state_create(w->context, BF_SUM, BF_F64, &w->other_state);
    if (status == BF_OK) status = bf_state_create(w->context, BF_DOT, BF_F64, &w->pairs);
    if (status == BF_OK) status = bf_state_create(w->context, BF_DESCRIBE, BF_F64, &w->description);
    if (status == BF_OK) status = bf_state_create(w->context, BF_ARGMIN, BF_F64, &w->ordered);
    if (status == BF_OK)
        status = bf_histogram_create(w->context, BF_F64, &world_bins, &w->histogram);
    if (status == BF_OK)
        status = bf_histogram_create(w->context, BF_F64, &world_bins, &w->other_histogram);
    if (status == BF_OK) status = bf_groups_create(w->context, &world_groups, &w->groups);
    if (status == BF_OK) status = bf_groups_create(w->context, &world_groups, &w->other_groups);
    if (status == BF_OK) status = bf_states_create(w->context, BF_SUM, BF_F64, 1, &w->states);
    if (status == BF_OK) status = bf_states_create(w->context, BF_SUM, BF_F64, 1, &w->other_states);
    if (status == BF_OK) status = bf_states_create(w->context, BF_DOT, BF_F64, 1, &w->dot_states);
    if (status == BF_OK)
        status = bf_states_create(w->context, BF_DESCRIBE, BF_F64, 1, &w->described_states);
    if (status == BF_OK) status = make_quantiles(w);
    if (status == BF_OK) status = make_sorters(w);
    if (status == BF_OK)
        status = bf_expression_parse(w->context, "a*b + 1", world_names, world_dtypes, 2, NULL,
                                     NULL, &w->expression);
    if (status == BF_OK) status = bf_dictionary_create(w->context, 2, world_key, &w->dictionary);
    if (status == BF_OK)
        status = bf_dictionary_create(w->context, 2, world_key, &w->other_dictionary);
    if (status == BF_OK)
        status = bf_dictionary_encode(w->dictionary, world_columns(w), &w->out_i64);
    if (status == BF_OK) status = bf_table_create(w->context, &world_table, &w->table);
    if (status == BF_OK) status = bf_table_create(w->context, &world_multimap, &w->multimap);
    if (status == BF_OK) status = bf_table_insert(w->multimap, &one_key, &one_value);
    if (status == BF_OK) status = bf_comm_create(w->context, NULL, &w->comm);
    return status;
}

/* What the calls that load are given. */
static inline bf_status save_objects(world *w) {
    w->saved[0] = bf_state_save_size(w->state);
    w->saved[1] = bf_histogram_save_size(w->histogram);
    w->saved[3] = bf_table_save_size(w->table);
    bf_status status = bf_state_save(w->state, world_quarter(w, 0));
    if (status == BF_OK) status = bf_histogram_save(w->histogram, world_quarter(w, 1));
    if (status == BF_OK) status = bf_groups_save_size(w->groups, &w->saved[2]);
    if (status == BF_OK) status = bf_groups_save(w->groups, world_quarter(w, 2));
    if (status == BF_OK) status = bf_states_save_size(w->states, &w->saved_states_size);
    if (status == BF_OK) status = bf_states_save(w->states, w->saved_states);
    w->saved_quantiles_size = bf_quantiles_save_size(w->quantiles);
    if (status == BF_OK) status = bf_quantiles_save(w->quantiles, w->saved_quantiles);
    return status == BF_OK ? bf_table_save(w->table, world_quarter(w, 3)) : status;
}

/* Reads 2 * WORLD_N doubles. */
static inline int64_t world_read(void *arg, int64_t at, int64_t most, void *const to[]) {
    const world *w = arg;
    if (at >= 2 * WORLD_N) return 0;
    const int64_t from = at % WORLD_N, n = WORLD_N - from < most ? WORLD_N - from : most;
    memcpy(to[0], w->doubles + from, (size_t)n * sizeof(double));
    return n;
}

/* A world on the CPU; NULL if something fails. */
static inline world *world_make(const char *isa, int threads) {
    world *w = calloc(1, sizeof *w);
    if (w == NULL) return NULL;
    for (int i = 0; i < WORLD_N; i++) {
        w->doubles[i] = i * 0x1p-15;
        w->floats[i] = (float)w->doubles[i];
        w->integers[i] = (int64_t)i * 7919;
        w->halves[i] = (uint16_t)(i % 1000);
        w->truths[i] = i % 2 == 0;
    }
    memset(w->truths, 0, 64 * 8); /* zeros of every dtype, for the simple calls */
    w->f64 = bf_array_of(BF_F64, w->doubles, WORLD_N);
    w->f32 = bf_array_of(BF_F32, w->floats, WORLD_N);
    w->i64 = bf_array_of(BF_I64, w->integers, WORLD_N);
    w->zeros = bf_array_of(BF_I64, w->nothing, WORLD_N);
    w->places[1] = WORLD_N;
    w->u16 = bf_array_of(BF_U16, w->halves, WORLD_N);
    w->bools = bf_array_of(BF_BOOL, w->truths, WORLD_N);
    w->feed = BF_FEED(.arrays = 1, .dtype = {BF_F64}, .count = -1, .read = world_read, .arg = w);
    w->feed_of_two = BF_FEED(.arrays = 2, .dtype = {BF_F64, BF_F64}, .count = WORLD_N,
                             .memory = {NULL, w->doubles}, .read = world_read, .arg = w);
    w->out_f64 = bf_array_of(BF_F64, w->out_doubles, WORLD_N);
    w->out_i64 = bf_array_of(BF_I64, w->out_integers, WORLD_N);
    w->out_bool = bf_array_of(BF_BOOL, w->out_truths, WORLD_N);
    w->picture = (bf_array){w->pixels, BF_U16, 2, {WORLD_SIDE, WORLD_SIDE}, {WORLD_SIDE, 1}};
    bf_options options = BF_OPTIONS(.device = "cpu", .isa = isa, .threads = threads);
    if (bf_context_create(&options, &w->context) != BF_OK || make_objects(w) != BF_OK ||
        save_objects(w) != BF_OK) {
        free(w);
        return NULL;
    }
    return w;
}

static inline void world_destroy(world *w) {
    bf_state_destroy(w->state);
    bf_state_destroy(w->other_state);
    bf_state_destroy(w->pairs);
    bf_state_destroy(w->description);
    bf_state_destroy(w->ordered);
    bf_histogram_destroy(w->histogram);
    bf_histogram_destroy(w->other_histogram);
    bf_states_destroy(w->states);
    bf_states_destroy(w->other_states);
    bf_states_destroy(w->dot_states);
    bf_states_destroy(w->described_states);
    bf_expression_destroy(w->expression);
    bf_dictionary_destroy(w->dictionary);
    bf_dictionary_destroy(w->other_dictionary);
    bf_quantiles_destroy(w->quantiles);
    bf_quantiles_destroy(w->other_quantiles);
    bf_quantiles_destroy(w->found_quantiles);
    bf_sorter_destroy(w->sorter);
    bf_sorter_destroy(w->ended_sorter);
    bf_groups_destroy(w->groups);
    bf_groups_destroy(w->other_groups);
    bf_table_destroy(w->table);
    bf_table_destroy(w->multimap);
    bf_comm_destroy(w->comm);
    bf_context_destroy(w->context);
    free(w);
}

#endif
