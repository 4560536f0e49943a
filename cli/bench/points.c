/* What is measured: each work on its data, at each size, with each thread count or kind of call. */
#include "bench/bench.h"
#include "runtime/report.h"
#include "works/measured.h"

#include <string.h>

/* Mode "host" is measured up to HOST_SIZES; beyond it, the time for the data hides the cost of a
 * call. Mode "pageable" is measured from there to PAGEABLE_SIZES. */
enum { HOST_SIZES = 1 << 24, PAGEABLE_SIZES = 1 << 30 };

/* Where a work is measured: on the CPU, and how a GPU is called. */
enum { CPU = 1, STREAM = 2, HOST = 4, PAGEABLE = 8 };

/* Work that is counted in bytes. Works on the same data are neighbours, so that the data are made
 * once; those that write, of which the first two vectors stay, are the last of their data. */
static const struct {
    const work *by;
    const char *work, *dtype, *data;
    int where;
} points[] = {
    {&work_reduce, "sum", "f64", "uniform", CPU | STREAM},
    {&work_reduce, "mean", "f64", "uniform", CPU},
    {&work_reduce, "prod", "f64", "uniform", CPU | STREAM},
    {&work_reduce, "sum", "f64", "normal", CPU | STREAM | HOST},
    {&work_reduce, "var", "f64", "normal", CPU | STREAM | HOST},
    {&work_reduce, "dot", "f64", "normal", CPU | STREAM | HOST},
    {&work_reduce, "min", "f64", "normal", CPU | STREAM},
    {&work_reduce, "max", "f64", "normal", CPU | STREAM},
    {&work_reduce, "argmin", "f64", "normal", CPU},
    {&work_reduce, "describe", "f64", "normal", CPU | HOST},
    {&work_expression, "expression", "f64", "a*b", CPU | HOST},
    {&work_expression, "expression", "f64", "(a-b)**2", CPU | HOST},
    {&work_expression, "expression", "f64", "sqrt(a*a+b*b)", CPU | HOST},
    {&work_expression, "expression", "f64", "c=(a-b)**2", CPU | HOST},
    {&work_reduce, "sum", "f64", "wide", CPU | STREAM | HOST},
    {&work_reduce, "sum", "f64", "full", STREAM | HOST},
    {&work_reduce, "sum", "f32", "uniform", CPU | STREAM},
    {&work_reduce, "sum", "f32", "normal", CPU | STREAM | HOST | PAGEABLE},
    {&work_reduce, "dot", "f32", "normal", CPU | STREAM | HOST},
    {&work_reduce, "min", "f32", "normal", CPU | STREAM | HOST},
    {&work_reduce, "max", "f32", "normal", CPU | STREAM},
    {&work_reduce, "var", "f32", "normal", STREAM | HOST},
    {&work_expression, "expression", "f32", "a*b", CPU | HOST},
    {&work_expression, "expression", "f32", "(a-b)**2", CPU | HOST},
    {&work_expression, "expression", "f32", "sqrt(a*a+b*b)", CPU | HOST},
    {&work_expression, "expression", "f32", "c=(a-b)**2", CPU | HOST},
    {&work_map, "add", "f32", "normal", CPU | STREAM | PAGEABLE},
    {&work_reduce, "sum", "i32", "uniform", CPU | STREAM | HOST},
    {&work_reduce, "min", "i32", "uniform", CPU | STREAM},
    {&work_reduce, "max", "i32", "uniform", CPU | STREAM},
    {&work_reduce, "sum", "i64", "uniform", CPU},
    {&work_reduce, "sum", "u8", "uniform", STREAM},
    {&work_reduce, "min", "u8", "uniform", STREAM},
    {&work_reduce, "max", "u8", "uniform", STREAM},
    {&work_histogram, "histogram", "u8", "uniform", CPU | STREAM | PAGEABLE},
    {&work_histogram, "histogram", "u8", "zipf", CPU | STREAM},
    {&work_histogram, "histogram", "u8", "constant", CPU | STREAM},
    {&work_histogram, "histogram", "f32", "uniform", CPU | STREAM},
};
enum { POINTS = sizeof points / sizeof *points };

