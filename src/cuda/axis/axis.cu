/* The CUDA backend's table for reductions of many at once. */
#include "cuda/axis/index.cuh"

extern const bf_axis_backend bf_cuda_axis_backend = {
    .reduce_rows = bf_cuda_reduce_index,
    .find_runs = bf_cuda_find_runs,
};
