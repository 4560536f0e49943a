/* What a product of floats is: a fixed tree over the index, in double-double arithmetic with an
 * exponent of its own, rounded once at the end.
 *
 * A leaf is BF_LEAF consecutive elements, the first from index 0 on: element i of it multiplies
 * fold i % BF_FOLDS, in order. The folds are joined pairwise (0 with 1, 2 with 3, ...; then their
 * joins), and so are leaves: node k of a level joins nodes 2k and 2k+1 of the one below. What is
 * absent, or a NaN, a zero or an infinity (they are counted apart), counts as 1.
 *
 * This rule alone computes in floating point: to nearest, uncontracted, with the fused operations
 * that it names. Elements enter as a mantissa in [1, 2) and an exponent, so that nothing over- or
 * underflows; each step errs by less than 2^-102, and the whole by less than an ulp.
 * Double-double products: Dekker (1971); with fma as in Joldes, Muller, Popescu (2017). */
#ifndef BF_RULES_REDUCE_PRODUCT_TREE_H
#define BF_RULES_REDUCE_PRODUCT_TREE_H

#include "rules/number/wide.h"
#include "rules/reduce/kind.h"

#include <math.h>

enum {
    BF_LEAF = 4096,
    BF_FOLDS = 16,
    BF_PRODUCT_TREE_LEVELS = 50 /* enough for 2^62 elements in leaves */
};

/* (hi + lo) * 2^exponent; hi in [1, 2) of a node, and up to 2^256 of a fold. */
typedef struct bf_node {
    double hi, lo;
    int64_t exponent;
} bf_node;

enum { BF_NODE_WORDS = 3 };

/* Words. The elements stand at indices [begin, end). Those before the first whole leaf wait in
 * `head`, as they are, but for NaNs, which are all alike; those after the last stand in the folds;
 * whole leaves are nodes: the fewest whose leaves start at a multiple of their number, in order,
 * each with its level before it. */
enum {
    BF_PRODUCT_TREE_COUNT,
    BF_PRODUCT_TREE_NAN,
    BF_PRODUCT_TREE_INF,
    BF_PRODUCT_TREE_ZERO,
    BF_PRODUCT_TREE_NEGATIVE, /* 1 if an odd number of the elements (not NaN) is negative */
    BF_PRODUCT_TREE_BEGIN,
    BF_PRODUCT_TREE_END,
    BF_PRODUCT_TREE_NODES, /* how many nodes there are */
    BF_PRODUCT_TREE_FOLDS_AT,
    BF_PRODUCT_TREE_NODES_AT = BF_PRODUCT_TREE_FOLDS_AT + BF_FOLDS * BF_NODE_WORDS,
    BF_PRODUCT_TREE_HEAD_AT =
        BF_PRODUCT_TREE_NODES_AT + (2 * BF_PRODUCT_TREE_LEVELS + 2) * (BF_NODE_WORDS + 1),
    BF_PRODUCT_TREE_WORDS_MAX = BF_PRODUCT_TREE_HEAD_AT + BF_LEAF - 1
};

/* --- nodes --- */

BF_RULE bf_node bf_node_one(void) {
    bf_node one;
    one.hi = 1;
    one.lo = 0;
    one.exponent = 0;
    return one;
}

/* Multiplies a fold by a mantissa in [1, 2). */
BF_RULE void bf_node_fold(bf_node *x, double mantissa, int64_t exponent) {
    double product = x->hi * mantissa;
    double error = fma(x->hi, mantissa, -product);
    double rest = fma(x->lo, mantissa, error);
    x->hi = product + rest;
    x->lo = rest - (x->hi - product);
    x->exponent += exponent;
}

/* Brings hi into [1, 2). */
BF_RULE bf_node bf_node_normal(bf_node x) {
    uint64_t bits, scale;
    double factor;
    memcpy(&bits, &x.hi, sizeof bits);
    int64_t exponent = (int64_t)(bits >> 52) - 1023;
    scale = (uint64_t)(1023 - exponent) << 52;
    memcpy(&factor, &scale, sizeof factor);
    x.hi *= factor;
    x.lo *= factor;
    x.exponent += exponent;
    return x;
}