static const work *const items[] = {&work_julia, &work_table, &work_group, &work_axis, &work_order};
enum { ITEMS = sizeof items / sizeof *items };

static bool is_gpu(const bench_options *o) { return o->gpu.number >= 0; }

static bool is_measured(const bench_options *o, int i) {
    return is_gpu(o) ? points[i].where > CPU : points[i].where & CPU;
}

bool bench_counts_items(const char *name) {
    for (int i = 0; i < ITEMS; i++)
        if (strcmp(items[i]->measure->work, name) == 0) return true;
    return false;
}

bool bench_knows(const bench_options *o, const char *name) {
    for (int i = 0; i < POINTS; i++)
        if (is_measured(o, i) && strcmp(points[i].work, name) == 0) return true;
    return bench_counts_items(name);
}

/* Measures a point on the CPU with every thread count. */
static int with_threads(bench_options *o, bench_point point) {
    int code = EXIT_DONE;
    for (int t = 0; t < o->n_threads && code == EXIT_DONE; t++) {
        point.threads = o->threads[t];
        point.context = o->contexts[t];
        code = bench_measure(o, &point, o->n_peers);
    }
    return code;
}

/* ---- work that is counted in bytes ------------------------------------------------------------
 */

/* How the numbers of a point are distributed. */
static const char *numbers_of(int i) {
    return points[i].by == &work_expression ? "normal" : points[i].data;
}

static bench_point point_of(bench_options *o, int i, size_t bytes, char *memory) {
    bench_point p = {.by = points[i].by, .work = points[i].work, .dtype = points[i].dtype};
    p.data = points[i].data;
    p.reduction = bf_reduction_from_name(p.work);
    p.memory = memory;
    p.bytes = bytes;
    p.buffers = 1;
    p.gpu = is_gpu(o) ? &o->gpu : NULL;
    p.context = o->gpu.context;
    p.count = bench_vector_bytes(&p) / bf_dtype_size(bf_dtype_from_name(p.dtype));
    return p;
}

/* Is this size only for work that writes results? 1 MiB of it does not fit the smaller caches. */
static bool is_too_small(const bench_options *o, int i, size_t bytes) {
    return o->usual_sizes && bytes < (1 << 20) && points[i].by != &work_map;
}

