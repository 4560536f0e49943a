/* The hash of table keys: 64 bits, of which the high ones choose the place, by a multiplication
 * (bf_hash_place), so that tables need not be a power of two long.
 *
 * For keys of up to 8 bytes it is a bijection, whatever the seed: different keys never have equal
 * hashes, and sequences, multiples and clusters spread as evenly as random keys do. The mixers are
 * David Stafford's number 13 (http://zimbry.blogspot.com/2011/09) and, for 4 bytes, in 32-bit
 * multiplications alone, Chris Wellons' lowbias32 (https://github.com/skeeto/hash-prospector); the
 * seed comes in before each of the two multiplications. */
#ifndef BF_RULES_KEY_HASH_H
#define BF_RULES_KEY_HASH_H

#include "rules/number/rule.h"

BF_RULE uint64_t bf_hash_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A seed, spread over what the hashes of one table take from it. */
typedef struct bf_hash_seed {
    uint64_t first, second;
} bf_hash_seed;

BF_RULE bf_hash_seed bf_hash_seed_of(uint64_t seed) {
    bf_hash_seed s;
    s.first = bf_hash_mix(seed + 0x9e3779b97f4a7c15u); /* splitmix64 */
    s.second = bf_hash_mix(seed + 0x3c6ef372fe94f82au);
    return s;
}

/* The seed to go on with where keys turn out to have been chosen against this one. */
BF_RULE bf_hash_seed bf_hash_next_seed(bf_hash_seed s) {
    return bf_hash_seed_of(bf_hash_mix(s.first) ^ s.second);
}

/* The low 32 bits are 0: the high ones tell all 2^32 keys apart. */
BF_RULE uint64_t bf_hash_4(bf_hash_seed seed, uint32_t key) {
    uint32_t x = key ^ (uint32_t)seed.first;
    x = (x ^ x >> 16) * 0x7feb352du ^ (uint32_t)seed.second;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return (uint64_t)(x ^ x >> 16) << 32;
}

BF_RULE uint64_t bf_hash_8(bf_hash_seed seed, uint64_t key) {
    uint64_t x = key ^ seed.first;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u ^ seed.second;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Of a key of two words; a bijection of either while the other stays. */
BF_RULE uint64_t bf_hash_16(bf_hash_seed seed, uint64_t first, uint64_t second) {
    return bf_hash_8(seed, second ^ bf_hash_mix(first ^ seed.second));
}

/* The place of a hash among `places`, in the order of the hashes. */
BF_RULE uint64_t bf_hash_place(uint64_t hash, uint64_t places) {
#ifdef __CUDA_ARCH__
    return __umul64hi(hash, places);
#else
    return (uint64_t)((bf_u128)hash * places >> 64);
#endif
}

#endif
