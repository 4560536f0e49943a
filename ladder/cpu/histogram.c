/* Histograms of bytes on a CPU: counts of each of 256 values. An increment must wait for the one
 * before it if both have the same counter; in each rung fewer wait. */
#include "ladder/cpu/cpu.h"

#include <stdatomic.h>
#include <string.h>

enum { VALUES = LADDER_VALUES, TABLES = 4 };

/* One byte, one increment. */
static void count_plainly(const unsigned char *in, int64_t n, unsigned *counts) {
    for (int64_t i = 0; i < n; i++) counts[in[i]]++;
}

/* Neighbouring bytes go to different tables, so that equal ones do not wait. */
static void count_apart(const unsigned char *in, int64_t n, unsigned *counts) {
    unsigned tables[TABLES][VALUES] = {0};
    int64_t i = 0;
    for (; i + TABLES <= n; i += TABLES)
        for (int k = 0; k < TABLES; k++) tables[k][in[i + k]]++;
    for (; i < n; i++) tables[0][in[i]]++;
    for (int v = 0; v < VALUES; v++)
        for (int k = 0; k < TABLES; k++) counts[v] += tables[k][v];
}

typedef struct shared {
    const unsigned char *in;
    atomic_uint counts[VALUES];
} shared;

/* All threads increment the same counters: their cache lines travel from core to core. */
static void share_atomically(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    shared *s = work;
    for (int64_t i = from; i < to; i++)
        atomic_fetch_add_explicit(&s->counts[s->in[i]], 1, memory_order_relaxed);
}

/* Each thread has tables of its own, and adds them once. */
static void share_privately(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    shared *s = work;
    unsigned own[VALUES] = {0};
    count_apart(s->in + from, to - from, own);
    for (int v = 0; v < VALUES; v++)
        atomic_fetch_add_explicit(&s->counts[v], own[v], memory_order_relaxed);
}

static const char *count_alone(const ladder_task *t,
                               void (*count)(const unsigned char *, int64_t, unsigned *)) {
    unsigned counts[VALUES] = {0};
    count(t->a, t->n, counts);
    memcpy(t->out, counts, sizeof counts);
    return NULL;
}

static const char *count_together(const ladder_task *t, ladder_share *share) {
    shared s = {.in = t->a};
    unsigned counts[VALUES];
    ladder_team(t->processors, t->n, share, &s);
    for (int v = 0; v < VALUES; v++) counts[v] = atomic_load(&s.counts[v]);
    memcpy(t->out, counts, sizeof counts);
    return NULL;
}

static const char *run_plain(const ladder_task *t) { return count_alone(t, count_plainly); }
static const char *run_apart(const ladder_task *t) { return count_alone(t, count_apart); }
static const char *run_atomic(const ladder_task *t) { return count_together(t, share_atomically); }
static const char *run_threads(const ladder_task *t) { return count_together(t, share_privately); }

const ladder_rung ladder_cpu_histogram[] = {
    {"scalar", "a plain loop, one increment a byte", run_plain, 0},
    {"four tables", "neighbours go to different tables, and need not wait", run_apart, 0},
    {"atomic", "all threads increment the same counters, atomically", run_atomic, 0},
    {"private", "each thread has tables of its own, added once", run_threads, 0},
    {"ours", "bf_histogram_async", ladder_ours_histogram, LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
