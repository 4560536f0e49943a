/* Exact sums: their words, how one element or one pair enters them, how they merge and are taken
 * out again. */
#ifndef BF_RULES_REDUCE_SUM_H
#define BF_RULES_REDUCE_SUM_H

#include "rules/reduce/parts.h"

/* Words of the exact kinds. Each is a sum over the terms: states merge by adding words, and
 * are taken out again by subtracting them. A carry then gives limbs their one form. */
enum {
    BF_SUM_COUNT,   /* elements, or pairs */
    BF_SUM_NAN,     /* how many x are NaN, or pairs with a NaN: they count nowhere below */
    BF_SUM_POS_INF, /* x (of KIND_SQUARES x^2, of KIND_DOT and KIND_WEIGHTED a*b) that are +inf; of
                       KIND_COMOMENTS pairs with an infinity */
    BF_SUM_NEG_INF,
    BF_SUM_INVALID,  /* infinity times zero; of KIND_WEIGHTED also infinite weights */
    BF_SUM_NEG_ZERO, /* x or a*b that are -0; always 0 where bf_sum_counts_zeros says no */
    BF_SUM_LIMBS     /* then the limbs of each part: rules/reduce/parts.h */
};

enum {
    BF_SUM_WORDS_MAX = BF_SUM_LIMBS + 68 + 134, /* a sum, squares, both, or a dot product */
    BF_PARTS_WORDS_MAX = BF_SUM_LIMBS + BF_PARTS_LIMBS_MOST /* any exact kind */
};

BF_RULE bf_parts bf_parts_of(bf_kind kind, bf_dtype dtype) {
    return bf_parts_after(kind, dtype, BF_SUM_LIMBS);
}

/* The parts of the kinds that keep two at most, by name: where the limbs of x (sum) and of x^2 or
 * a*b (products) start, and how many; 0 where the kind keeps none. */
typedef struct bf_sum_shape {
    bf_layout sum, products;
    int sum_at, products_at, words;
} bf_sum_shape;

BF_RULE bf_sum_shape bf_sum_shape_of(bf_kind kind, bf_dtype dtype) {
    bf_sum_shape s;
    s.sum = bf_layout_sum(dtype);
    s.products = bf_layout_products(dtype);
    if (kind == BF_KIND_SQUARES || kind == BF_KIND_DOT) s.sum.limbs = 0;
    if (kind == BF_KIND_SUM) s.products.limbs = 0;
    s.sum_at = BF_SUM_LIMBS;
    s.products_at = s.sum_at + s.sum.limbs;
    s.words = s.products_at + s.products.limbs;
    if (bf_kind_is_joint(kind)) {
        s.sum.limbs = s.products.limbs = 0;
        s.words = bf_parts_of(kind, dtype).words;
    }
    return s;
}

/* A sum or a dot product of floats that are all -0 is -0. Squares and variances never are, and the
 * sum of a description is known to be by its extremes. */
BF_RULE bool bf_sum_counts_zeros(bf_kind kind, bf_dtype dtype) {
    return bf_dtype_is_float(dtype) && (kind == BF_KIND_SUM || kind == BF_KIND_DOT);
}

/* Brings exact words to their one form. */
BF_RULE void bf_sum_carry(bf_kind kind, bf_dtype dtype, int64_t *words) {
    bf_parts p = bf_parts_of(kind, dtype);
    for (int i = 0; i < p.count; i++) bf_limbs_carry(words + p.part[i].at, p.part[i].layout.limbs);
}

/* into and from are carried; so is the result. */
BF_RULE void bf_sum_merge(bf_kind kind, bf_dtype dtype, int64_t *into, const int64_t *from) {
    int count = bf_sum_shape_of(kind, dtype).words;
    for (int i = 0; i < count; i++) into[i] += from[i];
    bf_sum_carry(kind, dtype, into);
}

