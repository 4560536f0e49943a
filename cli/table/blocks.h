/* join --on within a limit of memory. The rows of both sides go on piles by a hash of their keys.
 * Piles of one number are joined block by block, and the rows that are shown are sorted. */
#ifndef BITFOLD_CLI_TABLE_BLOCKS_H
#define BITFOLD_CLI_TABLE_BLOCKS_H

#include "table/loading.h"

#include <stdio.h>

/* Joins texts that are open, and writes the result. Returns an exit code, having reported the
 * failure. */
int join_in_blocks(FILE *f, join_tables *tables, bf_context *context);

#endif
