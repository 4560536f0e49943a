/* The rank of elements among which some are equal, as scipy.stats.rankdata has it. */
#ifndef BF_RULES_ORDER_TIE_H
#define BF_RULES_ORDER_TIE_H

#include "rules/number/rule.h"
#include <bitfold/order.h>

/* The rank, from 1, of element i of a line in order. Elements [begin, end), with i among them, are
 * equal, and theirs is the `different`-th value of the line. Any method but BF_RANK_AVERAGE. */
BF_RULE int64_t bf_tie_rank(bf_rank_method method, int64_t i, int64_t begin, int64_t end,
                            int64_t different) {
    switch (method) {
    case BF_RANK_MIN: return begin + 1;
    case BF_RANK_MAX: return end;
    case BF_RANK_DENSE: return different;
    default: return i + 1;
    }
}

/* The rank of equal elements [begin, end) by BF_RANK_AVERAGE: the mean of their positions. */
BF_RULE double bf_tie_average(int64_t begin, int64_t end) { return (double)(begin + 1 + end) / 2; }

#endif