/* Measures every wanted point at one size. */
static int run_size(bench_options *o, size_t bytes) {
    const char *dtype = "", *data = "";
    char *memory = bench_alloc(bytes);
    if (!memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    int code = EXIT_DONE;
    for (int i = 0; i < POINTS && code == EXIT_DONE; i++) {
        if (!is_measured(o, i) || !bench_is_wanted(o, points[i].work)) continue;
        if (is_too_small(o, i, bytes)) continue;
        const bench_point p = point_of(o, i, bytes, memory);
        if (strcmp(dtype, p.dtype) != 0 || strcmp(data, numbers_of(i)) != 0)
            bench_fill(p.dtype, numbers_of(i), memory,
                       bytes / bf_dtype_size(bf_dtype_from_name(p.dtype)));
        dtype = p.dtype;
        data = numbers_of(i);
        code = with_threads(o, p);
    }
    bench_free(memory, bytes);
    return code;
}

/* Measures calls on the GPU's memory. */
static int in_mode(bench_options *o, int i, size_t bytes, bool stream) {
    bench_point p = point_of(o, i, bytes, o->gpu.memory);
    p.stream = stream;
    p.buffers = bench_gpu_buffers(&o->gpu, bytes);
    p.stride = bench_gpu_aligned(bytes);
    return p.count > 0 ? bench_measure(o, &p, o->n_peers) : EXIT_DONE;
}

/* Measures the same data in the host's memory, without peers. */
static int in_pageable(bench_options *o, int i, size_t bytes) {
    char *memory = bench_alloc(bytes);
    if (!memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    for (size_t done = 0; done < bytes; done += POINT_BLOCK)
        memcpy(memory + done, o->gpu.block,
               bytes - done < POINT_BLOCK ? bytes - done : POINT_BLOCK);
    bench_point p = point_of(o, i, bytes, memory);
    p.pageable = true;
    const int code = bench_measure(o, &p, 0);
    bench_free(memory, bytes);
    return code;
}

static int in_modes(bench_options *o, int i, size_t bytes) {
    const int where = points[i].where;
    const bool host = where & HOST && (bytes <= HOST_SIZES || !(where & STREAM));
    const bool pageable = where & PAGEABLE && bytes >= HOST_SIZES && bytes <= PAGEABLE_SIZES;
    int code = where & STREAM ? in_mode(o, i, bytes, true) : EXIT_DONE;
    if (code == EXIT_DONE && host) code = in_mode(o, i, bytes, false);
    if (code == EXIT_DONE && pageable) code = in_pageable(o, i, bytes);
    return code;
}

static int run_on_gpu(bench_options *o, int i) {
    const bool millions = strcmp(points[i].work, "sum") == 0 && strcmp(points[i].dtype, "i32") == 0;
    size_t bytes;
    int code = bench_gpu_fill(&o->gpu, points[i].dtype, numbers_of(i));
    for (int k = 0; code == EXIT_DONE && (bytes = bench_gpu_size(o, k)) > 0; k++)
        if (k < o->n_sizes || millions) code = in_modes(o, i, bytes);
    return code;
}

int bench_run_bytes(bench_options *o) {
    int code = EXIT_DONE;
    for (int i = 0; i < POINTS && is_gpu(o) && code == EXIT_DONE; i++)
        if (is_measured(o, i) && bench_is_wanted(o, points[i].work)) code = run_on_gpu(o, i);
    for (int i = 0; i < o->n_sizes && !is_gpu(o) && code == EXIT_DONE; i++)
        code = run_size(o, o->sizes[i]);
    return code;
}

/* ---- work that is counted in items ------------------------------------------------------------
 */

/* Measures every point with `count` items; if that is 0, with as many as fit in `bytes`. */
static int run_count(bench_options *o, const work *by, size_t count, size_t bytes) {
    const measure *m = by->measure;
    int code = EXIT_DONE;
    for (const char *const(*at)[2] = m->points[is_gpu(o)]; (*at)[0] && code == EXIT_DONE; at++) {
        bench_point p = {.by = by, .work = m->work, .dtype = (*at)[0], .data = (*at)[1]};
        const size_t element =
            m->item_bytes ? m->item_bytes(p.dtype) : bf_dtype_size(bf_dtype_from_name(p.dtype));
        p.count = count > 0 ? count : bytes / element;
        if (m->fit) p.count = m->fit(p.count);
        p.bytes = p.count * element;
        p.buffers = 1;
        p.stream = is_gpu(o) && m->stream;
        p.gpu = is_gpu(o) ? &o->gpu : NULL;
        p.context = o->gpu.context;
        code = is_gpu(o) ? bench_measure(o, &p, o->n_peers) : with_threads(o, p);
    }
    return code;
}

static int run_work(bench_options *o, const work *by) {
    const size_t *counts = by->measure->counts[is_gpu(o)][o->quick];
    int code = EXIT_DONE;
    if (!o->json) bench_print_columns(o, by->measure->item);
    for (int i = 0; o->usual_sizes && counts[i] > 0 && code == EXIT_DONE; i++)
        code = run_count(o, by, counts[i], 0);
    for (int i = 0; !o->usual_sizes && i < o->n_sizes && code == EXIT_DONE; i++)
        code = run_count(o, by, 0, o->sizes[i]);
    return code;
}

int bench_run_items(bench_options *o) {
    int code = EXIT_DONE;
    for (int i = 0; i < ITEMS && code == EXIT_DONE; i++)
        if (bench_is_wanted(o, items[i]->measure->work)) code = run_work(o, items[i]);
    return code;
}
