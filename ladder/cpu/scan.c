/* Running sums of ints on the CPU: from one element at a time to all cores. */
#include "ladder/cpu/cpu.h"

#include <sched.h>

/* Each sum waits for the one before it: an addition after another. */
static int64_t scan_by_one(const ladder_task *t, int64_t from, int64_t to, int64_t sum) {
    const int32_t *in = t->a;
    int64_t *out = t->out;
    for (int64_t i = from; i < to; i++) out[i] = sum += in[i];
    return sum;
}

static const char *run_scalar(const ladder_task *t) {
    scan_by_one(t, 0, t->n, 0);
    return NULL;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Eight elements are summed in three steps, whatever came before; then one addition joins that. */
static int64_t scan_range(const ladder_task *t, int64_t from, int64_t to, int64_t sum) {
    const int64_t steps = (to - from) / LADDER_SUMS;
    ladder_simd_widest()->scan((const int32_t *)t->a + from, (int64_t *)t->out + from, steps, &sum);
    return scan_by_one(t, from + steps * LADDER_SUMS, to, sum);
}

static const char *run_simd(const ladder_task *t) {
    scan_range(t, 0, t->n, 0);
    return NULL;
}

/* ---- two passes ------------------------------------------------------------------------------ */

typedef struct shared {
    const ladder_task *task;
    int64_t sums[LADDER_THREADS]; /* each share has one; then it is that of the shares before */
} shared;

static int64_t sum_range(const ladder_task *t, int64_t from, int64_t to) {
    const int32_t *in = t->a;
    int64_t sum = 0;
    for (int64_t i = from; i < to; i++) sum += in[i];
    return sum;
}

static void sum_share(void *work, int64_t from, int64_t to, int rank) {
    shared *s = work;
    s->sums[rank] = sum_range(s->task, from, to);
}

static void scan_share(void *work, int64_t from, int64_t to, int rank) {
    const shared *s = work;
    scan_range(s->task, from, to, s->sums[rank]);
}

/* A thread cannot begin its share before it knows the sum of those before. So all sum their shares
 * first, and read them again. */
static const char *run_two_passes(const ladder_task *t) {
    shared s = {.task = t};
    int64_t before = 0;
    ladder_team(t->processors, t->n, sum_share, &s);
    for (int i = 0; i < LADDER_THREADS; i++) {
        const int64_t sum = s.sums[i];
        s.sums[i] = before;
        before += sum;
    }
    ladder_team(t->processors, t->n, scan_share, &s);
    return NULL;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

enum { TILE = 1 << 15 };

typedef struct tiles {
    const ladder_task *task;
    int64_t next; /* the first element of the next tile */
    int64_t turn; /* the first element of the tile whose turn it is */
    int64_t sum;  /* before that tile */
} tiles;

/* Tiles are drawn in order, so the one before is done, or a thread is at it. */
static int64_t take_turn(tiles *s, int64_t from, int64_t to) {
    const int64_t own = sum_range(s->task, from, to);
    while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) != from) sched_yield();
    const int64_t before = s->sum;
    s->sum += own;
    __atomic_store_n(&s->turn, to, __ATOMIC_RELEASE);
    return before;
}

static void scan_tiles(void *work, int64_t share_from, int64_t share_to, int rank) {
    tiles *s = work;
    (void)share_from, (void)share_to, (void)rank;
    for (;;) {
        const int64_t from = __atomic_fetch_add(&s->next, TILE, __ATOMIC_RELAXED);
        if (from >= s->task->n) return;
        const int64_t to = s->task->n - from < TILE ? s->task->n : from + TILE;
        scan_range(s->task, from, to, take_turn(s, from, to));
    }
}

/* The second time a tile is read, it is still in the core's cache. */
static const char *run_tiles(const ladder_task *t) {
    tiles s = {.task = t};
    ladder_team(t->processors, t->n, scan_tiles, &s);
    return NULL;
}

const ladder_rung ladder_cpu_scan[] = {
    {"scalar", "a plain loop, one element at a time", run_scalar, 0},
    {"SIMD", "eight sums a step: three additions in a register", run_simd, 0},
    {"two passes", "each thread sums its share, and then scans it", run_two_passes, 0},
    {"tiles", "each tile summed, and scanned while the cache holds it", run_tiles, 0},
    {"ours", "bf_scan: the same, and exact or an error", ladder_ours_scan, LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
