/* The tables of LADDER_BUILD and LADDER_FIND: the layout of n keys in a piece of memory. Key i has
 * the value i, as a key of a data set leads to its row. n is at most LADDER_MOST_KEYS. */
#ifndef BITFOLD_LADDER_TABLE_H
#define BITFOLD_LADDER_TABLE_H

#include "ladder/ladder.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LADDER_BUCKETS = 1024 }; /* the tutorial's table has so many */
#define LADDER_MOST_KEYS (1LL << 31)

/* Bytes of the memory: some for each key, and a constant number. */
enum { LADDER_TABLE_EACH = 24, LADDER_TABLE_ROOM = LADDER_BUCKETS * 12 };

/* ---- chains: each bucket is a list of nodes -------------------------------------------------- */

typedef struct ladder_node {
    uint32_t key, value;
    struct ladder_node *next; /* NULL: the last */
} ladder_node;

typedef struct ladder_chains {
    unsigned *locks;    /* LADDER_BUCKETS, 0: open */
    ladder_node *nodes; /* the pool: node i is for key i, so there is no allocator */
    ladder_node **heads;
    int64_t buckets;
} ladder_chains;

/* The number of buckets. Few: as many as the tutorial has; otherwise as many as keys. */
static inline ladder_chains ladder_chains_at(void *memory, int64_t n, bool few) {
    ladder_chains c;
    c.locks = (unsigned *)memory;
    c.nodes = (ladder_node *)(c.locks + LADDER_BUCKETS);
    c.heads = (ladder_node **)(c.nodes + n);
    c.buckets = few ? (int64_t)LADDER_BUCKETS : n;
    return c;
}

/* One thread of the CPU: empties few chains in this memory and enters n keys. */
void ladder_chain_alone(const uint32_t *keys, int64_t n, void *memory);

/* ---- open addressing: slots, of which half stay empty ---------------------------------------- */

static inline LADDER_ANYWHERE uint64_t ladder_slot(uint32_t key, uint32_t value) {
    return (uint64_t)key << 32 | value;
}

/* An empty slot. No value is all ones, so any key may be in the table. */
#define LADDER_EMPTY UINT64_MAX

/* ---- where a key belongs --------------------------------------------------------------------- */

/* The place of a key among `places` (at most 2^32). The multiplication lets all bits of the key
 * change the high ones, which choose the place. The constant is 2^32 by the golden ratio (Knuth,
 * volume 3). */
static inline LADDER_ANYWHERE int64_t ladder_place(uint32_t key, int64_t places) {
    return (int64_t)((uint64_t)(key * 0x9e3779b9U) * (uint64_t)places >> 32);
}

static inline LADDER_ANYWHERE int64_t ladder_next_place(int64_t place, int64_t places) {
    return place + 1 < places ? place + 1 : 0;
}

/* ---- the judgement --------------------------------------------------------------------------- */

/* Checks the table that a rung built, on the host: sets row->good and probes. */
const char *ladder_check_table(const ladder_machine *machine, const ladder_rung *rung,
                               const ladder_task *task, ladder_row *row);

/* Checks the values at out: of random rows (ladder_row_of), or of all in order. */
const char *ladder_check_found(const ladder_machine *machine, const ladder_task *task, bool random,
                               ladder_row *row);

#ifdef __cplusplus
}
#endif
#endif