/* The product of two nodes, or of two folds. */
BF_RULE bf_node bf_node_join(bf_node a, bf_node b) {
    a = bf_node_normal(a);
    b = bf_node_normal(b);
    double product = a.hi * b.hi;
    double error = fma(a.hi, b.hi, -product);
    error = fma(a.hi, b.lo, error);
    error = fma(a.lo, b.hi, error);
    a.hi = product + error;
    a.lo = error - (a.hi - product);
    a.exponent += b.exponent; /* each at most 2^61: far beyond every format, and no overflow */
    if (a.exponent > (int64_t)1 << 61) a.exponent = (int64_t)1 << 61;
    if (a.exponent < -((int64_t)1 << 61)) a.exponent = -((int64_t)1 << 61);
    return bf_node_normal(a);
}

/* The node of a leaf. Joins the folds in place. */
BF_RULE bf_node bf_node_of_folds(bf_node *folds) {
    for (int n = BF_FOLDS; n > 1; n /= 2)
        for (int i = 0; i < n / 2; i++) folds[i] = bf_node_join(folds[2 * i], folds[2 * i + 1]);
    return folds[0];
}

/* The value of a node, rounded once. */
BF_RULE uint64_t bf_node_round(bf_format f, bool negative, bf_node x) {
    bf_format f64 = bf_format_f64();
    uint64_t hi_bits, lo_bits;
    memcpy(&hi_bits, &x.hi, sizeof hi_bits);
    memcpy(&lo_bits, &x.lo, sizeof lo_bits);
    bf_finite hi = bf_decode(f64, hi_bits), lo = bf_decode(f64, lo_bits);
    /* hi = magnitude * 2^-52: as a multiple of 2^-116 there is room for lo < 2^-52. */
    int shift = lo.position + bf_format_least(f64) + 116;
    uint64_t part = shift >= 0 ? lo.magnitude << shift : shift > -64 ? lo.magnitude >> -shift : 0;
    bool sticky = shift < 0 && (shift <= -64 ? lo.magnitude != 0
                                             : (lo.magnitude & (((uint64_t)1 << -shift) - 1)) != 0);
    bf_leading r;
    r.bits = (bf_u128)hi.magnitude << 64;
    r.bits = lo.negative ? r.bits - part - sticky : r.bits + part;
    r.sticky = sticky;
    int zeros = 64 - bf_bit_length((uint64_t)(r.bits >> 64));
    r.bits <<= zeros;
    r.exponent = -116 - zeros + (int)x.exponent;
    return bf_leading_round(f, negative, r);
}

/* --- words --- */

BF_RULE bf_node bf_product_tree_load(const int64_t *at) {
    bf_node x;
    memcpy(&x.hi, at, sizeof x.hi);
    memcpy(&x.lo, at + 1, sizeof x.lo);
    x.exponent = at[2];
    return x;
}

BF_RULE void bf_product_tree_store(int64_t *at, bf_node x) {
    memcpy(at, &x.hi, sizeof x.hi);
    memcpy(at + 1, &x.lo, sizeof x.lo);
    at[2] = x.exponent;
}

BF_RULE void bf_product_tree_clear_folds(int64_t *words) {
    for (int i = 0; i < BF_FOLDS; i++)
        bf_product_tree_store(words + BF_PRODUCT_TREE_FOLDS_AT + i * BF_NODE_WORDS, bf_node_one());
}

BF_RULE void bf_product_tree_init(int64_t *words) {
    for (int i = 0; i < BF_PRODUCT_TREE_HEAD_AT; i++) words[i] = 0;
    bf_product_tree_clear_folds(words);
}

/* Where the first whole leaf starts. */
BF_RULE int64_t bf_product_tree_first_leaf(const int64_t *words) {
    return (words[BF_PRODUCT_TREE_BEGIN] + BF_LEAF - 1) / BF_LEAF * BF_LEAF;
}

