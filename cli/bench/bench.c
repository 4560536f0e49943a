/* bench: measures the speed of each operation beside plain loops and other libraries.
 *
 * bitfold, the plain loops and the peers take turns, sample by sample, so that disturbances hit all
 * of them alike. Only ratios are compared. */
#include "bench/bench.h"

#include "bench/data.h"
#include "command.h"
#include "runtime/report.h"

#include <string.h>

/* The works that are measured. Works on the same data are neighbours, so that the data are made
 * once; those that write, of which the first two vectors stay, are the last of their data. */
static const bench_point points[] = {
    {.work = "sum", .dtype = "f64", .data = "uniform"},
    {.work = "mean", .dtype = "f64", .data = "uniform"},
    {.work = "prod", .dtype = "f64", .data = "uniform"},
    {.work = "sum", .dtype = "f64", .data = "normal"},
    {.work = "var", .dtype = "f64", .data = "normal"},
    {.work = "dot", .dtype = "f64", .data = "normal"},
    {.work = "min", .dtype = "f64", .data = "normal"},
    {.work = "max", .dtype = "f64", .data = "normal"},
    {.work = "argmin", .dtype = "f64", .data = "normal"},
    {.work = "describe", .dtype = "f64", .data = "normal"},
    {.work = "expression", .dtype = "f64", .data = "a*b"},
    {.work = "expression", .dtype = "f64", .data = "(a-b)**2"},
    {.work = "expression", .dtype = "f64", .data = "sqrt(a*a+b*b)"},
    {.work = "expression", .dtype = "f64", .data = "c=(a-b)**2"},
    {.work = "sum", .dtype = "f64", .data = "wide"},
    {.work = "sum", .dtype = "f32", .data = "uniform"},
    {.work = "sum", .dtype = "f32", .data = "normal"},
    {.work = "dot", .dtype = "f32", .data = "normal"},
    {.work = "min", .dtype = "f32", .data = "normal"},
    {.work = "max", .dtype = "f32", .data = "normal"},
    {.work = "expression", .dtype = "f32", .data = "a*b"},
    {.work = "expression", .dtype = "f32", .data = "(a-b)**2"},
    {.work = "expression", .dtype = "f32", .data = "sqrt(a*a+b*b)"},
    {.work = "expression", .dtype = "f32", .data = "c=(a-b)**2"},
    {.work = "add", .dtype = "f32", .data = "normal"},
    {.work = "sum", .dtype = "i32", .data = "uniform"},
    {.work = "min", .dtype = "i32", .data = "uniform"},
    {.work = "max", .dtype = "i32", .data = "uniform"},
    {.work = "sum", .dtype = "i64", .data = "uniform"},
    {.work = "histogram", .dtype = "u8", .data = "uniform"},
    {.work = "histogram", .dtype = "u8", .data = "zipf"},
    {.work = "histogram", .dtype = "u8", .data = "constant"},
    {.work = "histogram", .dtype = "f32", .data = "uniform"},
};
enum { N_POINTS = sizeof points / sizeof *points };

static bool knows(const char *work) {
    for (int i = 0; i < N_POINTS; i++)
        if (strcmp(points[i].work, work) == 0) return true;
    return bench_items_know(work);
}

static bool is_gpu(const bench_options *options) { return options->gpu.number >= 0; }

static int check_works(const bench_options *options) {
    for (char **work = options->works; *work; work++) {
        const bool known = is_gpu(options) ? bench_gpu_knows(*work) : knows(*work);
        if (!known) return fail(EXIT_USAGE, NULL, "'%s' is no operation that is measured", *work);
    }
    return EXIT_DONE;
}

/* Is this size only for work that writes results? 1 MiB of it does not fit the smaller caches. */
static bool is_too_small(const bench_options *options, const char *work, size_t bytes) {
    return options->usual_sizes && bytes < (1 << 20) && strcmp(work, "add") != 0;
}

bool bench_is_wanted(const bench_options *options, const char *work) {
    if (!*options->works) return true;
    for (char **w = options->works; *w; w++)
        if (strcmp(*w, work) == 0) return true;
    return false;
}

