/* What groups choose of the values of a V: the first, the last and the most frequent one, and how
 * many are different. Groups are known by the numbers of their keys. */
#ifndef BITFOLD_CLI_GROUP_CHOSEN_H
#define BITFOLD_CLI_GROUP_CHOSEN_H

#include "columns/table.h"

/* The first and the last value of each group. */
typedef struct chosen_ends {
    char *first, *last;
    uint8_t *has; /* has a byte for each group: whether there are such */
    int64_t room; /* groups */
} chosen_ends;

/* Values are counted as pairs of a key's number and a value's code, in the order of values: as one
 * word, where the code is an integer of 32 bits, or as two. */
enum chosen_part { CHOSEN_NARROW, CHOSEN_WIDE, CHOSEN_PARTS };

typedef struct chosen {
    int value;            /* the V */
    bool ends, counts;    /* the first or the last are asked for; values are counted */
    int part;             /* CHOSEN_PARTS from this one on count values */
    bool words;           /* values are strings or have 128 bits: elements are their numbers */
    bf_dictionary *of;    /* has these values */
    bf_dtype dtype;       /* the dtype of elements */
    const char *elements; /* the rows at hand have them */
    chosen_ends groups, all;
    buffer numbers, codes, pairs;
} chosen;

/* Prepares for values of the table's dtypes. Errors: BF_E_MEMORY. */
bf_status chosen_make(chosen *c, const table *t);

/* Drops what the groups have; or all. */
void chosen_drop_groups(chosen *c);
void chosen_close(chosen *c);

/* Looks at the values of the rows at hand. */
bf_status chosen_look(chosen *c, const table *t);

/* Notes the first and the last of n rows at the places (NULL: all), whose keys have these numbers
 * (NULL: all are one group). False: there is no memory. */
bool chosen_note(chosen *c, chosen_ends *to, const bf_array *keys, const int64_t *places,
                 int64_t n);

/* Makes the keys of each part of n rows at the places (NULL: all), whose keys have these numbers.
 * False: there is no memory. */
bool chosen_pairs(chosen *c, const bf_array *keys, const int64_t *places, int64_t n,
                  bf_array pairs[CHOSEN_PARTS]);

/* The codes of such keys. */
bf_array chosen_codes(enum chosen_part part, const bf_array *pairs);

/* Results of so many groups, and of the one behind them that has all rows. Elements have room for
 * them. */
typedef struct chosen_results {
    int64_t groups;
    char *elements;
    uint8_t *valid;                 /* has a byte for each: whether it has a result */
    int64_t *counts, *most, *ranks; /* how many values are different, how often the most frequent
                                       one occurs; the order of words, or NULL */
} chosen_results;

/* Takes the first or the last value of each. */
void chosen_take_ends(const chosen *c, bool last, chosen_results *r);

/* Begins to take the most frequent value of each, and how many are different; takes them from what
 * a part has counted, by pairs or by codes of all rows. */
bf_status chosen_begin_counts(const chosen *c, chosen_results *r);
bf_status chosen_take_counts(const chosen *c, bf_groups *counted, bool pairs, enum chosen_part part,
                             chosen_results *r);

#endif