BF_RULE int bf_product_tree_head_count(const int64_t *words) {
    int64_t first = bf_product_tree_first_leaf(words), end = words[BF_PRODUCT_TREE_END];
    return (int)((end < first ? end : first) - words[BF_PRODUCT_TREE_BEGIN]);
}

BF_RULE int bf_product_tree_words(const int64_t *words) {
    return BF_PRODUCT_TREE_HEAD_AT + bf_product_tree_head_count(words);
}

/* How many words are in use, if they begin with a whole leaf: all words behind these are 0. */
BF_RULE int bf_product_tree_used(const int64_t *words) {
    return BF_PRODUCT_TREE_NODES_AT + (int)words[BF_PRODUCT_TREE_NODES] * (BF_NODE_WORDS + 1);
}

/* How many words a tree over [begin, end) uses at most. */
BF_RULE int bf_product_tree_use(int64_t begin, int64_t end) {
    int levels = bf_bit_length((uint64_t)(end / BF_LEAF));
    return BF_PRODUCT_TREE_NODES_AT + (begin > 0 ? 2 : 1) * levels * (BF_NODE_WORDS + 1);
}

/* The level of node i, and behind it the node. */
BF_RULE int64_t *bf_product_tree_node(int64_t *words, int64_t i) {
    return words + BF_PRODUCT_TREE_NODES_AT + i * (BF_NODE_WORDS + 1);
}

/* Puts a node of 2^level leaves behind the last, which ends where it starts, and joins what now is
 * complete. */
BF_RULE void bf_product_tree_push(int64_t *words, int64_t level, bf_node x) {
    words[BF_PRODUCT_TREE_END] += (int64_t)BF_LEAF << level;
    int64_t leaves = words[BF_PRODUCT_TREE_END] / BF_LEAF;
    for (; words[BF_PRODUCT_TREE_NODES] > 0 && (leaves >> level & 1) == 0; level++) {
        int64_t *last = bf_product_tree_node(words, words[BF_PRODUCT_TREE_NODES] - 1);
        if (last[0] != level) break;
        x = bf_node_join(bf_product_tree_load(last + 1), x);
        words[BF_PRODUCT_TREE_NODES]--;
        for (int i = 0; i <= BF_NODE_WORDS; i++) last[i] = 0;
    }
    int64_t *at = bf_product_tree_node(words, words[BF_PRODUCT_TREE_NODES]++);
    at[0] = level;
    bf_product_tree_store(at + 1, x);
}

/* What an element (as the bits of the double that it equals) counts as. */
BF_RULE void bf_product_tree_count(int64_t *words, uint64_t bits) {
    bf_format f = bf_format_f64();
    uint64_t magnitude = bits & ~bf_format_sign(f);
    words[BF_PRODUCT_TREE_COUNT]++;
    if (bf_is_nan(f, bits)) {
        words[BF_PRODUCT_TREE_NAN]++;
        return;
    }
    words[BF_PRODUCT_TREE_NEGATIVE] ^= (int64_t)(bits >> 63);
    words[BF_PRODUCT_TREE_INF] += magnitude == bf_format_inf(f);
    words[BF_PRODUCT_TREE_ZERO] += magnitude == 0;
}

/* The fold takes an element. */
BF_RULE void bf_node_take(bf_node *fold, uint64_t bits) {
    bf_format f = bf_format_f64();
    uint64_t magnitude = bits & ~bf_format_sign(f);
    if (magnitude == 0 || magnitude >= bf_format_inf(f)) return;
    bf_finite x = bf_decode(f, bits);
    int shift = 53 - bf_bit_length(x.magnitude);
    uint64_t one = (uint64_t)1023 << 52, fraction = ((uint64_t)1 << 52) - 1;
    uint64_t mantissa_bits = one | ((x.magnitude << shift) & fraction);
    double mantissa;
    memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
    bf_node_fold(fold, mantissa, x.position - shift + 52 + bf_format_least(f));
}

BF_RULE void bf_product_tree_load_folds(const int64_t *words, bf_node *folds) {
    for (int i = 0; i < BF_FOLDS; i++)
        folds[i] = bf_product_tree_load(words + BF_PRODUCT_TREE_FOLDS_AT + i * BF_NODE_WORDS);
}

