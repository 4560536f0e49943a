/* Integer arithmetic: the exact value, then the policy for one that does not fit. */
#ifndef BF_RULES_NUMBER_INTEGER_H
#define BF_RULES_NUMBER_INTEGER_H

#include "rules/number/dtype.h"

/* An exact integer result before it becomes an element. 128 bits hold every result except those of
 * a fused multiply-add of 64-bit numbers. Those saturate to the ends of the 128-bit range, beyond
 * any dtype; their low bits are in `wrapped`. */
typedef struct bf_exact_integer {
    bf_i128 value;
    uint64_t wrapped; /* modulo 2^64 */
} bf_exact_integer;

BF_RULE bf_exact_integer bf_integer_make(bf_i128 value) {
    bf_exact_integer x;
    x.value = value;
    x.wrapped = (uint64_t)value;
    return x;
}

BF_RULE bf_i128 bf_integer_decode(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_BOOL) return bits != 0;
    if (!bf_dtype_is_signed(dtype)) return (bf_i128)bits;
    return bf_sign_extend(bits, 8 * bf_dtype_bytes(dtype));
}

BF_RULE bf_i128 bf_integer_least(bf_dtype dtype) {
    return bf_dtype_is_signed(dtype) ? -((bf_i128)1 << (8 * bf_dtype_bytes(dtype) - 1)) : 0;
}

BF_RULE bf_i128 bf_integer_greatest(bf_dtype dtype) {
    int bits = 8 * bf_dtype_bytes(dtype) - (bf_dtype_is_signed(dtype) ? 1 : 0);
    return dtype == BF_BOOL ? 1 : ((bf_i128)1 << bits) - 1;
}

/* The bits of x in dtype. If x does not fit, sets *misfit and returns the nearest that does
 * (saturate), or x modulo 2^bits. A bool is always the nearest: addition is or. */
BF_RULE uint64_t bf_integer_encode(bf_dtype dtype, bf_exact_integer x, bool saturate,
                                   bool *misfit) {
    bf_i128 least = bf_integer_least(dtype), greatest = bf_integer_greatest(dtype);
    uint64_t mask = ~(uint64_t)0 >> (64 - 8 * bf_dtype_bytes(dtype));
    bf_i128 near = x.value < least ? least : x.value > greatest ? greatest : x.value;
    if (dtype == BF_BOOL) return (uint64_t)near;
    if (near != x.value) *misfit = true;
    return (saturate ? (uint64_t)near : x.wrapped) & mask;
}

/* a * b + c, saturated to the range of an int128. */
BF_RULE bf_exact_integer bf_integer_fma(bf_i128 a, bf_i128 b, bf_i128 c) {
    bf_exact_integer x;
    bf_i128 most = (bf_i128)(~(bf_u128)0 >> 1);
    bf_u128 product = (bf_u128)(a < 0 ? -a : a) * (bf_u128)(b < 0 ? -b : b);
    bool negative = (a < 0) != (b < 0);
    bool beyond = product > (bf_u128)most - ((bf_u128)1 << 65);
    x.wrapped = (uint64_t)a * (uint64_t)b + (uint64_t)c;
    if (beyond)
        x.value = negative ? -most : most;
    else
        x.value = (negative ? -(bf_i128)product : (bf_i128)product) + c;
    return x;
}

#endif
