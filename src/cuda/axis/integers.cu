/* Moments and dot products of integers and bools, exact; and products of integers. */
#include "cuda/axis/product.cuh"
#include "cuda/axis/sum.cuh"
#include "cuda/axis/tiles.cuh"

template <class Class> static bf_cuda_axis_kernels kernels_of(bf_kind kind) {
    if (kind == BF_KIND_MOMENTS)
        return bf_cuda_axis_kernels_of<bf_cuda_axis_integer<Class, BF_KIND_MOMENTS>>();
    return bf_cuda_axis_kernels_of<bf_cuda_axis_integer<Class, BF_KIND_DOT>>();
}

bf_cuda_axis_kernels bf_cuda_axis_integers(bf_kind kind, bool wide) {
    return wide ? kernels_of<bf_cuda_axis_wide_word>(kind)
                : kernels_of<bf_cuda_axis_small_word>(kind);
}

bf_cuda_axis_kernels bf_cuda_axis_products(void) {
    return bf_cuda_axis_kernels_of<bf_cuda_axis_product>();
}
