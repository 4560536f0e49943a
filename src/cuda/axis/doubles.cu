/* Exact sums of f64. */
#include "cuda/axis/sum.cuh"
#include "cuda/axis/tiles.cuh"

template <bf_kind Kind> using sum_of = bf_cuda_axis_float<bf_cuda_axis_double, Kind>;

bf_cuda_axis_kernels bf_cuda_axis_doubles(bf_kind kind) {
    switch (kind) {
    case BF_KIND_SUM: return bf_cuda_axis_kernels_of<sum_of<BF_KIND_SUM>>();
    case BF_KIND_SQUARES: return bf_cuda_axis_kernels_of<sum_of<BF_KIND_SQUARES>>();
    case BF_KIND_MOMENTS: return bf_cuda_axis_kernels_of<sum_of<BF_KIND_MOMENTS>>();
    default: return bf_cuda_axis_kernels_of<sum_of<BF_KIND_DOT>>();
    }
}
