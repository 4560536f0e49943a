/* The dtype of an element-wise result: NumPy 2's promotion (NEP 50), except that i64 with u64 is
 * refused instead of becoming f64. docs/numerics.md has the table. */
#ifndef BF_RULES_MAP_DTYPE_H
#define BF_RULES_MAP_DTYPE_H

#include "rules/number/dtype.h"

BF_RULE bool bf_dtype_is_integer(bf_dtype dtype) { return dtype >= BF_I8 && dtype <= BF_U64; }

/* The float that holds every value of an integer, as NumPy sees it: f64 for 32 and 64 bits. */
BF_RULE bf_dtype bf_map_float_of(bf_dtype dtype) {
    if (bf_dtype_is_float(dtype)) return dtype;
    return bf_dtype_bytes(dtype) == 1 ? BF_F16 : bf_dtype_bytes(dtype) == 2 ? BF_F32 : BF_F64;
}

/* bf16 with 8-bit integers is bf16, as with f16: both hold all of them. */
BF_RULE bf_dtype bf_map_promote_floats(bf_dtype a, bf_dtype b) {
    bool brain = a == BF_BF16 || b == BF_BF16;
    bf_dtype other = a == BF_BF16 ? b : a;
    if (brain && bf_dtype_bytes(other) == 1) return BF_BF16;
    a = bf_map_float_of(a);
    b = bf_map_float_of(b);
    if (a == b) return a;
    if (bf_dtype_bytes(a) == bf_dtype_bytes(b)) return BF_F32; /* f16 with bf16 */
    return bf_dtype_bytes(a) > bf_dtype_bytes(b) ? a : b;
}

BF_RULE bf_dtype bf_map_signed_of(int bytes) {
    return bytes == 1 ? BF_I8 : bytes == 2 ? BF_I16 : bytes == 4 ? BF_I32 : BF_I64;
}

/* The common dtype of a and b; BF_NONE for i64 with u64. */
BF_RULE bf_dtype bf_map_promote(bf_dtype a, bf_dtype b) {
    if (a == b || b == BF_BOOL) return a;
    if (a == BF_BOOL) return b;
    if (bf_dtype_is_float(a) || bf_dtype_is_float(b)) return bf_map_promote_floats(a, b);
    int m = bf_dtype_bytes(a), n = bf_dtype_bytes(b);
    if (bf_dtype_is_signed(a) == bf_dtype_is_signed(b)) return m > n ? a : b;
    int plain = bf_dtype_is_signed(a) ? n : m, sign = bf_dtype_is_signed(a) ? m : n;
    if (plain < sign) return bf_map_signed_of(sign);
    if (plain < 8) return bf_map_signed_of(2 * plain);
    return sign == 8 ? BF_NONE : BF_F64;
}

/* The common dtype of an array and a plain number (an int: BF_I64 or BF_U64, a float: BF_F64). The
 * number takes the array's dtype unless it is of a higher kind. */
BF_RULE bf_dtype bf_map_promote_weak(bf_dtype array, bf_dtype number) {
    if (array == BF_NONE) return number;
    if (bf_dtype_is_float(array)) return array;
    if (bf_dtype_is_float(number)) return BF_F64;
    return array == BF_BOOL ? number : array;
}

BF_RULE bool bf_map_is_comparison(bf_map_op op) { return op >= BF_MAP_EQ && op <= BF_MAP_GE; }

/* The dtype in which an operation on inputs of a common dtype computes; BF_NONE if bools have no
 * such operation. */
BF_RULE bf_dtype bf_map_work_dtype(bf_map_op op, bf_dtype common) {
    if (common == BF_BOOL && (op == BF_MAP_SUB || op == BF_MAP_NEG)) return BF_NONE;
    if (op == BF_MAP_DIV && !bf_dtype_is_float(common)) return BF_F64;
    return op == BF_MAP_SQRT ? bf_map_float_of(common) : common;
}

#endif
