/* bf_array: a view of memory that the caller owns. Plain data, whose layout never changes; copy it
 * freely. */
#ifndef BITFOLD_ARRAY_H
#define BITFOLD_ARRAY_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BF_MAX_DIMS 8

/* Shape and strides count elements, as in DLPack; strides may be negative or 0. Element (i0, i1,
 * ...) is at data + i0*strides[0] + i1*strides[1] + ... elements. ndim 0 is one element. Elements
 * are numbered in C order (the last index runs fastest); argmin returns this number. data need not
 * be aligned. Contiguous memory is fastest; every other layout works too. */
typedef struct bf_array {
    void *data;
    bf_dtype dtype;
    int32_t ndim;
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[BF_MAX_DIMS];
} bf_array;

/* A one-dimensional contiguous array of n elements. */
static inline bf_array bf_array_of(bf_dtype dtype, const void *data, int64_t n) {
    bf_array a = {(void *)(uintptr_t)data, dtype, 1, {0}, {0}};
    a.shape[0] = n;
    a.strides[0] = 1;
    return a;
}

/* Returns the number of elements, or -1 if the array is not well formed: an unknown dtype, ndim
 * outside 0..BF_MAX_DIMS, a negative extent, more than 2^62 elements, elements that span 2^62 bytes
 * or more, or NULL data with elements. The stride of an extent below 2 is ignored. */
BF_API int64_t bf_array_count(const bf_array *array);

#ifdef __cplusplus
}
#endif
#endif
