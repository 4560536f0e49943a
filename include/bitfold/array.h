/* bf_array: a view of memory that somebody else owns. Plain data, whose layout never changes; copy
 * it freely. */
#ifndef BITFOLD_ARRAY_H
#define BITFOLD_ARRAY_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BF_MAX_DIMS 8

/* Shape and strides have DLPack's meaning: both count elements, strides may be negative or 0, and
 * element (i0, i1, ...) stands at data + (i0*strides[0] + i1*strides[1] + ...) elements. ndim 0 is
 * one element. Elements are numbered in C order (last index fastest): that number is what argmin
 * returns. data need not be aligned. Contiguous memory is the fast path; anything else is right. */
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

/* The number of elements; -1 if the array is not well formed: an unknown dtype, ndim outside
 * 0..BF_MAX_DIMS, a negative extent, more than 2^62 elements, elements that span 2^62 bytes or
 * more, or NULL data with elements. The stride of an extent below 2 has no meaning, and may be any.
 */
BF_API int64_t bf_array_count(const bf_array *array);

#ifdef __cplusplus
}
#endif
#endif
