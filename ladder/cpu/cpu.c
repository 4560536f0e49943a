/* The CPU as a machine for ladders: memory, a clock, and the limit. */
#include "ladder/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *open_cpu(ladder_task *task, int device) {
    (void)device;
    const bf_status status = bf_context_create(&BF_OPTIONS(.device = "cpu"), &task->context);
    if (status != BF_OK) return bf_status_string(status);
    task->processors = bf_context_threads(task->context);
    return NULL;
}

static void close_cpu(ladder_task *task) { bf_context_destroy(task->context); }

static void *allocate(size_t bytes) { return aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095); }

static void release(void *memory, bool managed) {
    (void)managed;
    free(memory);
}

static const char *copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return NULL;
}

static const char *fill(void *memory, int byte, size_t bytes) {
    memset(memory, byte, bytes);
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *time_runs(const ladder_rung *rung, const ladder_task *task, int repeats,
                             double *seconds) {
    const char *problem = NULL;
    const double began = now();
    for (int i = 0; i < repeats && !problem; i++) problem = rung->run(task);
    *seconds = now() - began;
    return problem;
}

/* ---- the limit, and two numbers -------------------------------------------------------------- */

static void read_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    uint32_t lanes[LADDER_LANES];
    const int64_t steps = (to - from) / LADDER_STEP;
    if (steps == 0) return;
    ladder_simd_widest()->read((const uint32_t *)work + from, steps, lanes);
    __asm__ volatile("" : : "m"(lanes)); /* the compiler must believe that it is used */
}

static const char *read_one(const ladder_task *t) {
    read_share((void *)(uintptr_t)t->a, 0, t->n / 4, 0);
    return NULL;
}

static const char *read_all(const ladder_task *t) {
    ladder_team(t->processors, t->n / 4, read_share, (void *)(uintptr_t)t->a);
    return NULL;
}

const ladder_rung ladder_cpu_limit[] = {
    {"one", "every byte read by one thread", read_one, 0},
    {"threads", "every byte read, by all threads", read_all, 0},
    {NULL, NULL, NULL, 0},
};

static const char *add_numbers(const ladder_task *t) {
    int a = 2;
    LADDER_AS_WRITTEN(a);
    const int sum = a + 7;
    memcpy(t->host, &sum, sizeof sum);
    return NULL;
}

const ladder_rung ladder_cpu_numbers[] = {
    {"call", "a function adds them", add_numbers, LADDER_ON_HOST},
    {NULL, NULL, NULL, 0},
};

const ladder_machine ladder_cpu = {
    .rungs = {[LADDER_LIMIT] = ladder_cpu_limit,
              [LADDER_NUMBERS] = ladder_cpu_numbers,
              [LADDER_REDUCE] = ladder_cpu_reduce,
              [LADDER_SCAN] = ladder_cpu_scan,
              [LADDER_ADD] = ladder_cpu_add,
              [LADDER_DOT] = ladder_cpu_dot,
              [LADDER_CONSTANT] = ladder_cpu_constant,
              [LADDER_JULIA] = ladder_cpu_julia,
              [LADDER_ATOMICS] = ladder_cpu_atomics,
              [LADDER_HISTOGRAM] = ladder_cpu_histogram,
              [LADDER_BUILD] = ladder_cpu_build,
              [LADDER_FIND] = ladder_cpu_find},
    .open = open_cpu,
    .close = close_cpu,
    .allocate = allocate,
    .release = release,
    .copy = copy,
    .fill = fill,
    .time = time_runs,
};
