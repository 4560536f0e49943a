/* The groups of a table's rows, and the aggregates of each: for --by.
 *
 * A key of one column of numbers is taken as it is, as long as none of them is NULL. Other keys are
 * numbered by a dictionary, and these numbers are the keys of the groups. */
#ifndef BITFOLD_CLI_GROUP_BY_NUMBERED_H
#define BITFOLD_CLI_GROUP_BY_NUMBERED_H

#include "group/by/table.h"

/* Aggregates of rows: of all, or of those whose value of one V is not NULL. */
typedef struct numbered_part {
    int value;                 /* the V; -1: all rows */
    bf_groups *groups, *total; /* total: all rows in one group; NULL: not asked for */
    int count;                 /* of the library's aggregates, */
    int result[OPTIONS_AGGREGATES], column[OPTIONS_AGGREGATES]; /* the result and column of each */
    int columns, of[OPTIONS_AGGREGATES];                        /* the V's, each once */
    int64_t n, room;                                            /* rows that wait to be absorbed: */
    char *keys, *values[OPTIONS_AGGREGATES];
} numbered_part;

/* The keys and values of all rows, for medians and quantiles. */
typedef struct numbered_kept {
    int value;
    char *keys, *values;
    int64_t n, room;
} numbered_kept;

typedef struct numbered {
    table *table;
    bool plain;   /* keys are taken as they are */
    bf_dtype key; /* of the groups */
    bf_dictionary *dictionary;
    int parts, kept_count;
    numbered_part part[OPTIONS_AGGREGATES + 1];
    numbered_kept kept[OPTIONS_AGGREGATES];
    struct numbered_place {
        int part, which;         /* its number among the part's aggregates; -1: rows are counted */
        int kept;                /* -1: no row is kept for it */
    } place[OPTIONS_AGGREGATES]; /* of each result */
    buffer numbers, places;
} numbered;

/* Functions that return an exit code have reported the failure. Close it in either case. */
void numbered_open(numbered *x, table *t);
void numbered_close(numbered *x);

/* Absorbs all rows of the table. ROWS_RESETTLED: all must begin anew. */
int numbered_absorb(numbered *x);

#endif
