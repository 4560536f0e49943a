/* The order of min, max, argmin and argmax. Every value other than NaN has a signed rank, an
 * int64, and the minimum is the value with the least rank. As in IEEE 754-2019, -0 is below +0. A
 * maximum is the minimum of complemented ranks. */
#ifndef BF_RULES_KEY_ORDER_H
#define BF_RULES_KEY_ORDER_H

#include "rules/number/dtype.h"

/* Reverses the order of the negative numbers, so that IEEE bits order as integers; its own inverse.
 */
BF_RULE int64_t bf_order_flip(int64_t x, int bits) {
    return x < 0 ? x ^ (int64_t)(~(uint64_t)0 >> (65 - bits)) : x;
}

/* Returns the signed rank of an element that is not NaN, from its bits; and the bits from the rank.
 */
BF_RULE int64_t bf_order_rank(bf_dtype dtype, uint64_t element) {
    int bits = 8 * bf_dtype_bytes(dtype);
    if (dtype == BF_BOOL) return element != 0;
    if (dtype == BF_U64) return (int64_t)(element ^ (uint64_t)1 << 63);
    if (bf_dtype_is_float(dtype)) return bf_order_flip(bf_sign_extend(element, bits), bits);
    return bf_dtype_is_signed(dtype) ? bf_sign_extend(element, bits) : (int64_t)element;
}

BF_RULE uint64_t bf_order_bits(bf_dtype dtype, int64_t rank) {
    int bits = 8 * bf_dtype_bytes(dtype);
    if (dtype == BF_U64) return (uint64_t)rank ^ (uint64_t)1 << 63;
    if (bf_dtype_is_float(dtype)) rank = bf_order_flip(rank, bits);
    return (uint64_t)rank & (~(uint64_t)0 >> (64 - bits));
}

/* The order of sorting is that of all values: NaNs, whatever their bits, are equal, and equal
 * values stay in the order of their positions. Descending is the reverse, so NaNs are first, unless
 * they are left for last. */
typedef enum bf_order { BF_ASCENDING, BF_DESCENDING, BF_DESCENDING_NAN_LAST } bf_order;

/* Returns the place of an element in that order: an unsigned number of the dtype's width. */
BF_RULE uint64_t bf_order_place(bf_dtype dtype, bf_order order, uint64_t element) {
    const int bits = 8 * bf_dtype_bytes(dtype);
    const uint64_t last = ~(uint64_t)0 >> (64 - bits);
    bool is_float = bf_dtype_is_float(dtype);
    if (is_float && bf_is_nan(bf_format_of(dtype), element))
        return order == BF_DESCENDING ? 0 : last;
    uint64_t place = (uint64_t)bf_order_rank(dtype, element);
    if (is_float || bf_dtype_is_signed(dtype) || dtype == BF_U64)
        place ^= (uint64_t)1 << (bits - 1);
    return (order == BF_ASCENDING ? place : ~place) & last;
}

/* Returns the element at a place that no NaN has. */
BF_RULE uint64_t bf_order_element(bf_dtype dtype, bf_order order, uint64_t place) {
    const int bits = 8 * bf_dtype_bytes(dtype);
    if (order != BF_ASCENDING) place = ~place;
    bool is_float = bf_dtype_is_float(dtype);
    if (is_float || bf_dtype_is_signed(dtype) || dtype == BF_U64)
        place ^= (uint64_t)1 << (bits - 1);
    return bf_order_bits(dtype, bf_sign_extend(place, bits));
}

/* The place of a BF_I128, in ascending order. The other returns the number at a place. */
BF_RULE bf_u128 bf_place_of_i128(bf_i128 x) { return (bf_u128)x ^ (bf_u128)1 << 127; }
BF_RULE bf_i128 bf_i128_of_place(bf_u128 place) { return (bf_i128)(place ^ (bf_u128)1 << 127); }

/* Returns whether an element of dtype can have this rank. */
BF_RULE bool bf_order_valid(bf_dtype dtype, int64_t rank) {
    uint64_t bits = bf_order_bits(dtype, rank);
    if (bf_dtype_is_float(dtype) && bf_is_nan(bf_format_of(dtype), bits)) return false;
    return bf_order_rank(dtype, bits) == rank;
}

#endif
