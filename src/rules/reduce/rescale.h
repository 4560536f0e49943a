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
    if (words[BF_EXTREME_INDEX] < 0) return true;
    bf_i128 most = (bf_i128)(~(bf_u128)0 >> 1), least = -most - 1, power = bf_power_of_ten(digits);
    bf_i128 value = bf_extreme_integer(greatest, dtype, words);
    if (dtype != BF_I128) {
        most = bf_integer_greatest(dtype);
        least = bf_integer_least(dtype);
    }
    if (value < least / power || value > most / power) return false;
    bf_extreme_set_integer(greatest, dtype, words, value * power);
    return true;
}

/* The words of a state of integers, in a unit of 10^-digits of what it was: 0 <= digits <= 38.
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
               bf_extreme_rescale(true, dtype, extreme + bf_extreme_words(dtype), digits);
        kind = BF_KIND_MOMENTS;
    }
    const bf_parts p = bf_parts_of(kind, dtype);
    for (int i = 0; i < p.count && good; i++) {
        const bf_part *part = &p.part[i];
        good = bf_limbs_rescale(words + part->at, part->layout.limbs, (part->a + part->b) * digits);
    }
    return good && bf_state_valid(op, dtype, words);
}

/* Limbs into more of them. They are carried; so is the result. */
BF_RULE void bf_limbs_widen(const int64_t *from, int count, int64_t *to, int room) {
    if (count == 0) return;
    for (int i = 0; i < room; i++) to[i] = i < count ? from[i] : 0;
    bf_limbs_carry(to, room);
}

BF_RULE void bf_extreme_widen(bool greatest, bf_dtype dtype, const int64_t *from, int64_t *to) {
    bf_extreme_init_of(BF_I128, to);
    for (int i = 0; i < BF_EXTREME_WORDS; i++)
        if (i != BF_EXTREME_RANK) to[i] = from[i];
    if (from[BF_EXTREME_INDEX] >= 0)
        bf_extreme_set_integer(greatest, BF_I128, to, bf_extreme_integer(greatest, dtype, from));
}

/* The words of a state of integers of at most 64 bits, as those of a state of BF_I128. Not for
 * products. */
BF_RULE void bf_state_widen_words(bf_reduction op, bf_dtype dtype, const int64_t *from,
                                  int64_t *to) {
    bf_kind kind = bf_kind_of(op, dtype);
    const int64_t *least = from + bf_extreme_at(kind, dtype);
    int64_t *wide = to + bf_extreme_at(kind, BF_I128);
    if (kind == BF_KIND_EXTREME) {
        bf_extreme_widen(bf_is_greatest(op), dtype, from, to);
        return;
    }
    if (kind == BF_KIND_DESCRIPTION) {
        bf_extreme_widen(false, dtype, least, wide);
        bf_extreme_widen(true, dtype, least + bf_extreme_words(dtype),
                         wide + bf_extreme_words(BF_I128));
        kind = BF_KIND_MOMENTS;
    }
    const bf_parts p = bf_parts_of(kind, dtype), w = bf_parts_of(kind, BF_I128);
    for (int i = 0; i < BF_SUM_LIMBS; i++) to[i] = from[i];
    for (int i = 0; i < p.count; i++)
        bf_limbs_widen(from + p.part[i].at, p.part[i].layout.limbs, to + w.part[i].at,
                       w.part[i].layout.limbs);
}

#endif
