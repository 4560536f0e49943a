/* Tables. Inserts keys, erases some and inserts them again; then tells all answers and lists. */
#include "works/data.h"
#include "works/keys.h"
#include "works/works.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRIES = 65537, WIDEST = ENTRIES * 16 };

static const bf_table_options policies[] = {
#define POLICY(k, v, d)                                                                            \
    { .size = sizeof(bf_table_options), .key = k, .value = v, .duplicates = BF_DUPLICATES_##d }
    POLICY(BF_I32, BF_I32, FIRST),  POLICY(BF_I32, BF_I32, LAST),
    POLICY(BF_I32, BF_I32, LEAST),  POLICY(BF_I32, BF_I32, GREATEST),
    POLICY(BF_I32, BF_I32, ADD),    POLICY(BF_I32, BF_I32, KEEP),
    POLICY(BF_U32, BF_F64, LEAST),  POLICY(BF_I64, BF_U64, ADD),
    POLICY(BF_U64, BF_U32, KEEP),   POLICY(BF_F32, BF_F32, GREATEST),
    POLICY(BF_F64, BF_NONE, FIRST), POLICY(BF_PAIR, BF_PAIR, LAST),
    POLICY(BF_PAIR, BF_F32, KEEP),
#undef POLICY
};
enum { POLICIES = sizeof policies / sizeof *policies };

static bool has_values(const task *t) { return t->b.dtype != BF_NONE; }

static const bf_array *or_null(const task *t, const bf_array *values) {
    return has_values(t) ? values : NULL;
}

/* The answers of a table for every key, and its list. */
enum { FOUND, VALUES, COUNTS, LIST_KEYS, LIST_VALUES, ANSWERS };

static bf_status ask(const task *t, bf_table *table, const result_room a[ANSWERS]) {
    bf_status st = bf_table_find(table, &t->a, or_null(t, &a[VALUES].at), &a[FOUND].at);
    if (st == BF_OK) st = bf_table_count(table, &t->a, &a[COUNTS].at);
    if (st == BF_OK) st = bf_table_export(table, &a[LIST_KEYS].at, or_null(t, &a[LIST_VALUES].at));
    return st;
}

/* The answers are written to the device's memory if the keys are there. */
static bf_status tell(task *t, void *table) {
    const bf_dtype dtypes[ANSWERS] = {BF_BOOL, t->b.dtype, BF_I64, t->a.dtype, t->b.dtype};
    const int64_t size = bf_table_size(table);
    result_room answers[ANSWERS] = {{{0}, {0}}};
    bf_status st = BF_OK;
    for (int i = 0; i < ANSWERS && st == BF_OK; i++)
        st = work_room(t, dtypes[i], i < LIST_KEYS ? t->a.shape[0] : size, t->moved, &answers[i]);
    if (st == BF_OK) st = ask(t, table, answers);
    for (int i = 0; i < ANSWERS && st == BF_OK; i++) st = work_tell(t, &answers[i]);
    for (int i = 0; i < ANSWERS; i++) work_room_free(t, &answers[i]);
    return st;
}

static bf_status insert(const task *t, bf_table *table, int64_t first, int64_t last) {
    const bf_array k = work_slice(&t->a, first, last), v = work_slice(&t->b, first, last);
    return bf_table_insert(table, &k, or_null(t, &v));
}

static bf_status erase(const task *t, bf_table *table, int64_t first, int64_t last) {
    const bf_array k = work_slice(&t->a, first, last);
    return bf_table_erase(table, &k, NULL);
}

static bf_status fill_whole(const task *t, bf_table *table) {
    const int64_t n = t->a.shape[0];
    bf_status st = insert(t, table, 0, n);
    if (st == BF_OK) st = erase(t, table, 0, n / 5);
    return st == BF_OK ? insert(t, table, n / 9, n / 3) : st;
}

static bf_status insert_one(const task *t, bf_table *table, int64_t i) {
    const bf_array k = work_slice(&t->a, i, i + 1), v = work_slice(&t->b, i, i + 1);
    return bf_table_insert_one(table, k.data, has_values(t) ? v.data : NULL);
}

/* Makes the same table in parts, after reserving room. Inserts the last keys one by one. */
static bf_status fill_parts(const task *t, bf_table *table) {
    const int64_t n = t->a.shape[0], one_by_one = n / 3 - 50;
    bf_status st = bf_table_reserve(table, n);
    for (int i = 0; i < WORK_PARTS && st == BF_OK; i++)
        st = insert(t, table, work_cut(n, i, WORK_PARTS), work_cut(n, i + 1, WORK_PARTS));
    if (st == BF_OK) st = erase(t, table, n / 9, n / 5);
    if (st == BF_OK) st = erase(t, table, 0, n / 9);
    if (st == BF_OK) st = insert(t, table, n / 9, one_by_one);
    for (int64_t i = one_by_one; i < n / 3 && st == BF_OK; i++) st = insert_one(t, table, i);
    return st;
}

static bf_status fill_and_tell(task *t, bf_status (*fill)(const task *, bf_table *)) {
    bf_table *table = NULL;
    bf_status st = bf_table_create(t->context, &policies[t->what], &table);
    if (st == BF_OK) st = fill(t, table);
    if (st == BF_OK) st = tell(t, table);
    bf_table_destroy(table);
    return st;
}

static bf_status whole(task *t) { return fill_and_tell(t, fill_whole); }
static bf_status parts(task *t) { return fill_and_tell(t, fill_parts); }

static bool row(task *t, int i) {
    const bf_table_options *p = &policies[i];
    char *keys = t->room, *values = keys + WIDEST;
    if (i == POLICIES) return false;
    data_fill_keys(DATA_SPECIAL, p->key, keys, ENTRIES, ENTRIES / 4);
    data_fill_keys(DATA_SPECIAL, p->value, values, ENTRIES, ENTRIES);
    t->op = "table";
    t->data = bf_duplicates_name(p->duplicates);
    t->what = i;
    t->a = bf_array_of(p->key, keys, ENTRIES);
    t->b = bf_array_of(p->value, values, p->value ? ENTRIES : 0);
    return true;
}

/* ---- bench: u32 keys with u32 values ---------------------------------------------------------- *
 *
 *   insert     inserts into a new table, which grows
 *   reserved   inserts into an emptied table with room for all keys
 *   find       looks up keys that the table holds; half: it holds half of them; miss: it holds none
 *   insert-L   inserts into an emptied table whose room makes the load L
 *   twice-L    the same with half as many keys, each twice
 *   find-L     and half-L look up in such a table */

enum { KEYS, WITH, QUERIES, OUT, HIT };

static const char *const cpu_points[][2] = {{"u32", "insert"}, {"u32", "reserved"}, {"u32", "find"},
                                            {"u32", "half"},   {"u32", "miss"},     {NULL, NULL}};
static const char *const gpu_points[][2] = {
    {"u32", "insert-0.5"}, {"u32", "insert-0.8"}, {"u32", "twice-0.5"},
    {"u32", "twice-0.8"},  {"u32", "find-0.5"},   {"u32", "find-0.8"},
    {"u32", "half-0.5"},   {"u32", "half-0.8"},   {NULL, NULL}};

/* Returns the greatest power of two up to n. */
static size_t fit_keys(size_t n) {
    size_t power = 2;
    while (power * 2 <= n && power < (size_t)1 << 31) power *= 2;
    return power;
}

static bool asks(const bench_point *p) { return strchr("fhm", *p->data) != NULL; }

static void queries_part(const bench_point *p, size_t first, size_t n, void *to) {
    bench_queries(p->data, p->count, first, n, to);
}

static void values_part(const bench_point *p, size_t first, size_t n, void *to) {
    uint32_t *values = to;
    (void)p;
    for (size_t i = 0; i < n; i++) values[i] = (uint32_t)(first + i);
}

/* Keys and values, and for lookups the queries and room for the answers. */
static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const size_t n = p->count, asked = asks(p) ? n : 0;
    v[KEYS] = (point_vector){BF_U32, n, point_keys};
    v[WITH] = (point_vector){BF_U32, n, values_part};
    v[QUERIES] = (point_vector){BF_U32, asked, queries_part};
    v[OUT] = (point_vector){BF_U32, asked, NULL};
    v[HIT] = (point_vector){BF_BOOL, asked, NULL};
}

