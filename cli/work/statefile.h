/* Saved states, as files. All return an exit code, having reported a failure. */
#ifndef BITFOLD_CLI_WORK_STATEFILE_H
#define BITFOLD_CLI_WORK_STATEFILE_H

#include "runtime/outfile.h"
#include "sheet/output.h"
#include "work/trailer.h"

#include <bitfold.h>

/* A state that is saved, one of the first five, and what was asked for of it. */
typedef struct statefile {
    bf_state *state;
    bf_histogram *histogram;
    bf_groups *groups;
    bf_states *states;
    unsigned char *table; /* the saved form of the groups of a table, or of strings */
    size_t table_size;    /* its bytes */
    trailer trailer;
} statefile;

/* A saved state that is to be shown, and by when the work began (progress_clock). */
typedef struct saved_showing {
    output *out;
    const options *options;
    bf_context *context;
    const statefile *saved;
    const char *file; /* "total" for several */
    double began;
} saved_showing;

/* Writes a state to a file that is open; statefile_save also completes it. */
int statefile_write(outfile *f, const statefile *saved, const bf_context *context);
int statefile_save(outfile *f, const statefile *saved, const bf_context *context);

/* Loads the state that is saved in the file `name` ("-": standard input). */
int statefile_load(bf_context *context, const char *name, statefile *loaded);
void statefile_free(statefile *loaded);

/* Whether it holds groups of which the number of rows was asked for as count does, not as group. */
bool statefile_is_counts(const statefile *saved);

/* Makes an empty state of the same kind in this context. */
bf_status statefile_empty(bf_context *context, const statefile *from, statefile *empty);

/* Merges two states of one kind that are not of a table; states of many are appended. */
bf_status statefile_merge(const statefile *into, const statefile *from);

/* Makes a copy of the saved form, without a trailer. The caller frees it. */
bf_status statefile_copy(const statefile *from, unsigned char **bytes, size_t *size);

#endif
