/* bench: measures the speed of each operation beside plain loops and other libraries.
 *
 * bitfold, the plain loops and the peers take turns, sample by sample, so that disturbances hit all
 * of them alike. Only ratios are compared. */
#include "bench/bench.h"

#include "command.h"
#include "runtime/report.h"

#include <string.h>

bool bench_is_gpu(const bench_options *o) { return o->gpu.number >= 0; }

bool bench_has_isas(const bench_options *o) { return o->isa && strcmp(o->isa, "all") == 0; }

static bool knows(const bench_options *o, const char *name) {
    return o->small ? bench_knows_small(name) : bench_knows(o, name);
}

static int check_works(const bench_options *o) {
    for (char **name = o->works; *name; name++) {
        if (!knows(o, *name))
            return fail(EXIT_USAGE, NULL, "'%s' is no operation that is measured", *name);
    }
    return EXIT_DONE;
}

bool bench_is_wanted(const bench_options *o, const char *name) {
    if (!*o->works) return true;
    for (char **w = o->works; *w; w++)
        if (strcmp(*w, name) == 0) return true;
    return false;
}

static int open_isa(bench_options *o, const char *isa) {
    for (int t = 0; t < o->n_threads; t++) {
        const bf_options how = BF_OPTIONS(.device = "cpu", .isa = isa, .threads = o->threads[t]);
        const bf_status st = bf_context_create(&how, &o->contexts[o->n_contexts]);
        if (st != BF_OK) return fail_status(st, NULL, isa);
        o->n_contexts++;
    }
    return EXIT_DONE;
}

static int open_cpu(bench_options *o) {
    if (!bench_has_isas(o)) return open_isa(o, o->isa);
    int code = EXIT_DONE;
    for (int i = 0; bf_isa_name(i) && code == EXIT_DONE; i++)
        if (bf_isa_available(i)) code = open_isa(o, bf_isa_name(i));
    return code;
}

static int prepare_bench(bench_options *o) {
    int code = o->compare ? bench_compare_open(o) : EXIT_DONE;
    if (code == EXIT_DONE) code = bench_is_gpu(o) ? bench_gpu_open(o) : open_cpu(o);
    for (int i = 0; i < o->n_peers && code == EXIT_DONE; i++)
        code = bench_peer_start(&o->peers[i], bench_is_gpu(o) ? &o->gpu : NULL);
    return code;
}

/* Is any work wanted that is counted in bytes? */
static bool counts_bytes(const bench_options *o) {
    for (char **w = o->works; *w; w++)
        if (!bench_counts_items(*w)) return true;
    return !*o->works;
}

static int run_works(bench_options *o) {
    const bool all = !*o->works && !bench_is_gpu(o);
    int code = counts_bytes(o) ? bench_run_bytes(o) : EXIT_DONE;
    if (code == EXIT_DONE) code = bench_run_items(o);
    if (code == EXIT_DONE && all) code = bench_start_up(o->json, o->quick ? 11 : 41);
    if (code == EXIT_DONE && o->failed > 0)
        code = fail(EXIT_IO, NULL, "could not be measured: %d", o->failed);
    return code;
}

static int run_bench(bench_options *o) {
    if (o->small) return bench_run_small(o);
    if (!o->json) bench_print_head(o);
    if (!o->json && counts_bytes(o)) bench_print_columns(o, NULL);
    int code = run_works(o);
    if (code == EXIT_DONE && o->slower > 0)
        code = fail(EXIT_CHECK, o->compare, "slower by more than %g%%: %d", 100 * o->fail_above,
                    o->slower);
    return code;
}

static void finish_bench(bench_options *o) {
    for (int i = 0; i < o->n_contexts; i++) bf_context_destroy(o->contexts[i]);
    for (int i = 0; i < o->n_peers; i++) bench_peer_stop(&o->peers[i]);
    bench_gpu_close(o);
    bench_compare_close(o);
}

int cmd_bench(int argc, char **argv) {
    bench_options o = {0};
    int code;
    if (!bench_parse(&o, argc, argv, &code)) return code;
    code = check_works(&o);
    if (code == EXIT_DONE) code = prepare_bench(&o);
    if (code == EXIT_DONE) code = run_bench(&o);
    finish_bench(&o);
    return code;
}
