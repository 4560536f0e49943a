/* A counter that all threads of the CPU increment: wrong; right; right and fast. */
#include "ladder/cpu/cpu.h"

#include <stdatomic.h>
#include <string.h>

typedef struct counter {
    _Alignas(64) atomic_uint value;
} counter;

/* x++ is a load, an addition and a store. Between the load and the store another thread may store.
 */
static void count_plainly(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    counter *c = work;
    for (int64_t i = from; i < to; i++) {
        const unsigned x = atomic_load_explicit(&c->value, memory_order_relaxed);
        atomic_store_explicit(&c->value, x + 1, memory_order_relaxed);
    }
}

/* One indivisible step. The cache line with the counter travels from core to core. */
static void count_atomically(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    counter *c = work;
    for (int64_t i = from; i < to; i++)
        atomic_fetch_add_explicit(&c->value, 1, memory_order_relaxed);
}

/* Each thread counts for itself, and adds once. */
static void count_apart(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    counter *c = work;
    unsigned own = 0;
    for (int64_t i = from; i < to; i++) {
        own++;
        LADDER_AS_WRITTEN(own);
    }
    atomic_fetch_add_explicit(&c->value, own, memory_order_relaxed);
}

static const char *count(const ladder_task *t, ladder_share *share) {
    counter c = {0};
    ladder_team(t->processors, t->n, share, &c);
    const unsigned value = atomic_load(&c.value);
    memcpy(t->out, &value, sizeof value);
    return NULL;
}

static const char *run_plain(const ladder_task *t) { return count(t, count_plainly); }
static const char *run_atomic(const ladder_task *t) { return count(t, count_atomically); }
static const char *run_apart(const ladder_task *t) { return count(t, count_apart); }

const ladder_rung ladder_cpu_atomics[] = {
    {"plain", "x++ by all threads: updates are lost", run_plain, LADDER_LOSES},
    {"atomic", "an indivisible fetch-and-add each time", run_atomic, 0},
    {"apart", "each thread counts for itself and adds once", run_apart, 0},
    {NULL, NULL, NULL, 0},
};
