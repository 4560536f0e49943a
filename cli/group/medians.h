/* The values of rows with the number of the group of each, for medians and quantiles: in memory, or
 * beyond a limit on piles. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_GROUP_MEDIANS_H
#define BITFOLD_CLI_GROUP_MEDIANS_H

#include "memory/piles.h"
#include "options/options.h"
#include "runtime/value.h"

typedef struct medians {
    int value;       /* the V */
    bf_dtype key;    /* the dtype of groups */
    units_form form; /* how values are held */
    int64_t most;    /* rows in memory; 0: no limit */
    int64_t memory;  /* bytes of the buffers of piles */
    char *keys, *values;
    int64_t n, room; /* rows in memory */
    piles *beyond;   /* rows by the remainder of their group; NULL: all are in memory */
    piles *all; /* the values of all rows, whatever their group; NULL: they are not asked for */
} medians;

/* Drops all rows; or those of groups, while those of all rows stay. */
void medians_close(medians *m);
void medians_drop_groups(medians *m);

/* Makes room for n rows, at most m->most, behind those in memory. */
int medians_reserve(medians *m, int64_t n);

/* Notes n values of all rows. */
int medians_note_all(medians *m, const void *values, int64_t n);

/* What is looked for: a median or a quantile, in the dtype that results have. */
typedef struct medians_wanted {
    bf_context *context;
    const options *options;
    const struct wanted_aggregate *aggregate;
    bf_quantile_method method;
    bf_dtype to;
    int scale;   /* the scale of elements */
    bool whole;  /* results are integers, for elements are times */
    bool tagged; /* results are (work/tagged.h) */
    bool wide;   /* results are values, for elements have 128 bits */
} medians_wanted;

/* Sets what results of m are. */
void medians_aim(const medians *m, medians_wanted *w);

/* The bytes of a result. */
size_t medians_bytes(const medians_wanted *w);

/* Finds the result of each group that has values, of `groups` numbers: writes *n of them, and the
 * key of each, for all of which there is room. */
int medians_find(medians *m, const medians_wanted *w, int64_t groups, char *keys, char *results,
                 int64_t *n);

/* Finds the result of all rows; *has: there are some. */
int medians_find_total(const medians *m, const medians_wanted *w, char *result, bool *has);

#endif
