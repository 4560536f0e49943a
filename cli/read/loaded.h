/* Rows of a table in memory: the columns that are taken as they are. */
#ifndef BITFOLD_CLI_READ_LOADED_H
#define BITFOLD_CLI_READ_LOADED_H

#include "columns/table.h"
#include "memory/buffer.h"
#include "read/read.h"

typedef struct loaded_column {
    column_memory memory;
    int64_t nulls;
} loaded_column;

typedef struct loaded {
    bitfold_read_table shown;
    loaded_column *columns; /* where the memory of those that are shown is */
} loaded;

/* Reads the next rows of the table, which is open, so many at least; *end: there are no more. They
 * are bitfold_read_free's. ROWS_RESETTLED: what was read so far does not count. */
int loaded_read(loaded **out, table *t, int64_t least, bool *end);

#endif
