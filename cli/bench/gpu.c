/* The points of a GPU. In mode "stream" data are in its memory and calls are enqueued: the time of
 * a pass is that of many calls, up to the end of the last, divided by their number. In mode "host"
 * the host waits for the value of each pass. In mode "pageable" the data are in the host's memory:
 * each pass copies them to the GPU, and its output back.
 *
 * Below 1 MiB each pass reads the same data, which the GPU's cache holds. From there on passes read
 * copies in turn, so many that the cache has lost a copy when its turn comes again. */
#include "bench/bench.h"

#include "bench/data.h"
#include "runtime/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Mode "host" is measured up to HOST_SIZES; beyond it, the time for the data hides the cost of a
 * call. Mode "pageable" is measured from PAGEABLE_SIZES on. */
enum {
    BLOCK = BENCH_BLOCK,
    HOST_SIZES = 1 << 24,
    PAGEABLE_SIZES = 1 << 30,
    ALIGNMENT = 256,
    RESULT = 4096
};

/* Works on the same data are neighbours. */
static const struct {
    const char *work, *dtype, *data;
    bool stream, host, pageable;
} points[] = {
    {"sum", "i32", "uniform", true, true, false},
    {"min", "i32", "uniform", true, false, false},
    {"max", "i32", "uniform", true, false, false},
    {"sum", "u8", "uniform", true, false, false},
    {"min", "u8", "uniform", true, false, false},
    {"max", "u8", "uniform", true, false, false},
    {"sum", "f32", "uniform", true, false, false},
    {"sum", "f32", "normal", true, true, true},
    {"min", "f32", "normal", true, true, false},
    {"max", "f32", "normal", true, false, false},
    {"dot", "f32", "normal", true, true, false},
    {"var", "f32", "normal", true, true, false},
    {"expression", "f32", "a*b", false, true, false},
    {"expression", "f32", "(a-b)**2", false, true, false},
    {"expression", "f32", "sqrt(a*a+b*b)", false, true, false},
    {"expression", "f32", "c=(a-b)**2", false, true, false},
    {"add", "f32", "normal", true, false, true},
    {"sum", "f64", "normal", true, true, false},
    {"min", "f64", "normal", true, false, false},
    {"max", "f64", "normal", true, false, false},
    {"dot", "f64", "normal", true, true, false},
    {"var", "f64", "normal", true, true, false},
    {"describe", "f64", "normal", false, true, false},
    {"expression", "f64", "a*b", false, true, false},
    {"expression", "f64", "(a-b)**2", false, true, false},
    {"expression", "f64", "sqrt(a*a+b*b)", false, true, false},
    {"expression", "f64", "c=(a-b)**2", false, true, false},
    {"sum", "f64", "uniform", true, false, false},
    {"prod", "f64", "uniform", true, false, false},
    {"sum", "f64", "wide", true, true, false},
    {"sum", "f64", "full", true, true, false},
    {"histogram", "u8", "uniform", true, false, true},
    {"histogram", "u8", "zipf", true, false, false},
    {"histogram", "u8", "constant", true, false, false},
    {"histogram", "f32", "uniform", true, false, false},
};
enum { N_POINTS = sizeof points / sizeof *points };

/* Two more sizes for the sum of i32: ten and a hundred million elements, as in tutorials. */
static const size_t millions[] = {40000000, 400000000};

bool bench_gpu_knows(const char *work) {
    for (int i = 0; i < N_POINTS; i++)
        if (strcmp(points[i].work, work) == 0) return true;
    return bench_items_know(work);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1); }

/* Returns the number of copies: four times the cache lies between two passes over one copy. There
 * are at least two, unless the cache is small beside one. */
static int buffers(const bench_gpu *gpu, size_t bytes) {
    if (bytes < BENCH_COLD) return 1;
    const size_t cache = 4 * (size_t)(gpu->info.l2 > 0 ? gpu->info.l2 : 1 << 26);
    const size_t n = (cache + bytes - 1) / bytes;
    return n > 1 ? (int)n : bytes < (1 << 30) ? 2 : 1;
}

