/* --small: how long calls on few f64 take, which is more than their elements do. A row for each
 * work and instruction set, a column for each number of elements. */
#include "bench/bench.h"
#include "runtime/report.h"
#include "sheet/output.h"
#include "works/measured.h"

#include <string.h>

enum { COUNTS = 5, MOST = 1 << 17 };

static const size_t counts[COUNTS] = {1, 64, 1024, 16384, MOST};

static const char *const rows[] = {"sum", "dot", "var", "max", "prod", "describe"};
enum { ROWS = sizeof rows / sizeof *rows };

bool bench_knows_small(const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i], name) == 0) return true;
    return false;
}

static bench_point point_of(int row, bf_context *context, char *memory, size_t count) {
    bench_point p = {.by = &work_reduce, .work = rows[row], .data = "normal"};
    p.dtype = "f64";
    p.element = sizeof(double);
    p.reduction = bf_reduction_from_name(p.work);
    p.vectors = bf_reduction_arrays(p.reduction);
    p.count = count;
    p.bytes = count * p.element * (size_t)p.vectors;
    p.memory = memory;
    p.context = context;
    p.threads = bf_context_threads(context);
    p.buffers = 1;
    return p;
}

static void print_head(void) {
    printf("ns of a call on so many f64, on one thread\n%-9s %-8s", "work", "isa");
    for (int i = 0; i < COUNTS; i++) printf(" %8zu", counts[i]);
    putchar('\n');
}

static int run_row(bench_options *o, int row, bf_context *context, char *memory) {
    int code = EXIT_DONE;
    if (!o->json) printf("%-9s %-8s", rows[row], bf_context_isa(context));
    for (int i = 0; i < COUNTS && code == EXIT_DONE; i++) {
        const bench_point p = point_of(row, context, memory, counts[i]);
        bench_side side = {.name = "bitfold"};
        code = bench_time(o, &p, &side.seconds);
        if (code == EXIT_DONE && o->json && !bench_print(o, &p, &side, 1)) code = EXIT_IO;
        if (code == EXIT_DONE && !o->json) printf(" %8.0f", side.seconds * 1e9);
    }
    if (!o->json) putchar('\n');
    return code == EXIT_DONE ? output_flush(stdout, "standard output") : code;
}

int bench_run_small(bench_options *o) {
    const size_t bytes = 2 * MOST * sizeof(double);
    char *memory = bench_alloc(bytes);
    if (!memory) return fail(EXIT_IO, NULL, "no memory for %zu bytes of data", bytes);
    int code = EXIT_DONE;
    bench_fill("f64", "normal", memory, 2 * MOST);
    if (!o->json) print_head();
    for (int row = 0; row < ROWS && code == EXIT_DONE; row++) {
        if (!bench_is_wanted(o, rows[row])) continue;
        for (int i = 0; i < o->n_contexts && code == EXIT_DONE; i++)
            code = run_row(o, row, o->contexts[i], memory);
    }
    bench_free(memory, bytes);
    return code;
}
