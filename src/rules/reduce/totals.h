/* Results straight from the totals of windows (sum_window.h), without limbs: the same bits as
 * finish.h makes of the words of a state that holds these terms. All terms are finite; whether a
 * sum of zero is that of nothing but -0 is the caller's to say. */
#ifndef BF_RULES_REDUCE_TOTALS_H
#define BF_RULES_REDUCE_TOTALS_H

#include "rules/number/wide.h"
#include "rules/reduce/sum_window.h"

/* The exact sum of the terms: total l, `pitch` after the one before, is in units of level l. */
typedef struct bf_totals {
    const int64_t *at;
    int64_t pitch;
    int levels;
    int bottom; /* the exponent of the first level */
} bf_totals;

enum { BF_TOTALS_WORDS = 9 }; /* they compute exactly in 576 bits */

/* A magnitude of BF_TOTALS_WORDS words, the lowest first, times 2^exponent. */
typedef struct bf_magnitude {
    uint64_t word[BF_TOTALS_WORDS];
    int exponent;
    bool negative;
} bf_magnitude;

/* The weight of the last bit of totals. */
BF_RULE int bf_totals_exponent(const bf_totals *t) {
    return bf_window_bottom(t->bottom, t->levels - 1);
}

/* The leading bits of an int128 in units of 2^exponent. */
BF_RULE bf_leading bf_leading_of_i128(bf_i128 x, int exponent, bool *negative) {
    bf_leading r;
    *negative = x < 0;
    bf_u128 magnitude = x < 0 ? 0 - (bf_u128)x : (bf_u128)x;
    int shift = magnitude == 0 ? 0 : 128 - bf_bit_length128(magnitude);
    r.bits = magnitude << shift;
    r.exponent = exponent - shift;
    r.sticky = false;
    return r;
}

BF_RULE void bf_magnitude_shift(bf_magnitude *x, int bits) {
    int words = bits / 64, rest = bits % 64;
    for (int i = BF_TOTALS_WORDS - 1; i >= 0; i--) {
        uint64_t high = i >= words ? x->word[i - words] : 0;
        uint64_t low = i > words ? x->word[i - words - 1] : 0;
        x->word[i] = rest == 0 ? high : high << rest | low >> (64 - rest);
    }
    x->exponent -= bits;
}

BF_RULE void bf_magnitude_negate(uint64_t *word) {
    bool one = true;
    for (int i = 0; i < BF_TOTALS_WORDS; i++) {
        word[i] = ~word[i] + (one ? 1 : 0);
        one = one && word[i] == 0;
    }
}

BF_RULE void bf_magnitude_of_totals(bf_magnitude *x, const bf_totals *t) {
    for (int i = 0; i < BF_TOTALS_WORDS; i++) x->word[i] = 0;
    x->exponent = t->bottom;
    for (int l = 0; l < t->levels; l++) {
        int64_t total = t->at[l * t->pitch];
        bf_u128 sum = 0;
        if (l > 0) bf_magnitude_shift(x, BF_WINDOW_BITS + 1);
        for (int i = 0; i < BF_TOTALS_WORDS; i++) {
            sum += (bf_u128)x->word[i] + (i == 0 ? (uint64_t)total : (uint64_t)(total >> 63));
            x->word[i] = (uint64_t)sum;
            sum >>= 64;
        }
    }
    x->negative = (int64_t)x->word[BF_TOTALS_WORDS - 1] < 0;
    if (x->negative) bf_magnitude_negate(x->word);
}

BF_RULE bf_leading bf_leading_of_magnitude(const bf_magnitude *x) {
    bf_leading r;
    int top = BF_TOTALS_WORDS - 1;
    while (top > 0 && x->word[top] == 0) top--;
    uint64_t high = x->word[top], low = top > 0 ? x->word[top - 1] : 0;
    uint64_t rest = top > 1 ? x->word[top - 2] : 0, below = 0;
    for (int i = 0; i < top - 2; i++) below |= x->word[i];
    int shift = high != 0 ? 64 - bf_bit_length(high) : 0;
    r.bits = ((bf_u128)high << 64 | low) << shift | rest >> 1 >> (63 - shift);
    r.exponent = x->exponent + 64 * (top - 1) - shift;
    r.sticky = below != 0 || rest << shift != 0;
    return r;
}

