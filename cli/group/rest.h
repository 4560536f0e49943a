/* Rows of a table whose keys memory has no room for, on piles by a hash of their keys. Rows of one
 * key are on one pile, so each pile is grouped alone. Functions that return an exit code have
 * reported the failure. */
#ifndef BITFOLD_CLI_GROUP_REST_H
#define BITFOLD_CLI_GROUP_REST_H

#include "columns/table.h"
#include "memory/packed.h"

typedef struct rest {
    piles piles;
    packed packed; /* the keys, then the values */
    uint64_t seed; /* the hash's */
    packed_rows rows;
} rest;

/* Begins with empty piles for rows of a table. */
int rest_open(rest *r, const table *t);
void rest_close(rest *r);

/* Adds the rows at hand whose numbers are negative. */
int rest_add(rest *r, const table *t, const int64_t numbers[]);

/* Ends adding. */
int rest_end(rest *r);

/* Goes on to the next pile that has rows, the first at first. False: there is none. */
bool rest_next_pile(rest *r);

/* Begins the present pile again; removes its rows. */
void rest_again(rest *r);
void rest_empty(rest *r);

/* Takes the next rows of the present pile, as table_next does. */
int rest_read(rest *r, table *t, bool *end);

#endif
