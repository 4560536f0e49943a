/* Strings in expressions: their order by bytes, and their characters by UTF-8. */
#ifndef BF_RULES_EXPRESSION_STRING_H
#define BF_RULES_EXPRESSION_STRING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The order of two strings by their bytes: below 0, 0 or above it. */
static inline int bf_expression_string_order(const char *a, int64_t a_size, const char *b,
                                             int64_t b_size) {
    int order = memcmp(a, b, (size_t)(a_size < b_size ? a_size : b_size));
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static inline bool bf_expression_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Only letters of ASCII change. */
static inline char bf_expression_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline char bf_expression_upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* The bytes of the character that begins a string of UTF-8, which is not empty. A byte that belongs
 * to none is one by itself. */
static inline int64_t bf_expression_character(const char *at, const char *end) {
    const unsigned char first = (unsigned char)*at;
    if (first < 0xc2 || first > 0xf4) return 1;
    const int bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (end - at < bytes) return 1;
    for (int i = 1; i < bytes; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80) return 1;
    const unsigned char second = (unsigned char)at[1];
    const bool low = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool high = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return low || high ? 1 : bytes;
}

#endif
