/* What is measured: each work on its data, at each size, with each thread count or kind of call. */
#include "bench/bench.h"
#include "runtime/report.h"
#include "works/measured.h"

#include <string.h>

/* Mode "host" is measured up to HOST_SIZES; beyond it, the time for the data hides the cost of a
 * call. Mode "pageable" is measured from there to PAGEABLE_SIZES. */
enum { HOST_SIZES = 1 << 24, PAGEABLE_SIZES = 1 << 30 };

/* Where a work is measured: on the CPU, and how a GPU is called; and that it is measured in less
 * than SMALL_SIZES bytes, too: results that are written do not fit the smaller caches with 1 MiB.
 */
enum { CPU = 1, STREAM = 2, HOST = 4, PAGEABLE = 8, SMALL = 16, SMALL_SIZES = 1 << 20 };

/* Work that is counted in bytes. Works on the same data are neighbours, so that the data are made
 * once; those that write, of which the first two vectors stay, are the last of their data. */
typedef struct row {
    const work *by;
    const char *work, *dtype, *data;
    const char *numbers; /* how they are distributed */
    int vectors, where;
} row;

static const row rows[] = {
    {&work_reduce, "sum", "f64", "uniform", "uniform", 1, CPU | STREAM},
    {&work_reduce, "mean", "f64", "uniform", "uniform", 1, CPU},
    {&work_reduce, "prod", "f64", "uniform", "uniform", 1, CPU | STREAM},
    {&work_reduce, "sum", "f64", "normal", "normal", 1, CPU | STREAM | HOST},
    {&work_reduce, "var", "f64", "normal", "normal", 1, CPU | STREAM | HOST},
    {&work_reduce, "dot", "f64", "normal", "normal", 2, CPU | STREAM | HOST},
    {&work_reduce, "skew", "f64", "normal", "normal", 1, CPU},
    {&work_reduce, "corr", "f64", "normal", "normal", 2, CPU},
    {&work_reduce, "min", "f64", "normal", "normal", 1, CPU | STREAM},
    {&work_reduce, "max", "f64", "normal", "normal", 1, CPU | STREAM},
    {&work_reduce, "argmin", "f64", "normal", "normal", 1, CPU},
    {&work_reduce, "describe", "f64", "normal", "normal", 1, CPU | HOST},
    {&work_expression, "expression", "f64", "a*b", "normal", 2, CPU | HOST},
    {&work_expression, "expression", "f64", "(a-b)**2", "normal", 2, CPU | HOST},
    {&work_expression, "expression", "f64", "sqrt(a*a+b*b)", "normal", 2, CPU | HOST},
    {&work_expression, "expression", "f64", "c=(a-b)**2", "normal", 3, CPU | HOST},
    {&work_reduce, "sum", "f64", "wide", "wide", 1, CPU | STREAM | HOST},
    {&work_reduce, "sum", "f64", "full", "full", 1, CPU | STREAM | HOST},
    {&work_reduce, "sum", "f32", "uniform", "uniform", 1, CPU | STREAM},
    {&work_reduce, "sum", "f32", "normal", "normal", 1, CPU | STREAM | HOST | PAGEABLE},
    {&work_reduce, "dot", "f32", "normal", "normal", 2, CPU | STREAM | HOST},
    {&work_reduce, "skew", "f32", "normal", "normal", 1, CPU},
    {&work_reduce, "corr", "f32", "normal", "normal", 2, CPU},
    {&work_reduce, "min", "f32", "normal", "normal", 1, CPU | STREAM | HOST},
    {&work_reduce, "max", "f32", "normal", "normal", 1, CPU | STREAM},
    {&work_reduce, "var", "f32", "normal", "normal", 1, STREAM | HOST},
    {&work_expression, "expression", "f32", "a*b", "normal", 2, CPU | HOST},
    {&work_expression, "expression", "f32", "(a-b)**2", "normal", 2, CPU | HOST},
    {&work_expression, "expression", "f32", "sqrt(a*a+b*b)", "normal", 2, CPU | HOST},
    {&work_expression, "expression", "f32", "c=(a-b)**2", "normal", 3, CPU | HOST},
    {&work_map, "add", "f32", "normal", "normal", 3, CPU | STREAM | PAGEABLE | SMALL},
    {&work_reduce, "sum", "i32", "uniform", "uniform", 1, CPU | STREAM | HOST},
    {&work_reduce, "min", "i32", "uniform", "uniform", 1, CPU | STREAM},
    {&work_reduce, "max", "i32", "uniform", "uniform", 1, CPU | STREAM},
    {&work_reduce, "sum", "i64", "uniform", "uniform", 1, CPU},
    {&work_reduce, "sum", "u8", "uniform", "uniform", 1, STREAM},
    {&work_reduce, "min", "u8", "uniform", "uniform", 1, STREAM},
    {&work_reduce, "max", "u8", "uniform", "uniform", 1, STREAM},
    {&work_histogram, "histogram", "u8", "uniform", "uniform", 1, CPU | STREAM | PAGEABLE},
    {&work_histogram, "histogram", "u8", "zipf", "zipf", 1, CPU | STREAM},
    {&work_histogram, "histogram", "u8", "constant", "constant", 1, CPU | STREAM},
    {&work_histogram, "histogram", "f32", "uniform", "uniform", 1, CPU | STREAM},
    {NULL, NULL, NULL, NULL, NULL, 0, 0},
};

