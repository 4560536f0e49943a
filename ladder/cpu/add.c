/* Element-wise addition on the CPU: from one element at a time to all cores. */
#include "ladder/cpu/cpu.h"

/* Memory must be up to date after each element, so the compiler forms no vectors. */
#define ELEMENT_DONE() __asm__ volatile("" : : : "memory")

static const char *run_scalar(const ladder_task *t) {
    const float *a = t->a, *b = t->b;
    float *out = t->out;
    for (int64_t i = 0; i < t->n; i++) {
        out[i] = a[i] + b[i];
        ELEMENT_DONE();
    }
    return NULL;
}

/* Fewer branches; loads need not wait for stores. */
static const char *run_unrolled(const ladder_task *t) {
    const float *a = t->a, *b = t->b;
    float *out = t->out;
    int64_t i = 0;
    for (; i + 4 <= t->n; i += 4)
        for (int k = 0; k < 4; k++) {
            out[i + k] = a[i + k] + b[i + k];
            ELEMENT_DONE();
        }
    for (; i < t->n; i++) out[i] = a[i] + b[i];
    return NULL;
}

/* Sixteen elements a step. */
static void add_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    const ladder_task *t = work;
    const float *a = t->a, *b = t->b;
    float *out = t->out;
    const int64_t steps = (to - from) / LADDER_LANES;
    ladder_simd_widest()->add(a + from, b + from, out + from, steps);
    for (int64_t i = from + steps * LADDER_LANES; i < to; i++) out[i] = a[i] + b[i];
}

static const char *run_simd(const ladder_task *t) {
    add_share((void *)(uintptr_t)t, 0, t->n, 0);
    return NULL;
}

static const char *run_threads(const ladder_task *t) {
    ladder_team(t->processors, t->n, add_share, (void *)(uintptr_t)t);
    return NULL;
}

const ladder_rung ladder_cpu_add[] = {
    {"scalar", "a plain loop, one element at a time", run_scalar, 0},
    {"unrolled", "four elements a step", run_unrolled, 0},
    {"SIMD", "sixteen elements a step", run_simd, 0},
    {"threads", "the same on every core; threads started for each call", run_threads, 0},
    {"ours", "bf_map", ladder_ours_add, LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