/* Terms that are in the limbs, or are -0. */
BF_RULE int64_t bf_sum_finite(const int64_t *words) {
    return words[BF_SUM_COUNT] - words[BF_SUM_NAN] - words[BF_SUM_POS_INF] - words[BF_SUM_NEG_INF] -
           words[BF_SUM_INVALID];
}

/* --- one element, one pair --- */

/* The classes of a term that is not finite; the counter that it adds to, or 0 for a finite one. */
BF_RULE int bf_sum_special(bf_format f, uint64_t x) {
    if (bf_is_nan(f, x)) return BF_SUM_NAN;
    if (bf_is_inf(f, x)) return x & bf_format_sign(f) ? BF_SUM_NEG_INF : BF_SUM_POS_INF;
    return 0;
}

BF_RULE int bf_sum_special_pair(bf_format f, uint64_t a, uint64_t b) {
    uint64_t magnitude = ~bf_format_sign(f);
    if (bf_is_nan(f, a) || bf_is_nan(f, b)) return BF_SUM_NAN;
    if (!bf_is_inf(f, a) && !bf_is_inf(f, b)) return 0;
    if ((a & magnitude) == 0 || (b & magnitude) == 0) return BF_SUM_INVALID;
    return (a ^ b) & bf_format_sign(f) ? BF_SUM_NEG_INF : BF_SUM_POS_INF;
}

/* Is an element, or the product of two finite elements, -0? */
BF_RULE bool bf_sum_neg_zero(bf_format f, uint64_t x) { return x == bf_format_sign(f); }
BF_RULE bool bf_sum_neg_zero_pair(bf_format f, uint64_t a, uint64_t b) {
    uint64_t magnitude = ~bf_format_sign(f);
    bool zero = (a & magnitude) == 0 || (b & magnitude) == 0;
    return zero && ((a ^ b) & bf_format_sign(f)) != 0;
}

/* The position in the limbs of the last bit of an element whose own is at `position`: f16 and bf16
 * stand in f32's limbs. */
BF_RULE int bf_sum_position(bf_format f, bf_layout layout, int position, int factors) {
    return position + factors * bf_format_least(f) - layout.exponent;
}

/* limbs += x, finite */
BF_RULE void bf_sum_add_float(bf_format f, bf_layout layout, int64_t *limbs, uint64_t x) {
    bf_finite d = bf_decode(f, x);
    bf_limbs_add(limbs, bf_sum_position(f, layout, d.position, 1), d.magnitude, d.negative);
}

