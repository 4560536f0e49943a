/* Hash tables on the CPU: chains of nodes, then slots. Nearly every key goes to a cache line that
 * is in no cache. The speed depends on how many of these lines a key touches, and on how many are
 * under way at a time. */
#include "ladder/table.h"
#include "ladder/cpu/cpu.h"

#include <stdatomic.h>
#include <string.h>

enum { BATCH = 32 }; /* keys whose slots are on their way */

/* ---- chains ---------------------------------------------------------------------------------- */

/* A node comes before the first of its bucket. */
static void chain_all(const uint32_t *keys, int64_t n, ladder_chains to) {
    memset(to.heads, 0, (size_t)to.buckets * sizeof *to.heads);
    for (int64_t i = 0; i < n; i++) {
        ladder_node **head = &to.heads[ladder_place(keys[i], to.buckets)];
        to.nodes[i] = (ladder_node){.key = keys[i], .value = (uint32_t)i, .next = *head};
        *head = &to.nodes[i];
    }
}

void ladder_chain_alone(const uint32_t *keys, int64_t n, void *memory) {
    chain_all(keys, n, ladder_chains_at(memory, n, true));
}

static const char *run_chains(const ladder_task *t) {
    chain_all(t->a, t->n, ladder_chains_at(t->out, t->n, false));
    return NULL;
}

static const char *run_few_chains(const ladder_task *t) {
    ladder_chain_alone(t->a, t->n, t->out);
    return NULL;
}

/* ---- slots ----------------------------------------------------------------------------------- */

typedef struct shared {
    const uint32_t *keys;
    uint64_t *slots;
    uint32_t *values; /* what is found */
    int64_t places;   /* two for each key */
} shared;

static shared shared_of(const ladder_task *t) {
    return (shared){.keys = t->a, .slots = t->out, .places = 2 * t->n};
}

static void empty_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    const shared *s = work;
    memset(s->slots + from, 0xff, (size_t)(to - from) * sizeof *s->slots);
}

/* Starts at the key's place and ends at the first slot that is empty or has the key. */
static inline void enter(const shared *s, int64_t place, int64_t i) {
    uint64_t *slots = s->slots;
    const uint32_t key = s->keys[i];
    while (slots[place] != LADDER_EMPTY && slots[place] >> 32 != key)
        place = ladder_next_place(place, s->places);
    if (slots[place] == LADDER_EMPTY) slots[place] = ladder_slot(key, (uint32_t)i);
}

static const char *run_slots(const ladder_task *t) {
    const shared s = shared_of(t);
    empty_share((void *)(uintptr_t)&s, 0, s.places, 0);
    for (int64_t i = 0; i < t->n; i++) enter(&s, ladder_place(s.keys[i], s.places), i);
    return NULL;
}

/* Enters an element among threads: the thread that changes a slot from empty owns it. A full slot
 * never changes, so one look at it is enough to pass. */
static inline void enter_shared(const shared *s, int64_t place, int64_t i) {
    _Atomic uint64_t *slots = (_Atomic uint64_t *)s->slots;
    const uint32_t key = s->keys[i];
    for (;; place = ladder_next_place(place, s->places)) {
        uint64_t seen = atomic_load_explicit(&slots[place], memory_order_relaxed);
        if (seen == LADDER_EMPTY && atomic_compare_exchange_strong_explicit(
                                        &slots[place], &seen, ladder_slot(key, (uint32_t)i),
                                        memory_order_relaxed, memory_order_relaxed))
            return;
        if (seen >> 32 == key) return;
    }
}

/* Prefetches the slots of a batch of keys before it handles the first key. The slots arrive
 * together; a plain loop would wait for one after another. */
