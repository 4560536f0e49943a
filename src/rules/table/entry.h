/* The entries of tables: which keys are one key, in what order they are shown, and what two values
 * of one key come to. */
#ifndef BF_RULES_TABLE_ENTRY_H
#define BF_RULES_TABLE_ENTRY_H

#include "rules/key/order.h"
#include <bitfold/table.h>

/* Bytes of a key or a value; 0 of what is neither. */
BF_RULE int bf_table_bytes(bf_dtype dtype) { return dtype == BF_PAIR ? 16 : bf_dtype_bytes(dtype); }

/* ---- keys: of floats, -0 is +0 and a NaN the default NaN ------------------------------------- */

BF_RULE uint32_t bf_key_of_f32(uint32_t bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc00000u;
    return bits == 0x80000000u ? 0 : bits;
}

BF_RULE uint64_t bf_key_of_f64(uint64_t bits) {
    if ((bits & ~((uint64_t)1 << 63)) > (uint64_t)0x7ff << 52) return (uint64_t)0x7ff8 << 48;
    return bits == (uint64_t)1 << 63 ? 0 : bits;
}

/* Of a key of up to 8 bytes. */
BF_RULE uint64_t bf_key_canonical(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_F32) return bf_key_of_f32((uint32_t)bits);
    return dtype == BF_F64 ? bf_key_of_f64(bits) : bits;
}

/* What canonical keys of up to 8 bytes are ordered by, as an unsigned number of their width; and
 * the key of such a rank. The default NaN comes last. */
BF_RULE uint64_t bf_key_rank(bf_dtype dtype, uint64_t bits) {
    if (dtype == BF_U32 || dtype == BF_U64) return bits;
    int unused = 64 - 8 * bf_dtype_bytes(dtype);
    uint64_t key = (uint64_t)bf_order_key(dtype, bits) << unused;
    return (key ^ (uint64_t)1 << 63) >> unused;
}

BF_RULE uint64_t bf_key_of_rank(bf_dtype dtype, uint64_t rank) {
    if (dtype == BF_U32 || dtype == BF_U64) return rank;
    int bits = 8 * bf_dtype_bytes(dtype);
    return bf_order_bits(dtype, bf_sign_extend(rank ^ (uint64_t)1 << (bits - 1), bits));
}

/* ---- values, of up to 8 bytes ---------------------------------------------------------------- */

/* A value as it is stored: where values are compared a NaN is the default NaN, as in bf_reduce. */
BF_RULE uint64_t bf_value_stored(bf_duplicates duplicates, bf_dtype dtype, uint64_t bits) {
    bool compared = duplicates == BF_DUPLICATES_LEAST || duplicates == BF_DUPLICATES_GREATEST;
    if (!compared || !bf_dtype_is_float(dtype)) return bits;
    bf_format format = bf_format_of(dtype);
    return bf_is_nan(format, bits) ? bf_format_nan(format) : bits;
}

/* The lesser, or the greater, of two stored values. */
BF_RULE uint64_t bf_value_extreme(bool greatest, bf_dtype dtype, uint64_t a, uint64_t b) {
    if (bf_dtype_is_float(dtype)) {
        if (bf_is_nan(bf_format_of(dtype), a)) return a;
        if (bf_is_nan(bf_format_of(dtype), b)) return b;
    }
    bool less = bf_order_key(dtype, a) < bf_order_key(dtype, b);
    return less != greatest ? a : b;
}

/* What the stored values of two entries of one key come to; not for BF_DUPLICATES_KEEP. A sum may
 * have bits beyond the value's width. */
BF_RULE uint64_t bf_value_combined(bf_duplicates duplicates, bf_dtype dtype, uint64_t before,
                                   uint64_t value) {
    switch (duplicates) {
    case BF_DUPLICATES_LAST: return value;
    case BF_DUPLICATES_LEAST: return bf_value_extreme(false, dtype, before, value);
    case BF_DUPLICATES_GREATEST: return bf_value_extreme(true, dtype, before, value);
    case BF_DUPLICATES_ADD: return before + value;
    default: return before;
    }
}

#endif
