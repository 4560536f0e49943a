/* Files that a command line names as an output and also as another output or as an input; and
 * standard input that is named more than once, for it can be read once. */
#ifndef BITFOLD_CLI_OPTIONS_CLASH_H
#define BITFOLD_CLI_OPTIONS_CLASH_H

#include "options/options.h"

/* Refuses such files, whatever the names and links by which they are reached. Returns an exit code.
 * Terminals and other character devices may be named more than once. */
int clash_check(const options *o, const usage *u);

#endif
