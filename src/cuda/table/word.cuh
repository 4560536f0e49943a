/* The entries of a table on a GPU: hashed keys and values in words of 4, 8 or 16 bytes.
 *
 * A word is as wide as the wider of key and value. Keys become ranks (rules/key/rank.h), and a slot
 * holds the hash of the rank, from which the rank can be recovered: ranks of up to 8 bytes hash by
 * a bijection; of 16 bytes, the first word stays beside the hash. So no key is hashed twice. An
 * empty slot holds a hash of another region, so no key is reserved. Values that are compared are
 * encoded so that the least number wins. */
#ifndef BF_CUDA_TABLE_WORD_CUH
#define BF_CUDA_TABLE_WORD_CUH

#include "cuda/runtime/entry.cuh"

extern "C" {
#include "rules/key/hash.h"
#include "rules/table/entry.h"
}

/* --- the hash and its inverse --- */

static __device__ __forceinline__ uint32_t bf_cuda_hash(bf_hash_seed seed, uint32_t rank) {
    return (uint32_t)(bf_hash_4(seed, rank) >> 32);
}

static __device__ __forceinline__ uint64_t bf_cuda_hash(bf_hash_seed seed, uint64_t rank) {
    return bf_hash_8(seed, rank);
}

static __device__ __forceinline__ bf_cuda_wide bf_cuda_hash(bf_hash_seed seed, bf_cuda_wide rank) {
    bf_cuda_wide hash = {rank.hi, bf_hash_16(seed, rank.hi, rank.lo)};
    return hash;
}

static __device__ __forceinline__ uint32_t bf_cuda_unhash(bf_hash_seed seed, uint32_t x) {
    x = (x ^ x >> 16) * 0x43021123u;
    x = ((x ^ x >> 15 ^ x >> 30) ^ (uint32_t)seed.second) * 0x1d69e2a5u;
    return x ^ x >> 16 ^ (uint32_t)seed.first;
}

static __device__ __forceinline__ uint64_t bf_cuda_unhash(bf_hash_seed seed, uint64_t x) {
    x = (x ^ x >> 31 ^ x >> 62) * 0x319642b2d24d8ec3u;
    x = ((x ^ x >> 27 ^ x >> 54) ^ seed.second) * 0x96de1b173f119089u;
    return x ^ x >> 30 ^ x >> 60 ^ seed.first;
}

static __device__ __forceinline__ bf_cuda_wide bf_cuda_unhash(bf_hash_seed seed, bf_cuda_wide x) {
    bf_cuda_wide rank = {x.hi, bf_cuda_unhash(seed, x.lo) ^ bf_hash_mix(x.hi ^ seed.second)};
    return rank;
}

/* --- regions of 32 KiB, of buckets that two lanes read at once --- */

template <class W> struct bf_cuda_region {
    static constexpr int bucket = sizeof(W) == 4 ? 4 : 2; /* slots */
    static constexpr int buckets = sizeof(W) == 16 ? 512 : 1024;
    static constexpr int slots = bucket * buckets;
    static constexpr int limit = slots - slots / 16; /* a region uses no more */
};

/* Scales a hash to [0, n): the number of a bucket or of a region. */
static __device__ __forceinline__ uint32_t bf_cuda_scale_hash(uint32_t hash, uint64_t n) {
    return __umulhi(hash, (uint32_t)n);
}
static __device__ __forceinline__ uint32_t bf_cuda_scale_hash(uint64_t hash, uint64_t n) {
    return (uint32_t)__umul64hi(hash, n);
}
static __device__ __forceinline__ uint32_t bf_cuda_scale_hash(bf_cuda_wide hash, uint64_t n) {
    return bf_cuda_scale_hash(hash.lo, n);
}

/* Sets the key of the empty slots of a region. The least hash belongs to region 0, the greatest to
 * the last. */
static __device__ __forceinline__ void bf_cuda_set_empty_key(uint32_t region, uint32_t *word) {
    *word = region == 0 ? ~(uint32_t)0 : 0;
}
static __device__ __forceinline__ void bf_cuda_set_empty_key(uint32_t region, uint64_t *word) {
    *word = region == 0 ? ~(uint64_t)0 : 0;
}
static __device__ __forceinline__ void bf_cuda_set_empty_key(uint32_t region, bf_cuda_wide *word) {
    word->hi = 0;
    bf_cuda_set_empty_key(region, &word->lo);
}

