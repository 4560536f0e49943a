/* What was asked for of a saved state: options of its result, which are no part of the state, in
 * the trailer of its saved form. */
#ifndef BITFOLD_CLI_WORK_TRAILER_H
#define BITFOLD_CLI_WORK_TRAILER_H

#include "options/options.h"

enum { TRAILER_EMPTY = 64, TRAILER_MOST = 16 + 2 * OPTIONS_AGGREGATES + TRAILER_EMPTY };

typedef struct trailer {
    bf_reduce_options rules;
    bool whole;  /* the state has places from 0 on, of every row of its files: some are NULL */
    int columns; /* that groups are shown in; 0: they are counts */
    signed char which[OPTIONS_AGGREGATES]; /* the aggregate that each is; -1: the number of rows */
    unsigned char key_scale, key_time;     /* the scale of the groups' keys, and what times */
    unsigned char scales[OPTIONS_AGGREGATES]; /* the scale of each aggregate's values */
    unsigned char times[OPTIONS_AGGREGATES];  /* what times they are; a state's are the first */
    char empty[TRAILER_EMPTY];                /* the operand of --empty; "": none */
} trailer;

/* What the options ask for, without columns. */
trailer trailer_of(const options *o);

/* Writes the bytes of a trailer and returns how many they are; 0: nothing but defaults. */
size_t trailer_put(const trailer *t, unsigned char bytes[TRAILER_MOST]);

/* Reads them; n is 0 if there is no trailer. False: they are none that trailer_put wrote. */
bool trailer_get(trailer *t, const unsigned char *bytes, size_t n);

#endif