/* Finds those of x and `below`, which is in units 2^(BF_WINDOW_BITS+1) times as small. */
BF_RULE bf_leading bf_leading_of_parts(bf_i128 x, int64_t below, int exponent, bool *negative) {
    const int bits = BF_WINDOW_BITS + 1;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t low = (uint64_t)below & mask;
    bool positive;
    x += below >> bits;
    *negative = x < 0;
    if (*negative) {
        x = ~x + (low == 0 ? 1 : 0);
        low = (0 - low) & mask;
    }
    if (x == 0) return bf_leading_of_i128((bf_i128)low, exponent - bits, &positive);
    bf_leading r = bf_leading_of_i128(x, exponent, &positive);
    const int shift = exponent - r.exponent;
    r.bits |= shift >= bits ? (bf_u128)low << (shift - bits) : low >> (bits - shift);
    r.sticky = shift < bits && (low & (mask >> shift)) != 0;
    return r;
}

BF_RULE bf_leading bf_totals_leading(const bf_totals *t, bool *negative) {
    if (t->levels <= 3) {
        bf_i128 x = t->at[0];
        if (t->levels > 1) x = x * ((bf_i128)1 << (BF_WINDOW_BITS + 1)) + t->at[t->pitch];
        if (t->levels == 3)
            return bf_leading_of_parts(x, t->at[2 * t->pitch], bf_window_bottom(t->bottom, 1),
                                       negative);
        return bf_leading_of_i128(x, bf_totals_exponent(t), negative);
    }
    bf_magnitude x;
    bf_magnitude_of_totals(&x, t);
    *negative = x.negative;
    return bf_leading_of_magnitude(&x);
}

/* The sum divided by `divisor`, or its root, rounded once. *zero: the sum is 0; the bits are those
 * of +0. */
BF_RULE uint64_t bf_totals_round(const bf_totals *t, uint64_t divisor, bool root, bf_format f,
                                 bool *zero) {
    bool negative;
    bf_leading x = bf_totals_leading(t, &negative);
    *zero = x.bits == 0;
    if (*zero) return 0;
    if (divisor != 1) x = bf_leading_divide(x, divisor);
    return bf_leading_round(f, negative, root ? bf_leading_root(x) : x);
}

