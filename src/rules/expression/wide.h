/* The operations of expressions on integers of 128 bits. A result has at most 38 digits: as many as
 * a column of text may have. The CPU alone computes them. */
#ifndef BF_RULES_EXPRESSION_WIDE_H
#define BF_RULES_EXPRESSION_WIDE_H

#include "rules/expression/operation.h"

/* 10^38, the first number of 39 digits */
#define BF_EXPRESSION_WIDE_END ((bf_i128)10000000000000000000u * 10000000000000000000u)

typedef struct bf_expression_wide_result {
    bf_i128 value; /* modulo 2^128 */
    int beyond;    /* -1 or 1: the result is beyond -10^38 or 10^38, else 0 */
} bf_expression_wide_result;

BF_RULE bool bf_expression_wide_fits(bf_i128 x) {
    return (bf_u128)x + (bf_u128)(BF_EXPRESSION_WIDE_END - 1) <=
           2 * (bf_u128)(BF_EXPRESSION_WIDE_END - 1);
}

/* What has wrapped around, or not; negative: the sign of the exact result, if it has. */
BF_RULE bf_expression_wide_result bf_expression_wide_check(bf_i128 value, bool wrapped,
                                                           bool negative) {
    bf_expression_wide_result r;
    r.value = value;
    r.beyond = 0;
    if (wrapped || !bf_expression_wide_fits(value))
        r.beyond = (wrapped ? negative : value < 0) ? -1 : 1;
    return r;
}

/* ADD, SUB, MUL, NEG, ABS, MIN, MAX, MOD or CAST of a and b. The divisor of MOD is not 0. */
BF_RULE_INLINE bf_expression_wide_result bf_expression_wide(int op, bf_i128 a, bf_i128 b) {
    bf_i128 r = a;
    bool wrapped;
    switch (op) {
    case BF_MAP_ADD: wrapped = __builtin_add_overflow(a, b, &r); break;
    case BF_MAP_SUB: wrapped = __builtin_sub_overflow(a, b, &r); break;
    case BF_MAP_MUL:
        wrapped = __builtin_mul_overflow(a, b, &r);
        return bf_expression_wide_check(r, wrapped, (a < 0) != (b < 0));
    case BF_MAP_NEG:
        wrapped = __builtin_sub_overflow((bf_i128)0, a, &r);
        return bf_expression_wide_check(r, wrapped, false);
    case BF_MAP_ABS:
        wrapped = a < 0 && __builtin_sub_overflow((bf_i128)0, a, &r);
        return bf_expression_wide_check(r, wrapped, false);
    default: {
        bf_expression_wide_result same;
        if (op == BF_MAP_MIN) r = a < b ? a : b;
        if (op == BF_MAP_MAX) r = a > b ? a : b;
        if (op == BF_EXPRESSION_MOD) r = b == -1 ? 0 : bf_expression_integer_mod(a, b);
        same.value = r;
        same.beyond = 0;
        return same;
    }
    }
    return bf_expression_wide_check(r, wrapped,
                                    a < 0); /* a sum wraps around on the side of its terms */
}

/* Returns what RAISE gives for a and b, where b > 0. */
BF_RULE bf_i128 bf_expression_raise(bf_i128 a, bf_i128 b) {
    const bf_i128 most = (bf_i128)(~(bf_u128)0 >> 1);
    bf_i128 r;
    if (!__builtin_mul_overflow(a, b, &r)) return r;
    return a < 0 ? -most - 1 : most;
}

#endif
