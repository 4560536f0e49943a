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

/* Takes column i of the n keys that have these numbers (BF_I64). Free it in either case. */
bf_status keys_take(const numbered *x, int i, const bf_array *numbers, keys_column *c);

/* Makes a column of what it has: bytes, offsets and known, of n keys. */
bf_status keys_make(keys_column *c, bf_dtype dtype, int64_t n);
void keys_free(keys_column *c);

/* How the numbers of a key's column are held. */
units_form keys_form(const numbered *x, int i);

/* Makes the keys of the groups those of a dictionary whose columns have these forms, which were
 * joined from theirs. Keys that no group has any more are left out. BF_E_OVERFLOW: 128 bits do not
 * hold one of them. */
bf_status keys_bring(numbered *x, const units_form to[]);

/* Number i of some that are keys of groups. */
int64_t keys_number_at(bf_dtype dtype, const void *numbers, int64_t i);

/* Gives each group, or row that is kept for medians, the number that `to` has for its number. */
bf_status keys_renumber(const numbered *x, bf_groups *groups, const int64_t to[]);
bf_status keys_renumber_rows(const numbered *x, medians *m, const int64_t to[]);

#endif
