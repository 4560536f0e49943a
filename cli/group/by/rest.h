/* Rows of a table whose keys memory has no room for, on piles by a hash of their keys. Rows of one
 * key are on one pile, so each pile is grouped alone. Functions that return an exit code have
 * reported the failure. */
#ifndef BITFOLD_CLI_GROUP_BY_REST_H
#define BITFOLD_CLI_GROUP_BY_REST_H

#include "group/by/table.h"
#include "memory/piles.h"

/* A row is a record on a pile of bytes: a bit for each key and value, set where it is NULL; the
 * lengths of its strings; its numbers; its strings. */
typedef struct rest {
    piles piles;
    uint64_t seed;     /* of the hash */
    int flags, fixed;  /* bytes of the bits, and of all but the strings */
    int strings;       /* how many */
    int next;          /* the pile that is read, */
    int64_t at;        /* from here on */
    buffer record;     /* of a row that is added */
    buffer read, rows; /* records, and where each begins */
} rest;

/* Begins with empty piles for rows of a table. */
void rest_open(rest *r, const table *t);
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
