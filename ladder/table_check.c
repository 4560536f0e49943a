/* Checks that a rung's hash table holds every key, in its place, once. */
#include "ladder/table.h"

#include "ladder/data.h"
#include "ladder/ours.h"
#include "ladder/team.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A table, copied to the host. Its pointers still point to where it was built. */
typedef struct copied {
    const void *here, *there;
    int64_t n;
    atomic_uint *seen; /* a bit for each key: there was an entry of it */
    ladder_chains chains;
    atomic_bool wrong;
    _Atomic int64_t entries; /* how many were right */
    _Atomic int64_t probes;  /* entries looked at to find each of them */
} copied;

/* An entry is right if it is key number `value`, and the first of it. */
static bool accept(copied *c, uint32_t key, uint32_t value) {
    if (value >= c->n || key != ladder_key(value)) return false;
    const unsigned bit = 1u << value % 32;
    return (atomic_fetch_or_explicit(&c->seen[value / 32], bit, memory_order_relaxed) & bit) == 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* The copy of a node; NULL if the pointer is to no node of the pool. */
static const ladder_node *relocate(const copied *c, const ladder_node *node) {
    const uintptr_t pool = (uintptr_t)c->chains.nodes - (uintptr_t)c->here;
    const uintptr_t offset = (uintptr_t)node - (uintptr_t)c->there - pool;
    if (offset % sizeof *node != 0 || offset / sizeof *node >= (uintptr_t)c->n) return NULL;
    return &c->chains.nodes[offset / sizeof *node];
}

/* The length of a chain; negative if it is wrong. A chain that runs in a circle comes to a node
 * that was seen. */
static int64_t check_chain(copied *c, int64_t bucket) {
    int64_t length = 0;
    for (const ladder_node *at = c->chains.heads[bucket]; at != NULL; length++) {
        const ladder_node *node = relocate(c, at);
        if (!node || node - c->chains.nodes != node->value) return -1;
        if (ladder_place(node->key, c->chains.buckets) != bucket) return -1;
        if (!accept(c, node->key, node->value)) return -1;
        at = node->next;
    }
    return length;
}

static void check_share(void *work, int64_t from, int64_t to, int rank) {
    (void)rank;
    copied *c = work;
    int64_t entries = 0, probes = 0;
    for (int64_t bucket = from; bucket < to; bucket++) {
        const int64_t length = check_chain(c, bucket);
        if (length < 0) c->wrong = true;
        entries += length;
        probes += length * (length + 1) / 2;
    }
    c->entries += entries;
    c->probes += probes;
}

static void check_chains(copied *c, bool few) {
    c->chains = ladder_chains_at((void *)(uintptr_t)c->here, c->n, few);
    ladder_team(bf_usable_threads(), c->chains.buckets, check_share, c);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* A key is found if all slots from its place to its entry are full. `full` counts the full slots
 * before the current one, at first those at the end of the table. */
static bool check_slots(copied *c) {
    const uint64_t *slots = c->here;
    const int64_t places = 2 * c->n;
    int64_t full = 0, entries = 0, probes = 0;
    while (full < places && slots[places - 1 - full] != LADDER_EMPTY) full++;
    for (int64_t at = 0; at < places; at++) {
        if (slots[at] == LADDER_EMPTY) {
            full = 0;
            continue;
        }
        const uint32_t key = (uint32_t)(slots[at] >> 32);
        const int64_t home = ladder_place(key, places);
        const int64_t passed = at >= home ? at - home : at + places - home;
        if (passed > full++ || !accept(c, key, (uint32_t)slots[at])) return false;
        entries++;
        probes += passed + 1;
    }
    c->entries = entries;
    c->probes = probes;
    return true;
}

/* ---- values that were found ------------------------------------------------------------------ */

const char *ladder_check_found(const ladder_machine *machine, const ladder_task *task, bool random,
                               ladder_row *row) {
    static uint32_t values[1 << 16];
    const int64_t piece = sizeof values / sizeof *values;
    row->good = true;
    for (int64_t first = 0; first < task->n; first += piece) {
        const int64_t count = task->n - first < piece ? task->n - first : piece;
        const uint32_t *from = (const uint32_t *)task->out + first;
        const char *problem = machine->copy(values, from, (size_t)count * sizeof *values);
        if (problem) return problem;
        for (int64_t i = 0; i < count; i++)
            if (values[i] != (random ? ladder_row_of(first + i, task->n) : first + i))
                row->good = false;
    }
    return NULL;
}

/* Our table's layout is private: it must have as many entries as keys, and each key must be found
 * with its value. */
static const char *check_ours(const ladder_machine *machine, const ladder_task *task,
                              ladder_row *row) {
    const char *problem = ladder_ours_find(task);
    if (!problem) problem = ladder_check_found(machine, task, false, row);
    row->good = row->good && bf_table_size(*task->table) == task->n;
    return problem;
}

/* ---- all ------------------------------------------------------------------------------------- */

static const char *check_copied(const ladder_rung *rung, copied *c, ladder_row *row) {
    c->seen = calloc((size_t)c->n / 32 + 1, sizeof *c->seen);
    if (!c->seen) return "not enough memory to check it";
    if (rung->is & LADDER_SLOTS)
        c->wrong = !check_slots(c);
    else
        check_chains(c, rung->is & LADDER_FEW);
    row->good = !c->wrong && c->entries == c->n;
    row->probes = (double)c->probes / (double)c->n;
    free(c->seen);
    return NULL;
}

const char *ladder_check_table(const ladder_machine *machine, const ladder_rung *rung,
                               const ladder_task *task, ladder_row *row) {
    const size_t bytes = LADDER_TABLE_ROOM + (size_t)task->n * LADDER_TABLE_EACH;
    copied c = {.here = task->host, .there = task->host, .n = task->n};
    if (rung->is & LADDER_OURS) return check_ours(machine, task, row);
    if (!(rung->is & LADDER_ON_HOST)) {
        const char *problem = machine->copy(task->host, task->out, bytes);
        if (problem) return problem;
        c.there = task->out;
    }
    return check_copied(rung, &c, row);
}
