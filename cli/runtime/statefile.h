/* Saved states, as files. All return an exit code, having reported a failure. */
#ifndef BITFOLD_CLI_RUNTIME_STATEFILE_H
#define BITFOLD_CLI_RUNTIME_STATEFILE_H

#include "runtime/outfile.h"
#include "runtime/output.h"

#include <bitfold.h>

/* A loaded state: exactly one member is set. */
typedef struct statefile {
    bf_state *state;
    bf_histogram *histogram;
    bf_groups *groups;
    bf_states *states;
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

/* Write a state to a file that is open, and complete it. */
int statefile_save(outfile *f, const bf_state *state);
int statefile_save_histogram(outfile *f, const bf_histogram *histogram);
int statefile_save_groups(outfile *f, bf_groups *groups, const bf_context *context);
int statefile_save_states(outfile *f, bf_states *states, const bf_context *context);

/* Loads the state that is saved in the file `name` ("-": standard input). */
int statefile_load(bf_context *context, const char *name, statefile *loaded);
void statefile_free(statefile *loaded);

/* Makes an empty state, histogram or groups of the same kind in this context, which is saved in the
 * same version. */
bf_status statefile_empty(bf_context *context, const statefile *from, statefile *empty);

#endif