/* The folds become a node if the last element is the last of its leaf. */
BF_RULE void bf_product_tree_close_leaf(int64_t *words) {
    if (words[BF_PRODUCT_TREE_END] % BF_LEAF != 0) return;
    bf_node folds[BF_FOLDS];
    bf_product_tree_load_folds(words, folds);
    bf_product_tree_clear_folds(words);
    words[BF_PRODUCT_TREE_END] -= BF_LEAF; /* the push adds it again */
    bf_product_tree_push(words, 0, bf_node_of_folds(folds));
}

/* The next element takes its place; it has been counted. */
BF_RULE void bf_product_tree_place(int64_t *words, uint64_t bits) {
    int64_t at = words[BF_PRODUCT_TREE_END];
    if (at < bf_product_tree_first_leaf(words)) {
        if (bf_is_nan(bf_format_f64(), bits)) bits = bf_format_nan(bf_format_f64());
        words[BF_PRODUCT_TREE_HEAD_AT + at - words[BF_PRODUCT_TREE_BEGIN]] = (int64_t)bits;
        words[BF_PRODUCT_TREE_END]++;
        return;
    }
    int64_t *fold_at = words + BF_PRODUCT_TREE_FOLDS_AT + at % BF_FOLDS * BF_NODE_WORDS;
    bf_node fold = bf_product_tree_load(fold_at);
    bf_node_take(&fold, bits);
    bf_product_tree_store(fold_at, fold);
    words[BF_PRODUCT_TREE_END]++;
    bf_product_tree_close_leaf(words);
}

/* Adds what `from` has counted: how many of what, not where. */
BF_RULE void bf_product_tree_merge_counts(int64_t *into, const int64_t *from) {
    for (int i = BF_PRODUCT_TREE_COUNT; i <= BF_PRODUCT_TREE_ZERO; i++) into[i] += from[i];
    into[BF_PRODUCT_TREE_NEGATIVE] ^= from[BF_PRODUCT_TREE_NEGATIVE];
}

/* into += the whole leaves of from, and those behind them; where they start, into ends. */
BF_RULE void bf_product_tree_append_leaves(int64_t *into, const int64_t *from) {
    for (int64_t i = 0; i < from[BF_PRODUCT_TREE_NODES]; i++) {
        const int64_t *node = from + BF_PRODUCT_TREE_NODES_AT + i * (BF_NODE_WORDS + 1);
        bf_product_tree_push(into, node[0], bf_product_tree_load(node + 1));
    }
    for (int i = BF_PRODUCT_TREE_FOLDS_AT; i < BF_PRODUCT_TREE_NODES_AT; i++) into[i] = from[i];
    into[BF_PRODUCT_TREE_END] = from[BF_PRODUCT_TREE_END];
}

/* into += from, which starts where into ends (anywhere, if one of them is empty). */
BF_RULE void bf_product_tree_append(int64_t *into, const int64_t *from) {
    if (from[BF_PRODUCT_TREE_COUNT] == 0) return;
    if (into[BF_PRODUCT_TREE_COUNT] == 0) {
        for (int i = 0; i < bf_product_tree_words(from); i++) into[i] = from[i];
        return;
    }
    bf_product_tree_merge_counts(into, from);
    for (int i = 0; i < bf_product_tree_head_count(from); i++)
        bf_product_tree_place(into, (uint64_t)from[BF_PRODUCT_TREE_HEAD_AT + i]);
    if (from[BF_PRODUCT_TREE_END] >= bf_product_tree_first_leaf(from))
        bf_product_tree_append_leaves(into, from);
}

/* --- the result --- */

/* A node with its place in the tree. */
typedef struct bf_placed {
    int64_t level, index;
    bf_node node;
} bf_placed;

