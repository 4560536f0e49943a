/* States as flat int64 words: what each reduction keeps, how words start, merge and are checked.
 * Threads, GPU blocks, ranks and files hold these same words. */
#ifndef BF_RULES_STATE_H
#define BF_RULES_STATE_H

#include "dtype.h"
#include "limbs.h"
#include "order.h"

/* The kinds of state. Each reduction reads its result from one of them. */
typedef enum bf_kind {
    BF_KIND_SUM,      /* exact sum of x */
    BF_KIND_SQUARES,  /* exact sum of x^2 */
    BF_KIND_MOMENTS,  /* both */
    BF_KIND_PRODUCTS, /* exact sum of a*b */
    BF_KIND_EXTREME   /* the least order key, and where */
} bf_kind;

BF_RULE bf_kind bf_kind_of(bf_reduction op) {
    switch (op) {
    case BF_SUM:
    case BF_MEAN: return BF_KIND_SUM;
    case BF_SUMSQ:
    case BF_NORM: return BF_KIND_SQUARES;
    case BF_VAR:
    case BF_STD: return BF_KIND_MOMENTS;
    case BF_DOT: return BF_KIND_PRODUCTS;
    default: return BF_KIND_EXTREME;
    }
}

/* argmin and argmax keep indices; max and argmax order by complemented keys. */
BF_RULE bool bf_is_indexed(bf_reduction op) { return op == BF_ARGMIN || op == BF_ARGMAX; }
BF_RULE bool bf_is_greatest(bf_reduction op) { return op == BF_MAX || op == BF_ARGMAX; }

/* Words of the four exact kinds. All of them merge by plain addition (then a carry). */
enum {
    BF_EXACT_COUNT,   /* elements, or pairs */
    BF_EXACT_NAN,     /* those that are NaN, or pairs with a NaN: they count nowhere below */
    BF_EXACT_POS_INF, /* x (of KIND_SQUARES x^2, of KIND_PRODUCTS a*b) that are +inf */
    BF_EXACT_NEG_INF,
    BF_EXACT_INVALID, /* infinity times zero */
    BF_EXACT_NONZERO, /* > 0 if any finite x or a*b is other than -0; 0 or 1 once carried */
    BF_EXACT_LIMBS    /* then the limbs of the sum, then those of the squares */
};

/* Words of KIND_EXTREME. */
enum {
    BF_EXTREME_COUNT,
    BF_EXTREME_NAN,
    BF_EXTREME_KEY,       /* the least key so far (of max and argmax: complemented) */
    BF_EXTREME_INDEX,     /* its first index (0 for min and max); -1: no value yet */
    BF_EXTREME_NAN_INDEX, /* the first NaN's index (0 for min and max); -1: none */
    BF_EXTREME_BEGIN,     /* the elements' indices lie in [begin, end); 0 for min and max */
    BF_EXTREME_END,
    BF_EXTREME_WORDS
};

enum { BF_STATE_WORDS_MAX = BF_EXACT_LIMBS + 68 + 134 };

#define BF_COUNT_MAX ((int64_t)1 << 62)

/* Limbs of a sum (or of a sum of products): how many, and the weight of the first one's last bit,
 * 2^exponent. Room for 2^62 terms of the largest size. */
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

/* f16 and bf16 sum as the f32 that they equal. */
BF_RULE bf_layout bf_layout_sum(bf_dtype dtype) {
    if (dtype == BF_F64) return bf_layout_make(68, -1074);
    return bf_dtype_is_float(dtype) ? bf_layout_make(11, -149) : bf_layout_make(4, 0);
}

BF_RULE bf_layout bf_layout_products(bf_dtype dtype) {
    if (dtype == BF_F64) return bf_layout_make(134, -2148);
    return bf_dtype_is_float(dtype) ? bf_layout_make(20, -298) : bf_layout_make(6, 0);
}

/* Where the limbs of x (sum) and of x^2 or a*b (products) start, and how many; 0 where the kind
 * keeps none. */
typedef struct bf_exact_shape {
    bf_layout sum, products;
    int sum_at, products_at, words;
} bf_exact_shape;

