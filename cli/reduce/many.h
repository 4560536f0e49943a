/* Reductions of many at once: along axes, by segments, by index. */
#ifndef BITFOLD_CLI_REDUCE_MANY_H
#define BITFOLD_CLI_REDUCE_MANY_H

#include "reduce/task.h"

/* Whether the options ask for them. */
bool many_asked(const options *o);

/* Runs a command of values whose options do. Returns an exit code. */
int many_run(const options *o, bf_reduction op);

/* Writes the values of many saved states, for which the work began then (progress_clock). Returns
 * an exit code. */
int many_show(task *t, bf_states *states, const char *file, double began);

#endif
