/* Exact sums of f64. */
#include "cuda/reduce/sum_float.cuh"

const bf_cuda_reduction *bf_cuda_reduction_f64(bf_kind kind, bool every_zero) {
    return bf_cuda_float_reduction<BF_F64>(kind, every_zero);
}