static size_t memory_for(const bench_options *o) {
    size_t most = 0;
    for (int i = 0; i < o->n_sizes + 2; i++) {
        if (i >= o->n_sizes && !o->usual_sizes) break;
        const size_t bytes = i < o->n_sizes ? o->sizes[i] : millions[i - o->n_sizes];
        const size_t needed = aligned(bytes) * (size_t)buffers(&o->gpu, bytes);
        if (needed > most) most = needed;
    }
    return most;
}

/* Every peer holds a copy of the data. */
static void leave_out_what_does_not_fit(bench_options *o) {
    const bf_device_info *info = &o->gpu.info;
    const int64_t known = info->memory_free > 0 ? info->memory_free : info->memory;
    const size_t room = known > 0 ? (size_t)known / (size_t)(o->n_peers + 1) : SIZE_MAX;
    while (o->usual_sizes && o->n_sizes > 1 && memory_for(o) > room) o->n_sizes--;
}

static int open_context(bench_options *o) {
    bench_gpu *gpu = &o->gpu;
    bf_options options = BF_OPTIONS(.device = o->device);
    const bf_status st = bf_context_create(&options, &gpu->context);
    const char *reason = bf_device_reason();
    if (st != BF_OK && *reason) return fail(EXIT_DEVICE, NULL, "%s", reason);
    if (st == BF_E_DEVICE) return fail(EXIT_DEVICE, NULL, "there is no GPU '%s'", o->device);
    if (st != BF_OK) return fail_status(st, NULL, o->device);
    gpu->info.size = sizeof gpu->info;
    if (bf_device_describe(gpu->number, &gpu->info) != BF_OK)
        return fail(EXIT_DEVICE, NULL, "'%s' does not say what it is", o->device);
    const int driver = bf_driver_version();
    snprintf(gpu->isa, sizeof gpu->isa, "sm_%d%d", gpu->info.major, gpu->info.minor);
    snprintf(gpu->driver, sizeof gpu->driver, "%d.%d", driver / 1000, driver % 1000 / 10);
    return EXIT_DONE;
}

int bench_gpu_open(bench_options *o) {
    bench_gpu *gpu = &o->gpu;
    const int code = open_context(o);
    if (code != EXIT_DONE) return code;
    gpu->block = malloc(BLOCK);
    if (!gpu->block) return fail(EXIT_IO, NULL, "no memory for %d bytes of data", BLOCK);
    leave_out_what_does_not_fit(o);
    gpu->bytes = memory_for(o);
    void *memory = NULL, *result = NULL;
    bf_status st = bf_memory_allocate(gpu->context, gpu->bytes, &memory);
    if (st == BF_OK) st = bf_memory_allocate(gpu->context, RESULT, &result);
    gpu->memory = memory;
    gpu->result = result;
    return st == BF_OK ? EXIT_DONE : fail_status(st, gpu->context, o->device);
}

void bench_gpu_close(bench_options *o) {
    bench_gpu *gpu = &o->gpu;
    if (!gpu->context) return;
    bf_memory_free(gpu->context, gpu->result);
    bf_memory_free(gpu->context, gpu->memory);
    bf_context_destroy(gpu->context);
    free(gpu->block);
}

/* Fills all of the memory with the first BLOCK bytes of the data, over and over. */
static int fill_memory(bench_gpu *gpu, const char *dtype, const char *data) {
    if (gpu->dtype && strcmp(dtype, gpu->dtype) == 0 && strcmp(data, gpu->data) == 0)
        return EXIT_DONE;
    gpu->dtype = dtype;
    gpu->data = data;
    bench_fill(dtype, data, gpu->block, BLOCK / bf_dtype_size(bf_dtype_from_name(dtype)));
    size_t done = gpu->bytes < BLOCK ? gpu->bytes : BLOCK;
    bf_status st = bf_memory_copy(gpu->context, gpu->memory, gpu->block, done);
    while (done < gpu->bytes && st == BF_OK) {
        const size_t more = done < gpu->bytes - done ? done : gpu->bytes - done;
        st = bf_memory_copy(gpu->context, gpu->memory + done, gpu->memory, more);
        done += more;
    }
    return st == BF_OK ? EXIT_DONE : fail_status(st, gpu->context, NULL);
}

