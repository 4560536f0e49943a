/* Many results at once. The data are named OP-WAY-N: "sum-axis0-16" sums the columns of a matrix of
 * rows of 16, "var-axis1-64" takes the variances of rows of 64, "sum-segments-8" sums segments
 * of 8. A pass is one call. */
#include "bench/bench.h"

#include "bench/data.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
    bf_reduction op;
    int axis; /* -1: segments */
    int64_t length;
    bf_array array, offsets, values;
    char *memory;
    size_t bytes;
} work;

static const char *const points[][2] = {{"f32", "sum-axis0-4096"},  {"f32", "sum-axis1-4096"},
                                        {"f32", "sum-axis0-16"},    {"f32", "sum-axis1-16"},
                                        {"f32", "var-axis0-4096"},  {"f32", "var-axis1-4096"},
                                        {"f32", "min-axis0-4096"},  {"f64", "sum-axis0-4096"},
                                        {"f64", "sum-axis1-4096"},  {"f32", "sum-segments-8"},
                                        {"f32", "sum-segments-64"}, {"f32", "sum-segments-1024"},
                                        {"i32", "sum-axis0-4096"},  {NULL, NULL}};

static size_t item_bytes(const char *dtype) { return bf_dtype_size(bf_dtype_from_name(dtype)); }

/* Whole rows of any length that is measured. */
static size_t fit_elements(size_t n) { return n < 4096 ? 4096 : n / 4096 * 4096; }

static void read_name(const char *name, work *w) {
    char op[8] = "";
    const char *way = strchr(name, '-') + 1;
    memcpy(op, name, (size_t)(way - 1 - name));
    w->op = bf_reduction_from_name(op);
    w->axis = strncmp(way, "axis", 4) == 0 ? way[4] - '0' : -1;
    w->length = atoll(strchr(way, '-') + 1);
}

static void elements_part(const bench_point *point, size_t first, size_t n, void *to) {
    const char *data = strcmp(point->dtype, "i32") == 0 ? "uniform" : "normal";
    if (first == 0) bench_fill(point->dtype, data, to, n);
}

static void offsets_part(const bench_point *point, size_t first, size_t n, void *to) {
    work w;
    read_name(point->data, &w);
    for (size_t i = 0; i < n; i++) ((int64_t *)to)[i] = (int64_t)(first + i) * w.length;
}

static bf_status make_data(const bench_point *point, work *w) {
    const bf_dtype dtype = bf_dtype_from_name(point->dtype),
                   to = bf_reduce_dtype(w->op, dtype, NULL);
    const int64_t n = (int64_t)point->count, rows = n / w->length;
    const int64_t results = w->axis == 0 ? w->length : rows;
    const size_t element = bf_dtype_size(dtype);
    w->bytes = (size_t)n * element + (size_t)(results + rows + 1) * sizeof(int64_t);
    bf_status st = bench_items_allocate(point, w->bytes, &w->memory);
    if (st != BF_OK) return st;
    char *values = w->memory + (size_t)n * element, *offsets = values + results * 8;
    w->array = (bf_array){w->memory, dtype, 2, {rows, w->length}, {w->length, 1}};
    if (w->axis < 0) w->array = bf_array_of(dtype, w->memory, n);
    w->values = bf_array_of(to, values, results);
    w->offsets = bf_array_of(BF_I64, offsets, rows + 1);
    st = bench_items_fill(point, w->memory, (size_t)n, element, elements_part);
    if (st == BF_OK && w->axis < 0)
        st = bench_items_fill(point, offsets, (size_t)rows + 1, sizeof(int64_t), offsets_part);
    return st;
}

static bf_status open_work(const bench_point *point, void **state) {
    work *w = calloc(1, sizeof *w);
    if (!w) return BF_E_MEMORY;
    *state = w;
    read_name(point->data, w);
    return make_data(point, w);
}

static bf_status reduce_once(const bench_point *point, void *state) {
    const work *w = state;
    if (w->axis < 0)
        return bf_reduce_segments(point->context, w->op, &w->array, &w->offsets, NULL, &w->values,
                                  NULL);
    return bf_reduce_axes(point->context, w->op, &w->array, &w->axis, 1, NULL, &w->values, NULL);
}

static bf_status run_work(const bench_point *point, void *state, int passes, double *seconds) {
    return bench_items_repeat(point, state, reduce_once, passes, seconds);
}

static void close_work(const bench_point *point, void *state) {
    work *w = state;
    bench_items_free(point, w->memory, w->bytes);
    free(w);
}

const bench_items bench_axis = {
    .work = "axis",
    .item = "elements",
    .points = {points, points},
    .counts = {{{1 << 24}, {1 << 20}}, {{1 << 28}, {1 << 24}}},
    .item_bytes = item_bytes,
    .fit = fit_elements,
    .open = open_work,
    .run = run_work,
    .close = close_work,
};
