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

static void print_byte_columns(const bench_options *o) {
    printf("%-10s %-5s %-13s %9s ", "work", "dtype", "data", "size");
    if (o->gpu.context)
        printf("%-8s %-5s %9s %8s %6s", "mode", "cache", "us", "GB/s", "peak");
    else
        printf("%7s %8s %8s %8s", "threads", "GB/s", "plain", "read");
    if (bench_is_wanted(o, "expression")) printf(" %8s", "dot");
}

static void print_item_columns(const bench_options *o, const char *item) {
    printf("%-9s %-5s %-10s %11s ", "work", "dtype", "data", item);
    if (o->gpu.context)
        printf("%-8s %11s %8s", "mode", "us", "M/s");
    else
        printf("%7s %8s", "threads", "M/s");
}

void bench_print_columns(const bench_options *o, const char *item) {
    if (item)
        print_item_columns(o, item);
    else
        print_byte_columns(o);
    for (int i = 0; i < o->n_peers; i++) {
        const char *name = o->peers[i].name;
        printf(" %*s", column(name), name);
    }
    if (o->compare) printf("   change");
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

static void print_items(const bench_point *point, double seconds) {
    printf("%-9s %-5s %-10s %11zu", point->work, point->dtype, point->data, point->count);
    if (point->gpu)
        printf(" %-8s %11.2f", bench_mode(point), seconds * 1e6);
    else
        printf(" %7d", point->threads);
    printf(" %8.1f", per_second(point, seconds) * 1e-6);
}

static void print_bytes(const bench_point *point, double seconds) {
    printf("%-10s %-5s %-13s", point->work, point->dtype, point->data);
    print_size(point->bytes);
    if (point->gpu)
        printf(" %-8s %-5s %9.2f %8.1f %5.1f%%", bench_mode(point), cache(point), seconds * 1e6,
               gbps(point, seconds), 100 * peak_share(point, seconds));
    else
        printf(" %7d %8.1f", point->threads, gbps(point, seconds));
}

static void print_row(const bench_options *o, const bench_point *point, const bench_side *sides,
                      int n, bench_change change) {
    if (point->by->measure->item)
        print_items(point, sides[0].seconds);
    else
        print_bytes(point, sides[0].seconds);
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

static void print_object(const bench_point *point, const bench_side *sides, int n,
                         bench_change change) {
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
        print_object(point, sides, n, change);
    else
        print_row(o, point, sides, n, change);
    return output_flush(stdout, "standard output") == EXIT_DONE;
}
