/* A join of more rows than memory holds. The rows of both sides are put on piles by a hash of their
 * keys. Rows with one key are on piles of one number, which are joined by themselves. Functions
 * that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_TABLE_SIDES_H
#define BITFOLD_CLI_TABLE_SIDES_H

#include "input/rows.h"
#include "memory/piles.h"
#include "options/options.h"
#include "table/numbers.h"

typedef struct side {
    piles piles;     /* the key, and the row; of a key of up to 64 bits its rank */
    units_form form; /* the keys' */
    int64_t first;   /* the number of the first row */
    int64_t memory;  /* bytes of the piles' buffers */
} side;

void side_open(side *s, const options *o);
void side_close(side *s);

/* Puts all rows of a settled column on piles, which are emptied first. ROWS_RESETTLED: their dtype
 * is another. */
int side_load(side *s, rows *r);

/* Takes the keys in the form in which those of both sides are compared. Rows that no row of the
 * other side equals are left out. */
int side_take(side *s, units_form form);

/* Over ranks: brings the rows of each pile together on one rank. Every rank calls it; returns an
 * exit code that all agree on. */
int side_exchange(side *s);

/* Pairs (row of a, row of b) in their order: more than memory holds. */
typedef struct side_pairs {
    bf_context *context; /* theirs alone; it spills */
    bf_sorter *sorter;   /* sorts BF_PAIR */
    const char *file;    /* errors name it */
} side_pairs;

/* Pairs that take so much memory of the context. The caller closes them, also after a failure, and
 * destroys the context. */
int side_pairs_open(side_pairs *p, bf_context *context, int64_t memory, const char *file);
void side_pairs_close(side_pairs *p);
int side_pairs_add(side_pairs *p, const uint64_t pairs[], int64_t n);
/* Gives the next pairs in order, up to `most`; *n is 0 at the end. */
int side_pairs_next(side_pairs *p, uint64_t pairs[], int64_t most, int64_t *n);

/* Joins two sides of one form. */
int sides_join(side *a, side *b, bf_context *context, const options *o, side_pairs *pairs);

#endif