/* Measures a point with every thread count. */
static bool measure_works(bench_options *options, bench_point point) {
    for (int t = 0; t < options->n_threads; t++) {
        point.threads = options->threads[t];
        point.context = options->contexts[t];
        bench_side sides[BENCH_SIDES] = {bench_own_side(), bench_plain_side("plain", &point),
                                         bench_plain_side("read", &point)};
        int n = 3;
        if (bench_is_wanted(options, "expression")) sides[n++] = bench_also_side("dot");
        for (int i = 0; i < options->n_peers; i++) sides[n++] = bench_peer_side(&options->peers[i]);
        int rounds = options->quick ? 3 : 9;
        if (!bench_measure(sides, n, &point, rounds, options->quick ? 0.005 : 0.025)) return false;
        if (!bench_print(options, &point, sides, n)) return false;
    }
    return true;
}

/* Measures every wanted point at one size. */
static int run_size(bench_options *options, size_t bytes) {
    void *memory = bench_alloc(bytes);
    if (!memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    const char *dtype = "", *data = "";
    bool good = true;
    for (int i = 0; i < N_POINTS && good; i++) {
        bench_point point = points[i];
        if (!bench_is_wanted(options, point.work) || is_too_small(options, point.work, bytes))
            continue;
        size_t element = bf_dtype_size(bf_dtype_from_name(point.dtype));
        point.memory = memory;
        point.bytes = bytes;
        point.buffers = 1;
        point.count = bench_vector_bytes(&point) / element;
        const char *numbers = bench_distribution(point.work, point.data);
        if (strcmp(dtype, point.dtype) != 0 || strcmp(data, numbers) != 0)
            bench_fill(point.dtype, numbers, memory, bytes / element);
        dtype = point.dtype;
        data = numbers;
        good = measure_works(options, point);
    }
    bench_free(memory, bytes);
    return good ? EXIT_DONE : EXIT_IO;
}

static int open_cpu(bench_options *options) {
    for (int t = 0; t < options->n_threads; t++) {
        bf_options o =
            BF_OPTIONS(.device = "cpu", .isa = options->isa, .threads = options->threads[t]);
        bf_status st = bf_context_create(&o, &options->contexts[t]);
        if (st != BF_OK) return fail_status(st, NULL, options->isa);
    }
    return EXIT_DONE;
}

static int prepare_bench(bench_options *options) {
    int code = options->compare ? bench_compare_open(options) : EXIT_DONE;
    if (code == EXIT_DONE) code = is_gpu(options) ? bench_gpu_open(options) : open_cpu(options);
    for (int i = 0; i < options->n_peers && code == EXIT_DONE; i++)
        code = bench_peer_start(&options->peers[i], is_gpu(options) ? &options->gpu : NULL);
    return code;
}

/* Is any work wanted that is counted in bytes? */
static bool counts_bytes(const bench_options *options) {
    for (char **w = options->works; *w; w++)
        if (!bench_items_know(*w)) return true;
    return !*options->works;
}

static int run_cpu(bench_options *options) {
    for (int i = 0; i < options->n_sizes && counts_bytes(options); i++) {
        int code = run_size(options, options->sizes[i]);
        if (code != EXIT_DONE) return code;
    }
    const int code = bench_items_run(options);
    if (code != EXIT_DONE) return code;
    return *options->works ? EXIT_DONE : bench_start_up(options->json, options->quick ? 11 : 41);
}

static int run_bench(bench_options *options) {
    if (!options->json) bench_print_head(options);
    if (!options->json && counts_bytes(options)) bench_print_columns(options, NULL);
    int code = is_gpu(options) ? bench_gpu_run(options) : run_cpu(options);
    if (code == EXIT_DONE && options->slower > 0)
        code = fail(EXIT_CHECK, options->compare, "slower by more than %g%%: %d",
                    100 * options->fail_above, options->slower);
    return code;
}

static void finish_bench(bench_options *options) {
    for (int t = 0; t < options->n_threads; t++) bf_context_destroy(options->contexts[t]);
    for (int i = 0; i < options->n_peers; i++) bench_peer_stop(&options->peers[i]);
    bench_gpu_close(options);
    bench_compare_close(options);
}

int cmd_bench(int argc, char **argv) {
    bench_options options = {0};
    int code;
    if (!bench_parse(&options, argc, argv, &code)) return code;
    code = check_works(&options);
    if (code == EXIT_DONE) code = prepare_bench(&options);
    if (code == EXIT_DONE) code = run_bench(&options);
    finish_bench(&options);
    return code;
}
