/* The sides of a point, which take turns. */
#include "bench/bench.h"

#include "runtime/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 64, MAX_PASSES = 1000000 };

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *samples, int n) {
    qsort(samples, (size_t)n, sizeof *samples, compare_times);
    return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

const char *bench_mode(const bench_point *point) {
    if (!point->gpu) return "";
    return point->pageable ? "pageable" : point->stream ? "stream" : "host";
}

const char *bench_isa(const bench_point *point) {
    return point->gpu ? point->gpu->isa : bf_context_isa(point->context);
}

static bool is_expression(const bench_point *p) { return p->by == &work_expression; }

/* Times a plain loop. "read" and the sum that is beside the sum of an expression read all of the
 * memory as one vector. */

static const char *plain_work(const char *name, const bench_point *point) {
    if (strcmp(name, "read") == 0) return name;
    if (!is_expression(point)) return point->work;
    return point->vectors == 3 ? "add" : "sum";
}

static double plain_seconds(const bench_side *side, const bench_point *point, int passes) {
    const char *loop = plain_work(side->name, point);
    bool several = strcmp(loop, "dot") == 0 || strcmp(loop, "add") == 0;
    size_t bytes = several ? bench_vector_bytes(point) : point->bytes;
    const char *b = several ? point->memory + bytes : NULL;
    double seconds;
    if (!plain_time(side->plain, point->memory, b, bytes, side->ahead, point->threads, passes,
                    &seconds)) {
        fail(EXIT_IO, NULL, "cannot start a thread");
        return NAN;
    }
    return seconds / passes;
}

static double plain_side_time(const bench_side *side, const bench_point *point, int passes) {
    if (!side->plain) return -1;
    if (passes > 1 && isnan(plain_seconds(side, point, 1))) return NAN;
    return plain_seconds(side, point, passes);
}

static bench_side plain_side(const char *name, const bench_point *point) {
    static const size_t distances[] = {0, 1024, 4096, 16384};
    bench_side side = {.name = name, .time = plain_side_time};
    side.plain = plain_find(plain_work(name, point), point->dtype);
    int passes = point->bytes < (1 << 24) ? 200 : 1;
    double best = INFINITY;
    for (int i = 0; side.plain && i < 12; i++) {
        bench_side attempt = side;
        attempt.ahead = distances[i % 4];
        double seconds = plain_side_time(&attempt, point, passes);
        if (seconds < best) {
            best = seconds;
            side.ahead = attempt.ahead;
        }
    }
    return side;
}

static double peer_time(const bench_side *side, const bench_point *point, int passes) {
    return bench_peer_ask(side->peer, point, passes);
}

/* Waits, because the thread pools of libraries spin for a while after their work. */
static void let_pools_sleep(const bench_point *point) {
    if (point->threads > 1) nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
}

/* Returns how many passes take `seconds`. It estimates twice, since the first pass is cold. */
static int passes_for(const bench_side *side, const bench_point *point, double seconds) {
    int passes = 1;
    for (int i = 0; i < 2; i++) {
        double once = side->time(side, point, passes);
        if (!(once > 0)) return isnan(once) ? -1 : 0;
        double wanted = i == 0 ? seconds / once / 10 : seconds / once;
        passes = wanted < 1 ? 1 : wanted > MAX_PASSES ? MAX_PASSES : (int)wanted;
    }
    return passes;
}

/* Takes a sample of every side in each of `rounds` rounds, and sets the sides' seconds to medians.
 * A sample is as many passes as take `seconds`. Returns false if a side failed. */
static bool take_samples(bench_side *sides, int n, const bench_point *point, int rounds,
                         double seconds) {
    double samples[BENCH_SIDES][MAX_ROUNDS];
    int passes[BENCH_SIDES];
    for (int k = 0; k < n; k++) {
        let_pools_sleep(point);
        passes[k] = passes_for(&sides[k], point, seconds);
        if (passes[k] < 0) return false;
    }
    /* Every round starts with another side, so that no side always follows the same one. */
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < n; i++) {
            int k = (round + i) % n;
            if (passes[k] == 0) continue;
            let_pools_sleep(point);
            samples[k][round] = sides[k].time(&sides[k], point, passes[k]);
            if (!(samples[k][round] > 0)) return false;
        }
    }
    for (int k = 0; k < n; k++)
        sides[k].seconds = passes[k] ? bench_median(samples[k], rounds) : -1;
    return true;
}

