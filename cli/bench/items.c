/* Work that bench counts in items: pictures by the pixel, tables by the key, groups by the row,
 * many results at once and order by the element. */
#include "bench/bench.h"

#include "bench/data.h"
#include "runtime/report.h"

#include <math.h>
#include <string.h>

static const bench_items *const all[] = {&bench_julia, &bench_table, &bench_group, &bench_axis,
                                         &bench_order};
enum { WORKS = sizeof all / sizeof *all };

bool bench_items_know(const char *work) {
    for (int i = 0; i < WORKS; i++)
        if (strcmp(all[i]->work, work) == 0) return true;
    return false;
}

/* ---- memory ---------------------------------------------------------------------------------- */

bf_status bench_items_allocate(const bench_point *point, size_t bytes, char **memory) {
    void *found = NULL;
    bf_status st = BF_OK;
    if (point->gpu)
        st = bf_memory_allocate(point->context, bytes, &found);
    else
        found = bench_alloc(bytes);
    *memory = found;
    return st == BF_OK && !found ? BF_E_MEMORY : st;
}

void bench_items_free(const bench_point *point, char *memory, size_t bytes) {
    if (point->gpu)
        bf_memory_free(point->context, memory);
    else
        bench_free(memory, bytes);
}

bf_status bench_items_fill(const bench_point *point, char *to, size_t n, size_t element,
                           bench_part *part) {
    const size_t most = BENCH_BLOCK / element;
    bf_status st = BF_OK;
    if (!point->gpu) part(point, 0, n, to);
    for (size_t first = 0; point->gpu && first < n && st == BF_OK; first += most) {
        const size_t now = n - first < most ? n - first : most;
        part(point, first, now, point->gpu->block);
        st = bf_memory_copy(point->context, to + first * element, point->gpu->block, now * element);
    }
    return st;
}

/* ---- one point ------------------------------------------------------------------------------- */

bf_status bench_items_repeat(const bench_point *point, void *state, bench_call *call, int passes,
                             double *seconds) {
    bf_status st = BF_OK;
    const double start = bench_now();
    for (int i = 0; i < passes && st == BF_OK; i++) st = call(point, state);
    if (st == BF_OK) st = bf_context_synchronize(point->context);
    *seconds += bench_now() - start;
    return st;
}

static double own_time(const bench_side *side, const bench_point *point, int passes) {
    const int untimed = bench_warm_up(point, passes);
    double seconds = 0, nothing = 0;
    bf_status st = BF_OK;
    (void)side;
    if (untimed > 0) st = point->items->run(point, point->state, untimed, &nothing);
    if (st == BF_OK) st = point->items->run(point, point->state, passes, &seconds);
    if (st == BF_OK) return seconds / passes;
    fail_status(st, point->context, point->work);
    return point->gpu ? -1 : NAN; /* as in side.c: the rest is measured */
}

static bool measure_sides(bench_options *o, const bench_point *point) {
    bench_side sides[BENCH_SIDES] = {{.name = "bitfold", .time = own_time}};
    int n = 1;
    for (int i = 0; i < o->n_peers; i++) sides[n++] = bench_peer_side(&o->peers[i]);
    if (!bench_measure(sides, n, point, o->quick ? 3 : 5, o->quick ? 0.005 : 0.025)) return false;
    o->failed += sides[0].seconds <= 0;
    return sides[0].seconds <= 0 || bench_print(o, point, sides, n);
}

/* Reports a point that could not be opened. Work that a GPU cannot do is only left out, and so are
 * usual sizes that exceed its memory. Returns an exit code. */
static int open_failed(bench_options *o, const bench_point *point, bf_status st) {
    if (!point->gpu) return fail_status(st, point->context, point->work);
    if (st == BF_E_DEVICE)
        inform(NULL, "%s %s: not on this device", point->work, point->data);
    else if (st == BF_E_MEMORY && o->usual_sizes)
        inform(NULL, "%s %s: no memory for %zu %s", point->work, point->data, point->count,
               point->items->item);
    else
        o->failed += fail_status(st, point->context, point->work) != EXIT_DONE;
    return EXIT_DONE;
}

static int measure_items(bench_options *o, bench_point point) {
    const bf_status st = point.items->open(&point, &point.state);
    int code;
    if (st != BF_OK)
        code = open_failed(o, &point, st);
    else
        code = measure_sides(o, &point) ? EXIT_DONE : EXIT_IO;
    if (point.state) point.items->close(&point, point.state);
    return code;
}

/* ---- all points ------------------------------------------------------------------------------ */

static int measure_on_cpu(bench_options *o, bench_point point) {
    int code = EXIT_DONE;
    for (int t = 0; t < o->n_threads && code == EXIT_DONE; t++) {
        point.threads = o->threads[t];
        point.context = o->contexts[t];
        code = measure_items(o, point);
    }
    return code;
}

/* Measures every point with `count` items; if that is 0, with as many as fit in `bytes`. */
static int run_size(bench_options *o, const bench_items *items, size_t count, size_t bytes) {
    const bool gpu = o->gpu.context;
    int code = EXIT_DONE;
    for (const char *const(*p)[2] = items->points[gpu]; (*p)[0] && code == EXIT_DONE; p++) {
        const size_t element = items->item_bytes((*p)[0]);
        bench_point point = {
            .work = items->work, .dtype = (*p)[0], .data = (*p)[1], .items = items, .buffers = 1};
        point.count = items->fit(count > 0 ? count : bytes / element);
        point.bytes = point.count * element;
        point.stream = gpu && items->stream;
        point.gpu = gpu ? &o->gpu : NULL;
        point.context = o->gpu.context;
        code = gpu ? measure_items(o, point) : measure_on_cpu(o, point);
    }
    return code;
}

static int run_work(bench_options *o, const bench_items *items) {
    const size_t *counts = items->counts[o->gpu.context != NULL][o->quick];
    int code = EXIT_DONE;
    if (!o->json) bench_print_columns(o, items);
    for (int i = 0; o->usual_sizes && counts[i] > 0 && code == EXIT_DONE; i++)
        code = run_size(o, items, counts[i], 0);
    for (int i = 0; !o->usual_sizes && i < o->n_sizes && code == EXIT_DONE; i++)
        code = run_size(o, items, 0, o->sizes[i]);
    return code;
}

int bench_items_run(bench_options *o) {
    int code = EXIT_DONE;
    for (int i = 0; i < WORKS && code == EXIT_DONE; i++)
        if (bench_is_wanted(o, all[i]->work)) code = run_work(o, all[i]);
    return code;
}
