/* The hash of table keys: 64 bits. A multiplication turns its high bits into a place
 * (bf_hash_place), so the length of a table need not be a power of two.
 *
 * For keys of up to 8 bytes it is a bijection with every seed. Different keys never have equal
 * hashes, and sequences, multiples and clusters spread as evenly as random keys do. The mixers are
 * David Stafford's number 13 (http://zimbry.blogspot.com/2011/09) and, for 4 bytes, with 32-bit
 * multiplications alone, Chris Wellons' lowbias32 (https://github.com/skeeto/hash-prospector). The
 * seed enters before each of the two multiplications. */
#ifndef BF_RULES_KEY_HASH_H
#define BF_RULES_KEY_HASH_H

#include "rules/number/rule.h"

BF_RULE uint64_t bf_hash_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A seed as the words that the hashes of one table use. */
typedef struct bf_hash_seed {
    uint64_t first, second;
} bf_hash_seed;

BF_RULE bf_hash_seed bf_hash_seed_of(uint64_t seed) {
    bf_hash_seed s;
    s.first = bf_hash_mix(seed + 0x9e3779b97f4a7c15u); /* splitmix64 */
    s.second = bf_hash_mix(seed + 0x3c6ef372fe94f82au);
    return s;
}

/* The next seed, for keys that were chosen against this one. */
BF_RULE bf_hash_seed bf_hash_next_seed(bf_hash_seed s) {
    return bf_hash_seed_of(bf_hash_mix(s.first) ^ s.second);
}

/* The hash of a key of 4 bytes. Its low 32 bits are 0: the high ones differ for all 2^32 keys. */
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

/* The hash of a key of two words: a bijection of each word while the other is constant. */
BF_RULE uint64_t bf_hash_16(bf_hash_seed seed, uint64_t first, uint64_t second) {
    return bf_hash_8(seed, second ^ bf_hash_mix(first ^ seed.second));
}

/* The place of a hash among `places`. Places are in the order of the hashes. */
BF_RULE uint64_t bf_hash_place(uint64_t hash, uint64_t places) {
#ifdef __CUDA_ARCH__
    return __umul64hi(hash, places);
#else
    return (uint64_t)((bf_u128)hash * places >> 64);
#endif
}

#endif
