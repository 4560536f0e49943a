/* Every public call that uses a context (call_list.h), and a world for them: for tests of what
 * holds for all of them. The test of the headers (tests/command/project/cli_headers.py) says if one
 * is missing. */
#ifndef BITFOLD_TESTS_RUNTIME_CALLS_H
#define BITFOLD_TESTS_RUNTIME_CALLS_H

#include "tests/support/exchange.h"

#include <bitfold.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_N = 1 << 15, WORLD_BINS = 50, WORLD_SIDE = 128 };

/* A column of doubles. */
typedef struct world_column {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct ArrowDeviceArray on_host;
    const void *buffers[2];
} world_column;

/* What the calls work on. */
typedef struct world {
    bf_context *context;
    bf_state *state, *other_state, *pairs, *description, *ordered;
    bf_histogram *histogram, *other_histogram, *plain_histogram; /* the last: without weights */
    bf_groups *groups, *other_groups;
    bf_states *states, *other_states, *dot_states, *described_states; /* one */
    bf_quantiles *quantiles, *other_quantiles, *found_quantiles;      /* the last: of nothing */
    bf_sorter *sorter, *ended_sorter;                                 /* the last: of nothing */
    bf_table *table, *multimap;
    bf_comm *comm;                                /* there is one rank */
    bf_expression *expression, *text;             /* the second: of strings */
    bf_dictionary *dictionary, *other_dictionary; /* strings and f64: as many keys as rows */
    bf_array f64, f32, i64, u16, bools, zeros, out_f64, out_i64, out_bool, picture;
    /* What w->f64 makes one result of, and the place of a result. */
    int axis;
    bf_array ends, one_zero, one_key, one_value, one, matrix, one_count;
    bf_description described;
    bf_descriptions no_descriptions;
    world_column column;
    struct DLManagedTensorVersioned tensor;
    struct DLManagedTensor old_tensor;
    bf_array array; /* what one of them becomes */
    bf_julia_params params;
    bf_strings strings;
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
static const bf_rolling_options world_rolling = BF_ROLLING_OPTIONS(.window = 2);
static const bf_sorter_options world_sorter = BF_SORTER_OPTIONS(.dtype = BF_F64);
static const double world_half = 0.5;
static const int64_t world_first = 0;

static inline void *world_quarter(world *w, size_t i) {
    return w->buffer + i * (sizeof w->buffer / 4);
}

static const bf_array *const *world_inputs(world *w) {
    static _Thread_local const bf_array *inputs[2];
    inputs[0] = inputs[1] = &w->f64;
    return inputs;
}

static inline int world_write(void *arg, const void *bytes, size_t size, const void *key) {
    return arg != NULL || bytes == NULL || size == 0 || key == NULL;
}

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

/* n elements of an output: one of i64 and one of f64 a call. */
static const bf_array *world_out(world *w, bf_dtype dtype, int64_t n) {
    static _Thread_local bf_array outputs[2];
    bf_array *out = &outputs[dtype == BF_I64];
    *out = bf_array_of(dtype, dtype == BF_I64 ? (void *)w->out_keys : w->out_doubles, n);
    return out;
}

static const bf_column *const *world_numbers(world *w) {
    static _Thread_local bf_column column;
    static _Thread_local const bf_column *at[2];
    column = (bf_column){.size = sizeof column, .numbers = &w->f64};
    at[0] = at[1] = &column;
    return at;
}

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

static void world_release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void world_release_array(struct ArrowArray *array) { array->release = NULL; }

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

static bf_status call_bf_groups_split(world *w) {
    bf_groups *parts[2] = {NULL, NULL};
    bf_status status = bf_groups_split(w->groups, 2, parts);
    bool kept = status == BF_OK || (parts[0] == NULL && parts[1] == NULL);
    bf_groups_destroy(parts[0]);
    bf_groups_destroy(parts[1]);
    return kept ? status : (bf_status)99;
}

static bf_status call_bf_memory_allocate(world *w) {
    void *made = NULL;
    bf_status status = bf_memory_allocate(w->context, 1000, &made);
    bf_memory_free(w->context, made);
    return status;
}

/* To the keys that they have. */
static bf_status call_bf_groups_renumber(world *w) {
    static int64_t own[sizeof w->out_integers / sizeof *w->out_integers];
    const bf_array keys = bf_array_of(BF_I64, own, bf_groups_size(w->groups));
    const bf_status status = bf_groups_list(w->groups, &keys, NULL);
    return status == BF_OK ? bf_groups_renumber(w->groups, &keys) : status;
}

#define CALL(name, ...)                                                                            \
    static bf_status call_##name(world *w) { return name(__VA_ARGS__); }
#define WITHOUT_GPU(name, ...)                                                                     \
    static bf_status call_##name(world *w) {                                                       \
        const bf_status status = name(__VA_ARGS__);                                                \
        return status == BF_E_DEVICE ? BF_OK : status;                                             \
    }
#define MAKING(name, type, ...)                                                                    \
    static bf_status call_##name(world *w) {                                                       \
        type *made = NULL;                                                                         \
        bf_status status = name(__VA_ARGS__, &made);                                               \
        const bool kept = status == BF_OK || made == NULL;                                         \
        if (status == BF_OK) type##_destroy(made);                                                 \
        return kept ? status : (bf_status)99; /* made something, and failed */                     \
    }
#define LONGER(name)
#include "tests/runtime/call_list.h"

typedef struct context_call {
    const char *name;
    bf_status (*call)(world *w);
} context_call;

