/* Sorting and order statistics. The data name the call: "sort", "argsort", "median", "quantiles"
 * (five of them), "top-100". Elements are random: whole numbers of all bits, floats of a normal
 * distribution. A pass is one call, which leaves the elements as they are. */
#include "bench/bench.h"

#include "bench/data.h"

#include <stdlib.h>
#include <string.h>

enum { QUANTILES = 5, TOP = 100 };

typedef struct work {
    bf_array array, results;
    char *memory;
    size_t bytes;
} work;

static const char *const points[][2] = {{"u32", "sort"},   {"i64", "sort"},      {"f32", "sort"},
                                        {"f64", "sort"},   {"f32", "argsort"},   {"f32", "median"},
                                        {"f64", "median"}, {"f64", "quantiles"}, {"f32", "top-100"},
                                        {NULL, NULL}};

static size_t item_bytes(const char *dtype) { return bf_dtype_size(bf_dtype_from_name(dtype)); }

static size_t fit_elements(size_t n) { return n < TOP ? TOP : n; }

static void elements_part(const bench_point *point, size_t first, size_t n, void *to) {
    const char *dtype = strcmp(point->dtype, "u32") == 0 ? "i32" : point->dtype;
    if (first == 0) bench_fill(dtype, *dtype == 'f' ? "normal" : "uniform", to, n);
}

/* The array of the results, without memory. */
static bf_array results_of(const bench_point *point, bf_dtype dtype) {
    const int64_t n = (int64_t)point->count;
    switch (*point->data) {
    case 's': return bf_array_of(dtype, NULL, n);
    case 'a': return bf_array_of(BF_I64, NULL, n);
    case 'm': return (bf_array){.dtype = bf_median_dtype(dtype)};
    case 'q': return bf_array_of(bf_quantile_dtype(dtype, BF_QUANTILE_LINEAR), NULL, QUANTILES);
    default: return bf_array_of(dtype, NULL, TOP);
    }
}

static bf_status open_work(const bench_point *point, void **state) {
    const bf_dtype dtype = bf_dtype_from_name(point->dtype);
    const size_t element = bf_dtype_size(dtype),
                 data = (point->count * element + 255) & ~(size_t)255;
    work *w = calloc(1, sizeof *w);
    if (!w) return BF_E_MEMORY;
    *state = w;
    w->results = results_of(point, dtype);
    const size_t results = w->results.ndim == 0 ? 1 : (size_t)w->results.shape[0];
    w->bytes = data + results * sizeof(int64_t);
    const bf_status st = bench_items_allocate(point, w->bytes, &w->memory);
    if (st != BF_OK) return st;
    w->array = bf_array_of(dtype, w->memory, (int64_t)point->count);
    w->results.data = w->memory + data;
    return bench_items_fill(point, w->memory, point->count, element, elements_part);
}

static bf_status call_once(const bench_point *point, void *state) {
    const work *w = state;
    static const double q[QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
    static const bf_order_options greatest = {.size = sizeof greatest, .descending = true};
    const int axis = 0;
    bf_context *context = point->context;
    switch (*point->data) {
    case 's': return bf_sort(context, &w->array, 0, NULL, &w->results, NULL);
    case 'a': return bf_sort(context, &w->array, 0, NULL, NULL, &w->results);
    case 'm': return bf_median_axes(context, &w->array, &axis, 1, NULL, &w->results);
    case 'q':
        return bf_quantile_axes(context, &w->array, &axis, 1, q, QUANTILES, NULL, &w->results);
    default: return bf_top(context, &w->array, 0, TOP, &greatest, &w->results, NULL);
    }
}

static bf_status run_work(const bench_point *point, void *state, int passes, double *seconds) {
    return bench_items_repeat(point, state, call_once, passes, seconds);
}

static void close_work(const bench_point *point, void *state) {
    work *w = state;
    bench_items_free(point, w->memory, w->bytes);
    free(w);
}

const bench_items bench_order = {
    .work = "order",
    .item = "elements",
    .points = {points, points},
    .counts = {{{1 << 24}, {1 << 20}}, {{1 << 28}, {1 << 24}}},
    .item_bytes = item_bytes,
    .fit = fit_elements,
    .open = open_work,
    .run = run_work,
    .close = close_work,
};
