/* All of an input at once: along an axis of an array, or from its end. */
#ifndef BITFOLD_CLI_SCAN_ARRAY_H
#define BITFOLD_CLI_SCAN_ARRAY_H

#include "scan/running.h"

/* Whether the options ask for that. */
static inline bool array_wanted(const running *x) { return x->own.axes.n > 0 || x->own.reverse; }

/* Reports options that do not go with it. Returns an exit code. */
int array_check(const running *x);

/* Shows the results of each line, in C order. Returns an exit code, having reported the failure. */
int array_run(running *x);

#endif
