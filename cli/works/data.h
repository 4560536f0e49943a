/* The data that verify runs on: numbers that are hard to add. */
#ifndef BITFOLD_CLI_WORKS_DATA_H
#define BITFOLD_CLI_WORKS_DATA_H

#include <bitfold.h>
#include <stdbool.h>

enum data_kind {
    DATA_PLAIN,     /* integers: any bits; floats: magnitudes from 2^-8 to 1 */
    DATA_NORMAL,    /* mean 0, variance 1; this and all below are for floats only */
    DATA_SPREAD,    /* magnitudes from 2^-100 to 2^100, or as far as the dtype reaches */
    DATA_FULL,      /* every exponent, subnormals, zeros of both signs */
    DATA_WIDE,      /* as DATA_FULL, but each number is followed by its opposite, and the last
                       number is 1: the sum is 1 */
    DATA_SUBNORMAL, /* subnormals, zeros, and the least normal numbers */
    DATA_SPECIAL,   /* as DATA_WIDE, with NaNs and infinities among them */
    DATA_KINDS
};

extern const char *const data_names[DATA_KINDS];

/* All dtypes that elements have, and all reductions; 0 is behind the last. */
extern const bf_dtype data_dtypes[];
extern const bf_reduction data_reductions[];

bool data_is_float(bf_dtype dtype);

/* Returns the bytes of an element; dtype may be BF_PAIR. */
size_t data_size(bf_dtype dtype);

/* Fills buffer with n elements (n is odd), the same on every machine. */
void data_fill(enum data_kind kind, bf_dtype dtype, void *buffer, int64_t n);

/* Does the same, but elements after the first `different` are copies of those. dtype may be
 * BF_PAIR, or BF_NONE, which writes nothing. */
void data_fill_keys(enum data_kind kind, bf_dtype dtype, void *buffer, int64_t n,
                    int64_t different);

#endif
