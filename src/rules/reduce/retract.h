/* Taking out again what exact words have absorbed: what remains, to the word. */
#ifndef BF_RULES_REDUCE_RETRACT_H
#define BF_RULES_REDUCE_RETRACT_H

#include "rules/reduce/sum.h"

/* Takes `from` out of `into`; both are words of states. Returns false, with `into` as it was, if
 * no state remains. */
BF_RULE bool bf_sum_retract(bf_kind kind, bf_dtype dtype, int64_t *into, const int64_t *from) {
    int64_t left[BF_PARTS_WORDS_MAX];
    int count = bf_sum_shape_of(kind, dtype).words;
    for (int i = 0; i < count; i++) left[i] = into[i] - from[i];
    bf_sum_carry(kind, dtype, left);
    if (left[BF_SUM_COUNT] < 0 || !bf_sum_valid(kind, dtype, left)) return false;
    memcpy(into, left, (size_t)count * sizeof *left);
    return true;
}

#endif