/* Returns a point at one size. The caller sets the mode. */
static bench_point point_of(bench_gpu *gpu, int number, size_t bytes) {
    bench_point point = {.work = points[number].work, .dtype = points[number].dtype};
    point.data = points[number].data;
    point.memory = gpu->memory;
    point.bytes = bytes;
    point.context = gpu->context;
    point.gpu = gpu;
    point.buffers = buffers(gpu, bytes);
    point.stride = aligned(bytes);
    point.count = bench_vector_bytes(&point) / bf_dtype_size(bf_dtype_from_name(point.dtype));
    return point;
}

static int measure_point(bench_options *o, const bench_point *point, int n_peers) {
    if (point->count == 0) return EXIT_DONE;
    bench_side sides[BENCH_SIDES] = {bench_own_side()};
    int n = 1;
    if (bench_is_wanted(o, "expression")) sides[n++] = bench_also_side("dot");
    for (int i = 0; i < n_peers; i++) sides[n++] = bench_peer_side(&o->peers[i]);
    if (!bench_measure(sides, n, point, o->quick ? 5 : 9, o->quick ? 0.003 : 0.01)) return EXIT_IO;
    o->failed += sides[0].seconds <= 0;
    return sides[0].seconds <= 0 || bench_print(o, point, sides, n) ? EXIT_DONE : EXIT_IO;
}

static int measure_mode(bench_options *o, int number, size_t bytes, bool stream) {
    bench_point point = point_of(&o->gpu, number, bytes);
    point.stream = stream;
    return measure_point(o, &point, o->n_peers);
}

/* Measures the same data in the host's memory, without peers. */
static int measure_pageable(bench_options *o, int number, size_t bytes) {
    bench_point point = point_of(&o->gpu, number, bytes);
    point.pageable = true;
    point.buffers = 1;
    point.memory = bench_alloc(bytes);
    if (!point.memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    for (size_t done = 0; done < bytes; done += BLOCK)
        memcpy(point.memory + done, o->gpu.block, bytes - done < BLOCK ? bytes - done : BLOCK);
    const int code = measure_point(o, &point, 0);
    bench_free(point.memory, bytes);
    return code;
}

static int run_size(bench_options *o, int number, size_t bytes) {
    const bool host = points[number].host && (bytes <= HOST_SIZES || !points[number].stream);
    const bool pageable = points[number].pageable && bytes >= HOST_SIZES && bytes <= PAGEABLE_SIZES;
    int code = points[number].stream ? measure_mode(o, number, bytes, true) : EXIT_DONE;
    if (code == EXIT_DONE && host) code = measure_mode(o, number, bytes, false);
    if (code == EXIT_DONE && pageable) code = measure_pageable(o, number, bytes);
    return code;
}

static int run_point(bench_options *o, int number) {
    const char *work = points[number].work, *dtype = points[number].dtype;
    const bool more = o->usual_sizes && strcmp(work, "sum") == 0 && strcmp(dtype, "i32") == 0;
    int code = fill_memory(&o->gpu, dtype, bench_distribution(work, points[number].data));
    for (int i = 0; i < o->n_sizes && code == EXIT_DONE; i++)
        code = run_size(o, number, o->sizes[i]);
    for (int i = 0; i < 2 && more && code == EXIT_DONE; i++)
        code = run_size(o, number, millions[i]);
    return code;
}

int bench_gpu_run(bench_options *o) {
    int code = EXIT_DONE;
    for (int i = 0; i < N_POINTS && code == EXIT_DONE; i++)
        if (bench_is_wanted(o, points[i].work)) code = run_point(o, i);
    if (code == EXIT_DONE) code = bench_items_run(o);
    if (code == EXIT_DONE && o->failed > 0)
        code = fail(EXIT_IO, NULL, "could not be measured: %d", o->failed);
    return code;
}
