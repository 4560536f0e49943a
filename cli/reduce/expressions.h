/* From expressions of the same inputs to states: of the values of one, or of pairs of several,
 * which -e lists with commas between. */
#ifndef BITFOLD_CLI_REDUCE_EXPRESSIONS_H
#define BITFOLD_CLI_REDUCE_EXPRESSIONS_H

#include "reduce/task.h"

/* How many a list has. */
int expressions_count(const char *list);

/* Copies each; texts has room for all. False: there is no memory. They are the caller's to free. */
bool expressions_split(const char *list, char *texts[]);

/* Absorbs n expressions of the files of the options into new states, as together_absorb does
 * columns, and one alone into a state of its values; *seen: how many rows there are. Returns an
 * exit code, having reported the failure. */
int expressions_absorb(task *t, bf_reduction op, const char *const texts[], int n,
                       bf_state **states, int64_t *seen);

#endif
