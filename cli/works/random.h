/* Random numbers of which each depends on its number alone. */
#ifndef BITFOLD_CLI_WORKS_RANDOM_H
#define BITFOLD_CLI_WORKS_RANDOM_H

#include <stdint.h>

/* Maps numbers to 64 random bits, one to one (SplitMix64: Steele, Lea and Flood, 2014). */
static inline uint64_t random_bits(uint64_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
