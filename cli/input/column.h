/* A column of an input: its numbers in order, in blocks of as many rows as are asked for. */
#ifndef BITFOLD_CLI_INPUT_COLUMN_H
#define BITFOLD_CLI_INPUT_COLUMN_H

#include "input/source.h"

typedef struct column {
    source source;
    bf_dtype dtype;
    void *buffer;  /* for blocks that do not lie in memory; NULL: they do */
    int64_t block; /* rows that can be had at a time */
    int64_t at;    /* the next row */
} column;

/* Text is read whole, as integers if it holds nothing else. Return exit codes, having reported the
 * failure. */
int column_open(column *c, const char *name, const input *in);
void column_close(column *c);

/* The next rows, up to n <= block of them, valid until the next call; *got is fewer than n
 * only at the end. */
int column_next(column *c, int64_t n, const void **elements, int64_t *got);

/* All rows at once, in memory that no other process changes, as files that are mapped may: *all
 * lies in the column's own, or (where *own is set) in memory to be freed. */
int column_all(column *c, const void **all, void **own, int64_t *n);

/* Bytes in all, -1 if unknown; rows likewise. */
int64_t column_bytes(const column *c);

#endif