BF_RULE bf_exact_shape bf_exact_shape_of(bf_kind kind, bf_dtype dtype) {
    bf_exact_shape s;
    s.sum = bf_layout_sum(dtype);
    s.products = bf_layout_products(dtype);
    if (kind == BF_KIND_SQUARES || kind == BF_KIND_PRODUCTS) s.sum.limbs = 0;
    if (kind == BF_KIND_SUM) s.products.limbs = 0;
    s.sum_at = BF_EXACT_LIMBS;
    s.products_at = s.sum_at + s.sum.limbs;
    s.words = s.products_at + s.products.limbs;
    return s;
}

BF_RULE int bf_state_words(bf_kind kind, bf_dtype dtype) {
    return kind == BF_KIND_EXTREME ? BF_EXTREME_WORDS : bf_exact_shape_of(kind, dtype).words;
}

/* The empty state, whose next element has index 0. */
BF_RULE void bf_state_init(bf_kind kind, bf_dtype dtype, int64_t *words) {
    int count = bf_state_words(kind, dtype);
    for (int i = 0; i < count; i++) words[i] = 0;
    if (kind != BF_KIND_EXTREME) return;
    words[BF_EXTREME_KEY] = INT64_MAX;
    words[BF_EXTREME_INDEX] = -1;
    words[BF_EXTREME_NAN_INDEX] = -1;
}

/* Brings exact words to their one form. */
BF_RULE void bf_exact_carry(bf_kind kind, bf_dtype dtype, int64_t *words) {
    bf_exact_shape s = bf_exact_shape_of(kind, dtype);
    words[BF_EXACT_NONZERO] = words[BF_EXACT_NONZERO] > 0;
    if (s.sum.limbs > 0) bf_limbs_carry(words + s.sum_at, s.sum.limbs);
    if (s.products.limbs > 0) bf_limbs_carry(words + s.products_at, s.products.limbs);
}

/* An element with this key at this index. */
BF_RULE void bf_extreme_take(int64_t *words, int64_t key, int64_t index) {
    bool less = words[BF_EXTREME_INDEX] < 0 || key < words[BF_EXTREME_KEY] ||
                (key == words[BF_EXTREME_KEY] && index < words[BF_EXTREME_INDEX]);
    if (!less) return;
    words[BF_EXTREME_KEY] = key;
    words[BF_EXTREME_INDEX] = index;
}

/* NaNs, the first of them at this index. */
BF_RULE void bf_extreme_take_nan(int64_t *words, int64_t count, int64_t index) {
    if (words[BF_EXTREME_NAN] == 0 || index < words[BF_EXTREME_NAN_INDEX])
        words[BF_EXTREME_NAN_INDEX] = index;
    words[BF_EXTREME_NAN] += count;
}

/* `count` elements with indices in [begin, end) (0 and 0 for min and max) have been taken. */
BF_RULE void bf_extreme_cover(int64_t *words, int64_t count, int64_t begin, int64_t end) {
    bool first = words[BF_EXTREME_COUNT] == 0;
    if (first || begin < words[BF_EXTREME_BEGIN]) words[BF_EXTREME_BEGIN] = begin;
    if (first || end > words[BF_EXTREME_END]) words[BF_EXTREME_END] = end;
    words[BF_EXTREME_COUNT] += count;
}

BF_RULE void bf_extreme_merge(int64_t *into, const int64_t *from) {
    if (from[BF_EXTREME_COUNT] == 0) return;
    if (from[BF_EXTREME_INDEX] >= 0)
        bf_extreme_take(into, from[BF_EXTREME_KEY], from[BF_EXTREME_INDEX]);
    if (from[BF_EXTREME_NAN] > 0)
        bf_extreme_take_nan(into, from[BF_EXTREME_NAN], from[BF_EXTREME_NAN_INDEX]);
    bf_extreme_cover(into, from[BF_EXTREME_COUNT], from[BF_EXTREME_BEGIN], from[BF_EXTREME_END]);
}

/* Do two ordered states cover different indices? */
BF_RULE bool bf_extreme_disjoint(const int64_t *a, const int64_t *b) {
    return a[BF_EXTREME_COUNT] == 0 || b[BF_EXTREME_COUNT] == 0 ||
           a[BF_EXTREME_END] <= b[BF_EXTREME_BEGIN] || b[BF_EXTREME_END] <= a[BF_EXTREME_BEGIN];
}

/* into and from are carried; so is the result. */
BF_RULE void bf_state_merge_words(bf_kind kind, bf_dtype dtype, int64_t *into,
                                  const int64_t *from) {
    if (kind == BF_KIND_EXTREME) {
        bf_extreme_merge(into, from);
        return;
    }
    int count = bf_state_words(kind, dtype);
    for (int i = 0; i < count; i++) into[i] += from[i];
    bf_exact_carry(kind, dtype, into);
}

