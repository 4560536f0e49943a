/* Columns of aggregates: those of the same values may be parts of one. Each aggregate has the
 * number of its column. Columns are numbered in the order of their first aggregates. */
#ifndef BF_RULES_REDUCE_COLUMNS_H
#define BF_RULES_REDUCE_COLUMNS_H

#include "rules/reduce/kind.h"

/* Are two aggregates of the same values parts of one column? Sums and extremes are, and joint
 * kinds that keep the same. */
BF_RULE bool bf_share_column(bf_reduction a, bf_reduction b) {
    const bf_kind of_a = bf_kind_of(a, BF_NONE), of_b = bf_kind_of(b, BF_NONE);
    return of_a == of_b || (!bf_kind_is_joint(of_a) && !bf_kind_is_joint(of_b));
}

/* Numbers the columns of aggregates that share one by a and by b. Returns how many there are. */
BF_RULE int bf_columns_of_both(const int a[], const int b[], int n, int columns[]) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (a[k] != a[i] || b[k] != b[i]) k++;
        columns[i] = k < i ? columns[k] : count++;
    }
    return count;
}

#endif