/* The folds of a leaf that is not whole: the elements [from, to) of it are in bits[]. */
BF_RULE bf_node bf_product_tree_head_node(const int64_t *words) {
    bf_node folds[BF_FOLDS];
    for (int i = 0; i < BF_FOLDS; i++) folds[i] = bf_node_one();
    for (int i = 0; i < bf_product_tree_head_count(words); i++)
        bf_node_take(&folds[(words[BF_PRODUCT_TREE_BEGIN] + i) % BF_FOLDS],
                     (uint64_t)words[BF_PRODUCT_TREE_HEAD_AT + i]);
    return bf_node_of_folds(folds);
}

/* All nodes that the words hold, in order; returns how many. */
BF_RULE int bf_product_tree_list(const int64_t *words, bf_placed *list) {
    int n = 0;
    int64_t leaf = bf_product_tree_first_leaf(words) / BF_LEAF;
    if (bf_product_tree_head_count(words) > 0) {
        list[n].level = 0;
        list[n].index = leaf - 1;
        list[n++].node = bf_product_tree_head_node(words);
    }
    for (int64_t i = 0; i < words[BF_PRODUCT_TREE_NODES]; i++) {
        const int64_t *at = words + BF_PRODUCT_TREE_NODES_AT + i * (BF_NODE_WORDS + 1);
        list[n].level = at[0];
        list[n].index = leaf >> at[0];
        list[n++].node = bf_product_tree_load(at + 1);
        leaf += (int64_t)1 << at[0];
    }
    if (words[BF_PRODUCT_TREE_END] > leaf * BF_LEAF) {
        bf_node folds[BF_FOLDS];
        bf_product_tree_load_folds(words, folds);
        list[n].level = 0;
        list[n].index = leaf;
        list[n++].node = bf_node_of_folds(folds);
    }
    return n;
}

/* The root: level by level, siblings join, and a node without one rises alone. */
BF_RULE bf_node bf_product_tree_root(const int64_t *words) {
    bf_placed list[2 * BF_PRODUCT_TREE_LEVELS + 4];
    int n = bf_product_tree_list(words, list);
    for (int64_t level = 0; n > 1; level++) {
        int kept = 0;
        for (int i = 0; i < n; i++) {
            bf_placed x = list[i];
            if (x.level == level) {
                bool sibling =
                    i + 1 < n && list[i + 1].level == level && x.index / 2 == list[i + 1].index / 2;
                if (sibling) x.node = bf_node_join(x.node, list[++i].node);
                x.index /= 2;
                x.level++;
            }
            list[kept++] = x;
        }
        n = kept;
    }
    return n > 0 ? list[0].node : bf_node_one();
}

/* Finds the root of words that begin at 0, without a stack for the nodes: there none lacks a
 * sibling on its left, so that they join from the last one on. There is an element; folds are room.
 */
BF_RULE bf_node bf_product_tree_root_from_start(const int64_t *words, bf_node *folds) {
    int64_t i = words[BF_PRODUCT_TREE_NODES];
    const int64_t *node = words + BF_PRODUCT_TREE_NODES_AT + i * (BF_NODE_WORDS + 1) + 1;
    bf_node x;
    if (words[BF_PRODUCT_TREE_END] % BF_LEAF > 0) {
        bf_product_tree_load_folds(words, folds);
        x = bf_node_of_folds(folds);
    } else {
        node -= BF_NODE_WORDS + 1;
        i--;
        x = bf_product_tree_load(node);
    }
    for (; i > 0; i--) {
        node -= BF_NODE_WORDS + 1;
        x = bf_node_join(bf_product_tree_load(node), x);
    }
    return x;
}

/* The product, from the root. */
BF_RULE uint64_t bf_product_tree_finish(const int64_t *words, bool skip, bf_format f,
                                        bf_node root) {
    uint64_t sign = words[BF_PRODUCT_TREE_NEGATIVE] ? bf_format_sign(f) : 0;
    bool zero = words[BF_PRODUCT_TREE_ZERO] > 0, inf = words[BF_PRODUCT_TREE_INF] > 0;
    if ((words[BF_PRODUCT_TREE_NAN] > 0 && !skip) || (zero && inf)) return bf_format_nan(f);
    if (inf) return sign | bf_format_inf(f);
    if (zero) return sign;
    int64_t most = 1 << 20; /* far beyond any format, and within an int */
    if (root.exponent > most) root.exponent = most;
    if (root.exponent < -most) root.exponent = -most;
    return bf_node_round(f, sign != 0, root);
}