template <class W> static __device__ __forceinline__ W bf_cuda_empty_key(uint32_t region) {
    W word;
    bf_cuda_set_empty_key(region, &word);
    return word;
}

/* Returns the bucket to try at step i, within a region: the key's home, its sibling, the next pair,
 * and so on around. */
template <class W>
static __device__ __forceinline__ uint32_t bf_cuda_bucket_at(uint32_t home, uint32_t i) {
    constexpr uint32_t pairs = bf_cuda_region<W>::buckets / 2;
    return ((home >> 1) + (i >> 1) & (pairs - 1)) << 1 | ((home ^ i) & 1);
}

/* --- keys and values as words, and back --- */

/* Returns the bits of element i of an array. Elements have 0, 4 or 8 bytes, or 16 (the first 8 are
 * returned); they are aligned to 8 at most. */
static __device__ __forceinline__ uint64_t bf_cuda_load_bits(const void *p, int bytes, int64_t i) {
    if (bytes == 4) return ((const uint32_t *)p)[i];
    return bytes == 0 ? 0 : ((const uint64_t *)p)[i];
}

static __device__ __forceinline__ void bf_cuda_load_word(const void *p, int bytes, int64_t i,
                                                         uint32_t *word) {
    *word = bytes == 0 ? 0 : ((const uint32_t *)p)[i];
}
static __device__ __forceinline__ void bf_cuda_load_word(const void *p, int bytes, int64_t i,
                                                         uint64_t *word) {
    *word = bf_cuda_load_bits(p, bytes, i);
}
static __device__ __forceinline__ void bf_cuda_load_word(const void *p, int bytes, int64_t i,
                                                         bf_cuda_wide *word) {
    if (bytes < 16) return bf_cuda_narrow(bf_cuda_load_bits(p, bytes, i), word);
    word->hi = ((const uint64_t *)p)[2 * i];
    word->lo = ((const uint64_t *)p)[2 * i + 1];
}

static __device__ __forceinline__ void bf_cuda_store_bits(void *p, int bytes, int64_t i,
                                                          uint64_t bits) {
    if (bytes == 4) ((uint32_t *)p)[i] = (uint32_t)bits;
    if (bytes == 8) ((uint64_t *)p)[i] = bits;
}
template <class W>
static __device__ __forceinline__ void bf_cuda_store_word(void *p, int bytes, int64_t i, W word) {
    bf_cuda_store_bits(p, bytes, i, bf_cuda_bits(word));
}
template <>
__device__ __forceinline__ void bf_cuda_store_word(void *p, int bytes, int64_t i,
                                                   bf_cuda_wide word) {
    if (bytes < 16) return bf_cuda_store_bits(p, bytes, i, word.lo);
    ((uint64_t *)p)[2 * i] = word.hi;
    ((uint64_t *)p)[2 * i + 1] = word.lo;
}

/* How slots hold values. */
enum bf_cuda_values {
    BF_CUDA_VALUES_PLAIN,
    BF_CUDA_VALUES_LEAST,   /* ranks, but 0 for a NaN */
    BF_CUDA_VALUES_GREATEST /* the complements of ranks */
};

/* The format of a table's entries. */
struct bf_cuda_format {
    bf_dtype key, value;
    int key_bytes, value_bytes;
    bf_cuda_values values;
};

/* Returns the rank of a key. One case a dtype lets the compiler reduce each rule to a few
 * instructions. */
static __device__ __forceinline__ uint64_t bf_cuda_rank(bf_dtype dtype, uint64_t bits) {
    switch (dtype) {
    case BF_I32: return bf_key_rank(BF_I32, bits);
    case BF_I64: return bf_key_rank(BF_I64, bits);
    case BF_F32: return bf_key_rank(BF_F32, bf_key_of_f32((uint32_t)bits));
    case BF_F64: return bf_key_rank(BF_F64, bf_key_of_f64(bits));
    default: return bits;
    }
}