static inline void by_batches(const shared *s, int64_t from, int64_t to,
                              void (*take)(const shared *, int64_t place, int64_t i)) {
    int64_t places[BATCH];
    for (int64_t i = from; i < to; i += BATCH) {
        const int count = to - i < BATCH ? (int)(to - i) : BATCH;
        for (int k = 0; k < count; k++) {
            places[k] = ladder_place(s->keys[i + k], s->places);
            __builtin_prefetch(&s->slots[places[k]], 1);
        }
        for (int k = 0; k < count; k++) take(s, places[k], i + k);
    }
}

static const char *run_batches(const ladder_task *t) {
    const shared s = shared_of(t);
    empty_share((void *)(uintptr_t)&s, 0, s.places, 0);
    by_batches(&s, 0, t->n, enter);
    return NULL;
}

static void enter_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    by_batches(work, from, to, enter_shared);
}

static const char *run_threads(const ladder_task *t) {
    shared s = shared_of(t);
    ladder_team(t->processors, s.places, empty_share, &s);
    ladder_team(t->processors, t->n, enter_share, &s);
    return NULL;
}

const ladder_rung ladder_cpu_build[] = {
    {"chains", "nodes from a pool in as many lists as keys", run_chains, 0},
    {"1024 chains", "the tutorial's: quick to build, slow to search", run_few_chains, LADDER_FEW},
    {"slots", "no nodes: the first empty slot from the key's place on", run_slots, LADDER_SLOTS},
    {"prefetch", "the slots of 32 keys are on their way at a time", run_batches, LADDER_SLOTS},
    {"threads", "the same on every core: a slot is taken by compare-and-swap", run_threads,
     LADDER_SLOTS},
    {"ours", "bf_table_insert: keys sorted by the region they go to", ladder_ours_table,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};

/* ---- find ------------------------------------------------------------------------------------ */

/* A lookup waits for the head, then for a node, and often for another one. */
static const char *find_in_chains(const ladder_task *t) {
    const ladder_chains in = ladder_chains_at((void *)(uintptr_t)t->built, t->n, false);
    const uint32_t *keys = t->a;
    uint32_t *values = t->out;
    for (int64_t i = 0; i < t->n; i++) {
        const ladder_node *node = in.heads[ladder_place(keys[i], in.buckets)];
        while (node && node->key != keys[i]) node = node->next;
        if (node) values[i] = node->value;
    }
    return NULL;
}

static shared find_of(const ladder_task *t) {
    return (shared){.keys = t->a,
                    .slots = (uint64_t *)(uintptr_t)t->built,
                    .values = t->out,
                    .places = 2 * t->n};
}

static inline void find(const shared *s, int64_t place, int64_t i) {
    const uint64_t *slots = s->slots;
    while (slots[place] != LADDER_EMPTY && slots[place] >> 32 != s->keys[i])
        place = ladder_next_place(place, s->places);
    if (slots[place] != LADDER_EMPTY) s->values[i] = (uint32_t)slots[place];
}

static const char *find_in_slots(const ladder_task *t) {
    const shared s = find_of(t);
    for (int64_t i = 0; i < t->n; i++) find(&s, ladder_place(s.keys[i], s.places), i);
    return NULL;
}

static void find_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    by_batches(work, from, to, find);
}

static const char *find_batches(const ladder_task *t) {
    shared s = find_of(t);
    find_share(&s, 0, t->n, 0);
    return NULL;
}

static const char *find_by_threads(const ladder_task *t) {
    shared s = find_of(t);
    ladder_team(t->processors, t->n, find_share, &s);
    return NULL;
}

const ladder_rung ladder_cpu_find[] = {
    {"chains", "through the list of the key's bucket", find_in_chains, 0},
    {"slots", "from the key's place on: mostly one cache line", find_in_slots, LADDER_SLOTS},
    {"prefetch", "the slots of 32 keys are on their way at a time", find_batches, LADDER_SLOTS},
    {"threads", "the same on every core", find_by_threads, LADDER_SLOTS},
    {"ours", "bf_table_find", ladder_ours_find, LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
