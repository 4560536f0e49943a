/* Element-wise operations: one element of the result, from the bits of its inputs. NaN results are
 * the canonical quiet NaN. */
#ifndef BF_RULES_MAP_MAP_H
#define BF_RULES_MAP_MAP_H

#include "rules/key/order.h"
#include "rules/map/dtype.h"
#include "rules/number/cast.h"

/* --- order --- */

BF_RULE bool bf_map_unordered(bf_dtype dtype, uint64_t a, uint64_t b) {
    if (!bf_dtype_is_float(dtype)) return false;
    return bf_is_nan(bf_format_of(dtype), a) || bf_is_nan(bf_format_of(dtype), b);
}

/* Whether a comparison holds of two that are in this order: below 0, 0 or above it, as the first is
 * less than the second, equal to it or greater. */
BF_RULE bool bf_map_holds(int op, int order) {
    switch (op) {
    case BF_MAP_EQ: return order == 0;
    case BF_MAP_NE: return order != 0;
    case BF_MAP_LT: return order < 0;
    case BF_MAP_LE: return order <= 0;
    case BF_MAP_GT: return order > 0;
    default: return order >= 0;
    }
}

BF_RULE bool bf_map_compare(bf_map_op op, bf_dtype dtype, uint64_t a, uint64_t b) {
    if (bf_map_unordered(dtype, a, b)) return op == BF_MAP_NE;
    bool zeros = bf_dtype_is_float(dtype) && bf_float_is_zero(bf_format_of(dtype), a | b);
    int64_t x = zeros ? 0 : bf_order_rank(dtype, a), y = zeros ? 0 : bf_order_rank(dtype, b);
    return bf_map_holds((int)op, (x > y) - (x < y));
}

/* Compares integers of any dtypes by value. */
BF_RULE bool bf_map_compare_integers(int op, bf_i128 x, bf_i128 y) {
    return bf_map_holds(op, (x > y) - (x < y));
}

/* The lesser of a and b for BF_MAP_MIN, else the greater; -0 is below 0. */
BF_RULE uint64_t bf_map_extreme(bf_map_op op, bf_dtype dtype, uint64_t a, uint64_t b) {
    if (bf_map_unordered(dtype, a, b)) return bf_format_nan(bf_format_of(dtype));
    int64_t x = bf_order_rank(dtype, a), y = bf_order_rank(dtype, b);
    return bf_order_bits(dtype, (op == BF_MAP_MIN ? x < y : x > y) ? x : y);
}

/* --- arithmetic --- */

BF_RULE uint64_t bf_map_float(bf_map_op op, bf_format f, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t sign = bf_format_sign(f);
    switch (op) {
    case BF_MAP_ADD: return bf_float_add(f, a, b);
    case BF_MAP_SUB: return bf_float_add(f, a, b ^ sign);
    case BF_MAP_MUL: return bf_float_mul(f, a, b);
    case BF_MAP_DIV: return bf_float_div(f, a, b);
    case BF_MAP_FMA: return bf_float_fma(f, a, b, c);
    case BF_MAP_SQRT: return bf_float_sqrt(f, a);
    case BF_MAP_NEG: return bf_is_nan(f, a) ? bf_format_nan(f) : a ^ sign;
    default: return bf_is_nan(f, a) ? bf_format_nan(f) : a & ~sign; /* abs */
    }
}

BF_RULE bf_exact_integer bf_map_integer(bf_map_op op, bf_i128 a, bf_i128 b, bf_i128 c) {
    switch (op) {
    case BF_MAP_ADD: return bf_integer_make(a + b);
    case BF_MAP_SUB: return bf_integer_make(a - b);
    case BF_MAP_MUL: return bf_integer_fma(a, b, 0);
    case BF_MAP_FMA: return bf_integer_fma(a, b, c);
    case BF_MAP_NEG: return bf_integer_make(-a);
    default: return bf_integer_make(a < 0 ? -a : a); /* abs */
    }
}

/* Any operation but cast, on elements of dtype. Comparisons return 0 or 1. Sets *misfit if an
 * integer does not fit dtype; the result is then the nearest that does, or wraps. */
BF_RULE uint64_t bf_map_element(bf_map_op op, bf_dtype dtype, uint64_t a, uint64_t b, uint64_t c,
                                bool saturate, bool *misfit) {
    if (bf_map_is_comparison(op)) return bf_map_compare(op, dtype, a, b);
    if (op == BF_MAP_MIN || op == BF_MAP_MAX) return bf_map_extreme(op, dtype, a, b);
    if (bf_dtype_is_float(dtype)) return bf_map_float(op, bf_format_of(dtype), a, b, c);
    return bf_integer_encode(dtype,
                             bf_map_integer(op, bf_integer_decode(dtype, a),
                                            bf_integer_decode(dtype, b),
                                            bf_integer_decode(dtype, c)),
                             saturate, misfit);
}

#endif
