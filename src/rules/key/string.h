/* Keys of strings and of several columns as one string of bytes, whose order is that of the keys.
 *
 * A key of one column of strings is the string. Any other is its columns one behind another. Each
 * begins with a byte that says whether it is a value or a NULL, which is last. A number follows as
 * its rank (rank.h), the highest byte first. A string follows with an end that is less than what
 * may follow a shorter one: a zero byte in it is written as 0 255, and its end as 0 0. (The tuples
 * of FoundationDB are written in this way:
 * https://github.com/apple/foundationdb/blob/main/design/tuple.md.) */
#ifndef BF_RULES_KEY_STRING_H
#define BF_RULES_KEY_STRING_H

#include "rules/key/hash.h"
#include "rules/key/rank.h"

enum { BF_STRING_VALUE = 1, BF_STRING_NULL = 2 };

/* ---- hash ------------------------------------------------------------------------------------ */

BF_RULE uint64_t bf_hash_fold(uint64_t a, uint64_t b) {
    const bf_u128 product = (bf_u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last bytes, 0 to 16 of them, as two words. */
BF_RULE void bf_hash_tail(const char *p, int64_t n, uint64_t words[2]) {
    words[0] = words[1] = 0;
    if (n >= 8) {
        words[0] = bf_load_bits(p, 8);
        words[1] = bf_load_bits(p + n - 8, 8);
    } else if (n >= 4) {
        words[0] = bf_load_bits(p, 4) << 32 | bf_load_bits(p + n - 4, 4);
    } else if (n > 0) {
        words[0] =
            bf_load_bits(p, 1) << 16 | bf_load_bits(p + n / 2, 1) << 8 | bf_load_bits(p + n - 1, 1);
    }
}

/* The hash of n bytes, by products of 128 bits that are folded (Wang Yi, wyhash). It resists keys
 * that are chosen to collide only if the seed is secret. */
BF_RULE uint64_t bf_hash_bytes(bf_hash_seed seed, const char *p, int64_t n) {
    uint64_t hash = seed.first ^ (uint64_t)n, words[2];
    for (; n > 16; p += 16, n -= 16)
        hash = bf_hash_fold(bf_load_bits(p, 8) ^ hash, bf_load_bits(p + 8, 8) ^ seed.second);
    bf_hash_tail(p, n, words);
    return bf_hash_mix(bf_hash_fold(words[0] ^ hash, words[1] ^ seed.second));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Up to eight bytes from p on, the first one highest; zeros behind the last. */
BF_RULE uint64_t bf_string_prefix(const char *p, int64_t n) {
    uint64_t prefix = 0;
    if (n >= 8) return __builtin_bswap64(bf_load_bits(p, 8));
    for (int64_t i = 0; i < n; i++) prefix |= (uint64_t)(unsigned char)p[i] << (56 - 8 * i);
    return prefix;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The bytes that a number of this dtype takes. */
BF_RULE int64_t bf_string_number_bytes(bf_dtype dtype) { return 1 + bf_rank_bytes(dtype); }

/* Writes a number, which lies at `element`; returns where it ends. */
BF_RULE char *bf_string_put_number(char *to, bf_dtype dtype, const void *element) {
    *to++ = BF_STRING_VALUE;
    if (dtype == BF_I128) {
        uint64_t pair[2];
        bf_pair_of_i128(bf_load_i128(element), pair);
        bf_store_bits(to, 8, __builtin_bswap64(pair[0]));
        bf_store_bits(to + 8, 8, __builtin_bswap64(pair[1]));
        return to + 16;
    }
    const int bytes = bf_rank_bytes(dtype);
    const uint64_t bits = bf_load_bits(element, bf_dtype_bytes(dtype));
    const uint64_t rank = bf_group_rank(dtype, bits) << (64 - 8 * bytes);
    bf_store_bits(to, bytes, __builtin_bswap64(rank));
    return to + bytes;
}

/* Reads a number that is written behind its first byte. */
BF_RULE void bf_string_take_number(const char *from, bf_dtype dtype, void *element) {
    if (dtype == BF_I128) {
        const uint64_t pair[2] = {bf_string_prefix(from, 8), bf_string_prefix(from + 8, 8)};
        bf_store_i128(element, bf_i128_of_pair(pair));
        return;
    }
    uint64_t rank = 0;
    for (int i = 0; i < bf_rank_bytes(dtype); i++) rank = rank << 8 | (unsigned char)from[i];
    bf_store_bits(element, bf_dtype_bytes(dtype), bf_group_of_rank(dtype, rank));
}

/* The most bytes that a string of n bytes takes. */
BF_RULE int64_t bf_string_most(int64_t n) { return 2 * n + 3; }

/* Whether some byte of a word is 0. */
BF_RULE bool bf_string_has_zero(uint64_t word) {
    const uint64_t low = UINT64_C(0x0101010101010101);
    return ((word - low) & ~word & low << 7) != 0;
}

/* Copies n bytes; false if one of them is 0. */
BF_RULE bool bf_string_copy(char *to, const char *from, int64_t n) {
    uint64_t words[2];
    for (; n > 16; from += 8, to += 8, n -= 8) {
        words[0] = bf_load_bits(from, 8);
        bf_store_bits(to, 8, words[0]);
        if (bf_string_has_zero(words[0])) return false;
    }
    if (n >= 4) {
        const int bytes = n >= 8 ? 8 : 4;
        words[0] = bf_load_bits(from, bytes);
        words[1] = bf_load_bits(from + n - bytes, bytes);
        bf_store_bits(to, bytes, words[0]);
        bf_store_bits(to + n - bytes, bytes, words[1]);
        const uint64_t unused = n >= 8 ? 0 : ~(uint64_t)0 << 32;
        return !bf_string_has_zero(words[0] | unused) && !bf_string_has_zero(words[1] | unused);
    }
    bool zero = false;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i];
        zero = zero || from[i] == 0;
    }
    return !zero;
}

/* Writes a string; returns where it ends. */
BF_RULE char *bf_string_put(char *to, const char *from, int64_t n) {
    *to++ = BF_STRING_VALUE;
    if (bf_string_copy(to, from, n)) {
        to += n;
    } else {
        for (int64_t i = 0; i < n; i++) {
            *to++ = from[i];
            if (from[i] == 0) *to++ = (char)255;
        }
    }
    *to++ = 0;
    *to++ = 0;
    return to;
}

/* Copies a string that is written behind its first byte to `to` (NULL: nowhere) and sets *n to its
 * bytes; returns where it ends. */
BF_RULE const char *bf_string_take(const char *from, char *to, int64_t *n) {
    *n = 0;
    for (; from[0] != 0 || from[1] != 0; from += from[0] == 0 ? 2 : 1) {
        if (to != NULL) to[*n] = from[0];
        ++*n;
    }
    return from + 2;
}

/* Where the column ends that begins at `from`; dtype BF_NONE: it is of strings. */
BF_RULE const char *bf_string_skip(const char *from, bf_dtype dtype) {
    int64_t n;
    if (*from == BF_STRING_NULL) return from + 1;
    if (dtype != BF_NONE) return from + bf_string_number_bytes(dtype);
    return bf_string_take(from + 1, NULL, &n);
}

#endif
