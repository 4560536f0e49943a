/* Compares with an earlier run of --json.
 *
 * Reads the lines that bench writes, and no other JSON: one flat object each, without spaces or
 * strings that hold a quote. */
#include "bench/bench.h"

#include "runtime/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the text after "key": in the line; NULL if the line does not have it. */
static const char *find_key(const char *line, const char *key) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static bool has_text(const char *line, const char *key, const char *text) {
    const char *at = find_key(line, key);
    const size_t n = strlen(text);
    return at && *at == '"' && strncmp(at + 1, text, n) == 0 && at[1 + n] == '"';
}

/* Returns the number after "key":, or NaN if there is none. */
static double find_number(const char *line, const char *key) {
    const char *at = find_key(line, key);
    char *end = NULL;
    const double x = at ? strtod(at, &end) : NAN;
    return at && end != at ? x : NAN;
}

static bool is_result(const char *line) {
    return has_text(line, "command", "bench") && find_number(line, "bytes") > 0;
}

int bench_compare_open(bench_options *o) {
    const char *name = o->compare;
    FILE *f = fopen(name, "re");
    if (!f) return fail(EXIT_IO, name, "cannot open: %s", strerror(errno));
    char *line = NULL;
    size_t room = 0;
    while (o->n_old < BENCH_OLD && getline(&line, &room, f) >= 0) {
        if (!is_result(line)) continue;
        o->old[o->n_old++] = line;
        line = NULL;
        room = 0;
    }
    free(line);
    const bool failed = ferror(f);
    fclose(f);
    if (failed) return fail(EXIT_IO, name, "cannot read");
    if (o->n_old > 0) return EXIT_DONE;
    fail(EXIT_DATA, name, "no results of 'bitfold bench --json' are in it");
    return EXIT_DATA;
}

void bench_compare_close(bench_options *o) {
    for (int i = 0; i < o->n_old; i++) free(o->old[i]);
}

static bool is_same_mode(const char *line, const bench_point *point) {
    return !point->gpu || has_text(line, "mode", bench_mode(point));
}

static bool is_same_point(const char *line, const bench_point *point) {
    return has_text(line, "work", point->work) && has_text(line, "dtype", point->dtype) &&
           has_text(line, "data", point->data) && has_text(line, "isa", bench_isa(point)) &&
           is_same_mode(line, point) && find_number(line, "bytes") == (double)point->bytes &&
           find_number(line, "threads") == point->threads;
}

/* Returns the figure of a point under this key. The ratio to the memory's speed or to a plain loop
 * in the same run is steadier than GB/s. */
static double figure(const bench_point *point, const bench_side *sides, int n, const char *key) {
    if (strcmp(key, "gbps") == 0) return (double)point->bytes / sides[0].seconds * 1e-9;
    for (int k = 1; k < n && !sides[k].peer; k++)
        if (strncmp(key, sides[k].name, strlen(sides[k].name)) == 0 && sides[k].seconds > 0)
            return sides[k].seconds / sides[0].seconds;
    return NAN;
}

bench_change bench_compare(const bench_options *o, const bench_point *point,
                           const bench_side *sides, int n) {
    static const char *const keys[] = {"read_ratio", "plain_ratio", "gbps"};
    const char *line = NULL;
    for (int i = 0; i < o->n_old && !line; i++)
        if (is_same_point(o->old[i], point)) line = o->old[i];
    for (int i = 0; i < 3 && line; i++) {
        const double old = find_number(line, keys[i]), now = figure(point, sides, n, keys[i]);
        if (old > 0 && now > 0) return (bench_change){keys[i], now / old - 1};
    }
    return (bench_change){NULL, 0};
}
