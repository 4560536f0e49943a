/* A series: the numbers of an input in order, block by block, to be walked once or again and again.
 *
 * A file is walked where it is mapped. What can be read but once, a pipe or text that has been made
 * into numbers, is kept in a spool if another walk is to come. */
#ifndef BITFOLD_CLI_INPUT_SERIES_H
#define BITFOLD_CLI_INPUT_SERIES_H

#include "input/series_text.h"
#include "input/source.h"
#include "runtime/spool.h"

typedef struct series {
    source source;
    bf_dtype dtype;   /* text: f64, unless --dtype says another */
    series_text text; /* of text: who reads it */
    void *buffer;     /* for blocks that do not lie in memory; NULL until it is needed */
    int64_t block;    /* elements of a block */
    int64_t at;       /* the next element */
    bool keep, kept;  /* another walk is to come; all is in the spool */
    spool spool;
} series;

/* threads: to read text with. limit: NULL if there is to be one walk only. ordered: elements must
 * come in C order, and text in its own; otherwise as is fastest. Returns an exit code, having
 * reported the failure; so do the others. */
int series_open(series *s, const char *name, const input *in, int threads, spool_limit *limit,
                bool ordered);
void series_close(series *s);

/* The next elements, valid until the next call; *n is 0 at the end. */
int series_next(series *s, const void **elements, int64_t *n);

/* Goes back to the start, after a walk to the end. Closes the source if the spool has all. */
void series_rewind(series *s);

/* Bytes that a walk reads, -1 if unknown. */
int64_t series_bytes(const series *s);

#endif
