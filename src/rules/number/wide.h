/* Big-integer arithmetic that finishes a result: from limbs to a correctly rounded quotient or
 * root. Runs once for each result. */
#ifndef BF_RULES_NUMBER_WIDE_H
#define BF_RULES_NUMBER_WIDE_H

#include "rules/number/format.h"
#include "rules/number/limbs.h"

/* Room for n * (sum of squares) of f64: 134 limbs and a 63-bit factor, plus the bits that a
 * division adds. Joint kinds (rules/reduce/joint.h) also need the cube of that, or the square of
 * n^2 * (sum of cubes). Kernels that finish them define BF_WIDE_JOINT; others save the memory. What
 * finishes pairs with weights (rules/reduce/weighted_pair.h) needs the square of a sum of weights
 * times one of products of three. */
#if defined BF_WIDE_WEIGHTED_PAIR
enum { BF_WIDE_DIGITS = 2 * (68 + 200) + 4 + 20 };
#elif defined __CUDACC__ && !defined BF_WIDE_JOINT
enum { BF_WIDE_DIGITS = 134 + 2 + 10 };
#else
enum { BF_WIDE_DIGITS = 3 * (134 + 2) + 4 + 20 };
#endif

/* A magnitude: sum of digit[i] * 2^(exponent + 32 i), i < length; digit[0] and digit[length-1] are
 * not 0. Zero has length 0. */
typedef struct bf_wide {
    int length;
    int exponent;
    uint32_t digit[BF_WIDE_DIGITS];
} bf_wide;

BF_RULE void bf_wide_trim(bf_wide *x) {
    int zeros = 0;
    while (x->length > 0 && x->digit[x->length - 1] == 0) x->length--;
    while (zeros < x->length && x->digit[zeros] == 0) zeros++;
    if (zeros == 0) return;
    x->length -= zeros;
    x->exponent += 32 * zeros;
    for (int i = 0; i < x->length; i++) x->digit[i] = x->digit[i + zeros];
}

/* Sets x to the magnitude of carried limbs in units of 2^exponent. Returns whether they are
 * negative. */
