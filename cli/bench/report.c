/* The output of bench: a table, or one JSON object a line. */
#include "bench/bench.h"

#include "runtime/json.h"
#include "sheet/output.h"

#include <string.h>

static double gbps(const bench_point *point, double seconds) {
    return (double)point->bytes / seconds * 1e-9;
}

/* Returns how many times as fast bitfold is: over 1 is faster. */
static double ratio(const bench_side *sides, const bench_side *other) {
    return other->seconds / sides[0].seconds;
}

static void print_size(size_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    printf(" %5zu %-3s", bytes, units[unit]);
}

static int column(const char *name) {
    int length = (int)strlen(name);
    return length < 8 ? 8 : length;
}

static const char *cache(const bench_point *point) {
    return point->bytes < BENCH_COLD ? "warm" : "cold";
}

/* Returns GB/s as a share of the peak of the GPU's memory, by its clock and width; 0: unknown. */
static double peak_share(const bench_point *point, double seconds) {
    const double peak = point->gpu->info.bandwidth;
    return peak > 0 ? (double)point->bytes / seconds / peak : 0;
}

static double per_second(const bench_point *point, double seconds) {
    return (double)point->count / seconds;
}

/* Prints the first columns, which are narrower for work that is counted in items. */
static void print_names(const char *item, const char *name, const char *dtype, const char *data) {
    printf(item ? "%-9s %-5s %-10s" : "%-10s %-5s %-13s", name, dtype, data);
}

void bench_print_columns(const bench_options *o, const char *item) {
    print_names(item, "work", "dtype", "data");
    printf(item ? " %11s " : " %9s ", item ? item : "size");
    if (o->gpu.context)
        fputs(item ? "mode              us      M/s" : "mode     cache        us     GB/s   peak",
              stdout);
    else
        printf("%s%s", bench_has_isas(o) ? "isa      " : "",
               item ? "threads      M/s" : "threads     GB/s    plain     read");
    if (!item && bench_is_wanted(o, "expression")) printf(" %8s", "dot");
    for (int i = 0; i < o->n_peers; i++) {
        const char *name = o->peers[i].name;
        printf(" %*s", column(name), name);
    }
    if (o->compare) printf("   change");
    if (o->why) printf("  strategy");
    putchar('\n');
}

void bench_print_head(const bench_options *o) {
    const bench_gpu *gpu = &o->gpu;
    if (gpu->context)
        printf("%s, CUDA %s; us, GB/s and M/s: of bitfold, peak: of the memory's %.0f GB/s.\n",
               gpu->info.name, gpu->driver, gpu->info.bandwidth * 1e-9);
    else
        fputs("GB/s and M/s: of bitfold. ", stdout);
    puts("The columns after it: how many times as fast as that bitfold is.");
}

/* Prints the columns of bitfold. */
static void print_own(const bench_options *o, const bench_point *point, double seconds) {
    const char *item = point->by->measure->item;
    const bool memory = point->gpu && !item;
    print_names(item, point->work, point->dtype, point->data);
    if (item)
        printf(" %11zu", point->count);
    else
        print_size(point->bytes);
    if (bench_has_isas(o)) printf(" %-8s", bench_isa(point));
    if (point->gpu)
        printf(" %-8s", bench_mode(point));
    else
        printf(" %7d", point->threads);
    if (memory) printf(" %-5s", cache(point));
    if (point->gpu) printf(item ? " %11.2f" : " %9.2f", seconds * 1e6);
    printf(" %8.1f", item ? per_second(point, seconds) * 1e-6 : gbps(point, seconds));
    if (memory) printf(" %5.1f%%", 100 * peak_share(point, seconds));
}

static void print_row(const bench_options *o, const bench_point *point, const bench_side *sides,
                      int n, bench_change change) {
    print_own(o, point, sides[0].seconds);
    for (int k = 1; k < n; k++) {
        if (sides[k].seconds > 0)
            printf(" %*.2f", column(sides[k].name), ratio(sides, &sides[k]));
        else
            printf(" %*s", column(sides[k].name), "-");
    }
    if (change.by)
        printf(" %+7.1f%%", 100 * change.share);
    else if (o->compare)
        printf(" %8s", "new");
    if (o->why) printf("  %s", bf_context_strategy(point->context));
    putchar('\n');
}

/* Prints the sides from number k on. */
static void print_peers(const bench_point *point, const bench_side *sides, int k, int n) {
    fputs(",\"peers\":{", stdout);
    for (const char *comma = ""; k < n; k++) {
        if (sides[k].seconds <= 0) continue;
        printf("%s\"%s\":{\"gbps\":%.4g,\"ratio\":%.4g", comma, sides[k].name,
               gbps(point, sides[k].seconds), ratio(sides, &sides[k]));
        if (point->by->measure->item)
            printf(",\"per_second\":%.5g", per_second(point, sides[k].seconds));
        putchar('}');
        comma = ",";
    }
    putchar('}');
}

static void print_gpu(const bench_point *point, double seconds) {
    json_text(stdout, "gpu", point->gpu->info.name);
    json_text(stdout, "driver", point->gpu->driver);
    json_text(stdout, "mode", bench_mode(point));
    if (point->by->measure->item) return;
    json_text(stdout, "cache", cache(point));
    json_real(stdout, "peak_share", 4, peak_share(point, seconds));
}

static void print_object(const bench_options *o, const bench_point *point, const bench_side *sides,
                         int n, bench_change change) {
    const char *item = point->by->measure->item;
    FILE *f = stdout;
    json_begin(f, "bench", NULL);
    json_text(f, "work", point->work);
    json_text(f, "dtype", point->dtype);
    json_text(f, "data", point->data);
    json_integer(f, "n", (int64_t)point->count);
    json_integer(f, "bytes", (int64_t)point->bytes);
    json_integer(f, "threads", point->threads);
    json_text(f, "device", bf_context_device(point->context));
    json_text(f, "isa", bench_isa(point));
    json_real(f, "seconds", 6, sides[0].seconds);
    json_real(f, "gbps", 4, gbps(point, sides[0].seconds));
    json_text(f, "item", item);
    if (item) json_real(f, "per_second", 5, per_second(point, sides[0].seconds));
    if (point->gpu) print_gpu(point, sides[0].seconds);
    if (o->why) json_text(f, "strategy", bf_context_strategy(point->context));
    int k = 1;
    for (; k < n && !sides[k].peer; k++)
        if (sides[k].seconds > 0)
            printf(",\"%s_gbps\":%.4g,\"%s_ratio\":%.4g", sides[k].name,
                   gbps(point, sides[k].seconds), sides[k].name, ratio(sides, &sides[k]));
    json_text(f, "compared_by", change.by);
    if (change.by) json_real(f, "change", 4, change.share);
    print_peers(point, sides, k, n);
    puts("}");
}

bool bench_print(bench_options *o, const bench_point *point, const bench_side *sides, int n) {
    const bench_change change = bench_compare(o, point, sides, n);
    o->slower += o->fail_above >= 0 && change.by && change.share < -o->fail_above;
    if (o->json)
        print_object(o, point, sides, n, change);
    else
        print_row(o, point, sides, n, change);
    return output_flush(stdout, "standard output") == EXIT_DONE;
}
