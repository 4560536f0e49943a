/* The rows of a join as a sheet. */
#ifndef BITFOLD_CLI_TABLE_SHOWING_H
#define BITFOLD_CLI_TABLE_SHOWING_H

#include "sheet/sheet.h"
#include "table/loading.h"
#include "table/pairs.h"

/* Writes the shown columns of all pairs. Returns an exit code, having reported the failure. */
int join_show(FILE *f, const join_tables *tables, const join_pairs *pairs, const char *file,
              const options *o);

#endif
