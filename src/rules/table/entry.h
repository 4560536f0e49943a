/* The entries of tables: the value of a key that several rows have. rules/key/rank.h says which
 * keys are equal. */
#ifndef BF_RULES_TABLE_ENTRY_H
#define BF_RULES_TABLE_ENTRY_H

#include "rules/key/rank.h"
#include <bitfold/table.h>

/* A value of up to 8 bytes in the form in which it is stored. If values are compared, a NaN becomes
 * the default NaN, as in bf_reduce. */
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
    bool less = bf_order_rank(dtype, a) < bf_order_rank(dtype, b);
    return less != greatest ? a : b;
}

/* The stored value of two entries of one key together; not for BF_DUPLICATES_KEEP. A sum may have
 * bits beyond the value's width. */
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
