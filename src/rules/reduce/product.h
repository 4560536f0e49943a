/* What a product of integers is: exact up to 128 bits, and modulo 2^64 beyond. Merges in any
 * order. */
#ifndef BF_RULES_REDUCE_PRODUCT_H
#define BF_RULES_REDUCE_PRODUCT_H

#include "rules/reduce/sum.h"

enum {
    BF_PRODUCT_COUNT,
    BF_PRODUCT_ZERO,     /* 1 if a factor is 0; the others tell of the rest */
    BF_PRODUCT_NEGATIVE, /* 1 if an odd number of factors is negative */
    BF_PRODUCT_LOW,      /* the magnitude of their product, 128 bits; 0 if it is larger */
    BF_PRODUCT_HIGH,
    BF_PRODUCT_LARGE,   /* 1 if it is larger */
    BF_PRODUCT_WRAPPED, /* their product modulo 2^64 */
    BF_PRODUCT_WORDS
};

BF_RULE void bf_product_init(int64_t *words) {
    for (int i = 0; i < BF_PRODUCT_WORDS; i++) words[i] = 0;
    words[BF_PRODUCT_LOW] = 1;
    words[BF_PRODUCT_WRAPPED] = 1;
}

BF_RULE bf_u128 bf_product_magnitude(const int64_t *words) {
    return (bf_u128)(uint64_t)words[BF_PRODUCT_HIGH] << 64 | (uint64_t)words[BF_PRODUCT_LOW];
}

/* Multiplies by magnitude > 0, or by one larger than 128 bits. */
BF_RULE void bf_product_multiply(int64_t *words, bf_u128 magnitude, bool large) {
    uint64_t x0 = (uint64_t)words[BF_PRODUCT_LOW], x1 = (uint64_t)words[BF_PRODUCT_HIGH];
    uint64_t y0 = (uint64_t)magnitude, y1 = (uint64_t)(magnitude >> 64);
    bf_u128 low = (bf_u128)x0 * y0, middle = x1 ? (bf_u128)x1 * y0 : (bf_u128)x0 * y1;
    bf_u128 product = low + (middle << 64);
    large = large || words[BF_PRODUCT_LARGE] || (x1 && y1) || middle >> 64 || product < low;
    if (large) product = 0;
    words[BF_PRODUCT_LARGE] = large;
    words[BF_PRODUCT_LOW] = (int64_t)(uint64_t)product;
    words[BF_PRODUCT_HIGH] = (int64_t)(uint64_t)(product >> 64);
}

BF_RULE void bf_product_take(bf_dtype dtype, int64_t *words, uint64_t element) {
    bf_finite d = bf_decode_integer(dtype, element);
    words[BF_PRODUCT_COUNT]++;
    if (d.magnitude == 0) {
        words[BF_PRODUCT_ZERO] = 1;
        return;
    }
    uint64_t value = d.negative ? 0 - d.magnitude : d.magnitude;
    words[BF_PRODUCT_NEGATIVE] ^= d.negative;
    words[BF_PRODUCT_WRAPPED] = (int64_t)((uint64_t)words[BF_PRODUCT_WRAPPED] * value);
    if (!words[BF_PRODUCT_LARGE] && d.magnitude > 1) bf_product_multiply(words, d.magnitude, false);
}

BF_RULE void bf_product_merge(int64_t *into, const int64_t *from) {
    bool large = from[BF_PRODUCT_LARGE] != 0;
    into[BF_PRODUCT_COUNT] += from[BF_PRODUCT_COUNT];
    into[BF_PRODUCT_ZERO] |= from[BF_PRODUCT_ZERO];
    into[BF_PRODUCT_NEGATIVE] ^= from[BF_PRODUCT_NEGATIVE];
    into[BF_PRODUCT_WRAPPED] =
        (int64_t)((uint64_t)into[BF_PRODUCT_WRAPPED] * (uint64_t)from[BF_PRODUCT_WRAPPED]);
    bf_product_multiply(into, large ? 1 : bf_product_magnitude(from), large);
}

/* The product as 192 bits; false if it is larger than 128 bits, signed or (of unsigned) not. */
BF_RULE bool bf_product_finish(bf_dtype dtype, const int64_t *words, uint64_t out[3]) {
    bool zero = words[BF_PRODUCT_ZERO] != 0, negative = words[BF_PRODUCT_NEGATIVE] && !zero;
    bf_u128 x = zero ? 0 : bf_product_magnitude(words), limit = (bf_u128)1 << 127;
    bool is_signed = bf_dtype_is_signed(dtype);
    if (!zero && (words[BF_PRODUCT_LARGE] || (is_signed && x > limit - !negative))) return false;
    if (negative) x = 0 - x;
    out[0] = (uint64_t)x;
    out[1] = (uint64_t)(x >> 64);
    out[2] = negative ? ~(uint64_t)0 : 0;
    return true;
}

BF_RULE uint64_t bf_product_wrapped(const int64_t *words) {
    return words[BF_PRODUCT_ZERO] ? 0 : (uint64_t)words[BF_PRODUCT_WRAPPED];
}

BF_RULE bool bf_product_valid(bf_dtype dtype, const int64_t *words) {
    bf_u128 x = bf_product_magnitude(words);
    bool flags = true, negative = words[BF_PRODUCT_NEGATIVE] != 0;
    static const int bits[] = {BF_PRODUCT_ZERO, BF_PRODUCT_NEGATIVE, BF_PRODUCT_LARGE};
    for (int i = 0; i < 3; i++) flags = flags && (words[bits[i]] == 0 || words[bits[i]] == 1);
    if (!flags || (words[BF_PRODUCT_LARGE] != 0) != (x == 0)) return false;
    if (negative && !bf_dtype_is_signed(dtype)) return false;
    if (x != 0 && words[BF_PRODUCT_WRAPPED] != (int64_t)(uint64_t)(negative ? 0 - x : x))
        return false;
    bool plain = !words[BF_PRODUCT_ZERO] && !negative && x == 1;
    return words[BF_PRODUCT_COUNT] > 0 || plain;
}

#endif
