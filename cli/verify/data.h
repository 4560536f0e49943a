/* The data that verify runs on: numbers that are hard to add. */
#ifndef BITFOLD_CLI_VERIFY_DATA_H
#define BITFOLD_CLI_VERIFY_DATA_H

#include <bitfold.h>
#include <stdbool.h>

enum data_kind {
    DATA_PLAIN,     /* integers: any bits; floats: magnitudes from 2^-8 to 1 */
    DATA_NORMAL,    /* floats only, as all that follow: mean 0, variance 1 */
    DATA_SPREAD,    /* magnitudes from 2^-100 to 2^100, or as far as the dtype reaches */
    DATA_FULL,      /* every exponent, subnormals, zeros of both signs */
    DATA_WIDE,      /* the same, but each number but the last has its opposite, and the last is 1,
                       so that the sum is 1 */
    DATA_SUBNORMAL, /* nothing but subnormals, zeros, and the least normal numbers */
    DATA_SPECIAL,   /* as DATA_WIDE, with NaNs and infinities among them */
    DATA_KINDS
};

extern const char *const data_names[DATA_KINDS];

bool data_is_float(bf_dtype dtype);

/* Bytes of an element, BF_PAIR's too. */
size_t data_size(bf_dtype dtype);

/* Fills buffer with n elements, n being odd; the same ones on every machine. */
void data_fill(enum data_kind kind, bf_dtype dtype, void *buffer, int64_t n);

/* The same for BF_PAIR, too (and BF_NONE: nothing); but elements after the first `different` are
 * copies of these. */
void data_fill_keys(enum data_kind kind, bf_dtype dtype, void *buffer, int64_t n,
                    int64_t different);

#endif
