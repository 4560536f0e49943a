/* A join of more rows than memory holds. The rows of both sides are put on piles by a hash of their
 * keys; piles that are large go to temporary files. Rows with one key are on piles of one number,
 * which are joined by themselves. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_TABLE_PILES_H
#define BITFOLD_CLI_TABLE_PILES_H

#include "input/rows.h"
#include "memory/runs.h"
#include "runtime/options.h"

enum { PILES = 64 };

/* Records (key as an unsigned number, row) in the order of the rows. */
typedef struct pile {
    int fd; /* -1: all are in the buffer */
    run_record *buffer;
    int64_t n, held; /* in all; in the buffer */
} pile;

typedef struct piles {
    pile all[PILES];
    int64_t room;  /* records of a buffer */
    int64_t first; /* the number of the first row */
} piles;

void piles_open(piles *p, const options *o);
void piles_close(piles *p);

/* Puts all rows of a settled column on piles, which are emptied first. ROWS_RESETTLED: their dtype
 * is another. */
int piles_load(piles *p, rows *r);

/* Over ranks: brings the rows of each pile together on one rank. Every rank calls it; returns an
 * exit code that all agree on. */
int piles_exchange(piles *p);

/* Joins two sides. Their pairs become runs of (row of a, row of b). */
int piles_join(piles *a, piles *b, bf_context *context, const options *o, runs *pairs);

#endif
