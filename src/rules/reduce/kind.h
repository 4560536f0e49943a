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
    BF_KIND_EXTREME,     /* the least order key, and where */
    BF_KIND_DESCRIPTION, /* moments, minimum and maximum */
    BF_KIND_PRODUCT,     /* the product of integers */
    BF_KIND_PRODUCT_TREE /* the product of floats */
} bf_kind;

/* Exact sums, whose words add. */
BF_RULE bool bf_kind_is_sum(bf_kind kind) { return kind <= BF_KIND_DOT; }

BF_RULE bf_kind bf_kind_of(bf_reduction op, bf_dtype dtype) {
    switch (op) {
    case BF_SUM:
    case BF_MEAN: return BF_KIND_SUM;
    case BF_SUMSQ:
    case BF_NORM: return BF_KIND_SQUARES;
    case BF_VAR:
    case BF_STD: return BF_KIND_MOMENTS;
    case BF_DOT: return BF_KIND_DOT;
    case BF_PROD: return bf_dtype_is_float(dtype) ? BF_KIND_PRODUCT_TREE : BF_KIND_PRODUCT;
    case BF_DESCRIBE: return BF_KIND_DESCRIPTION;
    default: return BF_KIND_EXTREME;
    }
}

/* argmin, argmax and describe keep indices; max and argmax order by complemented keys. */
BF_RULE bool bf_is_indexed(bf_reduction op) {
    return op == BF_ARGMIN || op == BF_ARGMAX || op == BF_DESCRIBE;
}
BF_RULE bool bf_is_greatest(bf_reduction op) { return op == BF_MAX || op == BF_ARGMAX; }

#endif
