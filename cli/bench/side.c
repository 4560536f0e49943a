/* The sides, and how each is timed. */
#include "bench/bench.h"

#include "runtime/report.h"

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

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *samples, int n) {
    qsort(samples, (size_t)n, sizeof *samples, compare_times);
    return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

int bench_vectors(const bench_point *point) {
    if (bench_is_expression(point->work)) return bench_is_written(point) ? 3 : 2;
    return strcmp(point->work, "add") == 0 ? 3 : strcmp(point->work, "dot") == 0 ? 2 : 1;
}

size_t bench_vector_bytes(const bench_point *point) {
    const size_t alignment = point->gpu ? 256 : 64;
    return point->bytes / (size_t)bench_vectors(point) & ~(alignment - 1);
}

const char *bench_mode(const bench_point *point) {
    if (!point->gpu) return "";
    return point->pageable ? "pageable" : point->stream ? "stream" : "host";
}

const char *bench_isa(const bench_point *point) {
    return point->gpu ? point->gpu->isa : bf_context_isa(point->context);
}

int bench_warm_up(const bench_point *point, int passes) {
    return point->gpu ? passes / 8 + 1 : passes > 1;
}

/* A general call of bitfold. */

typedef struct {
    bf_reduction op;
    bf_map_op map; /* if op is 0 */
    int n;
    bf_array vectors[3];     /* n of them */
    int buffer;              /* the next copy of the data */
    bf_histogram *histogram; /* NULL: the work is no histogram */
    bf_expression *expression;
    bf_state *state; /* of the sum of the expression, if there is one */
} call;

static call prepare_side(const bench_point *point) {
    call c = {.op = bf_reduction_from_name(point->work), .map = bf_map_from_name(point->work)};
    c.n = bench_vectors(point);
    for (int i = 0; i < c.n; i++) {
        char *data = point->memory + (size_t)i * bench_vector_bytes(point);
        c.vectors[i] = bf_array_of(bf_dtype_from_name(point->dtype), data, (int64_t)point->count);
    }
    return c;
}

static bf_status enqueue(const bench_point *p, const call *c, const bf_array v[3]) {
    const bf_array *inputs[] = {&v[0], &v[1]};
    if (c->op == 0) return bf_map_async(p->context, c->map, inputs, 2, NULL, &v[2]);
    if (c->op == BF_DOT) return bf_dot_async(p->context, &v[0], &v[1], NULL, p->gpu->result);
    return bf_reduce_async(p->context, c->op, &v[0], NULL, p->gpu->result);
}

static bf_status compute_value(const bench_point *p, const call *c, const bf_array v[3]) {
    const bf_array *inputs[] = {&v[0], &v[1]};
    bf_description description = {.size = sizeof description};
    bf_value value;
    if (c->op == 0) return bf_map(p->context, c->map, inputs, 2, NULL, &v[2]);
    if (c->op == BF_DESCRIBE) return bf_describe(p->context, &v[0], NULL, &description);
    if (c->op == BF_DOT) return bf_dot(p->context, &v[0], &v[1], NULL, &value);
    return bf_reduce(p->context, c->op, &v[0], NULL, &value);
}

/* Make before the passes, and free after them, all that is not timed. */
static bf_status begin_passes(const bench_point *point, call *c) {
    *c = prepare_side(point);
    if (bench_is_expression(point->work))
        return bench_expression_open(point, &c->expression, &c->state);
    return bench_is_histogram(point->work) ? bench_histogram_open(point, &c->histogram) : BF_OK;
}
static void end_passes(call *c) {
    bf_histogram_destroy(c->histogram);
    bf_state_destroy(c->state);
    bf_expression_destroy(c->expression);
}

static bf_status pass_once(const bench_point *point, call *c) {
    bf_array v[3];
    const size_t offset = (size_t)c->buffer * point->stride;
    for (int i = 0; i < c->n; i++) {
        v[i] = c->vectors[i];
        v[i].data = (char *)v[i].data + offset;
    }
    c->buffer = c->buffer + 1 < point->buffers ? c->buffer + 1 : 0;
    if (c->histogram) return bench_histogram_pass(point, c->histogram, &v[0]);
    if (c->expression) return bench_expression_pass(c->expression, c->state, v);
    return point->stream ? enqueue(point, c, v) : compute_value(point, c, v);
}

static bf_status run_passes(const bench_point *point, call *c, int passes) {
    bf_status st = BF_OK;
    for (int i = 0; i < passes && st == BF_OK; i++) st = pass_once(point, c);
    return st == BF_OK && point->stream ? bf_context_synchronize(point->context) : st;
}

/* Times bitfold. If a GPU cannot do the work, it is left out and the rest is measured. */
static double own_time(const bench_side *side, const bench_point *point, int passes) {
    (void)side;
    call c;
    bf_status st = begin_passes(point, &c);
    if (st == BF_OK) st = run_passes(point, &c, bench_warm_up(point, passes));
    double start = bench_now();
    if (st == BF_OK) st = run_passes(point, &c, passes);
    double seconds = (bench_now() - start) / passes;
    end_passes(&c);
    if (st == BF_OK) return seconds;
    fail_status(st, point->context, point->work);
    return point->gpu ? -1 : NAN;
}

bench_side bench_own_side(void) { return (bench_side){.name = "bitfold", .time = own_time}; }

static double also_time(const bench_side *side, const bench_point *point, int passes) {
    bench_point other = *point;
    if (!bench_is_expression(point->work)) return -1;
    other.work = side->name;
    other.count = bench_vector_bytes(&other) / bf_dtype_size(bf_dtype_from_name(point->dtype));
    return own_time(side, &other, passes);
}

bench_side bench_also_side(const char *work) {
    return (bench_side){.name = work, .time = also_time};
}

/* Times a plain loop. "read" and the sum that is beside the sum of an expression read all of the
 * memory as one vector. */

static const char *plain_work(const char *name, const bench_point *point) {
    if (strcmp(name, "read") == 0) return name;
    if (!bench_is_expression(point->work)) return point->work;
    return bench_is_written(point) ? "add" : "sum";
}

static double plain_seconds(const bench_side *side, const bench_point *point, int passes) {
    const char *work = plain_work(side->name, point);
    bool several = strcmp(work, "dot") == 0 || strcmp(work, "add") == 0;
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

bench_side bench_plain_side(const char *name, const bench_point *point) {
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

/* Asks a peer. */

static double peer_time(const bench_side *side, const bench_point *point, int passes) {
    return bench_peer_ask(side->peer, point, passes);
}

bench_side bench_peer_side(bench_peer *peer) {
    return (bench_side){.name = peer->name, .time = peer_time, .peer = peer};
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
