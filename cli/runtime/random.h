/* Random numbers of which each depends on a seed and its own number alone. */
#ifndef BITFOLD_CLI_RUNTIME_RANDOM_H
#define BITFOLD_CLI_RUNTIME_RANDOM_H

#include <stdint.h>

/* Output number i, from 0, of SplitMix64 (Steele, Lea and Flood, 2014) for this seed. */
static inline uint64_t random_output(uint64_t seed, uint64_t i) {
    uint64_t x = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
