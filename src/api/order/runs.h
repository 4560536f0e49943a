/* Sorted runs of elements in temporary files, and their merge: the order of more elements than
 * memory holds. The CPU's backend does all sorting and comparing, so every dtype and order is as it
 * has them. */
#ifndef BF_API_ORDER_RUNS_H
#define BF_API_ORDER_RUNS_H

#include "seam/order.h"

/* What is sorted. */
typedef struct bf_order_plan {
    bf_context *context;
    bf_dtype dtype; /* BF_PAIR stands for BF_I128, too */
    bf_order order;
    bool different; /* each different key once (bf_group_key, rules/key/rank.h) */
    bool beside;    /* an i64 goes with each element; those of equal keys are added up */
} bf_order_plan;

/* Some elements. */
typedef struct bf_order_part {
    int64_t n;
    char *values;
    int64_t *beside; /* NULL: none */
} bf_order_part;

typedef struct bf_order_run {
    int64_t next, end;  /* in the files: the first that is not in memory yet; the end */
    bf_order_part held; /* while it is merged: what was read and not taken yet */
} bf_order_run;

/* Runs lie one behind the other: their elements in the first file, what is beside in the other. */
typedef struct bf_order_runs {
    bf_order_plan plan;
    int fd[2];     /* -1: none yet */
    int64_t count; /* elements of all runs */
    bf_order_run *all;
    int n, room;
    /* These are there while runs are merged. */
    char *memory;        /* all parts are in it */
    int64_t each;        /* elements that a run may hold */
    int first, merging;  /* the runs that are merged: so many from the first on */
    bf_order_part taken; /* from all of them */
} bf_order_runs;

/* The bytes of an element with what is beside it, and those that sorting takes for it. */
int64_t bf_order_row_bytes(const bf_order_plan *plan);
int64_t bf_order_work_bytes(const bf_order_plan *plan);

/* Sorts a part; if keys are different, makes one of equal ones. Errors: BF_E_MEMORY,
 * BF_E_CANCELLED, BF_E_OVERFLOW. */
bf_status bf_order_sort_part(const bf_order_plan *plan, bf_order_part *part);

/* Begins with no runs. The caller closes them, also after a failure. */
void bf_order_runs_open(bf_order_runs *r, const bf_order_plan *plan);
void bf_order_runs_close(bf_order_runs *r);

/* Begins a run; and appends a part, which is in order, to the last one. Errors of all: BF_E_IO,
 * BF_E_MEMORY, with a message, and those of bf_order_sort_part. */
bf_status bf_order_runs_begin(bf_order_runs *r);
bf_status bf_order_runs_append(bf_order_runs *r, const bf_order_part *part);

/* Begins to give the elements of all runs, by about `bytes` of memory. r->count is their number. */
bf_status bf_order_runs_start(bf_order_runs *r, int64_t bytes);
/* Gives the next part, which is valid until the next call; n is 0 at the end. */
bf_status bf_order_runs_next(bf_order_runs *r, bf_order_part *part);

#endif