static const work *const items[] = {&work_julia, &work_table, &work_group,   &work_axis,
                                    &work_order, &work_scan,  &work_rolling, NULL};

static bool is_measured(const bench_options *o, const row *r) {
    return r->where & (bench_is_gpu(o) ? STREAM | HOST | PAGEABLE : CPU);
}

static bool is_wanted(const bench_options *o, const row *r) {
    return is_measured(o, r) && bench_is_wanted(o, r->work);
}

bool bench_counts_items(const char *name) {
    for (const work *const *by = items; *by; by++)
        if (strcmp((*by)->measure->work, name) == 0) return true;
    return false;
}

bool bench_knows(const bench_options *o, const char *name) {
    for (const row *r = rows; r->by; r++)
        if (is_measured(o, r) && strcmp(r->work, name) == 0) return true;
    return bench_counts_items(name);
}

static bench_point point_of(const bench_options *o, const row *r) {
    bench_point p = {.by = r->by, .work = r->work, .dtype = r->dtype, .data = r->data};
    p.reduction = bf_reduction_from_name(p.work);
    p.element = bf_dtype_size(bf_dtype_from_name(p.dtype));
    p.gpu = bench_is_gpu(o) ? &o->gpu : NULL;
    p.context = o->gpu.context;
    p.buffers = 1;
    return p;
}

/* Measures a point on the GPU, or on the CPU in every context. */
static int measure_point(bench_options *o, bench_point p) {
    int code = p.gpu ? bench_measure(o, &p, o->n_peers) : EXIT_DONE;
    for (int i = 0; !p.gpu && i < o->n_contexts && code == EXIT_DONE; i++) {
        p.context = o->contexts[i];
        p.threads = bf_context_threads(p.context);
        code = bench_measure(o, &p, o->n_peers);
    }
    return code;
}

/* ---- work that is counted in bytes ------------------------------------------------------------
 */

static bool same_numbers(const row *a, const row *b) {
    return strcmp(a->dtype, b->dtype) == 0 && strcmp(a->numbers, b->numbers) == 0;
}

static bench_point bytes_point(const bench_options *o, const row *r, size_t bytes, char *memory) {
    bench_point p = point_of(o, r);
    p.memory = memory;
    p.bytes = bytes;
    p.vectors = r->vectors;
    p.count = bench_vector_bytes(&p) / p.element;
    return p;
}

