/* The kinds of state, and which reduction keeps which. */
#ifndef BF_RULES_REDUCE_KIND_H
#define BF_RULES_REDUCE_KIND_H

#include "rules/number/dtype.h"

/* Each reduction reads its result from a state of one kind. */
typedef enum bf_kind {
    BF_KIND_SUM,         /* exact sum of x */
    BF_KIND_SQUARES,     /* exact sum of x^2 */
    BF_KIND_MOMENTS,     /* both */
    BF_KIND_DOT,         /* exact sum of a*b */
    BF_KIND_POWERS,      /* exact sums of x, x^2, x^3, x^4 */
    BF_KIND_COMOMENTS,   /* exact sums of a, b, a^2, a*b, b^2 */
    BF_KIND_WEIGHTED,    /* exact sums of b, b^2, a*b, a^2*b: b are the weights */
    BF_KIND_TRIPLE,      /* exact sum of a*c*b, which no reduction has: c are of a third array */
    BF_KIND_EXTREME,     /* the least order key, and where */
    BF_KIND_DESCRIPTION, /* moments, minimum and maximum */
    BF_KIND_PRODUCT,     /* the product of integers */
    BF_KIND_PRODUCT_TREE /* the product of floats */
} bf_kind;

/* Exact sums, whose words add. */
BF_RULE bool bf_kind_is_sum(bf_kind kind) { return kind <= BF_KIND_TRIPLE; }

/* Exact sums of more than x, x^2 and a*b: rules/reduce/parts.h. */
BF_RULE bool bf_kind_is_joint(bf_kind kind) {
    return kind >= BF_KIND_POWERS && kind <= BF_KIND_TRIPLE;
}

/* Does a state of this kind absorb two arrays? */
BF_RULE bool bf_kind_takes_pairs(bf_kind kind) {
    return kind == BF_KIND_DOT || kind == BF_KIND_COMOMENTS || kind == BF_KIND_WEIGHTED;
}

/* Sums of squares or of the products of pairs, and nothing else. */
BF_RULE bool bf_kind_is_products(bf_kind kind) {
    return kind == BF_KIND_SQUARES || kind == BF_KIND_DOT;
}

/* A product of floats is kept as a tree. */
BF_RULE bf_kind bf_kind_for(bf_kind kind, bf_dtype dtype) {
    return kind == BF_KIND_PRODUCT && bf_dtype_is_float(dtype) ? BF_KIND_PRODUCT_TREE : kind;
}

BF_RULE bf_kind bf_kind_of(bf_reduction op, bf_dtype dtype) {
    switch (op) {
#define BF_X(id, number, name, state, result, text)                                                \
    case BF_##id: return bf_kind_for(BF_KIND_##state, dtype);
        BF_REDUCTION_LIST(BF_X)
#undef BF_X
    default: return BF_KIND_EXTREME;
    }
}

/* Whether a state of the one reduction holds the result of the other: they keep the same. */
BF_RULE bool bf_holds_result(bf_reduction kept, bf_reduction op, bf_dtype dtype) {
    const bf_kind kind = bf_kind_of(op, dtype);
    return op == kept || (kind != BF_KIND_EXTREME && kind == bf_kind_of(kept, dtype));
}

BF_RULE bf_result_class bf_class_of(bf_reduction op) {
    switch (op) {
#define BF_X(id, number, name, state, result, text)                                                \
    case BF_##id: return BF_RESULT_##result;
        BF_REDUCTION_LIST(BF_X)
#undef BF_X
    default: return (bf_result_class)0;
    }
}

/* What is made of an exact sum: it is divided by the count of values; its root is taken. */
BF_RULE bool bf_is_mean(bf_reduction op) { return op == BF_MEAN; }
BF_RULE bool bf_is_root(bf_reduction op) { return op == BF_STD || op == BF_NORM; }

BF_RULE bool bf_takes_pairs(bf_reduction op) {
    return bf_kind_takes_pairs(bf_kind_of(op, BF_NONE));
}

/* An index and a description keep indices; max and argmax order by complemented keys. */
BF_RULE bool bf_is_indexed(bf_reduction op) { return bf_class_of(op) >= BF_RESULT_INDEX; }
/* The reductions of one array whose states slots keep: as sums, or as the least order key. */
BF_RULE bool bf_is_aggregate(bf_reduction op) {
    return bf_kind_of(op, BF_NONE) <= BF_KIND_MOMENTS || bf_class_of(op) == BF_RESULT_ELEMENT;
}
/* The aggregates of groups: these, and those of joint kinds. */
BF_RULE bool bf_is_group_aggregate(bf_reduction op) {
    return bf_is_aggregate(op) || bf_kind_is_joint(bf_kind_of(op, BF_NONE));
}
BF_RULE bool bf_is_greatest(bf_reduction op) { return op == BF_MAX || op == BF_ARGMAX; }

#endif
