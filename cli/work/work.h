/* The work of a command that reduces: walks over the rows of its inputs, by which it makes things:
 * states, one or many, histograms, quantiles and groups.
 *
 *     work_open
 *     for each walk:  work_begin    the inputs are open
 *                     work_hold     the things are made, empty
 *                     rows_next, absorb, work_tick; rows_next, absorb, work_tick; ...
 *                     work_end
 *     work_close
 *
 * With --checkpoint, work_tick now and then saves the things and where the walk is. The same
 * command takes the same walks again; then work_begin and work_hold put inputs and things to where
 * they were: of a walk that was finished, to its end. So only the rest is read. Over ranks, a
 * checkpoint holds what this rank made of its own rows; merging is done anew.
 *
 * Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_WORK_WORK_H
#define BITFOLD_CLI_WORK_WORK_H

#include "input/rows.h"
#include "options/options.h"
#include "work/checkpoint.h"

/* How something else is saved and loaded. save returns an exit code. */
typedef struct work_form {
    int (*save)(void *of, checkpoint_writer *to);
    bool (*load)(void *of, checkpoint_reader *from);
} work_form;

/* Something that absorbs rows: where its pointer is, of one of five kinds. It may be NULL. */
typedef struct work_thing {
    bf_state **state;
    bf_states **many;
    bf_histogram **histogram;
    bf_quantiles **quantiles;
    bf_groups **groups;
    const work_form *form; /* NULL: it is of these kinds */
    void *of;              /* else it is this */
} work_thing;

typedef struct work {
    bf_context *context;
    char *path, *name;        /* the checkpoint's: as a file, as it is shown; NULL: none */
    bool locked;              /* its path is locked */
    int lock;                 /* the file that locks it */
    double interval;          /* seconds */
    double began, due;        /* when the work did; when to save next */
    bool saved;               /* once, so that the cost is known */
    bool warned;              /* that it cannot be saved */
    char *identity;           /* what the checkpoint is bound to */
    unsigned char *loaded;    /* the checkpoint that was found */
    checkpoint_reader reader; /* reads the walks of it that are still to come */
    int64_t walks_left;       /* how many those are */
    checkpoint_writer ended;  /* has the walks so far */
    int64_t walks_ended;      /* how many those are */
    /* The present walk has these. */
    bool walking, restored;
    rows **inputs;
    int input_count;
    work_thing *things;
    int thing_count;
} work;

/* Finds the checkpoint of a command line, if it asks for one and there is one: EXIT_DATA if it is
 * of other work or damaged. The context makes the things. Close it in either case. */
int work_open(work *w, const options *o, bf_context *context);

/* Begins a walk over inputs that are read in step; n 0: over inputs whose places its thing has. It
 * may begin again (after ROWS_RESETTLED). */
int work_begin(work *w, rows *const inputs[], int n);

/* The things that the walk makes, and where they are until it ends. */
int work_hold(work *w, const work_thing things[], int n);

/* All rows that were taken are absorbed: saves a checkpoint if one is due. */
void work_tick(work *w);

/* Ends the walk, with the exit code that all ranks agree on. The inputs' columns can then be what
 * they can be on all ranks; if that gives a settled column another dtype on any rank,
 * ROWS_RESETTLED: the walk goes on, and a rank with such a column begins it again. keep: the things
 * go into later checkpoints as they are now; otherwise the next walk holds them too, or nobody
 * needs them. */
int work_end(work *w, int code, bool keep);

/* Write the place of an input; move one there that was not read yet, and tell of it. False: it
 * cannot be there. */
void work_put_place(checkpoint_writer *to, const rows *r);
bool work_take_place(checkpoint_reader *from, rows *r);
void work_tell_place(const work *w, const rows *r);

/* Leaves of what n columns can be what they can be on all ranks, with the greatest scale of all. */
void work_settle_kinds(rows_kind kinds[], int n);

/* Rules out what the columns of an input cannot be on all ranks, and gives them the greatest scale
 * of all. Returns whether a settled column of this rank has another dtype or scale then. */
bool work_settle_input(rows *r);

/* Reads all of n inputs once beforehand, if some column may turn out to be another, so that it
 * cannot any more, on any rank. Every rank calls it. */
int work_settle_inputs(rows *const inputs[], int n);

/* Ends the work; if `code` is EXIT_DONE there is nothing left to go on with. */
void work_close(work *w, int code);

#endif