/* limbs += a * b, both finite */
BF_RULE void bf_sum_add_float_product(bf_format f, bf_layout layout, int64_t *limbs, uint64_t a,
                                      uint64_t b) {
    bf_finite x = bf_decode(f, a), y = bf_decode(f, b);
    int position = bf_sum_position(f, layout, x.position + y.position, 2);
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

/* One pair enters a state of KIND_SQUARES (a = b) or KIND_DOT. */
BF_RULE void bf_sum_take_pair(bf_dtype dtype, const bf_sum_shape *s, int64_t *words, uint64_t a,
                              uint64_t b) {
    int64_t *limbs = words + s->products_at;
    words[BF_SUM_COUNT]++;
    if (bf_dtype_is_float(dtype)) {
        bf_format f = bf_format_of(dtype);
        int special = bf_sum_special_pair(f, a, b);
        if (special) {
            words[special]++;
            return;
        }
        words[BF_SUM_NEG_ZERO] += bf_sum_neg_zero_pair(f, a, b);
        bf_sum_add_float_product(f, s->products, limbs, a, b);
    } else {
        bf_finite x = bf_decode_integer(dtype, a), y = bf_decode_integer(dtype, b);
        bf_limbs_add_product(limbs, 0, x.magnitude, y.magnitude, x.negative != y.negative);
    }
}

/* One element enters a state of KIND_SUM or KIND_MOMENTS. */
BF_RULE void bf_sum_take(bf_dtype dtype, const bf_sum_shape *s, int64_t *words, uint64_t x) {
    words[BF_SUM_COUNT]++;
    if (bf_dtype_is_float(dtype)) {
        bf_format f = bf_format_of(dtype);
        int special = bf_sum_special(f, x);
        if (special) {
            words[special]++;
            return;
        }
        bf_sum_add_float(f, s->sum, words + s->sum_at, x);
        if (s->products.limbs > 0)
            bf_sum_add_float_product(f, s->products, words + s->products_at, x, x);
        else
            words[BF_SUM_NEG_ZERO] += bf_sum_neg_zero(f, x);
    } else {
        bf_finite d = bf_decode_integer(dtype, x);
        bf_limbs_add(words + s->sum_at, 0, d.magnitude, d.negative);
        if (s->products.limbs > 0)
            bf_limbs_add_product(words + s->products_at, 0, d.magnitude, d.magnitude, false);
    }
}

/* Limbs += x, and limbs += x * y: integers of 128 bits are a high half with a sign, and a low one
 * without. The bits of a product of halves lie at `position`. */
BF_RULE void bf_sum_add_i128(int64_t *limbs, bf_i128 x) {
    bf_limbs_add(limbs, 0, (uint64_t)x, false);
    bf_limbs_add_signed(limbs, 64, (int64_t)(x >> 64));
}

BF_RULE void bf_sum_add_i128_product(int64_t *limbs, bf_i128 x, bf_i128 y) {
    uint64_t low[2] = {(uint64_t)x, (uint64_t)y}, high[2];
    bool negative[2] = {x < 0, y < 0};
    high[0] = negative[0] ? 0 - (uint64_t)(x >> 64) : (uint64_t)(x >> 64);
    high[1] = negative[1] ? 0 - (uint64_t)(y >> 64) : (uint64_t)(y >> 64);
    bf_limbs_add_product(limbs, 0, low[0], low[1], false);
    bf_limbs_add_product(limbs, 64, high[0], low[1], negative[0]);
    bf_limbs_add_product(limbs, 64, low[0], high[1], negative[1]);
    bf_limbs_add_product(limbs, 128, high[0], high[1], negative[0] != negative[1]);
}

/* One element of BF_I128 enters a state of KIND_SUM or KIND_MOMENTS; one pair one of KIND_SQUARES
 * (x = y) or KIND_DOT. */
BF_RULE void bf_sum_take_i128(const bf_sum_shape *s, int64_t *words, bf_i128 x, bf_i128 y) {
    words[BF_SUM_COUNT]++;
    if (s->sum.limbs > 0) bf_sum_add_i128(words + s->sum_at, x);
    if (s->products.limbs > 0) bf_sum_add_i128_product(words + s->products_at, x, y);
}

/* --- joint kinds --- */

/* A product of elements: sum of word[i] * 2^(64 i), i < length, times 2^position. */
typedef struct bf_term {
    bool negative;
    int length, position;
    uint64_t word[2 * BF_FACTORS_MOST + 1];
} bf_term;

BF_RULE bf_term bf_term_one(void) {
    bf_term t;
    t.negative = false;
    t.length = 1;
    t.position = 0;
    t.word[0] = 1;
    return t;
}

BF_RULE void bf_term_multiply(bf_term *t, bf_u128 magnitude) {
    const uint64_t half[2] = {(uint64_t)magnitude, (uint64_t)(magnitude >> 64)};
    const int length = half[1] != 0 ? 2 : 1;
    uint64_t product[2 * BF_FACTORS_MOST + 1];
    for (int i = 0; i < t->length + length; i++) product[i] = 0;
    for (int k = 0; k < length; k++) {
        bf_u128 carry = 0;
        for (int i = 0; i < t->length; i++) {
            carry += (bf_u128)t->word[i] * half[k] + product[i + k];
            product[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
        product[t->length + k] = (uint64_t)carry;
    }
    t->length += length;
    while (t->length > 1 && product[t->length - 1] == 0) t->length--;
    for (int i = 0; i < t->length; i++) t->word[i] = product[i];
}

/* An element as a factor: magnitude * 2^position. */
typedef struct bf_factor {
    bool negative;
    int position; /* floats': against the exponent of their layout */
    bf_u128 magnitude;
} bf_factor;

BF_RULE bf_factor bf_factor_of(bf_dtype dtype, bf_i128 x) {
    bf_factor f;
    f.position = 0;
    if (dtype == BF_I128) {
        f.negative = x < 0;
        f.magnitude = x < 0 ? 0 - (bf_u128)x : (bf_u128)x;
        return f;
    }
    bf_finite d;
    if (bf_dtype_is_float(dtype)) {
        bf_format format = bf_format_of(dtype);
        d = bf_decode(format, (uint64_t)x);
        f.position = bf_sum_position(format, bf_layout_sum(dtype), d.position, 1);
    } else {
        d = bf_decode_integer(dtype, (uint64_t)x);
    }
    f.negative = d.negative;
    f.magnitude = d.magnitude;
    return f;
}

/* a^i * b^j, as the part says. */
BF_RULE bf_term bf_part_term(const bf_part *part, bf_factor a, bf_factor b) {
    bf_term t = bf_term_one();
    for (int i = 0; i < part->a + part->b; i++) {
        const bf_factor f = i < part->a ? a : b;
        bf_term_multiply(&t, f.magnitude);
        t.position += f.position;
        t.negative = t.negative != f.negative;
    }
    return t;
}

/* limbs += a^i * b^j */
BF_RULE void bf_part_add(const bf_part *part, int64_t *limbs, bf_factor a, bf_factor b) {
    const bf_term t = bf_part_term(part, a, b);
    for (int i = 0; i < t.length; i++)
        bf_limbs_add(limbs, t.position + 64 * i, t.word[i], t.negative);
}

/* The counter of a pair that is not finite, or 0. */
BF_RULE int bf_sum_special_joint(bf_kind kind, bf_format f, uint64_t a, uint64_t b) {
    if (kind == BF_KIND_POWERS) return bf_sum_special(f, a);
    if (bf_is_nan(f, a) || bf_is_nan(f, b)) return BF_SUM_NAN;
    if (!bf_is_inf(f, a) && !bf_is_inf(f, b)) return 0;
    if (kind == BF_KIND_COMOMENTS) return BF_SUM_POS_INF;
    return bf_is_inf(f, b) ? BF_SUM_INVALID : bf_sum_special_pair(f, a, b);
}

/* Does a pair with this counter have a weight, which counts? That of an infinite element does. */
BF_RULE bool bf_sum_keeps_weight(bf_kind kind, int special) {
    return kind == BF_KIND_WEIGHTED && (special == BF_SUM_POS_INF || special == BF_SUM_NEG_INF);
}

/* One element or pair enters a state of a joint kind: the bits of each, of BF_I128 the value. */
BF_RULE void bf_sum_take_joint(bf_kind kind, bf_dtype dtype, const bf_parts *p, int64_t *words,
                               bf_i128 a, bf_i128 b) {
    words[BF_SUM_COUNT]++;
    if (bf_dtype_is_float(dtype)) {
        const int special =
            bf_sum_special_joint(kind, bf_format_of(dtype), (uint64_t)a, (uint64_t)b);
        if (special) {
            words[special]++;
            if (!bf_sum_keeps_weight(kind, special)) return;
            a = 0;
        }
    }
    const bf_factor x = bf_factor_of(dtype, a), y = bf_factor_of(dtype, b);
    for (int i = 0; i < p->count; i++) bf_part_add(&p->part[i], words + p->part[i].at, x, y);
}

/* --- words from outside --- */

/* The largest magnitude that `terms` products of so many finite elements can sum to, or not much
 * more, as limbs of the layout. */
BF_RULE void bf_layout_bound(bf_dtype dtype, bf_layout layout, int factors, int64_t terms,
                             int64_t *bound) {
    for (int i = 0; i < layout.limbs; i++) bound[i] = 0;
    if (dtype == BF_I128) {
        bf_limbs_add(bound, 127 * factors, (uint64_t)terms, false);
        return;
    }
    uint64_t largest = ~(uint64_t)0 >> (64 - 8 * bf_dtype_bytes(dtype));
    int position = 0;
    if (bf_dtype_is_float(dtype)) {
        bf_format f = bf_format_of(dtype);
        largest = ((uint64_t)2 << f.fraction) - 1;
        position = factors * ((1 << f.exponent) - 3 + bf_format_least(f)) - layout.exponent;
    } else if (dtype == BF_BOOL) {
        largest = 1;
    } else if (bf_dtype_is_signed(dtype)) {
        largest = largest / 2 + 1;
    }
    if (factors > 2) { /* a power of two above them */
        bf_limbs_add(bound, position + factors * bf_bit_length(largest), (uint64_t)terms, false);
        return;
    }
    bf_u128 term = factors == 2 ? (bf_u128)largest * largest : largest;
    bf_limbs_add_product(bound, position, (uint64_t)term, (uint64_t)terms, false);
    bf_limbs_add_product(bound, position + 64, (uint64_t)(term >> 64), (uint64_t)terms, false);
}

/* Are these limbs as carried, and can so many terms sum to them? */
BF_RULE bool bf_layout_valid(bf_dtype dtype, bf_layout layout, int factors, int64_t terms,
                             const int64_t *limbs) {
    int64_t bound[BF_LIMBS_MOST], above[BF_LIMBS_MOST], below[BF_LIMBS_MOST];
    if (layout.limbs == 0) return true;
    if (!bf_limbs_valid(limbs, layout.limbs)) return false;
    bf_layout_bound(dtype, layout, factors, terms, bound);
    for (int i = 0; i < layout.limbs; i++) {
        above[i] = bound[i] - limbs[i];
        below[i] = bound[i] + limbs[i];
    }
    bf_limbs_carry(above, layout.limbs);
    bf_limbs_carry(below, layout.limbs);
    return above[layout.limbs - 1] >= 0 && below[layout.limbs - 1] >= 0;
}

/* The checks of words that come from outside: every word is one that a state can hold. They are
 * closed under merging: limbs that pass never outgrow their layout. */
BF_RULE bool bf_sum_valid(bf_kind kind, bf_dtype dtype, const int64_t *words) {
    const bf_parts p = bf_parts_of(kind, dtype);
    int64_t rest = words[BF_SUM_COUNT], zeros = words[BF_SUM_NEG_ZERO];
    for (int i = BF_SUM_NAN; i <= BF_SUM_INVALID; i++) {
        if (words[i] < 0 || words[i] > rest) return false;
        rest -= words[i];
    }
    bool is_float = bf_dtype_is_float(dtype);
    if (!is_float && rest != words[BF_SUM_COUNT]) return false;
    if (zeros < 0 || zeros > (bf_sum_counts_zeros(kind, dtype) ? rest : 0)) return false;
    if (kind != BF_KIND_DOT && kind != BF_KIND_WEIGHTED && words[BF_SUM_INVALID] > 0) return false;
    if ((kind == BF_KIND_SQUARES || kind == BF_KIND_COMOMENTS) && words[BF_SUM_NEG_INF] > 0)
        return false;
    if (kind == BF_KIND_WEIGHTED) rest += words[BF_SUM_POS_INF] + words[BF_SUM_NEG_INF];
    for (int i = 0; i < p.count; i++) {
        const bf_part *part = &p.part[i];
        const int64_t *limbs = words + part->at;
        const bool squares = part->a % 2 == 0 && part->b % 2 == 0;
        if (squares && limbs[part->layout.limbs - 1] < 0) return false;
        if (!bf_layout_valid(dtype, part->layout, part->a + part->b, rest - zeros, limbs))
            return false;
    }
    return true;
}

#endif
