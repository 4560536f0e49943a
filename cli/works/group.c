/* Groups and joins. */
#include "works/data.h"
#include "works/keys.h"
#include "works/works.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 65537, WIDEST = ROWS * 16, FEW = 1000, MANY = 10000 };

static const bf_reduction aggregates[] = {BF_SUM, BF_MEAN, BF_VAR, BF_MIN, BF_MAX};
enum { AGGREGATES = sizeof aggregates / sizeof *aggregates };

/* Makes groups with the first `count` of the aggregates, all of values of one dtype. */
static bf_status create_groups(bf_context *context, bf_dtype key, bf_dtype value, int count,
                               bf_groups **groups) {
    bf_aggregate list[AGGREGATES];
    for (int i = 0; i < AGGREGATES; i++) list[i] = (bf_aggregate){aggregates[i], value};
    const bf_groups_options made_of =
        BF_GROUPS_OPTIONS(.key = key, .count = count, .aggregates = list);
    return bf_groups_create(context, &made_of, groups);
}

static bf_status create(const task *t, work_object *o) {
    return create_groups(t->context, t->a.dtype, t->b.dtype, AGGREGATES, &o->saved.groups);
}

static bf_status absorb(task *t, work_object *o, int64_t first, int64_t last) {
    const bf_array keys = work_slice(&t->a, first, last), values = work_slice(&t->b, first, last);
    const bf_array *columns[AGGREGATES];
    for (int i = 0; i < AGGREGATES; i++) columns[i] = &values;
    return bf_groups_absorb(o->saved.groups, &keys, columns);
}

/* Lists the groups to the memory of the device. */
static bf_status tell_list(task *t, bf_groups *groups, int64_t n) {
    result_room keys = {{0}, {0}}, counts = {{0}, {0}};
    bf_status st = work_room(t, t->a.dtype, n, true, &keys);
    if (st == BF_OK) st = work_room(t, BF_I64, n, true, &counts);
    if (st == BF_OK) st = bf_groups_list(groups, &keys.at, &counts.at);
    if (st == BF_OK) st = work_tell(t, &keys);
    if (st == BF_OK) st = work_tell(t, &counts);
    work_room_free(t, &keys);
    work_room_free(t, &counts);
    return st;
}

static bf_status tell(task *t, work_object *o) {
    bf_groups *groups = o->saved.groups;
    const bf_reduce_options rules = BF_REDUCE_OPTIONS(.nan = BF_NAN_PROPAGATE);
    const int64_t n = bf_groups_size(groups);
    bf_value *values = calloc((size_t)n + 1, sizeof *values);
    bf_status st = values ? tell_list(t, groups, n) : BF_E_MEMORY;
    for (int which = 0; which < AGGREGATES && st == BF_OK; which++) {
        st = bf_groups_result(groups, which, &rules, values);
        for (int64_t i = 0; i < n && st == BF_OK; i++) work_add_value(t, &values[i]);
    }
    free(values);
    return st;
}

/* Joins rows of the left side with the right side. The pairs of parts follow each other. */
static bf_status join(task *t, work_object *o, int64_t first, int64_t last) {
    const bf_array a = work_slice(&t->a, first, last);
    bf_pairs *pairs = NULL;
    const bf_status st = bf_join(t->context, &a, &t->b, 0, &pairs);
    (void)o;
    for (int64_t i = 0; st == BF_OK && i < bf_pairs_size(pairs); i++) {
        const int64_t pair[] = {bf_pairs_a(pairs)[i] + first, bf_pairs_b(pairs)[i]};
        work_add(t, pair, sizeof pair);
    }
    if (st == BF_OK) bf_pairs_destroy(pairs);
    return st;
}

static const work work_join = {.absorb = join};

/* ---- rows ------------------------------------------------------------------------------------ */

static bool group_row(task *t, bf_dtype key, bf_dtype value, enum data_kind kind) {
    char *keys = t->room, *values = keys + WIDEST;
    t->op = "group";
    t->data = data_names[kind];
    t->a = bf_array_of(key, keys, ROWS);
    t->b = bf_array_of(value, values, ROWS);
    data_fill_keys(kind, key, keys, ROWS, key == BF_U32 || key == BF_PAIR ? MANY : FEW);
    data_fill_keys(kind, value, values, ROWS, ROWS);
    return true;
}

static bool join_row(task *t, bf_dtype key) {
    const bf_array all = bf_array_of(key, t->room, ROWS / 2);
    t->work = &work_join;
    t->op = "join";
    t->data = data_names[DATA_SPECIAL];
    t->a = work_slice(&all, 0, ROWS / 4);
    t->b = work_slice(&all, ROWS / 4, ROWS / 2);
    data_fill_keys(DATA_SPECIAL, key, all.data, ROWS / 2, ROWS / 8);
    return true;
}

