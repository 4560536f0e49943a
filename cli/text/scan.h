/* The part of text/number.h that every token passes through, inlined into the loops. */
#ifndef BITFOLD_CLI_TEXT_SCAN_H
#define BITFOLD_CLI_TEXT_SCAN_H

#include <string.h>

static inline uint64_t text_eight_bytes(const char *p) {
    uint64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes : __builtin_bswap64(bytes);
}

/* Nonzero in each byte that is not a digit: its upper half is not 3, or becomes 4 by adding 6. Only
 * the lowest of them counts: what is above it may have been carried into. */
static inline uint64_t text_not_digits(uint64_t bytes) {
    const uint64_t high = 0xf0f0f0f0f0f0f0f0u, zeros = 0x3030303030303030u;
    return ((bytes & high) ^ zeros) | (((bytes + 0x0606060606060606u) & high) ^ zeros);
}

/* Eight digits (as values 0 to 9, the first in the lowest byte) as a number: pairs, fours, all. */
static inline uint64_t text_eight(uint64_t digits) {
    digits = digits * 10 + (digits >> 8);
    const uint64_t even = digits & 0x000000ff000000ffu, odd = digits >> 16 & 0x000000ff000000ffu;
    return (even * 0x000f424000000064u + odd * 0x0000271000000001u) >> 32;
}

/* Appends the digits at p to *value (which wraps beyond 19 of them) and returns where they end. */
static inline const char *text_digits(const char *p, uint64_t *value) {
    for (;;) {
        const uint64_t bytes = text_eight_bytes(p), not_digits = text_not_digits(bytes);
        const uint64_t digits = bytes ^ 0x3030303030303030u;
        if (not_digits != 0) {
            const int n = __builtin_ctzll(not_digits) / 8;
            if (n > 0) *value = *value * text_tens[n] + text_eight(digits << (64 - 8 * n));
            return p + n;
        }
        *value = *value * text_tens[8] + text_eight(digits);
        p += 8;
    }
}

/* A number of one to eight bytes: digits, and maybe a point. */
typedef struct text_short {
    uint64_t digits;
    int decimals; /* digits behind the point */
    bool point;
} text_short;

/* Reads the `length` bytes at p, 1 to 8. False if they are anything else. The digits are moved
 * together over the point, so that one product finds their value. */
static inline bool text_scan_short(const char *p, int length, text_short *n) {
    const uint64_t points = 0x2e2e2e2e2e2e2e2eu, zeros = 0x3030303030303030u;
    uint64_t bytes = text_eight_bytes(p) << (64 - 8 * length) | zeros >> 8 * (length - 1) >> 8;
    const uint64_t other = bytes ^ points;
    const uint64_t found = (other - 0x0101010101010101u) & ~other & 0x8080808080808080u;
    n->point = found != 0;
    n->decimals = 0;
    if (n->point) { /* only the lowest bit of `found` counts: a second point is no digit */
        const uint64_t below = ((found & -found) >> 7) - 1;
        n->decimals = 7 - __builtin_ctzll(found) / 8;
        bytes = (bytes & ~(below << 8 | 0xff)) | (bytes & below) << 8 | '0';
    }
    n->digits = text_eight(bytes ^ zeros);
    return text_not_digits(bytes) == 0 && length > n->point;
}

/* Where the first byte c is among the eight at p, from 0 on; 8 if it is none of them. */
static inline int text_find_near(const char *p, char c) {
    const uint64_t other = text_eight_bytes(p) ^ 0x0101010101010101u * (unsigned char)c;
    const uint64_t found = (other - 0x0101010101010101u) & ~other & 0x8080808080808080u;
    return found ? __builtin_ctzll(found) / 8 : 8;
}

/* The exponent behind an 'e': up to 4 digits, with a sign or without. NULL if it is not that. */
static inline const char *text_exponent(const char *p, int *exponent) {
    const bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    uint64_t value = 0;
    const char *end = text_digits(p, &value);
    if (end == p || end - p > 4) return NULL;
    *exponent += negative ? -(int)value : (int)value;
    return end;
}

static inline const char *text_scan(const char *text, text_number *n) {
    const char *p = text;
    *n = (text_number){.text = text, .negative = *p == '-'};
    p += *p == '-' || *p == '+';
    const char *const first = p;
    p = text_digits(p, &n->digits);
    int64_t count = p - first;
    n->integer = true;
    if (*p == '.') {
        const char *const point = p;
        p = text_digits(p + 1, &n->digits);
        n->exponent = (int)(point + 1 - p);
        n->integer = false;
        count += p - point - 1;
    }
    if (count == 0 || count > 19) return NULL;
    if ((*p | 0x20) == 'e') {
        n->integer = false;
        p = text_exponent(p + 1, &n->exponent);
        if (!p) return NULL;
    }
    n->length = (size_t)(p - text);
    return p;
}

static inline double text_double(const text_number *n) {
    double value;
    if (n->digits <= (uint64_t)1 << 53 && n->exponent >= -TEXT_TENS_EXACT &&
        n->exponent <= TEXT_TENS_EXACT && !n->longer && !n->other) {
        value = (double)n->digits;
        value = n->exponent < 0 ? value / text_exact_tens[-n->exponent]
                                : value * text_exact_tens[n->exponent];
        return n->negative ? -value : value;
    }
    const uint64_t bits = text_round(n, BF_F64);
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