/* Measures every wanted point at one size. */
static int run_size(bench_options *o, size_t bytes) {
    char *memory = bench_alloc(bytes);
    if (!memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    const bool small = o->usual_sizes && bytes < SMALL_SIZES;
    const row *last = NULL;
    int code = EXIT_DONE;
    for (const row *r = rows; r->by && code == EXIT_DONE; r++) {
        if (!is_wanted(o, r) || (small && !(r->where & SMALL))) continue;
        const bench_point p = bytes_point(o, r, bytes, memory);
        if (!last || !same_numbers(last, r))
            bench_fill(p.dtype, r->numbers, memory, bytes / p.element);
        last = r;
        code = measure_point(o, p);
    }
    bench_free(memory, bytes);
    return code;
}

/* Measures calls on the GPU's memory. */
static int in_mode(bench_options *o, const row *r, size_t bytes, bool stream) {
    bench_point p = bytes_point(o, r, bytes, o->gpu.memory);
    p.stream = stream;
    p.buffers = bench_gpu_buffers(&o->gpu, bytes);
    p.stride = bench_gpu_aligned(bytes);
    return p.count > 0 ? measure_point(o, p) : EXIT_DONE;
}

/* Measures the same data in the host's memory, without peers. */
static int in_pageable(bench_options *o, const row *r, size_t bytes) {
    char *memory = bench_alloc(bytes);
    if (!memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    for (size_t done = 0; done < bytes; done += POINT_BLOCK)
        memcpy(memory + done, o->gpu.block,
               bytes - done < POINT_BLOCK ? bytes - done : POINT_BLOCK);
    bench_point p = bytes_point(o, r, bytes, memory);
    p.pageable = true;
    const int code = bench_measure(o, &p, 0);
    bench_free(memory, bytes);
    return code;
}

static int in_modes(bench_options *o, const row *r, size_t bytes) {
    const bool host = r->where & HOST && (bytes <= HOST_SIZES || !(r->where & STREAM));
    const bool pageable = r->where & PAGEABLE && bytes >= HOST_SIZES && bytes <= PAGEABLE_SIZES;
    int code = r->where & STREAM ? in_mode(o, r, bytes, true) : EXIT_DONE;
    if (code == EXIT_DONE && host) code = in_mode(o, r, bytes, false);
    if (code == EXIT_DONE && pageable) code = in_pageable(o, r, bytes);
    return code;
}

static int run_on_gpu(bench_options *o, const row *r) {
    const bool millions = strcmp(r->work, "sum") == 0 && strcmp(r->dtype, "i32") == 0;
    size_t bytes;
    int code = bench_gpu_fill(&o->gpu, r->dtype, r->numbers);
    for (int k = 0; code == EXIT_DONE && (bytes = bench_gpu_size(o, k)) > 0; k++)
        if (k < o->n_sizes || millions) code = in_modes(o, r, bytes);
    return code;
}

int bench_run_bytes(bench_options *o) {
    int code = EXIT_DONE;
    for (const row *r = rows; r->by && bench_is_gpu(o) && code == EXIT_DONE; r++)
        if (is_wanted(o, r)) code = run_on_gpu(o, r);
    for (int i = 0; i < o->n_sizes && !bench_is_gpu(o) && code == EXIT_DONE; i++)
        code = run_size(o, o->sizes[i]);
    return code;
}

/* ---- work that is counted in items ------------------------------------------------------------
 */

/* Measures every point with `count` items; if that is 0, with as many as fit in `bytes`. */
static int run_count(bench_options *o, const work *by, size_t count, size_t bytes) {
    const measure *m = by->measure;
    const char *const(*at)[2] = m->points[bench_is_gpu(o)];
    int code = EXIT_DONE;
    for (; (*at)[0] && code == EXIT_DONE; at++) {
        bench_point p =
            point_of(o, &(row){.by = by, .work = m->work, .dtype = (*at)[0], .data = (*at)[1]});
        if (m->item_bytes) p.element = m->item_bytes(p.dtype);
        p.count = count > 0 ? count : bytes / p.element;
        if (m->fit) p.count = m->fit(p.count);
        p.bytes = p.count * p.element;
        p.stream = p.gpu && m->stream;
        code = measure_point(o, p);
    }
    return code;
}

/* By default with the usual counts, otherwise with what fits in each size. */
static int run_work(bench_options *o, const work *by) {
    const size_t *counts = by->measure->counts[bench_is_gpu(o)][o->quick];
    const bool usual = o->usual_sizes;
    int code = EXIT_DONE;
    if (!o->json) bench_print_columns(o, by->measure->item);
    for (int i = 0; (usual ? counts[i] > 0 : i < o->n_sizes) && code == EXIT_DONE; i++)
        code = run_count(o, by, usual ? counts[i] : 0, usual ? 0 : o->sizes[i]);
    return code;
}

int bench_run_items(bench_options *o) {
    int code = EXIT_DONE;
    for (const work *const *by = items; *by && code == EXIT_DONE; by++)
        if (bench_is_wanted(o, (*by)->measure->work)) code = run_work(o, *by);
    return code;
}
