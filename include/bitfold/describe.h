/* Describe: counts, extremes, sum, mean and deviation of an array in one pass. */
#ifndef BITFOLD_DESCRIBE_H
#define BITFOLD_DESCRIBE_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The counts, and the values that the reductions of the same names give with the same options. */
typedef struct bf_description {
    size_t size; /* sizeof(bf_description): set before the call, see bitfold.h */
    int64_t n, nan, inf;
    int64_t argmin, argmax; /* -1: there is no value */
    bf_value min, max;      /* dtype BF_NONE: there is no value */
    bf_value sum, mean, std;
} bf_description;

/* Describes an array in one pass. options (NULL: defaults) apply to every value that takes them.
 * Errors: as bf_reduce, but empty input is no error. */
BF_API bf_status bf_describe(bf_context *context, const bf_array *array,
                             const bf_reduce_options *options, bf_description *description);

/* The description of a state of BF_DESCRIBE, which absorbs, merges, seeks and saves like any other.
 * It is ordered, as states of argmin are. Errors: also BF_E_ARGUMENT for a state of another op. */
BF_API bf_status bf_state_description(const bf_state *state, const bf_reduce_options *options,
                                      bf_description *description);

#ifdef __cplusplus
}
#endif
#endif
