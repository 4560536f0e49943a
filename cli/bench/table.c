/* The tables of bench: u32 keys with u32 values.
 *
 *   insert     inserts into a new table, which grows
 *   reserved   inserts into an emptied table with room for all keys
 *   find       looks up keys that the table holds; half: it holds half of them; miss: it holds none
 *   insert-L   inserts into an emptied table whose room makes the load L
 *   twice-L    the same with half as many keys, each twice
 *   find-L     and half-L look up in such a table */
#include "bench/bench.h"

#include "bench/keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct tables {
    bf_table *table; /* NULL: each pass makes a table */
    bf_array keys, values, queries, out, found;
    char *memory;
    size_t bytes;
} tables;

static const char *const cpu_points[][2] = {{"u32", "insert"}, {"u32", "reserved"}, {"u32", "find"},
                                            {"u32", "half"},   {"u32", "miss"},     {NULL, NULL}};
static const char *const gpu_points[][2] = {
    {"u32", "insert-0.5"}, {"u32", "insert-0.8"}, {"u32", "twice-0.5"},
    {"u32", "twice-0.8"},  {"u32", "find-0.5"},   {"u32", "find-0.8"},
    {"u32", "half-0.5"},   {"u32", "half-0.8"},   {NULL, NULL}};

static size_t item_bytes(const char *dtype) {
    (void)dtype;
    return sizeof(uint32_t);
}

/* Returns the greatest power of two up to n. */
static size_t fit_keys(size_t n) {
    size_t power = 2;
    while (power * 2 <= n && power < (size_t)1 << 31) power *= 2;
    return power;
}

static bool begins(const char *data, const char *word) {
    return strncmp(data, word, strlen(word)) == 0;
}

static bool asks(const char *data) {
    return begins(data, "find") || begins(data, "half") || begins(data, "miss");
}

static void keys_part(const bench_point *point, size_t first, size_t n, void *to) {
    bench_keys(point->work, point->data, point->count, first, n, to);
}

static void queries_part(const bench_point *point, size_t first, size_t n, void *to) {
    bench_queries(point->data, point->count, first, n, to);
}

static void values_part(const bench_point *point, size_t first, size_t n, void *to) {
    uint32_t *values = to;
    (void)point;
    for (size_t i = 0; i < n; i++) values[i] = (uint32_t)(first + i);
}

/* Makes keys and values, and for lookups the queries and room for the answers. */
static bf_status make_data(const bench_point *point, tables *t) {
    const size_t n = point->count, vector = n * sizeof(uint32_t);
    const int64_t count = (int64_t)n;
    t->bytes = asks(point->data) ? 4 * vector + n : 2 * vector;
    bf_status st = bench_items_allocate(point, t->bytes, &t->memory);
    if (st != BF_OK) return st;
    t->keys = bf_array_of(BF_U32, t->memory, count);
    t->values = bf_array_of(BF_U32, t->memory + vector, count);
    t->queries = bf_array_of(BF_U32, t->memory + 2 * vector, count);
    t->out = bf_array_of(BF_U32, t->memory + 3 * vector, count);
    t->found = bf_array_of(BF_BOOL, t->memory + 4 * vector, count);
    st = bench_items_fill(point, t->keys.data, n, sizeof(uint32_t), keys_part);
    if (st == BF_OK) st = bench_items_fill(point, t->values.data, n, sizeof(uint32_t), values_part);
    if (st == BF_OK && asks(point->data))
        st = bench_items_fill(point, t->queries.data, n, sizeof(uint32_t), queries_part);
    return st;
}

/* Creates a table. Entries for which room is reserved fill a table to 0.8, so load L needs room for
 * 0.8 / L times as many. */
static bf_status create_table(const bench_point *point, bf_table **table) {
    const char *load = strchr(point->data, '-');
    bf_table_options options = BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32);
    if (load) options.reserve = (int64_t)(0.8 / atof(load + 1) * (double)point->count);
    if (strcmp(point->data, "reserved") == 0) options.reserve = (int64_t)point->count;
    return bf_table_create(point->context, &options, table);
}

static bf_status begin_table(const bench_point *point, void **state) {
    tables *t = calloc(1, sizeof *t);
    if (!t) return BF_E_MEMORY;
    *state = t;
    bf_status st = BF_OK;
    if (strcmp(point->data, "insert") != 0) st = create_table(point, &t->table);
    if (st == BF_OK) st = make_data(point, t);
    if (st == BF_OK && asks(point->data)) st = bf_table_insert(t->table, &t->keys, &t->values);
    return st;
}

static bf_status insert_new(const bench_point *point, const tables *t, double *seconds) {
    bf_table *table;
    bf_status st = create_table(point, &table);
    if (st != BF_OK) return st;
    const double start = bench_now();
    st = bf_table_insert(table, &t->keys, &t->values);
    *seconds += bench_now() - start;
    bf_table_destroy(table);
    return st;
}

static bf_status pass_table(const bench_point *point, const tables *t, double *seconds) {
    if (!t->table) return insert_new(point, t, seconds);
    const double start = bench_now();
    bf_status st;
    if (asks(point->data)) {
        st = bf_table_find(t->table, &t->queries, &t->out, &t->found);
    } else {
        bf_table_clear(t->table);
        st = bf_table_insert(t->table, &t->keys, &t->values);
    }
    *seconds += bench_now() - start;
    return st;
}

static bf_status run_table(const bench_point *point, void *state, int passes, double *seconds) {
    bf_status st = BF_OK;
    for (int i = 0; i < passes && st == BF_OK; i++) st = pass_table(point, state, seconds);
    return st;
}

static void finish_table(const bench_point *point, void *state) {
    tables *t = state;
    bf_table_destroy(t->table);
    bench_items_free(point, t->memory, t->bytes);
    free(t);
}

const bench_items bench_table = {
    .work = "table",
    .item = "keys",
    .points = {cpu_points, gpu_points},
    .counts = {{{1 << 24}, {1 << 20}}, {{1 << 21, 1 << 26, 1 << 28}, {1 << 21, 1 << 24}}},
    .item_bytes = item_bytes,
    .fit = fit_keys,
    .open = begin_table,
    .run = run_table,
    .close = finish_table,
};
