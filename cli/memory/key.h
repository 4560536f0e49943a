/* Keys of any dtype as numbers in their order. */
#ifndef BITFOLD_CLI_MEMORY_KEY_H
#define BITFOLD_CLI_MEMORY_KEY_H

#include <bitfold.h>

/* The ranks of n keys are in the order of the keys. Equal keys have one rank: -0 is +0, all NaNs
 * are one and the greatest, and a bool that is not 0 is true. */
void key_ranks(bf_dtype dtype, const void *keys, int64_t n, uint64_t ranks[]);

/* The bits of a NaN of a dtype of floats. */
uint64_t key_nan(bf_dtype dtype);

/* Writes the key of a rank. */
void key_of_rank(bf_dtype dtype, uint64_t rank, void *at);

#endif
