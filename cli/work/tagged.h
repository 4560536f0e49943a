/* Tagged results: quantiles as pairs of their bits and their dtype (bitfold/order.h), for integers
 * of 64 bits may be among numbers of f64. */
#ifndef BITFOLD_CLI_WORK_TAGGED_H
#define BITFOLD_CLI_WORK_TAGGED_H

#include <bitfold.h>

#include <stdbool.h>

typedef struct tagged {
    uint64_t bits, dtype;
} tagged;

tagged tagged_of(const bf_value *value);

/* Returns whether results between elements of `dtype`, which are of `to`, may round an element. */
bool tagged_wanted(bf_dtype dtype, bf_dtype to);

/* Gives n results one dtype, in place: that of the elements if all have it, else `to`; but integers
 * stay tagged beside others. Returns the dtype; BF_PAIR: tagged. */
bf_dtype tagged_settle(tagged *results, int64_t n, bf_dtype dtype, bf_dtype to);

/* Gives n results this dtype, in place: their own, or BF_F64, to which integers of that scale are
 * rounded. Returns it. */
bf_dtype tagged_make(tagged *results, int64_t n, bf_dtype dtype, int scale);

#endif