#define CALL(name, ...) {#name, call_##name},
#define WITHOUT_GPU(name, ...) {#name, call_##name},
#define MAKING(name, type, ...) {#name, call_##name},
#define LONGER(name) {#name, call_##name},
static const context_call context_calls[] = {
#include "tests/runtime/call_list.h"
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
    bf_status status = bf_sorter_create(w->context, &world_sorter, &w->sorter);
    if (status == BF_OK) status = bf_sorter_create(w->context, &world_sorter, &w->ended_sorter);
    return status;
}

static inline bf_status make_objects(world *w) {
    static const bf_histogram_options plain =
        BF_HISTOGRAM_OPTIONS(.bins = WORLD_BINS, .range = 1, .lo = 0, .hi = 1);
    const bf_array one_value = bf_array_of(BF_F64, w->doubles, 1);
    bf_status status = bf_state_create(w->context, BF_SUM, BF_F64, &w->state);
    if (status == BF_OK) status = bf_state_create(w->context, BF_SUM, BF_F64, &w->other_state);
    if (status == BF_OK) status = bf_state_create(w->context, BF_DOT, BF_F64, &w->pairs);
    if (status == BF_OK) status = bf_state_create(w->context, BF_DESCRIBE, BF_F64, &w->description);
    if (status == BF_OK) status = bf_state_create(w->context, BF_ARGMIN, BF_F64, &w->ordered);
    if (status == BF_OK)
        status = bf_histogram_create(w->context, BF_F64, &world_bins, &w->histogram);
    if (status == BF_OK)
        status = bf_histogram_create(w->context, BF_F64, &world_bins, &w->other_histogram);
    if (status == BF_OK)
        status = bf_histogram_create(w->context, BF_F64, &plain, &w->plain_histogram);
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
    if (status == BF_OK)
        status = bf_expression_parse(w->context, "concat('a', 'b')", NULL, NULL, 0, NULL, NULL,
                                     &w->text);
    if (status == BF_OK) status = bf_dictionary_create(w->context, 2, world_key, &w->dictionary);
    if (status == BF_OK)
        status = bf_dictionary_create(w->context, 2, world_key, &w->other_dictionary);
    if (status == BF_OK)
        status = bf_dictionary_encode(w->dictionary, world_columns(w), &w->out_i64);
    if (status == BF_OK) status = bf_table_create(w->context, &world_table, &w->table);
    if (status == BF_OK) status = bf_table_create(w->context, &world_multimap, &w->multimap);
    if (status == BF_OK) status = bf_table_insert(w->multimap, &w->one_key, &one_value);
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

static inline void make_exchanged(world *w) {
    const dl_tensor tensor = {.data = w->doubles, .device = {1, 0}, .dtype = {2, 64, 1}};
    w->tensor = (struct DLManagedTensorVersioned){.version = {.major = 1}, .tensor = tensor};
    w->old_tensor = (struct DLManagedTensor){.tensor = tensor};
    world_column *c = &w->column;
    c->buffers[1] = w->doubles;
    c->schema = (struct ArrowSchema){.format = "g", .release = world_release_schema};
    c->array = (struct ArrowArray){
        .length = 10, .n_buffers = 2, .buffers = c->buffers, .release = world_release_array};
    c->on_host = (struct ArrowDeviceArray){.array = c->array, .device_type = 1};
}

/* Where the calls that make one result find what it is of, and write it. */
static inline void make_results(world *w) {
    w->places[1] = WORLD_N;
    w->ends = bf_array_of(BF_I64, w->places, 2);
    w->one_zero = bf_array_of(BF_I64, w->nothing, 1);
    w->one_key = bf_array_of(BF_I64, w->integers, 1);
    w->one_value = (bf_array){w->out_doubles, BF_F64, 0, {0}, {0}};
    w->one = bf_array_of(BF_F64, w->out_doubles, 1);
    w->matrix = (bf_array){w->out_doubles, BF_F64, 2, {1, 1}, {1, 1}};
    w->one_count = bf_array_of(BF_I64, w->out_integers, 1);
    w->described.size = sizeof w->described;
    w->no_descriptions.size = sizeof w->no_descriptions;
    bf_julia_defaults(&w->params);
    w->params.width = w->params.height = WORLD_SIDE;
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
    w->u16 = bf_array_of(BF_U16, w->halves, WORLD_N);
    w->bools = bf_array_of(BF_BOOL, w->truths, WORLD_N);
    w->feed = BF_FEED(.arrays = 1, .dtype = {BF_F64}, .count = -1, .read = world_read, .arg = w);
    w->feed_of_two = BF_FEED(.arrays = 2, .dtype = {BF_F64, BF_F64}, .count = WORLD_N,
                             .memory = {NULL, w->doubles}, .read = world_read, .arg = w);
    w->out_f64 = bf_array_of(BF_F64, w->out_doubles, WORLD_N);
    w->out_i64 = bf_array_of(BF_I64, w->out_integers, WORLD_N);
    w->out_bool = bf_array_of(BF_BOOL, w->out_truths, WORLD_N);
    w->picture = (bf_array){w->pixels, BF_U16, 2, {WORLD_SIDE, WORLD_SIDE}, {WORLD_SIDE, 1}};
    make_exchanged(w);
    make_results(w);
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
    bf_histogram_destroy(w->plain_histogram);
    bf_states_destroy(w->states);
    bf_states_destroy(w->other_states);
    bf_states_destroy(w->dot_states);
    bf_states_destroy(w->described_states);
    bf_expression_destroy(w->expression);
    bf_expression_destroy(w->text);
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
