/* A column of saved groups, or of many saved states, holds the words of an aggregate for each.
 * Limbs that are 0 (or the sign) and specials that are 0 for all are left out.
 *
 * The layout of a column has eight fields (u16 each): op, dtype, first limb and number of limbs of
 * its sums, the same two of its sums of squares, number of specials, 0.
 *
 * The column has the counts of specials of each group (i64 each: NaN, +inf, -inf, -0; for minimum
 * and maximum only NaN), then the limbs of each group's sum (u32 each), then those of its sum of
 * squares; for a minimum or maximum, the rank of each (i64) in place of the limbs. */
#ifndef BF_API_REDUCE_PACKED_H
#define BF_API_REDUCE_PACKED_H

#include "rules/reduce/state.h"
#include <bitfold/group.h>

/* The limbs of a sum begin at word `at`; [first, end) of them are saved. */
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
    int words;         /* how many words a group has */
    int specials_most; /* number of specials that the kind counts */
    int specials;      /* number of counts that are saved: all, or 0 */
    bf_packed_band bands[2];
} bf_packed;

static inline int bf_packed_limbs(const bf_packed_band *b) {
    return b->end > b->first ? b->end - b->first : 0;
}

/* Returns the layout of a column of no groups. */
bf_packed bf_packed_of(bf_aggregate aggregate, int version);

/* Write the layout, and read it. Returns false if it is impossible. */
enum { BF_PACKED_HEADER_BYTES = 16 };
void bf_packed_put_header(const bf_packed *packed, uint8_t *out);
bf_aggregate bf_packed_aggregate(const uint8_t *in);
bool bf_packed_get_header(bf_packed *packed, const uint8_t *in);
/* Do two layouts save the same limbs and specials? */
bool bf_packed_same(const bf_packed *a, const bf_packed *b);

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