BF_RULE bool bf_wide_from_limbs(bf_wide *x, const int64_t *limbs, int count, int exponent) {
    bool negative = limbs[count - 1] < 0;
    uint64_t carry = negative ? 1 : 0;
    BF_ROLLED
    for (int i = 0; i < count; i++) {
        uint32_t digit = (uint32_t)limbs[i];
        carry += negative ? (uint32_t)~digit : digit;
        x->digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    x->length = count;
    x->exponent = exponent;
    bf_wide_trim(x);
    return negative;
}

/* Limbs that need not be carried, as the 64-bit words of their magnitude, from the lowest on: there
 * are bf_band_words of them. */
typedef struct bf_carrying {
    const int64_t *limbs;
    int count, next;
    int64_t carry;
    uint64_t flip, one; /* for a negative number: all ones, and what its complement lacks */
} bf_carrying;

BF_RULE int bf_band_words(int limbs) { return limbs / 2 + 1 + limbs % 2; }

/* The next word of the number in two's complement. */
BF_RULE uint64_t bf_carrying_word(bf_carrying *c) {
    if (c->next < c->count) c->carry += c->limbs[c->next];
    uint64_t word = (uint32_t)c->carry;
    c->carry >>= 32;
    if (c->next + 1 < c->count) c->carry += c->limbs[c->next + 1];
    word |= (uint64_t)c->carry << 32;
    c->carry >>= 32;
    c->next += 2;
    return word;
}

/* The next word of its magnitude. */
BF_RULE uint64_t bf_carrying_next(bf_carrying *c) {
    uint64_t word = (bf_carrying_word(c) ^ c->flip) + c->one;
    c->one = c->one != 0 && word == 0;
    return word;
}

BF_RULE bf_carrying bf_carrying_of(const int64_t *limbs, int count, bool *negative) {
    bf_carrying c;
    c.limbs = limbs;
    c.count = count;
    c.next = 0;
    c.carry = 0;
    BF_ROLLED
    while (c.next < count) (void)bf_carrying_word(&c);
    *negative = c.carry < 0;
    c.flip = *negative ? ~(uint64_t)0 : 0;
    c.one = *negative ? 1 : 0;
    c.next = 0;
    c.carry = 0;
    return c;
}

/* bf_wide_from_limbs, of limbs that need not be carried. */
BF_RULE bool bf_wide_from_band(bf_wide *x, const int64_t *limbs, int count, int exponent) {
    bool negative;
    bf_carrying c = bf_carrying_of(limbs, count, &negative);
    x->length = 2 * bf_band_words(count);
    x->exponent = exponent;
    BF_ROLLED
    for (int i = 0; i < x->length; i += 2) {
        uint64_t word = bf_carrying_next(&c);
        x->digit[i] = (uint32_t)word;
        x->digit[i + 1] = (uint32_t)(word >> 32);
    }
    bf_wide_trim(x);
    return negative;
}

/* Takes a number in two's complement, of `count` words, and returns whether it is negative. */
BF_RULE bool bf_wide_from_words(bf_wide *x, const int64_t *words, int count, int exponent) {
    bool negative = count > 0 && words[count - 1] < 0;
    uint64_t flip = negative ? ~(uint64_t)0 : 0, one = negative ? 1 : 0;
    x->length = 2 * count;
    x->exponent = exponent;
    for (int i = 0; i < count; i++) {
        uint64_t word = ((uint64_t)words[i] ^ flip) + one;
        one = one != 0 && word == 0;
        x->digit[2 * i] = (uint32_t)word;
        x->digit[2 * i + 1] = (uint32_t)(word >> 32);
    }
    bf_wide_trim(x);
    return negative;
}

/* x *= n */
BF_RULE void bf_wide_multiply(bf_wide *x, uint64_t n) {
    bf_u128 carry = 0;
    for (int i = 0; i < x->length; i++) {
        carry += (bf_u128)n * x->digit[i];
        x->digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    for (; carry > 0; carry >>= 32) x->digit[x->length++] = (uint32_t)carry;
    bf_wide_trim(x);
}

/* out = x * y, of at most BF_WIDE_DIGITS digits together */
BF_RULE void bf_wide_product(bf_wide *out, const bf_wide *x, const bf_wide *y) {
    out->length = x->length + y->length;
    out->exponent = x->exponent + y->exponent;
    for (int i = 0; i < out->length; i++) out->digit[i] = 0;
    for (int i = 0; i < x->length; i++) {
        uint64_t carry = 0;
        for (int k = 0; k < y->length; k++) {
            carry += (uint64_t)x->digit[i] * y->digit[k] + out->digit[i + k];
            out->digit[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        out->digit[i + y->length] = (uint32_t)carry;
    }
    bf_wide_trim(out);
}

BF_RULE void bf_wide_square(bf_wide *out, const bf_wide *x) { bf_wide_product(out, x, x); }

/* Puts `zeros` zero digits under x: the same value, in finer units. */
BF_RULE void bf_wide_extend(bf_wide *x, int zeros) {
    if (x->length == 0 || zeros <= 0) return;
    for (int i = x->length - 1; i >= 0; i--) x->digit[i + zeros] = x->digit[i];
    for (int i = 0; i < zeros; i++) x->digit[i] = 0;
    x->length += zeros;
    x->exponent -= 32 * zeros;
}

/* x -= y, for x >= y whose exponents differ by a multiple of 32 */
BF_RULE void bf_wide_subtract(bf_wide *x, const bf_wide *y) {
    if (x->length == 0 || y->length == 0) return;
    bf_wide_extend(x, (x->exponent - y->exponent) / 32);
    int64_t borrow = 0;
    int offset = (y->exponent - x->exponent) / 32;
    for (int i = 0; i + offset < x->length; i++) {
        int64_t d = (int64_t)x->digit[i + offset] - (i < y->length ? y->digit[i] : 0) + borrow;
        x->digit[i + offset] = (uint32_t)d;
        borrow = d >> 32;
    }
    bf_wide_trim(x);
}

/* x += y, whose exponents differ by a multiple of 32 */
BF_RULE void bf_wide_add(bf_wide *x, const bf_wide *y) {
    if (y->length == 0) return;
    if (x->length == 0) x->exponent = y->exponent;
    bf_wide_extend(x, (x->exponent - y->exponent) / 32);
    int offset = (y->exponent - x->exponent) / 32;
    uint64_t carry = 0;
    for (int i = x->length; i < y->length + offset; i++) x->digit[i] = 0;
    if (x->length < y->length + offset) x->length = y->length + offset;
    for (int i = 0; i + offset < x->length; i++) {
        carry += (uint64_t)x->digit[i + offset] + (i < y->length ? y->digit[i] : 0);
        x->digit[i + offset] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) x->digit[x->length++] = (uint32_t)carry;
    bf_wide_trim(x);
}

/* x < y, of numbers whose exponents differ by a multiple of 32 */
BF_RULE bool bf_wide_less(const bf_wide *x, const bf_wide *y) {
    int offset = (y->exponent - x->exponent) / 32; /* digit i of y stands at i + offset of x */
    if (x->length == 0 || y->length == 0) return y->length > 0;
    if (x->length != y->length + offset) return x->length < y->length + offset;
    int least = offset < 0 ? offset : 0;
    for (int i = x->length - 1; i >= least; i--) {
        uint32_t of_x = i >= 0 ? x->digit[i] : 0, of_y = i >= offset ? y->digit[i - offset] : 0;
        if (of_x != of_y) return of_x < of_y;
    }
    return false;
}

/* The leading bits of a real number: bits * 2^exponent <= value < (bits + 1) * 2^exponent, equal
 * unless sticky. bits is 0, or its top bit is set (of a root, its top bit or the one below). */
typedef struct bf_leading {
    bf_u128 bits;
    int exponent;
    bool sticky;
} bf_leading;

BF_RULE bf_leading bf_wide_leading(const bf_wide *x) {
    bf_leading r;
    r.bits = 0;
    r.exponent = x->exponent + 32 * (x->length - 4);
    r.sticky = x->length > 5;
    if (x->length == 0) return r;
    for (int i = 1; i <= 4; i++)
        r.bits = r.bits << 32 | (x->length >= i ? x->digit[x->length - i] : 0);
    int shift = 32 - bf_bit_length(x->digit[x->length - 1]);
    uint32_t next = x->length > 4 ? x->digit[x->length - 5] : 0;
    if (shift > 0) r.bits = r.bits << shift | next >> (32 - shift);
    r.exponent -= shift;
    r.sticky |= (uint32_t)(next << shift) != 0;
    return r;
}

/* bf_wide_leading of bf_wide_from_band, in registers: the highest words so far are kept, from one
 * on that is not 0. */
BF_RULE bf_leading bf_leading_from_band(const int64_t *limbs, int count, int exponent,
                                        bool *negative) {
    bf_leading r;
    bf_carrying c = bf_carrying_of(limbs, count, negative);
    uint64_t high = 0, low = 0, rest = 0, below = 0;
    int kept = 0; /* words [0, kept) have been kept, or are in `below` */
    BF_ROLLED
    for (int i = 0; i < bf_band_words(count); i++) {
        uint64_t word = bf_carrying_next(&c);
        if (word == 0) continue;
        for (; kept <= i; kept++) {
            below |= rest;
            rest = low;
            low = high;
            high = 0;
        }
        high = word;
    }
    int shift = high != 0 ? 64 - bf_bit_length(high) : 0;
    r.bits = ((bf_u128)high << 64 | low) << shift | rest >> 1 >> (63 - shift);
    r.exponent = exponent + 64 * (kept - 2) - shift;
    r.sticky = below != 0 || rest << shift != 0;
    return r;
}

/* Takes the leading bits of a number in two's complement, of `count` words. */
BF_RULE bf_leading bf_leading_from_words(const int64_t *words, int count, int exponent,
                                         bool *negative) {
    bf_leading r;
    uint64_t high = 0, low = 0, rest = 0, flip, last;
    int lowest = 0, top;
    *negative = count > 0 && words[count - 1] < 0;
    while (lowest < count && words[lowest] == 0) lowest++;
    r.bits = 0;
    r.exponent = exponent;
    r.sticky = false;
    if (lowest == count) return r;
    /* The magnitude of a negative number: below its lowest word that is not 0, the same; that word
     * negated; above, complements. */
    flip = *negative ? ~(uint64_t)0 : 0;
    last = ((uint64_t)words[lowest] ^ flip) - flip;
    for (top = count - 1; top > lowest && (uint64_t)words[top] == flip; top--) continue;
    high = top == lowest ? last : (uint64_t)words[top] ^ flip;
    if (top > lowest) low = top - 1 == lowest ? last : (uint64_t)words[top - 1] ^ flip;
    if (top > lowest + 1) rest = top - 2 == lowest ? last : (uint64_t)words[top - 2] ^ flip;
    int shift = 64 - bf_bit_length(high);
    r.bits = ((bf_u128)high << 64 | low) << shift | rest >> 1 >> (63 - shift);
    r.exponent = exponent + 64 * (top - 1) - shift;
    r.sticky = rest << shift != 0 || top > lowest + 2;
    return r;
}

BF_RULE int bf_bit_length128(bf_u128 x) {
    int high = bf_bit_length((uint64_t)(x >> 64));
    return high > 0 ? 64 + high : bf_bit_length((uint64_t)x);
}

/* x / divisor in place, cut off towards zero, but not trimmed. Returns whether anything was cut
 * off. */
BF_RULE bool bf_wide_divide_whole(bf_wide *x, uint64_t divisor) {
    uint64_t rest = 0;
    for (int i = x->length - 1; i >= 0; i--) {
        bf_u128 part = (bf_u128)rest << 32 | x->digit[i];
        x->digit[i] = (uint32_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    return rest != 0;
}

/* Does the same by a divisor of more than 64 bits, below 2^126: restoring division, bit by bit. */
BF_RULE bool bf_wide_divide_bits(bf_wide *x, bf_u128 divisor) {
    bf_u128 rest = 0;
    for (int i = x->length - 1; i >= 0; i--) {
        uint32_t quotient = 0;
        BF_ROLLED
        for (int b = 31; b >= 0; b--) {
            rest = rest << 1 | (x->digit[i] >> b & 1);
            bool one = rest >= divisor;
            if (one) rest -= divisor;
            quotient = quotient << 1 | (one ? 1 : 0);
        }
        x->digit[i] = quotient;
    }
    return rest != 0;
}

/* Whether dividing 128 bits by one word takes less time than bit by bit: so it does on CPUs. On
 * GPUs it is not measured. */
#ifdef __CUDA_ARCH__
#define BF_WIDE_BY_DIGITS 0
#else
#define BF_WIDE_BY_DIGITS 1
#endif

/* x / divisor, for x > 0 and 0 < divisor < 2^126. */
BF_RULE bf_leading bf_wide_divide(bf_wide *x, bf_u128 divisor) {
    int bits = 32 * (x->length - 1) + bf_bit_length(x->digit[x->length - 1]);
    int more = bf_bit_length128(divisor) + 128 - bits; /* for 128 bits of quotient */
    bf_wide_extend(x, more > 0 ? (more + 31) / 32 : 0);
    bool rest = BF_WIDE_BY_DIGITS && divisor >> 64 == 0 ? bf_wide_divide_whole(x, (uint64_t)divisor)
                                                        : bf_wide_divide_bits(x, divisor);
    bf_wide_trim(x);
    bf_leading r = bf_wide_leading(x);
    r.sticky |= rest;
    return r;
}

/* to = x * 2^shift, for 0 <= shift < 32, with a digit more, which may be 0. */
BF_RULE void bf_wide_shift(bf_wide *to, const bf_wide *x, int shift) {
    uint64_t carry = 0;
    for (int i = 0; i < x->length; i++) {
        carry |= (uint64_t)x->digit[i] << shift;
        to->digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    to->digit[x->length] = (uint32_t)carry;
    to->length = x->length + 1;
}

/* The whole part of x / y, which is one digit, and x becomes the rest. x has a digit more than y,
 * whose top bit is set. (Knuth, "The Art of Computer Programming", 4.3.1, algorithm D.) */
BF_RULE uint32_t bf_wide_next_digit(uint32_t *x, const uint32_t *y, int length) {
    const uint64_t above = (uint64_t)x[length] << 32 | x[length - 1], top = y[length - 1];
    const uint64_t below = length > 1 ? x[length - 2] : 0, second = length > 1 ? y[length - 2] : 0;
    uint64_t q = above / top, rest = above % top, carry = 0;
    while (rest >> 32 == 0 && (q >> 32 != 0 || q * second > (rest << 32 | below))) {
        q--;
        rest += top;
    }
    int64_t borrow = 0;
    for (int i = 0; i < length; i++) {
        carry += q * y[i];
        borrow += (int64_t)x[i] - (int64_t)(uint32_t)carry;
        x[i] = (uint32_t)borrow;
        borrow >>= 32;
        carry >>= 32;
    }
    borrow += (int64_t)x[length] - (int64_t)carry;
    x[length] = (uint32_t)borrow;
    if (borrow >= 0) return (uint32_t)q;
    carry = 0; /* q is one too large */
    for (int i = 0; i < length; i++) {
        carry += (uint64_t)x[i] + y[i];
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
    x[length] += (uint32_t)carry;
    return (uint32_t)q - 1;
}

/* x / y, for x > 0 and y > 0 of at most BF_WIDE_DIGITS - 6 digits each. Spoils x; room is room. */
BF_RULE bf_leading bf_wide_ratio(bf_wide *x, const bf_wide *y, bf_wide *room) {
    enum { QUOTIENT = 6 }; /* digits that are enough: the first may be 0 */
    const int length = y->length, shift = 32 - bf_bit_length(y->digit[length - 1]);
    bool left = false;
    bf_wide_extend(x, length + QUOTIENT - 1 - x->length);
    bf_wide_shift(room, y, shift);
    bf_wide_shift(x, x, shift);
    const int last = x->length - length - QUOTIENT;
    /* A digit of the quotient takes the place of the digit of x that has become 0. */
    for (int i = last + QUOTIENT - 1; i >= last; i--)
        x->digit[i + length] = bf_wide_next_digit(x->digit + i, room->digit, length);
    for (int i = 0; i < last + length; i++) left = left || x->digit[i] != 0;
    for (int i = 0; i < QUOTIENT; i++) x->digit[i] = x->digit[last + length + i];
    x->length = QUOTIENT;
    x->exponent += 32 * last - y->exponent;
    bf_wide_trim(x);
    bf_leading r = bf_wide_leading(x);
    r.sticky |= left;
    return r;
}

/* x / 10^scale in place, cut off behind more than 254 bits, so that bf_wide_divide goes on without
 * a digit below them. Returns whether anything was cut off. */
BF_RULE bool bf_wide_unscale(bf_wide *x, int scale) {
    bool rest = false;
    if (x->length == 0) return false;
    x->exponent -= scale;
    while (scale > 0) {
        bf_wide_extend(x, (256 + 3 * scale) / 32 + 2 - x->length); /* a step may trim it */
        int step = scale < 27 ? scale : 27;                        /* 5^27 fits 64 bits */
        uint64_t power = 1;
        for (int i = 0; i < step; i++) power *= 5;
        rest |= bf_wide_divide_whole(x, power);
        scale -= step;
    }
    bf_wide_trim(x); /* now: the next step needs the zero digits of one without a rest */
    return rest;
}

/* x / divisor, with at least 64 bits left. The part below the 128 bits of x is less than one unit,
 * and cannot increase the whole part of the quotient. */
BF_RULE bf_leading bf_leading_divide(bf_leading x, uint64_t divisor) {
    bf_leading r;
    r.bits = x.bits / divisor;
    r.sticky = x.sticky || r.bits * divisor != x.bits;
    int shift = 128 - bf_bit_length128(r.bits);
    r.bits <<= shift;
    r.exponent = x.exponent - shift;
    return r;
}

/* x / divisor with 128 bits, which a root needs: those of the root are then right. If x is sticky,
 * the last bit of the quotient may be one too small. */
BF_RULE bf_leading bf_leading_divide_long(bf_leading x, uint64_t divisor) {
    bf_leading r = bf_leading_divide(x, divisor);
    const int shift = x.exponent - r.exponent;
    const bf_u128 rest = (x.bits % divisor) << shift;
    r.bits |= rest / divisor;
    r.sticky = x.sticky || rest % divisor != 0;
    return r;
}

/* floor(sqrt(x)), for x of at least 2^126. A double guesses it to 2^-52, Newton's step to a unit or
 * two, and the remainder, exact, says how many. */
BF_RULE uint64_t bf_root128(bf_u128 x) {
    double guess = BF_SQRT((double)(uint64_t)(x >> 64)) * 0x1p32;
    uint64_t root = guess < 0x1p64 ? (uint64_t)guess : ~(uint64_t)0;
    int64_t rest = (int64_t)((bf_i128)(x - (bf_u128)root * root) >> 20);
    int64_t step = (int64_t)((double)rest * 0x1p19 / guess);
    root += (uint64_t)(step > 0 ? step - 1 : step);
    while ((bf_u128)root * root > x) root--;
    while (x - (bf_u128)root * root > 2 * (bf_u128)root) root++;
    return root;
}

/* The square root: 64 bits, in the upper half of `bits`. */
BF_RULE bf_leading bf_leading_root(bf_leading x) {
    bf_leading r;
    if (x.exponent & 1) {
        x.sticky |= (x.bits & 1) != 0;
        x.bits >>= 1;
        x.exponent++;
    }
    uint64_t root = bf_root128(x.bits);
    r.bits = (bf_u128)root << 64;
    r.exponent = x.exponent / 2 - 64;
    r.sticky = x.sticky || (bf_u128)root * root != x.bits;
    return r;
}

/* Rounds x once to format f. */
BF_RULE uint64_t bf_leading_round(bf_format f, bool negative, bf_leading x) {
    bool sticky = x.sticky || (uint64_t)x.bits != 0;
    return bf_encode(f, negative, (uint64_t)(x.bits >> 64), x.exponent + 64, sticky);
}

#endif
