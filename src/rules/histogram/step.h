/* Edges that are integers, at any size: what 64-bit integers compare with. */
#ifndef BF_RULES_HISTOGRAM_STEP_H
#define BF_RULES_HISTOGRAM_STEP_H

#include "rules/histogram/edges.h"

/* An integer of dtype BF_I64 or BF_U64, from its bits. */
BF_RULE bf_i128 bf_edge_integer(bf_dtype dtype, uint64_t bits) {
    return dtype == BF_U64 ? (bf_i128)bits : (bf_i128)(int64_t)bits;
}

/* Returns whether every integer on either side of an edge compares with it as doubles do. */
BF_RULE bool bf_edge_is_small(bf_i128 edge) {
    const bf_i128 most = (bf_i128)1 << 53;
    return edge > -most && edge < most;
}

/* Sets *rank to that of the least element of dtype, BF_I64 or BF_U64, that is not below the edge;
 * beyond: that is above it. Returns false if there is none. */
BF_RULE bool bf_edge_step(bf_dtype dtype, bf_i128 edge, bool beyond, int64_t *rank) {
    const bf_i128 least = dtype == BF_U64 ? 0 : (bf_i128)INT64_MIN;
    const bf_i128 most = dtype == BF_U64 ? (bf_i128)UINT64_MAX : (bf_i128)INT64_MAX;
    bf_i128 step = edge + beyond;
    if (step > most) return false;
    if (step < least) step = least;
    *rank = bf_order_rank(dtype, (uint64_t)step);
    return true;
}

/* Returns the least integer whose nearest double is not below x, which is within 64 bits. */
BF_RULE bf_i128 bf_edge_from(double x) {
    bf_i128 edge = (bf_i128)x; /* towards 0 */
    if ((double)edge < x) return edge + 1;
    for (bf_i128 half = (bf_i128)1 << 10; half > 0; half >>= 1)
        while ((double)(edge - half) >= x) edge -= half;
    return edge;
}

/* Returns whether each of bins + 1 integers exceeds the one before. */
BF_RULE bool bf_integers_increase(bf_dtype dtype, const uint64_t *edges, int64_t bins) {
    bool increase = true;
    for (int64_t i = 0; i < bins; i++)
        increase &= bf_edge_integer(dtype, edges[i]) < bf_edge_integer(dtype, edges[i + 1]);
    return increase;
}

#endif
