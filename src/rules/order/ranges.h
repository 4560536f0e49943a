/* Order statistics in passes over the same elements (after Munro and Paterson 1980). A pass tallies
 * the elements in some ranges of places: in equal steps of each range, or, if they are few, their
 * places themselves. The ranges of the next pass are the steps that hold a wanted rank. Tallies
 * add: nothing depends on the order of the elements or on their division. */
#ifndef BF_RULES_ORDER_RANGES_H
#define BF_RULES_ORDER_RANGES_H

#include "rules/key/order.h"
#include "rules/number/wide.h"

enum {
    BF_RANGES_MOST = 64,     /* the limit of ranks, too */
    BF_TALLY_WORDS = 460000, /* 3.7 MB */
    BF_TALLY_BITS = 16,      /* the most for the steps of the first pass */
    BF_TALLY_BITS_MOST = 18  /* the most for other steps */
};

typedef struct bf_ranges {
    bf_dtype dtype;
    int count; /* how many ranges there are: disjoint, ascending */
    int bits;  /* a range has 2^bits steps */
    bool collect;
    bf_u128 lo[BF_RANGES_MOST], width[BF_RANGES_MOST]; /* places lo to lo + width */
    int shift[BF_RANGES_MOST];                         /* a step has 2^shift places */
} bf_ranges;

typedef struct bf_tally {
    int64_t n;                                           /* elements, in ranges or not */
    int64_t used;                                        /* how many words are used */
    bf_u128 least[BF_RANGES_MOST], most[BF_RANGES_MOST]; /* places in each range */
    uint64_t *words; /* BF_TALLY_WORDS of them; behind those used they are 0 */
} bf_tally;

/* The ranks that are wanted, ascending. */
typedef struct bf_wants {
    int ranks;
    int range[BF_RANGES_MOST];     /* the range that holds it; -1: its place is known */
    int64_t rank[BF_RANGES_MOST];  /* among the elements in that range */
    bf_u128 place[BF_RANGES_MOST]; /* when it is known */
} bf_wants;

/* Places have 64 bits, or those of BF_I128 128. These are counted, never collected. */
BF_RULE bool bf_ranges_are_wide(bf_dtype dtype) { return dtype == BF_I128; }

/* The last place of a dtype. */
BF_RULE bf_u128 bf_ranges_last(bf_dtype dtype) {
    return ~(bf_u128)0 >> (128 - 8 * bf_number_bytes(dtype));
}

/* Makes a tally empty, whose words are 0. */
BF_RULE void bf_tally_begin(const bf_ranges *ranges, bf_tally *tally) {
    tally->n = 0;
    tally->used = ranges->collect ? 0 : (int64_t)ranges->count << ranges->bits;
    for (int i = 0; i < BF_RANGES_MOST; i++) {
        tally->least[i] = ~(bf_u128)0;
        tally->most[i] = 0;
    }
}

/* The first pass: one range of all places. */
BF_RULE void bf_ranges_begin(bf_ranges *ranges, bf_dtype dtype) {
    const int bits = 8 * bf_number_bytes(dtype);
    memset(ranges, 0, sizeof *ranges);
    ranges->dtype = dtype;
    ranges->count = 1;
    ranges->bits = bits < BF_TALLY_BITS ? bits : BF_TALLY_BITS;
    ranges->width[0] = bf_ranges_last(dtype);
    ranges->shift[0] = bits - ranges->bits;
}

/* Adds an element in range i to a tally of steps. */
BF_RULE void bf_tally_count(const bf_ranges *ranges, bf_tally *tally, int i, bf_u128 place) {
    const uint64_t step = (uint64_t)((place - ranges->lo[i]) >> ranges->shift[i]);
    tally->words[((uint64_t)i << ranges->bits) + step]++;
}

/* Adds `from` to `into`. Returns false if there is no room: the passes had different elements. */
BF_RULE bool bf_tally_merge(const bf_ranges *ranges, bf_tally *into, const bf_tally *from) {
    if (ranges->collect) {
        if (from->used > BF_TALLY_WORDS - into->used) return false;
        memcpy(into->words + into->used, from->words, (size_t)from->used * sizeof *into->words);
        into->used += from->used;
    } else {
        for (int64_t i = 0; i < into->used; i++) into->words[i] += from->words[i];
    }
    into->n += from->n;
    for (int i = 0; i < ranges->count; i++) {
        if (from->least[i] < into->least[i]) into->least[i] = from->least[i];
        if (from->most[i] > into->most[i]) into->most[i] = from->most[i];
    }
    return true;
}

