/* The values of an aggregate, one of each group. */
#ifndef BITFOLD_CLI_GROUP_RESULTS_H
#define BITFOLD_CLI_GROUP_RESULTS_H

#include "options/options.h"

/* An array, with room for one element more, or, where they may need more than 64 bits or be none at
 * all, values one by one. Neither: nothing was taken. */
typedef struct results {
    bf_dtype dtype;
    int scale;            /* the scale of integers in the array */
    char *array, *memory; /* memory: its own, or NULL */
    bf_value *values;
} results;

/* Takes aggregate number `which` of all groups, whose values have this scale; or the share of each
 * group in it, a sum, of all groups of `of` (NULL: of these). Free them in either case. */
bf_status results_take(bf_groups *groups, const options *o, int which, int scale, results *r);
bf_status results_take_shares(bf_groups *groups, bf_groups *of, const options *o, int which,
                              results *r);
void results_free(results *r);

/* The dtype of the array. */
bf_dtype results_dtype(const bf_groups *groups, const options *o, int which);

#endif
