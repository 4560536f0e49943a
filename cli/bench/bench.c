/* bench: measures the speed of each operation beside plain loops and other libraries.
 *
 * bitfold, the plain loops and the peers take turns, sample by sample, so that disturbances hit all
 * of them alike. Only ratios are compared. */
#include "bench/bench.h"

#include "command.h"
#include "runtime/report.h"

#include <string.h>

static bool is_gpu(const bench_options *options) { return options->gpu.number >= 0; }

static int check_works(const bench_options *options) {
    for (char **name = options->works; *name; name++) {
        if (!bench_knows(options, *name))
            return fail(EXIT_USAGE, NULL, "'%s' is no operation that is measured", *name);
    }
    return EXIT_DONE;
}

bool bench_is_wanted(const bench_options *options, const char *name) {
    if (!*options->works) return true;
    for (char **w = options->works; *w; w++)
        if (strcmp(*w, name) == 0) return true;
    return false;
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
        if (!bench_counts_items(*w)) return true;
    return !*options->works;
}

static int run_works(bench_options *o) {
    const bool all = !*o->works && !is_gpu(o);
    int code = counts_bytes(o) ? bench_run_bytes(o) : EXIT_DONE;
    if (code == EXIT_DONE) code = bench_run_items(o);
    if (code == EXIT_DONE && all) code = bench_start_up(o->json, o->quick ? 11 : 41);
    if (code == EXIT_DONE && o->failed > 0)
        code = fail(EXIT_IO, NULL, "could not be measured: %d", o->failed);
    return code;
}

static int run_bench(bench_options *options) {
    if (!options->json) bench_print_head(options);
    if (!options->json && counts_bytes(options)) bench_print_columns(options, NULL);
    int code = run_works(options);
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
