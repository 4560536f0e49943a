/* All rows of a table in memory: the columns that are taken as they are. */
#ifndef BITFOLD_CLI_READ_LOADED_H
#define BITFOLD_CLI_READ_LOADED_H

#include "columns/table.h"
#include "memory/buffer.h"
#include "read/read.h"

typedef struct loaded_column {
    buffer numbers, offsets, bytes, valid;
    int64_t nulls;
} loaded_column;

typedef struct loaded {
    bitfold_read_table shown;
    loaded_column *columns; /* where the memory of those that are shown is */
} loaded;

/* Reads the table, which is open. Returns an exit code, having reported the failure. */
int loaded_read(loaded *l, table *t);
void loaded_free(loaded *l);

#endif