/* --- words from outside --- */

/* Is x the product of so many elements, or may be? hi holds it to half an ulp, and mantissas are at
 * least 1, so both together are, but for what was rounded off. */
BF_RULE bool bf_node_valid(bf_node x, double most, int64_t elements) {
    double small = x.hi * 0x1p-52;
    if (!(x.hi >= 1 && x.hi < most && x.lo >= -small && x.lo <= small)) return false;
    if (x.lo < 1 - x.hi - 0x1p-60) return false;
    int64_t limit = (int64_t)1 << 61;
    if (x.exponent > limit + 1 || x.exponent < -limit) return false;
    return x.exponent / 2100 <= elements && x.exponent / 2100 >= -elements;
}

/* Do the nodes cover the whole leaves, in the one way there is? */
BF_RULE bool bf_product_tree_nodes_valid(const int64_t *words) {
    int64_t leaf = bf_product_tree_first_leaf(words) / BF_LEAF,
            end = words[BF_PRODUCT_TREE_END] / BF_LEAF, i = 0;
    for (; leaf < end; i++) {
        const int64_t *at = words + BF_PRODUCT_TREE_NODES_AT + i * (BF_NODE_WORDS + 1);
        int64_t level = 0;
        while ((leaf >> level & 1) == 0 && leaf + ((int64_t)2 << level) <= end) level++;
        if (i >= words[BF_PRODUCT_TREE_NODES] || at[0] != level) return false;
        if (!bf_node_valid(bf_product_tree_load(at + 1), 2, (int64_t)BF_LEAF << level))
            return false;
        leaf += (int64_t)1 << level;
    }
    for (int64_t k = BF_PRODUCT_TREE_NODES_AT + i * (BF_NODE_WORDS + 1);
         k < BF_PRODUCT_TREE_HEAD_AT; k++)
        if (words[k] != 0) return false;
    return i == words[BF_PRODUCT_TREE_NODES];
}

/* The folds of the last leaf, which is not whole: a fold of n elements is less than 2^n, and each
 * element keeps it so. */
BF_RULE bool bf_product_tree_folds_valid(const int64_t *words) {
    int64_t end = words[BF_PRODUCT_TREE_END];
    int64_t last = end > bf_product_tree_first_leaf(words) ? end % BF_LEAF : 0;
    for (int i = 0; i < BF_FOLDS; i++) {
        bf_node fold = bf_product_tree_load(words + BF_PRODUCT_TREE_FOLDS_AT + i * BF_NODE_WORDS);
        int64_t elements = (last + BF_FOLDS - 1 - i) / BF_FOLDS;
        uint64_t bits = (uint64_t)(1023 + elements + 1) << 52;
        double most;
        memcpy(&most, &bits, sizeof most);
        if (!bf_node_valid(fold, most, elements)) return false;
        if (elements == 0 && (fold.hi != 1 || fold.lo != 0)) return false;
    }
    return true;
}

BF_RULE bool bf_product_tree_valid(const int64_t *words) {
    int64_t begin = words[BF_PRODUCT_TREE_BEGIN], end = words[BF_PRODUCT_TREE_END],
            rest = words[BF_PRODUCT_TREE_COUNT];
    if (begin < 0 || end < begin || end > BF_COUNT_MAX || end - begin != rest) return false;
    for (int i = BF_PRODUCT_TREE_NAN; i <= BF_PRODUCT_TREE_ZERO; i++) {
        if (words[i] < 0 || words[i] > rest) return false;
        rest -= words[i];
    }
    if (words[BF_PRODUCT_TREE_NEGATIVE] != 0 && words[BF_PRODUCT_TREE_NEGATIVE] != 1) return false;
    return bf_product_tree_folds_valid(words) && bf_product_tree_nodes_valid(words);
}

#endif
