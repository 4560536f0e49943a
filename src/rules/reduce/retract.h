/* Taking out again what exact words have absorbed: what remains, to the word. */
#ifndef BF_RULES_REDUCE_RETRACT_H
#define BF_RULES_REDUCE_RETRACT_H

#include "rules/reduce/sum.h"

typedef enum bf_retraction {
    BF_RETRACTED,
    BF_RETRACT_TOO_MUCH, /* no state remains */
    BF_RETRACT_UNKNOWN   /* what remains sums to zero, and may be 0 or -0 */
} bf_retraction;

/* The count of -0 in what is left where version 1 did not count them: any number below that of all
 * will do (0), but all or not must be known. */
BF_RULE bf_retraction bf_sum_settle_zeros(bf_kind kind, bf_dtype dtype, const int64_t *into,
                                          const int64_t *from, int64_t *left) {
    int64_t rest = bf_sum_finite(left);
    bool into_all = bf_sum_flag(into) == 0, from_all = bf_sum_flag(from) == 0;
    left[BF_SUM_NEG_ZERO] = into_all ? rest : 0;
    if (into_all != from_all && (into_all || rest == 0)) return BF_RETRACT_TOO_MUCH;
    if (into_all || from_all || rest == 0) return BF_RETRACTED;
    return bf_sum_is_zero(kind, dtype, left) ? BF_RETRACT_UNKNOWN : BF_RETRACTED;
}

/* Takes `from` out of `into`; both are words of states. counted: their counts of -0 are exact. into
 * changes only if BF_RETRACTED is returned. */
BF_RULE bf_retraction bf_sum_retract(bf_kind kind, bf_dtype dtype, bool counted, int64_t *into,
                                     const int64_t *from) {
    int64_t left[BF_SUM_WORDS_MAX];
    int count = bf_sum_shape_of(kind, dtype).words;
    bf_retraction r = BF_RETRACTED;
    for (int i = 0; i < count; i++) left[i] = into[i] - from[i];
    bf_sum_carry(kind, dtype, left);
    if (!counted) r = bf_sum_settle_zeros(kind, dtype, into, from, left);
    if (left[BF_SUM_COUNT] < 0 || !bf_sum_valid(kind, dtype, left)) return BF_RETRACT_TOO_MUCH;
    if (r == BF_RETRACTED) memcpy(into, left, (size_t)count * sizeof *left);
    return r;
}

#endif
