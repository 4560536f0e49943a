/* Ranks in a long line, without sorting it (bracket.cu). */
#ifndef BF_CUDA_ORDER_BRACKET_CUH
#define BF_CUDA_ORDER_BRACKET_CUH

#include "cuda/order/order.cuh"

#include "rules/order/quantile.h"

enum {
    BF_CUDA_BRACKETS = 5,           /* results that one read finds */
    BF_CUDA_BRACKET_LEAST = 1 << 18 /* elements that are worth it */
};

/* Finds what `results` of one line of n elements are made of: for each the places of two elements,
 * which are the same for one. *nans becomes the number of NaNs, after which results are made if
 * they are skipped. *found: whether all was found; else the line is to be sorted. Waits. */
bf_status bf_cuda_order_brackets(bf_cuda_call *call, bf_dtype dtype, bf_order order,
                                 const void *values, int64_t n, const bf_selection *selection,
                                 int first, int results, uint64_t places[][2], int64_t *nans,
                                 bool *found);

/* Enqueues the first k of a line of n < 2^32 elements in order, unless *found becomes false. k is
 * small beside n. Waits. */
bf_status bf_cuda_order_first(bf_cuda_call *call, bf_dtype dtype, bf_order order,
                              const void *values, int64_t n, int64_t k, void *first, int64_t *index,
                              bool *found);

/* Tells which elements result i needs of a line of n with so many NaNs. */
static __host__ __device__ inline bf_between bf_cuda_between(bf_statistic statistic,
                                                             bf_quantile_method method, double q,
                                                             int64_t position, int64_t numbers) {
    if (statistic == BF_STATISTIC_NTH) return bf_between_make(position, 0);
    if (statistic == BF_STATISTIC_MEDIAN) return bf_median_between(numbers);
    return bf_quantile_between(method, numbers, q);
}

#endif
