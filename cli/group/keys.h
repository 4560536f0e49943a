/* The keys of groups that a dictionary numbers, as columns. */
#ifndef BITFOLD_CLI_GROUP_KEYS_H
#define BITFOLD_CLI_GROUP_KEYS_H

#include "group/numbered.h"
#include "work/units.h"

typedef struct keys_column {
    char *bytes;      /* numbers, or the bytes of strings */
    int64_t *offsets; /* where strings begin; NULL: they are numbers */
    bool *known;      /* whether each key has a value here */
    uint8_t *valid;   /* known, as bits */
    bf_array numbers;
    bf_strings strings;
    bf_column column; /* shows one of these */
} keys_column;

/* Takes column i, of this dtype, of all that a dictionary has, in the order of their numbers. Free
 * it in either case. */
bf_status keys_take_all(const bf_dictionary *d, int i, bf_dtype dtype, keys_column *c);

/* Makes a column of what it has: bytes, offsets and known, of n keys. */
bf_status keys_make(keys_column *c, bf_dtype dtype, int64_t n);
void keys_free(keys_column *c);

/* Brings the numbers of a column to a form that was joined from theirs. */
bf_status keys_bring_column(keys_column *c, units_form from, units_form to);

/* Encodes n different keys of columns: an empty dictionary gives them the numbers from 0 on. */
bf_status keys_encode(bf_dictionary *d, const bf_column *const columns[], int64_t n);

/* How the numbers of a key's column are held. */
units_form keys_form(const numbered *x, int i);

/* Makes the keys of the groups those of a dictionary whose columns have these forms, which were
 * joined from theirs. Keys that no group has any more are left out. BF_E_OVERFLOW: 128 bits do not
 * hold one of them. */
bf_status keys_bring(numbered *x, const units_form to[]);

/* Number i of some that are keys of groups. */
int64_t keys_number_at(bf_dtype dtype, const void *numbers, int64_t i);

/* Gives each group, and what is kept for it, the number that `to` has for its number. BF_E_STATE:
 * it has none, which is negative. */
bf_status keys_renumber(numbered *x, const int64_t to[]);

#endif
