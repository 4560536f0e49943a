/* Covariances and correlations with weights, from three states: those of a column with its weights
 * (BF_KIND_WEIGHTED), of another with the same, and of both (BF_KIND_TRIPLE). Only the file that
 * finishes them includes this, first: its numbers are longer than those of other files. */
#ifndef BF_RULES_REDUCE_WEIGHTED_PAIR_H
#define BF_RULES_REDUCE_WEIGHTED_PAIR_H

#define BF_WIDE_WEIGHTED_PAIR

#include "rules/reduce/joint.h"
#include "rules/reduce/sum.h"

/* W^2 times the covariance over W * (W - ddof * c). */
BF_RULE uint64_t bf_weighted_covariance(const bf_joint_sums sums[3],
                                        const bf_reduce_options *options, bf_format f,
                                        bf_signed *room) {
    bf_signed *w = room, *wx = room + 1, *wy = room + 2, *wxy = room + 3, *above = room + 4;
    bf_signed *below = wx;
    bf_signed_of(w, &sums[0], 0, 1);
    bf_signed_of(wx, &sums[0], 1, 1);
    bf_signed_of(wy, &sums[1], 1, 1);
    bf_signed_of(wxy, &sums[2], 2, 1);
    bf_weighted_spread(above, w, wx, wy, wxy, room + 5);
    bf_weighted_divisor(below, w, &sums[0], options, room + 5);
    if (below->negative) return bf_format_nan(f);
    return bf_signed_ratio(above, below, 2 * options->scale, false, f, room + 5);
}

BF_RULE uint64_t bf_weighted_correlation(const bf_joint_sums sums[3], bf_format f,
                                         bf_signed *room) {
    bf_signed *xx = room, *xy = room + 1, *yy = room + 2;
    bf_signed *w = room + 3, *wx = room + 4, *wy = room + 5, *product = room + 6;
    const bf_pairs p = {0, NULL, NULL, xx, xy, yy};
    bf_signed_of(w, &sums[0], 0, 1);
    bf_signed_of(wx, &sums[0], 1, 1);
    bf_signed_of(wy, &sums[1], 1, 1);
    bf_signed_of(product, &sums[0], 2, 1);
    bf_weighted_spread(xx, w, wx, wx, product, room + 7);
    bf_signed_of(product, &sums[1], 2, 1);
    bf_weighted_spread(yy, w, wy, wy, product, room + 7);
    bf_signed_of(product, &sums[2], 2, 1);
    bf_weighted_spread(xy, w, wx, wy, product, room + 7);
    if (xx->negative || yy->negative) return bf_format_nan(f);
    return bf_pairs_correlation(&p, false, f, room + 3);
}

/* The bits of BF_COV or BF_CORR. room: BF_JOINT_ROOM numbers. */
BF_RULE uint64_t bf_weighted_pair(bf_reduction op, bf_dtype dtype, const int64_t *const words[3],
                                  const bf_reduce_options *options, bf_format f, bf_signed *room) {
    const bf_parts weighted = bf_parts_of(BF_KIND_WEIGHTED, dtype);
    const bf_parts triple = bf_parts_of(BF_KIND_TRIPLE, dtype);
    const bf_joint_sums sums[] = {
        {dtype, &weighted, words[0]}, {dtype, &weighted, words[1]}, {dtype, &triple, words[2]}};
    uint64_t bits;
    if (words[0][BF_SUM_NAN] > 0 && options->nan != BF_NAN_SKIP) return bf_format_nan(f);
    if (bf_finish_special(words[0], true, f, &bits)) return bf_format_nan(f);
    return op == BF_COV ? bf_weighted_covariance(sums, options, f, room)
                        : bf_weighted_correlation(sums, f, room);
}

#endif
