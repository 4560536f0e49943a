/* Who does the work, and how it is timed. */
#include "bench.h"

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 64, MAX_PASSES = 1000000 };

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *samples, int n) {
    qsort(samples, (size_t)n, sizeof *samples, compare);
    return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

int bench_vectors(const char *work) {
    return strcmp(work, "add") == 0 ? 3 : strcmp(work, "dot") == 0 ? 2 : 1;
}

size_t bench_vector_bytes(const bench_point *point) {
    return point->bytes / (size_t)bench_vectors(point->work) & ~(size_t)63;
}

/* bitfold, through the general calls. */

static bf_array vector(const bench_point *point, int i) {
    char *data = point->memory + (size_t)i * bench_vector_bytes(point);
    return bf_array_of(bf_dtype_from_name(point->dtype), data, (int64_t)point->count);
}

static bf_status map(const bench_point *point) {
    bf_array a = vector(point, 0), b = vector(point, 1), out = vector(point, 2);
    const bf_array *inputs[] = {&a, &b};
    return bf_map(point->context, bf_map_from_name(point->work), inputs, 2, NULL, &out);
}

static bf_status compute(const bench_point *point) {
    bf_reduction op = bf_reduction_from_name(point->work);
    if (op == 0) return map(point);
    bf_array a = vector(point, 0);
    bf_value value;
    if (op == BF_DESCRIBE) {
        bf_description description;
        return bf_describe(point->context, &a, NULL, &description);
    }
    if (op != BF_DOT) return bf_reduce(point->context, op, &a, NULL, &value);
    bf_array b = vector(point, 1);
    return bf_dot(point->context, &a, &b, NULL, &value);
}

static double own_time(const bench_side *side, const bench_point *point, int passes) {
    (void)side;
    bf_status st = passes > 1 ? compute(point) : BF_OK;
    double start = bench_now();
    for (int i = 0; i < passes && st == BF_OK; i++) st = compute(point);
    double seconds = (bench_now() - start) / passes;
    if (st == BF_OK) return seconds;
    fail_status(st, point->context, NULL);
    return NAN;
}

bench_side bench_own_side(void) { return (bench_side){.name = "bitfold", .time = own_time}; }

/* A plain loop; "read" runs over all of the memory, as one vector. */

static double plain_seconds(const bench_side *side, const bench_point *point, int passes) {
    bool read = strcmp(side->name, "read") == 0;
    size_t bytes = read ? point->bytes : bench_vector_bytes(point);
    const char *b = read || bench_vectors(point->work) == 1 ? NULL : point->memory + bytes;
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

bench_side bench_plain_side(const char *name, const bench_point *point) {
    static const size_t distances[] = {0, 1024, 4096, 16384};
    const char *work = strcmp(name, "read") == 0 ? "read" : point->work;
    bench_side side = {.name = name, .time = plain_side_time};
    side.plain = plain_find(work, point->dtype);
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

/* A peer. */

static double peer_time(const bench_side *side, const bench_point *point, int passes) {
    return bench_peer_ask(side->peer, point, passes);
}

bench_side bench_peer_side(bench_peer *peer) {
    return (bench_side){.name = peer->name, .time = peer_time, .peer = peer};
}

/* The thread pools of libraries spin for a while after their work; that is not to be measured. */
static void let_pools_sleep(const bench_point *point) {
    if (point->threads > 1) nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
}

/* How many passes fill `seconds`: twice estimated, for the first is cold. */
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

bool bench_measure(bench_side *sides, int n, const bench_point *point, int rounds, double seconds) {
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
