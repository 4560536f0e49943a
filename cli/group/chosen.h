/* What groups choose of the values of a V: the first, the last and the most frequent one, and how
 * many are different. Groups are known by the numbers of their keys. */
#ifndef BITFOLD_CLI_GROUP_CHOSEN_H
#define BITFOLD_CLI_GROUP_CHOSEN_H

#include "columns/table.h"
#include "work/units.h"

/* The first and the last value of a group, and in which files they are, from 1 on; 0: it has none.
 */
typedef struct chosen_end {
    uint64_t first, last; /* begin with the bytes of elements */
    int32_t first_file, last_file;
} chosen_end;

typedef struct chosen_ends {
    chosen_end *list; /* by the numbers of groups */
    int64_t room;
} chosen_ends;

/* How often a group has the value of a code. */
typedef struct chosen_count {
    int64_t group;
    uint64_t code;
    int64_t times;
} chosen_count;

typedef struct chosen_tally {
    chosen_count *list;
    int64_t n, room;
} chosen_tally;

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
    int32_t file;         /* has these rows, from 1 on */
    chosen_ends groups, all;
    chosen_tally counted, counted_all; /* counts that the library does not have: they were loaded */
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

/* Adds what a part has counted, by pairs or, of group 0, by codes of all rows; or other counts. */
bf_status chosen_tally_part(chosen_tally *t, bf_groups *counted, bool pairs, enum chosen_part part);
bf_status chosen_tally_more(chosen_tally *t, const chosen_tally *more);

/* Sorts counts by group and code, of which each is there once then. */
void chosen_settle(chosen_tally *t);
void chosen_free_tally(chosen_tally *t);

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

/* Begins to take the most frequent value of each, and how many are different; takes them from
 * settled counts, of groups or of all rows. */
bf_status chosen_begin_counts(const chosen *c, chosen_results *r);
void chosen_take_counts(const chosen *c, const chosen_tally *t, bool total, chosen_results *r);

/* ---- groups that leave the process: what the library has counted was moved to c->counted -------
 */

/* Brings values to a form that was joined from theirs. */
bf_status chosen_bring(chosen *c, bf_context *context, units_form from, units_form to);

/* Gives each group the number that `to` has for its number; BF_E_STATE: it has none, which is
 * negative. */
bf_status chosen_renumber(chosen *c, const int64_t to[]);

/* Numbers the values of `from` as those of `into`. */
bf_status chosen_match(chosen *into, chosen *from);

/* Adds values of the same numbers: of rows behind all of these, or of another share of the same
 * files, behind these in each. */
bf_status chosen_append(chosen *into, const chosen *from);
bf_status chosen_append_share(chosen *into, const chosen *from);

/* Takes counts out. BF_E_STATE: they are not all there. */
bf_status chosen_retract(chosen *into, const chosen *from);

/* Counts the values of all rows as those of all groups. */
bf_status chosen_sum_up(chosen *c);

#endif
