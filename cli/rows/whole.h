/* sort --by and top --by, sample and shuffle: the rows of a table of text, whole. */
#ifndef BITFOLD_CLI_ROWS_WHOLE_H
#define BITFOLD_CLI_ROWS_WHOLE_H

#include "options/options.h"

typedef enum whole_kind { WHOLE_SORT, WHOLE_TOP, WHOLE_SAMPLE, WHOLE_SHUFFLE } whole_kind;

/* Runs the command; returns its exit code. */
int whole_run(const options *o, whole_kind kind);

/* Reports options that only --by has, where it is not given. */
int whole_check_absent(const options *o);

#endif
