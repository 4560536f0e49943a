/* The exact sums of a dtype, by kind. sum_integer.cu instantiates those of integers, and sum.cu.in
 * those of one float dtype. */
#ifndef BF_CUDA_REDUCE_SUM_CUH
#define BF_CUDA_REDUCE_SUM_CUH

#include "cuda/reduce/sum_float.cuh"
#include "cuda/reduce/sum_integer.cuh"

template <bf_dtype D, bf_kind Kind, bf_cuda_zeros Zeros, class Side = bf_cuda_none>
static const bf_cuda_reduction *bf_cuda_sum_of_kind() {
    if constexpr (bf_cuda_element::is_float(D))
        return bf_cuda_reduction_of<bf_cuda_float_loop<D, Kind, Side, Zeros>>();
    else
        return bf_cuda_reduction_of<bf_cuda_integer_loop<D, Kind, Side>>();
}

/* NULL: not a sum. every_zero: as in a bf_job. */
template <bf_dtype D> static const bf_cuda_reduction *bf_cuda_sum(bf_kind kind, bool every_zero) {
    switch (kind) {
    case BF_KIND_SUM:
        return every_zero ? bf_cuda_sum_of_kind<D, BF_KIND_SUM, BF_CUDA_ZEROS_EVERY>()
                          : bf_cuda_sum_of_kind<D, BF_KIND_SUM, BF_CUDA_ZEROS_ALL>();
    case BF_KIND_DOT:
        return every_zero ? bf_cuda_sum_of_kind<D, BF_KIND_DOT, BF_CUDA_ZEROS_EVERY>()
                          : bf_cuda_sum_of_kind<D, BF_KIND_DOT, BF_CUDA_ZEROS_ALL>();
    case BF_KIND_SQUARES: return bf_cuda_sum_of_kind<D, BF_KIND_SQUARES, BF_CUDA_ZEROS_NONE>();
    case BF_KIND_MOMENTS: return bf_cuda_sum_of_kind<D, BF_KIND_MOMENTS, BF_CUDA_ZEROS_NONE>();
    case BF_KIND_DESCRIPTION:
        return bf_cuda_sum_of_kind<D, BF_KIND_DESCRIPTION, BF_CUDA_ZEROS_NONE,
                                   bf_cuda_extremes<D>>();
    default: return nullptr;
    }
}

#endif
