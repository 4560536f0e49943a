/* What an exact sum is: how one element, or one pair, enters the words of a state. */
#ifndef BF_RULES_EXACT_H
#define BF_RULES_EXACT_H

#include "state.h"

/* The classes of a term that is not finite; the counter that it adds to, or 0 for a finite one. */
BF_RULE int bf_exact_special(bf_format f, uint64_t x) {
    if (bf_is_nan(f, x)) return BF_EXACT_NAN;
    if (bf_is_inf(f, x)) return x & bf_format_sign(f) ? BF_EXACT_NEG_INF : BF_EXACT_POS_INF;
    return 0;
}

BF_RULE int bf_exact_special_pair(bf_format f, uint64_t a, uint64_t b) {
    uint64_t magnitude = ~bf_format_sign(f);
    if (bf_is_nan(f, a) || bf_is_nan(f, b)) return BF_EXACT_NAN;
    if (!bf_is_inf(f, a) && !bf_is_inf(f, b)) return 0;
    if ((a & magnitude) == 0 || (b & magnitude) == 0) return BF_EXACT_INVALID;
    return (a ^ b) & bf_format_sign(f) ? BF_EXACT_NEG_INF : BF_EXACT_POS_INF;
}

/* Is a finite element, or the product of two finite elements, other than -0? */
BF_RULE bool bf_exact_nonzero(bf_format f, uint64_t x) { return x != bf_format_sign(f); }
BF_RULE bool bf_exact_nonzero_pair(bf_format f, uint64_t a, uint64_t b) {
    uint64_t magnitude = ~bf_format_sign(f);
    bool zero = (a & magnitude) == 0 || (b & magnitude) == 0;
    return !(zero && ((a ^ b) & bf_format_sign(f)));
}

/* The position in the limbs of the last bit of an element whose own is at `position`: f16 and bf16
 * stand in f32's limbs. */
BF_RULE int bf_exact_position(bf_format f, bf_layout layout, int position, int factors) {
    return position + factors * bf_format_least(f) - layout.exponent;
}

/* limbs += x, finite */
BF_RULE void bf_exact_add_float(bf_format f, bf_layout layout, int64_t *limbs, uint64_t x) {
    bf_finite d = bf_decode(f, x);
    bf_limbs_add(limbs, bf_exact_position(f, layout, d.position, 1), d.magnitude, d.negative);
}

/* limbs += a * b, both finite */
BF_RULE void bf_exact_add_float_product(bf_format f, bf_layout layout, int64_t *limbs, uint64_t a,
                                        uint64_t b) {
    bf_finite x = bf_decode(f, a), y = bf_decode(f, b);
    int position = bf_exact_position(f, layout, x.position + y.position, 2);
    bf_limbs_add_product(limbs, position, x.magnitude, y.magnitude, x.negative != y.negative);
}

/* An integer element as sign and magnitude. */
BF_RULE bf_finite bf_decode_integer(bf_dtype dtype, uint64_t x) {
    bf_finite d;
    int64_t value = bf_sign_extend(x, 8 * bf_dtype_bytes(dtype));
    d.negative = bf_dtype_is_signed(dtype) && value < 0;
    d.magnitude = dtype == BF_BOOL             ? x != 0
                  : !bf_dtype_is_signed(dtype) ? x
                  : value < 0                  ? 0 - (uint64_t)value
                                               : (uint64_t)value;
    d.position = 0;
    return d;
}

/* One pair enters a state of KIND_SQUARES (a = b) or KIND_PRODUCTS. */
BF_RULE void bf_exact_take_pair(bf_dtype dtype, const bf_exact_shape *s, int64_t *words, uint64_t a,
                                uint64_t b) {
    int64_t *limbs = words + s->products_at;
    words[BF_EXACT_COUNT]++;
    if (bf_dtype_is_float(dtype)) {
        bf_format f = bf_format_of(dtype);
        int special = bf_exact_special_pair(f, a, b);
        if (special) {
            words[special]++;
            return;
        }
        words[BF_EXACT_NONZERO] |= bf_exact_nonzero_pair(f, a, b);
        bf_exact_add_float_product(f, s->products, limbs, a, b);
    } else {
        bf_finite x = bf_decode_integer(dtype, a), y = bf_decode_integer(dtype, b);
        words[BF_EXACT_NONZERO] = 1;
        bf_limbs_add_product(limbs, 0, x.magnitude, y.magnitude, x.negative != y.negative);
    }
}

/* One element enters a state of KIND_SUM or KIND_MOMENTS. */
BF_RULE void bf_exact_take(bf_dtype dtype, const bf_exact_shape *s, int64_t *words, uint64_t x) {
    words[BF_EXACT_COUNT]++;
    if (bf_dtype_is_float(dtype)) {
        bf_format f = bf_format_of(dtype);
        int special = bf_exact_special(f, x);
        if (special) {
            words[special]++;
            return;
        }
        words[BF_EXACT_NONZERO] |= bf_exact_nonzero(f, x);
        bf_exact_add_float(f, s->sum, words + s->sum_at, x);
        if (s->products.limbs > 0)
            bf_exact_add_float_product(f, s->products, words + s->products_at, x, x);
    } else {
        bf_finite d = bf_decode_integer(dtype, x);
        words[BF_EXACT_NONZERO] = 1;
        bf_limbs_add(words + s->sum_at, 0, d.magnitude, d.negative);
        if (s->products.limbs > 0)
            bf_limbs_add_product(words + s->products_at, 0, d.magnitude, d.magnitude, false);
    }
}

#endif
