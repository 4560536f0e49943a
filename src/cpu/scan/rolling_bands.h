/* Exact sums of windows, whose limbs are in use within a band. */
#ifndef BF_CPU_SCAN_ROLLING_BANDS_H
#define BF_CPU_SCAN_ROLLING_BANDS_H

#include "rules/number/limbs.h"
#include "rules/reduce/parts.h"

/* An exact sum, whose limbs outside [first, end) are 0. */
typedef struct bf_band {
    bf_layout layout;
    int first, end;
    int64_t *limbs;
} bf_band;

/* Bands are carried after so many terms: before a limb may overflow, and so often that they grow
 * narrow again soon after what made them wide has left. */
enum { BF_BAND_TERMS = 4096 };

static inline void bf_band_open(bf_band *b, bf_layout layout, int64_t *limbs) {
    b->layout = layout;
    b->first = layout.limbs;
    b->end = 0;
    b->limbs = limbs;
    for (int i = 0; i < layout.limbs; i++) limbs[i] = 0;
}

/* Makes it 0. */
static inline void bf_band_clear(bf_band *b) {
    for (int i = b->first; i < b->end; i++) b->limbs[i] = 0;
    b->first = b->layout.limbs;
    b->end = 0;
}

/* Limbs from position / 32 on are in use, and one for carries. */
static inline void bf_band_widen(bf_band *b, int position, int limbs) {
    const int first = position / 32, end = first + limbs + 1;
    if (first < b->first) b->first = first;
    if (end > b->end) b->end = end < b->layout.limbs ? end : b->layout.limbs;
}

/* Carries, and leaves out limbs that are 0, or a sign. */
static inline void bf_band_narrow(bf_band *b) {
    int64_t *limbs = b->limbs;
    if (b->end <= b->first) return;
    bf_limbs_carry(limbs + b->first, b->end - b->first);
    while (b->first < b->end && limbs[b->first] == 0) b->first++;
    while (b->end > b->first + 1 && (limbs[b->end - 1] == 0 || limbs[b->end - 1] == -1)) {
        b->end--;
        limbs[b->end - 1] += limbs[b->end] * ((int64_t)1 << 32);
        limbs[b->end] = 0;
    }
}

/* The layout of its limbs from `first` on. */
static inline bf_layout bf_band_layout(const bf_band *b) {
    return bf_layout_make(b->end > b->first ? b->end - b->first : 0,
                          b->layout.exponent + 32 * b->first);
}

static inline void bf_band_add(bf_band *b, int position, uint64_t magnitude, bool negative) {
    bf_limbs_add(b->limbs, position, magnitude, negative);
    bf_band_widen(b, position, 3);
}

static inline void bf_band_add_product(bf_band *b, int position, uint64_t x, uint64_t y,
                                       bool negative) {
    bf_limbs_add_product(b->limbs, position, x, y, negative);
    bf_band_widen(b, position, 5);
}

#endif
