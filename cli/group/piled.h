/* Rows of keys and values on piles: pile i holds those whose keys lie between the i-th and the next
 * of some bounds. Functions that return an exit code have reported the failure. */
#ifndef BITFOLD_CLI_GROUP_PILED_H
#define BITFOLD_CLI_GROUP_PILED_H

#include "memory/key.h"
#include "memory/piles.h"

#include <bitfold.h>

typedef struct piled {
    piles piles;
    key_rank bounds[PILES_MOST]; /* the least rank of each pile; the first is below all keys */
    int aggregates;
    int column[BF_AGGREGATES_MAX]; /* of each aggregate's values: the keys are column 0 */
    bf_dtype dtypes[PILES_COLUMNS];
    void *read[PILES_COLUMNS]; /* rows that were read, so many at most */
    int64_t room;
    uint8_t *which; /* of rows that are added: their piles, so many at most */
    int64_t added;
} piled;

/* Begins with n empty piles for rows like these: keys, and so many arrays of values, of which some
 * may be the same. memory: bytes of all buffers. */
void piled_open(piled *p, const bf_array *keys, const bf_array *const values[], int aggregates,
                const key_rank bounds[], int n, int64_t memory);
void piled_close(piled *p);

/* Puts such rows on the piles. */
int piled_add(piled *p, const bf_array *keys, const bf_array *const values[]);

/* Reads rows [first, first + n) of pile i: keys, and arrays of values, of which values[a] are those
 * of aggregate a. They are valid until the next call. */
int piled_read(piled *p, int i, int64_t first, int64_t n, bf_array *keys, bf_array arrays[],
               const bf_array *values[]);

/* Finds bounds for the rows of pile i from `first` on, by a sample of them: at most *n, which
 * becomes their number. */
int piled_bounds(const piled *p, int i, int64_t first, key_rank bounds[], int *n);

#endif
