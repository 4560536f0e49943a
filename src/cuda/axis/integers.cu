/* Dot products of integers and bools, exact; and products of integers. */
#include "cuda/axis/product.cuh"
#include "cuda/axis/sum.cuh"
#include "cuda/axis/tiles.cuh"

template <class Class> static bf_cuda_axis_kernels dots_of() {
    return bf_cuda_axis_kernels_of<bf_cuda_axis_integer<Class, BF_KIND_DOT>>();
}

bf_cuda_axis_kernels bf_cuda_axis_dots(bool wide) {
    return wide ? dots_of<bf_cuda_axis_wide_word>() : dots_of<bf_cuda_axis_small_word>();
}

bf_cuda_axis_kernels bf_cuda_axis_products(void) {
    return bf_cuda_axis_kernels_of<bf_cuda_axis_product>();
}