/* Finds a rank by the tally: the step [lo, hi] that holds it and its elements, among which it is
 * number *rank. Returns false if the tally has no such rank. */
BF_RULE bool bf_tally_find(const bf_ranges *ranges, const bf_tally *tally, int i, int64_t *rank,
                           bf_u128 *lo, bf_u128 *hi, int64_t *elements) {
    const uint64_t *steps = tally->words + ((uint64_t)i << ranges->bits);
    const uint64_t last = (uint64_t)(ranges->width[i] >> ranges->shift[i]);
    uint64_t step = 0;
    while (step <= last && *rank >= (int64_t)steps[step]) *rank -= (int64_t)steps[step++];
    if (step > last) return false;
    const bf_u128 before = (bf_u128)step << ranges->shift[i], rest = ranges->width[i] - before;
    const bf_u128 width = ((bf_u128)1 << ranges->shift[i]) - 1;
    *elements = (int64_t)steps[step];
    *lo = ranges->lo[i] + before;
    *hi = *lo + (width < rest ? width : rest);
    if (*lo < tally->least[i]) *lo = tally->least[i];
    if (*hi > tally->most[i]) *hi = tally->most[i];
    return *lo <= *hi;
}

/* Finds all that is wanted among collected places, which are sorted. */
BF_RULE bool bf_tally_find_collected(const bf_ranges *ranges, const bf_tally *tally,
                                     bf_wants *wants) {
    for (int k = 0; k < wants->ranks; k++) {
        int64_t first = 0, end = tally->used;
        if (wants->range[k] < 0) continue;
        const bf_u128 lo = ranges->lo[wants->range[k]], width = ranges->width[wants->range[k]];
        while (first < end) {
            const int64_t middle = first + (end - first) / 2;
            if (tally->words[middle] < lo)
                first = middle + 1;
            else
                end = middle;
        }
        if (wants->rank[k] >= tally->used - first) return false;
        wants->place[k] = tally->words[first + wants->rank[k]];
        if (wants->place[k] - lo > width) return false;
        wants->range[k] = -1;
    }
    return true;
}

/* Gives the ranges of a pass their steps, for so many elements in all. */
BF_RULE void bf_ranges_divide(bf_ranges *ranges, int64_t elements) {
    ranges->collect = elements <= BF_TALLY_WORDS && !bf_ranges_are_wide(ranges->dtype);
    ranges->bits = BF_TALLY_BITS_MOST;
    while ((int64_t)ranges->count << ranges->bits > BF_TALLY_WORDS) ranges->bits--;
    for (int i = 0; i < ranges->count; i++) {
        const int length = bf_bit_length128(ranges->width[i]);
        ranges->shift[i] = length > ranges->bits ? length - ranges->bits : 0;
    }
}

/* Ends a pass of steps: sets `next` to the ranges of the one to come, of which there are none if
 * all is found. Returns false if the tally has not what is wanted. */
BF_RULE bool bf_ranges_next(const bf_ranges *ranges, const bf_tally *tally, bf_wants *wants,
                            bf_ranges *next) {
    int64_t all = 0;
    memset(next, 0, sizeof *next);
    next->dtype = ranges->dtype;
    for (int k = 0; k < wants->ranks; k++) {
        bf_u128 lo, hi;
        int64_t elements;
        if (wants->range[k] < 0) continue;
        if (!bf_tally_find(ranges, tally, wants->range[k], &wants->rank[k], &lo, &hi, &elements))
            return false;
        wants->place[k] = lo;
        wants->range[k] = -1;
        if (lo == hi) continue;
        if (next->count == 0 || next->lo[next->count - 1] != lo) {
            next->lo[next->count] = lo;
            next->width[next->count++] = hi - lo;
            all += elements;
        }
        wants->range[k] = next->count - 1;
    }
    bf_ranges_divide(next, all);
    return true;
}

#endif
