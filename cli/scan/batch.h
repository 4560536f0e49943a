/* The rows of a table whose results can be made: those at hand that have a value, and those that
 * waited. With --on, rows of the last key wait, for their windows have all rows of it. */
#ifndef BITFOLD_CLI_SCAN_BATCH_H
#define BITFOLD_CLI_SCAN_BATCH_H

#include "columns/table.h"
#include "scan/running.h"

typedef struct batch {
    const running *of;
    const table *table;
    int on; /* the number of the key among the values; -1: there is none */
    buffer numbers, keys, lines;
    int64_t n, ready; /* all of them, and those that can be made */
} batch;

/* Whether row i of those at hand has a value, and a key. */
bool batch_has(const batch *b, int64_t i);

/* Adds the rows at hand. lines: for each, the number of its line; NULL: there is one. Returns an
 * exit code, having reported the failure. */
int batch_add(batch *b, const int64_t lines[]);

/* The key of the last row; NULL: there is none. */
const void *batch_last_key(const batch *b);

/* There are no more rows. */
void batch_end(batch *b);

/* Drops the rows that were ready. */
void batch_forget(batch *b);
void batch_close(batch *b);

#endif
