/* Keys: which of them are equal, and in what order they are listed. A rank is a key as an unsigned
 * number in the order of the keys: of 4 bytes (dtypes of up to 4), 8 or 16 bytes in groups. */
#ifndef BF_RULES_KEY_RANK_H
#define BF_RULES_KEY_RANK_H

#include "rules/key/order.h"
#include "rules/number/integer.h"

/* The bytes of a dtype that may be a key or a value; 0 for any other. */
BF_RULE int bf_key_bytes(bf_dtype dtype) { return dtype == BF_PAIR ? 16 : bf_number_bytes(dtype); }

/* ---- a BF_I128 as the pair that orders as it does -------------------------------------------- */

BF_RULE void bf_pair_of_i128(bf_i128 x, uint64_t pair[2]) {
    const bf_u128 place = bf_place_of_i128(x);
    pair[0] = (uint64_t)(place >> 64);
    pair[1] = (uint64_t)place;
}

BF_RULE bf_i128 bf_i128_of_pair(const uint64_t pair[2]) {
    return bf_i128_of_place((bf_u128)pair[0] << 64 | pair[1]);
}

/* ---- keys of tables: 32 and 64 bits, and pairs; -0 is +0, and a NaN is the default NaN ------- */

BF_RULE uint32_t bf_key_of_f32(uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc00000u;
    return bits == 0x80000000u ? 0 : bits;
}

BF_RULE uint64_t bf_key_of_f64(uint64_t bits) {
    if ((bits & ~((uint64_t)1 << 63)) > (uint64_t)0x7ff << 52) return (uint64_t)0x7ff8 << 48;
    return bits == (uint64_t)1 << 63 ? 0 : bits;
}

/* The canonical key that equals a key of up to 8 bytes. */
BF_RULE uint64_t bf_key_canonical(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_F32) return bf_key_of_f32((uint32_t)bits);
    return dtype == BF_F64 ? bf_key_of_f64(bits) : bits;
}

/* The rank of a canonical key of up to 8 bytes, in its width. The default NaN is last. The other
 * returns the key of a rank. */
BF_RULE uint64_t bf_key_rank(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_U32 || dtype == BF_U64) return bits;
    int unused = 64 - 8 * bf_dtype_bytes(dtype);
    uint64_t key = (uint64_t)bf_order_rank(dtype, bits) << unused;
    return (key ^ (uint64_t)1 << 63) >> unused;
}

BF_RULE uint64_t bf_key_of_rank(bf_dtype dtype, uint64_t rank) {
    if (dtype == BF_U32 || dtype == BF_U64) return rank;
    int bits = 8 * bf_dtype_bytes(dtype);
    return bf_order_bits(dtype, bf_sign_extend(rank ^ (uint64_t)1 << (bits - 1), bits));
}

/* ---- keys of groups: every dtype ------------------------------------------------------------- */

/* The bytes of a key's rank; 0 for a dtype that is no key. */
BF_RULE int bf_rank_bytes(bf_dtype dtype) {
    int bytes = bf_key_bytes(dtype);
    return bytes > 0 && bytes < 4 ? 4 : bytes;
}

/* The canonical key: of floats -0 becomes +0 and a NaN the default NaN; a true bool becomes 1. */
BF_RULE uint64_t bf_group_key(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_BOOL) return bits != 0;
    if (!bf_dtype_is_float(dtype)) return bits;
    bf_format f = bf_format_of(dtype);
    if (bf_is_nan(f, bits)) return bf_format_nan(f);
    return bits == bf_format_sign(f) ? 0 : bits;
}

/* The difference between the signed rank (order.h) and the rank, for ranks of 4 or 8 bytes. */
BF_RULE uint64_t bf_rank_offset(bf_dtype dtype) {
    if (!bf_dtype_is_signed(dtype) && !bf_dtype_is_float(dtype) && dtype != BF_U64) return 0;
    return (uint64_t)1 << (8 * bf_rank_bytes(dtype) - 1);
}

/* The rank of a key of up to 8 bytes. The other returns the key of a rank. */
BF_RULE uint64_t bf_group_rank(bf_dtype dtype, uint64_t bits) {
    uint64_t key = (uint64_t)bf_order_rank(dtype, bf_group_key(dtype, bits));
    key ^= bf_rank_offset(dtype);
    return bf_rank_bytes(dtype) == 4 ? (uint32_t)key : key;
}

BF_RULE uint64_t bf_group_of_rank(bf_dtype dtype, uint64_t rank) {
    uint64_t offset = bf_rank_offset(dtype);
    uint64_t key = rank ^ offset;
    return bf_order_bits(dtype, offset == 0 ? (int64_t)key
                                            : bf_sign_extend(key, 8 * bf_rank_bytes(dtype)));
}

/* The number that a key of an integer dtype is. */
BF_RULE bf_i128 bf_group_integer(bf_dtype dtype, const void *key) {
    if (dtype == BF_I128) return bf_load_i128(key);
    return bf_integer_decode(dtype, bf_load_bits(key, bf_dtype_bytes(dtype)));
}

#endif
