/* Groups of one column of numbers as one JSON object: lists of keys, and of each result. */
#ifndef BITFOLD_CLI_GROUP_LISTED_H
#define BITFOLD_CLI_GROUP_LISTED_H

#include "group/numbered.h"
#include "memory/kept.h"
#include "sheet/sheet.h"

/* Whether the options ask for it. */
bool listed_wanted(const numbered *x);

/* Functions that return an exit code have reported the failure. */

/* Writes the object of a sheet of keys and results. n, groups: of how many rows and groups it is.
 */
void listed_put(FILE *f, const numbered *x, const sheet *s, int64_t n, int64_t groups,
                double began);

/* Columns of sheets that come one by one. They are in files until the end. */
typedef struct listed {
    int columns;
    int64_t rows; /* so far */
    kept *kept;
} listed;

int listed_open(listed *l, const numbered *x);
void listed_close(listed *l);
int listed_add(void *l, const sheet *s);
int listed_end(FILE *f, const listed *l, const numbered *x, int64_t n, int64_t groups,
               double began);

#endif