/* ---- one point ------------------------------------------------------------------------------- */

/* How long a point is measured, {by default, with --quick}. */
typedef struct effort {
    int rounds[2];
    double seconds[2];
} effort;

static effort effort_of(const bench_point *p) {
    if (p->by->measure->item) return (effort){{5, 3}, {0.025, 0.005}};
    return p->gpu ? (effort){{9, 5}, {0.01, 0.003}} : (effort){{9, 3}, {0.025, 0.005}};
}

/* Reports a point that could not be opened. Work that a GPU cannot do is only left out, and so are
 * usual sizes that exceed its memory. Returns an exit code. */
static int open_failed(bench_options *o, const bench_point *p, bf_status st) {
    const char *item = p->by->measure->item;
    if (!p->gpu) return fail_status(st, p->context, p->work);
    if (st == BF_E_DEVICE)
        inform(NULL, "%s %s: not on this device", p->work, p->data);
    else if (st == BF_E_MEMORY && o->usual_sizes && item)
        inform(NULL, "%s %s: no memory for %zu %s", p->work, p->data, p->count, item);
    else
        o->failed += fail_status(st, p->context, p->work) != EXIT_DONE;
    return EXIT_DONE;
}

/* Other work on the vectors of an expression: a dot product. */
static bench_point dot_of(const bench_point *p) {
    bench_point other = *p;
    other.work = "dot";
    other.by = &work_reduce;
    other.reduction = BF_DOT;
    other.vectors = 2;
    other.count = bench_vector_bytes(&other) / p->element;
    return other;
}

static double no_time(const bench_side *side, const bench_point *point, int passes) {
    (void)side, (void)point, (void)passes;
    return -1;
}

/* Adds all sides but bitfold's. Returns how many there are. */
static int add_sides(bench_options *o, const bench_point *p, int n_peers, bench_own *dot,
                     bench_side *sides) {
    const bool bytes = !p->by->measure->item;
    int n = 1;
    if (bytes && !p->gpu) {
        sides[n++] = plain_side("plain", p);
        sides[n++] = plain_side("read", p);
    }
    if (bytes && bench_is_wanted(o, "expression")) {
        const bench_point other = dot_of(p);
        const bool timed = is_expression(p) && bench_own_open(&other, dot) == BF_OK;
        sides[n++] = (bench_side){"dot", timed ? bench_own_time : no_time, .own = dot};
    }
    for (int i = 0; i < n_peers; i++)
        sides[n++] = (bench_side){o->peers[i].name, peer_time, .peer = &o->peers[i]};
    return n;
}

static int measure_sides(bench_options *o, const bench_point *p, int n_peers, bench_own *own) {
    const effort e = effort_of(p);
    bench_own dot = {.bytes = 0};
    bench_side sides[BENCH_SIDES] = {{"bitfold", bench_own_time, .own = own}};
    const int n = add_sides(o, p, n_peers, &dot, sides);
    bool good = take_samples(sides, n, p, e.rounds[o->quick], e.seconds[o->quick]);
    bench_own_close(&dot);
    if (!good) return EXIT_IO;
    o->failed += sides[0].seconds <= 0;
    return sides[0].seconds <= 0 || bench_print(o, p, sides, n) ? EXIT_DONE : EXIT_IO;
}

static bool take_own(const bench_options *o, const bench_point *p, bench_side *side) {
    const effort e = effort_of(p);
    return take_samples(side, 1, p, e.rounds[o->quick], e.seconds[o->quick]);
}

int bench_time(bench_options *o, const bench_point *p, double *seconds) {
    bench_own own;
    bench_side side = {"bitfold", bench_own_time, .own = &own};
    const bf_status st = bench_own_open(p, &own);
    const int code = st != BF_OK             ? open_failed(o, p, st)
                     : take_own(o, p, &side) ? EXIT_DONE
                                             : EXIT_IO;
    bench_own_close(&own);
    *seconds = side.seconds;
    return code;
}

int bench_measure(bench_options *o, const bench_point *p, int n_peers) {
    bench_own own;
    const bf_status st = bench_own_open(p, &own);
    const int code = st == BF_OK ? measure_sides(o, p, n_peers, &own) : open_failed(o, p, st);
    bench_own_close(&own);
    return code;
}
