/* An exact sum of which every prefix is rounded: words of 64 bits in two's complement, of which
 * only those in use are touched, and only the highest and the lowest are looked at. */
#ifndef BF_CPU_SCAN_WORDS_H
#define BF_CPU_SCAN_WORDS_H

#include "rules/reduce/sum.h"

enum { BF_SCAN_WORDS = 36 }; /* 68 limbs, and what is carried beyond them */

/* Words below `first` are 0, and those from `end` on repeat the sign. Word end - 1 takes only what
 * is carried, so it has the sign. */
typedef struct bf_scan_words {
    bf_layout layout; /* the limbs' */
    int first, end;   /* end is 0 before the first term */
    int64_t word[BF_SCAN_WORDS];
} bf_scan_words;

static inline int64_t bf_scan_sign(const bf_scan_words *x) {
    return x->end > 0 && x->word[x->end - 1] < 0 ? -1 : 0;
}

/* Makes words of carried limbs. */
static inline void bf_scan_words_open(bf_scan_words *x, bf_layout layout, const int64_t *limbs) {
    int first, end;
    bf_limbs_span(limbs, layout.limbs, &first, &end);
    x->layout = layout;
    x->first = first / 2;
    x->end = 0;
    if (end == 0) return;
    const uint32_t sign = limbs[layout.limbs - 1] < 0 ? ~(uint32_t)0 : 0;
    x->end = (end + 1) / 2 + 1;
    for (int k = x->first; k < x->end; k++) {
        const uint64_t low = 2 * k < layout.limbs ? (uint32_t)limbs[2 * k] : sign;
        const uint64_t high = 2 * k + 1 < layout.limbs ? (uint32_t)limbs[2 * k + 1] : sign;
        x->word[k] = (int64_t)(high << 32 | low);
    }
}

/* Makes carried limbs of words. */
static inline void bf_scan_words_close(const bf_scan_words *x, int64_t *limbs) {
    for (int i = 0; i < x->layout.limbs; i++) {
        const int k = i / 2;
        const int64_t word = k < x->first ? 0 : k < x->end ? x->word[k] : bf_scan_sign(x);
        limbs[i] = (uint32_t)((uint64_t)word >> 32 * (i % 2));
    }
    limbs[x->layout.limbs - 1] = (int32_t)limbs[x->layout.limbs - 1];
}

/* Has words [k, k + 2) in use, and one above them. */
static inline void bf_scan_words_reach(bf_scan_words *x, int k) {
    const int64_t sign = bf_scan_sign(x);
    if (x->end == 0) x->first = x->end = k;
    while (x->first > k) x->word[--x->first] = 0;
    while (x->end < k + 3) x->word[x->end++] = sign;
}

/* *word += a + b, of which b is 0 or 1. Returns what is carried. */
static inline int64_t bf_scan_words_join(int64_t *word, uint64_t a, uint64_t b) {
    uint64_t sum;
    const bool first = __builtin_add_overflow((uint64_t)*word, a, &sum);
    const bool second = __builtin_add_overflow(sum, b, &sum);
    *word = (int64_t)sum;
    return first | second;
}

/* x += (negative ? -1 : 1) * magnitude * 2^position */
static inline __attribute__((always_inline)) void
bf_scan_words_add(bf_scan_words *x, int position, uint64_t magnitude, bool negative) {
    const int k = (int)((unsigned)position / 64), shift = (int)((unsigned)position % 64);
    const uint64_t flip = negative ? ~(uint64_t)0 : 0;
    if (magnitude == 0) return;
    if (k < x->first || k + 3 > x->end) bf_scan_words_reach(x, k);
    int64_t carry = bf_scan_words_join(&x->word[k], (magnitude << shift) ^ flip, flip & 1);
    carry = bf_scan_words_join(&x->word[k + 1], (magnitude >> 1 >> (63 - shift)) ^ flip,
                               (uint64_t)carry);
    carry += (int64_t)flip; /* what the words above, which are all 0 or all 1, add to it */
    for (int i = k + 2; carry != 0 && i < x->end; i++) {
        const bool goes_on = x->word[i] == (carry > 0 ? -1 : 0);
        x->word[i] = (int64_t)((uint64_t)x->word[i] + (uint64_t)carry);
        if (!goes_on) carry = 0;
    }
}

/* The bits of x, rounded once; of 0, those of +0. The magnitude of a negative number has the
 * complements of its words: but of the lowest one that is not 0 the negative, and below it 0. */
static inline __attribute__((always_inline)) uint64_t bf_scan_words_round(const bf_scan_words *x,
                                                                          bf_format f) {
    const uint64_t flip = (uint64_t)bf_scan_sign(x);
    int lowest = x->first, top = x->end - 1;
    while (lowest < top && x->word[lowest] == 0) lowest++;
    while (top > lowest && (uint64_t)x->word[top] == flip) top--;
    if (x->end == 0) return 0;
    uint64_t high = (uint64_t)x->word[top] ^ flip, low = 0;
    if (top == lowest)
        high -= flip;
    else
        low = ((uint64_t)x->word[top - 1] ^ flip) - (top - 1 == lowest ? flip : 0);
    const int shift = 64 - bf_bit_length(high);
    if (high == 0) return 0;
    return bf_encode(f, flip != 0, high << shift | low >> 1 >> (63 - shift),
                     x->layout.exponent + 64 * top - shift, low << shift != 0 || lowest < top - 1);
}

#endif
