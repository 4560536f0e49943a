/* The dot product on the CPU: from one element at a time to all cores. */
#include "ladder/cpu/cpu.h"

#include <string.h>

static const char *leave(const ladder_task *t, double value) {
    const float rounded = (float)value;
    memcpy(t->out, &rounded, sizeof rounded);
    return NULL;
}

/* The sum is a double: a float would lose small products beside a large sum. */
static const char *run_scalar(const ladder_task *t) {
    const float *a = t->a, *b = t->b;
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++) sum += (double)a[i] * (double)b[i];
    return leave(t, sum);
}

/* Four sums that do not wait for each other. */
static const char *run_unrolled(const ladder_task *t) {
    const float *a = t->a, *b = t->b;
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= t->n; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += (double)a[i + k] * (double)b[i + k];
    for (; i < t->n; i++) sum[0] += (double)a[i] * (double)b[i];
    return leave(t, (sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* A block is short enough to be summed in float. */
enum { BLOCK_STEPS = 64, BLOCK = BLOCK_STEPS * LADDER_STEP };

static double dot_block(const float *a, const float *b) {
    float lanes[LADDER_LANES];
    double sum = 0;
    ladder_simd_widest()->dot(a, b, BLOCK_STEPS, lanes);
    for (int i = 0; i < LADDER_LANES; i++) sum += (double)lanes[i];
    return sum;
}

static double dot_range(const ladder_task *t, int64_t from, int64_t to) {
    const float *a = t->a, *b = t->b;
    double sum = 0;
    int64_t i = from;
    for (; i + BLOCK <= to; i += BLOCK) sum += dot_block(a + i, b + i);
    for (; i < to; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static const char *run_simd(const ladder_task *t) { return leave(t, dot_range(t, 0, t->n)); }

typedef struct shared {
    const ladder_task *task;
    double parts[LADDER_THREADS];
} shared;

static void dot_share(void *work, int64_t from, int64_t to, int rank) {
    shared *s = work;
    s->parts[rank] = dot_range(s->task, from, to);
}

static const char *run_threads(const ladder_task *t) {
    shared s = {.task = t};
    ladder_team(t->processors, t->n, dot_share, &s);
    double sum = 0;
    for (int i = 0; i < LADDER_THREADS; i++) sum += s.parts[i];
    return leave(t, sum);
}

const ladder_rung ladder_cpu_dot[] = {
    {"scalar", "a plain loop, one element at a time, summed in double", run_scalar, 0},
    {"unrolled", "four sums that do not wait for each other", run_unrolled, 0},
    {"SIMD", "sixteen products a step in float, blocks summed in double", run_simd, 0},
    {"threads", "the same on every core; threads started for each call", run_threads, 0},
    {"ours", "bf_dot", ladder_ours_dot, LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
