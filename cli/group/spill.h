/* Groups that memory cannot hold. They are written to a temporary file as runs: pieces of saved
 * groups, in the order of their keys. If most rows bring new keys, these rows are cheaper to write
 * than groups: they are put on piles (group/piled.h), each with the keys between two of a run's
 * pieces; such piles are a run too. Runs are merged piece by piece, so that few groups are in
 * memory at a time. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_GROUP_SPILL_H
#define BITFOLD_CLI_GROUP_SPILL_H

#include "memory/key.h"
#include "runtime/options.h"

/* Saved groups; of a run of rows, a pile. */
typedef struct spill_piece {
    int64_t at; /* in the file */
    size_t size;
    key_rank rank; /* of its least key */
} spill_piece;

typedef struct spill_run {
    spill_piece *pieces;
    int64_t n, room, next; /* next: the first that was not merged yet */
    struct piled *rows;    /* NULL: the pieces are saved groups */
} spill_run;

typedef struct spill {
    const options *options;
    bf_context *context;
    bf_dtype key;
    int64_t most;  /* groups in memory; 0: no limit */
    void *reserve; /* memory for saving, while groups grow; NULL: none */
    int fd;        /* -1: nothing was written yet */
    spill_run *runs;
    int n, room, error;
    int piling;    /* the run whose piles take rows; -1: none */
    int64_t piled; /* so many rows more, before groups take some again */
    struct spill_source {
        struct piled *rows; /* NULL: rows come from inputs */
        int pile;           /* rows come from this one, */
        int64_t first;      /* from this one on */
    } source;
} spill;

/* Prepares to spill groups, of so many aggregates, which are shown in so many columns, if there is
 * a limit of memory. */
int spill_open(spill *s, const options *o, bf_context *context, int columns);
void spill_close(spill *s);

/* Whether there is a limit. */
bool spill_limited(const spill *s);

/* Whether some groups were written. */
bool spill_used(const spill *s);

/* The rows that are best absorbed at once, of so many inputs in step: of few groups, what stays in
 * a cache (0: what is at hand); of many, enough to be sorted by group first; for GPUs, which are
 * not asked how many there are (that brings the groups of several together), as for many. */
int64_t spill_batch(const spill *s, const bf_groups *groups, int inputs);

/* Absorbs rows. Writes the groups as a run, and removes them, if there is no memory for more; or
 * puts the rows on piles. */
int spill_absorb(spill *s, bf_groups *groups, const bf_array *keys, const bf_array *const values[],
                 const char *file);

/* Writes the groups as a run, and removes them; ends the piles. */
int spill_groups(spill *s, bf_groups *groups, const char *file);

/* The runs of a file that must be read again are forgotten: those behind the first n. */
void spill_forget(spill *s, int n);

/* Takes the first n groups by key, which are complete. They follow those it took before. Returns an
 * exit code. */
typedef int spill_take(void *arg, bf_groups *groups, int64_t n);

/* No rows follow. Returns whether some groups were written; if none were, gives back the memory
 * that was reserved for that, so that there is room to show them. */
bool spill_end(spill *s);

/* Merges the runs and the groups, which are empty afterwards, and lets take have all of them. */
int spill_merge(spill *s, bf_groups *groups, spill_take *take, void *arg, const char *file);

#endif
