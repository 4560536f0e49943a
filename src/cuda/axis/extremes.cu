/* Minima and maxima, and products of integers. */
#include "cuda/axis/extreme.cuh"
#include "cuda/axis/product.cuh"
#include "cuda/axis/tiles.cuh"

bf_cuda_axis_kernels bf_cuda_axis_extremes(bool wide) {
    return wide ? bf_cuda_axis_kernels_of<bf_cuda_axis_extreme<bf_cuda_axis_wide_word>>()
                : bf_cuda_axis_kernels_of<bf_cuda_axis_extreme<bf_cuda_axis_small_word>>();
}

bf_cuda_axis_kernels bf_cuda_axis_products(void) {
    return bf_cuda_axis_kernels_of<bf_cuda_axis_product>();
}
