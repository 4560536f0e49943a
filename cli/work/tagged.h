/* Tagged results: quantiles that may be elements of 64 bits or more among numbers of f64. Those of
 * BF_I128 are bf_values, in an array that is said to be of BF_I192; others are pairs of their bits
 * and their dtype, in one of BF_PAIR (bitfold/order.h). */
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

/* The bytes of a tagged result of elements of this dtype; and writes number i of them. */
size_t tagged_bytes(bf_dtype dtype);
void tagged_put(void *results, int64_t i, bf_dtype dtype, const bf_value *value);

/* Gives n results of elements of `dtype` one dtype, in place: that of the elements if all have it,
 * else `to`; but integers stay tagged beside others. Returns the dtype; BF_PAIR or BF_I192: tagged.
 */
bf_dtype tagged_settle(void *results, int64_t n, bf_dtype dtype, bf_dtype to);

/* Gives n results of elements of `dtype` the dtype `to`, in place: their own, or BF_F64, to which
 * integers of that scale are rounded. Returns it. */
bf_dtype tagged_make(void *results, int64_t n, bf_dtype dtype, bf_dtype to, int scale);

#endif
