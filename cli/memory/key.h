/* Keys of any dtype as numbers in their order. */
#ifndef BITFOLD_CLI_MEMORY_KEY_H
#define BITFOLD_CLI_MEMORY_KEY_H

#include <bitfold.h>

#include <stddef.h>

/* The ranks of n keys of up to 64 bits are in the order of the keys. Equal keys have one rank: -0
 * is +0, all NaNs are one and the greatest, and a bool that is not 0 is true. */
void key_ranks(bf_dtype dtype, const void *keys, int64_t n, uint64_t ranks[]);

/* Ranks keys of any dtype. */
__extension__ typedef unsigned __int128 key_rank;
void key_wide_ranks(bf_dtype dtype, const void *keys, int64_t n, key_rank ranks[]);

/* The bits of a NaN of a dtype of floats. */
uint64_t key_nan(bf_dtype dtype);

/* Writes the key of a rank. */
void key_of_rank(bf_dtype dtype, uint64_t rank, void *at);

/* A hash of several keys, begun with any number: mix each, or its string, into it, or n numbers
 * into n hashes; then find which of n shares it falls into. */
uint64_t key_mix(uint64_t hash, uint64_t x);
void key_mix_numbers(uint64_t hash[], bf_dtype dtype, const void *keys, int64_t n);
uint64_t key_mix_string(uint64_t hash, const char *at, size_t n);
int key_share(uint64_t hash, int n);

#endif
