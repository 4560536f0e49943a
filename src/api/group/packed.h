/* A column of saved groups holds the words of an aggregate for each group. Limbs that are 0 (or the
 * sign) and specials that are 0 for all groups are left out. saved.c has the layout. */
#ifndef BF_API_GROUP_PACKED_H
#define BF_API_GROUP_PACKED_H

#include "rules/reduce/state.h"
#include "seam/backend.h"
#include "seam/group.h"

/* Of the limbs of a sum, which begin at word `at`, [first, end) are saved. */
typedef struct bf_packed_band {
    int at, limbs;
    int first, end;
} bf_packed_band;

/* The layout of a column. Words of version 1 have a flag in place of the count of -0
 * (rules/reduce/sum.h). */
typedef struct bf_packed {
    bf_aggregate aggregate;
    int version;
    bf_kind kind;
    int words;         /* of a group */
    int specials_most; /* number of specials that the kind counts */
    int specials;      /* number of counts that are saved: all, or 0 */
    bf_packed_band bands[2];
} bf_packed;

static inline int bf_packed_limbs(const bf_packed_band *b) {
    return b->end > b->first ? b->end - b->first : 0;
}

/* Returns the layout of a column of no groups. */
bf_packed bf_packed_of(bf_aggregate aggregate, int version);

/* Returns the bytes of a group in a column. */
size_t bf_packed_bytes(const bf_packed *packed);

/* bf_packed_cover widens the layout for the words of one group. bf_packed_settle completes it when
 * all groups are covered. */
void bf_packed_cover(bf_packed *packed, const int64_t *words);
void bf_packed_settle(bf_packed *packed);

/* Write and read the words of group i of n. The number of its rows is not in the column. */
void bf_packed_put(const bf_packed *packed, size_t n, size_t i, const int64_t *words,
                   uint8_t *column);
void bf_packed_get(const bf_packed *packed, size_t n, size_t i, int64_t rows, const uint8_t *column,
                   int64_t *words);

#endif
