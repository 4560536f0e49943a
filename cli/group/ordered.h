/* The order in which groups are shown. */
#ifndef BITFOLD_CLI_GROUP_ORDERED_H
#define BITFOLD_CLI_GROUP_ORDERED_H

#include "group/shown.h"

/* What the options order groups by. */
enum ordered_by { ORDERED_BY_KEY, ORDERED_BY_COUNT, ORDERED_BY_COLUMN };

typedef struct ordered {
    enum ordered_by by;
    int column;
    bool descending;
} ordered;

int ordered_find(const shown *s, ordered *order);

/* Puts the groups, which are by key, in the order that is asked for. Both functions return an exit
 * code, having reported the failure. */
int ordered_put(shown *s);

/* A number in units of 2^-128, of which word 0 is the highest: a decimal, an integer of 192 bits,
 * or one of f64 between integers of 64 bits. Words are in the order of values, word 0 as that of an
 * int64_t. */
enum { ORDERED_WORDS = 5 };
void ordered_words(const bf_value *v, uint64_t words[ORDERED_WORDS]);

#endif