static __device__ __forceinline__ uint64_t bf_cuda_unrank(bf_dtype dtype, uint64_t rank) {
    switch (dtype) {
    case BF_I32: return bf_key_of_rank(BF_I32, rank);
    case BF_I64: return bf_key_of_rank(BF_I64, rank);
    case BF_F32: return bf_key_of_rank(BF_F32, rank);
    case BF_F64: return bf_key_of_rank(BF_F64, rank);
    default: return rank;
    }
}

/* Returns the rank of a value: -0 is less than +0, and a NaN is the greatest. */
static __device__ __forceinline__ uint64_t bf_cuda_value_rank(bf_dtype dtype, uint64_t bits) {
    uint64_t zero = dtype == BF_F32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
    bool is_float = dtype == BF_F32 || dtype == BF_F64;
    return is_float && bits == zero ? zero - 1 : bf_cuda_rank(dtype, bits);
}

static __device__ __forceinline__ uint64_t bf_cuda_value_mask(const bf_cuda_format &f) {
    return ~(uint64_t)0 >> (64 - 8 * f.value_bytes);
}

/* Encodes a value so that the least number wins. A NaN always wins. */
static __device__ __forceinline__ uint64_t bf_cuda_encode_value(const bf_cuda_format &f,
                                                                uint64_t bits) {
    uint64_t rank = bf_cuda_value_rank(f.value, bits);
    if (f.values == BF_CUDA_VALUES_GREATEST) return ~rank & bf_cuda_value_mask(f);
    if (f.value == BF_F32 && rank > 0xff800000u) return 0;
    return f.value == BF_F64 && rank > (uint64_t)0xfff << 52 ? 0 : rank;
}

static __device__ __forceinline__ uint64_t bf_cuda_decode_value(const bf_cuda_format &f,
                                                                uint64_t stored) {
    if (f.values == BF_CUDA_VALUES_GREATEST)
        return bf_cuda_unrank(f.value, ~stored & bf_cuda_value_mask(f));
    if (stored == 0 && f.value == BF_F32) return 0x7fc00000u;
    if (stored == 0 && f.value == BF_F64) return (uint64_t)0x7ff8 << 48;
    return bf_cuda_unrank(f.value, stored);
}

/* Return the words that slots hold, from the words of a key and of a value. */
template <class W>
static __device__ __forceinline__ W bf_cuda_rank_word(const bf_cuda_format &f, W word) {
    if (f.key_bytes < 16) bf_cuda_narrow(bf_cuda_rank(f.key, bf_cuda_bits(word)), &word);
    return word;
}

template <class W>
static __device__ __forceinline__ W bf_cuda_value_word(const bf_cuda_format &f, W word) {
    if (f.values != BF_CUDA_VALUES_PLAIN)
        bf_cuda_narrow(bf_cuda_encode_value(f, bf_cuda_bits(word)), &word);
    return word;
}

template <class W>
static __device__ __forceinline__ W bf_cuda_load_rank(const bf_cuda_format &f, const void *keys,
                                                      int64_t i) {
    W word;
    bf_cuda_load_word(keys, f.key_bytes, i, &word);
    return bf_cuda_rank_word(f, word);
}

template <class W>
static __device__ __forceinline__ W bf_cuda_load_value(const bf_cuda_format &f, const void *values,
                                                       int64_t i) {
    W word;
    bf_cuda_load_word(values, f.value_bytes, i, &word);
    return bf_cuda_value_word(f, word);
}

template <class W>
static __device__ __forceinline__ void bf_cuda_store_rank(const bf_cuda_format &f, void *keys,
                                                          int64_t i, W rank) {
    if (f.key_bytes < 16) bf_cuda_narrow(bf_cuda_unrank(f.key, bf_cuda_bits(rank)), &rank);
    bf_cuda_store_word(keys, f.key_bytes, i, rank);
}

template <class W>
static __device__ __forceinline__ void bf_cuda_store_value(const bf_cuda_format &f, void *values,
                                                           int64_t i, W stored) {
    if (f.values != BF_CUDA_VALUES_PLAIN)
        bf_cuda_narrow(bf_cuda_decode_value(f, bf_cuda_bits(stored)), &stored);
    bf_cuda_store_word(values, f.value_bytes, i, stored);
}

#endif
