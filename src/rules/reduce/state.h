/* States as flat int64 words: how those of each kind start, merge and are checked. Threads, GPU
 * blocks, ranks and files hold these same words. */
#ifndef BF_RULES_REDUCE_STATE_H
#define BF_RULES_REDUCE_STATE_H

#include "rules/reduce/extreme.h"
#include "rules/reduce/product.h"
#include "rules/reduce/product_tree.h"
#include "rules/reduce/sum.h"

enum {
    BF_DESCRIPTION_WORDS_MAX = BF_SUM_WORDS_MAX + 2 * (BF_EXTREME_WORDS + 1),
    BF_STATE_WORDS_SMALL = BF_PARTS_WORDS_MAX, /* enough for every kind but
                                                  BF_KIND_PRODUCT_TREE */
    BF_STATE_WORDS_MAX = BF_PRODUCT_TREE_WORDS_MAX
};

/* A description is the words of the moments, of the minimum (as of argmin), of the maximum. Where
 * the words of an extreme are in a state that keeps indices. */
BF_RULE int bf_extreme_at(bf_kind kind, bf_dtype dtype) {
    return kind == BF_KIND_DESCRIPTION ? bf_sum_shape_of(BF_KIND_MOMENTS, dtype).words : 0;
}

/* The number of words of a state: words are needed, and looked at, for BF_KIND_PRODUCT_TREE alone.
 */
BF_RULE int bf_state_words(bf_kind kind, bf_dtype dtype, const int64_t *words) {
    switch (kind) {
    case BF_KIND_EXTREME: return bf_extreme_words(dtype);
    case BF_KIND_DESCRIPTION: return bf_extreme_at(kind, dtype) + 2 * bf_extreme_words(dtype);
    case BF_KIND_PRODUCT: return BF_PRODUCT_WORDS;
    case BF_KIND_PRODUCT_TREE: return bf_product_tree_words(words);
    default: return bf_sum_shape_of(kind, dtype).words;
    }
}

/* Can these be the words of a state, by their number? Looks at no more of them than there are. */
BF_RULE bool bf_state_sized(bf_kind kind, bf_dtype dtype, const int64_t *words, int count) {
    if (kind != BF_KIND_PRODUCT_TREE) return count == bf_state_words(kind, dtype, words);
    if (count < BF_PRODUCT_TREE_HEAD_AT) return false;
    int64_t begin = words[BF_PRODUCT_TREE_BEGIN], end = words[BF_PRODUCT_TREE_END];
    return begin >= 0 && begin <= end && end <= BF_COUNT_MAX &&
           count == bf_product_tree_words(words);
}

/* The empty state, whose next element has index 0. */
BF_RULE void bf_state_init(bf_kind kind, bf_dtype dtype, int64_t *words) {
    int exact = kind == BF_KIND_DESCRIPTION ? bf_extreme_at(kind, dtype) : 0;
    switch (kind) {
    case BF_KIND_EXTREME: bf_extreme_init_of(dtype, words); return;
    case BF_KIND_PRODUCT: bf_product_init(words); return;
    case BF_KIND_PRODUCT_TREE: bf_product_tree_init(words); return;
    case BF_KIND_DESCRIPTION:
        bf_extreme_init_of(dtype, words + exact);
        bf_extreme_init_of(dtype, words + exact + bf_extreme_words(dtype));
        break;
    default: exact = bf_sum_shape_of(kind, dtype).words; break;
    }
    for (int i = 0; i < exact; i++) words[i] = 0;
}

/* Both are carried; so is the result. Of BF_KIND_PRODUCT_TREE, from starts where into ends. */
BF_RULE void bf_state_merge_plain(bf_kind kind, bf_dtype dtype, int64_t *into,
                                  const int64_t *from) {
    int at = bf_extreme_at(kind, dtype), next = at + bf_extreme_words(dtype);
    switch (kind) {
    case BF_KIND_EXTREME: bf_extreme_merge(dtype, into, from); break;
    case BF_KIND_PRODUCT: bf_product_merge(into, from); break;
    case BF_KIND_DESCRIPTION:
        bf_sum_merge(BF_KIND_MOMENTS, dtype, into, from);
        bf_extreme_merge(dtype, into + at, from + at);
        bf_extreme_merge(dtype, into + next, from + next);
        break;
    default: bf_sum_merge(kind, dtype, into, from); break;
    }
}

BF_RULE void bf_state_merge_words(bf_kind kind, bf_dtype dtype, int64_t *into,
                                  const int64_t *from) {
    if (kind == BF_KIND_PRODUCT_TREE)
        bf_product_tree_append(into, from);
    else
        bf_state_merge_plain(kind, dtype, into, from);
}

BF_RULE bool bf_description_valid(bf_dtype dtype, const int64_t *words) {
    const int64_t *least = words + bf_extreme_at(BF_KIND_DESCRIPTION, dtype);
    const int64_t *greatest = least + bf_extreme_words(dtype);
    static const int shared[] = {BF_EXTREME_COUNT, BF_EXTREME_NAN, BF_EXTREME_NAN_INDEX,
                                 BF_EXTREME_BEGIN, BF_EXTREME_END};
    for (int i = 0; i < 5; i++)
        if (least[shared[i]] != greatest[shared[i]]) return false;
    return least[BF_EXTREME_COUNT] == words[BF_SUM_COUNT] &&
           least[BF_EXTREME_NAN] == words[BF_SUM_NAN] &&
           bf_sum_valid(BF_KIND_MOMENTS, dtype, words) &&
           bf_extreme_valid(BF_ARGMIN, dtype, least) &&
           bf_extreme_valid(BF_ARGMAX, dtype, greatest);
}

/* The checks of words that come from outside: every word is one that a state can hold. */
BF_RULE bool bf_state_valid(bf_reduction op, bf_dtype dtype, const int64_t *words) {
    bf_kind kind = bf_kind_of(op, dtype);
    if (words[0] < 0 || words[0] > BF_COUNT_MAX) return false;
    switch (kind) {
    case BF_KIND_EXTREME: return bf_extreme_valid(op, dtype, words);
    case BF_KIND_DESCRIPTION: return bf_description_valid(dtype, words);
    case BF_KIND_PRODUCT: return bf_product_valid(dtype, words);
    case BF_KIND_PRODUCT_TREE: return bf_product_tree_valid(words);
    default: return bf_sum_valid(kind, dtype, words);
    }
}

#endif