/* The largest magnitude that `terms` finite elements (factors 1), or products of two (2), can sum
 * to, as limbs of the layout. */
BF_RULE void bf_layout_bound(bf_dtype dtype, bf_layout layout, int factors, int64_t terms,
                             int64_t *bound) {
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
    bf_u128 term = factors == 2 ? (bf_u128)largest * largest : largest;
    for (int i = 0; i < layout.limbs; i++) bound[i] = 0;
    bf_limbs_add_product(bound, position, (uint64_t)term, (uint64_t)terms, false);
    bf_limbs_add_product(bound, position + 64, (uint64_t)(term >> 64), (uint64_t)terms, false);
}

/* Are these limbs as carried, and can so many terms sum to them? */
BF_RULE bool bf_layout_valid(bf_dtype dtype, bf_layout layout, int factors, int64_t terms,
                             const int64_t *limbs) {
    int64_t bound[BF_STATE_WORDS_MAX], above[BF_STATE_WORDS_MAX], below[BF_STATE_WORDS_MAX];
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
BF_RULE bool bf_exact_valid(bf_kind kind, bf_dtype dtype, const int64_t *words) {
    bf_exact_shape s = bf_exact_shape_of(kind, dtype);
    int64_t rest = words[BF_EXACT_COUNT], nonzero = words[BF_EXACT_NONZERO];
    for (int i = BF_EXACT_NAN; i <= BF_EXACT_INVALID; i++) {
        if (words[i] < 0 || words[i] > rest) return false;
        rest -= words[i];
    }
    bool is_float = bf_dtype_is_float(dtype);
    bool squares = kind == BF_KIND_SQUARES || kind == BF_KIND_MOMENTS;
    if (!is_float && rest != words[BF_EXACT_COUNT]) return false;
    if (nonzero < 0 || nonzero > (rest > 0)) return false;
    if (nonzero == 0 && rest > 0 && (!is_float || kind == BF_KIND_SQUARES)) return false;
    if (kind != BF_KIND_PRODUCTS && words[BF_EXACT_INVALID] > 0) return false;
    if (kind == BF_KIND_SQUARES && words[BF_EXACT_NEG_INF] > 0) return false;
    if (squares && words[s.words - 1] < 0) return false;
    int64_t terms = nonzero > 0 ? rest : 0;
    return bf_layout_valid(dtype, s.sum, 1, terms, words + s.sum_at) &&
           bf_layout_valid(dtype, s.products, 2, terms, words + s.products_at);
}

BF_RULE bool bf_extreme_valid(bf_reduction op, bf_dtype dtype, const int64_t *words) {
    int64_t count = words[BF_EXTREME_COUNT], nan = words[BF_EXTREME_NAN];
    int64_t begin = words[BF_EXTREME_BEGIN], end = words[BF_EXTREME_END];
    int64_t index = words[BF_EXTREME_INDEX], nan_index = words[BF_EXTREME_NAN_INDEX];
    int64_t key = words[BF_EXTREME_KEY];
    if (nan < 0 || nan > count || begin < 0 || begin > end || end > BF_COUNT_MAX) return false;
    if (nan > 0 && !bf_dtype_is_float(dtype)) return false;
    if (bf_is_indexed(op) ? count > end - begin : end != 0) return false;
    int64_t last = bf_is_indexed(op) ? end - 1 : 0;
    if (count > nan ? index < begin || index > last : index != -1) return false;
    if (nan > 0 ? nan_index < begin || nan_index > last : nan_index != -1) return false;
    if (bf_is_indexed(op) && count > 0 && index == nan_index) return false;
    if (count == nan) return key == INT64_MAX;
    return bf_order_valid(dtype, bf_is_greatest(op) ? ~key : key);
}

BF_RULE bool bf_state_valid(bf_reduction op, bf_dtype dtype, const int64_t *words) {
    bf_kind kind = bf_kind_of(op);
    if (words[0] < 0 || words[0] > BF_COUNT_MAX) return false;
    return kind == BF_KIND_EXTREME ? bf_extreme_valid(op, dtype, words)
                                   : bf_exact_valid(kind, dtype, words);
}

#endif
