/* Products of integers: a kernel for every dtype. */
#include "cuda/reduce/product.cuh"

#include "cuda/reduce/fold.cuh"

const bf_cuda_reduction *bf_cuda_reduction_factors(bf_dtype dtype) {
    switch (dtype) {
    case BF_BOOL:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<uint8_t, bf_cuda_factors<BF_BOOL>>>();
    case BF_I8: return bf_cuda_reduction_of<bf_cuda_fold_loop<int8_t, bf_cuda_factors<BF_I8>>>();
    case BF_I16: return bf_cuda_reduction_of<bf_cuda_fold_loop<int16_t, bf_cuda_factors<BF_I16>>>();
    case BF_I32: return bf_cuda_reduction_of<bf_cuda_fold_loop<int32_t, bf_cuda_factors<BF_I32>>>();
    case BF_I64: return bf_cuda_reduction_of<bf_cuda_fold_loop<int64_t, bf_cuda_factors<BF_I64>>>();
    case BF_U8: return bf_cuda_reduction_of<bf_cuda_fold_loop<uint8_t, bf_cuda_factors<BF_U8>>>();
    case BF_U16:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<uint16_t, bf_cuda_factors<BF_U16>>>();
    case BF_U32:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<uint32_t, bf_cuda_factors<BF_U32>>>();
    case BF_U64:
        return bf_cuda_reduction_of<bf_cuda_fold_loop<uint64_t, bf_cuda_factors<BF_U64>>>();
    default: return nullptr;
    }
}
