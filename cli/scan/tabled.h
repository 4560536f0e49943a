/* A table of text: its rows with the results in one more column (--append), and a line for each key
 * (--by). */
#ifndef BITFOLD_CLI_SCAN_TABLED_H
#define BITFOLD_CLI_SCAN_TABLED_H

#include "scan/running.h"

/* Whether the options ask for a table. */
static inline bool tabled_wanted(const running *x) {
    return x->options.append || x->options.by || x->own.on;
}

/* Reports options that do not go with a table, or need one. Returns an exit code. */
int tabled_check(const running *x);
int tabled_check_absent(const options *o);

/* Shows the table, or the results of its rows. Returns an exit code, having reported the failure.
 */
int tabled_run(running *x);

#endif
