/* Columns of saved groups: for each group the words of a state, without the limbs and counts that
 * say nothing about any group (saved.c has the layout). */
#ifndef BF_API_GROUP_PACKED_H
#define BF_API_GROUP_PACKED_H

#include "rules/reduce/state.h"
#include "seam/backend.h"
#include "seam/group.h"

/* Limbs [first, end) of sums, of all in the words of a group from `at` on. */
typedef struct bf_packed_band {
    int at, limbs; /* of the layout */
    int first, end;
} bf_packed_band;

/* How an aggregate is saved. Words of version 1 have a flag where the count of -0 is now
 * (rules/reduce/sum.h). */
typedef struct bf_packed {
    bf_aggregate aggregate;
    int version;
    bf_kind kind;
    int words;      /* of a group */
    int apart_most; /* counts apart that the kind has */
    int apart;      /* those saved: all, or none */
    bf_packed_band bands[2];
} bf_packed;

static inline int bf_packed_limbs(const bf_packed_band *b) {
    return b->end > b->first ? b->end - b->first : 0;
}

/* Of a column of no groups. */
bf_packed bf_packed_of(bf_aggregate aggregate, int version);

/* Bytes of a group in a column. */
size_t bf_packed_bytes(const bf_packed *packed);

/* Widens what is saved by what these words have; and after all groups. */
void bf_packed_cover(bf_packed *packed, const int64_t *words);
void bf_packed_settle(bf_packed *packed);

/* Writes the words of group i of n; and reads them: its rows are known. */
void bf_packed_put(const bf_packed *packed, size_t n, size_t i, const int64_t *words,
                   uint8_t *column);
void bf_packed_get(const bf_packed *packed, size_t n, size_t i, int64_t rows, const uint8_t *column,
                   int64_t *words);

#endif
