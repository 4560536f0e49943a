/* A set of numbers below some n: bits, and above each 64 words a word that says which of them are
 * not 0. So the neighbours of a number are found in as many steps as there are levels. */
#ifndef BF_CPU_SCAN_NUMBERS_H
#define BF_CPU_SCAN_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BF_NUMBERS_LEVELS = 11 /* 64^11 is more than any n */ };

typedef struct bf_numbers {
    uint64_t *level[BF_NUMBERS_LEVELS];
    int levels;
} bf_numbers;

/* Words of memory for a set of numbers below n > 0. */
static inline int64_t bf_numbers_words(int64_t n) {
    int64_t words = 0;
    do {
        n = (n + 63) / 64;
        words += n;
    } while (n > 1);
    return words;
}

/* Makes an empty set in such memory. */
static inline void bf_numbers_init(bf_numbers *s, int64_t n, uint64_t *memory) {
    memset(memory, 0, (size_t)bf_numbers_words(n) * sizeof *memory);
    s->levels = 0;
    do {
        n = (n + 63) / 64;
        s->level[s->levels++] = memory;
        memory += n;
    } while (n > 1);
}

static inline void bf_numbers_add(bf_numbers *s, int64_t x) {
    bool first = true; /* its word was 0 */
    for (int l = 0; first && l < s->levels; l++, x >>= 6) {
        uint64_t *word = &s->level[l][x >> 6];
        first = *word == 0;
        *word |= (uint64_t)1 << (x & 63);
    }
}

/* Takes a member away. */
static inline void bf_numbers_remove(bf_numbers *s, int64_t x) {
    bool last = true;
    for (int l = 0; last && l < s->levels; l++, x >>= 6) {
        uint64_t *word = &s->level[l][x >> 6];
        *word &= ~((uint64_t)1 << (x & 63));
        last = *word == 0;
    }
}

/* The least member above x, or the greatest one below it: -1 if there is none. */
static inline int64_t bf_numbers_after(const bf_numbers *s, int64_t x) {
    for (int l = 0; l < s->levels; l++, x >>= 6) {
        const uint64_t word = s->level[l][x >> 6], above = word & ~(uint64_t)1 << (x & 63);
        if (above == 0) continue;
        x = (x & ~(int64_t)63) + __builtin_ctzll(above);
        while (l-- > 0) x = (x << 6) + __builtin_ctzll(s->level[l][x]);
        return x;
    }
    return -1;
}

static inline int64_t bf_numbers_before(const bf_numbers *s, int64_t x) {
    for (int l = 0; l < s->levels; l++, x >>= 6) {
        const uint64_t word = s->level[l][x >> 6], below = word & (((uint64_t)1 << (x & 63)) - 1);
        if (below == 0) continue;
        x = (x & ~(int64_t)63) + 63 - __builtin_clzll(below);
        while (l-- > 0) x = (x << 6) + 63 - __builtin_clzll(s->level[l][x]);
        return x;
    }
    return -1;
}

#endif
