/* The groups of bench. With dtype u32 the rows of each u32 key are counted; with dtype f32 or f64
 * values of that dtype are summed exactly by u32 keys. A pass absorbs all rows, on the CPU into new
 * groups, on a GPU into emptied ones. "-list" also lists the groups by key. */
#include "bench/bench.h"

#include "bench/data.h"
#include "bench/keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct rows {
    bf_groups *groups;             /* NULL: each pass makes them */
    bf_array keys, values;         /* values: only with f32 and f64 */
    char *list_keys, *list_counts; /* only with "-list" */
    char *memory;
    size_t bytes;
} rows;

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

static size_t item_bytes(const char *dtype) { return sizeof(uint32_t) + value_bytes(dtype); }

static size_t fit_rows(size_t n) { return n; }

static void keys_part(const bench_point *point, size_t first, size_t n, void *to) {
    bench_keys(point->work, point->data, point->count, first, n, to);
}

/* Makes the first block. All blocks are equal, and it is still in memory when the others are
 * copied.
 */
static void values_part(const bench_point *point, size_t first, size_t n, void *to) {
    if (first == 0) bench_fill(point->dtype, "normal", to, n);
}

/* Returns the most groups that a list can have. */
static size_t most_groups(const bench_point *point) {
    return strstr(point->data, "-list") ? (size_t)1 << atoi(point->data + 2) : 0;
}

static bf_status make_data(const bench_point *point, rows *r) {
    const size_t n = point->count, value = value_bytes(point->dtype), listed = most_groups(point);
    r->bytes = n * item_bytes(point->dtype) + listed * (sizeof(int64_t) + sizeof(uint32_t));
    bf_status st = bench_items_allocate(point, r->bytes, &r->memory);
    if (st != BF_OK) return st;
    char *at = r->memory; /* elements of 8 bytes come first, for their alignment */
    r->list_counts = at;
    at += listed * sizeof(int64_t);
    r->values = bf_array_of(bf_dtype_from_name(point->dtype), at, (int64_t)n);
    at += n * value;
    r->keys = bf_array_of(BF_U32, at, (int64_t)n);
    r->list_keys = at + n * sizeof(uint32_t);
    st = bench_items_fill(point, r->keys.data, n, sizeof(uint32_t), keys_part);
    if (st == BF_OK && value > 0)
        st = bench_items_fill(point, r->values.data, n, value, values_part);
    return st;
}

static bf_status create_groups(const bench_point *point, bf_groups **groups) {
    const bf_aggregate sum = {BF_SUM, bf_dtype_from_name(point->dtype)};
    const bf_groups_options options =
        BF_GROUPS_OPTIONS(.key = BF_U32, .count = has_values(point->dtype), .aggregates = &sum);
    return bf_groups_create(point->context, &options, groups);
}

static bf_status begin_groups(const bench_point *point, void **state) {
    rows *r = calloc(1, sizeof *r);
    if (!r) return BF_E_MEMORY;
    *state = r;
    const bf_status st = point->gpu ? create_groups(point, &r->groups) : BF_OK;
    return st == BF_OK ? make_data(point, r) : st;
}

static bf_status list_groups(const rows *r, bf_groups *groups) {
    const int64_t n = bf_groups_size(groups);
    const bf_array keys = bf_array_of(BF_U32, r->list_keys, n);
    const bf_array counts = bf_array_of(BF_I64, r->list_counts, n);
    return bf_groups_list(groups, &keys, &counts);
}

static bf_status take_rows(const bench_point *point, const rows *r, bf_groups *groups,
                           double *seconds) {
    const bf_array *values[] = {&r->values};
    const double start = bench_now();
    bf_groups_clear(groups);
    bf_status st = bf_groups_absorb(groups, &r->keys, has_values(point->dtype) ? values : NULL);
    if (st == BF_OK && most_groups(point) > 0) st = list_groups(r, groups);
    *seconds += bench_now() - start;
    return st;
}

static bf_status pass_groups(const bench_point *point, const rows *r, double *seconds) {
    if (r->groups) return take_rows(point, r, r->groups, seconds);
    bf_groups *groups;
    bf_status st = create_groups(point, &groups);
    if (st != BF_OK) return st;
    st = take_rows(point, r, groups, seconds);
    bf_groups_destroy(groups);
    return st;
}

static bf_status run_groups(const bench_point *point, void *state, int passes, double *seconds) {
    bf_status st = BF_OK;
    for (int i = 0; i < passes && st == BF_OK; i++) st = pass_groups(point, state, seconds);
    return st;
}

static void finish_groups(const bench_point *point, void *state) {
    rows *r = state;
    bf_groups_destroy(r->groups);
    bench_items_free(point, r->memory, r->bytes);
    free(r);
}

const bench_items bench_group = {
    .work = "group",
    .item = "rows",
    .points = {cpu_points, gpu_points},
    .counts = {{{1 << 24}, {1 << 20}}, {{1 << 28}, {1 << 24}}},
    .item_bytes = item_bytes,
    .fit = fit_rows,
    .open = begin_groups,
    .run = run_groups,
    .close = finish_groups,
};
