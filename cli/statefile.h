/* Saved states, as files. All return an exit code, having reported a failure. */
#ifndef BITFOLD_CLI_STATEFILE_H
#define BITFOLD_CLI_STATEFILE_H

#include "outfile.h"

#include <bitfold.h>

/* Writes the state to a file that is open, and completes it. */
int statefile_save(outfile *f, const bf_state *state);
int statefile_save_histogram(outfile *f, const bf_histogram *histogram);

/* Loads what is saved in the file `name` ("-": standard input): one of the two is set. */
int statefile_load(bf_context *context, const char *name, bf_state **state,
                   bf_histogram **histogram);

#endif
