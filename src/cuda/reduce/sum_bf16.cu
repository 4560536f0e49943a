/* Exact sums of bf16. */
#include "cuda/reduce/sum_float.cuh"

const bf_cuda_reduction *bf_cuda_reduction_bf16(bf_kind kind, bool every_zero) {
    return bf_cuda_float_reduction<BF_BF16>(kind, every_zero);
}
