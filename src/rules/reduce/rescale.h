/* Integers in a finer unit: what a state of them holds, times a power of ten. */
#ifndef BF_RULES_REDUCE_RESCALE_H
#define BF_RULES_REDUCE_RESCALE_H

#include "rules/number/integer.h"
#include "rules/number/scale.h"
#include "rules/reduce/state.h"

/* Limbs *= 10^digits; false if they have no room. They are carried; so is the result. */
BF_RULE bool bf_limbs_rescale(int64_t *limbs, int count, int digits) {
    for (; digits > 0 && count > 0; digits--) {
        for (int i = 0; i < count; i++) limbs[i] *= 10;
        bf_limbs_carry(limbs, count);
        if (!bf_limbs_valid(limbs, count)) return false;
    }
    return true;
}

/* The rank of a minimum or maximum, of op's kind, times 10^digits; false if the dtype does not hold
 * it. */
BF_RULE bool bf_extreme_rescale(bool greatest, bf_dtype dtype, int64_t *words, int digits) {
    int64_t flip = greatest ? -1 : 0;
    if (words[BF_EXTREME_INDEX] < 0) return true;
    bf_i128 value = bf_integer_decode(dtype, bf_order_bits(dtype, words[BF_EXTREME_RANK] ^ flip));
    value *= (bf_i128)bf_power_of_ten(digits);
    if (value < bf_integer_least(dtype) || value > bf_integer_greatest(dtype)) return false;
    words[BF_EXTREME_RANK] = bf_order_rank(dtype, (uint64_t)value) ^ flip;
    return true;
}

/* The words of a state of integers, in a unit of 10^-digits of what it was: 0 <= digits <= 18.
 * False if they have no room or no such state is possible; then they are spoilt. Not for products.
 */
BF_RULE bool bf_state_rescale_words(bf_reduction op, bf_dtype dtype, int64_t *words, int digits) {
    bf_kind kind = bf_kind_of(op, dtype);
    int64_t *extreme = words + bf_extreme_at(kind, dtype);
    bool good = true;
    if (kind == BF_KIND_EXTREME)
        return bf_extreme_rescale(bf_is_greatest(op), dtype, words, digits);
    if (kind == BF_KIND_DESCRIPTION) {
        good = bf_extreme_rescale(false, dtype, extreme, digits) &&
               bf_extreme_rescale(true, dtype, extreme + BF_EXTREME_WORDS, digits);
        kind = BF_KIND_MOMENTS;
    }
    bf_sum_shape s = bf_sum_shape_of(kind, dtype);
    return good && bf_limbs_rescale(words + s.sum_at, s.sum.limbs, digits) &&
           bf_limbs_rescale(words + s.products_at, s.products.limbs, 2 * digits) &&
           bf_state_valid(op, dtype, words);
}

#endif
