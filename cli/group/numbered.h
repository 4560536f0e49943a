/* The groups of a table's rows, and the aggregates of each: for --by.
 *
 * A key of one column of numbers is taken as it is, as long as none of them is NULL. Other keys are
 * numbered by a dictionary, and these numbers are the keys of the groups.
 *
 * Under --memory, groups come in turns. When no memory is left for more of them, those that there
 * are take what rows are theirs, and all other rows wait on piles (group/rest.h). Each pile has a
 * turn of its own, with more piles if need be. */
#ifndef BITFOLD_CLI_GROUP_NUMBERED_H
#define BITFOLD_CLI_GROUP_NUMBERED_H

#include "group/chosen.h"
#include "group/medians.h"
#include "group/rest.h"
#include "work/work.h"

/* Turns wait for each other in so many levels. */
enum { NUMBERED_LEVELS = 64 };

/* Aggregates of rows: of all, or of those whose value of one V is not NULL. */
typedef struct numbered_part {
    int value;  /* the V; -1: all rows */
    int chosen; /* keys are pairs, by which this one counts values; -1: they are keys */
    enum chosen_part pairs;
    bf_groups *groups, *total; /* total: all rows in one group; NULL: not asked for */
    bf_groups *before;         /* the total of the turns before; NULL: there was none */
    bool shares;               /* an aggregate is a share */
    bf_groups *whole;          /* all rows of all turns in one group, for shares in turns; NULL: the
                                  groups have all rows */
    int count;                 /* how many aggregates the library has */
    int result[OPTIONS_AGGREGATES];   /* the result of each */
    int arrays, column[ASKED_VALUES]; /* all aggregates have so many; the column of each */
    int columns, of[ASKED_VALUES];    /* the V's, each once */
    int64_t n, room;                  /* rows that wait to be absorbed */
    char *keys, *values[ASKED_VALUES];
} numbered_part;

typedef struct numbered {
    table *table;
    bool plain;             /* keys are taken as they are */
    bf_dtype key;           /* the groups' key */
    bf_dtype numbers_dtype; /* a dictionary's numbers as keys */
    bf_dictionary *dictionary;
    int parts, kept_count, chosen_count;
    numbered_part part[CHOSEN_PARTS * OPTIONS_AGGREGATES + 1];
    medians kept[OPTIONS_AGGREGATES];
    chosen chosen[OPTIONS_AGGREGATES];
    struct numbered_place {
        int part, which;         /* its number among the part's aggregates; -1: rows are counted */
        int kept;                /* -1: no row is kept for it */
        int chosen;              /* -1: it is not chosen among values */
    } place[OPTIONS_AGGREGATES]; /* where each result is */
    buffer numbers, places;
    work *work;           /* saves checkpoints of the first turn */
    bool resumed;         /* it has groups of such a one */
    bool limited;         /* The fields below are used only under a limit of memory. */
    bool full;            /* no group is added any more */
    bf_dictionary *known; /* the keys that are there, if keys are taken as they are */
    const int64_t *found; /* the number of the key of each row at hand; negative: not there */
    int64_t most;         /* groups of a turn */
    void *reserve;        /* memory of the library's while groups are added */
    void *spare;          /* memory that is kept until they are shown */
    rest *rest;           /* rows for other turns */
    rest *wait[NUMBERED_LEVELS]; /* rows of turns before: the last one's present pile is taken */
    int levels;
    int64_t rows; /* rows of all turns before */
    bool ended;   /* all groups had their turn; there are no more than the totals */
} numbered;

/* Functions that return an exit code have reported the failure. Close it in either case. */
void numbered_open(numbered *x, table *t);
void numbered_close(numbered *x);

/* Absorbs all rows of the table; under a limit, those of the first turn. ROWS_RESETTLED: all must
 * begin anew. */
int numbered_absorb(numbered *x);

/* Makes groups of no rows of a table that is begun, and drops all. */
bf_status numbered_make(numbered *x);
void numbered_drop(numbered *x);

/* Absorbs rows that were taken and wait. */
int numbered_flush(numbered *x);

/* Whether all groups, and all rows that are kept for them, are in memory: they can be saved. */
bool numbered_is_whole(const numbered *x);

/* Drops the wholes of which groups have shares: the groups have all rows. */
void numbered_drop_whole(numbered *x);

/* Adds how often a value of each group, or of all rows, was counted; each is there once. */
bf_status numbered_tally(const numbered *x, const chosen *c, bool total, chosen_tally *to);

/* Goes on to the next turn, or sets x->ended. */
int numbered_next(numbered *x);

#endif
