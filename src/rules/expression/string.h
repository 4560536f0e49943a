/* Strings in expressions: they are compared by their bytes. */
#ifndef BF_RULES_EXPRESSION_STRING_H
#define BF_RULES_EXPRESSION_STRING_H

#include <stdint.h>
#include <string.h>

/* The order of two strings by their bytes: below 0, 0 or above it. */
static inline int bf_expression_string_order(const char *a, int64_t a_size, const char *b,
                                             int64_t b_size) {
    int order = memcmp(a, b, (size_t)(a_size < b_size ? a_size : b_size));
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

#endif
