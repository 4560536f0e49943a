/* Reduction of ints on the CPU: from one element at a time to all cores. */
#include "ladder/cpu/cpu.h"

#include <limits.h>
#include <string.h>

/* ---- the operations, modulo 2^32 --------------------------------------------------------- */

static inline uint32_t sum(uint32_t a, uint32_t b) { return a + b; }
static inline uint32_t product(uint32_t a, uint32_t b) { return a * b; }
static inline uint32_t most(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b ? a : b; }
static inline uint32_t least(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b ? a : b; }

#define NAME(f) f##_sum
#define IDENTITY 0
#define JOIN sum
#include "ladder/cpu/reduce_loops.h"
#define NAME(f) f##_product
#define IDENTITY 1
#define JOIN product
#include "ladder/cpu/reduce_loops.h"
#define NAME(f) f##_most
#define IDENTITY (uint32_t) INT_MIN
#define JOIN most
#include "ladder/cpu/reduce_loops.h"
#define NAME(f) f##_least
#define IDENTITY (uint32_t) INT_MAX
#define JOIN least
#include "ladder/cpu/reduce_loops.h"

typedef struct operation {
    uint32_t (*scalar)(const uint32_t *x, int64_t n);
    uint32_t (*unrolled)(const uint32_t *x, int64_t n);
    uint32_t (*join)(uint32_t, uint32_t);
} operation;

static const operation *operation_of(const ladder_task *t) {
    static const operation sums = {scalar_sum, unrolled_sum, sum},
                           products = {scalar_product, unrolled_product, product},
                           maxima = {scalar_most, unrolled_most, most},
                           minima = {scalar_least, unrolled_least, least};
    switch (t->op) {
    case BF_SUM: return &sums;
    case BF_PROD: return &products;
    case BF_MAX: return &maxima;
    default: return &minima;
    }
}

static ladder_fold *fold_of(const ladder_task *t) {
    const ladder_simd *simd = ladder_simd_widest();
    switch (t->op) {
    case BF_SUM: return simd->sum;
    case BF_PROD: return simd->product;
    case BF_MAX: return simd->most;
    default: return simd->least;
    }
}

/* ---- the rungs ------------------------------------------------------------------------------- */

static const char *leave(const ladder_task *t, uint32_t value) {
    memcpy(t->out, &value, sizeof value);
    return NULL;
}

static const char *run_scalar(const ladder_task *t) {
    return leave(t, operation_of(t)->scalar(t->a, t->n));
}

static const char *run_unrolled(const ladder_task *t) {
    return leave(t, operation_of(t)->unrolled(t->a, t->n));
}

/* Whole steps in vectors, then their lanes, then the remaining elements. */
static uint32_t reduce_range(const ladder_task *t, int64_t from, int64_t to) {
    const operation *op = operation_of(t);
    const uint32_t *x = (const uint32_t *)t->a + from;
    const int64_t steps = (to - from) / LADDER_STEP;
    uint32_t lanes[LADDER_LANES];
    const uint32_t rest = op->scalar(x + steps * LADDER_STEP, (to - from) % LADDER_STEP);
    if (steps == 0) return rest;
    fold_of(t)(x, steps, lanes);
    return op->join(rest, op->scalar(lanes, LADDER_LANES));
}

static const char *run_simd(const ladder_task *t) { return leave(t, reduce_range(t, 0, t->n)); }

typedef struct shared {
    const ladder_task *task;
    uint32_t parts[LADDER_THREADS];
} shared;

static void reduce_share(void *work, int64_t from, int64_t to, int rank) {
    shared *s = work;
    s->parts[rank] = reduce_range(s->task, from, to);
}

/* Each thread reduces its share; then one loop reduces the few results. */
static const char *run_threads(const ladder_task *t) {
    shared s = {.task = t};
    const int threads = t->processors < LADDER_THREADS ? t->processors : LADDER_THREADS;
    ladder_team(threads, t->n, reduce_share, &s);
    uint32_t value = s.parts[0];
    for (int i = 1; i < threads; i++) value = operation_of(t)->join(value, s.parts[i]);
    return leave(t, value);
}

const ladder_rung ladder_cpu_reduce[] = {
    {"scalar", "a plain loop, one element at a time", run_scalar, 0},
    {"unrolled", "four chains that do not wait for each other", run_unrolled, 0},
    {"SIMD", "sixteen elements a step, in four chains", run_simd, 0},
    {"threads", "the same on every core; threads started for each call", run_threads, 0},
    {"ours", "bf_reduce: exact; a product in 128 bits, not modulo 2^32", ladder_ours_reduce,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