static bool row(task *t, int i) {
    static const enum data_kind kinds[] = {DATA_PLAIN, DATA_SPREAD, DATA_SPECIAL};
    static const bf_dtype joined[] = {BF_I32, BF_F64, BF_PAIR};
    for (const bf_dtype *d = data_dtypes; *d; d++)
        for (int k = 0; k < (data_is_float(*d) ? 3 : 1); k++)
            if (i-- == 0) return group_row(t, *d, *d, kinds[k]);
    if (i == 0) return group_row(t, BF_PAIR, BF_F64, DATA_PLAIN);
    return i <= 3 && join_row(t, joined[i - 1]);
}

/* ---- bench ----------------------------------------------------------------------------------- *
 *
 * With dtype u32 the rows of each u32 key are counted; with dtype f32 or f64 values of that dtype
 * are summed exactly by u32 keys. A pass absorbs all rows, on the CPU into new groups, on a GPU
 * into emptied ones. "-list" also lists the groups by key. */

enum { KEYS, VALUES, LIST_KEYS, LIST_COUNTS };

static const char *const cpu_points[][2] = {{"u32", "2^10"},      {"u32", "2^16"}, {"u32", "2^22"},
                                            {"u32", "2^22-list"}, {"u32", "zipf"}, {"f32", "2^10"},
                                            {"f32", "2^16"},      {"f32", "2^22"}, {"f64", "2^10"},
                                            {"f64", "2^16"},      {"f64", "2^22"}, {NULL, NULL}};
static const char *const gpu_points[][2] = {
    {"u32", "2^8"},       {"u32", "2^12"}, {"u32", "2^16"}, {"u32", "2^20"}, {"u32", "2^24"},
    {"u32", "2^24-list"}, {"u32", "zipf"}, {"f32", "2^8"},  {"f32", "2^12"}, {"f32", "2^16"},
    {"f32", "2^20"},      {"f32", "2^24"}, {"f64", "2^8"},  {"f64", "2^12"}, {"f64", "2^16"},
    {"f64", "2^20"},      {"f64", "2^24"}, {NULL, NULL}};

static bool has_values(const char *dtype) { return strcmp(dtype, "u32") != 0; }

static size_t value_bytes(const char *dtype) {
    return has_values(dtype) ? bf_dtype_size(bf_dtype_from_name(dtype)) : 0;
}

static size_t row_bytes(const char *dtype) { return sizeof(uint32_t) + value_bytes(dtype); }

/* Returns the most groups that a list can have; 0: they are not listed. */
static size_t most_groups(const bench_point *p) {
    return strstr(p->data, "-list") ? (size_t)1 << atoi(p->data + 2) : 0;
}

static void vectors(const bench_point *p, point_vector v[POINT_VECTORS]) {
    const size_t n = p->count, listed = most_groups(p);
    v[KEYS] = (point_vector){BF_U32, n, point_keys};
    if (has_values(p->dtype))
        v[VALUES] = (point_vector){bf_dtype_from_name(p->dtype), n, point_elements};
    v[LIST_KEYS] = (point_vector){BF_U32, listed, NULL};
    v[LIST_COUNTS] = (point_vector){BF_I64, listed, NULL};
}

static bf_status begin(const bench_point *p, const bf_array *v, work_object *o) {
    return create_groups(p->context, BF_U32, v[VALUES].dtype, has_values(p->dtype),
                         &o->saved.groups);
}

static bool afresh(const bench_point *p) { return !p->gpu; }

static bf_status pass(const bench_point *p, const work_object *o, const bf_array *v) {
    bf_groups *groups = o->saved.groups;
    const bf_array *values[] = {&v[VALUES]};
    bf_groups_clear(groups);
    const bf_status st = bf_groups_absorb(groups, &v[KEYS], has_values(p->dtype) ? values : NULL);
    if (st != BF_OK || most_groups(p) == 0) return st;
    const int64_t n = bf_groups_size(groups);
    const bf_array keys = work_slice(&v[LIST_KEYS], 0, n),
                   counts = work_slice(&v[LIST_COUNTS], 0, n);
    return bf_groups_list(groups, &keys, &counts);
}

const work work_group = {
    .row = row,
    .room = 2 * (size_t)WIDEST,
    .create = create,
    .absorb = absorb,
    .tell = tell,
    .measure =
        &(const measure){
            .work = "group",
            .item = "rows",
            .points = {cpu_points, gpu_points},
            .counts = {{{1 << 24}, {1 << 20}}, {{1 << 28}, {1 << 24}}},
            .item_bytes = row_bytes,
            .vectors = vectors,
            .open = begin,
            .afresh = afresh,
            .pass = pass,
        },
};
