/* Limbs: an exact fixed-point number as int64 words with 32 payload bits each.
 *
 * Its value is the sum of limb[i] * 2^(32 i), in units that the owner defines. An addition touches
 * two or three limbs and does not carry. It adds less than 2^32 to a limb, so up to 2^30 additions
 * (and as many additions of carried numbers, as in a merge) fit before bf_limbs_carry. A carry
 * leaves every limb but the last in [0, 2^32), and the sign in the last: each number has one form.
 *
 * The long accumulator is Kulisch's (1971); carry headroom in int64 words as in Neal, "Fast exact
 * summation using small and large superaccumulators" (2015). */
#ifndef BF_RULES_NUMBER_LIMBS_H
#define BF_RULES_NUMBER_LIMBS_H

#include "rules/number/rule.h"

/* limbs += (negative ? -1 : 1) * magnitude * 2^position. The sum must be in range, and the three
 * limbs from position / 32 on must exist. */
BF_RULE void bf_limbs_add(int64_t *limbs, int position, uint64_t magnitude, bool negative) {
    int64_t *at = limbs + position / 32;
    int shift = position % 32;
    int64_t sign = negative ? -1 : 0; /* (x ^ sign) - sign negates x */
    uint64_t low = magnitude << shift;
    at[0] += ((int64_t)(low & 0xffffffffu) ^ sign) - sign;
    at[1] += ((int64_t)(low >> 32) ^ sign) - sign;
    at[2] += ((int64_t)(magnitude >> 1 >> (63 - shift)) ^ sign) - sign;
}

/* limbs += x * 2^position. */
BF_RULE void bf_limbs_add_signed(int64_t *limbs, int position, int64_t x) {
    bf_limbs_add(limbs, position, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, x < 0);
}

/* limbs += x * 2^position. Below 0, x has as many zeros as it loses. */
BF_RULE void bf_limbs_add_wide(int64_t *limbs, int position, bf_i128 x) {
    const bool negative = x < 0;
    bf_u128 size = negative ? 0 - (bf_u128)x : (bf_u128)x;
    if (x == 0) return; /* its limbs need not exist */
    if (position < 0) {
        size >>= -position;
        position = 0;
    }
    bf_limbs_add(limbs, position, (uint64_t)size, negative);
    if (size >> 64) bf_limbs_add(limbs, position + 64, (uint64_t)(size >> 64), negative);
}

/* limbs += a * b * 2^position, with the sign given apart. */
BF_RULE void bf_limbs_add_product(int64_t *limbs, int position, uint64_t a, uint64_t b,
                                  bool negative) {
    bf_u128 product = (bf_u128)a * b;
    bf_limbs_add(limbs, position, (uint64_t)product, negative);
    if (product >> 64) bf_limbs_add(limbs, position + 64, (uint64_t)(product >> 64), negative);
}

BF_RULE void bf_limbs_carry(int64_t *limbs, int count) {
    int64_t carry = 0;
    for (int i = 0; i < count - 1; i++) {
        int64_t sum = limbs[i] + carry;
        limbs[i] = sum & 0xffffffff;
        carry = sum >> 32;
    }
    limbs[count - 1] += carry;
}

/* Returns whether these are carried limbs, with room for the sum of two such numbers. */
BF_RULE bool bf_limbs_valid(const int64_t *limbs, int count) {
    for (int i = 0; i < count - 1; i++)
        if (limbs[i] < 0 || limbs[i] > 0xffffffff) return false;
    return count == 0 || (limbs[count - 1] >= INT32_MIN && limbs[count - 1] <= INT32_MAX);
}

/* Sets [*first, *end) to the limbs that determine a carried number: those below are 0, and those
 * above repeat the sign of limb *end - 1 as a 32-bit number. The range is empty for 0. */
BF_RULE void bf_limbs_span(const int64_t *limbs, int count, int *first, int *end) {
    uint32_t above = limbs[count - 1] < 0 ? 0xffffffffu : 0;
    int at = count;
    while (at > 1 && (uint32_t)limbs[at - 1] == above &&
           ((uint32_t)limbs[at - 2] ^ above) < 0x80000000u)
        at--;
    if (at == 1 && limbs[0] == 0) at = 0;
    for (*first = 0; *first < at && limbs[*first] == 0;) ++*first;
    *end = at;
}

#endif
