/* The dtypes: sizes, classes, formats. */
#ifndef BF_RULES_NUMBER_DTYPE_H
#define BF_RULES_NUMBER_DTYPE_H

#include "rules/number/format.h"
#include <bitfold/types.h>

/* The most elements that one call or state may have. */
#define BF_COUNT_MAX ((int64_t)1 << 62)

BF_RULE bool bf_dtype_is_float(bf_dtype dtype) { return dtype >= BF_F16 && dtype <= BF_F64; }
BF_RULE bool bf_dtype_is_half(bf_dtype dtype) { return dtype == BF_F16 || dtype == BF_BF16; }
BF_RULE bool bf_dtype_is_signed(bf_dtype dtype) { return dtype >= BF_I8 && dtype <= BF_I64; }

/* The format of a float dtype. */
BF_RULE bf_format bf_format_of(bf_dtype dtype) {
    switch (dtype) {
    case BF_F16: return bf_format_f16();
    case BF_BF16: return bf_format_bf16();
    case BF_F32: return bf_format_f32();
    default: return bf_format_f64();
    }
}

BF_RULE int bf_dtype_bytes(bf_dtype dtype) {
    switch (dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return bytes;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return 0;
    }
}

/* The bytes of an element, which may be a BF_I128. Few calls take those: the others ask
 * bf_dtype_bytes. */
BF_RULE int bf_number_bytes(bf_dtype dtype) {
    return dtype == BF_I128 ? 16 : bf_dtype_bytes(dtype);
}

/* The most elements that an array or an object has. */
#define BF_COUNT_MAX ((int64_t)1 << 62)

#endif
