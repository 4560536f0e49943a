/* Sorts more elements than memory holds. Those that fill it are sorted, and written to a temporary
 * file as a run; then the runs are merged. The library does all sorting and comparing, so every
 * dtype and order is as it has them. Functions that return an exit code have reported the failure.
 */
#ifndef BITFOLD_CLI_WORK_SORTER_H
#define BITFOLD_CLI_WORK_SORTER_H

#include "memory/background.h"
#include "work/units.h"

#include <bitfold.h>
#include <stdbool.h>
#include <stdint.h>

/* What is sorted. */
typedef struct sorter_plan {
    bf_context *context;
    const char *file; /* that errors name */
    bf_dtype dtype;
    int scale;              /* the integers are in units of 10^-scale */
    bf_order_options rules; /* NaNs that are skipped are left out */
    bool distinct;          /* each different element once, as bf_unique has it */
    bool beside;            /* with each its index; if they are distinct, how often it occurs */
    int64_t memory;         /* bytes that elements may take */
    int64_t library;        /* bytes that the library may take for its calls */
} sorter_plan;

/* Elements in order. */
typedef struct sorter_part {
    int64_t n;
    char *values;
    int64_t *beside; /* NULL: none are wanted */
} sorter_part;

/* Runs, one after another: their elements in the first file, what is beside in the other. */
typedef struct sorter_store {
    int fd[2];     /* -1: none yet */
    int64_t count; /* elements of all runs */
} sorter_store;

typedef struct sorter_run {
    int64_t next, end; /* in the store: the first that is not in memory yet; the end */
    sorter_part held;  /* while it is merged: what was read and not taken yet */
    char *values;      /* the memory of what is held */
    int64_t *beside;
} sorter_run;

typedef struct sorter {
    sorter_plan plan;
    int64_t added, count; /* elements that were added; that there are now */
    sorter_part filling;  /* until it is full */
    char *full;           /* memory of another such part, which is written meanwhile */
    int64_t most;         /* elements of a full part */
    sorter_store store;
    sorter_run *runs;
    int n, room;
    bool appending; /* to the last run */
    /* These are there while runs are merged. */
    char *memory;             /* all parts are in it */
    sorter_part taken, given; /* from all runs: now; before, and perhaps still in use */
    int64_t each;             /* elements that a run may hold */
    int first, merging;       /* the runs that are merged: so many from the first on */
    struct sorter_writing {   /* a part that is written in the background */
        const struct sorter *sorter;
        sorter_store *store;
        sorter_part part;
        background work;
    } writing;
} sorter;

void sorter_open(sorter *s, const sorter_plan *plan);
void sorter_close(sorter *s);

/* Adds n elements. */
int sorter_add(sorter *s, const void *values, int64_t n);

/* Instead: appends elements that are in order, and what is beside them, to one run; until a cut,
 * after which they follow in another. */
int sorter_append(sorter *s, const sorter_part *part);
void sorter_cut(sorter *s);

/* Between cuts: brings integers that were appended to a form that was joined from theirs. */
int sorter_bring(sorter *s, units_form to);

/* Ends adding. Then s->count elements are there to be given. */
int sorter_end(sorter *s);

/* Gives the next elements in order, n 0 at the end. They are valid until the next call ends. */
int sorter_next(sorter *s, sorter_part *part);

#endif
