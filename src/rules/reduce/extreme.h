/* What a minimum or maximum is, and where: one element enters, states merge. */
#ifndef BF_RULES_REDUCE_EXTREME_H
#define BF_RULES_REDUCE_EXTREME_H

#include "rules/key/order.h"
#include "rules/number/integer.h"
#include "rules/reduce/kind.h"

/* Words of KIND_EXTREME. */
enum {
    BF_EXTREME_COUNT,
    BF_EXTREME_NAN,
    BF_EXTREME_RANK,      /* the least rank so far (of max and argmax: complemented) */
    BF_EXTREME_INDEX,     /* its first index (0 for min and max); -1: no value yet */
    BF_EXTREME_NAN_INDEX, /* the first NaN's index (0 for min and max); -1: none */
    BF_EXTREME_BEGIN,     /* the elements' indices lie in [begin, end); 0 for min and max */
    BF_EXTREME_END,
    BF_EXTREME_WORDS,
    BF_EXTREME_LOW = BF_EXTREME_WORDS /* a word more of BF_I128: the low half of the rank, which is
                                         the number itself */
};

BF_RULE int bf_extreme_words(bf_dtype dtype) { return BF_EXTREME_WORDS + (dtype == BF_I128); }

BF_RULE void bf_extreme_init(int64_t *words) {
    for (int i = 0; i < BF_EXTREME_WORDS; i++) words[i] = 0;
    words[BF_EXTREME_RANK] = INT64_MAX;
    words[BF_EXTREME_INDEX] = -1;
    words[BF_EXTREME_NAN_INDEX] = -1;
}

BF_RULE void bf_extreme_init_of(bf_dtype dtype, int64_t *words) {
    bf_extreme_init(words);
    if (dtype == BF_I128) words[BF_EXTREME_LOW] = -1;
}

/* An element with this rank at this index. */
BF_RULE void bf_extreme_take(int64_t *words, int64_t key, int64_t index) {
    bool less = words[BF_EXTREME_INDEX] < 0 || key < words[BF_EXTREME_RANK] ||
                (key == words[BF_EXTREME_RANK] && index < words[BF_EXTREME_INDEX]);
    if (!less) return;
    words[BF_EXTREME_RANK] = key;
    words[BF_EXTREME_INDEX] = index;
}

BF_RULE bf_i128 bf_extreme_rank_i128(const int64_t *words) {
    return (bf_i128)((bf_u128)(uint64_t)words[BF_EXTREME_RANK] << 64 |
                     (uint64_t)words[BF_EXTREME_LOW]);
}

BF_RULE void bf_extreme_take_i128(int64_t *words, bf_i128 rank, int64_t index) {
    bf_i128 least = bf_extreme_rank_i128(words);
    bool less = words[BF_EXTREME_INDEX] < 0 || rank < least ||
                (rank == least && index < words[BF_EXTREME_INDEX]);
    if (!less) return;
    words[BF_EXTREME_RANK] = (int64_t)(rank >> 64);
    words[BF_EXTREME_LOW] = (int64_t)rank;
    words[BF_EXTREME_INDEX] = index;
}

/* The integer that is the minimum or maximum; and another that takes its place. */
BF_RULE bf_i128 bf_extreme_integer(bool greatest, bf_dtype dtype, const int64_t *words) {
    int64_t flip = greatest ? -1 : 0;
    if (dtype == BF_I128) return bf_extreme_rank_i128(words) ^ flip;
    return bf_integer_decode(dtype, bf_order_bits(dtype, words[BF_EXTREME_RANK] ^ flip));
}

BF_RULE void bf_extreme_set_integer(bool greatest, bf_dtype dtype, int64_t *words, bf_i128 x) {
    int64_t flip = greatest ? -1 : 0, index = words[BF_EXTREME_INDEX];
    if (dtype != BF_I128) {
        words[BF_EXTREME_RANK] = bf_order_rank(dtype, (uint64_t)x) ^ flip;
        return;
    }
    words[BF_EXTREME_INDEX] = -1;
    bf_extreme_take_i128(words, x ^ flip, index);
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

BF_RULE void bf_extreme_merge(bf_dtype dtype, int64_t *into, const int64_t *from) {
    if (from[BF_EXTREME_COUNT] == 0) return;
    if (from[BF_EXTREME_INDEX] >= 0 && dtype == BF_I128)
        bf_extreme_take_i128(into, bf_extreme_rank_i128(from), from[BF_EXTREME_INDEX]);
    else if (from[BF_EXTREME_INDEX] >= 0)
        bf_extreme_take(into, from[BF_EXTREME_RANK], from[BF_EXTREME_INDEX]);
    if (from[BF_EXTREME_NAN] > 0)
        bf_extreme_take_nan(into, from[BF_EXTREME_NAN], from[BF_EXTREME_NAN_INDEX]);
    bf_extreme_cover(into, from[BF_EXTREME_COUNT], from[BF_EXTREME_BEGIN], from[BF_EXTREME_END]);
}

/* Every index becomes greater by this. */
BF_RULE void bf_extreme_shift(int64_t *words, int64_t by) {
    words[BF_EXTREME_BEGIN] += by;
    words[BF_EXTREME_END] += by;
    if (words[BF_EXTREME_INDEX] >= 0) words[BF_EXTREME_INDEX] += by;
    if (words[BF_EXTREME_NAN_INDEX] >= 0) words[BF_EXTREME_NAN_INDEX] += by;
}

/* Do two ordered states cover different indices? */
BF_RULE bool bf_extreme_disjoint(const int64_t *a, const int64_t *b) {
    return a[BF_EXTREME_COUNT] == 0 || b[BF_EXTREME_COUNT] == 0 ||
           a[BF_EXTREME_END] <= b[BF_EXTREME_BEGIN] || b[BF_EXTREME_END] <= a[BF_EXTREME_BEGIN];
}

BF_RULE bool bf_extreme_valid(bf_reduction op, bf_dtype dtype, const int64_t *words) {
    int64_t count = words[BF_EXTREME_COUNT], nan = words[BF_EXTREME_NAN];
    int64_t begin = words[BF_EXTREME_BEGIN], end = words[BF_EXTREME_END];
    int64_t index = words[BF_EXTREME_INDEX], nan_index = words[BF_EXTREME_NAN_INDEX];
    int64_t key = words[BF_EXTREME_RANK];
    if (nan < 0 || nan > count || begin < 0 || begin > end || end > BF_COUNT_MAX) return false;
    if (nan > 0 && !bf_dtype_is_float(dtype)) return false;
    if (bf_is_indexed(op) ? count > end - begin : end != 0) return false;
    int64_t last = bf_is_indexed(op) ? end - 1 : 0;
    if (count > nan ? index < begin || index > last : index != -1) return false;
    if (nan > 0 ? nan_index < begin || nan_index > last : nan_index != -1) return false;
    if (bf_is_indexed(op) && count > 0 && index == nan_index) return false;
    if (count == nan) return key == INT64_MAX && (dtype != BF_I128 || words[BF_EXTREME_LOW] == -1);
    return dtype == BF_I128 || bf_order_valid(dtype, bf_is_greatest(op) ? ~key : key);
}

#endif