/* x = n * x */
BF_RULE void bf_magnitude_multiply(bf_magnitude *x, uint64_t n) {
    bf_u128 carry = 0;
    for (int i = 0; i < BF_TOTALS_WORDS; i++) {
        carry += (bf_u128)n * x->word[i];
        x->word[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

/* out = x * x */
BF_RULE void bf_magnitude_square(bf_magnitude *out, const bf_magnitude *x) {
    for (int i = 0; i < BF_TOTALS_WORDS; i++) out->word[i] = 0;
    for (int i = 0; i < BF_TOTALS_WORDS; i++) {
        bf_u128 carry = 0;
        if (x->word[i] == 0) continue;
        for (int k = 0; i + k < BF_TOTALS_WORDS; k++) {
            carry += (bf_u128)x->word[i] * x->word[k] + out->word[i + k];
            out->word[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
    }
    out->exponent = 2 * x->exponent;
    out->negative = false;
}

/* x = x - y, where y is no greater. */
BF_RULE void bf_magnitude_subtract(bf_magnitude *x, const bf_magnitude *y) {
    bool borrow = false;
    for (int i = 0; i < BF_TOTALS_WORDS; i++) {
        uint64_t a = x->word[i], b = y->word[i];
        x->word[i] = a - b - (borrow ? 1 : 0);
        borrow = a < b || (borrow && a == b);
    }
}

/* Can variances be made of these totals in a bf_magnitude? Each total has 64 bits, and so have n
 * and n - ddof. */
BF_RULE bool bf_totals_can_spread(const bf_totals *sum, const bf_totals *squares) {
    int sum_bits = 64 + (sum->levels - 1) * (BF_WINDOW_BITS + 1);
    int square_bits = 128 + (squares->levels - 1) * (BF_WINDOW_BITS + 1);
    int apart = 2 * bf_totals_exponent(sum) - bf_totals_exponent(squares);
    if (apart > 0)
        sum_bits += (apart + 1) / 2;
    else
        square_bits -= apart;
    return 2 * sum_bits < 64 * BF_TOTALS_WORDS && square_bits < 64 * BF_TOTALS_WORDS;
}

/* n * sum x^2 - (sum x)^2 in 128 bits; false: it may not fit. */
BF_RULE bool bf_totals_small_spread(const bf_totals *sum, const bf_totals *squares, int64_t n,
                                    bf_leading *spread) {
    bool negative;
    if (sum->levels > 1 || squares->levels > 2) return false;
    int64_t total = sum->at[0];
    uint64_t size = total < 0 ? 0 - (uint64_t)total : (uint64_t)total;
    bf_i128 square = (bf_i128)squares->at[0];
    if (squares->levels == 2)
        square = square * ((bf_i128)1 << (BF_WINDOW_BITS + 1)) + squares->at[squares->pitch];
    int apart = 2 * bf_totals_exponent(sum) - bf_totals_exponent(squares);
    int up = apart > 0 ? apart : 0, down = apart < 0 ? -apart : 0;
    if (2 * bf_bit_length(size) + up > 126) return false;
    if (bf_bit_length128((bf_u128)square) + bf_bit_length((uint64_t)n) + down > 126) return false;
    bf_i128 rest = ((square * n) << down) - ((bf_i128)((bf_u128)size * size) << up);
    *spread = bf_leading_of_i128(
        rest, apart > 0 ? bf_totals_exponent(squares) : 2 * bf_totals_exponent(sum), &negative);
    return true;
}

/* Finds the spread of any totals that bf_totals_can_spread. */
BF_RULE bf_leading bf_totals_large_spread(const bf_totals *sum, const bf_totals *squares,
                                          int64_t n) {
    bf_magnitude s, square, x;
    bf_magnitude_of_totals(&s, sum);
    bf_magnitude_square(&square, &s);
    bf_magnitude_of_totals(&x, squares);
    bf_magnitude_multiply(&x, (uint64_t)n);
    if (x.exponent > square.exponent)
        bf_magnitude_shift(&x, x.exponent - square.exponent);
    else
        bf_magnitude_shift(&square, square.exponent - x.exponent);
    bf_magnitude_subtract(&x, &square);
    return bf_leading_of_magnitude(&x);
}

/* spread / (n * (n - ddof)), or its square root, of ddof < n < 2^31 terms. */
BF_RULE uint64_t bf_spread_round(bf_leading spread, int64_t n, int ddof, bool root, bf_format f) {
    if (spread.bits == 0) return 0;
    uint64_t divisor = (uint64_t)n * (uint64_t)(n - ddof);
    const int twos = bf_bit_length(divisor & (0 - divisor)) - 1;
    divisor >>= twos;
    spread.exponent -= twos;
    if (divisor > 1)
        spread =
            root ? bf_leading_divide_long(spread, divisor) : bf_leading_divide(spread, divisor);
    return bf_leading_round(f, false, root ? bf_leading_root(spread) : spread);
}

/* The variance (n * sum x^2 - (sum x)^2) / (n * (n - ddof)), or its square root. */
BF_RULE uint64_t bf_totals_spread(const bf_totals *sum, const bf_totals *squares, int64_t n,
                                  int ddof, bool root, bf_format f) {
    bf_leading q;
    if (!bf_totals_small_spread(sum, squares, n, &q)) q = bf_totals_large_spread(sum, squares, n);
    return bf_spread_round(q, n, ddof, root, f);
}

#endif
