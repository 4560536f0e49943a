/* The sums that an exact state keeps: each is over a^i * b^j, and has limbs of its own. A new kind
 * of exact state is a row of bf_kind_part. */
#ifndef BF_RULES_REDUCE_PARTS_H
#define BF_RULES_REDUCE_PARTS_H

#include "rules/number/limbs.h"
#include "rules/reduce/kind.h"

/* Limbs of a sum of terms: how many, and the weight of the first one's last bit, 2^exponent. Room
 * for 2^62 terms of the largest size. */
typedef struct bf_layout {
    int limbs;
    int exponent;
} bf_layout;

BF_RULE bf_layout bf_layout_make(int limbs, int exponent) {
    bf_layout layout;
    layout.limbs = limbs;
    layout.exponent = exponent;
    return layout;
}

/* The layout of terms that are the product of so many elements. 16-bit floats sum as the f32 that
 * they equal. */
BF_RULE bf_layout bf_layout_of(bf_dtype dtype, int factors) {
    if (dtype == BF_F64) return bf_layout_make(66 * factors + 2, -1074 * factors);
    if (dtype == BF_I128) return bf_layout_make(4 * factors + 2, 0);
    return bf_dtype_is_float(dtype) ? bf_layout_make(9 * factors + 2, -149 * factors)
                                    : bf_layout_make(2 * factors + 2, 0);
}

BF_RULE bf_layout bf_layout_sum(bf_dtype dtype) { return bf_layout_of(dtype, 1); }
BF_RULE bf_layout bf_layout_products(bf_dtype dtype) { return bf_layout_of(dtype, 2); }

/* The exponents of a and of b in the terms of a sum, and where its limbs are among the words. */
typedef struct bf_part {
    int a, b;
    bf_layout layout;
    int at;
} bf_part;

enum {
    BF_PARTS_MOST = 5,
    BF_FACTORS_MOST = 4,
    BF_LIMBS_MOST = 66 * BF_FACTORS_MOST + 2,
    BF_PARTS_LIMBS_MOST = 66 * (1 + 2 + 3 + 4) + 2 * 4 /* POWERS have the most */
};

typedef struct bf_parts {
    int count, words; /* parts, and the words of a state */
    bf_part part[BF_PARTS_MOST];
} bf_parts;

/* Part number i of an exact kind, as 16 * a + b; 0: there is none. */
BF_RULE int bf_kind_part(bf_kind kind, int i) {
    switch (kind) {
    case BF_KIND_SUM: return i == 0 ? 0x10 : 0;
    case BF_KIND_SQUARES: return i == 0 ? 0x20 : 0;
    case BF_KIND_MOMENTS: return i < 2 ? 0x10 * (i + 1) : 0;
    case BF_KIND_DOT: return i == 0 ? 0x11 : 0;
    case BF_KIND_POWERS: return i < 4 ? 0x10 * (i + 1) : 0;
    case BF_KIND_COMOMENTS:
        return i == 0 ? 0x10 : i == 1 ? 0x01 : i == 2 ? 0x20 : i == 3 ? 0x11 : i == 4 ? 0x02 : 0;
    case BF_KIND_TRIPLE: return i == 0 ? 0x21 : 0; /* one a is c */
    case BF_KIND_WEIGHTED: return i == 0 ? 0x01 : i == 1 ? 0x02 : i == 2 ? 0x11 : i == 3 ? 0x21 : 0;
    default: return 0;
    }
}

/* Does the result of op, of a joint kind, need the sum of a^i * b^j? */
BF_RULE bool bf_result_needs(bf_reduction op, int i, int j) {
    switch (op) {
    case BF_SKEW: return i < 4;
    case BF_COV:
    case BF_WMEAN: return i < 2 && j < 2;
    case BF_SLOPE:
    case BF_INTERCEPT: return j < 2;
    default: return true;
    }
}

/* The parts of an exact kind, whose limbs follow so many words of counters. */
BF_RULE bf_parts bf_parts_after(bf_kind kind, bf_dtype dtype, int counters) {
    bf_parts p;
    p.words = counters;
    for (p.count = 0; p.count < BF_PARTS_MOST; p.count++) {
        const int powers = bf_kind_part(kind, p.count);
        bf_part *part = &p.part[p.count];
        if (powers == 0) break;
        part->a = powers >> 4;
        part->b = powers & 15;
        part->layout = bf_layout_of(dtype, part->a + part->b);
        part->at = p.words;
        p.words += part->layout.limbs;
    }
    return p;
}

#endif