/* Creates a table. Entries for which room is reserved fill a table to 0.8, so load L needs room for
 * 0.8 / L times as many. */
static bf_status begin(const bench_point *p, const bf_array *v, work_object *o) {
    const char *load = strchr(p->data, '-');
    bf_table_options how = BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32);
    if (load) how.reserve = (int64_t)(0.8 / atof(load + 1) * (double)p->count);
    if (strcmp(p->data, "reserved") == 0) how.reserve = (int64_t)p->count;
    const bf_status st = bf_table_create(p->context, &how, &o->table);
    return st == BF_OK && asks(p) ? bf_table_insert(o->table, &v[KEYS], &v[WITH]) : st;
}

static bool afresh(const bench_point *p) { return strcmp(p->data, "insert") == 0; }

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    if (asks(p)) return bf_table_find(o->table, &v[QUERIES], &v[OUT], &v[HIT]);
    bf_table_clear(o->table);
    return bf_table_insert(o->table, &v[KEYS], &v[WITH]);
}

const work work_table = {
    .row = row,
    .room = 2 * (size_t)WIDEST,
    .whole = whole,
    .parts = parts,
    .measure =
        &(const measure){
            .work = "table",
            .item = "keys",
            .points = {cpu_points, gpu_points},
            .counts = {{{1 << 24}, {1 << 20}}, {{1 << 21, 1 << 26, 1 << 28}, {1 << 21, 1 << 24}}},
            .fit = fit_keys,
            .vectors = vectors,
            .open = begin,
            .afresh = afresh,
            .pass = pass,
        },
};
